"""Studies that are played: the same bits everywhere, nothing played twice, and the paper as one of them."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import clusterbandits as cb
from clusterbandits.fingerprint import fingerprint
from clusterbandits.paper.figures import FIGURES, Figure, Widths
from clusterbandits.paper.programme import Programme
from clusterbandits.paper.results import paper_campaign
from clusterbandits.paper.settings import PaperSettings
from clusterbandits.report.page import Section
from clusterbandits.simulation.executors import workers_of
from clusterbandits.simulation.runs import play_runs
from clusterbandits.studies.run_study import run_study
from clusterbandits.studies.study_file import Study, parse_study
from clusterbandits.studies.study_report import StudyReport
from clusterbandits.studies.study_runs import StudyCampaign, contenders
from clusterbandits.studies.study_schema import example_text
from tests.processes import command, started, wait_until

SMALL = """
title = "Small"
horizon = 400
runs = 6
seed = 3
policies = ["kl-ucb", "clus-ucb", { policy = "clus-ucb", a = 1, label = "bolder" }]
widths = [{ factor = 1 }, { factor = 2 }]

[[instances]]
name = "ads"
means.red = { a = 0.3, b = 0.7 }
means.blue = { c = 0.1, d = 0.2, e = 0.8 }

[[instances]]
name = "drawn"
widths = [{ factor = 1 }]
[instances.random]
count = 3
groups = 2
arms = [1, 2]
span = 0.1
"""


def small(**changed: str) -> Study:
    text = SMALL
    for old, new in changed.items():
        before = {"policies": '["kl-ucb", ', "seed": "seed = 3", "runs": "runs = 6"}[old]
        assert before in text
        text = text.replace(before, new)
    return parse_study(text, "small.toml")


def played(folder: Path) -> dict[str, tuple[bytes, int]]:
    """The bytes and the time of every stored piece."""
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*.parquet")
        if path.relative_to(folder).parts[0] == "runs"
    }


def reported(folder: Path) -> dict[str, bytes]:
    """Every file of a report but the stored runs."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    names = {path.relative_to(folder): path for path in files}
    return {name.as_posix(): path.read_bytes() for name, path in names.items() if name.parts[0] != "runs"}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, StudyReport]:
    folder = tmp_path_factory.mktemp("study") / "small"
    return folder, run_study(small(), folder, workers=1)


def test_rows_are_what_simulate_returns(undisturbed: tuple[Path, StudyReport]) -> None:
    """The plain reference: every policy by itself, on the same seed."""
    folder, report = undisturbed
    assert (report.runs, report.stored) == (6 * (1 + 2 + 2 + 3 * 3), 0)
    rows: Any = pd.read_csv(folder / "data" / "summary.csv")
    curves: Any = pd.read_csv(folder / "data" / "curves.csv")
    instance = cb.Instance({"red": {"a": 0.3, "b": 0.7}, "blue": {"c": 0.1, "d": 0.2, "e": 0.8}})
    exact, wide = instance.clusters(), instance.clusters([2 * span for span in instance.spans])
    wanted = {
        "kl-ucb": cb.KLUCB(exact),
        "clus-ucb spans": cb.ClusUCB(exact),
        "clus-ucb 2 × spans": cb.ClusUCB(wide),
        "bolder spans": cb.ClusUCB(exact, a=1, label="bolder"),
        "bolder 2 × spans": cb.ClusUCB(wide, a=1, label="bolder"),
    }
    ads = rows[rows["instance"] == "ads"].set_index("policy")
    assert list(ads.index) == list(wanted)
    base = cb.simulate(instance, [wanted["kl-ucb"]], 400, 6, 3, paired=True).regret(0)[:, -1]
    for label, policy in wanted.items():
        result = cb.simulate(instance, [policy], 400, 6, 3, paired=True)
        final = result.regret(0)[:, -1]
        row = ads.loc[label]
        assert row["regret"] == pytest.approx(final.mean(), rel=1e-12)
        assert row["standard_error"] == pytest.approx(final.std(ddof=1) / np.sqrt(6), rel=1e-12)
        assert row["difference"] == pytest.approx((final - base).mean(), rel=1e-9, abs=1e-12)
        assert row["worst_run"] == final.max()
        assert row["best_arm_share"] == pytest.approx(result.pulls[0, :, -1, 4].mean() / 400)
        curve = curves[(curves["instance"] == "ads") & (curves["policy"] == label)]
        assert curve["round"].tolist() == result.checkpoints.tolist()
        assert curve["regret"].to_numpy() == pytest.approx(result.mean(0))
    bound = cb.regret_bound(instance, wide)
    assert ads.loc["clus-ucb 2 × spans", ["lower", "clus_ucb", "classical"]].tolist() == pytest.approx(
        [bound.lower, bound.clus_ucb, bound.classical]
    )
    assert ads["widths"].fillna("").tolist() == ["", "spans", "2 × spans", "spans", "2 × spans"]


