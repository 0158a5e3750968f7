"""Reward families: one file per family, shared by the public classes and the compiled kernels.

To add a family, copy ``poisson.py`` and add the new class to ``FAMILIES``, which sets its number.
"""

from __future__ import annotations

import dataclasses

from clusterbandits.families.bernoulli import Bernoulli
from clusterbandits.families.bounded import Bounded
from clusterbandits.families.exponential import Exponential
from clusterbandits.families.family import Family
from clusterbandits.families.gaussian import Gaussian
from clusterbandits.families.law import KINDS
from clusterbandits.families.negative_binomial import NegativeBinomial
from clusterbandits.families.poisson import Poisson
from clusterbandits.validate import invalid, known_name, unknown

__all__ = [
    "FAMILIES",
    "Bernoulli",
    "Bounded",
    "Exponential",
    "Family",
    "Gaussian",
    "NegativeBinomial",
    "Poisson",
    "as_family",
]

#: The names that the package exports from this module.
PUBLIC = tuple(name for name in __all__ if name != "FAMILIES")
#: All families by name.
FAMILIES: dict[str, type[Family]] = {
    kind.name: kind for kind in (Bernoulli, Gaussian, Poisson, Exponential, NegativeBinomial, Bounded)
}

for code, kind in enumerate(FAMILIES.values()):
    kind.code = code
    KINDS.append(kind)


def as_family(spec: Family | str, owner: str = "as_family") -> Family:
    """Return the reward family that a specification names.

    Parameters
    ----------
    spec
        A name in ``FAMILIES``, with parameters as in ``"gaussian:sigma=0.5"``; a family is returned
        unchanged.
    owner
        Name of the calling function, for error messages.

    Examples
    --------
    >>> as_family("gaussian:sigma=0.5")
    Gaussian(sigma=0.5)
    """
    if isinstance(spec, Family):
        return spec
    name, colon, settings = spec.partition(":") if isinstance(spec, str) else (spec, "", "")
    kind = FAMILIES[known_name("family", owner, name, FAMILIES)]
    allowed = [field.name for field in dataclasses.fields(kind)]
    values: dict[str, float] = {}
    for setting in settings.split(",") if colon else []:
        key, _, text = (part.strip() for part in setting.partition("="))
        if key not in allowed:
            raise unknown("parameter", key, allowed, f"of family {name}", parameter="family", owner=owner)
        if key in values:
            raise invalid("family", owner, f"'{name}' with {key} given once", spec)
        try:
            values[key] = float(text)
        except ValueError:
            raise invalid(key, kind.__name__, "a number", text) from None
    return kind(**values)
