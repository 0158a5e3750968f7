"""Commands that are killed, share a folder, or run out of disk space, and then reach the same results."""

from __future__ import annotations

import contextlib
import functools
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import clusterbandits as cb
from tests.processes import ISOLATED, PATIENCE, can_isolate, command, started

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Rng = np.random.Generator

SHORT = 2
_MEANS = "0.3,0.7; 0.5"
_HORIZON, _RUNS = 20_000, 48
_STUDY = """
horizon = 3000
runs = 8
policies = ["kl-ucb", "ucb1"]
[[instances]]
means = [[0.3, 0.7], [0.5]]
"""
#: Seconds for a command to start, and the interval in which it is killed.
_START, _KILLED_WITHIN = 0.3, 4.0


def attempt(rng: Rng, folder: Path) -> Counter[str]:
    """Disturb commands in one way, then repeat them."""
    ways = [_shared] * 6 + [_killed] * 6 + [_full_disk] * 4 + [_read_only] * 2 + [_killed_paper]
    return ways[rng.integers(len(ways))](rng, folder)


def _shared(rng: Rng, folder: Path) -> Counter[str]:
    """Run two or three processes on one store, some in containers, and kill some of them."""
    tried: Counter[str] = Counter({"shared stores": 1})
    call = _simulate(folder / "store")
    with contextlib.ExitStack() as stack:
        running = []
        for _ in range(rng.integers(2, 4)):
            isolated = rng.random() < 0.5
            prefix = ISOLATED if isolated and can_isolate() else []
            tried["in a container" if prefix else "no containers here" if isolated else "processes"] += 1
            running.append(stack.enter_context(_quiet([*prefix, *call])))
            time.sleep(rng.random() * 0.2)
        for process in running[1:]:
            if rng.random() < 0.5:
                time.sleep(_START + rng.random())
                process.kill()
                tried["killed"] += 1
        _, errors = running[0].communicate(timeout=PATIENCE)
        assert running[0].returncode == 0, errors
        for process in running[1:]:
            process.communicate(timeout=PATIENCE)
            assert process.returncode in {0, -9, 137}
    _check_store(call, folder / "store")
    return tried


def _killed(rng: Rng, folder: Path) -> Counter[str]:
    """Kill a command a few times."""
    study = rng.random() < 0.3
    call = _run(folder, folder / "out") if study else _simulate(folder / "store")
    _kill_a_few_times(rng, call)
    if study:
        _check_report(call, folder / "out", _whole_study())
    else:
        _check_store(call, folder / "store")
    return Counter({"killed studies" if study else "killed simulations": 1})


def _killed_paper(rng: Rng, folder: Path) -> Counter[str]:
    call = _paper(folder / "out")
    _kill_a_few_times(rng, call)
    _check_report(call, folder / "out", _whole_paper())
    return Counter({"killed papers": 1})


def _kill_a_few_times(rng: Rng, call: Sequence[str]) -> None:
    for _ in range(rng.integers(1, 4)):
        with _quiet(call) as process:
            end = time.monotonic() + _START + rng.random() * _KILLED_WITHIN
            while process.poll() is None and time.monotonic() < end:
                time.sleep(0.01)


def _full_disk(rng: Rng, folder: Path) -> Counter[str]:
    """Run a command on a disk with little space, then with more."""
    study = rng.random() < 0.3
    pages = int(rng.integers(1, 300 if study else 120))
    with _disk(folder, f"size={4 * pages}k") as there:
        if not there:
            return Counter({"no disks here": 1})
        call = _run(folder, folder / "disk" / "out") if study else _simulate(folder / "disk" / "store")
        refused = _ends(call)
        _mount("remount,size=64m", folder / "disk")
        if study:
            _check_report(call, folder / "disk" / "out", _whole_study())
        else:
            _check_store(call, folder / "disk" / "store")
    return Counter({"full disks": 1, "refused": int(refused)})


