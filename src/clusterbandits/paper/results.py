"""The results of the paper's experiments, put together as figures and claims ask for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterbandits.fingerprint import check_same
from clusterbandits.paper.figures import Setting, settings
from clusterbandits.simulation.campaign import Campaign, open_simulation
from clusterbandits.simulation.results import joined
from clusterbandits.simulation.store import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from clusterbandits.paper.programme import Experiment, Programme
    from clusterbandits.paper.settings import PaperSettings
    from clusterbandits.simulation.campaign import Listener, Simulation
    from clusterbandits.simulation.executors import Workers
    from clusterbandits.simulation.results import Result

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PaperResults:
    """The result of every finished experiment, each of one policy."""

    programme: Programme
    of: dict[Experiment, Result]
    _figures: dict[str, Result] = field(init=False, default_factory=dict)

    @property
    def settings(self) -> PaperSettings:
        """The settings of the reproduction."""
        return self.programme.settings

    @property
    def figures(self) -> tuple[int, ...]:
        """The numbers of the figures that are reproduced."""
        return tuple(self.settings.figures)

    @property
    def played(self) -> tuple[Setting, ...]:
        """The figures that are simulated, with each of their width vectors."""
        return settings(self.figures)

    def figure(self, setting: Setting) -> Result:
        """Return the paper's policies in a figure, by their names."""
        if setting.key not in self._figures:
            experiments = self.programme.figure(setting.figure, setting.widths)
            self._figures[setting.key] = self.together(experiments)
        return self._figures[setting.key]

    def final(self, experiment: Experiment) -> Floats:
        """Return the regret of every run of an experiment at its horizon."""
        return self.of[experiment].regret(0)[:, -1]

    def together(self, experiments: Mapping[str, Experiment]) -> Result:
        """Return several experiments on one instance as one result, with these labels."""
        return joined({name: self.of[one] for name, one in experiments.items()})


def paper_campaign(
    experiments: Sequence[Experiment],
    folder: Path,
    begun: Mapping[str, object],
    workers: Workers,
    listener: Listener | None = None,
) -> Campaign:
    """Return the campaign of some experiments; runs that the folder has are not simulated again.

    Those that it lacks are refused where ``begun``, the fingerprint it was begun with, is not today's.
    """

    def simulations() -> Iterator[Simulation]:
        for one in experiments:
            place = folder / "runs" / one.folder
            if not (place / MANIFEST).exists():
                check_same(begun, "out", "paper", str(folder))
            yield open_simulation(one.plan(), place, name=f"instance {one.number}, {one.name}", key=one)

    runs = sum(one.runs for one in experiments)
    rounds = sum(one.runs * one.horizon for one in experiments)
    return Campaign(simulations(), workers, listener, runs=runs, rounds=rounds)
