"""Atomic writing of files, and folders that are marked by their creator."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import secrets
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbandits.errors import UnwritableFileError
from clusterbandits.validate import invalid

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The beginning of the names of unfinished files; the id of the running system and a random number follow.
UNFINISHED = ".unfinished-"
_OURS = re.compile(r"\.unfinished-([0-9a-f]*)-[0-9a-f]{16}\.tmp")
#: Seconds after which an unfinished file of another system is removed; its locks may not be visible here.
ABANDONED = 86_400.0
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}


@contextlib.contextmanager
def whole_file(path: Path, *, replace: bool = True) -> Iterator[Path]:
    """Yield the path of a temporary file that becomes ``path`` when the block ends without an error.

    The temporary file is locked until then, so that ``sweep`` can tell that its writer is running. Errors of
    the file system are reported in one sentence.

    Parameters
    ----------
    path
        File to write.
    replace
        Whether to replace an existing file, by default true; otherwise an existing file is an error, caused
        by a ``FileExistsError``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "note.txt") as unfinished:
    ...         _ = unfinished.write_text("done")
    ...     print(*(file.name for file in Path(folder).iterdir()))
    note.txt
    """
    with contextlib.ExitStack() as after:
        try:
            unfinished = _begin(path.parent, after)
            yield unfinished
            with unfinished.open("rb+") as file:
                os.fsync(file.fileno())
            (os.replace if replace else _rename_new)(unfinished, path)
            _sync_folder(path.parent)
        except OSError as error:
            raise _unwritable("file", path, error) from error


def _begin(folder: Path, after: contextlib.ExitStack) -> Path:
    """Create and lock an unfinished file, which is removed and unlocked at the end."""
    for _ in range(10):
        unfinished = folder / f"{UNFINISHED}{_system()}-{secrets.token_hex(8)}.tmp"
        handle = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        after.callback(os.close, handle)
        after.callback(_remove, unfinished)
        # Before it was locked, another process may have removed the file as abandoned.
        if _lock(handle) is not False and os.fstat(handle).st_nlink:
            break
    return unfinished


def _rename_new(unfinished: Path, path: Path) -> None:
    """Rename a file unless the name exists, even if another process creates it at the same time."""
    try:
        os.link(unfinished, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        unfinished.replace(path)


def _sync_folder(folder: Path) -> None:
    """Write the names in a folder to disk, so that a power failure does not undo a rename."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # The folder is not readable, or the system cannot open folders.
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}:
            raise
    finally:
        os.close(handle)


def _unwritable(kind: str, path: Path, error: OSError) -> UnwritableFileError:
    reason = (error.strerror or "an error").lower()
    return UnwritableFileError(f"Cannot write the {kind} '{path}': {reason}.")


def check_new_file(path: Path, parameter: str, owner: str) -> None:
    """Refuse an existing file, or a file in a folder that does not exist."""
    check_parent(path)
    if path.exists():
        raise invalid(parameter, owner, "the name of a file that does not exist yet", str(path))


def check_parent(path: Path) -> None:
    """Refuse a file in a folder that does not exist."""
    try:
        path.exists()
        there = path.parent.is_dir()
    except OSError as error:  # A path that is too long, for example.
        raise _unwritable("file", path, error) from None
    if not there:
        raise UnwritableFileError(
            f"Cannot write the file '{path}': the folder '{path.parent}' does not exist."
        )


def made_folder(folder: Path) -> list[str]:
    """Create a folder if it does not exist; return the names in it, except for unfinished files.

    Unfinished files of terminated processes are removed. Errors of the file system are reported in one
    sentence.
    """
    made: list[Path] = []
    try:
        made += (one for one in (folder, *folder.parents) if not one.exists())
        folder.mkdir(parents=True, exist_ok=True)
        for one in made:
            _sync_folder(one.parent)
        sweep(folder)
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        _remove_folders(made)
        raise _unwritable("folder", folder, error) from None
    return [name for name in names if not name.startswith(UNFINISHED)]


def claimed_folder(folder: Path, mark: str, text: str) -> list[str]:
    """Create a folder if it does not exist, mark it with a file if it is empty; return the names found in it.

    If several processes do so at the same time, one marks the folder and the others find the mark. A folder
    that cannot be marked is removed again.

    Parameters
    ----------
    folder
        Folder.
    mark, text
        Name and content of the file.
    """
    made = [one for one in (folder, *folder.parents) if not _exists(one)]
    names = made_folder(folder)
    if names:
        return names
    try:
        with whole_file(folder / mark, replace=False) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    except BaseException as error:
        if isinstance(error.__cause__, FileExistsError):
            return made_folder(folder)
        _remove_folders(made)
        raise
    return []


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return True  # It exists but is not accessible, so it was not created here.


def _remove_folders(made: list[Path]) -> None:
    """Remove empty folders, starting with the innermost one."""
    for folder in made:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove unfinished files of terminated processes from a folder.

    A running process holds a lock on the file that it writes. Within one running system, containers included,
    locks are always visible. Locks of other machines that share the disk may not be, so their files must also
    be a day old.
    """
    for path in folder.glob(f"{UNFINISHED}*"):
        name = _OURS.fullmatch(path.name)
        if name:
            # Leave files that cannot be opened or removed to other processes.
            with contextlib.suppress(OSError):
                _remove_abandoned(path, name[1])


def _remove_abandoned(path: Path, system: str) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        lock = _lock(handle)
        old = time.time() - os.fstat(handle).st_mtime > ABANDONED
        if (lock and system and system == _system()) or (lock is not False and old):
            path.unlink()
    finally:
        os.close(handle)


def _lock(handle: int) -> bool | None:
    """Lock a file until it is closed; return False if it is already locked, None if locks are unavailable."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


@functools.cache
def _system() -> str:
    """Return the boot id of Linux, which is the same in all containers; an empty text on other systems."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").replace("-", "")[:12]
    except (OSError, ValueError):
        return ""
