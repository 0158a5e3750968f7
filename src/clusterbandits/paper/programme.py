"""The experiments that figures and claims need: one policy on one instance each.

Experiments are shared: Figures 4, 6 and 7 have one instance, so KL-UCB is simulated there once. Experiments
of figures are paired: all policies of a run receive the same rewards.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.paper.figures import FIGURES, Figure, Widths, figure as figure_of
from clusterbandits.policies import POLICIES, Policy, policy
from clusterbandits.serial import number_text
from clusterbandits.simulation.checkpoints import read_checkpoints
from clusterbandits.simulation.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterbandits.instance import Instance
    from clusterbandits.paper.settings import PaperSettings

#: The policies of the paper's figures, in the order of their tables.
PAPER_POLICIES = ("kl-ucb", "clus-ucb", "tlp-mean", "tlp-max")
_STEPS = 50
#: The figure with wrong widths, and the figure that is hard for the two-level policy according to the paper.
WRONG_WIDTHS, TWO_LEVEL = 8, 5
#: The width vector of Figure 8 in which the width of the best cluster is too small.
MISLED: Widths = (0.4, 0.2)
#: The width vector that equals the spans, and the one that exceeds them.
TRUE: Widths = (0.4, 0.7)
WIDE: Widths = (0.5, 0.9)
#: Interpretations of the paper: rounds between refreshes, the rule for the leading cluster, the constant a.
READINGS = tuple(itertools.product((1, 50), ("clustered", "plain"), (0.0, 5.0)))
#: Interpretations of the two-level policy: the clock inside clusters, and rounds between refreshes.
CLOCKS = tuple(itertools.product(("cluster", "round"), (1, 50)))


@dataclass(frozen=True)
class Experiment:
    """One policy on the instance of a figure; ``widths`` is None if the policy does not use them."""

    number: int
    policy: str
    widths: Widths | None
    horizon: int
    runs: int
    seed: int
    paired: bool

    @property
    def instance(self) -> Instance:
        """The instance of the figure."""
        return figure_of(self.number).instance

    @property
    def name(self) -> str:
        """The policy's name without its settings."""
        return self.policy.partition(":")[0]

    @property
    def folder(self) -> str:
        """The folder of its runs."""
        widths = "" if self.widths is None else " " + " ".join(map(number_text, self.widths))
        text = self.policy.replace(":", " ").replace(",", " ")
        how = "paired" if self.paired else "own rewards"
        return f"instance-{self.number}/{text}{widths}, {self.runs} times {number_text(self.horizon)}, {how}"

    @property
    def checkpoints(self) -> tuple[int, ...]:
        """Ten rounds per decade, for plots against log n, and fifty equal steps, for plots against n."""
        even = np.linspace(0, self.horizon, _STEPS + 1)[1:].astype(int).tolist()
        rounds = {*read_checkpoints(None, self.horizon), *(number for number in even if number > 0)}
        return tuple(sorted(rounds))

    def learner(self) -> Policy:
        """Return the policy."""
        return policy(self.policy, self.instance.clusters(self.widths))

    def plan(self) -> Plan:
        """Return the plan of the simulation; ``PaperSettings`` has checked its values."""
        learner = self.learner().for_horizon(self.horizon)
        return Plan(
            instance=self.instance,
            policies=(learner,),
            horizon=self.horizon,
            runs=self.runs,
            seed=self.seed,
            checkpoints=self.checkpoints,
            paired=self.paired,
            stepwise=False,
        )


def text_of(name: str, settings: Mapping[str, object]) -> str:
    """Return the text of a policy: its name and those settings that it has and that differ from its defaults.

    Examples
    --------
    >>> text_of("clus-ucb", {"a": 5.0, "refresh": 1}), text_of("imed", {"a": 5.0})
    ('clus-ucb:a=5', 'imed')
    """
    defaults = POLICIES[name].defaults
    changed = [
        f"{key}={number_text(value) if isinstance(value, float) else value}"
        for key, value in settings.items()
        if key in defaults and defaults[key] != value
    ]
    return ":".join([name, *([",".join(changed)] if changed else [])])


