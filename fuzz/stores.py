"""Damaged stores, which must return exactly what was written or be refused by one sentence."""

from __future__ import annotations

import functools
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import clusterbandits as cb
from clusterbandits.paper.settings import PaperSettings, claim_folder
from clusterbandits.studies.study_file import parse_study
from clusterbandits.studies.study_runs import StudyCampaign

if TYPE_CHECKING:
    from collections.abc import Callable

    Rng = np.random.Generator

SHORT = 60
_LONGEST = 500
_INSTANCE = cb.Instance({"red": {"a": 0.3, "b": 0.7}, "blue": {"c": 0.5}})
_PLAN: dict[str, Any] = {"policies": ["kl-ucb", "ucb1"], "horizon": 200, "runs": 3, "checkpoints": [10, 50]}
_SEEDS = (1, 2)
_STUDY = """
horizon = 100
runs = 2
policies = ["kl-ucb", "ucb1"]
[[instances]]
means = [[0.3, 0.7], [0.5]]
"""
_SETTINGS = PaperSettings(figures=[4], runs=2, horizon=200)
Files = dict[str, bytes]


class Kept(NamedTuple):
    """The files of a folder and its runs, before damage."""

    files: Files
    pulls: np.ndarray[Any, Any]


def attempt(rng: Rng, folder: Path) -> Counter[str]:
    """Damage a store, a study or the folder of a report, and use it again."""
    return (_store, _store, _store, _study, _report)[rng.integers(5)](rng, folder)


def _store(rng: Rng, folder: Path) -> Counter[str]:
    seed = int(rng.choice(_SEEDS))
    files = dict(_stored(seed).files)
    for name in rng.choice(sorted(files), rng.integers(3), replace=False):
        if name != "_manifest.json":
            del files[name]
    tried = _damaged(rng, files, _stored(_SEEDS[seed == _SEEDS[0]]).files, folder / "store")
    for use in (cb.load_result, _go_on(seed), cb.load_result):
        tried[_outcome(lambda use=use: _check(use(folder / "store")))] += 1  # type: ignore[misc]
    return tried


def _go_on(seed: int) -> Callable[[Path], cb.Result]:
    return lambda folder: cb.simulate(_INSTANCE, seed=seed, store=folder, workers=1, **_PLAN)


def _check(result: cb.Result) -> None:
    """Check the remaining runs of a store."""
    whole = _stored(result.seed).pulls
    assert np.array_equal(result.pulls, whole[:, result.runs]), "other numbers"
    assert result.instance == _INSTANCE
    assert result.labels == ("kl-ucb", "ucb1")
    assert result.checkpoints.tolist() == [10, 50, 200]


def _study(rng: Rng, folder: Path) -> Counter[str]:
    kept = _played_study()
    tried = _damaged(rng, dict(kept.files), kept.files, folder)

    def use() -> None:
        assert np.array_equal(_play_study(folder), kept.pulls), "other numbers"

    tried[_outcome(use)] += 1
    return tried + Counter({"studies": 1})


def _report(rng: Rng, folder: Path) -> Counter[str]:
    tried = _damaged(rng, dict(_claimed()), _claimed(), folder)
    tried[_outcome(lambda: claim_folder(folder, _SETTINGS))] += 1
    return tried + Counter({"reports": 1})


def _outcome(use: Callable[[], object]) -> str:
    try:
        use()
    except cb.ClusterBanditsError as error:
        sentence = str(error)
        assert sentence.endswith("."), sentence
        assert len(sentence) <= _LONGEST, sentence
        assert "\n" not in sentence, sentence
        return "refused"
    return "read"


def _damaged(rng: Rng, files: Files, others: Files, folder: Path) -> Counter[str]:
    """Write the files of a folder after damaging one to three of them."""
    tried: Counter[str] = Counter()
    for _ in range(rng.integers(1, 4)):
        if files:
            name = str(rng.choice(sorted(files)))
            ways = [*_DAMAGES, *[_edited] * (5 if name.endswith(".json") else 0)]
            way = ways[rng.integers(len(ways))]
            way(rng, files, name, others)
            tried[way.__name__.strip("_").replace("_", " ")] += 1
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    if rng.random() < 0.2:
        tried["strange content"] += 1
        _strange(rng, folder)
    return tried


def _flipped(rng: Rng, files: Files, name: str, _: Files) -> None:
    data = bytearray(files[name])
    for place in rng.integers(len(data), size=rng.integers(1, 4)) if data else []:
        data[place] ^= 1 << int(rng.integers(8))
    files[name] = bytes(data)