def test_stored_runs_open_by_themselves(undisturbed: tuple[Path, StudyReport]) -> None:
    folder, _ = undisturbed
    (kept,) = (folder / "runs" / "ads").glob("kl-ucb-*")
    result = cb.load_result(kept)
    assert (result.labels, len(result.runs), result.paired) == (("kl-ucb",), 6, True)
    assert len(pd.read_parquet(kept)) == result.pulls.size


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of the time goes into pictures: tests of what is played do without."""
    section = Section("instance", "Instance")
    monkeypatch.setattr("clusterbandits.studies.run_study.case_section", lambda *_: section)


@contextlib.contextmanager
def somebodys(kind: str) -> Iterator[dict[str, Any]]:
    if kind.startswith("workers"):
        yield {"workers": int(kind.split()[1])}
    elif kind == "threads":
        with ThreadPoolExecutor(2) as threads:
            yield {"executor": threads}
    else:
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as processes:
            yield {"executor": processes}


@pytest.mark.parametrize("kind", ["workers 2", "workers 5", "threads", "processes"])
def test_the_same_bytes_wherever_it_is_played(
    kind: str, undisturbed: tuple[Path, StudyReport], tmp_path: Path
) -> None:
    with somebodys(kind) as where:
        run_study(small(), tmp_path / "again", **where)
    assert reported(tmp_path / "again") == reported(undisturbed[0])
    assert {name: data for name, (data, _) in played(tmp_path / "again").items()} == {
        name: data for name, (data, _) in played(undisturbed[0]).items()
    }


def test_a_second_call_plays_nothing(undisturbed: tuple[Path, StudyReport]) -> None:
    folder, report = undisturbed
    files, runs = reported(folder), played(folder)
    received: list[cb.Progress] = []
    again = run_study(small(), folder, listener=received.append)
    assert again.stored == again.runs == report.runs
    assert played(folder) == runs
    assert reported(folder) == files
    last = received[-1]
    assert last.runs_done == last.runs == last.reused == report.runs


@pytest.mark.usefixtures("no_pictures")
def test_what_is_added_is_all_that_is_played(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    first = run_study(small(), folder)
    before = played(folder)
    more = run_study(small(policies='["kl-ucb", "moss", '), folder)
    assert (more.runs, more.stored) == (first.runs + 6 * 4, first.runs)
    assert played(folder).items() >= before.items()
    rows = pd.read_csv(folder / "data" / "summary.csv")
    assert "moss" in set(rows["policy"])
    text = SMALL.replace("count = 3", "count = 4") + "[[instances]]\nname = 'last'\nmeans = [[0.5, 0.6]]\n"
    wider = run_study(parse_study(text, "small.toml"), folder)
    assert wider.stored == first.runs
    assert wider.runs == first.runs + 6 * 3 + 6 * 5
    fewer = run_study(small(), folder)
    assert fewer.stored == fewer.runs == first.runs
    assert "last" not in (folder / "data" / "summary.csv").read_text()
    assert (folder / "study.toml").read_text() == SMALL


@pytest.mark.usefixtures("no_pictures")
def test_another_seed_is_played_anew_beside_the_first(
    undisturbed: tuple[Path, StudyReport], tmp_path: Path
) -> None:
    folder = tmp_path / "small"
    run_study(small(), folder)
    other = run_study(small(seed="seed = 4"), folder)
    assert other.stored == 0
    assert reported(folder)["data/summary.csv"] != reported(undisturbed[0])["data/summary.csv"]
    back = run_study(small(), folder)
    assert back.stored == back.runs
    assert reported(folder)["data/summary.csv"] == reported(undisturbed[0])["data/summary.csv"]


@pytest.mark.parametrize("name", ["sources", "numpy", "arithmetic"])
def test_what_decides_bits_decides_the_folder(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study = small()
    folders = [one.folder for one in contenders(study, study.cases[0])]
    assert folders == [one.folder for one in contenders(small(), study.cases[0])]
    other = {**fingerprint(), name: "other"}
    monkeypatch.setattr("clusterbandits.studies.study_runs.fingerprint", lambda: other)
    assert not {one.folder for one in contenders(study, study.cases[0])} & set(folders)


@pytest.mark.usefixtures("no_pictures")
def test_other_numbers_of_runs_are_simulated_apart(tmp_path: Path) -> None:
    run_study(small(), tmp_path / "x")
    assert run_study(small(runs="runs = 7"), tmp_path / "x").stored == 0


LONGER = SMALL.replace("horizon = 400", "horizon = 60_000").replace("runs = 6", "runs = 16")


@pytest.fixture(scope="module")
def long_study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The file of a study that takes a while, and the report of an undisturbed run."""
    folder = tmp_path_factory.mktemp("long")
    file = folder / "long.toml"
    file.write_text(LONGER, encoding="utf-8")
    run_study(file, folder / "whole")
    return file, folder / "whole"


