"""Files are whole or absent, whatever happens while they are written."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import clusterbandits as cb
from clusterbandits.files import claimed_folder, sweep, whole_file
from tests.processes import ISOLATED, can_isolate, line, started


@pytest.fixture
def restored_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def quick_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def broken_disk(code: int) -> OSError:
    return OSError(code, os.strerror(code))


def test_a_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    with whole_file(path) as unfinished:
        assert unfinished.parent == tmp_path
        unfinished.write_text("done", encoding="utf-8")
        assert not path.exists()
        assert [name.startswith(".unfinished-") for name in names(tmp_path)] == [True]
    assert path.read_text(encoding="utf-8") == "done"
    assert names(tmp_path) == ["note.txt"]


def test_a_reader_sees_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_text("old", encoding="utf-8")
    with path.open(encoding="utf-8") as reader, whole_file(path) as unfinished:
        unfinished.write_text("new, and longer", encoding="utf-8")
        assert path.read_text(encoding="utf-8") == "old"
        assert reader.read() == "old"
    assert path.read_text(encoding="utf-8") == "new, and longer"
    assert names(tmp_path) == ["note.txt"]


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt(), SystemExit(3), MemoryError()])
@pytest.mark.parametrize("existing", [True, False])
def test_an_exception_leaves_everything_as_it_was(
    tmp_path: Path, error: BaseException, existing: bool
) -> None:
    path = tmp_path / "note.txt"
    if existing:
        path.write_text("old", encoding="utf-8")

    def interrupted() -> None:
        with whole_file(path) as unfinished:
            unfinished.write_text("half", encoding="utf-8")
            raise error

    with pytest.raises(type(error)) as caught:
        interrupted()
    assert caught.value is error
    assert names(tmp_path) == (["note.txt"] if existing else [])
    assert not existing or path.read_text(encoding="utf-8") == "old"


def test_what_the_disk_refuses_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"

    def refused() -> None:
        with whole_file(path) as unfinished:
            unfinished.write_text("half", encoding="utf-8")
            raise broken_disk(errno.ENOSPC)

    with pytest.raises(cb.UnwritableFileError) as caught:
        refused()
    assert str(caught.value) == f"Cannot write the file '{path}': no space left on device."
    assert names(tmp_path) == []


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_disk_that_fails_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    path = tmp_path / "note.txt"
    path.write_text("old", encoding="utf-8")

    def fail(*_: object, **__: object) -> None:
        raise broken_disk(errno.EIO)

    with monkeypatch.context() as patched:
        patched.setattr(os, step, fail)
        with (
            pytest.raises(cb.UnwritableFileError, match="input/output error"),
            whole_file(path) as unfinished,
        ):
            unfinished.write_text("new", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == ["note.txt"]


def test_contents_are_on_disk_before_the_name_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "note.txt"
    there: list[bool] = []
    sync = os.fsync

    def watched(handle: int) -> None:
        there.append(path.exists())
        sync(handle)

    monkeypatch.setattr(os, "fsync", watched)
    with whole_file(path) as unfinished:
        unfinished.write_text("done", encoding="utf-8")
    assert there[0] is False


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    for path, reason in {
        tmp_path / "missing" / "note.txt": "no such file or directory",
        tmp_path / "file" / "note.txt": "not a directory",
        tmp_path / "folder": "is a directory",
    }.items():
        with pytest.raises(cb.UnwritableFileError) as caught, whole_file(path) as unfinished:
            unfinished.write_text("done", encoding="utf-8")
        assert str(caught.value) == f"Cannot write the file '{path}': {reason}."
    assert names(tmp_path) == ["file", "folder"]
    assert names(tmp_path / "folder") == []


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002, 0o000])
@pytest.mark.usefixtures("restored_umask")
def test_permissions_follow_the_umask(tmp_path: Path, mask: int) -> None:
    os.umask(mask)
    path = tmp_path / "note.txt"
    with whole_file(path) as unfinished:
        unfinished.write_text("done", encoding="utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    assert os.umask(mask) == mask


@pytest.mark.usefixtures("restored_umask", "quick_switches")
def test_threads_that_write_at_once_leave_the_umask_alone(tmp_path: Path) -> None:
    os.umask(0o077)
    ready = threading.Barrier(8)

    def write(worker: int) -> None:
        ready.wait()
        for number in range(60):
            with whole_file(tmp_path / f"{worker}-{number}.txt") as unfinished:
                unfinished.write_text("done", encoding="utf-8")

    threads = [threading.Thread(target=write, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert os.umask(0o077) == 0o077
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    assert len(names(tmp_path)) == 8 * 60


def test_two_writers_of_one_file_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    with whole_file(path) as first, whole_file(path) as second:
        assert first != second
        first.write_text("first" * 1000, encoding="utf-8")
        second.write_text("second", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == "first" * 1000
    assert names(tmp_path) == ["note.txt"]


def test_a_rename_is_on_disk_before_it_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "note.txt"
    synced: list[tuple[bool, bool]] = []
    sync = os.fsync

    def watched(handle: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(handle).st_mode), path.exists()))
        sync(handle)

    monkeypatch.setattr(os, "fsync", watched)
    with whole_file(path) as unfinished:
        unfinished.write_text("done", encoding="utf-8")
    assert synced == [(False, False), (True, True)]


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_may_not_be_replaced(
    tmp_path: Path, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise broken_disk(errno.EPERM)

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "note.txt"
    for text in ("first", "second"):
        refused = pytest.raises(cb.UnwritableFileError, match="file exists")
        with refused if path.exists() else contextlib.nullcontext() as caught:  # noqa: SIM117
            with whole_file(path, replace=False) as unfinished:
                unfinished.write_text(text, encoding="utf-8")
        assert caught is None or isinstance(caught.value.__cause__, FileExistsError)
        assert path.read_text(encoding="utf-8") == "first"
        assert names(tmp_path) == ["note.txt"]
        assert path.stat().st_nlink == 1


#: Writes a file, says so, and waits to be ended.
WRITER = """
import sys
from pathlib import Path
from clusterbandits.files import claimed_folder, sweep, whole_file
from tests.processes import ISOLATED, can_isolate, line, started

