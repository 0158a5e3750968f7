"""Families by name: the same words in Python, on the command line and in files."""

from __future__ import annotations

import dataclasses

from clusterbandits.families.family import Bernoulli, Exponential, Family, Gaussian, Poisson
from clusterbandits.validate import choice, invalid

FAMILIES: dict[str, type[Family]] = {kind.name: kind for kind in (Bernoulli, Gaussian, Poisson, Exponential)}


def as_family(spec: Family | str, owner: str = "as_family") -> Family:
    """Return the family a text names, with its parameters behind a colon.

    Parameters
    ----------
    spec
        ``"bernoulli"``, ``"gaussian"``, ``"gaussian:sigma=0.5"``, ``"poisson"``, ``"exponential"`` or
        ``"exponential:shape=2"``; a family is returned as it is.
    owner
        Who is named in errors.

    Examples
    --------
    >>> as_family("gaussian:sigma=0.5")
    Gaussian(sigma=0.5)
    """
    if isinstance(spec, Family):
        return spec
    name, colon, settings = spec.partition(":") if isinstance(spec, str) else (spec, "", "")
    kind = FAMILIES[choice("family", owner, name, FAMILIES)]
    allowed = [field.name for field in dataclasses.fields(kind)]
    values: dict[str, float] = {}
    for setting in settings.split(",") if colon else []:
        key, _, text = (part.strip() for part in setting.partition("="))
        if key not in allowed or key in values:
            known = f"followed by {' and '.join(allowed)} once" if allowed else "without parameters"
            raise invalid("family", owner, f"'{name}' {known}", spec)
        try:
            values[key] = float(text)
        except ValueError:
            raise invalid(key, kind.__name__, "a number", text) from None
    return kind(**values)
