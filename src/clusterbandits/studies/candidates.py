"""Candidate policies: simulated in plausible worlds with and without the history, and the choice."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit

from clusterbandits.policies import POLICIES
from clusterbandits.policies.policy import DEFAULT
from clusterbandits.simulation.campaign import Campaign, open_simulation
from clusterbandits.simulation.executors import workers_of
from clusterbandits.simulation.plan import Plan
from clusterbandits.simulation.start import NO_HISTORY, read_start
from clusterbandits.simulation.statistics import Difference, difference
from clusterbandits.studies.plausible_worlds import world_instance

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from clusterbandits.clusters import Clusters
    from clusterbandits.policies import Policy
    from clusterbandits.simulation.campaign import Listener, Progress
    from clusterbandits.simulation.start import Start
    from clusterbandits.studies.history import History

    Floats = NDArray[np.float64]

#: A policy that ignores groups, for comparison.
PLAIN = "kl-ucb"
#: The default, which is recommended unless another is clearly better; and all policies of the league except
#: those that others improve on (UCB1, UCBC, ...) and those that are too slow.
TRIED = (
    DEFAULT,
    "thompson",
    "tsc",
    "tlp-mean",
    "tlp-max",
    "imed",
    PLAIN,
    "clus-ucb",
    "clus-ucb-hedged",
    "clus-opt",
    "imed-clus",
    "imed-opt",
)
#: The weight of the 95th percentile beside the mean.
TAIL_WEIGHT, _TAIL = 0.25, 0.95
#: Worlds in which candidates also start without the history.
COLD_WORLDS = 6
#: A difference is clear if it is above 0 with this confidence (Student's t).
_CLEAR = 0.975
#: The default is recommended if its score is at most this many times the lowest.
_CLOSE = 1.1
#: The results of the default in docs/reference/league.csv, which a test compares with this sentence.
_BENCHMARKS = (
    "On 26 benchmark problems, its mean regret was at most 2.4 times that of the best of 21 policies."
)


@dataclass(frozen=True)
class AdviceSettings:
    """The horizon, number of worlds and seed of the simulations."""

    horizon: int
    worlds: int
    seed: int
    workers: int | None = None


@dataclass(frozen=True, eq=False)
class Candidate:
    """A policy and its regret in plausible worlds, with one run per world.

    Parameters
    ----------
    policy
        Name of the policy.
    warm
        Regret with the history, per world.
    cold
        Regret without data, for the first worlds.
    """

    policy: str
    warm: Floats
    cold: Floats

    @property
    def proven(self) -> bool:
        """Whether a bound on its regret is proven."""
        return POLICIES[self.policy].is_proven()

    @property
    def paid(self) -> Difference:
        """Mean regret with the history, with its standard error."""
        return difference(self.warm)

    @property
    def tail(self) -> float:
        """The 95th percentile of regret with the history."""
        return float(np.quantile(self.warm, _TAIL))

    @property
    def score(self) -> float:
        """The mean plus a quarter of the distance to the 95th percentile; candidates are ranked by it."""
        return self.paid.value + TAIL_WEIGHT * (self.tail - self.paid.value)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        cold = difference(self.cold)
        return {
            "policy": self.policy,
            "proven": self.proven,
            "regret": {"mean": self.paid.value, "standard_error": self.paid.error, "tail": self.tail},
            "score": self.score,
            "without_history": {
                "worlds": self.cold.size,
                "mean": cold.value,
                "standard_error": cold.error,
                "tail": float(np.quantile(self.cold, _TAIL)),
            },
        }


@dataclass
class _Trial:
    """Simulates candidates in worlds, and counts the runs for progress reports."""

    history: History
    clusters: Clusters
    worlds: Floats
    settings: AdviceSettings
    listener: Listener | None
    #: The runs so far, and the expected number of runs.
    played: int = 0
    expected: int = 0
    _seeds: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        drawn = np.random.SeedSequence(self.settings.seed, spawn_key=(1,))
        self._seeds = drawn.generate_state(len(self.worlds), np.uint64).tolist()

    def play(self, names: Sequence[str], worlds: range, *, warm: bool) -> Floats:
        """Return the regret of each policy in each world, ``[policy, world]``."""
        start = read_start(self.history, self.clusters.arms, "advise") if warm else NO_HISTORY
        rounds = self.settings.horizon + start.trials
        family = self.history.family
        policies = [POLICIES[name](self.clusters, family=family, **_QUIET.get(name, {})) for name in names]
        learners = tuple(one.for_horizon(rounds) for one in policies)
        plans = self._plans(learners, worlds, start)
        simulations = (open_simulation(plan, key=place) for place, plan in enumerate(plans))
        runs = len(names) * len(worlds)
        workers = workers_of(self.settings.workers, None, "advise")
        listener = None if self.listener is None else self._tell
        campaign = Campaign(simulations, workers, listener, runs=runs, rounds=runs * self.settings.horizon)
        regret = np.empty((len(names), len(worlds)))
        for simulation in campaign.finished():
            result = simulation.result()
            regret[:, simulation.key] = [result.regret(k)[0, -1] for k in range(len(names))]
        self.played += runs
        return regret

    def _plans(self, policies: tuple[Policy, ...], worlds: range, start: Start) -> Iterator[Plan]:
        horizon = self.settings.horizon
        for world in worlds:
            instance = world_instance(self.history, self.worlds[world])
            yield Plan(instance, policies, horizon, 1, self._seeds[world], (horizon,), True, False, start)

    def _tell(self, progress: Progress) -> None:
        assert self.listener is not None
        runs, horizon = max(self.expected, self.played + progress.runs), self.settings.horizon
        done = self.played + progress.runs_done
        rounds_done = self.played * horizon + progress.rounds_done
        self.listener(
            progress._replace(runs_done=done, runs=runs, rounds_done=rounds_done, rounds=runs * horizon)
        )


#: Alarms about widths are for online use: worlds with other widths than the safe ones are expected here.
_QUIET: dict[str, dict[str, Any]] = {
    name: {"alarm": "ignore"} for name, kind in POLICIES.items() if "alarm" in kind.defaults
}


def simulate_candidates(
    history: History,
    clusters: Clusters,
    worlds: Floats,
    settings: AdviceSettings,
    progress: Listener | None = None,
) -> tuple[Candidate, ...]:
    """Simulate each candidate in all worlds with the history, and in a few of them without it.

    ``worlds`` are means, ``[world, arm]``. In one world all candidates get the same rewards.
    """
    trial = _Trial(history, clusters, worlds, settings, progress)
    few = range(min(COLD_WORLDS, len(worlds)))
    trial.expected = len(TRIED) * (len(worlds) + len(few))
    warm = trial.play(TRIED, range(len(worlds)), warm=True)
    cold = trial.play(TRIED, few, warm=False)
    return tuple(Candidate(name, warm[k], cold[k]) for k, name in enumerate(TRIED))


def _is_clear(lost: Floats) -> bool:
    pair = difference(lost)
    return bool(pair.value > stdtrit(lost.size - 1, _CLEAR) * pair.error)


def choose(candidates: Sequence[Candidate], unit: str = "") -> tuple[str, str]:
    """Return the recommended policy and the reason; ``unit`` follows amounts of regret.

    It is the policy with the lowest score of those with a proven bound; or the default, if its score is at
    most a tenth higher or its mean is not clearly larger. Other policies are not recommended: plausible
    worlds come from a model, and such a policy can have linear regret if the best arm differs from its group
    more than the model expects.
    """
    unit = f" {unit}" if unit else ""
    tried = {one.policy: one for one in candidates}
    champion, plain = tried[DEFAULT], tried[PLAIN]
    best = min((one for one in candidates if one.proven or one is champion), key=lambda one: one.score)
    close = champion.score <= _CLOSE * best.score
    taken = champion if close or not _is_clear(champion.warm - best.warm) else best
    reason = f"Its expected regret after the history is {taken.paid}{unit}, with a 95th percentile of "
    reason += f"{_short(taken.tail)}; that of {plain.policy}, which ignores groups, is {plain.paid}{unit}."
    if taken is not best:
        lower = "significantly lower" if best.warm.mean() < champion.warm.mean() else "lower"
        why = "which is at most a tenth less" if close else f"but its mean regret is not {lower}"
        reason += f" {_lower_score(best, taken)}{unit}, {why}. So the default is kept."
    lowest = min(candidates, key=lambda one: one.score)
    if lowest.score < best.score:
        reason += f" {_lower_score(lowest, taken)}{unit}, but no bound on its regret is proven, and "
        reason += "it can do badly in an environment unlike these worlds. So it is not recommended."
    if not taken.proven:
        reason += f" No bound on the regret of {taken.policy} is proven. {_BENCHMARKS}"
    return taken.policy, reason


def _lower_score(one: Candidate, taken: Candidate) -> str:
    return f"{one.policy} has a lower score, {_short(one.score)} instead of {_short(taken.score)}"


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
