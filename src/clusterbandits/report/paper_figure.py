"""Figures for papers: PDF with Type 42 fonts, and text that LaTeX shows literally."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.backends.backend_pgf import RendererPgf
from matplotlib.figure import Figure
from matplotlib.text import Text

from clusterbandits.report.style import EMBEDDED_FONTS, any_letters
from clusterbandits.validate import invalid

if TYPE_CHECKING:
    from collections.abc import Callable

_COMMANDS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{letter: f"\\{letter}" for letter in "%&_#${}"},
}


class PaperFigure(Figure):
    """A figure that embeds TrueType fonts in PDF, as publishers require, and accepts any characters.

    It is managed by pyplot: notebooks show it, and ``plt.show`` opens it.
    """

    def sized(self, figsize: tuple[float, float]) -> Self:
        """Set the size, and the colours of the current settings; return the figure."""
        self.set_size_inches(figsize)
        self.set_facecolor(mpl.rcParams["figure.facecolor"])
        return self

    def savefig(self, *given: Any, **options: Any) -> None:
        """Save the figure as Matplotlib does."""
        with mpl.rc_context(EMBEDDED_FONTS):
            super().savefig(*given, **options)

    def draw(self, renderer: Any) -> None:
        """Draw the figure."""
        with any_letters():
            super().draw(renderer)

    def get_tightbbox(self, *given: Any, **options: Any) -> Any:
        """Return the bounding box of the drawing."""
        with any_letters():
            return super().get_tightbbox(*given, **options)


class LiteralText(Text):
    r"""Text that LaTeX shows as other formats do: ``a_b & 50 %`` needs no escapes.

    Matplotlib's PGF backend passes ``&``, ``#`` and others to LaTeX, where they are commands. This text is
    escaped while the backend measures or draws it.
    """

    def draw(self, renderer: Any) -> None:
        """Draw the text, escaped for LaTeX."""
        written = self.get_text()
        try:
            self._write_for(renderer)
            super().draw(renderer)
        finally:
            self._restore(written)

    def get_window_extent(self, renderer: Any = None, dpi: float | None = None) -> Any:
        """Return the extent of the text as it is drawn, with escapes."""
        written = self.get_text()
        try:
            self._write_for(renderer)
            return super().get_window_extent(renderer, dpi)
        finally:
            self._restore(written)

    def _write_for(self, renderer: Any) -> None:
        if self.get_usetex() or _is_pgf(renderer):
            self.set_text(latex_text(self.get_text()))

    def _restore(self, written: str) -> None:
        if self.get_text() != written:
            self.set_text(written)


def _is_pgf(renderer: Any) -> bool:
    # The renderer of a file delegates to another one, which is found through its methods.
    return isinstance(getattr(getattr(renderer, "draw_text", None), "__self__", None), RendererPgf)


def latex_text(text: str) -> str:
    r"""Return LaTeX code that shows a text literally.

    Examples
    --------
    >>> print(latex_text("50 % of R&D_2 {#1}"))
    50 \% of R\&D\_2 \{\#1\}
    """
    return "".join(_COMMANDS.get(letter, letter) for letter in text)


def make_literal(artist: Axes | Figure) -> None:
    """Make all texts without formulas literal in LaTeX too."""
    for text in artist.findobj(Text):
        if type(text) is Text and not text.get_parse_math():
            text.__class__ = LiteralText


def drawing(ax: object, owner: str, draw: Callable[..., Axes], *given: Any, **options: Any) -> Axes:
    """Call ``draw`` on the given axes or on a new figure of pyplot, and return the axes."""
    if isinstance(ax, Axes):
        axes = draw(*given, on=ax, **options)
        make_literal(axes)
        return axes
    if ax is not None:
        raise invalid("ax", owner, "None or Matplotlib axes", ax)
    # The first figure initialises the backend of a notebook, which must not happen inside a style context.
    figure: Any = plt.figure(FigureClass=PaperFigure, layout="none")
    try:
        axes = draw(*given, on=figure.sized, **options)
    except BaseException:
        plt.close(figure)
        raise
    make_literal(figure)
    return axes
