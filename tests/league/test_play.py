"""Cells are simulated once, kept, and simulated again only where something changed."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clusterbandits import POLICIES, Instance, simulate
from clusterbandits.errors import UnreadableFileError
from clusterbandits.fingerprint import sources
from clusterbandits.policies.policy import DEFAULT
from league import play
from league.cells import Settings, cell_key, has_cell, summarise, versions
from league.drawn import draw_history
from league.play import affordable_runs, play_cell, play_league
from league.problems import Problem, choose
from league.results import Results, load, save

SETTINGS = Settings(horizon=300, runs=4)
MADE_BY = dict.fromkeys(versions(), "2")
BOTH = ("kl-ucb", "clus-ucb")


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """List the cells that are simulated, and simulate none of them."""
    found: list[tuple[str, str]] = []

    def pretend(problem: Problem, policy: str, key: str, _: Settings) -> Any:
        found.append((problem.name, policy))
        return summarise(found[-1], key, np.array([1.0, 2.0]) + len(found), 0.1)

    monkeypatch.setattr(play, "play_cell", pretend)
    return found


def again(path: Path, names: list[str], policies: tuple[str, ...] = BOTH, **changes: Any) -> Results:
    kept = load(path)
    begun = Results("test", SETTINGS, MADE_BY, {} if kept is None else kept.cells)
    return play_league(dataclasses.replace(begun, **changes), choose(names), policies, path, lambda _: None)


def test_a_cell_is_what_simulate_says() -> None:
    (problem,) = choose(["figure 8 (0.4 and 0.2)"])
    found = play_cell(problem, "clus-ucb", "k", SETTINGS)
    result = simulate(problem.instance, "clus-ucb", 300, runs=4, seed=1, clusters=problem.clusters)
    regret = result.regret(0)[:, -1]
    assert (found.problem, found.policy, found.key, found.runs) == (problem.name, "clus-ucb", "k", 4)
    assert found.mean == pytest.approx(regret.mean(), rel=1e-5)
    assert found.standard_error == pytest.approx(result.standard_error(0)[-1], rel=1e-5)
    assert found.high == pytest.approx(np.quantile(regret, 0.95), rel=1e-5)
    assert (found.median, found.max) == pytest.approx((np.median(regret), regret.max()), rel=1e-5)
    assert found.seconds > 0
    assert found.alarms == np.count_nonzero(result.alarms(0).any(axis=1))
    assert play_cell(problem, "clus-ucb", "k", Settings(300, 1)).standard_error is None


def test_a_warm_cell_begins_with_the_history() -> None:
    (problem,) = choose(["admissions (after 240 trials)"])
    found = play_cell(problem, "kl-ucb", "k", SETTINGS)
    result = simulate(problem.instance, "kl-ucb", 300, runs=4, seed=1, start=problem.start)
    assert found.mean == pytest.approx(result.regret(0)[:, -1].mean(), rel=1e-5)
    cold = play_cell(dataclasses.replace(problem, start=None), "kl-ucb", "k", SETTINGS)
    assert found.mean < cold.mean


def test_slow_policies_play_fewer_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    slower = (1e-6, 1.0, 1.25, 4.0, 1e3)
    assert [affordable_runs(100, seconds) for seconds in slower] == [100, 100, 32, 10, 2]
    assert affordable_runs(4, 10.0) == 4
    ticks = iter([0.0, 2.0, 0.0, 2.0])
    monkeypatch.setattr("league.play.time.perf_counter", lambda: next(ticks))
    (problem,) = choose(["figure 2"])
    found = play_cell(problem, "kl-ucb", "", Settings(horizon=10, runs=100))
    assert (found.runs, found.seconds) == (2, 40)


def test_the_default_has_all_runs_however_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0.0, 2.0, 0.0, 2.0])
    monkeypatch.setattr("league.play.time.perf_counter", lambda: next(ticks))
    (problem,) = choose(["figure 2"])
    found = play_cell(problem, DEFAULT, "", Settings(horizon=10, runs=50))
    assert (found.runs, found.seconds) == (50, 40)


def test_one_delay_does_not_make_a_policy_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0.0, 2.0, 0.0, 0.01, 0.0, 0.2])
    monkeypatch.setattr("league.play.time.perf_counter", lambda: next(ticks))
    (problem,) = choose(["figure 2"])
    found = play_cell(problem, "kl-ucb", "", Settings(horizon=10, runs=100))
    assert (found.runs, found.seconds) == (100, 0.2)


def test_unchanged_cells_are_not_played_again(tmp_path: Path, played: list[tuple[str, str]]) -> None:
    path, names = tmp_path / "results.json", ["figure 2", "low-arm"]
    first = again(path, names)
    assert played == [(name, policy) for name in names for policy in BOTH]
    assert again(path, names) == first == load(path)
    assert len(played) == 4
    more = again(path, [*names, "figure 3"])
    assert played[4:] == [("figure 3", policy) for policy in BOTH]
    assert {pair: more.cells[pair] for pair in first.cells} == first.cells


@pytest.mark.parametrize(
    "changes",
    [
        {"settings": Settings(horizon=301, runs=4)},
        {"settings": Settings(horizon=300, runs=5)},
        {"settings": Settings(horizon=300, runs=4, seed=2)},
        *({"versions": MADE_BY | {name: "other"}} for name in MADE_BY),
    ],
)
def test_a_change_plays_all_again(
    tmp_path: Path, played: list[tuple[str, str]], changes: dict[str, Any]
) -> None:
    again(tmp_path / "results.json", ["figure 2"])
    again(tmp_path / "results.json", ["figure 2"], **changes)
    assert played == [("figure 2", policy) for policy in BOTH] * 2


def test_keys_follow_what_a_policy_knows() -> None:
    near, far = choose(["figure 4", "figure 6"])
    assert cell_key(near, "clus-ucb", SETTINGS, MADE_BY) != cell_key(far, "clus-ucb", SETTINGS, MADE_BY)
    assert cell_key(near, "kl-ucb", SETTINGS, MADE_BY) == cell_key(far, "kl-ucb", SETTINGS, MADE_BY)
    assert cell_key(near, "hier-ts", SETTINGS, MADE_BY) == cell_key(far, "hier-ts", SETTINGS, MADE_BY)
    other = Instance([[0.41, 0.42, 0.43], [0.43, 0.44, 0.46]])
    moved = Problem("figure 4", "Fig 4", "", other, other.clusters([0.03, 0.04]))
    assert cell_key(near, "kl-ucb", SETTINGS, MADE_BY) != cell_key(moved, "kl-ucb", SETTINGS, MADE_BY)


def test_keys_follow_the_sources_of_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit of one policy leaves the results of others that do not import it."""
    names = ("kl-ucb", "clus-ucb", "thompson", "kindred")
    (problem,) = choose(["figure 4"])

    def changed_by(module: str) -> set[str]:
        before = {name: cell_key(problem, name, SETTINGS, MADE_BY) for name in names}
        with monkeypatch.context() as patch:
            texts = {**sources().texts, module: sources().texts[module] + "# edited"}
            patch.setattr(sources(), "texts", texts)
            return {name for name in names if cell_key(problem, name, SETTINGS, MADE_BY) != before[name]}

    assert changed_by("policies/kinship/learning.py") == {"kindred"}
    assert changed_by("policies/thompson.py") == {"thompson"}
    assert changed_by("policies/kl_ucb.py") == {"kl-ucb", "clus-ucb"}
    assert changed_by("policies/__init__.py") == set()
    for everywhere in ("simulation/loop.py", "simulation/runs.py", "families/bernoulli.py", "compiled.py"):
        assert changed_by(everywhere) == set(names)


