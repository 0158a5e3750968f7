"""Where compiled kernels are kept, and the message when more must be compiled.

Numba notices an edit in the file of a compiled function, not in the files of the functions it
calls. The cache folder is therefore named after a hash of every kernel source and what it imports: any edit
of those starts a fresh folder. A folder that can only be read is used for what it holds.
"""

from __future__ import annotations

import atexit
import functools
import os
import re
import shutil
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import NamedTuple

import platformdirs

from clusterbandits.fingerprint import sources, versions

#: Names the folder for compiled code; without it, Numba's variable does, or else the user's cache folder.
VARIABLE = "CLUSTERBANDITS_CACHE"
#: Whether kernels check every index and count references: for tests and fuzzers, several times slower.
CHECKED = os.environ.get("CLUSTERBANDITS_CHECKED", "") not in {"", "0"}
#: Where kernels live; a module with ``@kernel`` outside these is a mistake.
KERNEL_PACKAGES = ("compiled.py", "families", "policies", "simulation")
#: The lists that number families and formulas: they decide what is compiled.
_REGISTRIES = {"families/__init__.py", "policies/__init__.py"}
#: The checks of what users give: family files import them, kernels call none.
_CHECKS = "validate.py"
_IS_KERNEL = re.compile(r"^(@\w*kernel|def \w*kernel)\b", re.MULTILINE)
_WIDTH = 80


class Cache(NamedTuple):
    """The folders with compiled kernels of this version of the package."""

    #: The folder that was chosen, by the user or by default; None for a package in a zip file.
    chosen: Path | None
    #: Where new code is written: the chosen folder, or a temporary one; None where nothing can be written.
    own: Path | None
    #: The chosen folder, if it can only be read.
    shared: Path | None

    @property
    def kept(self) -> bool:
        """Whether new code is there for the next process."""
        return self.own is not None and self.own == self.chosen

    @property
    def folders(self) -> list[Path]:
        """The folders to look for compiled code in."""
        return [folder for folder in (self.shared, self.own) if folder is not None]

    def environment(self) -> dict[str, str]:
        """Return what lets another process write its compiled code where this one looks for it."""
        return dict(os.environ) | ({} if self.own is None else {VARIABLE: str(self.own.parent)})


@functools.cache
def cache() -> Cache:
    """Return the folders for compiled kernels."""
    if not Path(__file__).is_file():
        return Cache(None, None, None)  # In a zip file: Numba keeps code only for sources that are files.
    chosen = _base() / f"kernels-{source_key()}{'-checked' if CHECKED else ''}"
    if _writable(chosen):
        return Cache(chosen, chosen, None)
    shared = chosen if os.access(chosen, os.R_OK | os.X_OK) and chosen.is_dir() else None
    try:
        # A private folder, not a shared one with a known name: a cache holds code that will be run.
        temporary = Path(tempfile.mkdtemp(prefix="clusterbandits-"))
    except OSError:
        return Cache(chosen, None, shared)
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return Cache(chosen, temporary / chosen.name, shared)


def _base() -> Path:
    given = os.environ.get(VARIABLE) or os.environ.get("NUMBA_CACHE_DIR")
    return Path(given).absolute() if given else platformdirs.user_cache_path("clusterbandits")


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(4096))
    except OSError:
        return False
    return True


def source_key() -> str:
    """Return a hash of all that decides compiled code: kernels, what they import, and who compiles them."""
    texts = sources().texts
    modules = [name for name in texts if name.partition("/")[0] in KERNEL_PACKAGES]
    kernels = [name for name in modules if name in _REGISTRIES or _IS_KERNEL.search(texts[name])]
    return sources().hash(kernels, *versions().values(), without={_CHECKS})


#: Filled once it is known that code is being compiled, or where a command says so itself.
_SILENT: list[bool] = []


def announce_nothing() -> None:
    """Say nothing, or nothing more, while code is being compiled."""
    _SILENT.append(True)


def announce(*, foreign: bool = False, background: bool = False) -> None:
    """Say on stderr, once per process, that code is being compiled.

    Parameters
    ----------
    foreign
        Whether it includes code from outside the package, which is never kept.
    background
        Whether another process compiles it, while this one continues.
    """
    if sys.stderr is None or _SILENT:
        return
    announce_nothing()
    what = "is compiling in the background" if background else "is compiling"
    sentence = f"clusterbandits {what}, which takes up to a minute, {_how_often(foreign=foreign)}"
    if background:
        sentence += " Until it has finished, decisions are slower."
    sys.stderr.write(textwrap.fill(sentence, _WIDTH, break_long_words=False, break_on_hyphens=False) + "\n")
    sys.stderr.flush()


def _how_often(*, foreign: bool) -> str:
    folders = cache()
    if foreign:
        return "in every process that uses a compiled policy from outside the package."
    if folders.kept:
        return "once on this machine; 'clusterbandits warmup' does it ahead of time."
    if folders.chosen is None:
        return "in every process, because the package is in a zip file."
    return f"in every process, because {unwritable(folders.chosen.parent)}"


def unwritable(folder: Path) -> str:
    """Return why compiled code cannot be kept, and what to do about it."""
    return f"{folder} is not writable: set {VARIABLE} to a folder that is."
