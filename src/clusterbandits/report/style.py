"""How every picture looks: a colour, marker and dash for each policy, letters, ticks, and file formats."""

from __future__ import annotations

import contextlib
import io
import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import matplotlib.style

from clusterbandits.simulation.statistics import round_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Dash: TypeAlias = str | tuple[float, tuple[float, ...]]

#: The colours of Okabe and Ito, which colour-blind readers tell apart; black and greys are for bounds.
BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
PURPLE, ORANGE, SKY = "#CC79A7", "#E69F00", "#56B4E9"
MARKERS = ("o", "s", "^", "v", "D", "P", "X", "<", ">", "h", "*", "p")

_SOLID, _LONG, _MIXED, _SHORT = "-", (0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (2, 1))
_DASHES: tuple[Dash, ...] = (_SOLID, _LONG, _MIXED, _SHORT)

#: Letters of a panel, in points.
LETTERS = 8.0
_MOST_TICKS = 6

_DOTS_AN_INCH = 150
#: What each format notes about its making: no date, so that equal data make equal files.
METADATA: dict[str, dict[str, Any]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
_REPRODUCIBLE: dict[str, Any] = {"svg.fonttype": "none", "svg.hashsalt": "clusterbandits"}


@dataclass(frozen=True)
class Look:
    """What a policy is known by in every picture."""

    colour: str
    marker: str
    dash: Dash = _SOLID

    def line(self, letters: float = LETTERS) -> dict[str, Any]:
        """Return the keywords of a line, as thick as suits these letters."""
        size = {"linewidth": 0.15 * letters, "markersize": 0.45 * letters, "markeredgewidth": 0}
        return {"color": self.colour, "marker": self.marker, "linestyle": self.dash} | size


POLICY_LOOKS = {
    "ucb1": Look(SKY, "v"),
    "moss": Look(SKY, "^", _LONG),
    "epsilon-greedy": Look(SKY, "P", _MIXED),
    "kl-ucb": Look(BLUE, "o"),
    "kl-ucb++": Look(BLUE, "D", _LONG),
    "imed": Look(BLUE, "X", _MIXED),
    "thompson": Look(PURPLE, "*", _LONG),
    "tlp-mean": Look(GREEN, "^"),
    "tlp-max": Look(PURPLE, "v"),
    "tsc": Look(GREEN, "P", _LONG),
    "ucbc": Look(GREEN, "X", _MIXED),
    "ckl-ucb": Look(BLUE, "<", _SHORT),
    "ossb": Look(ORANGE, ">", _LONG),
    "clus-ucb": Look(VERMILLION, "s"),
    "clus-ucb-hedged": Look(VERMILLION, "p", _LONG),
    "clus-opt": Look(ORANGE, "D"),
    "imed-clus": Look(GREEN, "h", _SHORT),
    "imed-opt": Look(ORANGE, "X", _MIXED),
    "clus-ts": Look(PURPLE, "P", _MIXED),
    "hier-ts": Look(PURPLE, "h", _SHORT),
}
_TAKEN = {(look.colour, look.marker) for look in POLICY_LOOKS.values()}
#: For names that the table above does not have, in this order.
_SPARE = tuple(
    Look(colour, marker, _SHORT)
    for marker in MARKERS
    for colour in (GREEN, PURPLE, ORANGE, SKY)
    if (colour, marker) not in _TAKEN
)

#: The grey and the dash of every bound.
BOUND_STYLES: dict[str, tuple[str, Dash]] = {
    "lower bound": ("#000000", (0, (6, 2))),
    "Clus-UCB (Theorem 2)": ("#444444", (0, (3, 1.5))),
    "classical": ("#808080", (0, (1.2, 1.2))),
}


def policy_name(label: str) -> str:
    """Return the name of a policy, without the settings or words that follow it in a label.

    Examples
    --------
    >>> policy_name("clus-ucb:a=5"), policy_name("kl-ucb alone"), policy_name("moss")
    ('clus-ucb', 'kl-ucb', 'moss')
    """
    return label.split(":", 1)[0].split(" ", 1)[0]


def looks(labels: Iterable[str]) -> dict[str, Look]:
    """Return the look of every label: that of its policy wherever it is drawn, and no two alike.

    A second label of the same policy keeps the colour and gets another marker and dash. Unknown names get
    looks that no known one has, in the order in which they come.

    Examples
    --------
    >>> looks(["clus-ucb", "clus-ucb:a=5", "mine"])["clus-ucb"]
    Look(colour='#D55E00', marker='s', dash='-')
    """
    given: dict[str, Look] = {}
    for label in labels:
        taken = set(given.values())
        own = POLICY_LOOKS.get(policy_name(label))
        choice = _SPARE if own is None else (own, *_variations(own))
        given[label] = next((look for look in choice if look not in taken), choice[len(given) % len(choice)])
    return given


def _variations(look: Look) -> Iterable[Look]:
    """Return looks of the same colour that no policy has."""
    free = [marker for marker in MARKERS if (look.colour, marker) not in _TAKEN]
    start = _DASHES.index(look.dash) + 1
    return tuple(
        Look(look.colour, marker, _DASHES[(start + k) % len(_DASHES)]) for k, marker in enumerate(free)
    )


def settings(letters: float = LETTERS) -> AbstractContextManager[None]:
    """Return a context in which everything is drawn alike, whatever the user's own settings are."""
    ours: dict[str, Any] = {
        "font.size": letters,
        **dict.fromkeys(("axes.titlesize", "legend.fontsize"), "medium"),
        "legend.labelspacing": 0.25,
        **_REPRODUCIBLE,
    }
    return matplotlib.style.context(["default", ours])


@contextlib.contextmanager
def any_letters() -> Iterator[None]:
    """Let names have letters that the font lacks: SVG shows them in the reader's own font."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"(?s)Glyph \d+ .* missing from font")
        warnings.filterwarnings("ignore", message=r"Matplotlib currently does not support \w+ natively")
        yield


def render(figure: Figure, form: str, dpi: float = _DOTS_AN_INCH) -> bytes:
    """Return a figure as PNG, SVG or PDF; equal figures give equal bytes, and letters in SVG stay letters."""
    buffer = io.BytesIO()
    with matplotlib.style.context(_REPRODUCIBLE), any_letters():
        figure.savefig(buffer, format=form, dpi=dpi, metadata=METADATA[form])
    return buffer.getvalue()


def dress(axes: Axes, grid: Literal["x", "y"] = "y") -> None:
    """Take off the frame's right and upper sides, and put a quiet grid behind everything."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, color="#E5E5E5", linewidth=0.6)
    axes.set_axisbelow(True)


def round_ticks(low: float, high: float) -> list[float]:
    """Return ticks for a logarithmic axis: powers of ten, with 2 and 5 between where there are few of them.

    Examples
    --------
    >>> round_ticks(10, 1e10)
    [100.0, 10000.0, 1000000.0, 100000000.0, 10000000000.0]
    >>> round_ticks(1, 10)
    [1.0, 2.0, 5.0, 10.0]
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    decades = [10.0**power for power in range(first, last + 1) if low <= 10.0**power <= high]
    if len(decades) < 3:
        between = [step * 10.0**power for power in range(first, last + 1) for step in (1, 2, 5)]
        return [tick for tick in between if low <= tick <= high] or [low]
    step = math.ceil(len(decades) / _MOST_TICKS)
    return decades[::-1][::step][::-1]


def number_text(value: float) -> str:
    """Return a number for an axis, short.

    Examples
    --------
    >>> number_text(0.25), number_text(1500), number_text(20_000), number_text(0)
    ('0.25', '1500', '2e4', '0')
    """
    return round_text(round(value)) if abs(value) >= 10_000 else f"{value:.6g}"


def regret_text(value: float) -> str:
    """Return a regret or a count for a sentence: three digits, or all before the point.

    Examples
    --------
    >>> regret_text(8275.6), regret_text(88.123), regret_text(0.5)
    ('8,276', '88.1', '0.5')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
