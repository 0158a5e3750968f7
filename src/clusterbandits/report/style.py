"""Styles of pictures: colour, marker and dash of each policy, fonts, ticks, and file formats."""

from __future__ import annotations

import contextlib
import io
import math
import warnings
import zlib
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from clusterbandits.policies import POLICIES
from clusterbandits.policies.policy import DEFAULT
from clusterbandits.simulation.statistics import round_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    from clusterbandits.partition import Label

Dash: TypeAlias = str | tuple[float, tuple[float, ...]]

#: The colours of Okabe and Ito, which colour-blind readers can distinguish; black and greys are for bounds.
BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
PURPLE, ORANGE, SKY = "#CC79A7", "#E69F00", "#56B4E9"
_COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)
_MARKERS = ("o", "s", "^", "v", "D", "P", "X", "<", ">", "h", "*", "p")
#: The number of looks that differ in colour or marker; further ones differ in their dashes.
_DISTINCT = len(_COLOURS) * len(_MARKERS)
#: Policies with the first looks, solid lines of different colours: those of the paper, Thompson sampling, the
#: default.
_FIRST = ("kl-ucb", "clus-ucb", "tlp-mean", "tlp-max", "thompson", DEFAULT)

#: The font size of panels, in points.
LETTERS = 8.0
_MOST_TICKS = 6

