"""Checks at the border: values that pass are safe in every room behind it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np

from clusterbandits.errors import InvalidInputError

#: Whole numbers up to here are floats without loss.
MOST_ROUNDS = 10**15
#: Means up to here, and their squares, stay inside floats: the end of domains that have no other.
LARGEST_MEAN = 1e100
#: As large as the entropy NumPy draws for a seed of its own.
LARGEST_SEED = 2**128 - 1
_SHOWN = 60
_LISTED = 200


def invalid(parameter: str, owner: str, allowed: str, given: object) -> InvalidInputError:
    """Return the error for one refused value, in the house's one sentence form.

    Examples
    --------
    >>> print(invalid("widths", "Clusters", "at least 0", -1))
    The 'widths' parameter of Clusters must be at least 0. Got -1 instead.
    """
    return InvalidInputError(
        f"The '{parameter}' parameter of {owner} must be {allowed}. Got {shown(given)} instead."
    )


def shown(value: object) -> str:
    """Return a repr short enough for a sentence."""
    text = value if isinstance(value, Described) else repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def one_of(values: Iterable[object]) -> str:
    """Return what a value must be one of."""
    return f"one of {listed(values)}"


def listed(values: Iterable[object]) -> str:
    """Return values separated by commas, shortened to fit into a sentence.

    Examples
    --------
    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    names, count = list(map(shown, values)), 0
    left = _LISTED
    while count < len(names) and (left := left - len(names[count])) >= 0:
        count += 1
    text = ", ".join(names[:count])
    return text if count == len(names) else f"{text}, … ({len(names)} in all)"


class Described(str):
    """What was given, in words instead of as a value: ``Described("3 widths for 2 clusters")``."""

    __slots__ = ()


def is_number(value: object) -> TypeGuard[Real]:
    """Tell numbers from text, booleans and everything else that Python would let through."""
    if type(value) in {int, float}:
        return True  # Most are, and asking the abstract class takes a microsecond.
    return isinstance(value, Real) and not isinstance(value, bool)


def is_text(value: object) -> TypeGuard[str]:
    """Tell whether a value is text that UTF-8 can encode; text with a lone surrogate is not."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_list(value: object) -> TypeGuard[Iterable[object]]:
    """Tell lists, arrays and the like from single values, text and mappings."""
    single = isinstance(value, str | bytes | Mapping) or getattr(value, "ndim", 1) == 0
    return isinstance(value, Iterable) and not single


def as_mapping(value: object) -> dict[Any, Any] | None:
    """Return a mapping, or a pandas Series with labels of its own, as a dict; None for anything else."""
    if isinstance(value, Mapping):
        return dict(value)
    keys, items = getattr(value, "keys", None), getattr(value, "items", None)
    if not (callable(keys) and callable(items)):
        return None
    labels = list(keys())
    return None if labels == list(range(len(labels))) else dict(items())


def as_float(value: object) -> float:
    """Return a number as a float, NaN where it is no number: one test then refuses both."""
    try:
        return float(value) if is_number(value) else math.nan
    except OverflowError:
        return math.nan


def check_keys(keys: list[str], owner: str, data: object) -> None:
    """Refuse anything but a mapping that has these keys and no others."""
    if not isinstance(data, Mapping) or set(data) != set(keys):
        given = list(data) if isinstance(data, Mapping) else data
        raise invalid("data", owner, f"a mapping with exactly the keys {', '.join(keys)}", given)


def between(parameter: str, owner: str, value: object, least: float, most: float) -> float:
    """Return a number from ``least`` to ``most`` as a float."""
    number = as_float(value)
    if not (least <= number <= most):
        raise invalid(parameter, owner, f"a number from {least:g} to {most:g}", value)
    return number


def whole(parameter: str, owner: str, value: object, least: int, most: int = MOST_ROUNDS) -> int:
    """Return a whole number from ``least`` to ``most``; 1e6 counts as whole."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)
    else:
        given = as_float(value)
        number = int(given) if math.isfinite(given) and given.is_integer() else least - 1
    if number < least:
        raise invalid(parameter, owner, f"a whole number of at least {least}", value)
    if number > most:
        raise invalid(parameter, owner, f"a whole number of at most {most:g}", value)
    return number


def truth(parameter: str, owner: str, value: object) -> bool:
    """Return True or False, and nothing that Python merely takes for one of them."""
    if not isinstance(value, bool | np.bool_):
        raise invalid(parameter, owner, "True or False", value)
    return bool(value)


def random_generator(seed: object, owner: str) -> np.random.Generator:
    """Return the generator a seed stands for; a generator is returned as it is."""
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, np.random.SeedSequence):
        return np.random.default_rng(seed)
    return np.random.default_rng(whole("seed", owner, seed, least=0, most=LARGEST_SEED))


def choice(parameter: str, owner: str, value: object, allowed: Iterable[str]) -> str:
    """Return a name that is one of those allowed."""
    names = list(allowed)
    if not isinstance(value, str) or value not in names:
        raise invalid(parameter, owner, f"one of {', '.join(names)}", value)
    return value
