"""Families by name: the same words in Python, on the command line and in files."""

from __future__ import annotations

import dataclasses

from clusterbandits.families.family import Bernoulli, Exponential, Family, Gaussian, Poisson
from clusterbandits.validate import Described, choice, invalid

FAMILIES: dict[str, type[Family]] = {kind.name: kind for kind in (Bernoulli, Gaussian, Poisson, Exponential)}


def as_family(spec: Family | str) -> Family:
    """Return the family a text names, with its parameters behind a colon.

    Parameters
    ----------
    spec
        ``"bernoulli"``, ``"gaussian"``, ``"gaussian:sigma=0.5"``, ``"poisson"``, ``"exponential"`` or
        ``"exponential:shape=2"``; a family is returned as it is.

    Examples
    --------
    >>> as_family("gaussian:sigma=0.5")
    Gaussian(sigma=0.5)
    """
    if isinstance(spec, Family):
        return spec
    name, _, settings = spec.partition(":") if isinstance(spec, str) else (spec, "", "")
    kind = FAMILIES[choice("family", "Instance", name, FAMILIES)]
    allowed = [field.name for field in dataclasses.fields(kind)]
    values = {}
    for setting in filter(None, settings.split(",")):
        key, _, text = setting.partition("=")
        if key.strip() not in allowed:
            known = f"followed by {' or '.join(allowed)} alone" if allowed else "without parameters"
            raise invalid("family", "Instance", f"'{name}' {known}", spec)
        try:
            values[key.strip()] = float(text)
        except ValueError:
            raise invalid(key.strip(), kind.__name__, "a number", Described(f"'{text}'")) from None
    return kind(**values)
