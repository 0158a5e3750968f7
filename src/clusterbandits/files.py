"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbandits.errors import UnwritableFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

#: How the names of files that are being written begin and end.
UNFINISHED = (".unfinished-", ".tmp")


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Lend the path of a temporary file that becomes ``path`` when the block ends without an error.

    What the file system refuses becomes one sentence.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "note.txt") as unfinished:
    ...         _ = unfinished.write_text("done")
    ...     print(*(file.name for file in Path(folder).iterdir()))
    note.txt
    """
    unfinished = None
    try:
        start, end = UNFINISHED
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=start, suffix=end)
        os.close(handle)
        unfinished = Path(name)
        yield unfinished
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        unfinished.chmod(0o666 & ~_umask())
        unfinished.replace(path)
    except OSError as error:
        reason = (error.strerror or "an error").lower()
        raise UnwritableFileError(f"The file '{path}' must be writable. Got '{reason}' instead.") from error
    finally:
        if unfinished is not None:
            unfinished.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
