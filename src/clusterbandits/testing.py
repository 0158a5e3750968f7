"""Tests for your own policies: ``check_policy`` searches for violations of their declared properties.

It needs the extra ``testing`` (Hypothesis): ``pip install 'clusterbandits[testing]'``.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.clusters import Clusters
from clusterbandits.errors import InvalidInputError
from clusterbandits.extras import extras_explained
from clusterbandits.families import FAMILIES, as_family
from clusterbandits.policies import Assumption, Policy, ScorePolicy
from clusterbandits.policies.scores import score_at
from clusterbandits.simulation import play
from clusterbandits.validate import invalid, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy
    from numpy.typing import NDArray

    from clusterbandits.families import Family

    Floats = NDArray[np.float64]

_MOST_ARMS, _MOST_ROUNDS = 40, 400
#: Scores whose relative difference is at most this are equal.
_ROUNDING = 1e-9


@dataclasses.dataclass(frozen=True)
class Trial:
    """Arms in clusters, and fixed rewards; ``tape[k, i]`` is the reward of pull i of arm k."""

    clusters: Clusters
    tape: Floats
    rounds: int
    patterns: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Trial({self.clusters!r}, {self.rounds} rounds, patterns {', '.join(self.patterns)})"


def check_policy(policy: Policy, *, examples: int = 50, families: Any = None) -> None:
    """Test that a policy is exact, reproducible and can be saved; raise ``AssertionError`` if it is not.

    Hypothesis generates 1 to 40 arms in clusters and fixed rewards: all lowest, all highest, sorted,
    alternating, means near the ends of the domain, ties. Each example is tested as follows:

    - skip-ahead and round-by-round simulation choose the same arm in every round;
    - so do ``ask`` and ``tell``, with saving, restoring and copying in between;
    - a second simulation has the same result;
    - the score of a ``ScorePolicy`` has the properties that it declares in ``relies_on``.

    Parameters
    ----------
    policy
        Policy whose class and settings are tested, with other clusters.
    examples
        Number of examples per family, by default 50.
    families
        Families or their names; by default, all that the policy accepts.

    Examples
    --------
    >>> import clusterbandits as cb
    >>> cb.testing.check_policy(cb.UCB1(cb.Clusters([2, 1], widths=0.1)), examples=3, families=["bernoulli"])
    """
    if not isinstance(policy, Policy):
        raise invalid("policy", "check_policy", "a policy", policy)
    many = whole("examples", "check_policy", examples, least=1)
    for family in _families(policy, families):
        _try_trials(policy, family, many)
        if isinstance(policy, ScorePolicy):
            _check_assumptions(policy, family, many)


def _families(policy: Policy, given: Any) -> list[Family]:
    if given is not None:
        listed = given if isinstance(given, list | tuple) else [given]
        return [as_family(one, "check_policy") for one in listed]
    accepted = []
    for name in FAMILIES:
        try:
            accepted.append(_made(policy, policy.clusters, as_family(name)).family)
        except InvalidInputError:
            continue
    return accepted


def _made(policy: Policy, clusters: Clusters, family: Family) -> Policy:
    settings = dict(policy.settings)
    if policy.needs_horizon and settings.get("horizon") is None:
        settings["horizon"] = _MOST_ROUNDS
    return type(policy).make(clusters, settings, family=family, label=None)


def check_trial(policy: Policy, family: Family, trial: Trial) -> None:
    """Test one example."""
    try:
        made = _made(policy, trial.clusters, family)
    except InvalidInputError:
        # Tables such as distances fit only their own clusters.
        return
    path = play(made, trial.tape, trial.rounds)
    _check_same(path, play(made, trial.tape, trial.rounds, stepwise=True), "round by round", trial)
    _check_same(path, play(made, trial.tape, trial.rounds), "a second time", trial)
    _check_same(path, _asked(made, trial), "with ask and tell", trial)


def _check_same(path: NDArray[np.int64], other: NDArray[np.int64], how: str, trial: Trial) -> None:
    if not np.array_equal(path, other):
        n = int(np.flatnonzero(path != other)[0])
        raise AssertionError(
            f"Round {n + 1} of {trial!r}: skip-ahead simulation chooses arm {path[n]}, {how} arm {other[n]}."
        )


def _asked(policy: Policy, trial: Trial) -> NDArray[np.int64]:
    """Return the arms that ``ask`` chooses; the policy is saved and copied on the way."""
    learner, arms, pulled = policy, [], [0] * len(trial.clusters.arms)
    numbers = {label: number for number, label in enumerate(trial.clusters.arms)}
    for n in range(trial.rounds):
        if n % 50 == 20:
            learner = Policy.from_json(learner.to_json())
        elif n % 50 == 40:
            learner = copy.deepcopy(learner)
        label = learner.ask()
        arm = numbers[label]
        learner.tell(label, float(trial.tape[arm, pulled[arm]]))
        pulled[arm] += 1
        arms.append(arm)
    return np.array(arms)


def _check_assumptions(policy: Policy, family: Family, examples: int) -> None:
    """Test the scores of similar statistics for the properties in ``relies_on``."""
    if not policy.relies_on:
        return
    made = _made(policy, policy.clusters, family)
    if family.low < 0.0:
        return
    rng = np.random.default_rng(0)
    for _ in range(20 * examples):
        pulls, n = int(rng.integers(1, 200)), int(10 ** rng.uniform(0.0, 6.0))
        total = float(family.draw(_mean(family, rng), pulls, rng).sum())
        more, later = pulls + int(rng.integers(1, 50)), n + int(rng.integers(1, 10**5))
        larger = total + float(family.draw(_mean(family, rng), 1, rng)[0])
        here = score_at(made, pulls, total, n)
        if math.isnan(here):
            where = f"{pulls} pulls with total {total:g} in round {n}"
            raise AssertionError(f"The score of {policy.label} is not a number for {where}.")
        for assumption, there in (
            (Assumption.FALLS_WITH_PULLS, -score_at(made, more, total, n)),
            (Assumption.RISES_WITH_TOTALS, score_at(made, pulls, min(larger, pulls * family.high), n)),
            (Assumption.RISES_WITH_ROUNDS, score_at(made, pulls, total, later)),
        ):
            before = -here if assumption is Assumption.FALLS_WITH_PULLS else here
            if assumption in policy.relies_on and there < before - _ROUNDING * max(abs(before), 1.0):
                where = f"{pulls} pulls with total {total:g} in round {n}"
                raise AssertionError(f"{policy.label} relies on: {assumption}. That is wrong for {where}.")


def _mean(family: Family, rng: np.random.Generator) -> float:
    return float(rng.uniform(max(family.low, 0.01), _largest_mean(family)))


def _largest_mean(family: Family) -> float:
    return family.high if family.highest < math.inf else 4.0


def trials(family: Family | str) -> SearchStrategy[Trial]:
    """Return a Hypothesis strategy of examples for a family."""
    with extras_explained():
        from hypothesis import strategies as st

    law = as_family(family)

    @st.composite
    def trial(draw: Callable[[Any], Any]) -> Trial:
        arms = draw(st.integers(1, 6) | st.integers(7, _MOST_ARMS))
        rounds = draw(st.sampled_from([1, 2, arms, 60, 200, _MOST_ROUNDS]))
        labels = draw(st.lists(st.integers(0, max(0, arms // 2)), min_size=arms, max_size=arms))
        clusters = len(set(labels))
        width = st.sampled_from([0.0, 1e-9, 0.05, 0.3, 1.0, math.inf])
        widths = draw(st.lists(width, min_size=clusters, max_size=clusters))
        patterns = draw(st.lists(st.sampled_from(sorted(_PATTERNS)), min_size=arms, max_size=arms))
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        ties = draw(st.booleans())
        rows = [_PATTERNS[name](law, rounds, rng) for name in patterns]
        tape = np.array([rows[0]] * arms if ties else rows)
        return Trial(Clusters.from_labels(labels, widths=widths), tape, rounds, tuple(patterns))

    return trial()


def _drawn(place: float) -> Callable[[Family, int, np.random.Generator], Floats]:
    def row(family: Family, rounds: int, rng: np.random.Generator) -> Floats:
        low, high = max(family.low, 1e-6 if family.low >= 0 else -2.0), _largest_mean(family)
        return family.draw(low + place * (high - low), rounds, rng)

    return row


def _ends(family: Family, rounds: int, rng: np.random.Generator) -> Floats:
    return np.sort(_drawn(0.5)(family, max(rounds, 8), rng))


_PATTERNS: dict[str, Callable[[Family, int, np.random.Generator], Floats]] = {
    "low": lambda family, rounds, rng: np.full(rounds, _ends(family, rounds, rng)[0]),
    "high": lambda family, rounds, rng: np.full(rounds, _ends(family, rounds, rng)[-1]),
    "rising": lambda family, rounds, rng: _ends(family, rounds, rng)[:rounds],
    "falling": lambda family, rounds, rng: _ends(family, rounds, rng)[::-1][:rounds],
    "alternating": lambda family, rounds, rng: np.resize(_ends(family, rounds, rng)[[0, -1]], rounds),
    "near the lower end": _drawn(0.02),
    "in the middle": _drawn(0.5),
    "near the upper end": _drawn(0.98),
}


def _try_trials(policy: Policy, family: Family, examples: int) -> None:
    with extras_explained():
        from hypothesis import HealthCheck, given, settings

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(trials(family))
    def run(trial: Trial) -> None:
        check_trial(policy, family, trial)

    run()
