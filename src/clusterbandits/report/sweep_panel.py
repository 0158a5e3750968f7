"""Regret against declared widths, right and wrong."""

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
#: Regret this many times larger than that of the first policy leaves the picture.
_HIGHEST = 3.0
#: Room for the names of widths, in millimetres.
_ACROSS = 80.0


@dataclass(frozen=True, eq=False)
class Sweep:
    """One policy: mean regret and error for each way to declare widths; one value where it uses none."""

    label: str
    regret: Floats
    error: Floats


def sweep_panel(
    told: Sequence[str],
    sweeps: Sequence[Sweep],
    *,
    name: str,
    title: str = "",
    axis: str = "declared widths",
) -> Picture:
    """Return regret against declared widths as a picture; policies without widths are level lines.

    Parameters
    ----------
    told
        The ways to declare widths, from left to right.
    sweeps
        The mean regret of every policy.
    name
        Name of the picture in files and pages.
    title
        Title above the picture.
    axis
        Label of the axis.
    """
    for sweep in sweeps:
        if len(sweep.regret) not in {1, len(told)}:
            raise invalid("sweeps", "sweep_panel", f"of 1 or {len(told)} values", len(sweep.regret))
    look = looks(sweep.label for sweep in sweeps)
    top = _top(sweeps)
    legend = [[Entry(_named(sweep, top), look[sweep.label].line()) for sweep in sweeps]]
    with settings():
        figure, axes = panel(_HEIGHT, legend, title, "Regret against declared widths; ± standard error")
        dress(axes)
        for sweep in sweeps:
            style = look[sweep.label].line()
            x = np.arange(len(told))
            if len(sweep.regret) == 1:
                x, style["marker"] = np.array([-0.5, len(told) - 0.5]), ""
            y = np.broadcast_to(sweep.regret, x.shape)
            band: dict[str, Any] = {"color": style["color"], "alpha": 0.25, "linewidth": 0}
            axes.fill_between(x, y - sweep.error, y + sweep.error, **band)
            axes.plot(x, y, **style)
        _scale(axes, told, axis)
        axes.set_ylim(top=top)
        return picture(figure, name, _alt(told, sweeps), title)


def _top(sweeps: Sequence[Sweep]) -> float | None:
    """Return where the axis must end for what is near the first policy to be seen; None where all is."""
    cap = _HIGHEST * float(sweeps[0].regret.max())
    return cap if 0 < cap < max(float(sweep.regret.max()) for sweep in sweeps) else None


def _named(sweep: Sweep, top: float | None) -> str:
    most = float(sweep.regret.max())
    return sweep.label if top is None or most <= top else f"{sweep.label} … up to {regret_text(most)}"


def _scale(axes: Axes, told: Sequence[str], axis: str) -> None:
    crowded = max(map(text_width, told)) > _ACROSS / len(told)
    names = [str(k + 1) for k in range(len(told))] if crowded else list(map(plain, told))
    axes.set_xticks(range(len(told)), names, parse_math=False)
    axes.set_xlim(-0.5, len(told) - 0.5)
    axes.set_xlabel(f"{axis}, by their number" if crowded else axis)
    axes.set_ylim(bottom=0)
    number_axis(axes.yaxis)


def _alt(told: Sequence[str], sweeps: Sequence[Sweep]) -> str:
    parts = []
    for sweep in sweeps:
        values = [regret_text(value) for value in sweep.regret]
        pairs = [f"{value} with {text}" for text, value in zip(told, values, strict=False)]
        parts.append(f"{sweep.label} {', '.join(pairs) if len(values) > 1 else values[0]}")
    return f"Mean regret by declared widths: {'; '.join(parts)}."
