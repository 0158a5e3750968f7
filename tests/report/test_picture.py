"""Pictures as files and inside pages."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from clusterbandits import InvalidInputError
from clusterbandits.errors import UnwritableFileError
from clusterbandits.report.picture import Picture, inline_svg, picture, save_picture
from clusterbandits.report.sheet import Entry, panel
from clusterbandits.report.style import settings

ALT = 'Two "dots" <here> & there'


def drawn(name: str, label: str = "curve") -> Picture:
    with settings():
        figure, axes = panel(20, [[Entry(label, {"color": "black", "marker": "o"})]], "Title")
        axes.plot([0, 1, 2], marker="o")
        axes.fill_between([0, 1, 2], [0, 1, 2], [1, 2, 3])
        return picture(figure, name, ALT)


class Ids(HTMLParser):
    """Collects what a page declares and refers to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.declared: list[str] = []
        self.referred: set[str] = set()
        self.tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        for key, value in attrs:
            if key == "id":
                self.declared.append(value)
            elif key.endswith("href"):
                self.referred.add(value.removeprefix("#"))
            self.referred |= set(re.findall(r"url\(#(.*?)\)", value))


def test_ids_do_not_clash_and_everything_referred_to_is_there() -> None:
    page = Ids(inline_svg(drawn("one")) + inline_svg(drawn("two")))
    assert len(page.declared) == len(set(page.declared))
    assert page.referred
    assert page.referred <= set(page.declared)
    assert {name.split("-")[0] for name in page.declared} == {"one", "two"}


def test_the_element_fits_a_page() -> None:
    one = drawn("one")
    page = inline_svg(one, css_class="wide")
    root = ET.fromstring(page)
    assert page.startswith("<svg ")
    assert set(root.attrib) == {"viewBox", "class", "role", "aria-label", "style"}
    assert (root.attrib["class"], root.attrib["role"], root.attrib["aria-label"]) == ("wide", "img", ALT)
    assert root.attrib["viewBox"] == ET.fromstring(one.svg).attrib["viewBox"]
    assert (root[0].tag, root[0].text) == ("title", ALT)
    # A style would reach all of the page.
    assert not {"style", "metadata"} & set(Ids(page).tags)
    assert "xmlns" not in page


def test_the_element_shows_what_the_file_shows() -> None:
    label = 'id="x" url(#y) font-family: z; 0.123456'
    one = drawn("one", label)
    whole, inside = ET.fromstring(one.svg), ET.fromstring(inline_svg(one))
    space = "{http://www.w3.org/2000/svg}"
    assert [text.text for text in inside.iter("text")] == [text.text for text in whole.iter(f"{space}text")]
    assert label in [text.text for text in inside.iter("text")]
    paths = [
        [path.attrib["d"] for path in root.iter(tag)]
        for root, tag in ((whole, f"{space}path"), (inside, "path"))
    ]
    for ours, theirs in zip(*([list(map(_numbers, part)) for part in paths]), strict=True):
        assert theirs == pytest.approx(ours, abs=0.01)


def _numbers(path: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?[\d.]+", path)]


def test_both_files_are_written(tmp_path: Path) -> None:
    one = drawn("one")
    files = save_picture(one, str(tmp_path))
    assert sorted(tmp_path.iterdir()) == sorted(files) == [tmp_path / "one.png", tmp_path / "one.svg"]
    assert files[0].read_text(encoding="utf-8") == one.svg
    assert files[1].read_bytes() == one.png
    assert one.png.startswith(b"\x89PNG")
    with pytest.raises(UnwritableFileError, match=r"Cannot write .*nowhere"):
        save_picture(one, tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["", "a b", "../a", "a.svg", "-a", 'a"', "é", "a\n"])
def test_names_that_no_file_or_page_should_have(name: str) -> None:
    with pytest.raises(InvalidInputError, match="letters, digits"):
        Picture(name, "alt", "<svg/>", b"")


def test_equal_drawings_are_equal_pictures() -> None:
    assert drawn("one") == drawn("one")
    assert drawn("one") != drawn("one", "other")