@contextlib.contextmanager
def under_way(file: Path, folder: Path) -> Iterator[subprocess.Popen[str]]:
    arguments = command("run", str(file), "--out", str(folder), "--workers", "1")
    with started(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_until(process, lambda: len(played(folder)) >= 6)
        yield process


def test_a_killed_study_is_finished_to_the_same_bytes(long_study: tuple[Path, Path], tmp_path: Path) -> None:
    file, whole = long_study
    folder = tmp_path / "killed"
    with under_way(file, folder) as process:
        process.kill()
    before = played(folder)
    assert 6 <= len(before) < len(played(whole))
    assert not (folder / "index.html").exists()
    resumed = run_study(file, folder)
    assert 0 < resumed.stored < resumed.runs
    assert played(folder).items() >= before.items()
    assert reported(folder) == reported(whole)
    assert not list(folder.rglob(".unfinished-*"))


def test_ctrl_c_is_one_sentence_and_keeps_what_is_done(long_study: tuple[Path, Path], tmp_path: Path) -> None:
    file, whole = long_study
    folder = tmp_path / "stopped"
    with under_way(file, folder) as process:
        process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        out, err = process.communicate(timeout=60)
        assert time.monotonic() - asked < 10
    assert (process.returncode, out) == (130, "")
    assert err == f"Interrupted: finished runs are kept in '{folder}'; run the command again to continue.\n"
    before = played(folder)
    assert 6 <= len(before) < len(played(whole))
    assert run_study(file, folder).stored > 0
    assert played(folder).items() >= before.items()
    assert reported(folder) == reported(whole)


def own_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("clusterbandits")]


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("error", [LookupError, KeyboardInterrupt])
def test_whoever_ends_it_nobody_plays_on(error: type[BaseException], tmp_path: Path) -> None:
    """In the middle of the games, and while a problem that is done is summed up."""

    def listen(progress: cb.Progress) -> None:
        if progress.runs_done > 3:
            raise error

    def fail(_: object) -> None:
        raise error

    study = parse_study(LONGER.replace("60_000", "1e15"), "endless.toml")
    with pytest.raises(error):
        run_study(study, tmp_path / "x", listener=lambda _: fail(_) if len(own_threads()) else None)
    assert own_threads() == []
    with pytest.raises(error):
        run_study(parse_study(LONGER, "long.toml"), tmp_path / "y", listener=listen)
    assert own_threads() == []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clusterbandits.studies.run_study.summarise", fail)
        with pytest.raises(error):
            run_study(small(), tmp_path / "z")
        assert own_threads() == []
    assert run_study(small(), tmp_path / "z").stored > 0