def _overwritten(rng: Rng, files: Files, name: str, _: Files) -> None:
    data = bytearray(files[name])
    first, size = int(rng.integers(len(data) + 1)), int(rng.integers(1, 40))
    data[first : first + size] = rng.bytes(size) if rng.random() < 0.5 else bytes(size)
    files[name] = bytes(data)


def _cut(rng: Rng, files: Files, name: str, _: Files) -> None:
    files[name] = files[name][: rng.integers(len(files[name]) + 1)]


def _emptied(_: Rng, files: Files, name: str, __: Files) -> None:
    files[name] = b""


def _removed(_: Rng, files: Files, name: str, __: Files) -> None:
    del files[name]


def _copied(rng: Rng, files: Files, name: str, _: Files) -> None:
    number = f"{rng.integers(5):0{rng.integers(5, 8)}d}"
    names = [
        f"policy-{rng.integers(3)}-runs-{number}.parquet",
        f"{name}.parquet",
        f"copy of {name}",
        "x.parquet",
    ]
    files[str(rng.choice([*names, *sorted(files)]))] = files[name]


def _swapped(rng: Rng, files: Files, name: str, others: Files) -> None:
    files[name] = others[str(rng.choice(sorted(others)))] if rng.random() < 0.5 else others.get(name, b"x")


_DAMAGES = (_flipped, _overwritten, _cut, _emptied, _removed, _copied, _swapped)


def _edited(rng: Rng, files: Files, name: str, _: Files) -> None:
    """Change a value in a JSON file."""
    try:
        data = json.loads(files[name])
    except ValueError:
        return
    places = list(_places(data))
    if places:
        holder, key = places[rng.integers(len(places))]
        _change(rng, holder, key)
    files[name] = json.dumps(data, indent=int(rng.integers(3)) or None).encode()


def _places(data: object) -> Any:
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in list(pairs):
        yield data, key
        yield from _places(value)


def _change(rng: Rng, holder: Any, key: Any) -> None:
    value = holder[key]
    if rng.random() < 0.2:
        del holder[key]
        return
    if isinstance(holder, dict) and rng.random() < 0.1:
        holder[f"{key}x"] = holder.pop(key)
        return
    number = type(value) in {int, float} and abs(value) < 1e300
    numbers = [value + 1, -value, value * 1.0, value * 2, value + 1e-9] if number else []
    huge = [10**30, -(10**400), 1e308, float("inf"), float("nan"), 10**6, 2**63, 2**128]
    others = [None, True, False, "", "x", "inf", "\ud800", [], {}, [value], {"x": value}, 0, -1, 0.5]
    choices = [*numbers, *huge, *others, *([value[::-1], value * 2] if isinstance(value, list | str) else [])]
    holder[key] = choices[rng.integers(len(choices))]


def _strange(rng: Rng, folder: Path) -> None:
    """Create entries in a folder that do not belong to a store."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [
        "policy-0-runs-000000.parquet",
        "_manifest.json",
        "x.parquet",
        "\udcff.parquet",
        ".unfinished-x",
        "n",
    ]
    path = folder / str(rng.choice(names))
    path.unlink(missing_ok=True)
    how = int(rng.integers(4))
    if how == 0:
        path.mkdir()
    elif how == 1:
        path.symlink_to(path.name)
    elif how == 2:
        path.symlink_to("nowhere")
    else:
        with path.open("wb") as file:
            file.truncate(10**9)


@functools.cache
def _stored(seed: int) -> Kept:
    with tempfile.TemporaryDirectory() as folder:
        result = _go_on(seed)(Path(folder))
        return Kept(_files(Path(folder)), result.pulls)


@functools.cache
def _played_study() -> Kept:
    with tempfile.TemporaryDirectory() as folder:
        pulls = _play_study(Path(folder))
        return Kept(_files(Path(folder)), pulls)


def _play_study(folder: Path) -> np.ndarray[Any, Any]:
    study = parse_study(_STUDY, "fuzzed", folder)
    (finished,) = StudyCampaign(study, folder, 1).finished()
    return finished.result.pulls


@functools.cache
def _claimed() -> Files:
    with tempfile.TemporaryDirectory() as folder:
        claim_folder(Path(folder), _SETTINGS)
        return _files(Path(folder))


def _files(folder: Path) -> Files:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
