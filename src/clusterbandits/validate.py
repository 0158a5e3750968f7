"""Checks of arguments from users, so that internal modules need no checks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np

from clusterbandits.errors import InvalidInputError
from clusterbandits.limits import LARGEST_SEED, MOST_NUMBERS, MOST_ROUNDS
from clusterbandits.wording import did_you_mean, escaped, listed, shortened

_SHOWN = 60
#: Longest description of what is allowed.
_ALLOWED = 260


def invalid(parameter: str, owner: str, allowed: str, given: object, hint: str = "") -> InvalidInputError:
    """Return the error for a refused value: what is allowed, what was given and, as a hint, how to fix it.

    Examples
    --------
    >>> print(invalid("widths", "Clusters", "at least 0", -1))
    Clusters: widths must be at least 0, but got -1.
    """
    named, by = (shortened(escaped(text), _SHOWN) for text in (parameter, owner))
    expected = shortened(escaped(allowed), _ALLOWED)
    requirement = f"must be {expected}, but got {shown(given)}.{' ' if hint else ''}{hint}"
    message = f"{by}: {named} {requirement}" if by else f"{named} {requirement}"
    return InvalidInputError(message, parameter=parameter, owner=owner, requirement=requirement)


def unknown(
    kind: str,
    given: object,
    names: Iterable[object],
    where: str = "",
    *,
    parameter: str = "",
    owner: str = "",
) -> InvalidInputError:
    """Return the error for a name that does not exist, with the most similar name or else with all names.

    ``where`` says where the name was looked up, such as "of policy clus-ucb".

    Examples
    --------
    >>> print(unknown("policy", "klucb", ["kl-ucb", "ucb1"]))
    Unknown policy 'klucb'. Did you mean 'kl-ucb'?
    >>> print(unknown("arm", 3, [0, 1, 2]))
    Unknown arm 3. Available: 0, 1, 2.
    """
    known = list(names)
    texts = list(map(str, known))
    # Labels such as 1 and '1', or the empty one, differ only in quotation marks.
    unclear = len(set(texts)) < len(texts) or "" in texts
    available = listed(map(repr, known) if unclear else texts) if known else "none"
    advice = did_you_mean(given, known) or f"Available: {available}."
    place = f" {shortened(escaped(where), _SHOWN)}" if where else ""
    message = f"Unknown {kind} {shown(given)}{place}. {advice}"
    return InvalidInputError(message, parameter=parameter or kind, owner=owner)


def shown(value: object) -> str:
    """Return a repr short enough for a sentence."""
    if isinstance(value, str):
        text = str(value) if isinstance(value, Described) else repr(value)
    else:
        try:
            text = " ".join(repr(value).split())
        except (ValueError, RecursionError):
            # Whole numbers of thousands of digits, and lists in lists in lists.
            text = f"a value of type {type(value).__name__} that is too large to show"
    return shortened(escaped(text), _SHOWN)


def one_of(values: Iterable[object]) -> str:
    """Return the allowed values as text for ``invalid``."""
    return f"one of {listed(map(repr, values))}"


class Described(str):
    """A description of a value, for errors that do not show it: ``Described("3 widths for 2 clusters")``."""

    __slots__ = ()


def is_number(value: object) -> TypeGuard[Real]:
    """Return whether a value is a real number; booleans are not."""
    if type(value) in {int, float}:
        return True  # The usual case; checking the abstract class takes a microsecond.
    return isinstance(value, Real) and not isinstance(value, bool)


def is_list(value: object) -> TypeGuard[Iterable[object]]:
    """Return whether a value is a list, an array or similar, and not a single value, text or a mapping."""
    single = isinstance(value, str | bytes | Mapping) or getattr(value, "ndim", 1) == 0
    return isinstance(value, Iterable) and not single


def as_mapping(value: object) -> dict[Any, Any] | None:
    """Return a mapping, or a pandas Series with its own labels, as a dict; None for anything else."""
    if isinstance(value, Mapping):
        return dict(value)
    keys, items = getattr(value, "keys", None), getattr(value, "items", None)
    if not (callable(keys) and callable(items)):
        return None
    labels = list(keys())
    return None if labels == list(range(len(labels))) else dict(items())


def as_float(value: object) -> float:
    """Return a number as a float, and anything else as NaN, so that one test refuses both."""
    try:
        return float(value) if is_number(value) else math.nan
    except OverflowError:
        return math.nan


def check_keys(keys: list[str], owner: str, data: object) -> None:
    """Refuse anything but a mapping with exactly these keys."""
    if not isinstance(data, Mapping) or set(data) != set(keys):
        given = list(data) if isinstance(data, Mapping) else data
        raise invalid("data", owner, f"a mapping with exactly the keys {listed(keys)}", given)


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
        if not given.is_integer():
            raise invalid(parameter, owner, f"a whole number of at least {least}", value)
        number = int(given)
    if number < least:
        raise invalid(parameter, owner, f"a whole number of at least {least}", number)
    if number > most:
        raise invalid(parameter, owner, f"a whole number of at most {most:g}", value)
    return number


def check_numbers(owner: str, policies: int, runs: int, checkpoints: int, arms: int) -> None:
    """Refuse a result that would not fit into memory, before it is allocated."""
    if policies * runs * checkpoints * arms > MOST_NUMBERS:
        allowed = f"small enough that policies × runs × checkpoints × arms is at most {MOST_NUMBERS:,}"
        given = Described(f"{policies:,} × {runs:,} × {checkpoints:,} × {arms:,}")
        raise invalid("runs", owner, allowed, given)


def truth(parameter: str, owner: str, value: object) -> bool:
    """Return a boolean; refuse other values that Python would treat as one."""
    if not isinstance(value, bool | np.bool_):
        raise invalid(parameter, owner, "True or False", value)
    return bool(value)


def random_generator(seed: object, owner: str) -> np.random.Generator:
    """Return the random generator of a seed; a generator is returned unchanged."""
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, np.random.SeedSequence):
        return np.random.default_rng(seed)
    return np.random.default_rng(whole("seed", owner, seed, least=0, most=LARGEST_SEED))


def choice(parameter: str, owner: str, value: object, allowed: Iterable[str]) -> str:
    """Return a name if it is allowed; refuse all others."""
    names = list(allowed)
    if not isinstance(value, str) or value not in names:
        hint = did_you_mean(value, names)
        raise invalid(parameter, owner, f"one of {listed(names)}", value, hint)
    return value


def known_name(kind: str, owner: str, value: object, names: Iterable[str], parameter: str = "") -> str:
    """Return a name if it exists; for any other, suggest the most similar one."""
    known = list(names)
    if not isinstance(value, str) or value not in known:
        raise unknown(kind, value, known, parameter=parameter, owner=owner)
    return value
