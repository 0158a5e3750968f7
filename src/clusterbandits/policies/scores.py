"""Policies that pull the arm with the largest score, a function of its own statistics: UCB1, MOSS, KL-UCB++.

A policy of this kind is one formula, ``score(state, arm, pulls, total, n)``, in the file named after it. The
policies of the package share one state class and one compilation, which selects the formula by number. A
policy from outside the package has its own state class and its own compilation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np

from clusterbandits.compiled import kernel
from clusterbandits.fingerprint import is_own
from clusterbandits.policies.arms import APART, Floats, Ints, first_unpulled, largest
from clusterbandits.policies.hold_search import fresh_memory, fresh_reach, hold_by_search, keeps
from clusterbandits.policies.policy import Policy
from clusterbandits.policies.protocol import Assumption, Kernels, by_formula

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator
    from numpy.typing import NDArray

    from clusterbandits.families.law import Law

#: The assumptions that allow a score policy to skip ahead.
MONOTONE = (
    Assumption.FALLS_WITH_PULLS,
    Assumption.RISES_WITH_TOTALS,
    Assumption.RISES_WITH_ROUNDS,
    Assumption.REWARDS_NOT_NEGATIVE,
)


class ScoreState(NamedTuple):
    """Statistics, the index of the formula, and its parameter."""

    law: Law
    #: The index of the formula among those of the state class.
    formula: int
    #: The numeric setting of the policy, such as α of MOSS or the horizon of KL-UCB++.
    parameter: float
    #: Whether a choice may be held, because the score is declared monotone.
    skips: bool
    #: Whether scores are independent of the round; they are then computed only when an arm is pulled.
    timeless: bool
    pulls: Ints
    totals: Floats
    squares: Floats
    memory: NDArray[Any]
    reach: Ints
    scores: Floats


class SquaresState(ScoreState):
    """A state with sums of squares; a class of its own, so that other states need no check for them."""


#: The formulas of each state class.
FORMULAS: dict[type, list[Callable[..., float]]] = {ScoreState: [], SquaresState: []}


_formula = by_formula(lambda kind: FORMULAS[kind])


@kernel
def score(state: Any, arm: int, pulls: int, total: float, n: int) -> float:
    """Return the score in round n of an arm with the given statistics."""
    return float(_formula(state, arm, pulls, total, n))


@kernel
def score_of(state: Any, arm: int, n: int) -> float:
    """Return the score of the arm in round n."""
    if state.timeless:
        return float(state.scores[arm])
    return score(state, arm, state.pulls[arm], state.totals[arm], n)


@kernel
def select(state: Any, n: int) -> int:
    """Return the arm with the largest score; the arm chosen last is kept if no other can have reached it."""
    if state.memory[0].unpulled > 0:
        return first_unpulled(state.pulls)
    if not (state.skips and keeps(state, n)):
        if not state.timeless:
            for arm in range(state.pulls.size):
                state.scores[arm] = score_of(state, arm, n)
        state.memory[0].kept = largest(state.law, state.scores, state.pulls)
    return int(state.memory[0].kept)


@kernel
def certain(state: Any, arm: int, n: int, rounds: int) -> bool:
    """Return whether no rival's score can reach that of the arm, if all rewards but the last are 0."""
    if not state.skips:
        return rounds == 1
    worst = score(state, arm, state.pulls[arm] + rounds - 1, state.totals[arm], n)
    clearly = worst - APART * state.law.tie * abs(worst)
    for rival in range(state.pulls.size):
        if rival != arm and not score_of(state, rival, n + rounds - 1) < clearly:
            return False
    return True


@kernel
def update(state: Any, arm: int, pulls: int, total: float) -> None:
    """Update the statistics of the arm."""
    if state.pulls[arm] == 0 and pulls > 0:
        state.memory[0].unpulled -= 1
    state.pulls[arm] += pulls
    state.totals[arm] += total
    if state.timeless and state.pulls[arm] > 0:
        state.scores[arm] = score(state, arm, state.pulls[arm], state.totals[arm], 1)


@kernel
def update_with_squares(state: Any, arm: int, pulls: int, total: float) -> None:
    """Add one reward, or several rewards of 0, to the statistics of the arm."""
    state.squares[arm] += total * total
    update(state, arm, pulls, total)


def score_at(policy: Policy, pulls: int, total: float, n: int) -> float:
    """Return the score of the first arm in round n with the given statistics, for tests."""
    return score(policy.fresh_state(), 0, pulls, total, n)


class ScorePolicy(Policy):
    """Base class of policies that pull the arm with the largest score; ties go to the fewest pulls.

    A subclass sets ``score`` to a kernel ``score(state, arm, pulls, total, n)``. The state has ``law``,
    ``pulls``, ``totals``, ``parameter`` (the setting that ``parameter`` names) and, with ``needs_squares``,
    ``squares``. The policy is simulated round by round unless it declares ``relies_on = MONOTONE``.
    """

    score: ClassVar[Callable[..., float]]
    #: The name of the setting that is stored in the state.
    parameter: ClassVar[str | None] = None
    #: Whether the score is independent of the round.
    timeless: ClassVar[bool] = False
    _state_class: ClassVar[type] = ScoreState
    _formula: ClassVar[int]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not {"score", "needs_squares"} & vars(cls).keys():
            return
        formula = cls.score
        cls.score = staticmethod(formula)
        if is_own(cls):
            cls._state_class = SquaresState if cls.needs_squares else ScoreState
        else:
            # Code compiled for a state class of its own is never cached on disk.
            cls._state_class = type(f"{cls.__name__}State", (ScoreState,), {"__module__": cls.__module__})
        formulas = FORMULAS.setdefault(cls._state_class, [])
        cls._formula = len(formulas)
        formulas.append(formula)

    @property
    def kernels(self) -> Kernels:
        """The compiled functions, which all score policies share."""
        take_in = update_with_squares if self.needs_squares else update
        return Kernels(select, take_in, hold_by_search, certain=certain, wants_each=self.needs_squares)

    @property
    def skips_ahead(self) -> bool:
        """Whether the score is declared monotone."""
        return bool(self.relies_on)

    def new_state(self, rng: Generator | None) -> ScoreState:
        """Return the state before the first round."""
        del rng
        arms = len(self.clusters.arms)
        value = None if self.parameter is None else self.settings[self.parameter]
        return cast("type[ScoreState]", self._state_class)(
            law=self.family.law,
            formula=self._formula,
            parameter=1.0 if value is None else float(value),
            skips=self.skips_ahead,
            timeless=self.timeless,
            pulls=np.zeros(arms, dtype=np.int64),
            totals=np.zeros(arms),
            squares=np.zeros(arms),
            memory=fresh_memory(arms),
            reach=fresh_reach(arms),
            scores=np.zeros(arms),
        )

    def _scores(self) -> list[float]:
        state = self._live
        return [float(score_of(state, arm, self._next_round)) for arm in range(state.pulls.size)]
