from __future__ import annotations

from clusterbandits.report.page import Card, Page, Section, numeric_columns, render_page
from clusterbandits.report.picture import Picture
from clusterbandits.tables import Table

DOT = Picture(
    "dot",
    "A dot & no more.",
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><g id="a"/></svg>',
    b"",
)


def test_what_is_written_is_escaped() -> None:
    table = Table(("<b>", "n"), (("</td><script>", 1.5),), title="a < b", notes=("x & y",))
    section = Section("one", "1 < 2", lead="<i>", text=("&",), pictures=(DOT,), tables=(table,))
    html = render_page(Page("<title>", "lead", "command --x", sections=(section,)))
    assert "<script>" not in html
    assert "&lt;/td&gt;&lt;script&gt;" in html
    assert "1 &lt; 2" in html
    assert 'aria-label="A dot &amp; no more."' in html
    assert '<g id="dot-a"' in html


def test_sections_nest_and_are_linked() -> None:
    inner = Section("two", "Inner")
    html = render_page(Page("t", "l", "c", sections=(Section("one", "Outer: more", parts=(inner,)),)))
    assert '<a href="#one">Outer</a>' in html
    assert "<h2>Outer: more</h2>" in html
    assert "<h3>Inner</h3>" in html


def test_cards_say_their_verdict_and_can_be_addressed() -> None:
    card = Card("fails", "does not hold", "All is well.", "Section 1", "look", "It is not.", anchor="well")
    html = render_page(Page("t", "l", "c", cards_heading="The audit", cards_lead="One.", cards=(card,)))
    assert '<article class="card fails" id="claim-well">' in html
    assert '<span class="verdict"><span aria-hidden="true">✗</span> does not hold</span>' in html
    assert '<a href="#audit">The audit</a>' in html


def test_numbers_go_to_the_right() -> None:
    rows = (("x", 1.0, "2 ± 1"), ("y", None, ""))
    assert numeric_columns(Table(("a", "b", "c"), rows)) == [False, True, True]
    empty = Table(("a", "b"), ())
    assert numeric_columns(empty) == [False, False]
    assert "<tbody>" in render_page(Page("t", "l", "c", sections=(Section("s", "S", tables=(empty,)),)))
