"""The main result: the regret of Clus-UCB relative to KL-UCB, as a sentence and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clusterbandits.paper.audit.claim import Estimate, estimate, listed, ratio_values
from clusterbandits.paper.pictures import INTERVAL, estimate_rows
from clusterbandits.paper.summary import BASE, OURS, called
from clusterbandits.report.estimates_panel import estimates_panel
from clusterbandits.report.page import Headline
from clusterbandits.report.views import EstimatesView
from clusterbandits.simulation.statistics import count_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clusterbandits.paper.figures import Setting
    from clusterbandits.paper.results import PaperResults
    from clusterbandits.report.picture import Picture
    from clusterbandits.report.views import Estimates

    Floats = NDArray[np.float64]

#: Kinds of declared widths, and their headings in the picture.
_RIGHT = "no declared width is too small"
_HARMLESS = "only the width of a suboptimal cluster is too small"
_HARMFUL = "the width of the best cluster is too small"
_HEADINGS = {
    _RIGHT: "No width too small",
    _HARMLESS: "Width of a suboptimal cluster too small",
    _HARMFUL: "Width of the best cluster too small",
}
#: The interval of Figure 8 [0.4, 0.2] would make all others too small to see.
_REACH = 0.12


class Compared(NamedTuple):
    """One setting: regret of Clus-UCB minus KL-UCB in per cent of KL-UCB's, one value per run."""

    setting: Setting
    values: Floats

    @property
    def estimate(self) -> Estimate:
        """The mean difference in per cent."""
        return estimate(self.values)

    @property
    def widths(self) -> str:
        """The kind of the declared widths."""
        bound = self.setting.bound
        return _HARMFUL if bound.misled else _HARMLESS if bound.violated else _RIGHT

    @property
    def predicted(self) -> float:
        """The difference of the rates of both policies in per cent; NaN if Theorem 2 does not apply."""
        bound = self.setting.bound
        return np.nan if bound.misled else 100 * (bound.clus_ucb / bound.classical - 1)


def headline(paper: PaperResults) -> Headline | None:
    """Return the main result of all simulated settings; None if nothing was simulated."""
    groups = _groups(paper)
    if not groups:
        return None
    (widths, first), *others = groups.items()
    lines = [_conditions(first)] + [_details(name, part) for name, part in others]
    return Headline(_claim(widths, first), tuple(lines), _picture(groups))


def _groups(paper: PaperResults) -> dict[str, list[Compared]]:
    """Return the settings by the kind of their declared widths, right ones first."""
    groups: dict[str, list[Compared]] = {_RIGHT: [], _HARMLESS: [], _HARMFUL: []}
    for setting in paper.simulated:
        result = paper.figure(setting)
        ours, base = (result.regret(policy)[:, -1] for policy in (OURS, BASE))
        compared = Compared(setting, 100 * (ratio_values(ours, base) - 1))
        groups[compared.widths].append(compared)
    return {name: part for name, part in groups.items() if part}


def _claim(widths: str, part: Sequence[Compared]) -> str:
    # Settings share rewards, so their values are averaged for each run.
    mean = estimate(np.mean([one.values for one in part], axis=0))
    where = f"In {part[0].setting.name}, where {widths}," if len(part) == 1 else f"Where {widths},"
    if not mean.sign():
        difference = f"the difference between the regret of {called(OURS)} and {called(BASE)}"
        return f"{where} {difference} is not statistically significant ({_signed(mean)})."
    return f"{where} the regret of {called(OURS)} is {_in_words(mean)} than that of {called(BASE)}."


def _in_words(one: Estimate) -> str:
    return f"{one.times(-1)} % lower" if one.value < 0 else f"{one} % higher"


def _signed(one: Estimate) -> str:
    return f"{one} %".replace("-", "−")


def _conditions(part: Sequence[Compared]) -> str:
    names = listed([one.setting.name for one in part])
    runs = count_text(part[0].estimate.runs, "run")
    mean = "" if len(part) == 1 else f"Mean over {names}. "
    return f"{mean}{runs} per policy on the same rewards; ± is one standard error."


def _details(widths: str, part: Sequence[Compared]) -> str:
    parts = [
        f"{_in_words(one.estimate)} in {one.setting.name}"
        if one.estimate.sign()
        else f"not significantly different in {one.setting.name} ({_signed(one.estimate)})"
        for one in part
    ]
    return f"Where {widths}, the regret of {called(OURS)} is {listed(parts)}."


def _picture(groups: dict[str, list[Compared]]) -> Picture:
    rows = [one for part in groups.values() for one in part]
    several = len(groups) > 1
    view = EstimatesView(
        tuple(_rows(_HEADINGS[widths] if several else "", part) for widths, part in groups.items()),
        f"regret relative to {called(BASE)}, in %",
        mean=called(OURS),
        interval=INTERVAL,
        mark="predicted for long horizons (Theorem 2)",
        reference=(0.0, called(BASE)),
        reach=_REACH,
    )
    differences = ", ".join(f"{one.setting.name} {_signed(one.estimate)}" for one in rows)
    alt = f"Difference in per cent of KL-UCB's regret, ± standard error: {differences}."
    title = f"Regret of {called(OURS)} compared with {called(BASE)}"
    return estimates_panel(view, name="main-result", alt=alt, title=title)


def _rows(heading: str, part: Sequence[Compared]) -> Estimates:
    names, marks = [one.setting.name for one in part], [one.predicted for one in part]
    return estimate_rows(heading, names, [one.estimate for one in part], OURS, marks, unit=" %")
