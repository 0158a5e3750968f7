"""Fingerprints of what determines results besides the plan: sources, versions, arithmetic.

Stores, the cache of compiled kernels, Dask workers, the paper and the league compare these hashes.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.resources
import math
import re
import struct
import sys
from typing import TYPE_CHECKING

import numpy as np

from clusterbandits.validate import invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from importlib.resources.abc import Traversable

#: The module that runs simulations; this module and all modules that it imports determine results.
PLAYED_BY = "simulation/runs.py"
_PACKAGE = "clusterbandits"
#: The modules that only use or compare results.
_ONLOOKERS = {"cli", "paper", "report", "studies", "fingerprint.py"}
_TYPES_ALONE = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+.*\n|\n)+", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*from clusterbandits([\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_NAME = re.compile(r"\w+")
_DIGITS = 16


class Sources:
    """The source texts of the package's modules, read once, since later edits do not affect this process.

    Parameters
    ----------
    package
        Folder of the package, which may be inside a zip file.
    """

    def __init__(self, package: Traversable) -> None:
        #: By path inside the package, with normalised line ends.
        self.texts: Mapping[str, str] = {
            name: file.read_bytes().decode().replace("\r\n", "\n") for name, file in _modules(package, "")
        }

    def imported_by(self, roots: Iterable[str], without: Collection[str] = ()) -> set[str]:
        """Return modules and all modules they import, directly or indirectly, except for type checking."""
        found: set[str] = set()
        waiting = list(roots)
        while waiting:
            name = waiting.pop()
            if name in self.texts and name not in found and name not in without:
                found.add(name)
                waiting += self._imports(name)
        return found

    def _imports(self, name: str) -> Iterator[str]:
        """Return the modules that a module imports; a package itself only for names that are not modules."""
        for module, names in _IMPORT.findall(_TYPES_ALONE.sub("", self.texts[name])):
            path = module.replace(".", "/").lstrip("/")
            if f"{path}.py" in self.texts:
                yield f"{path}.py"
                continue
            for part in _NAME.findall(names):
                inside = f"{path}/{part}".lstrip("/")
                places = (f"{inside}.py", f"{inside}/__init__.py", f"{path}/__init__.py".lstrip("/"))
                yield next((place for place in places if place in self.texts), name)

    def hash(self, roots: Iterable[str], *others: str, without: Collection[str] = ()) -> str:
        """Return a hash of modules, of all modules they import (with exceptions), and of other texts."""
        digest = hashlib.sha256()
        for text in (
            *(part for name in sorted(self.imported_by(roots, without)) for part in self._named(name)),
            *others,
        ):
            data = text.encode()
            digest.update(struct.pack("<q", len(data)))
            digest.update(data)
        return digest.hexdigest()[:_DIGITS]

    def _named(self, name: str) -> tuple[str, str]:
        return name, self.texts[name]


@functools.cache
def sources() -> Sources:
    """Return the sources of this package."""
    return Sources(importlib.resources.files(_PACKAGE))


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that draw rewards and compile kernels.

    Examples
    --------
    >>> list(versions())
    ['python', 'numpy', 'numba', 'llvmlite']
    """
    libraries = {name: importlib.metadata.version(name) for name in ("numpy", "numba", "llvmlite")}
    return {"python": f"{sys.version_info.major}.{sys.version_info.minor}", **libraries}


def is_own(thing: object) -> bool:
    """Return whether a class or a function belongs to this package.

    Examples
    --------
    >>> is_own(is_own), is_own(math.exp)
    (True, False)
    """
    return str(getattr(thing, "__module__", "")).partition(".")[0] == _PACKAGE


@functools.cache
def fingerprint() -> Mapping[str, str]:
    """Return the versions and hashes that, with its plan, determine the exact result of a run.

    ``sources`` is a hash of the modules that simulations use. ``arithmetic`` is a hash of results of
    logarithms, exponentials, random numbers and similar functions, whose last digits depend on the processor
    and the C library.

    Examples
    --------
    >>> list(fingerprint())
    ['python', 'numpy', 'numba', 'llvmlite', 'sources', 'arithmetic']
    """
    return {**versions(), "sources": sources().hash([PLAYED_BY]), "arithmetic": _arithmetic()}


def differing(here: Mapping[str, object], there: Mapping[str, object]) -> list[str]:
    """Return the names of the parts in which two fingerprints differ.

    Examples
    --------
    >>> differing({"numpy": "2.4.6", "numba": "0.68.1"}, {"numpy": "2.4.7", "numba": "0.68.1"})
    ['numpy']
    """
    return [name for name in {**here, **there} if here.get(name) != there.get(name)]


def check_same(begun: Mapping[str, object], parameter: str, owner: str, folder: str) -> None:
    """Refuse to add runs to a folder with another fingerprint, and report the differences.

    Examples
    --------
    >>> check_same({**fingerprint(), "sources": "0123"}, "store", "simulate", "kept")
    Traceback (most recent call last):
    clusterbandits.errors.InvalidInputError: simulate: store must be a new folder, but got 'kept'. Its runs
    were started with other sources: they can be read, but no runs can be added.
    """
    names = differing(fingerprint(), begun)
    if names:
        # Folders of earlier versions have no fingerprint.
        what = ", ".join(map(_described(begun), names)) if begun else "an earlier version of clusterbandits"
        hint = f"Its runs were started with {what}: they can be read, but no runs can be added."
        raise invalid(parameter, owner, "a new folder", folder, hint)


def _described(begun: Mapping[str, object]) -> Callable[[str], str]:
    now = versions()

    def describe(name: str) -> str:
        if name not in now:
            return f"other {name[:_DIGITS]}"
        return f"{name} {str(begun.get(name, 'unknown'))[:_DIGITS]} (now {now[name]})"

    return describe


def _modules(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for part in folder.iterdir():
        name = f"{prefix}{part.name}"
        if name in _ONLOOKERS:
            continue
        if name.endswith(".py"):
            yield name, part
        elif "." not in part.name and part.joinpath("__init__.py").is_file():
            yield from _modules(part, f"{name}/")


def _arithmetic() -> str:
    points = np.ldexp(np.arange(1.0, 2.0**11), -9)
    functions = (math.exp, math.expm1, math.lgamma, math.log, math.log1p, math.sqrt)
    values = [function(point) for function in functions for point in points.tolist()]
    rng = np.random.default_rng(0)
    draws = (
        rng.standard_normal(100),
        rng.standard_gamma(2.5, 100),
        rng.beta(0.5, 2.0, 100),
        rng.binomial(1000, 0.3, 100),
        rng.poisson(30.0, 100),
    )
    arrays = [values, np.exp(points), np.log(points), *draws]
    data = b"".join(np.ascontiguousarray(one, dtype="<f8").tobytes() for one in arrays)
    return hashlib.sha256(data).hexdigest()[:_DIGITS]
