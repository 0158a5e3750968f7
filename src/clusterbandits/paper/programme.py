"""The games that figures and claims ask for, by what they are for."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterbandits.paper.figures import FIGURES, Figure, Widths
from clusterbandits.paper.figures import figure as figure_of
from clusterbandits.paper.games import PAPER_POLICIES, Game, far_game, game, text_of, unique
from clusterbandits.policies import POLICIES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterbandits.paper.settings import PaperSettings

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
class Programme:
    """What a run of the paper plays."""

    settings: PaperSettings

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The figures to be played."""
        return tuple(one for one in FIGURES if one.number in self.settings.figures)

    def figure(self, figure: Figure, widths: Widths) -> dict[str, Game]:
        """Return the games of the paper's policies in a figure."""
        common = {"a": self.settings.a, "refresh": self.settings.refresh}
        return {
            name: game(self.settings, figure, text_of(name, common), widths, paired=True)
            for name in PAPER_POLICIES
        }

    def readings(self) -> dict[tuple[int, str, float], Game]:
        """Return Clus-UCB in Figure 8 with the dangerous widths, in every way the paper can be read."""
        return {
            (refresh, leader, a): self._variant(
                WRONG_WIDTHS, "clus-ucb", MISLED, {"a": a, "refresh": refresh, "leader": leader}
            )
            for refresh, leader, a in READINGS
        }

    def plain_readings(self) -> dict[tuple[int, float], Game]:
        """Return KL-UCB in Figure 8 with the same constants and refreshes."""
        return {
            (refresh, a): self._variant(WRONG_WIDTHS, "kl-ucb", MISLED, {"a": a, "refresh": refresh})
            for refresh, _, a in READINGS
        }

    def clocks(self) -> dict[tuple[str, int], Game]:
        """Return TLP-MEAN in Figure 5, in every way the paper can be read."""
        return {
            (clock, refresh): self._variant(
                TWO_LEVEL,
                "tlp-mean",
                figure_of(TWO_LEVEL).widths[0],
                {"refresh": refresh, "clock": clock},
            )
            for clock, refresh in CLOCKS
        }

    def clock_rivals(self) -> dict[int, Game]:
        """Return KL-UCB in Figure 5 with the same refreshes."""
        widths = figure_of(TWO_LEVEL).widths[0]
        return {
            refresh: self._variant(TWO_LEVEL, "kl-ucb", widths, {"refresh": refresh}) for _, refresh in CLOCKS
        }

    def true_widths(self) -> dict[int, Game]:
        """Return Clus-UCB in Figure 8 with its true widths, exact and with the paper's refresh."""
        return {
            refresh: self._variant(WRONG_WIDTHS, "clus-ucb", TRUE, {"refresh": refresh})
            for refresh in (1, 50)
        }

    def constants(self) -> dict[tuple[Widths, float], Game]:
        """Return Clus-UCB in Figure 8 with the constant of practice and that of the proof."""
        return {
            (widths, a): self._variant(WRONG_WIDTHS, "clus-ucb", widths, {"a": a})
            for widths in figure_of(WRONG_WIDTHS).widths
            for a in (0.0, 5.0)
        }

    def rates(self) -> dict[tuple[Widths, str], Game]:
        """Return far games in Figure 8, whose large gaps make them cheap: there rates are measured."""
        eight, runs = figure_of(WRONG_WIDTHS), self.settings.runs
        many = {"kl-ucb": runs, "clus-ucb": 2 * runs, "tlp-mean": self.settings.far_runs}
        return {
            (widths, name): replace(far_game(self.settings, eight, name, widths), runs=count)
            for widths in eight.widths
            if widths not in {MISLED, WIDE}
            for name, count in many.items()
        }

    def beyond(self, figure: Figure, widths: Widths) -> dict[str, Game]:
        """Return the far games of every policy that can prove its choices.

        A policy without certificates needs many more holds: it plays a third of the runs. OSSB, whose needs
        jump where a width is 0, can prove nothing there.
        """
        games = {
            name: far_game(self.settings, figure, name, widths)
            for name in holding_policies()
            if name != "ossb" or min(widths) > 0
        }
        fewer = max(2, self.settings.far_runs // 3)
        return {
            name: game if has_certificates(name) else replace(game, runs=fewer)
            for name, game in games.items()
        }

    def games(self) -> tuple[Game, ...]:
        """Return every game of the run, the figures' first."""
        played = {figure.number for figure in self.figures}
        asked: list[Iterable[Game]] = [
            self.figure(figure, widths).values() for figure in self.figures for widths in figure.widths
        ]
        if TWO_LEVEL in played:
            asked += [self.clocks().values(), self.clock_rivals().values()]
        if WRONG_WIDTHS in played:
            asked += [self.readings().values(), self.plain_readings().values()]
            asked += [self.constants().values(), self.true_widths().values(), self.rates().values()]
        if self.settings.beyond:
            asked += [
                self.beyond(figure, widths).values() for figure in self.figures for widths in figure.widths
            ]
        return unique(itertools.chain.from_iterable(asked))

    def _variant(self, number: int, name: str, widths: Widths, settings: dict[str, object]) -> Game:
        return game(self.settings, figure_of(number), text_of(name, settings), widths, paired=False)


def holding_policies() -> tuple[str, ...]:
    """Return the names of the policies that can be certain of a choice for many rounds."""
    return tuple(name for name, kind in POLICIES.items() if not kind.randomised)


def has_certificates(name: str) -> bool:
    """Tell whether a policy is certain of its choice by a certificate that serves many holds."""
    return POLICIES[name].has_certificates
