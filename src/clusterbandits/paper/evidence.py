"""What a run of the paper has found: the results of its games, put together as figures and claims ask."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterbandits.paper.branches import Setting, settings
from clusterbandits.simulation.joined import joined

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterbandits.paper.games import Game
    from clusterbandits.paper.programme import Programme
    from clusterbandits.paper.settings import PaperSettings
    from clusterbandits.simulation.results import Result


@dataclass(frozen=True, eq=False)
class Evidence:
    """Every game's result, of one policy each."""

    programme: Programme
    results: Mapping[Game, Result]
    _figures: dict[str, Result] = field(init=False, default_factory=dict)

    @property
    def settings(self) -> PaperSettings:
        """What was chosen."""
        return self.programme.settings

    @property
    def figures(self) -> tuple[int, ...]:
        """The numbers of the figures that were played."""
        return tuple(self.settings.figures)

    @property
    def played(self) -> tuple[Setting, ...]:
        """The figures that were played, with each of their width vectors."""
        return settings(self.figures)

    def figure(self, setting: Setting) -> Result:
        """Return the paper's policies in a figure, under their names."""
        if setting.key not in self._figures:
            games = self.programme.figure(setting.figure, setting.widths)
            self._figures[setting.key] = self.together(games)
        return self._figures[setting.key]

    def together(self, games: Mapping[str, Game]) -> Result:
        """Return the results of several games on one instance as one, by the names they are given here."""
        return joined({name: self.results[game] for name, game in games.items()})
