"""Results of the paper's experiments, combined as figures and claims need them."""

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
    """The results of finished experiments, one policy each."""

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
    def simulated(self) -> tuple[Setting, ...]:
        """The simulated settings: one per width vector of the reproduced figures."""
        return settings(self.figures)

    def figure(self, setting: Setting) -> Result:
        """Return the four policies of the paper in a setting as one result."""
        if setting.key not in self._figures:
            experiments = self.programme.figure(setting.figure, setting.widths)
            self._figures[setting.key] = self.together(experiments)
        return self._figures[setting.key]

    def final(self, experiment: Experiment) -> Floats:
        """Return the final regret of each run of an experiment."""
        return self.of[experiment].regret(0)[:, -1]

    def together(self, experiments: Mapping[str, Experiment]) -> Result:
        """Return experiments on the same instance as one result, labelled by the keys of the mapping."""
        return joined({name: self.of[one] for name, one in experiments.items()})


def paper_campaign(
    experiments: Sequence[Experiment],
    folder: Path,
    begun: Mapping[str, object],
    workers: Workers,
    listener: Listener | None = None,
) -> Campaign:
    """Return the campaign of some experiments; finished runs in the folder are reused.

    Runs may be added only if ``begun``, the fingerprint of the first call, equals the current fingerprint.
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
