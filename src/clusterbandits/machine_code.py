"""Kernels as machine code, which is kept on disk; while another process compiles one, plain Python answers.

Compiling one policy takes 5 to 30 seconds; plain Python answers in milliseconds. So if a kernel is called
before it is compiled, another process is asked to compile it (``background.py``). Until it has finished, each
call runs the Python function that the kernel is made of. Both compute the same results and can take turns
on one state. Loops over many rounds are not run in this way, see ``loop_kernel``.
"""

from __future__ import annotations

import contextlib
import threading
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar, cast

import numba
import numba.core.caching
import numba.core.registry
import numpy as np

from clusterbandits.background import Order, orders
from clusterbandits.fingerprint import is_own
from clusterbandits.kernel_cache import announce, cache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

P = ParamSpec("P")
R = TypeVar("R")


class NotCompiledError(Exception):
    """There is no machine code yet; another process is compiling it."""


class Missing(Enum):
    """What a thread does about a kernel without machine code."""

    ORDER = "have another process compile it, and run plain Python until that is done"
    COMPILE = "compile it and wait"
    AVOID = "run plain Python"
    REFUSE = "raise NotCompiledError"


class _Thread(threading.local):
    missing = Missing.ORDER
    #: Whether the thread is inside a kernel that runs as plain Python.
    plain = False


_thread = _Thread()


@contextlib.contextmanager
def if_missing(act: Missing) -> Iterator[None]:
    """Let this thread act in this way about kernels without machine code."""
    before, _thread.missing = _thread.missing, act
    try:
        yield
    finally:
        _thread.missing = before


class Kernel(numba.core.registry.CPUDispatcher):  # type: ignore[misc]
    """A function with machine code for each combination of types of arguments."""

    #: Whether a call waits until there is machine code.
    waits = False

    def __call__(self, *arguments: Any) -> Any:
        """Run the machine code for these arguments or, where there is none, plain Python."""
        if _thread.plain:
            return self.py_func(*arguments)
        try:
            return super().__call__(*arguments)
        except NotCompiledError:
            pass  # An error of plain Python has nothing to do with this one.
        return run_plain(self.py_func, arguments)

    def compile(self, sig: Any) -> Any:
        """Return machine code for these types, or raise ``NotCompiledError``."""
        waits = self.waits or _thread.missing is Missing.COMPILE
        order = None if waits else self._order(sig)
        if order is not None:
            code = None if orders.waiting(order) else self._on_disk(sig)
            if code is not None:
                return code
            if _thread.missing is Missing.AVOID or orders.place(order):
                raise NotCompiledError
        with if_missing(Missing.COMPILE):
            return super().compile(sig)

    def _order(self, sig: Any) -> Order | None:
        """Return the order for another process, or None for code that no other process can keep."""
        function = self.py_func
        if not isinstance(self._cache, _OwnCache) or _is_foreign(sig):
            return None
        return function.__module__, function.__qualname__, tuple(sig)

    def _on_disk(self, sig: Any) -> Any:
        """Return machine code that was compiled before, or None."""
        with if_missing(Missing.REFUSE), contextlib.suppress(NotCompiledError):
            return super().compile(sig)


