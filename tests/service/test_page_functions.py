"""The functions of the live page: numbers as text, axes, bands, colours, and the reader of event streams."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.browser import needs_browser, opened_browser

pytestmark = needs_browser
PAGE = Path(str(files("clusterbandits.service"))) / "page"
#: No such server exists: requests are answered from the folder.
ADDRESS = "http://page.test"


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    def answer(route: Any) -> None:
        name = route.request.url.removeprefix(f"{ADDRESS}/page/")
        if name.endswith(".js"):
            route.fulfill(body=(PAGE / name).read_text(encoding="utf-8"), content_type="text/javascript")
        else:
            route.fulfill(body="<!DOCTYPE html>", content_type="text/html")

    with opened_browser() as browser:
        opened = browser.new_page(timezone_id="Europe/Berlin")
        opened.route("**/*", answer)
        opened.goto(f"{ADDRESS}/")
        yield opened


def call(page: Any, module: str, function: str, *arguments: object) -> Any:
    source = f"([given]) => import('/page/{module}.js').then(all => all.{function}(...given))"
    return page.evaluate(source, [list(arguments)])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0, "0"),
        (0.5, "0.5000"),
        (0.12345, "0.1235"),
        (-12.3456, "−12.35"),
        (1234.5, "1,235"),
        (1234567, "1,234,567"),
        (1.2345e-6, "1.234×10⁻⁶"),
        (-3.5e12, "−3.500×10¹²"),
    ],
)
def test_real_numbers(page: Any, value: float | None, text: str) -> None:
    assert call(page, "format", "real", value) == text


def test_counts_shares_and_intervals(page: Any) -> None:
    assert call(page, "format", "count", 1234567) == "1,234,567"
    assert call(page, "format", "percent", 0.00001) == "< 0.1 %"
    assert call(page, "format", "percent", 0.345) == "35 %"
    assert call(page, "format", "percent", 1) == "100 %"
    assert call(page, "format", "interval", 0.1, 0.25) == "0.100 to 0.250"
    assert call(page, "format", "interval", 0.00629, 0.994) == "0.006 to 0.994"
    assert call(page, "format", "interval", -1234.5, 5678) == "−1,235 to 5,678"
    assert call(page, "format", "interval", 1e-6, 2.5e-6) == "(1.00 to 2.50)×10⁻⁶"
    assert call(page, "format", "interval", None, 1) == "–"
    assert call(page, "format", "declared", 0.1) == "0.1"
    assert call(page, "format", "duration", 86400) == "24 h"
    assert call(page, "format", "duration", 7 * 86400) == "7 d"
    assert call(page, "format", "duration", 90) == "90.0 s"


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1.0, 40.0, 1e5, 1e12])
def test_ticks_are_few_different_and_round(page: Any, scale: float) -> None:
    for low, high in [(0.0, 1.0), (-0.3, 0.45), (0.412, 0.427)]:
        found = call(page, "scale", "niceTicks", low * scale, high * scale, 5)
        ticks, step = found["ticks"], found["step"]
        assert 2 <= len(ticks) <= 6
        assert step / 10 ** math.floor(math.log10(step) + 1e-9) == pytest.approx(
            min([1, 2, 5], key=lambda one: abs(one - step / 10 ** math.floor(math.log10(step) + 1e-9)))
        )
        labels = call(page, "format", "tickLabels", ticks, step)
        assert len(set(labels)) == len(labels)
        assert "−0" not in labels


def arms_of(rng: np.random.Generator, count: int) -> list[dict[str, float]]:
    means, sizes = rng.uniform(size=count), rng.uniform(0, 0.2, size=count)
    return [
        {"mean": float(mean), "low": float(mean - size), "high": float(mean + size)}
        for mean, size in zip(means, sizes, strict=True)
    ]


def test_a_band_misses_the_intervals_as_little_as_possible(page: Any) -> None:
    def missed(low: float, width: float, arms: list[dict[str, float]]) -> float:
        return sum(max(0.0, low - one["high"], one["low"] - low - width) for one in arms)

    rng = np.random.default_rng(1)
    for _ in range(30):
        arms, width = arms_of(rng, int(rng.integers(1, 12))), float(rng.uniform(0, 0.6))
        low, high = call(page, "scale", "bandOf", width, arms)
        assert high - low == pytest.approx(width)
        least = min(missed(float(one), width, arms) for one in np.linspace(-1, 2, 3001))
        assert missed(low, width, arms) <= least + 1e-9


def test_a_band_lies_around_the_middle_where_all_intervals_reach_it(page: Any) -> None:
    arms = [{"mean": 0.2, "low": 0.0, "high": 1.0}, {"mean": 0.4, "low": 0.0, "high": 1.0}]
    assert call(page, "scale", "bandOf", 0.1, arms) == pytest.approx([0.25, 0.35])
    assert call(page, "scale", "bandOf", None, arms) is None
    assert call(page, "scale", "bandOf", 0.1, [{"mean": None, "low": None, "high": None}]) is None


def test_one_uncertain_arm_does_not_squeeze_the_others(page: Any) -> None:
    sure = [{"mean": 1e-6 * k, "low": 1e-6 * (k - 0.1), "high": 1e-6 * (k + 0.1)} for k in range(1, 6)]
    low, high = call(page, "scale", "armSpan", [*sure, {"mean": 3e-6, "low": 0.0, "high": 1.0}])
    assert low >= -1e-5
    assert high < 2e-5
    assert call(page, "scale", "armSpan", [{"mean": None, "low": None, "high": None}]) is None


def test_ticks_of_days_stand_at_local_midnight(page: Any) -> None:
    # 1 to 5 July 2024, in Berlin two hours before UTC.
    found = call(page, "scale", "timeTicks", 1719800000, 1720150000, 5)
    assert found["step"] == 86400
    assert {(tick + 7200) % 86400 for tick in found["ticks"]} == {0}


def test_colours_stay_while_the_most_chosen_groups_change(page: Any) -> None:
    source = """rounds => import('/page/colours.js').then(({colourBook}) => {
      const book = colourBook();
      return rounds.map(groups => (book.update(groups), groups.map(one => book.of(one.group))));
    })"""
    names = [f"group {k}" for k in range(10)]
    rounds = [
        [{"group": name, "decisions": 100 - k} for k, name in enumerate(names)],
        [{"group": name, "decisions": 1000 if k == 9 else 100 - k} for k, name in enumerate(names)],
    ]
    before, after = page.evaluate(source, rounds)
    assert len(set(before[:7])) == 7
    assert set(before[7:]) == {"c-other"}
    assert after[:6] == before[:6]
    assert after[6:] == ["c-other", "c-other", "c-other", before[6]]


def test_event_streams_may_be_cut_anywhere(page: Any) -> None:
    source = """pieces => import('/page/live.js').then(({eventParser}) => {
      const found = [];
      const parse = eventParser((name, data) => found.push([name, data]));
      pieces.forEach(parse);
      return found;
    })"""
    stream = ': hello\r\n\r\nevent: state\r\nid: 7\r\ndata: {"a":\ndata: 1}\n\n'
    stream += "event: ping\ndata: {}\n\ndata: x\n\n"
    wanted = [["state", '{"a":\n1}'], ["ping", "{}"], ["message", "x"]]
    assert page.evaluate(source, list(stream)) == wanted
    for cuts in itertools.combinations(range(0, len(stream), 7), 2):
        pieces = [stream[: cuts[0]], stream[cuts[0] : cuts[1]], stream[cuts[1] :]]
        assert page.evaluate(source, pieces) == wanted


def test_modules_are_small_and_nothing_is_inline() -> None:
    for file in PAGE.glob("*.js"):
        assert len(file.read_text(encoding="utf-8").splitlines()) <= 300, file.name
        assert "innerHTML" not in file.read_text(encoding="utf-8"), file.name
    index = (PAGE / "index.html").read_text(encoding="utf-8")
    assert "style=" not in index
    assert "<style" not in index
    assert "http://" not in index
    assert "https://" not in index
