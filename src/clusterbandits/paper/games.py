"""What is played: one policy on one instance a game, each in a folder of its own, shared by figures.

Figures 4, 6 and 7 have one instance: what KL-UCB pays there is played once. The games of figures are paired:
all policies of a run meet the same rewards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from clusterbandits.paper.figures import FIGURES, Figure, Widths
from clusterbandits.paper.figures import figure as figure_of
from clusterbandits.policies import POLICIES, Policy, policy
from clusterbandits.serial import number_text
from clusterbandits.simulation.checkpoints import read_checkpoints

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterbandits.instance import Instance
    from clusterbandits.paper.settings import PaperSettings

#: The policies of the paper's figures, in the order of their tables.
PAPER_POLICIES = ("kl-ucb", "clus-ucb", "tlp-mean", "tlp-max")
_STEPS = 50


@dataclass(frozen=True)
class Game:
    """One policy, given by its text, on one instance; ``widths`` only where the policy uses them."""

    number: int
    policy: str
    widths: Widths | None
    horizon: int
    runs: int
    seed: int
    paired: bool

    @property
    def instance(self) -> Instance:
        """The truth."""
        return figure_of(self.number).instance

    @property
    def name(self) -> str:
        """The policy's name without its settings."""
        return self.policy.partition(":")[0]

    @property
    def folder(self) -> str:
        """Where its runs are kept."""
        told = "" if self.widths is None else " " + " ".join(map(number_text, self.widths))
        text = self.policy.replace(":", " ").replace(",", " ")
        how = "paired" if self.paired else "own rewards"
        return f"instance-{self.number}/{text}{told}, {self.runs} times {number_text(self.horizon)}, {how}"

    @property
    def checkpoints(self) -> list[int]:
        """Ten rounds a decade for pictures against log n, fifty even steps for pictures against n."""
        even = np.linspace(0, self.horizon, _STEPS + 1)[1:].astype(int).tolist()
        return sorted({*read_checkpoints(None, self.horizon), *(number for number in even if number > 0)})

    def learner(self) -> Policy:
        """Return the policy as it is played."""
        return policy(self.policy, self.instance.clusters(self.widths))


def game(settings: PaperSettings, figure: Figure, text: str, widths: Widths, *, paired: bool) -> Game:
    """Return the game of a policy in a figure; the same one for figures that do not differ in it."""
    first = next(other.number for other in FIGURES if other.means == figure.means)
    told = widths if POLICIES[text.partition(":")[0]].uses_widths else None
    return Game(first, text, told, settings.horizon, settings.runs, settings.seed, paired)


def far_game(settings: PaperSettings, figure: Figure, name: str, widths: Widths) -> Game:
    """Return the game that goes on to ten thousand times the horizon, with default settings.

    Drawing every reward by itself would take too long there: each policy meets its own.
    """
    near = game(settings, figure, name, widths, paired=False)
    return replace(near, horizon=settings.far_horizon, runs=settings.far_runs)


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


def unique(games: Iterable[Game]) -> tuple[Game, ...]:
    """Return every game once, in order."""
    return tuple(dict.fromkeys(games))
