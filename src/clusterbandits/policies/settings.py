"""The settings of policies: each name means the same wherever it is used, and is checked in one place."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from clusterbandits.limits import LARGEST_SEED, MOST_ROUNDS
from clusterbandits.serial import restore_number
from clusterbandits.validate import Described, as_float, between, choice, invalid, is_list, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Reader = Callable[[object, str], object]

_LARGEST_A = 1e6

#: What every policy that uses widths does about them by default.
ALARM: dict[str, object] = {"alarm": "warn", "alarm_level": 0.05}


def _number(name: str, least: float, most: float) -> Reader:
    return lambda value, owner: between(name, owner, value, least, most)


def _positive(name: str, most: float) -> Reader:
    def read(value: object, owner: str) -> float:
        number = as_float(value)
        if not 0.0 < number <= most:
            raise invalid(name, owner, f"a number above 0 and at most {most:g}", value)
        return number

    return read


def _one_of(name: str, *allowed: str) -> Reader:
    return lambda value, owner: choice(name, owner, value, allowed)


def _count(name: str, least: int, most: int) -> Reader:
    return lambda value, owner: whole(name, owner, value, least=least, most=most)


def _horizon(value: object, owner: str) -> int | None:
    return None if value is None else whole("horizon", owner, value, least=1, most=MOST_ROUNDS)


def _distances(value: object, owner: str) -> list[list[float]] | None:
    """Return a symmetric table of distances, 0 on its diagonal."""
    if value is None:
        return None
    allowed = "a square table of distances from 0 to infinity, symmetric, 0 on the diagonal"
    if not is_list(value):
        raise invalid("distances", owner, f"{allowed}, given from Python", value)
    rows = [list(row) if is_list(row) else [row] for row in value]
    table = [[as_float(restore_number(one)) for one in row] for row in rows]
    size = range(len(table))
    if not table or any(len(row) != len(table) for row in table):
        raise invalid("distances", owner, allowed, Described(f"rows of {[len(row) for row in table]}"))
    for i in size:
        for j in size:
            if not table[i][j] >= 0.0 or table[i][j] != table[j][i] or (i == j and table[i][j] != 0.0):
                raise invalid("distances", owner, allowed, Described(f"{table[i][j]} between {i} and {j}"))
    return table


_READERS: dict[str, Reader] = {
    "a": _number("a", 0, _LARGEST_A),
    "alarm": _one_of("alarm", "warn", "widen", "ignore"),
    "alarm_level": _positive("alarm_level", 1.0),
    "alpha": _number("alpha", 0, _LARGEST_A),
    "c": _positive("c", _LARGEST_A),
    "clock": _one_of("clock", "cluster", "round"),
    "distances": _distances,
    "epsilon": _number("epsilon", 0, 1),
    "gamma": _number("gamma", 0, _LARGEST_A),
    "gap": _positive("gap", _LARGEST_A),
    "hedge": _number("hedge", 0, 1),
    "horizon": _horizon,
    "leader": _one_of("leader", "clustered", "plain"),
    "refresh": _count("refresh", 1, 10**9),
    "seed": _count("seed", 0, LARGEST_SEED),
    "widths": _one_of("widths", "ignored", "respected"),
}


def read_settings(
    name: str, defaults: Mapping[str, object], given: Mapping[str, object], owner: str
) -> dict[str, Any]:
    """Return a value for every setting, those given checked; unknown ones are refused."""
    for key in given:
        if key not in defaults:
            known = f"with {' and '.join(defaults)} alone" if defaults else "without settings"
            raise invalid("policy", "policy", f"'{name}' {known}", Described(f"'{key}'"))
    return {key: _READERS[key](given.get(key, default), owner) for key, default in defaults.items()}


def signature(defaults: Mapping[str, object]) -> inspect.Signature:
    """Return how a policy with these settings is made, for ``help`` and editors."""
    kinds = inspect.Parameter
    only = {**defaults, "family": "bernoulli", "label": None}
    return inspect.Signature(
        [
            kinds("clusters", kinds.POSITIONAL_OR_KEYWORD),
            *(kinds(name, kinds.KEYWORD_ONLY, default=value) for name, value in only.items()),
        ]
    )
