"""``python -m gallery.front_picture``: draw the picture of the README, for light and for dark pages."""

from __future__ import annotations

import io
import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib.style
import numpy as np
from matplotlib.figure import Figure

from clusterbandits.files import whole_file
from clusterbandits.report.style import EMBEDDED_FONTS, METADATA
from clusterbandits.simulation.simulate import simulate
from clusterbandits.studies.history import table_history
from gallery.__main__ import KEPT, ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from clusterbandits.instance import Instance
    from clusterbandits.simulation.results import Result

TABLE = "flights-by-destination"
HORIZON, RUNS = 10**5, 24
#: Policies from the largest regret to the smallest, and what the picture calls them.
NAMES = {
    "kl-ucb": "KL-UCB,\nignores groups",
    "thompson": "Thompson sampling,\nignores groups",
    "kindred": "kindred, the default,\nknows the groups",
}


@dataclass(frozen=True)
class Palette:
    """Colours on one kind of page."""

    name: str
    page: str
    text: str
    faint: str
    others: str
    ours: str


PALETTES = (
    Palette("light", "#ffffff", "#1f2328", "#d0d7de", "#6e7781", "#0072B2"),
    Palette("dark", "#0d1117", "#e6edf3", "#30363d", "#9198a1", "#56B4E9"),
)


def front_result(kept: Path | None = KEPT / "front") -> tuple[Instance, Result]:
    """Return the flights and the regret of policies that know the airlines but no widths."""
    instance = table_history(TABLE).instance()
    clusters = instance.clusters(math.inf)
    policies = list(NAMES)
    return instance, simulate(instance, policies, HORIZON, RUNS, seed=1, clusters=clusters, store=kept)


def draw(instance: Instance, result: Result, palette: Palette) -> Figure:
    """Return the picture: the options by group, and the regret of policies with and without groups."""
    settings: dict[str, Any] = {
        "font.size": 9,
        "font.sans-serif": ["DejaVu Sans"],
        "svg.hashsalt": "front",
        "text.color": palette.text,
        "axes.labelcolor": palette.text,
        "axes.edgecolor": palette.faint,
        "axes.facecolor": palette.page,
        "xtick.color": palette.text,
        "ytick.color": palette.text,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with matplotlib.style.context(["default", settings | EMBEDDED_FONTS]):
        figure = Figure(figsize=(9.2, 3.5), layout="constrained", facecolor=palette.page)
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
        _draw_options(left, instance, palette)
        _draw_regret(right, result, palette)
        return figure


def _draw_options(axes: Axes, instance: Instance, palette: Palette) -> None:
    means = [instance.means[list(members)] for members in instance.partition.members]
    order = sorted(range(len(means)), key=lambda c: float(np.max(means[c])))
    for row, c in enumerate(order):
        axes.plot([means[c].min(), means[c].max()], [row, row], color=palette.faint, linewidth=6, zorder=1)
        axes.plot(means[c], [row] * len(means[c]), "o", color=palette.others, markersize=3.5, alpha=0.75)
    best = len(order) - 1
    axes.plot(means[order[-1]].max(), best, "o", color=palette.ours, markersize=7)
    axes.annotate(
        "the best option",
        (means[order[-1]].max(), best),
        (4, 8),
        textcoords="offset points",
        ha="right",
        color=palette.ours,
        fontweight="bold",
    )
    axes.set_yticks(range(len(order)), [str(instance.partition.clusters[c]) for c in order], fontsize=7)
    axes.set_ylim(None, best + 1.1)
    axes.tick_params(length=0)
    axes.set_xlabel("share of flights that arrive on time")
    sizes = f"{len(instance.means)} options (airline and destination)\nin {len(means)} groups (airlines)"
    axes.set_title(sizes, loc="left", fontsize=9.5, fontweight="bold")


def _draw_regret(axes: Axes, result: Result, palette: Palette) -> None:
    rounds = np.asarray(result.checkpoints)
    for name, words in NAMES.items():
        regret = result.regret(name).mean(axis=0)
        ours = name == "kindred"
        colour = palette.ours if ours else palette.others
        axes.plot(rounds, regret, color=colour, linewidth=2.4 if ours else 1.6)
        axes.annotate(
            f"{regret[-1]:,.0f}  {words}",
            (rounds[-1], regret[-1]),
            (6, 0),
            textcoords="offset points",
            va="center",
            color=colour,
            fontweight="bold" if ours else "normal",
            annotation_clip=False,
        )
    axes.set(xlim=(0, HORIZON), ylim=(0, None), xlabel="decisions")
    axes.set_xticks([0, HORIZON / 2, HORIZON], ["0", f"{HORIZON // 2:,}", f"{HORIZON:,}"])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.grid(axis="y", color=palette.faint, linewidth=0.6)
    axes.tick_params(length=0)
    title = f"Punctual arrivals missed while learning\n(regret, mean of {RUNS} simulated runs)"
    axes.set_title(title, loc="left", fontsize=9.5, fontweight="bold")


def alt_text(instance: Instance, result: Result) -> str:
    """Return the picture in words."""
    regrets = {name: f"{result.mean(name)[-1]:,.0f}" for name in NAMES}
    options = f"{len(instance.means)} options in {len(instance.partition.clusters)} groups"
    return (
        f"Left: {options}, with the share of flights that arrive on time. "
        f"Right: regret after {HORIZON:,} decisions: {regrets['kl-ucb']} for KL-UCB and "
        f"{regrets['thompson']} for Thompson sampling, which ignore groups; "
        f"{regrets['kindred']} for kindred, which knows them."
    )


def main(docs: Path = ROOT / "docs" / "gallery") -> int:
    """Write the picture of the README, once per palette."""
    instance, result = front_result()
    metadata = METADATA["svg"] | {"Title": alt_text(instance, result)}
    for palette in PALETTES:
        buffer = io.BytesIO()
        draw(instance, result, palette).savefig(buffer, format="svg", metadata=metadata)
        with whole_file(docs / f"front-{palette.name}.svg") as unfinished:
            unfinished.write_bytes(buffer.getvalue())
    return 0


if __name__ == "__main__":
    sys.exit(main())
