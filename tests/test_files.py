"""Files are whole or absent, whatever happens while they are written."""

from __future__ import annotations

import errno
import os
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import clusterbandits as cb
from clusterbandits.files import whole_file


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
    assert str(caught.value) == f"The file '{path}' must be writable. Got 'no space left on device' instead."
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
        assert str(caught.value) == f"The file '{path}' must be writable. Got '{reason}' instead."
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
