"""What the paper simulates: experiments of one policy on one instance, by the figures and claims that ask.

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
#: The figure whose widths are wrong, and the one that is said to be hard for the two-level policy.
WRONG_WIDTHS, TWO_LEVEL = 8, 5
#: The width vector of Figure 8 that is too small for the cluster of the best arm.
MISLED: Widths = (0.4, 0.2)
#: The one that is its spans, and the one that is wider.
TRUE: Widths = (0.4, 0.7)
WIDE: Widths = (0.5, 0.9)
#: The ways to read the paper: how often indices are refreshed, who has a clustered index, the constant.
READINGS = tuple(itertools.product((1, 50), ("clustered", "plain"), (0.0, 5.0)))
#: The ways to read the two-level policy: the clock inside clusters, and how often indices are refreshed.
CLOCKS = tuple(itertools.product(("cluster", "round"), (1, 50)))


@dataclass(frozen=True)
class Experiment:
    """One policy, given by its text, on the instance of a figure; ``widths`` only where they can matter."""

    number: int
    policy: str
    widths: Widths | None
    horizon: int
    runs: int
    seed: int
    paired: bool

    @property
    def instance(self) -> Instance:
        """The environment."""
        return figure_of(self.number).instance

    @property
    def name(self) -> str:
        """The policy's name without its settings."""
        return self.policy.partition(":")[0]

    @property
    def folder(self) -> str:
        """The folder of its runs."""
        told = "" if self.widths is None else " " + " ".join(map(number_text, self.widths))
        text = self.policy.replace(":", " ").replace(",", " ")
        how = "paired" if self.paired else "own rewards"
        return f"instance-{self.number}/{text}{told}, {self.runs} times {number_text(self.horizon)}, {how}"

    @property
    def checkpoints(self) -> tuple[int, ...]:
        """Ten rounds per decade for figures against log n, fifty even steps for figures against n."""
        even = np.linspace(0, self.horizon, _STEPS + 1)[1:].astype(int).tolist()
        rounds = {*read_checkpoints(None, self.horizon), *(number for number in even if number > 0)}
        return tuple(sorted(rounds))

    def learner(self) -> Policy:
        """Return the policy."""
        return policy(self.policy, self.instance.clusters(self.widths))

    def plan(self) -> Plan:
        """Return the simulation; ``PaperSettings`` has checked its values."""
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
    """Return a policy's name with those of the settings that it has and that are not its defaults.

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
        """Return the paper's policies in a figure."""
        common = {"a": self.settings.a, "refresh": self.settings.refresh}
        return {name: self._experiment(figure, name, widths, common, paired=True) for name in PAPER_POLICIES}

    def readings(self) -> dict[tuple[int, str, float], Experiment]:
        """Return Clus-UCB in Figure 8 with the misleading widths, in every reading of the paper."""
        eight = figure_of(WRONG_WIDTHS)
        return {
            (refresh, leader, a): self._experiment(
                eight, "clus-ucb", MISLED, {"a": a, "refresh": refresh, "leader": leader}
            )
            for refresh, leader, a in READINGS
        }

    def plain_readings(self) -> dict[tuple[int, float], Experiment]:
        """Return KL-UCB in Figure 8 with the same constants and refreshes."""
        eight = figure_of(WRONG_WIDTHS)
        return {
            (refresh, a): self._experiment(eight, "kl-ucb", MISLED, {"a": a, "refresh": refresh})
            for refresh, _, a in READINGS
        }

    def clocks(self) -> dict[tuple[str, int], Experiment]:
        """Return TLP-MEAN in Figure 5, in every reading of the paper."""
        five = figure_of(TWO_LEVEL)
        return {
            (clock, refresh): self._experiment(
                five, "tlp-mean", five.widths[0], {"refresh": refresh, "clock": clock}
            )
            for clock, refresh in CLOCKS
        }

    def clock_rivals(self) -> dict[int, Experiment]:
        """Return KL-UCB in Figure 5 with the same refreshes."""
        five = figure_of(TWO_LEVEL)
        return {
            refresh: self._experiment(five, "kl-ucb", five.widths[0], {"refresh": refresh})
            for _, refresh in CLOCKS
        }

    def true_widths(self) -> dict[int, Experiment]:
        """Return Clus-UCB in Figure 8 with its true widths, exact and with the paper's refresh."""
        eight = figure_of(WRONG_WIDTHS)
        return {
            refresh: self._experiment(eight, "clus-ucb", TRUE, {"refresh": refresh}) for refresh in (1, 50)
        }

    def constants(self) -> dict[tuple[Widths, float], Experiment]:
        """Return Clus-UCB in Figure 8 with the constant of practice and that of the proof."""
        eight = figure_of(WRONG_WIDTHS)
        return {
            (widths, a): self._experiment(eight, "clus-ucb", widths, {"a": a})
            for widths in eight.widths
            for a in (0.0, 5.0)
        }

    def rates(self) -> dict[tuple[Widths, str], Experiment]:
        """Return far experiments in Figure 8, whose large gaps make them cheap: there rates are measured."""
        eight, runs = figure_of(WRONG_WIDTHS), self.settings.runs
        many = {"kl-ucb": runs, "clus-ucb": 2 * runs, "tlp-mean": self.settings.far_runs}
        return {
            (widths, name): self._far(eight, name, widths, count)
            for widths in eight.widths
            if widths not in {MISLED, WIDE}
            for name, count in many.items()
        }

    def beyond(self, figure: Figure, widths: Widths) -> dict[str, Experiment]:
        """Return the far experiments of every policy with skip-ahead.

        A policy without certificates skips fewer rounds at a time: it has a third of the runs. OSSB cannot
        skip rounds where a width is 0.
        """
        many = self.settings.far_runs
        return {
            name: self._far(figure, name, widths, many if has_certificates(name) else max(2, many // 3))
            for name in skipping_policies()
            if name != "ossb" or min(widths) > 0
        }

    def experiments(self) -> tuple[Experiment, ...]:
        """Return every experiment once, those of the figures first."""
        chosen = {figure.number for figure in self.figures}
        settings = [(figure, widths) for figure in self.figures for widths in figure.widths]
        asked: list[Mapping[Any, Experiment]] = [self.figure(*one) for one in settings]
        if TWO_LEVEL in chosen:
            asked += [self.clocks(), self.clock_rivals()]
        if WRONG_WIDTHS in chosen:
            asked += [self.readings(), self.plain_readings(), self.constants(), self.true_widths()]
            asked.append(self.rates())
        if self.settings.beyond:
            asked += [self.beyond(*one) for one in settings]
        return tuple(dict.fromkeys(itertools.chain.from_iterable(one.values() for one in asked)))

    def _experiment(
        self,
        figure: Figure,
        name: str,
        widths: Widths,
        settings: Mapping[str, object],
        *,
        paired: bool = False,
    ) -> Experiment:
        """Return a policy in a figure; figures that do not differ in it share it."""
        first = next(other for other in FIGURES if other.means == figure.means)
        text, chosen = text_of(name, settings), self.settings
        heeds = policy(text, first.instance.clusters(widths)).heeds_widths
        told = widths if heeds else None
        return Experiment(first.number, text, told, chosen.horizon, chosen.runs, chosen.seed, paired)

    def _far(self, figure: Figure, name: str, widths: Widths, runs: int) -> Experiment:
        """Return a policy with default settings and ten thousand times the horizon, with its own rewards.

        Drawing every reward by itself, as pairing does, would take too long there.
        """
        near = self._experiment(figure, name, widths, {})
        return replace(near, horizon=self.settings.far_horizon, runs=runs)


def skipping_policies() -> tuple[str, ...]:
    """Return the names of the policies that can be certain of a choice for many rounds."""
    return tuple(name for name, kind in POLICIES.items() if not kind.randomised)


def has_certificates(name: str) -> bool:
    """Tell whether a policy proves its choice by a certificate that lasts for many rounds."""
    return POLICIES[name].has_certificates