@pytest.mark.parametrize("name", BOTH)
def test_keys_follow_the_history(name: str) -> None:
    (warm,) = choose(["admissions (after 240 trials)"])
    assert warm.start is not None
    longer = dataclasses.replace(warm, start=draw_history(warm.instance, 21))
    lucky = dataclasses.replace(warm.start, totals=np.minimum(warm.start.totals + 1, warm.start.trials))
    others = [dataclasses.replace(warm, start=None), longer, dataclasses.replace(warm, start=lucky)]
    keys = [cell_key(problem, name, SETTINGS, MADE_BY) for problem in (warm, *others)]
    assert len(set(keys)) == 4
    assert keys[0] == cell_key(choose([warm.name])[0], name, SETTINGS, MADE_BY)


def test_policies_that_need_every_reward_have_no_warm_cell(
    tmp_path: Path, played: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["figure 2", "admissions (after 240 trials)"]
    kind = POLICIES["kindred"]
    kernels: Any = kind.kernels
    monkeypatch.setattr(kind, "kernels", kernels._replace(wants_each=True))
    found = again(tmp_path / "results.json", names, policies=("kindred", "kl-ucb"))
    assert played == [("figure 2", "kindred"), ("figure 2", "kl-ucb"), (names[1], "kl-ucb")]
    assert list(found.cells) == played


def test_every_policy_of_the_package_can_begin_with_a_history() -> None:
    (warm,) = choose(["admissions (after 240 trials)"])
    assert all(has_cell(warm, name) for name in POLICIES)


def test_without_widths_an_instance_is_played_once(tmp_path: Path, played: list[tuple[str, str]]) -> None:
    found = again(tmp_path / "results.json", ["figure 4", "figure 6", "figure 7"]).cells
    assert [pair for pair in played if pair[1] == "kl-ucb"] == [("figure 4", "kl-ucb")]
    assert len(played) == 4
    assert found["figure 6", "kl-ucb"] == dataclasses.replace(found["figure 4", "kl-ucb"], problem="figure 6")


@pytest.mark.parametrize(
    "name", [*(name for name, kind in POLICIES.items() if not kind.uses_widths), "hier-ts"]
)
def test_policies_that_use_no_widths_pay_the_same(name: str) -> None:
    exact, _, half = choose([f"admissions ({way})" for way in ("spans", "1.5 × spans", "half the best span")])
    one, other = (
        simulate(problem.instance, name, 500, runs=2, clusters=problem.clusters).regret(0)
        for problem in (exact, half)
    )
    assert np.array_equal(one, other)


def test_an_interruption_loses_one_cell(
    tmp_path: Path, played: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, names = tmp_path / "results.json", ["figure 2", "low-arm"]
    pretend = play.play_cell

    def stop_at_third(*given: Any) -> Any:
        if len(played) == 2:
            raise KeyboardInterrupt
        return pretend(*given)

    monkeypatch.setattr(play, "play_cell", stop_at_third)
    with pytest.raises(KeyboardInterrupt):
        again(path, names)
    kept = load(path)
    assert kept is not None
    assert list(kept.cells) == played
    monkeypatch.setattr(play, "play_cell", pretend)
    again(path, names)
    assert played == [(name, policy) for name in names for policy in BOTH]


def test_an_interrupted_change_keeps_the_old_cells_until_the_end(
    tmp_path: Path, played: list[tuple[str, str]]
) -> None:
    path = tmp_path / "results.json"
    again(path, ["figure 2", "low-arm"])
    shorter = again(path, ["figure 2"], policies=("kl-ucb",))
    assert list(shorter.cells) == [("figure 2", "kl-ucb")]
    assert load(path) == shorter
    assert len(played) == 4


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "other"}', '{"format": "clusterbandits league 1"}']
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(UnreadableFileError, match="does not contain results of the league"):
        load(path)


def test_results_come_back_as_they_were(tmp_path: Path) -> None:
    cell = summarise(("figure 2", "kl-ucb"), "k", np.array([3.0]), 0.1)
    results = Results("python -m league", SETTINGS, MADE_BY, {cell.pair: cell})
    save(results, tmp_path / "results.json")
    assert load(tmp_path / "results.json") == results
    assert load(tmp_path / "nothing.json") is None
