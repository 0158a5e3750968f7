"""Pictures as SVG and PNG, saved as files or included in a page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from clusterbandits.files import check_parent, whole_file
from clusterbandits.report.style import METADATA, render
from clusterbandits.tables import plain
from clusterbandits.validate import invalid

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_LONG_FRACTION = re.compile(r"(\.\d\d)\d+")
_FAMILY = re.compile(r" *font-family:[^;]*;?")
#: Styles that Matplotlib repeats for every element, set once for the picture; no fallback font is wider.
_ROOT_STYLE = "stroke-linejoin:round;stroke-linecap:butt;font-family:'DejaVu Sans',Verdana,sans-serif"
_LEFT_OUT = {"metadata", "style"}


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG and PNG, with a name for files and pages, and an alt text."""

    name: str
    alt: str
    svg: str
    png: bytes

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            allowed = "made of letters, digits, - and _, beginning with a letter or digit"
            raise invalid("name", "Picture", allowed, self.name)


def picture(figure: Figure, name: str, alt: str, title: str = "") -> Picture:
    """Return a figure as a picture; the title precedes its alt text."""
    words = f"{title}. {alt}" if title else alt
    return Picture(name, plain(words), render(figure, "svg").decode(), render(figure, "png"))


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, SVG or PDF, by the suffix; the file is written completely or not at all."""
    content = render(figure, path.suffix[1:].lower(), dpi=300)
    with whole_file(path) as unfinished:
        unfinished.write_bytes(content)


def save_picture(drawing: Picture, folder: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write the SVG and the PNG of a picture into a folder and return their paths."""
    files = Path(folder) / f"{drawing.name}.svg", Path(folder) / f"{drawing.name}.png"
    for file, content in zip(files, (drawing.svg.encode(), drawing.png), strict=True):
        with whole_file(file) as unfinished:
            unfinished.write_bytes(content)
    return files


def inline_svg(drawing: Picture, css_class: str = "picture") -> str:
    """Return a picture as an element of an HTML page that contains other pictures too.

    It fills the available width, has an alt text, and all its ids begin with the picture's name.

    Examples
    --------
    >>> tiny = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" width="9pt"><g id="a"/></svg>'
    >>> print(inline_svg(Picture("dot", "Nothing.", tiny, b"")))
    <svg viewBox="0 0 9 9" class="picture" role="img" aria-label="Nothing."
        style="..."><title>Nothing.</title><g id="dot-a" /></svg>
    """
    root = ET.fromstring(drawing.svg)
    _strip(root)
    for element in root.iter():
        _make_own(element, drawing.name)
    title = ET.Element("title")
    title.text = drawing.alt
    root.insert(0, title)
    attributes = {"class": css_class, "role": "img", "aria-label": drawing.alt, "style": _ROOT_STYLE}
    root.attrib = {"viewBox": root.attrib["viewBox"], **attributes}
    return ET.tostring(root, encoding="unicode")


def _strip(element: ET.Element) -> None:
    """Remove namespaces, and elements that would affect the whole page."""
    element.tag = _local(element.tag)
    for child in list(element):
        if _local(child.tag) in _LEFT_OUT:
            element.remove(child)
        else:
            _strip(child)


def _make_own(element: ET.Element, name: str) -> None:
    """Prefix ids and references with the name of the picture; round coordinates to 0.01 points."""
    values = {_local(key): value for key, value in element.attrib.items()}
    for key, value in values.items():
        if key == "id":
            values[key] = f"{name}-{value}"
        elif key == "href" and value.startswith("#"):
            values[key] = f"#{name}-{value[1:]}"
        elif key == "style":
            values[key] = _REFERENCE.sub(rf"url(#{name}-\1)", _FAMILY.sub("", value))
        elif key in {"d", "x", "y"}:
            values[key] = " ".join(_LONG_FRACTION.sub(r"\1", value).split())
        else:
            values[key] = _REFERENCE.sub(rf"url(#{name}-\1)", value)
    element.attrib = values


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def check_picture_file(file: str | os.PathLike[str], parameter: str, owner: str) -> Path:
    """Return the path of a picture file; raise an error for an unknown format or a missing folder."""
    path = Path(file)
    if path.suffix[1:].lower() not in METADATA:
        raise invalid(parameter, owner, "a file name that ends in .png, .svg or .pdf", str(file))
    check_parent(path)
    return path
