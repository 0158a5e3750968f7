"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import TYPE_CHECKING

from clusterbandits.errors import UnwritableFileError
from clusterbandits.validate import invalid

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: How the names of files that are being written begin; the number of the process follows.
UNFINISHED = ".unfinished-"


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Lend the path of a temporary file that becomes ``path`` when the block ends without an error.

    What the file system refuses becomes one sentence.

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
    unfinished = path.with_name(f"{UNFINISHED}{os.getpid()}-{secrets.token_hex(8)}.tmp")
    try:
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        yield unfinished
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        reason = (error.strerror or "an error").lower()
        raise UnwritableFileError(f"The file '{path}' must be writable. Got '{reason}' instead.") from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


def check_new_file(path: Path, parameter: str, owner: str) -> None:
    """Refuse a file that exists already, or one in a folder that does not."""
    if path.exists():
        raise invalid(parameter, owner, "a file that does not exist yet", str(path))
    if not path.parent.is_dir():
        raise UnwritableFileError(f"The folder '{path.parent}' must exist. Got no such folder instead.")


def made_folder(folder: Path) -> list[str]:
    """Make a folder where there is none; return the names of what is in it but for unfinished files.

    What the file system refuses becomes one sentence.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        reason = (error.strerror or "an error").lower()
        raise UnwritableFileError(
            f"The folder '{folder}' must be writable. Got '{reason}' instead."
        ) from None
    return [name for name in names if not name.startswith(UNFINISHED)]


def sweep(folder: Path) -> None:
    """Remove what processes that are no longer there left unfinished in a folder."""
    for path in folder.glob(f"{UNFINISHED}*"):
        process = path.name.removeprefix(UNFINISHED).partition("-")[0]
        if not (process.isdecimal() and _lives(int(process))):
            with contextlib.suppress(OSError):
                path.unlink()


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