class AtOnce(Executor):
    """Somebody's executor: plays where it is asked, before it answers."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_stored_and_missing_games_in_turn_are_not_confused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulations come and go, and the place of one in memory may be the next one's."""
    text = "horizon = 30\nruns = 2\ncheckpoints = [5]\npolicies = ['kl-ucb']\n[[instances]]\nname = 'r'\n"
    drawn = "[instances.random]\ncount = 70\ngroups = 2\narms = 2\nspan = 0.1\n"
    study = parse_study(text + drawn, "many.toml")
    whole = {one.case.name: one.result for one in StudyCampaign(study, tmp_path / "whole").finished()}
    folder = tmp_path / "part"
    list(StudyCampaign(study, folder).finished())
    for place, path in enumerate(sorted((folder / "runs").rglob("*.parquet"))):
        if place % 2:
            path.unlink()
    monkeypatch.setattr("clusterbandits.simulation.executors.Remote.capacity", 1)
    play = StudyCampaign(study, folder, executor=AtOnce())
    for one in play.finished():
        assert np.array_equal(one.result.pulls, whole[one.case.name].pulls), one.case.name
    assert play.reused == 70


SWEEP = """
horizon = 200
runs = 3
policies = ["kl-ucb", "hier-ts", "clus-ucb", { policy = "hier-ts", widths = "respected", label = "heeds" }]
widths = [{ factor = 0.5 }, { factor = 1 }, { factor = 2 }, { factor = 4 }, { factor = inf }]
[[instances]]
name = "two groups"
means = [[0.3, 0.7], [0.1, 0.2, 0.8]]
[[instances]]
name = "single arms"
means = [[0.3], [0.8]]
"""


def test_what_widths_cannot_change_is_simulated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hier-TS ignores widths; single arms have width 0 for every finite factor."""
    simulated: Counter[tuple[int, str]] = Counter()

    def count(plan: Any, block: Any, watch: Any) -> Any:
        simulated[len(plan.instance.arms), plan.labels[0]] += block.runs
        return play_runs(plan, block, watch)

    monkeypatch.setattr("clusterbandits.simulation.executors.play_runs", count)
    campaign = StudyCampaign(parse_study(SWEEP), tmp_path)
    found = {one.case.name: one for one in campaign.finished()}
    assert campaign.runs == simulated.total() == 54
    assert simulated == {
        (5, "kl-ucb"): 3, (5, "hier-ts"): 3, (5, "clus-ucb"): 15, (5, "heeds"): 15,
        (2, "kl-ucb"): 3, (2, "hier-ts"): 3, (2, "clus-ucb"): 6, (2, "heeds"): 6,
    }  # fmt: skip
    for one in found.values():
        assert list(one.result.labels) == list(one.contenders)
        assert len(one.result.labels) == 2 + 2 * 5
        for label, each in one.contenders.items():
            alone = cb.simulate(one.case.instance, each.plan.policies[0], 200, 3, paired=True)
            assert np.array_equal(one.result.pulls[one.result.labels.index(label)], alone.pulls[0])


OUTSIDE = """
import numpy as np
import clusterbandits as cb

class Greedy(cb.PythonPolicy):
    name = "greedy"
    defaults = {"bonus": 0.0}

    def select(self, n):
        return int(np.argmax((self.totals + self.settings["bonus"]) / np.maximum(self.pulls, 0.1)))