def run_plain(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Run the Python function of a kernel, with the kernels it calls, on arguments for machine code."""
    _thread.plain = True
    try:
        with np.errstate(all="ignore"):
            return _unboxed(function(*map(with_attributes, arguments)))
    finally:
        _thread.plain = False


def with_attributes(part: Any) -> Any:
    """Return the same state with records whose fields plain Python can read as attributes."""
    if isinstance(part, tuple):
        parts = map(with_attributes, part)
        return part._make(parts) if hasattr(part, "_make") else tuple(parts)
    return part.view(np.recarray) if isinstance(part, np.ndarray) and part.dtype.names else part


def _unboxed(result: Any) -> Any:
    """Return Python's numbers instead of NumPy's, as machine code does."""
    if isinstance(result, tuple):
        parts = map(_unboxed, result)
        return result._make(parts) if hasattr(result, "_make") else tuple(parts)
    return result.item() if isinstance(result, np.generic) else result


def entry_point(kernel: Callable[P, R], example: tuple[Any, ...]) -> Callable[P, R]:
    """Return the machine code of a kernel for arguments like these, to be called with such alone.

    Until there is machine code, this is a function that looks for it in every call.
    """
    types, compiled = tuple(map(numba.typeof, example)), cast("Any", kernel)
    try:
        return cast("Callable[P, R]", compiled.compile(types))
    except NotCompiledError:
        code = None

    def call(*arguments: Any) -> Any:
        nonlocal code
        if code is None:
            try:
                code = compiled.compile(types)
            except NotCompiledError:
                return run_plain(compiled.py_func, arguments)
        return code(*arguments)

    return cast("Callable[P, R]", call)


class _Locator(numba.core.caching._SourceFileBackedLocatorMixin):  # type: ignore[misc]
    """The folder of a kernel: named after its package, wherever that is installed."""

    def __init__(self, function: Callable[..., object], file: str) -> None:
        self._py_file, self._lineno = file, function.__code__.co_firstlineno
        self.package = function.__module__.rpartition(".")[0]

    def get_cache_path(self) -> str:
        return str(cache().folders[-1] / self.package)

    def ensure_cache_path(self) -> None:
        if cache().own is not None:
            Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)


class _OwnFiles(numba.core.caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class _OwnCache(numba.core.caching.FunctionCache):  # type: ignore[misc]
    """A kernel's files on disk, without what it was compiled to for states from outside the package.

    Their sources are not in the folder's hash, and whoever reads the index later may not be able to import
    their classes.
    """

    _impl_class = _OwnFiles
    #: How many kernels were found in no folder since the process started.
    missed: ClassVar[int] = 0

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        base, locator = self._impl.filename_base, self._impl.locator
        self._places = [
            numba.core.caching.IndexDataCacheFile(
                str(folder / locator.package), base, locator.get_source_stamp()
            )
            for folder in cache().folders
        ]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what is on disk; where nothing is, say that the kernel will be compiled."""
        found = super().load_overload(sig, target_context)
        if found is None:
            if _thread.missing is Missing.REFUSE:
                raise NotCompiledError
            _OwnCache.missed += 1
            announce(foreign=_is_foreign(sig))
        return found

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        key = self._index_key(sig, target_context.codegen())
        for place in self._places:
            data = _read(place, key)
            if data is not None and data is not _DAMAGED:
                return self._impl.rebuild(target_context, data)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write compiled code to disk, unless it belongs to classes from outside the package."""
        if cache().own is not None and not _is_foreign(sig):
            # A full disk must not stop a program that has its code.
            with contextlib.suppress(OSError):
                if _read(self._cache_file, None) is _DAMAGED:
                    self.flush()
                super().save_overload(sig, data)


class _NoCache(numba.core.caching.NullCache):  # type: ignore[misc]
    """No files: for a package that is in a zip file."""

    def load_overload(self, sig: Any, target_context: Any) -> None:
        """Find nothing, and say that the kernel will be compiled."""
        del target_context
        announce(foreign=_is_foreign(sig))


def cache_of(function: Callable[..., Any]) -> Any:
    """Return the files of a kernel of the package."""
    return _OwnCache(function) if cache().folders else _NoCache()


_DAMAGED = object()


def _read(place: Any, key: Any) -> Any:
    """Return the data of a kernel, None where there are none, and ``_DAMAGED`` for files that are broken."""
    try:
        return place.load(key)
    except OSError:
        return None
    except Exception:  # Damaged pickles raise anything.
        return _DAMAGED


def missed() -> int:
    """Return how many kernels were not on disk when this process needed them."""
    return _OwnCache.missed


def _is_foreign(sig: Any) -> bool:
    """Tell whether a kernel is compiled for a class from outside the package."""
    return not all(map(is_own, _classes(sig if isinstance(sig, tuple) else sig.args)))


def _classes(types: Any) -> Iterator[type]:
    """Return the classes of named tuples among Numba types, those inside others included."""
    for one in types:
        if isinstance(one, numba.types.BaseNamedTuple):
            yield one.instance_class
        if isinstance(one, numba.types.BaseTuple):
            yield from _classes(one.types)