_DOTS_PER_INCH = 150
#: Metadata of each format: no date, so that equal data give equal files.
METADATA: dict[str, dict[str, Any]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
#: Embedded TrueType fonts: publishers reject Type 3 fonts.
EMBEDDED_FONTS: Any = {"pdf.fonttype": 42, "ps.fonttype": 42}
_REPRODUCIBLE: dict[str, Any] = {"svg.fonttype": "none", "svg.hashsalt": "clusterbandits"} | EMBEDDED_FONTS


@dataclass(frozen=True)
class Look:
    """The colour, marker and dash of a curve."""

    colour: str
    marker: str
    dash: Dash = "-"

    def line(self) -> dict[str, Any]:
        """Return the keyword arguments of a line for Matplotlib."""
        size = {"linewidth": 0.15 * LETTERS, "markersize": 0.45 * LETTERS, "markeredgewidth": 0}
        return {"color": self.colour, "marker": self.marker, "linestyle": self.dash} | size


def numbered_look(number: int) -> Look:
    """Return look 0, 1, 2, …: all are different, and the first 72 differ in colour or marker.

    Six colours repeat. Each repetition has its own dash: solid, then dashes with 0, 1, 2, … dots between.

    Examples
    --------
    >>> numbered_look(0), numbered_look(6).dash
    (Look(colour='#0072B2', marker='o', dash='-'), (0, (5, 1.5)))
    """
    turn, colour = divmod(number, len(_COLOURS))
    dash = (0, (5, 1.5) + (1, 1.5) * (turn - 1)) if turn else "-"
    return Look(_COLOURS[colour], _MARKERS[(turn + colour) % len(_MARKERS)], dash)


#: The grey and the dash of each bound.
BOUND_STYLES: dict[str, tuple[str, Dash]] = {
    "lower bound": ("#000000", (0, (6, 2))),
    "Clus-UCB (Theorem 2)": ("#444444", (0, (3, 1.5))),
    "classical": ("#808080", (0, (1.2, 1.2))),
}


def policy_name(label: str) -> str:
    """Return the name of a policy without its settings, and without text after a registered name.

    Examples
    --------
    >>> policy_name("clus-ucb:a=5"), policy_name("kl-ucb alone"), policy_name("my policy")
    ('clus-ucb', 'kl-ucb', 'my policy')
    """
    name = label.split(":", 1)[0]
    first = name.split(" ", 1)[0]
    return first if first in POLICIES else name


def looks(labels: Iterable[str]) -> dict[str, Look]:
    """Return a different look for each label; a name has the same look in all pictures.

    The first looks belong to a few named policies, then to the others in the order of the registry. The
    checksum of any other name selects one of the following looks. Further labels of a policy keep its colour.
    If two labels would have the same look, the one that sorts last gets the next free look.

    Examples
    --------
    >>> looks(["clus-ucb", "clus-ucb:a=5", "mine"])["clus-ucb"]
    Look(colour='#D55E00', marker='s', dash='-')
    """
    ordered = sorted(set(labels))
    firsts = {policy_name(label): label for label in reversed(ordered)}
    numbers: dict[str, int] = {}
    for label in dict.fromkeys((*sorted(firsts.values()), *ordered)):
        name = policy_name(label)
        taken = set(numbers.values())
        choice = _choice(name, numbers.get(firsts[name]))
        numbers[label] = next(number for number in choice if number not in taken)
    return {label: numbered_look(number) for label, number in numbers.items()}


def _choice(name: str, first: int | None) -> Iterator[int]:
    """Yield the numbers of looks for a label of a policy, given that of its first label."""
    known = tuple(dict.fromkeys((*_FIRST, *POLICIES)))
    end, colours = len(known), len(_COLOURS)
    if first is not None:
        yield from count(end + (first - end) % colours, colours)
    elif name in known:
        yield known.index(name)
    else:
        spread = max(_DISTINCT - end, colours)
        start = zlib.crc32(name.encode(errors="backslashreplace"))
        yield from (end + (start + step) % spread for step in range(spread))
        yield from count(end + spread)


def settings(on: object = None) -> AbstractContextManager[None]:
    """Return a context with the fonts and colours of our pictures, independent of the user's settings.

    Drawings on axes of a user use the user's settings.
    """
    if isinstance(on, Axes):
        return contextlib.nullcontext()
    return matplotlib.style.context(["default", {"font.size": LETTERS, **_REPRODUCIBLE}])


@contextlib.contextmanager
def any_letters() -> Iterator[None]:
    """Suppress warnings about characters that the font lacks: SVG shows them in a font of the reader."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"(?s)Glyph \d+ .* missing from font")
        warnings.filterwarnings("ignore", message=r"Matplotlib currently does not support \w+ natively")
        yield


def render(figure: Figure, form: str, dpi: float = _DOTS_PER_INCH) -> bytes:
    """Return a figure as PNG, SVG or PDF; equal figures give equal bytes, and text in SVG remains text."""
    buffer = io.BytesIO()
    with matplotlib.style.context(_REPRODUCIBLE), any_letters():
        figure.savefig(buffer, format=form, dpi=dpi, metadata=METADATA[form])
    return buffer.getvalue()


def dress(axes: Axes, grid: Literal["x", "y"] = "y") -> None:
    """Hide the right and upper sides of the frame, and draw a light grid behind the data."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, color="#E5E5E5", linewidth=0.6)
    axes.set_axisbelow(True)


def round_ticks(low: float, high: float) -> list[float]:
    """Return ticks for a logarithmic axis: powers of ten, with 2 and 5 between them if there are few.

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


def tick_text(value: float) -> str:
    """Return a number as a short text for an axis.

    Examples
    --------
    >>> tick_text(0.25), tick_text(1500), tick_text(20_000), tick_text(0)
    ('0.25', '1500', '2e4', '0')
    """
    return round_text(round(value)) if abs(value) >= 10_000 else f"{round(value, 12):.6g}"


def number_axis(axis: Axis, intervals: int = 6, *, integer: bool = False) -> None:
    """Give a linear axis at most ``intervals`` intervals between round numbers."""
    axis.set_major_locator(MaxNLocator(intervals, steps=(1, 2, 2.5, 5, 10), integer=integer))
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick_text(value)))


def number_line(axes: Axes, label: str) -> None:
    """Make the horizontal axis a number line, and hide the vertical one."""
    dress(axes, grid="x")
    axes.yaxis.set_visible(False)
    axes.spines["left"].set_visible(False)
    number_axis(axes.xaxis)
    axes.set_xlabel(label, parse_math=False)


def log_axis(axes: Axes, low: float, high: float, ticks: Sequence[float] = ()) -> None:
    """Make the horizontal axis logarithmic, with few ticks."""
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_xticks(ticks or round_ticks(low, high))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: tick_text(value)))


def regret_text(value: float) -> str:
    """Return a regret or a count for a sentence: three digits, or all digits before the decimal point.

    Examples
    --------
    >>> regret_text(8275.6), regret_text(88.123), regret_text(0.5)
    ('8,276', '88.1', '0.5')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def called(kind: str, name: Label) -> str:
    """Return the name of a cluster or an arm; if it is a number, preceded by its kind.

    Examples
    --------
    >>> called("cluster", 0), called("cluster", "red")
    ('cluster 0', 'red')
    """
    return f"{kind} {name}" if isinstance(name, int) else name


def first_texts(texts: Sequence[str], most: int = 6) -> str:
    """Return at most ``most`` texts, separated by semicolons, and the number of the others.

    Examples
    --------
    >>> first_texts(["red", "blue", "green"], most=2)
    'red; blue; and 1 more'
    """
    rest = [f"and {len(texts) - most} more"] if len(texts) > most else []
    return "; ".join([*texts[:most], *rest])
