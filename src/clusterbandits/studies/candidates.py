"""Candidate policies: simulated at the estimates and in plausible worlds, and the choice between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.instance import Instance
from clusterbandits.policies import policy
from clusterbandits.simulation.campaign import Campaign, open_simulation
from clusterbandits.simulation.executors import workers_of
from clusterbandits.simulation.plan import Plan
from clusterbandits.simulation.statistics import Difference, difference

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from clusterbandits.clusters import Clusters
    from clusterbandits.simulation.campaign import Listener
    from clusterbandits.studies.group_advice import GroupAdvice

    Floats = NDArray[np.float64]

#: The policy that uses no widths, which all savings are over.
PLAIN = "kl-ucb"
SAFE = "safe"
#: How the range of a saving is taken over worlds.
RANGE = (0.05, 0.95)
#: With fewer, the smallest and the largest of them enclose less than nine tenths.
FEWEST_WORLDS = 19
#: Standard errors beyond which the largest of three differences is clear: 5 % over all three (Bonferroni).
_CLEAR = 2.4
#: A policy that is safer, or simpler, is taken where it keeps this share of the best one's saving.
_KEEPS = 0.9
#: The safest first: the hedge holds whatever the widths; Clus-UCB has a theorem; Clus-OPT has simulations.
_PREFERENCE = ("clus-ucb-hedged", "clus-ucb", "clus-opt")


@dataclass(frozen=True)
class AdviceSettings:
    """How long and how often candidates are simulated."""

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


def simulate_candidates(
    estimates: Instance,
    worlds: Floats,
    told: Mapping[str, Clusters],
    settings: AdviceSettings,
    progress: Listener | None = None,
) -> tuple[Candidate, ...]:
    """Simulate every candidate at the estimates and once in every world, all on the same rewards.

    ``worlds`` are means, ``[world, arm]``; ``told`` are clusters by the name of their widths.
    """
    tried = _tried(told)
    horizon = settings.horizon
    policies = tuple(
        policy(name, told[widths or SAFE], label=label(name, widths)).for_horizon(horizon)
        for name, widths in tried
    )

    def plans() -> Iterator[Plan]:
        last, seed = (horizon,), settings.seed
        yield Plan(estimates, policies, horizon, settings.runs, seed, last, paired=True, stepwise=False)
        seeds = np.random.SeedSequence(seed, spawn_key=(1,)).generate_state(len(worlds), np.uint64)
        for means, own in zip(worlds, seeds.tolist(), strict=True):
            world = Instance(means, labels=estimates.partition)
            yield Plan(world, policies, horizon, 1, own, last, paired=True, stepwise=False)

    runs = len(policies) * (settings.runs + len(worlds))
    simulations = (open_simulation(plan, key=place) for place, plan in enumerate(plans()))
    workers = workers_of(settings.workers, None, "advise")
    campaign = Campaign(simulations, workers, progress, runs=runs, rounds=runs * horizon)
    regrets = [np.empty(0)] * (1 + len(worlds))
    for simulation in campaign.finished():
        result = simulation.result()
        regrets[simulation.key] = np.array([result.regret(k)[:, -1] for k in range(len(policies))])
    regret, paid = regrets[0], np.concatenate(regrets[1:], axis=1)
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


def choose(
    candidates: tuple[Candidate, ...], groups: tuple[GroupAdvice, ...], confidence: float
) -> tuple[str, str]:
    """Return the policy to take with the safe widths, and the reason.

    A policy saves clearly where the mean over plausible worlds is more than 2.4 standard errors above 0. Of
    those that do, the safest is taken that keeps nine tenths of the largest saving or cannot be told from it.
    """
    safe = {one.policy: one for one in candidates if one.widths == SAFE}
    best = max(safe.values(), key=lambda one: one.saved_in_worlds.value, default=None)
    if best is None or not _is_clear(best.saved_in_worlds):
        return PLAIN, _plain_reason(best, groups)
    taken = next(safe[name] for name in _PREFERENCE if _keeps_up(safe[name], best))
    saved = taken.saved_in_worlds
    paid = saved.value + float(taken.world_paid.mean())
    low, high = map(_short, taken.range)
    reason = (
        f"Over plausible worlds it saves {saved} of the {_short(paid)} that KL-UCB pays "
        f"({100 * saved.value / paid:.0f} %), and from {low} to {high} in nine of ten of them."
    )
    if taken.policy == _PREFERENCE[0]:
        return taken.policy, f"{reason} It stays safe even if a width is wrong."
    sure = f"The widths hold with {100 * confidence:g} % confidence"
    return taken.policy, f"{reason} {sure}; the hedged policy, safe beyond that, saves clearly less."


def _is_clear(saved: Difference) -> bool:
    return saved.value > 0 and saved.value > _CLEAR * saved.error


def _keeps_up(one: Candidate, best: Candidate) -> bool:
    if not _is_clear(one.saved_in_worlds):
        return False
    lost = difference(best.world_saving - one.world_saving)
    return lost.value <= max(_CLEAR * lost.error, (1 - _KEEPS) * best.saved_in_worlds.value)


def _plain_reason(best: Candidate | None, groups: tuple[GroupAdvice, ...]) -> str:
    if best is None:
        return "Every group has one arm, so there are no widths to know."
    if not any(group.verdict == "helps" for group in groups):
        return "No width that the history makes safe is narrow enough to help: these groups tell nothing yet."
    return f"No saving by the safe widths is clear: {best.saved_in_worlds} at most, over plausible worlds."


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
