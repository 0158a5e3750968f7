"""Regret against declared widths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.report.picture import Picture, picture
from clusterbandits.report.sheet import Entry, panel, text_width
from clusterbandits.report.style import dress, looks, number_axis, regret_text, settings
from clusterbandits.tables import plain
from clusterbandits.validate import invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_HEIGHT = 45.0
#: The axis of regret ends at this multiple of the largest regret of the first policy.
_HIGHEST = 3.0
#: Space for the names of widths, in millimetres.
_ACROSS = 80.0


@dataclass(frozen=True, eq=False)
class Sweep:
    """Mean regret of a policy and its error, for each way to declare widths; one value if it uses none."""

    label: str
    regret: Floats
    error: Floats


def sweep_panel(
    widths: Sequence[str],
    sweeps: Sequence[Sweep],
    *,
    name: str,
    title: str = "",
    axis: str = "declared widths",
) -> Picture:
    """Return regret against declared widths as a picture; policies without widths are horizontal lines.

    Parameters
    ----------
    widths
        Ways to declare widths, from left to right.
    sweeps
        Mean regret of each policy.
    name
        Name of the picture in files and pages.
    title
        Title above the picture.
    axis
        Label of the axis.
    """
    for sweep in sweeps:
        if len(sweep.regret) not in {1, len(widths)}:
            raise invalid("sweeps", "sweep_panel", f"of 1 or {len(widths)} values", len(sweep.regret))
    look = looks(sweep.label for sweep in sweeps)
    top = _top(sweeps)
    legend = [[Entry(_named(sweep, top), look[sweep.label].line()) for sweep in sweeps]]
    with settings():
        figure, axes = panel(_HEIGHT, legend, title, "Mean regret by declared widths, ± standard error")
        dress(axes)
        for sweep in sweeps:
            style = look[sweep.label].line()
            x = np.arange(len(widths))
            if len(sweep.regret) == 1:
                x, style["marker"] = np.array([-0.5, len(widths) - 0.5]), ""
            y = np.broadcast_to(sweep.regret, x.shape)
            band: dict[str, Any] = {"color": style["color"], "alpha": 0.25, "linewidth": 0}
            axes.fill_between(x, y - sweep.error, y + sweep.error, **band)
            axes.plot(x, y, **style)
        _scale(axes, widths, axis)
        axes.set_ylim(top=top)
        return picture(figure, name, _alt(widths, sweeps), title)


def _top(sweeps: Sequence[Sweep]) -> float | None:
    """Return the end of the axis at which the first policy stays legible; None to show all values."""
    cap = _HIGHEST * float(sweeps[0].regret.max())
    return cap if 0 < cap < max(float(sweep.regret.max()) for sweep in sweeps) else None


def _named(sweep: Sweep, top: float | None) -> str:
    most = float(sweep.regret.max())
    return sweep.label if top is None or most <= top else f"{sweep.label} … up to {regret_text(most)}"


def _scale(axes: Axes, widths: Sequence[str], axis: str) -> None:
    crowded = max(map(text_width, widths)) > _ACROSS / len(widths)
    names = [str(k + 1) for k in range(len(widths))] if crowded else list(map(plain, widths))
    axes.set_xticks(range(len(widths)), names, parse_math=False)
    axes.set_xlim(-0.5, len(widths) - 0.5)
    axes.set_xlabel(f"{axis}, by their number" if crowded else axis)
    axes.set_ylim(bottom=0)
    number_axis(axes.yaxis)


def _alt(widths: Sequence[str], sweeps: Sequence[Sweep]) -> str:
    parts = []
    for sweep in sweeps:
        values = [regret_text(value) for value in sweep.regret]
        pairs = [f"{value} with {text}" for text, value in zip(widths, values, strict=False)]
        parts.append(f"{sweep.label} {', '.join(pairs) if len(values) > 1 else values[0]}")
    return f"Mean regret by declared widths: {'; '.join(parts)}."
