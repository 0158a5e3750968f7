"""The folder that keeps runs: nothing lost, nothing foreign used, nothing overwritten."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import resource
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import clusterbandits as cb
from clusterbandits.files import whole_file
from clusterbandits.fingerprint import fingerprint, sources
from clusterbandits.simulation.campaign import Campaign, open_simulation
from clusterbandits.simulation.executors import workers_of
from clusterbandits.simulation.simulate import plan_of

CLUSTERED = cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
BOTH = ["kl-ucb", "clus-ucb"]
#: 20 runs make blocks of 2: ten files a policy.
PLAN: dict[str, Any] = {
    "instance": CLUSTERED,
    "policies": BOTH,
    "horizon": 500,
    "runs": 20,
    "seed": 3,
    "checkpoints": [10, 100],
}
PLAN_KEYS = ["instance", "policies", "horizon", "runs", "seed", "checkpoints", "paired", "stepwise"]
loosely: Any = cb.simulate
State = dict[str, tuple[bytes, int]]


def simulated(store: Path | str | None = None, **changed: Any) -> cb.Result:
    result: cb.Result = loosely(**{**PLAN, **changed}, store=store)
    return result


def state(folder: Path) -> State:
    """The bytes and the time of every file."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def parquets(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


def edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = folder / "_manifest.json"
    data = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps(change(data)), encoding="utf-8")


@pytest.fixture(scope="module")
def undisturbed() -> cb.Result:
    return simulated()


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("complete") / "store"
    simulated(folder)
    return folder


@pytest.fixture
def store(complete: Path, tmp_path: Path) -> Path:
    """A complete store of one's own."""
    return Path(shutil.copytree(complete, tmp_path / "store"))