with whole_file(Path(sys.argv[1]) / "note.txt") as unfinished:
    unfinished.write_text("half", encoding="utf-8")
    print("writing", flush=True)
    sys.stdin.readline()
"""
SWEEPER = "import sys, pathlib; from clusterbandits.files import sweep; sweep(pathlib.Path(sys.argv[1]))"


@pytest.mark.parametrize("isolated", ["nobody", "the writer", "the sweeper", "both"])
def test_what_is_being_written_is_left_alone(tmp_path: Path, isolated: str) -> None:
    """In any process, also of another container, whose process numbers mean nothing here."""
    if isolated != "nobody" and not can_isolate():
        pytest.skip("no process-number namespaces here")
    writer = ISOLATED if isolated in {"the writer", "both"} else []
    sweeper = ISOLATED if isolated in {"the sweeper", "both"} else []
    sweeping = [*sweeper, sys.executable, "-c", SWEEPER, str(tmp_path)]
    command = [*writer, sys.executable, "-c", WRITER, str(tmp_path)]
    with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert line(process) == "writing"
        subprocess.run(sweeping, check=True, timeout=60)
        assert [name.startswith(".unfinished-") for name in names(tmp_path)] == [True]
        process.communicate("\n", timeout=60)
    assert process.returncode == 0
    assert names(tmp_path) == ["note.txt"]
    with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert line(process) == "writing"
    assert len(names(tmp_path)) == 2
    subprocess.run(sweeping, check=True, timeout=60)
    assert names(tmp_path) == ["note.txt"]


@pytest.mark.parametrize("days", [0, 2])
@pytest.mark.parametrize("system", ["0123456789ab", "", "4242"])
def test_files_of_another_system_are_removed_when_they_are_old(
    tmp_path: Path, system: str, days: float
) -> None:
    """Its locks may not be seen here; earlier versions wrote a process number instead of a system."""
    left = tmp_path / f".unfinished-{system}-0123456789abcdef.tmp"
    left.touch()
    then = time.time() - 86_400 * days
    os.utime(left, (then, then))
    sweep(tmp_path)
    assert left.exists() is (days == 0)


def test_an_old_file_that_is_locked_is_left_alone(tmp_path: Path) -> None:
    with whole_file(tmp_path / "note.txt") as unfinished:
        os.utime(unfinished, (0, 0))
        sweep(tmp_path)
        assert unfinished.exists()


def test_where_there_are_no_locks_age_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise broken_disk(errno.ENOLCK)

    monkeypatch.setattr("fcntl.flock", refuse)
    with whole_file(tmp_path / "note.txt") as unfinished:
        sweep(tmp_path)
        unfinished.write_text("done", encoding="utf-8")
    assert names(tmp_path) == ["note.txt"]
    with whole_file(tmp_path / "other.txt") as unfinished:
        os.utime(unfinished, (0, 0))
        sweep(tmp_path)
        assert not unfinished.exists()
        unfinished.write_text("done", encoding="utf-8")


@pytest.mark.parametrize("name", [".unfinished-thesis.tex", ".unfinished-12-zz.tmp", ".unfinished-"])
def test_names_that_only_look_alike_are_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    os.utime(tmp_path / name, (0, 0))
    sweep(tmp_path)
    assert names(tmp_path) == [name]


def test_a_sweeper_between_creation_and_lock_costs_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock
    swept: list[str] = []

    def late(handle: int, how: int) -> None:
        if not swept:
            swept.extend(names(tmp_path))
            (tmp_path / swept[0]).unlink()
        lock(handle, how)

    monkeypatch.setattr("fcntl.flock", late)
    with whole_file(tmp_path / "note.txt") as unfinished:
        assert unfinished.name not in swept
        unfinished.write_text("done", encoding="utf-8")
    assert names(tmp_path) == ["note.txt"]


def test_a_folder_that_cannot_be_marked_is_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "deep" / "down"

    def refuse(*_: object, **__: object) -> None:
        raise broken_disk(errno.ENOSPC)

    with monkeypatch.context() as patched:
        patched.setattr(os, "link", refuse)
        with pytest.raises(cb.UnwritableFileError, match="no space left on device"):
            claimed_folder(folder, "mark", "mine")
    with pytest.raises(UnicodeEncodeError):
        claimed_folder(folder, "mark", "\ud800")
    assert names(tmp_path) == []
    assert claimed_folder(folder, "mark", "mine") == []
    assert claimed_folder(folder, "mark", "other") == ["mark"]
    assert (folder / "mark").read_text(encoding="utf-8") == "mine"


def test_of_many_that_claim_a_folder_one_marks_it(tmp_path: Path) -> None:
    for trial in range(20):
        ready = threading.Barrier(6)
        found: dict[int, list[str]] = {}

        def claim(
            number: int,
            folder: Path = tmp_path / str(trial),
            ready: threading.Barrier = ready,
            found: dict[int, list[str]] = found,
        ) -> None:
            ready.wait()
            found[number] = claimed_folder(folder, "mark", str(number))

        threads = [threading.Thread(target=claim, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        first = [number for number, had in found.items() if not had]
        assert (tmp_path / str(trial) / "mark").read_text() == str(first[0])
        assert [len(first), len(found)] == [1, 6]
