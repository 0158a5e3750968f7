"""What candidates would pay: played at the estimates, and in worlds that the history leaves plausible."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.instance import Instance
from clusterbandits.policies import policy
from clusterbandits.simulation import Progress, simulate
from clusterbandits.simulation.statistics import Difference, difference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clusterbandits.clusters import Clusters
    from clusterbandits.policies import Policy
    from clusterbandits.simulation.progress import Listener

    Floats = NDArray[np.float64]

#: The policy that uses no widths, which all savings are over.
PLAIN = "kl-ucb"
SAFE = "safe"
#: How the range of a saving is taken over worlds.
RANGE = (0.05, 0.95)
#: With fewer, the smallest and the largest of them enclose less than nine tenths.
FEWEST_WORLDS = 19


@dataclass(frozen=True)
class Game:
    """How long and how often candidates are played."""

    horizon: int
    runs: int
    seed: int
    workers: int | None = None


@dataclass(frozen=True, eq=False)
class Candidate:
    """A policy with widths, and what it paid.

    Parameters
    ----------
    policy
        Its name.
    widths
        Which widths it was told: safe, midway, or the estimated spans; nothing for one that uses none.
    regret
        At the estimates, one for every run.
    saving
        How much less it paid than KL-UCB at the estimates, run by run on the same rewards.
    world_paid
        Its regret in every plausible world, one run each.
    world_saving
        How much less than KL-UCB it paid there.
    """

    policy: str
    widths: str
    regret: Floats
    saving: Floats
    world_paid: Floats
    world_saving: Floats

    @property
    def label(self) -> str:
        """The name that tables call it by."""
        return label(self.policy, self.widths)

    @property
    def paid(self) -> Difference:
        """Mean regret at the estimates with its standard error."""
        return difference(self.regret)

    @property
    def saved(self) -> Difference:
        """Mean saving over KL-UCB at the estimates with its standard error."""
        return difference(self.saving)

    @property
    def saved_in_worlds(self) -> Difference:
        """Mean saving over plausible worlds with its standard error."""
        return difference(self.world_saving)

    @property
    def range(self) -> tuple[float, float]:
        """Between these the saving of one run lies in nine of ten plausible worlds."""
        # The quantiles between which one more value from the same law falls with just that chance.
        low, high = np.quantile(self.world_saving, RANGE, method="weibull")
        return float(low), float(high)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        named = {"regret": self.paid, "saving": self.saved, "world_saving": self.saved_in_worlds}
        pairs = {name: {"mean": pair.value, "standard_error": pair.error} for name, pair in named.items()}
        return {"policy": self.policy, "widths": self.widths, **pairs, "world_range": list(self.range)}


def label(name: str, widths: str) -> str:
    """Return what a candidate is called."""
    return f"{name} {widths}".strip()


def play_candidates(
    estimates: Instance,
    worlds: Floats,
    told: Mapping[str, Clusters],
    game: Game,
    progress: Listener | None = None,
) -> tuple[Candidate, ...]:
    """Play every candidate at the estimates and in worlds, all on the same rewards.

    Parameters
    ----------
    estimates
        The problem at the estimated means.
    worlds
        Means in plausible worlds, ``[world, arm]``; each is played once.
    told
        Clusters by what their widths are called; the safe ones are tried with several policies.
    game
        How long and how often.
    progress
        Called now and then with a ``Progress`` of all of it.
    """
    tried = _tried(told)
    policies = [policy(name, told[widths or SAFE], label=label(name, widths)) for name, widths in tried]
    meter = _Meter(progress, len(policies) * (game.runs + len(worlds)), game.horizon)
    regret = _regrets(estimates, policies, game, meter)
    seeds = np.random.SeedSequence(game.seed, spawn_key=(1,)).generate_state(len(worlds), np.uint64)
    seen = [
        _regrets(
            Instance(means, labels=estimates.partition),
            policies,
            Game(game.horizon, 1, int(seed), game.workers),
            meter,
        )
        for means, seed in zip(worlds, seeds, strict=True)
    ]
    paid = np.concatenate(seen, axis=1)
    return tuple(
        Candidate(name, widths, regret[k], regret[0] - regret[k], paid[k], paid[0] - paid[k])
        for k, (name, widths) in enumerate(tried)
    )


def _tried(told: Mapping[str, Clusters]) -> list[tuple[str, str]]:
    """Return policies and the widths they are tried with; widths that say nothing new are left out."""
    kinds = [(name, SAFE) for name in ("clus-ucb", "clus-opt", "clus-ucb-hedged")]
    others = [name for name, clusters in told.items() if clusters.widths != told[SAFE].widths]
    informed = max(told[SAFE].sizes) > 1
    return [(PLAIN, ""), *(kinds if informed else []), *(("clus-ucb", name) for name in others)]


def _regrets(instance: Instance, policies: Sequence[Policy], game: Game, meter: _Meter) -> Floats:
    """Return the regret of every policy in every run, ``[policy, run]``."""
    result = simulate(
        instance,
        policies,
        game.horizon,
        game.runs,
        game.seed,
        workers=game.workers,
        checkpoints=[game.horizon],
        progress=meter.listener,
        paired=True,
    )
    meter.done += len(policies) * game.runs
    return np.array([result.regret(k)[:, -1] for k in range(len(policies))])


class _Meter:
    """Adds up the progress of many games into that of one."""

    def __init__(self, listener: Listener | None, runs: int, horizon: int) -> None:
        self._tell, self._runs, self._horizon = listener, runs, horizon
        self._start = time.monotonic()
        self.done = 0

    @property
    def listener(self) -> Listener | None:
        return None if self._tell is None else self._listen

    def _listen(self, part: Progress) -> None:
        if self._tell is not None:
            rounds = self.done * self._horizon + part.rounds_done
            seconds = time.monotonic() - self._start
            whole = self._runs * self._horizon
            self._tell(Progress(self.done + part.runs_done, self._runs, rounds, whole, seconds))