def _read_only(rng: Rng, folder: Path) -> Counter[str]:
    """Run a command on a read-only disk, with no store, an incomplete one or a complete one."""
    with _disk(folder, "size=64m") as there:
        if not there:
            return Counter({"no disks here": 1})
        store = folder / "disk" / "store"
        call = _simulate(store)
        removed = (
            [path for path in _whole_store(call, store) if rng.random() < 0.5] if rng.random() < 0.7 else None
        )
        for path in removed or ():
            path.unlink()
        _mount("remount,ro", folder / "disk")
        refused = _ends(call)
        assert refused is (removed is None or bool(removed)), "a whole store can be read"
        _mount("remount,rw", folder / "disk")
        _check_store(call, store)
    return Counter({"read-only disks": 1, "refused": int(refused)})


def _whole_store(call: Sequence[str], store: Path) -> list[Path]:
    assert not _ends(call)
    return list(store.glob("*.parquet"))


def _ends(call: Sequence[str]) -> bool:
    """Wait for a command; return whether it was refused, which must be by one sentence."""
    with _quiet(call) as process:
        _, errors = process.communicate(timeout=PATIENCE)
    if process.returncode == 0:
        return False
    assert (process.returncode, errors.count("\n")) == (2, 1), errors
    assert errors.startswith("Error: "), errors
    assert len(errors) <= 500, errors
    return True


def _check_store(call: Sequence[str], store: Path) -> None:
    """Check that the same command succeeds with the right results and leaves no unfinished files."""
    assert not _ends(call), "refused"
    result = cb.load_result(store)
    assert len(result.runs) == _RUNS
    assert np.array_equal(result.pulls, _undisturbed().pulls), "other bits"
    assert not list(store.parent.rglob(".unfinished-*")), "unfinished files"
    assert len(list(store.iterdir())) == 33, "files too many"


def _check_report(call: Sequence[str], folder: Path, whole: dict[str, bytes]) -> None:
    assert not _ends(call), "refused"
    assert _report(folder) == whole, "other bytes"
    assert not list(folder.rglob(".unfinished-*")), "unfinished files"


def _report(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    names = {path: path.relative_to(folder) for path in files}
    return {name.as_posix(): path.read_bytes() for path, name in names.items() if name.parts[0] != "runs"}


def _simulate(store: Path) -> list[str]:
    what = ["--policy", "kl-ucb", "--policy", "ucb1", "--horizon", str(_HORIZON), "--runs", str(_RUNS)]
    return command("simulate", _MEANS, *what, "--workers", "1", "--store", str(store))


def _run(folder: Path, out: Path) -> list[str]:
    file = folder / "study.toml"
    file.write_text(_STUDY, encoding="utf-8")
    return command("run", str(file), "--workers", "1", "--out", str(out))


def _paper(folder: Path) -> list[str]:
    return command("paper", "--figure", "4", "--runs", "2", "--horizon", "200", "--out", str(folder))


def _quiet(call: Sequence[str]) -> contextlib.AbstractContextManager[subprocess.Popen[str]]:
    return started(list(call), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


@contextlib.contextmanager
def _disk(folder: Path, options: str) -> Iterator[bool]:
    """Mount a disk in memory, if this machine allows it."""
    place = folder / "disk"
    place.mkdir()
    there = _mount(options, place, "-t", "tmpfs", "tmpfs")
    try:
        yield there
    finally:
        if there:
            subprocess.run(["umount", "--lazy", str(place)], check=True, timeout=60)


def _mount(options: str, place: Path, *what: str) -> bool:
    try:
        done = subprocess.run(
            ["mount", "-o", options, *what, str(place)], check=False, capture_output=True, timeout=60
        )
    except OSError:
        return False
    return done.returncode == 0


@functools.cache
def _undisturbed() -> cb.Result:
    instance = cb.Instance([[0.3, 0.7], [0.5]])
    return cb.simulate(instance, ["kl-ucb", "ucb1"], _HORIZON, _RUNS)


@functools.cache
def _whole_study() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        assert not _ends(_run(Path(folder), Path(folder) / "out"))
        return _report(Path(folder) / "out")


@functools.cache
def _whole_paper() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        assert not _ends(_paper(Path(folder) / "out"))
        return _report(Path(folder) / "out")
