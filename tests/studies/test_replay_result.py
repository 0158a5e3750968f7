"""What a replay says, as text, as a page in a notebook, and as data."""

from __future__ import annotations

import json

import numpy as np
import pytest

import clusterbandits as cb
from clusterbandits.families import as_family
from clusterbandits.serial import to_json
from clusterbandits.studies.columns import Source
from clusterbandits.studies.log_survey import COLUMNS, survey
from tests.studies.replayed import WIDTHS, targeted_log, uniform_log


@pytest.fixture(scope="module")
def result() -> cb.ReplayResult:
    log = targeted_log(np.random.default_rng(1), 30_000)
    return cb.replay(log, ["kl-ucb", "clus-ucb"], widths=WIDTHS, seed=7)


def test_the_table_fits_a_terminal_and_says_all(result: cb.ReplayResult) -> None:
    text = str(result)
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith(f"Mean reward per round over {result.rounds} rounds, ")
    plain = " ".join(text.split())
    assert "more: difference from kl-ucb, compared episode by episode." in plain
    assert "30,000 rows and 4 arms, chosen with propensities of at least 0.1" in plain
    assert f"{result.usable:,} rows could be used" in plain
    assert "best arm in hindsight, d" in plain
    assert text in (result.table().text(), str(result))
    assert "<table>" in result._repr_html_()
    assert "difference from kl-ucb" in result._repr_html_()
    assert repr(result).startswith("<ReplayResult: kl-ucb, clus-ucb, ")


def test_long_labels_still_fit() -> None:
    log = uniform_log(np.random.default_rng(2), 20_000)
    specs = ["clus-ucb:a=3,refresh=50,leader=plain,alarm_level=0.01", "clus-ucb:refresh=20,leader=plain"]
    text = str(cb.replay(log, specs, widths=WIDTHS))
    assert max(map(len, text.splitlines())) <= 80


def test_one_policy_is_compared_with_nobody() -> None:
    text = str(cb.replay(uniform_log(np.random.default_rng(3), 20_000), "kl-ucb"))
    assert "more" not in text
    assert "20,000 rows and 4 arms, chosen at random: 20,000 rows could be" in " ".join(text.split())


def test_data_hold_everything(result: cb.ReplayResult) -> None:
    data = json.loads(to_json(result.to_dict()))
    assert data["rounds"] == result.rounds
    first, second = (data["policies"][label] for label in result.labels)
    assert first["over_first"] is None
    assert second["over_first"]["value"] == result.difference(1, 0).value
    assert second["values"] == result.values("clus-ucb").tolist()
    assert first["reward"]["low"] < first["reward"]["value"] < first["reward"]["high"]
    assert data["log"]["smallest_propensity"] == 0.1
    assert [arm["arm"] for arm in data["log"]["arms"]] == list(result.log.arms)
    assert 0.05 < first["matched"] < 0.1


def test_policies_go_by_label_or_place(result: cb.ReplayResult) -> None:
    assert result.values(1).tolist() == result.values("clus-ucb").tolist()
    for wrong in ("ucb1", 2, -1):
        with pytest.raises(cb.InvalidInputError, match=r"Unknown policy|must be"):
            result.values(wrong)


def test_unfinished_episodes_are_left_out(result: cb.ReplayResult) -> None:
    means = result.means.copy()
    means[0, 3] = np.nan
    cut = cb.ReplayResult(
        result.labels, result.rounds, means, (0, 0), result.usable, result.log, result.confidence, 7
    )
    assert cut.value(0).episodes == result.value(0).episodes - 1
    assert cut.value(1) == result.value(1)
    assert cut.difference(1, 0).value == pytest.approx(np.nanmean(means[1] - means[0]))


def test_episodes_that_are_all_alike_are_no_certainty() -> None:
    log = uniform_log(np.random.default_rng(4), 20_000)
    text = str(cb.replay(log | {"reward": np.zeros(20_000)}, "kl-ucb"))
    assert "all episodes earned the same, so there is no interval" in text


def test_the_survey_is_what_plain_python_finds() -> None:
    rng = np.random.default_rng(5)
    log = targeted_log(rng, 3_000) | {"reward": 1e6 + rng.normal(size=3_000)}
    found = survey(Source(log, COLUMNS), as_family("gaussian"))
    assert found.arms == tuple(dict.fromkeys(log["arm"].tolist()))
    for arm, name in enumerate(found.arms):
        rows = [row for row in range(3_000) if log["arm"][row] == name]
        weights = [1 / log["propensity"][row] for row in rows]
        paid = [log["reward"][row] for row in rows]
        mean = sum(w * r for w, r in zip(weights, paid, strict=True)) / sum(weights)
        spread = sum((w * (r - mean)) ** 2 for w, r in zip(weights, paid, strict=True))
        error = (spread * len(rows) / (len(rows) - 1)) ** 0.5 / sum(weights)
        assert found.counts[arm] == len(rows)
        assert found.means[arm] == pytest.approx(mean, abs=1e-8)
        assert found.errors[arm] == pytest.approx(error, rel=1e-6)
    assert found.groups == tuple("red" if arm in "ab" else "blue" for arm in found.arms)
    assert found.mean == pytest.approx(log["reward"].mean(), abs=1e-8)
    assert found.error == pytest.approx(log["reward"].std() / 3_000**0.5, rel=1e-6)
    assert found.usable == pytest.approx((0.1 / log["propensity"]).sum())