"""


@pytest.mark.usefixtures("no_pictures")
def test_policies_from_outside_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outside_greedy.py").write_text(OUTSIDE)
    monkeypatch.syspath_prepend(tmp_path)
    table = '{ policy = "outside_greedy:Greedy", bonus = 1.0, label = "eager" }'
    head = f'horizon = 60\nruns = 3\npolicies = ["kl-ucb", "outside_greedy:Greedy", {table}]\n'
    study = parse_study(head + "[[instances]]\nmeans = [[0.3, 0.7], [0.8]]\n")
    report = run_study(study, tmp_path / "out")
    labels = [row["policy"] for row in report.summaries[0].rows]
    assert (labels[0], labels[2]) == ("kl-ucb", "eager")
    instance = study.cases[0].instance
    alone = cb.simulate(instance, "outside_greedy:Greedy", 60, 3, paired=True)
    assert report.summaries[0].finals[1].tolist() == alone.regret(0)[:, -1].tolist()
    assert run_study(study, tmp_path / "out").stored == report.runs
    with pytest.raises(cb.InvalidInputError, match=r"Line 3 of .*, key 'policies\[2\].bonsu': .*bonus"):
        parse_study(head.replace("bonus", "bonsu") + "[[instances]]\nmeans = [[0.3, 0.7], [0.8]]\n")
    with pytest.raises(cb.InvalidInputError, match=r"key 'policies\[1\]': .*but got 'outside_greedy:Gone'"):
        parse_study(head.replace(':Greedy"', ':Gone"', 1) + "[[instances]]\nmeans = [[0.3], [0.8]]\n")


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[Figure, Widths, str], cb.Result]:
    """What the paper's own programme plays for its figures, reduced."""
    programme = Programme(PaperSettings(horizon=300, runs=3))
    asked = {
        (figure, widths, name): one
        for figure in FIGURES
        for widths in figure.widths
        for name, one in programme.figure(figure, widths).items()
    }
    folder, workers = tmp_path_factory.mktemp("paper"), workers_of(None, None, "test")
    campaign = paper_campaign(list(dict.fromkeys(asked.values())), folder, fingerprint(), workers)
    results = {simulation.key: simulation.result() for simulation in campaign.finished()}
    assert len(results) == 5 * 3 + 10
    return {key: results[one] for key, one in asked.items()}


def test_the_paper_is_a_study_bit_for_bit(
    figures: dict[tuple[Figure, Widths, str], cb.Result], tmp_path: Path
) -> None:
    text = example_text("paper").replace("horizon = 1e6", "horizon = 300").replace("runs = 48", "runs = 3")
    study = parse_study(text)
    assert (study.horizon, study.runs, study.seed, study.paired) == (300, 3, PaperSettings().seed, True)
    found = {
        one.case.instance: (one, {each.clusters.widths: each.label for each in one.contenders.values()})
        for one in StudyCampaign(study, tmp_path).finished()
    }
    assert set(found) == {figure.instance for figure in FIGURES}
    compared = set()
    for (figure, widths, name), wanted in figures.items():
        one, _ = found[figure.instance]
        (label,) = [
            label
            for label, each in one.contenders.items()
            if each.plan.labels[0] == name and (each.clusters.widths == widths or name != "clus-ucb")
        ]
        assert np.isin(one.result.checkpoints, wanted.checkpoints).all()
        at = np.searchsorted(wanted.checkpoints, one.result.checkpoints)
        assert np.array_equal(one.result.pulls[one.result.labels.index(label)], wanted.pulls[0][:, at])
        compared.add((one.case.name, label))
    assert compared == {(one.case.name, label) for one, _ in found.values() for label in one.contenders}


def test_the_paper_as_a_study_has_the_papers_settings() -> None:
    study = parse_study(example_text("paper"))
    settings = PaperSettings()
    assert (study.horizon, study.runs, study.seed) == (settings.horizon, settings.runs, settings.seed)
    asked = {
        (case.instance, rule.clusters(case.instance).widths) for case in study.cases for rule in case.rules
    }
    assert asked == {(figure.instance, widths) for figure in FIGURES for widths in figure.widths}