def test_a_store_changes_nothing_and_gives_everything_back(undisturbed: cb.Result, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "down" / "store"
    assert np.array_equal(simulated(folder).pulls, undisturbed.pulls)
    before = state(folder)
    assert len(parquets(folder)) == 20
    assert np.array_equal(simulated(str(folder)).pulls, undisturbed.pulls)
    loaded = cb.load_result(str(folder))
    assert state(folder) == before
    assert np.array_equal(loaded.pulls, undisturbed.pulls)
    assert np.array_equal(loaded.checkpoints, undisturbed.checkpoints)
    assert np.array_equal(loaded.runs, undisturbed.runs)
    assert loaded.instance == CLUSTERED
    assert loaded.labels == undisturbed.labels
    assert (loaded.seed, loaded.paired) == (3, False)


def test_a_complete_store_is_not_played_again(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("played")

    monkeypatch.setattr("clusterbandits.simulation.executors.play_runs", never)
    assert len(simulated(store).runs) == 20


def test_a_complete_store_tells_its_progress(store: Path) -> None:
    received: list[cb.Progress] = []
    simulated(store, progress=received.append)
    assert received
    assert received[-1][:4] == (40, 40, 40 * 500, 40 * 500)


def test_every_kind_of_plan_comes_back(tmp_path: Path) -> None:
    instance = cb.Instance({"red": {"a": 0.4, 7: 0.5}, "blé": {"c é/..": 2.5}}, family="exponential:shape=2")
    clusters = instance.clusters({"red": math.inf, "blé": 0})
    policies = [
        cb.ClusUCB(clusters, a=5, refresh=50, leader="plain", family="exponential:shape=2", label="Ünï ✓"),
        cb.KLUCB(clusters, family="gaussian:sigma=2", label="../x"),
    ]
    plan: dict[str, Any] = {"seed": 2**128 - 1, "paired": True, "stepwise": True, "checkpoints": 7}
    result = cb.simulate(instance, policies, 300, 3, **plan, store=tmp_path / "stör e")
    loaded = cb.load_result(tmp_path / "stör e")
    assert loaded.instance == instance
    assert loaded.labels == ("Ünï ✓", "../x")
    assert (loaded.seed, loaded.paired) == (2**128 - 1, True)
    assert np.array_equal(loaded.pulls, result.pulls)
    again = cb.simulate(instance, policies, 300, 3, **plan, store=tmp_path / "stör e")
    assert np.array_equal(again.pulls, result.pulls)
    assert [path.name for path in tmp_path.iterdir()] == ["stör e"]


def test_pandas_opens_the_folder_as_one_tidy_table(store: Path, undisturbed: cb.Result) -> None:
    table: Any = pd.read_parquet(store)
    assert list(table.columns) == ["policy", "run", "round", "arm", "pulls"]
    wanted: Any = undisturbed.frame(arms=True)[list(table.columns)]
    names = ["policy", "run", "round", "arm"]
    plain = [frame.astype({"policy": str, "arm": str}).sort_values(names) for frame in (table, wanted)]
    pd.testing.assert_frame_equal(*[frame.reset_index(drop=True) for frame in plain])
    assert len(table) == undisturbed.pulls.size


def test_tables_hold_the_labels_of_arms(tmp_path: Path) -> None:
    instance = cb.Instance({"red": {"a": 0.3, "b": 0.7}, "blue": {"c": 0.5}})
    result = cb.simulate(instance, BOTH, 100, runs=3, store=tmp_path, checkpoints=[50])
    table: Any = pd.read_parquet(tmp_path)
    for label in BOTH:
        for arm in "abc":
            cell = table[(table["policy"] == label) & (table["arm"] == arm) & (table["round"] == 100)]
            place = BOTH.index(label)
            assert cell.sort_values("run")["pulls"].tolist() == (
                result.pulls[place, :, -1, "abc".index(arm)].tolist()
            )


def test_the_manifest_says_what_was_played(store: Path) -> None:
    manifest = json.loads((store / "_manifest.json").read_text(encoding="utf-8"))
    plan = manifest["plan"]
    assert (plan["horizon"], plan["runs"], plan["seed"]) == (500, 20, 3)
    assert plan["checkpoints"] == [10, 100, 500]
    assert (plan["paired"], plan["stepwise"]) == (False, False)
    assert [policy["label"] for policy in plan["policies"]] == BOTH
    assert cb.Instance.from_dict(plan["instance"]) == CLUSTERED
    assert manifest["fingerprint"] == fingerprint()
    assert manifest["fingerprint"]["numpy"] == np.__version__
    assert manifest["pieces"] == 16


def relabelled() -> list[cb.Policy]:
    clusters = CLUSTERED.clusters()
    return [cb.KLUCB(clusters), cb.ClusUCB(clusters, label="other")]


OTHER_PLANS: list[tuple[str, dict[str, Any]]] = [
    ("horizon", {"horizon": 501}),
    ("runs", {"runs": 21}),
    ("runs", {"runs": 19}),
    ("seed", {"seed": 4}),
    ("seed", {"seed": 3 + 2**64}),
    ("policies", {"policies": ["kl-ucb"]}),
    ("policies", {"policies": BOTH[::-1]}),
    ("policies", {"policies": ["kl-ucb", "clus-ucb:a=1"]}),
    ("policies", {"policies": relabelled()}),
    ("policies", {"clusters": CLUSTERED.clusters([0.4, 0.71])}),
    ("policies", {"clusters": CLUSTERED.clusters([0.4, math.inf])}),
    ("instance", {"instance": cb.Instance([[0.3, 0.7], [0.1, 0.25, 0.8]])}),
    ("instance", {"instance": cb.Instance([[0.3, 0.7], [0.1, 0.2, 0.8]], family="poisson")}),
    ("checkpoints", {"checkpoints": [10, 101]}),
    ("checkpoints", {"checkpoints": None}),
    ("paired", {"paired": True}),
    ("stepwise", {"stepwise": True}),
]


@pytest.mark.parametrize(("name", "changed"), OTHER_PLANS)
@pytest.mark.parametrize("part", [False, True])
def test_another_plan_is_refused_by_name(store: Path, name: str, changed: dict[str, Any], part: bool) -> None:
    if part:
        parquets(store)[3].unlink()
    before = state(store)
    with pytest.raises(cb.InvalidInputError, match="simulate: store must be") as caught:
        simulated(store, **changed)
    assert state(store) == before
    lists = re.findall(r"(?:other|same) ((?:[a-z]+, )*[a-z]+)", str(caught.value))
    named = {word for words in lists for word in words.split(", ")}
    assert name in named
    if name in {"seed", "paired", "stepwise", "runs"}:
        assert named.isdisjoint({*PLAN_KEYS} - {name})


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").write_bytes(b"sun")
    before = state(tmp_path)
    with pytest.raises(cb.InvalidInputError, match=r"simulate: store must be a new or empty") as caught:
        simulated(tmp_path)
    assert "holiday.jpg" in str(caught.value)
    assert state(tmp_path) == before


@pytest.mark.parametrize(
    "name", ["other.parquet", "policy-0-runs-000001.parquet", "policy-2-runs-000000.parquet"]
)
def test_a_foreign_table_is_named(store: Path, name: str) -> None:
    shutil.copy(parquets(store)[0], store / name)
    before = state(store)
    for attempt in (simulated, cb.load_result):
        with pytest.raises(cb.UnreadableFileError, match=name):
            attempt(store)
    assert state(store) == before


def test_notes_beside_the_runs_are_left_alone(store: Path, undisturbed: cb.Result) -> None:
    (store / "README.txt").write_text("mine", encoding="utf-8")
    parquets(store)[0].unlink()
    assert np.array_equal(simulated(store).pulls, undisturbed.pulls)
    assert (store / "README.txt").read_text(encoding="utf-8") == "mine"


def flip_data(good: bytes) -> bytes:
    """One bit of the data of the last column, as zstd has packed it."""
    bad = bytearray(good)
    start = good.rindex(b"\x28\xb5\x2f\xfd")
    bad[start + 12] ^= 4
    return bytes(bad)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut by one byte": lambda good: good[:-1],
    "cut in half": lambda good: good[: len(good) // 2],
    "cut to its first bytes": lambda good: good[:4],
    "garbage": lambda good: np.random.default_rng(0).bytes(len(good)),
    "zeros": lambda good: bytes(len(good)),
    "text": lambda _: b"policy,run,round,arm,pulls\n",
    "a flipped bit in the data": flip_data,
    "longer": lambda good: good + b"PAR1",
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("part", [False, True])
def test_a_damaged_file_is_named_and_left_alone(
    store: Path, undisturbed: cb.Result, damage: str, part: bool
) -> None:
    path = parquets(store)[7]
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    if part:
        parquets(store)[0].unlink()
    before = state(store)
    for attempt in (simulated, cb.load_result):
        with pytest.raises(cb.UnreadableFileError, match=path.name) as caught:
            attempt(store)
        assert str(path) in str(caught.value)
    assert state(store) == before
    path.unlink()
    assert np.array_equal(simulated(store).pulls, undisturbed.pulls)
    assert np.array_equal(cb.load_result(store).pulls, undisturbed.pulls)
    assert len(parquets(store)) == 20


def test_no_flipped_byte_is_ever_believed(tmp_path: Path) -> None:
    """Every seventh byte, and all those of names: the file is refused by name, or it reads as it was."""
    result = cb.simulate(CLUSTERED, "kl-ucb", 300, runs=1, store=tmp_path, checkpoints=[10, 100])
    path = parquets(tmp_path)[0]
    good = path.read_bytes()
    named = [good.rindex(name) + place for name in (b"pulls", b"policy", b"block") for place in range(5)]
    refused = []
    for place in sorted({*range(0, len(good), 7), *named}):
        bad = bytearray(good)
        bad[place] ^= 0xFF
        path.write_bytes(bytes(bad))
        try:
            assert np.array_equal(cb.load_result(tmp_path).pulls, result.pulls), place
        except cb.UnreadableFileError as error:
            refused.append(str(error))
        assert path.read_bytes() == bytes(bad)
    assert len(refused) > len(good) / 14
    assert all(path.name in sentence for sentence in refused)


def test_tables_of_another_block_policy_or_plan_are_named(store: Path, tmp_path: Path) -> None:
    simulated(tmp_path / "seeded", seed=4)
    simulated(tmp_path / "paired", paired=True)
    first = parquets(store)[0]
    assert first.name == "policy-0-runs-000000.parquet"
    others = [
        store / "policy-0-runs-000002.parquet",
        store / "policy-1-runs-000000.parquet",
        tmp_path / "seeded" / first.name,
        tmp_path / "paired" / first.name,
    ]
    for other in others:
        shutil.copy(other, first)
        before = state(store)
        for attempt in (simulated, cb.load_result):
            with pytest.raises(cb.UnreadableFileError, match=first.name):
                attempt(store)
        assert state(store) == before


def of_pulls(table: Any, pulls: Any) -> Any:
    return table.set_column(table.column_names.index("pulls"), "pulls", [pulls])


def counts(table: Any) -> Any:
    """The pulls, ``[run, checkpoint, arm]``, to be changed."""
    return np.array(table.column("pulls").to_numpy()).reshape(2, 3, 5)


def more(table: Any) -> Any:
    pulls = counts(table)
    pulls[1, 2, 0] += 1
    return of_pulls(table, pulls.ravel())


def fewer_than_none(table: Any) -> Any:
    pulls = counts(table)
    pulls[0, 0] = [-5, 15, 0, 0, 0]
    return of_pulls(table, pulls.ravel())


def falling(table: Any) -> Any:
    pulls = counts(table)
    pulls[0, 0], pulls[0, 1] = [10, 0, 0, 0, 0], [0, 100, 0, 0, 0]
    return of_pulls(table, pulls.ravel())


BY_HAND: dict[str, Callable[[Any], Any]] = {
    "a row less": lambda table: table.slice(1),
    "no rows": lambda table: table.slice(0, 0),
    "no pulls": lambda table: table.drop_columns(["pulls"]),
    "another name": lambda table: table.rename_columns(["policy", "run", "round", "arm", "pulled"]),
    "turned": lambda table: table.take(np.arange(len(table))[::-1]),
    "words": lambda table: of_pulls(table, [f"x{value}" for value in counts(table).ravel()]),
    "fractions": lambda table: of_pulls(table, counts(table).ravel() + 0.5),
    "gaps": lambda table: of_pulls(table, [None, *counts(table).ravel()[1:].tolist()]),
    "more": more,
    "fewer than none": fewer_than_none,
    "falling": falling,
}


@pytest.mark.parametrize("how", BY_HAND)
def test_tables_changed_by_hand_are_named(store: Path, how: str) -> None:
    """The mark of the block is kept, so that the contents must be looked at."""
    first = parquets(store)[0]
    table = pq.read_table(first)
    pq.write_table(BY_HAND[how](table).replace_schema_metadata(table.schema.metadata), first)
    before = state(store)
    for attempt in (simulated, cb.load_result):
        with pytest.raises(cb.UnreadableFileError, match=first.name):
            attempt(store)
    assert state(store) == before


def test_tables_without_a_mark_are_named(store: Path) -> None:
    first = parquets(store)[0]
    pq.write_table(pq.read_table(first).replace_schema_metadata(None), first)
    with pytest.raises(cb.UnreadableFileError, match=first.name):
        cb.load_result(store)


def without(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda data: {name: value for name, value in data.items() if name != key}


def planned(**changed: Any) -> Callable[[dict[str, Any]], object]:
    return lambda data: {**data, "plan": {**data["plan"], **changed}}


def plan_without(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda data: {**data, "plan": {name: value for name, value in data["plan"].items() if name != key}}


def relabel(label: str) -> Callable[[dict[str, Any]], object]:
    def change(data: dict[str, Any]) -> object:
        data["plan"]["policies"][0]["label"] = label
        return data

    return change


BROKEN: dict[str, Callable[[dict[str, Any]], object]] = {
    "a list": lambda data: [data],
    "a number": lambda _: 5,
    "null": lambda _: None,
    "no keys": lambda _: {},
    "a package.json": lambda _: {"name": "left-pad", "version": "1.3.0"},
    "another format": lambda data: {**data, "format": "clusterbandits runs 99"},
    **{f"no {key}": without(key) for key in ("format", "fingerprint", "pieces", "plan")},
    **{f"no plan.{key}": plan_without(key) for key in PLAN_KEYS},
    **{f"plan.{key} null": planned(**{key: None}) for key in PLAN_KEYS},
    **{f"plan.{key} text": planned(**{key: "x"}) for key in PLAN_KEYS},
    **{f"plan.{key} a list": planned(**{key: [5]}) for key in PLAN_KEYS},
    **{
        f"plan.{key} {value}": planned(**{key: value})
        for key in ("horizon", "runs")
        for value in (0, -5, 1.5)
    },
    "plan.runs 10**30": planned(runs=10**30),
    "plan.checkpoints turned": planned(checkpoints=[500, 100, 10]),
    "plan.policies with half a character": relabel("\ud800"),
    "plan.more": planned(more=1),
    "plan a number": lambda data: {**data, "plan": 5},
    "plan a list": lambda data: {**data, "plan": [data["plan"]]},
    "plan null": lambda data: {**data, "plan": None},
}


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("part", [False, True])
def test_a_broken_manifest_is_one_clear_error(store: Path, how: str, part: bool) -> None:
    edit(store, BROKEN[how])
    if part:
        parquets(store)[0].unlink()
    before = state(store)
    for attempt in (simulated, cb.load_result):
        with pytest.raises(cb.ClusterBanditsError) as caught:
            attempt(store)
        assert str(caught.value).endswith(".")
    assert state(store) == before


@pytest.mark.parametrize("key", ["fingerprint", "pieces"])
@pytest.mark.parametrize("value", [5.5, 0, -3, 10**30, None, True, [], "1.0", {"numpy": 3}])
def test_an_edited_manifest_is_one_clear_error(store: Path, key: str, value: object) -> None:
    edit(store, lambda data: {**data, key: value})
    parquets(store)[0].unlink()
    before = state(store)
    with pytest.raises(cb.ClusterBanditsError):
        simulated(store)
    assert state(store) == before


@pytest.mark.parametrize(
    "content", [b"", b"{", b"not json", b"\xff\xfe\x00", b"NaN", b"[" * 100_000, b'{"format": "clusterb']
)
def test_a_damaged_manifest_is_named(store: Path, content: bytes) -> None:
    (store / "_manifest.json").write_bytes(content)
    before = state(store)
    for attempt in (simulated, cb.load_result):
        with pytest.raises(cb.UnreadableFileError, match=r"_manifest\.json"):
            attempt(store)
    assert state(store) == before


def test_runs_without_a_manifest_are_nobodys(store: Path) -> None:
    (store / "_manifest.json").unlink()
    before = state(store)
    with pytest.raises(cb.InvalidInputError, match="store must be") as caught:
        simulated(store)
    assert re.search(r"_manifest\.json|policy-0-runs-000000\.parquet", str(caught.value))
    with pytest.raises(cb.UnreadableFileError, match=r"_manifest\.json"):
        cb.load_result(store)
    assert state(store) == before


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"sources": "0" * 16}, "other sources:"),
        ({"arithmetic": "0" * 16}, "other arithmetic:"),
        ({"numpy": "1.99.7"}, f"numpy 1.99.7 (now {np.__version__}):"),
        ({"python": "3.9", "sources": ""}, f"python 3.9 (now {fingerprint()['python']}), other sources:"),
        ({"quantum": "1"}, "other quantum:"),
        ({"numpy": ["x" * 10_000]}, "numpy ['xxx"),
    ],
)
def test_runs_that_others_began_may_be_read_but_not_gone_on_with(
    store: Path, undisturbed: cb.Result, changed: dict[str, Any], named: str
) -> None:
    edit(store, lambda data: {**data, "fingerprint": {**data["fingerprint"], **changed}})
    assert np.array_equal(simulated(store).pulls, undisturbed.pulls)
    assert np.array_equal(cb.load_result(store).pulls, undisturbed.pulls)
    parquets(store)[0].unlink()
    before = state(store)
    with pytest.raises(cb.InvalidInputError, match="simulate: store must be a new") as caught:
        simulated(store)
    assert f"started with {named}" in str(caught.value)
    assert len(str(caught.value)) < 300
    assert cb.load_result(store).runs.tolist() == list(range(2, 20))
    assert state(store) == before


def test_an_edit_of_a_kernel_ends_going_on(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within one version, too."""
    texts = sources().texts
    edited = {**texts, "policies/index/race.py": texts["policies/index/race.py"] + "# edited"}
    monkeypatch.setattr(sources(), "texts", edited)
    fingerprint.cache_clear()
    try:
        assert len(simulated(store).runs) == 20
        parquets(store)[0].unlink()
        with pytest.raises(cb.InvalidInputError, match="started with other sources:"):
            simulated(store)
    finally:
        fingerprint.cache_clear()


def as_format_2(data: dict[str, Any]) -> dict[str, Any]:
    versions = {"clusterbandits": "0.1.0", "numpy": np.__version__, "numba": "0.68.1"}
    return {"format": "clusterbandits runs 2", "versions": versions, "plan": data["plan"]}


def test_stores_of_the_earlier_format_may_be_read_but_not_gone_on_with(
    store: Path, undisturbed: cb.Result
) -> None:
    edit(store, as_format_2)
    assert np.array_equal(simulated(store).pulls, undisturbed.pulls)
    assert np.array_equal(cb.load_result(store).pulls, undisturbed.pulls)
    parquets(store)[0].unlink()
    before = state(store)
    with pytest.raises(cb.InvalidInputError, match="with an earlier version of clusterbandits"):
        simulated(store)
    assert cb.load_result(store).runs.tolist() == list(range(2, 20))
    assert state(store) == before


def test_parts_of_a_store_are_loaded(store: Path, undisturbed: cb.Result) -> None:
    (store / "policy-0-runs-000004.parquet").unlink()
    (store / "policy-1-runs-000010.parquet").unlink()
    (store / "policy-1-runs-000018.parquet").unlink()
    loaded = cb.load_result(store)
    there = [run for run in range(20) if run not in {4, 5, 10, 11, 18, 19}]
    assert loaded.runs.tolist() == there
    assert np.array_equal(loaded.pulls, undisturbed.pulls[:, there])
    assert loaded.frame()["run"].drop_duplicates().tolist() == there


def test_a_store_without_a_whole_run_is_refused(store: Path) -> None:
    for path in store.glob("policy-1-*.parquet"):
        path.unlink()
    with pytest.raises(cb.InvalidInputError, match=r"^load_result: store must be"):
        cb.load_result(store)


def test_only_what_is_missing_is_played(store: Path, undisturbed: cb.Result) -> None:
    for path in parquets(store)[5:9]:
        path.unlink()
    before = state(store)
    received: list[cb.Progress] = []
    assert np.array_equal(simulated(store, progress=received.append).pulls, undisturbed.pulls)
    after = state(store)
    assert {name: after[name] for name in before} == before
    assert len(after) == 21
    assert received[0].runs_done >= 32
    assert received[-1].runs_done == 40
    assert received[-1].rounds_done == received[-1].rounds


def test_folders_that_are_not_there_or_not_folders(tmp_path: Path) -> None:
    with pytest.raises(cb.UnreadableFileError, match="no such file or directory"):
        cb.load_result(tmp_path / "missing")
    assert not (tmp_path / "missing").exists()
    with pytest.raises(cb.UnreadableFileError, match=r"_manifest\.json"):
        cb.load_result(tmp_path)
    file = tmp_path / "file"
    file.write_text("mine", encoding="utf-8")
    with pytest.raises(cb.UnreadableFileError, match="not a directory"):
        cb.load_result(file)
    for path in (file, file / "store"):
        with pytest.raises(cb.UnwritableFileError, match=str(path)):
            simulated(path)
    assert state(tmp_path) == {"file": (b"mine", file.stat().st_mtime_ns)}


@pytest.mark.parametrize("wrong", [None, 5, True, ["store"], "a\0b"])
def test_what_is_no_path_is_refused(wrong: Any) -> None:
    with pytest.raises(cb.ClusterBanditsError):
        cb.load_result(wrong)


def test_a_full_disk_is_one_sentence_and_loses_nothing(
    tmp_path: Path, undisturbed: cb.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "store"
    calls: list[int] = []
    sync = os.fsync

    def fill(handle: int) -> None:
        calls.append(handle)
        if len(calls) > 13:  # Two for every file: itself and its folder; one for the new folder.
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fill)
        with pytest.raises(cb.UnwritableFileError, match=": no space left on device"):
            simulated(folder, workers=2)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("clusterbandits")]
    before = state(folder)
    assert len(before) == 6
    assert not list(folder.glob(".*"))
    assert np.array_equal(simulated(folder).pulls, undisturbed.pulls)
    assert state(folder).items() >= before.items()


def test_a_disk_without_room_for_the_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(handle: int) -> None:
        if stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    folder = tmp_path / "deep" / "store"
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fill)
        with pytest.raises(cb.UnwritableFileError, match=r"Cannot write .*_manifest\.json'"):
            simulated(folder)
    assert list(tmp_path.iterdir()) == []
    assert len(simulated(folder).runs) == 20


def test_files_the_system_cuts_short_are_not_kept(tmp_path: Path, undisturbed: cb.Result) -> None:
    """A limit on the size of files makes Parquet's own writes fail half way."""
    folder = tmp_path / "store"
    simulated(folder)
    for path in parquets(folder):
        path.unlink()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(cb.UnwritableFileError, match="Cannot write"):
            simulated(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in folder.iterdir()] == ["_manifest.json"]
    assert np.array_equal(simulated(folder).pulls, undisturbed.pulls)


def test_an_interruption_keeps_finished_runs(tmp_path: Path) -> None:
    folder = tmp_path / "store"

    def listen(progress: cb.Progress) -> None:
        if progress.runs_done >= 6:
            raise KeyboardInterrupt

    slower: dict[str, Any] = {"horizon": 20_000, "stepwise": True}
    whole = simulated(**slower)
    with pytest.raises(cb.SimulationInterrupted) as caught:
        simulated(folder, progress=listen, workers=2, **slower)
    done = caught.value.result
    assert isinstance(done, cb.Result)
    assert 0 < len(done.runs) < 20
    assert np.array_equal(done.pulls, whole.pulls[:, done.runs])
    loaded = cb.load_result(folder)
    assert np.array_equal(loaded.runs, done.runs)
    assert np.array_equal(loaded.pulls, done.pulls)
    before = state(folder)
    assert np.array_equal(simulated(folder, **slower).pulls, whole.pulls)
    assert state(folder).items() >= before.items()


def test_two_at_once_share_a_store(tmp_path: Path, undisturbed: cb.Result) -> None:
    folder = tmp_path / "store"
    ready = threading.Barrier(3)
    results: list[cb.Result] = []

    def play() -> None:
        ready.wait()
        results.append(simulated(folder))

    threads = [threading.Thread(target=play) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 3
    assert all(np.array_equal(result.pulls, undisturbed.pulls) for result in results)
    assert len(state(folder)) == 21


#: A process that ends in the middle of writing a file, without a word.
DIES = """
import os, pathlib, sys
from clusterbandits.files import whole_file
from clusterbandits.fingerprint import fingerprint, sources
writing = whole_file(pathlib.Path(sys.argv[1]))
writing.__enter__().write_bytes(b"PAR1")
os._exit(0)
"""


def leave_half_written(path: Path) -> None:
    subprocess.run([sys.executable, "-c", DIES, str(path)], check=True, timeout=60)
    assert len(list(path.parent.glob(".unfinished-*"))) == 1


def test_what_a_dead_process_left_half_written_is_swept_up(store: Path, undisturbed: cb.Result) -> None:
    first = parquets(store)[0]
    first.unlink()
    leave_half_written(first)
    assert np.array_equal(cb.load_result(store).pulls, undisturbed.pulls[:, 2:])
    assert len(pd.read_parquet(store)) == undisturbed.pulls.size - 2 * 3 * 5
    assert np.array_equal(simulated(store).pulls, undisturbed.pulls)
    assert not list(store.glob(".*"))


def test_a_folder_begun_by_a_process_that_died_at_once(tmp_path: Path, undisturbed: cb.Result) -> None:
    leave_half_written(tmp_path / "_manifest.json")
    assert np.array_equal(simulated(tmp_path).pulls, undisturbed.pulls)
    assert not list(tmp_path.glob(".*"))


def test_what_the_living_are_writing_is_left_alone(store: Path, undisturbed: cb.Result) -> None:
    first = parquets(store)[0]
    good = first.read_bytes()
    first.unlink()
    with whole_file(first) as unfinished:
        unfinished.write_bytes(good)
        assert np.array_equal(simulated(store).pulls, undisturbed.pulls)
    assert first.read_bytes() == good
    assert np.array_equal(cb.load_result(store).pulls, undisturbed.pulls)


def fill(folder: Path, pieces: int, **changed: Any) -> cb.Result:
    """Play what a folder misses of the plan, in so many pieces."""
    given = {**PLAN, "paired": False, "stepwise": False, **changed}
    plan = plan_of(given.pop("instance"), given.pop("policies"), given)
    one = open_simulation(plan, folder, pieces)
    for _ in Campaign([one], workers_of(2, None, "test"), runs=one.runs).finished():
        pass
    return one.result("test")


#: Says how many threads the system knows of before and after a store is read.
READER = """
import os, sys
import clusterbandits as cb
from clusterbandits.simulation import store

before = len(os.listdir("/proc/self/task"))
cb.load_result(sys.argv[1])
print(before, len(os.listdir("/proc/self/task")))
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted on Linux alone")
def test_reading_starts_no_threads(store: Path) -> None:
    """Threads of pyarrow that held Python objects aborted processes that exited at once."""
    said = subprocess.run(
        [sys.executable, "-c", READER, str(store)], capture_output=True, text=True, check=True, timeout=300
    )
    before, after = said.stdout.split()
    assert before == after


def removing(removals: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove files that have just been written, before they get their names."""
    left = [removals]
    write = Path.write_bytes

    def write_and_lose(path: Path, data: bytes) -> int:
        left[0] -= 1
        size = write(path, data)
        if left[0] >= 0:
            path.unlink()
        return size

    monkeypatch.setattr(Path, "write_bytes", write_and_lose)


def test_a_file_that_is_removed_while_it_is_written_is_written_again(
    tmp_path: Path, undisturbed: cb.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "store"
    removing(4, monkeypatch)
    assert np.array_equal(simulated(folder).pulls, undisturbed.pulls)
    assert np.array_equal(cb.load_result(folder).pulls, undisturbed.pulls)
    assert len(state(folder)) == 21


def test_files_that_are_always_removed_are_one_sentence(
    tmp_path: Path, undisturbed: cb.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "store"
    with monkeypatch.context() as patched:
        removing(10**6, patched)
        with pytest.raises(cb.UnwritableFileError, match=": no such file or directory"):
            simulated(folder)
    assert [path.name for path in folder.iterdir()] == ["_manifest.json"]
    assert np.array_equal(simulated(folder).pulls, undisturbed.pulls)


@pytest.mark.parametrize(
    "name",
    ["file:x", "file:/x", "http:/x", "s3:/bucket/x", "hdfs:x", "run=3/pulls=4", "C:\\x", "a b%20c#d?e=f"],
)
def test_names_that_mean_something_to_pyarrow_are_ordinary_ones(
    name: str, tmp_path: Path, undisturbed: cb.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert np.array_equal(simulated(name).pulls, undisturbed.pulls)
    assert np.array_equal(cb.load_result(name).pulls, undisturbed.pulls)
    assert len(parquets(tmp_path / name)) == 20
    assert [path.name for path in tmp_path.iterdir()] == [Path(name).parts[0]]


@pytest.mark.parametrize("pieces", [1, 3, 7, 20, 100])
def test_files_may_hold_any_number_of_runs(pieces: int, tmp_path: Path, undisturbed: cb.Result) -> None:
    result = fill(tmp_path, pieces)
    size = math.ceil(20 / pieces)
    assert len(parquets(tmp_path)) == 2 * math.ceil(20 / size)
    assert np.array_equal(result.pulls, undisturbed.pulls)
    assert np.array_equal(cb.load_result(tmp_path).pulls, undisturbed.pulls)
    before = state(tmp_path)
    assert np.array_equal(simulated(tmp_path).pulls, undisturbed.pulls)
    assert state(tmp_path) == before


@pytest.mark.parametrize("pieces", [1, 3, 16, 20])
@pytest.mark.parametrize("gone", [[0], [3, 4, 5], [0, 2, 9, 11, 19], list(range(19))])
def test_a_store_begun_in_other_pieces_goes_on(
    store: Path, undisturbed: cb.Result, pieces: int, gone: list[int]
) -> None:
    for place, path in enumerate(parquets(store)):
        if place in gone:
            path.unlink()
    before = state(store)
    assert np.array_equal(fill(store, pieces).pulls, undisturbed.pulls)
    assert state(store).items() >= before.items()
    assert np.array_equal(simulated(store).pulls, undisturbed.pulls)
    assert np.array_equal(cb.load_result(store).pulls, undisturbed.pulls)


def overlapping(store: Path, other: Path, whole: bool) -> Path:
    """Files that hold the same runs: one of all runs beside those of some, or one of some beside all."""
    fill(other, 1)
    if whole:
        shutil.copy(other / "policy-0-runs-000000.parquet", store)
    else:
        shutil.copy(store / "policy-1-runs-000008.parquet", other)
    return store if whole else other


@pytest.mark.parametrize("whole", [True, False])
def test_runs_that_two_files_hold_alike_are_read_once(
    store: Path, tmp_path: Path, undisturbed: cb.Result, whole: bool
) -> None:
    folder = overlapping(store, tmp_path / "one", whole)
    before = state(folder)
    for attempt in (simulated, cb.load_result, lambda folder: fill(folder, 1)):
        assert np.array_equal(attempt(folder).pulls, undisturbed.pulls)
    assert state(folder) == before


@pytest.mark.parametrize("whole", [True, False])
def test_runs_that_two_files_hold_differently_are_refused(store: Path, tmp_path: Path, whole: bool) -> None:
    folder = overlapping(store, tmp_path / "one", whole)
    path = folder / ("policy-0-runs-000002.parquet" if whole else "policy-1-runs-000008.parquet")
    table = pq.read_table(path)
    pulls = counts(table)
    pulls[1, 2, :2] += [1, -1]
    pq.write_table(of_pulls(table, pulls.ravel()).replace_schema_metadata(table.schema.metadata), path)
    before = state(folder)
    for attempt in (simulated, cb.load_result, lambda folder: fill(folder, 1)):
        with pytest.raises(cb.UnreadableFileError, match=rf"only runs of one plan.*{path.name}"):
            attempt(folder)
    assert state(folder) == before


@pytest.mark.parametrize("name", ["policy-00-runs-000000.parquet", "policy-0-runs-0000000.parquet"])
def test_a_file_has_one_name(store: Path, name: str) -> None:
    shutil.copy(parquets(store)[0], store / name)
    with pytest.raises(cb.UnreadableFileError, match=name):
        cb.load_result(store)


def test_whoever_begins_a_store_decides_its_pieces(tmp_path: Path, undisturbed: cb.Result) -> None:
    """Two processes with other pieces would leave files that overlap."""
    ready = threading.Barrier(4)
    results: list[cb.Result] = []

    def play(pieces: int) -> None:
        ready.wait()
        results.append(fill(tmp_path / "store", pieces))

    threads = [threading.Thread(target=play, args=(pieces,)) for pieces in (1, 3, 7, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert all(np.array_equal(result.pulls, undisturbed.pulls) for result in results)
    pieces = json.loads((tmp_path / "store" / "_manifest.json").read_text())["pieces"]
    size = math.ceil(20 / pieces)
    assert len(parquets(tmp_path / "store")) == 2 * math.ceil(20 / size)
    assert len(pd.read_parquet(tmp_path / "store")) == undisturbed.pulls.size


def test_a_file_of_more_runs_than_there_are_is_refused(store: Path) -> None:
    shutil.copy(store / "policy-0-runs-000000.parquet", store / "policy-0-runs-000019.parquet")
    (store / "policy-0-runs-000018.parquet").unlink()
    with pytest.raises(cb.UnreadableFileError, match=r"runs-000019\.parquet"):
        simulated(store)


def missing_reference(done: list[bool], size: int) -> list[tuple[int, int]]:
    """Plainly: every stretch of missing runs, cut where a piece begins."""
    found: list[list[int]] = []
    for run, there in enumerate(done):
        if there:
            continue
        if found and run == sum(found[-1]) and run % size:
            found[-1][1] += 1
        else:
            found.append([run, 1])
    return [(first, runs) for first, runs in found]


def test_pieces_are_all_that_is_missing_and_nothing_else() -> None:
    generator = np.random.default_rng(0)
    given = {**PLAN, "paired": False, "stepwise": False}
    plan = plan_of(given["instance"], given["policies"], given)
    for trial in range(300):
        pieces = int(generator.integers(1, 25))
        done = generator.random((2, 20)) < generator.random()
        blocks = plan.blocks(pieces, done)
        for policy in range(2):
            own = [(block.first, block.runs) for block in blocks if block.policy == policy]
            assert own == missing_reference(done[policy].tolist(), math.ceil(20 / pieces)), trial
        firsts = [block.first // math.ceil(20 / pieces) for block in blocks]
        assert firsts == sorted(firsts)