@dataclass(frozen=True)
class Programme:
    """The experiments of a reproduction of the paper."""

    settings: PaperSettings

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The figures to reproduce."""
        return tuple(one for one in FIGURES if one.number in self.settings.figures)

    def figure(self, figure: Figure, widths: Widths) -> dict[str, Experiment]:
        """Return the experiments of a figure by policy."""
        common = {"a": self.settings.a, "refresh": self.settings.refresh}
        return {name: self._experiment(figure, name, widths, common, paired=True) for name in PAPER_POLICIES}

    def readings(self) -> dict[tuple[int, str, float], Experiment]:
        """Return Clus-UCB in Figure 8 with the best cluster's width too small, for each interpretation."""
        eight = figure_of(WRONG_WIDTHS)
        return {
            (refresh, leader, a): self._experiment(
                eight, "clus-ucb", MISLED, {"a": a, "refresh": refresh, "leader": leader}
            )
            for refresh, leader, a in READINGS
        }

    def plain_readings(self) -> dict[tuple[int, float], Experiment]:
        """Return KL-UCB in Figure 8 with the same constants and refresh intervals."""
        eight = figure_of(WRONG_WIDTHS)
        return {
            (refresh, a): self._experiment(eight, "kl-ucb", MISLED, {"a": a, "refresh": refresh})
            for refresh, _, a in READINGS
        }

    def clocks(self) -> dict[tuple[str, int], Experiment]:
        """Return TLP-MEAN in Figure 5 for each interpretation of the paper."""
        five = figure_of(TWO_LEVEL)
        return {
            (clock, refresh): self._experiment(
                five, "tlp-mean", five.widths[0], {"refresh": refresh, "clock": clock}
            )
            for clock, refresh in CLOCKS
        }

    def clock_rivals(self) -> dict[int, Experiment]:
        """Return KL-UCB in Figure 5 with the same refresh intervals."""
        five = figure_of(TWO_LEVEL)
        return {
            refresh: self._experiment(five, "kl-ucb", five.widths[0], {"refresh": refresh})
            for _, refresh in CLOCKS
        }

    def true_widths(self) -> dict[int, Experiment]:
        """Return Clus-UCB in Figure 8 with widths equal to the spans, with exact and refreshed indices."""
        eight = figure_of(WRONG_WIDTHS)
        return {
            refresh: self._experiment(eight, "clus-ucb", TRUE, {"refresh": refresh}) for refresh in (1, 50)
        }

    def constants(self) -> dict[tuple[Widths, float], Experiment]:
        """Return Clus-UCB in Figure 8 with a = 0 and a = 5."""
        eight = figure_of(WRONG_WIDTHS)
        return {
            (widths, a): self._experiment(eight, "clus-ucb", widths, {"a": a})
            for widths in eight.widths
            for a in (0.0, 5.0)
        }

    def rates(self) -> dict[tuple[Widths, str], Experiment]:
        """Return the long experiments that measure rates; the large gaps of Figure 8 keep them fast."""
        eight, runs = figure_of(WRONG_WIDTHS), self.settings.runs
        many = {"kl-ucb": runs, "clus-ucb": 2 * runs, "tlp-mean": self.settings.far_runs}
        return {
            (widths, name): self._far(eight, name, widths, count)
            for widths in eight.widths
            if widths not in {MISLED, WIDE}
            for name, count in many.items()
        }

    def beyond(self, figure: Figure, widths: Widths) -> dict[str, Experiment]:
        """Return the long experiments of all policies with skip-ahead.

        Policies without certificates skip fewer rounds per step and have a third of the runs. OSSB cannot
        skip rounds if a width is 0.
        """
        many = self.settings.far_runs
        return {
            name: self._far(figure, name, widths, many if has_certificates(name) else max(2, many // 3))
            for name in skipping_policies()
            if name != "ossb" or min(widths) > 0
        }

    def experiments(self) -> tuple[Experiment, ...]:
        """Return all experiments without repetitions, those of the figures first."""
        chosen = {figure.number for figure in self.figures}
        settings = [(figure, widths) for figure in self.figures for widths in figure.widths]
        needed: list[Mapping[Any, Experiment]] = [self.figure(*one) for one in settings]
        if TWO_LEVEL in chosen:
            needed += [self.clocks(), self.clock_rivals()]
        if WRONG_WIDTHS in chosen:
            needed += [self.readings(), self.plain_readings(), self.constants(), self.true_widths()]
            needed.append(self.rates())
        if self.settings.beyond:
            needed += [self.beyond(*one) for one in settings]
        return tuple(dict.fromkeys(itertools.chain.from_iterable(one.values() for one in needed)))

    def _experiment(
        self,
        figure: Figure,
        name: str,
        widths: Widths,
        settings: Mapping[str, object],
        *,
        paired: bool = False,
    ) -> Experiment:
        """Return a policy in a figure; figures with the same instance share experiments."""
        first = next(other for other in FIGURES if other.means == figure.means)
        text, chosen = text_of(name, settings), self.settings
        heeds = policy(text, first.instance.clusters(widths)).heeds_widths
        used = widths if heeds else None
        return Experiment(first.number, text, used, chosen.horizon, chosen.runs, chosen.seed, paired)

    def _far(self, figure: Figure, name: str, widths: Widths, runs: int) -> Experiment:
        """Return a policy with default settings and 10,000 times the horizon, with unpaired rewards.

        Pairing draws every reward separately, which would take too long.
        """
        near = self._experiment(figure, name, widths, {})
        return replace(near, horizon=self.settings.far_horizon, runs=runs)


def skipping_policies() -> tuple[str, ...]:
    """Return the names of the policies that can skip ahead."""
    return tuple(name for name, kind in POLICIES.items() if not kind.randomised)


def has_certificates(name: str) -> bool:
    """Return whether a policy skips ahead by certificates, which prove its choice for many rounds."""
    return POLICIES[name].has_certificates
