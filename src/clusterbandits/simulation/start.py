"""The history of trials before the first round, and the states that start from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.compiled import kernel, loop_kernel, plain
from clusterbandits.limits import MOST_ROUNDS
from clusterbandits.policies.policy import Past
from clusterbandits.policies.protocol import learn, update, watch
from clusterbandits.validate import Described, as_float, invalid, is_list, is_number, shown, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator
    from numpy.typing import NDArray

    from clusterbandits.families import Family
    from clusterbandits.partition import Label
    from clusterbandits.policies import Policy
    from clusterbandits.policies.protocol import State

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Start:
    """The trials before the first round, which all policies start from; by default none."""

    #: Arm number, pulls and sum of rewards, in the order of the arms.
    rows: tuple[tuple[int, int, float], ...] = ()

    @property
    def trials(self) -> int:
        """The number of trials, which policies count as earlier rounds."""
        return sum(pulls for _, pulls, _ in self.rows)

    def pulls(self, arms: int) -> Ints:
        """Return the pulls of each of ``arms`` arms."""
        known = np.zeros(arms, dtype=np.int64)
        for number, pulls, _ in self.rows:
            known[number] = pulls
        return known

    def totals(self, arms: int) -> Floats:
        """Return the sum of rewards of each of ``arms`` arms."""
        known = np.zeros(arms)
        for number, _, total in self.rows:
            known[number] = total
        return known

    def labelled(self, arms: Sequence[Label]) -> list[list[Label | float]]:
        """Return plain data for ``start_of_rows``, with arms by label."""
        return [[arms[number], pulls, total] for number, pulls, total in self.rows]

    def state(self, policy: Policy, rng: Generator | None = None) -> State:
        """Return the state of a policy after these trials, as ``Policy.from_history`` sets it."""
        state = policy.fresh_state(rng)
        if self.rows:
            arms = state.pulls.size
            take_in = take_in_past if policy.compiled else take_in_past_in_python
            take_in(state, self.pulls(arms), self.totals(arms))
        return state

    def check_horizon(self, horizon: int, owner: str, parameter: str = "horizon") -> None:
        """Refuse more rounds than policies can count, given these trials."""
        left = MOST_ROUNDS - self.trials
        if horizon > left:
            allowed = f"at most {left:,} after a history of {self.trials:,} trials"
            raise invalid(parameter, owner, allowed, horizon)

    def check_policy(self, policy: Policy, owner: str) -> None:
        """Refuse a policy that cannot use sums of rewards, or not these sums."""
        self.check_sums(policy, owner)
        self.check_family(policy.family, owner)

    def check_sums(self, policy: Policy, owner: str) -> None:
        """Refuse a policy that cannot use sums of rewards."""
        if policy.kernels.wants_each and any(pulls > 1 for _, pulls, _ in self.rows):
            allowed = f"left out for {policy.label}, which needs each reward individually"
            raise invalid("start", owner, allowed, Described("sums of rewards"))

    def check_family(self, family: Family, owner: str) -> None:
        """Refuse totals that are impossible for a reward family."""
        for _, pulls, total in self.rows:
            if not family.supports(total, pulls):
                allowed = f"a history of {family.name} rewards, each {family.support}"
                given = Described(f"a sum of {total:g} for {pulls:,} rewards")
                raise invalid("start", owner, allowed, given)


NO_HISTORY = Start()


def read_start(start: object, arms: Sequence[Label], owner: str) -> Start:
    """Return the trials of a history, or no trials for None; refuse trials of unknown arms.

    Examples
    --------
    >>> from clusterbandits import read_history
    >>> rows = {"arm": ["c", "a"], "group": [1, 1], "trials": [40, 50], "successes": [4, 10]}
    >>> read_start(read_history(rows), ["a", "b", "c"], "simulate")
    Start(rows=((0, 50, 10.0), (2, 40, 4.0)))
    """
    if start is None:
        return NO_HISTORY
    if not isinstance(start, Past):
        raise invalid("start", owner, "a history returned by read_history", start)
    return start_of_rows(start.observed(), arms, owner)


def start_of_rows(rows: object, arms: Sequence[Label], owner: str) -> Start:
    """Return trials given as rows of arm, pulls and sum of rewards.

    An unknown label is compared as text, since the labels in tables are text.
    """
    numbers: dict[Any, int] = {str(label): number for number, label in enumerate(arms)}
    numbers |= {label: number for number, label in enumerate(arms)}
    found: dict[int, tuple[int, int, float]] = {}
    for row in rows if is_list(rows) else [rows]:
        label, pulls, total = _row(row, owner)
        if label not in numbers:
            raise unknown("arm", label, arms, "in the history", parameter="start", owner=owner)
        number = numbers[label]
        if number in found:
            raise invalid(
                "start", owner, "a history with one row per arm", Described(f"{shown(label)} twice")
            )
        found[number] = number, pulls, total
    return Start(tuple(found[number] for number in sorted(found)))


def _row(row: object, owner: str) -> tuple[Label, int, float]:
    parts = list(row) if is_list(row) else []
    if len(parts) == 3 and isinstance(parts[0], str | int) and is_number(parts[1]):
        pulls, total = as_float(parts[1]), as_float(parts[2])
        if 1 <= pulls <= MOST_ROUNDS and pulls.is_integer() and math.isfinite(total):
            return parts[0], int(pulls), total
    raise invalid(
        "start", owner, "rows with an arm, its number of pulls (at least 1) and the sum of its rewards", row
    )


@loop_kernel
def take_in_past(state: Any, pulls: Ints, totals: Floats) -> None:
    """Update a state with the trials of all arms; references are counted once, as in ``loop.advance``."""
    _take_in_past(state, pulls, totals)


@kernel
def _take_in_past(state: Any, pulls: Ints, totals: Floats) -> None:
    """Update the arms one by one and check the widths after each, as ``Policy.from_history`` does."""
    n = 1
    for arm in range(pulls.size):
        if pulls[arm] > 0:
            update(state, arm, pulls[arm], totals[arm])
            n += pulls[arm]
            watch(state, n)
    for arm in range(pulls.size):
        if pulls[arm] > 0:
            learn(state, arm)


#: ``take_in_past`` for policies in plain Python.
take_in_past_in_python = plain(_take_in_past)
