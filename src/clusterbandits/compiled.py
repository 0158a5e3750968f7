"""The one door to Numba: ``@kernel`` compiles a function and keeps the machine code on disk.

Numba notices an edit in the file of a compiled function, not in the files of the functions it
calls. The cache folder is therefore named after a hash of every kernel source and what it imports: any edit
of those starts a fresh folder. Where the user's cache folder cannot be written, a temporary one is used.
"""

from __future__ import annotations

import atexit
import functools
import math
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

import numba
import numba.core.caching
import numba.extending
import numpy as np
import platformdirs
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.cpython.tupleobj import namedtuple_getattr

from clusterbandits.fingerprint import is_own, sources, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F")

#: Where kernels live; a module with ``@kernel`` outside these is a mistake.
KERNEL_PACKAGES = ("compiled.py", "families", "policies", "simulation")
#: The lists that number families and formulas: they decide what is compiled.
_REGISTRIES = {"families/__init__.py", "policies/__init__.py"}
#: The checks of what users give: family files import them, kernels call none.
_CHECKS = "validate.py"
_IS_KERNEL = re.compile(r"^(@\w*kernel|def \w*kernel)\b", re.MULTILINE)


#: Whether kernels check every index and count references: for tests and fuzzers, several times slower.
CHECKED = os.environ.get("CLUSTERBANDITS_CHECKED", "") not in {"", "0"}
if CHECKED:
    # With all of LLVM's passes a checked kernel would take minutes to compile.
    os.environ.setdefault("NUMBA_OPT", "1")
    numba.core.config.reload_config()
_OPTIONS = {"error_model": "numpy", "nogil": True, "boundscheck": CHECKED}
_INLINE = "never" if CHECKED else "always"


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function for use by people and by other kernels.

    Division by zero gives infinity as in NumPy and the GIL is released. With ``NUMBA_DISABLE_JIT=1``
    the function stays plain Python, where a division by zero or ``log(0)`` raises: kernels guard both.
    A kernel works on the arrays it is given and makes none, so it counts no references: counting those of a
    state of a dozen arrays would take ten times as long as what a kernel does with them.
    """
    return _compiled(function, _nrt=CHECKED, forceinline=not CHECKED)


def separate_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a long function that many kernels call: called, and copied only where LLVM sees a gain."""
    return _compiled(function, _nrt=CHECKED, forceinline=False)


def inner_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a small function into every kernel that calls it: the call would cost more than its work."""
    if numba.config.DISABLE_JIT:
        return function
    return cast("Callable[P, R]", numba.njit(inline=_INLINE, **_OPTIONS, _nrt=CHECKED)(function))


def allocating_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that makes arrays, or calls one that does, or takes a generator from Python."""
    return _compiled(function, _nrt=True)


def _compiled(function: Callable[P, R], **options: bool) -> Callable[P, R]:
    if numba.config.DISABLE_JIT:
        return function
    compiled = numba.njit(**_OPTIONS, **options)(function)
    folder = cache_folder() if is_own(function) else None
    if folder is not None:
        chosen, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
        try:
            compiled._cache = _OwnCache(function)
        finally:
            numba.config.CACHE_DIR = chosen
    return cast("Callable[P, R]", compiled)


class _OwnCache(numba.core.caching.FunctionCache):  # type: ignore[misc]
    """A kernel's files on disk, without what it was compiled to for states from outside the package.

    Their sources are not in the folder's hash, and whoever reads the index later may not be able to import
    their classes.
    """

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write compiled code to disk, unless it belongs to classes from outside the package."""
        if all(map(is_own, _classes(sig if isinstance(sig, tuple) else sig.args))):
            super().save_overload(sig, data)


def _classes(types: Any) -> Iterator[type]:
    """Return the classes of named tuples among Numba types, those inside others included."""
    for one in types:
        if isinstance(one, numba.types.BaseNamedTuple):
            yield one.instance_class
        if isinstance(one, numba.types.BaseTuple):
            yield from _classes(one.types)


def records(kind: np.dtype[Any], *shape: int) -> NDArray[Any]:
    """Return zeros with named fields, which kernels read and write as ``array[place].field``."""
    made = np.zeros(shape, dtype=kind)
    # Plain Python reads fields as attributes of record arrays alone; Numba takes longer to recognise those.
    return made.view(np.recarray) if numba.config.DISABLE_JIT else made


def specialise(function: Callable[..., object]) -> Callable[[F], F]:
    """Let kernels call ``function``, whose implementation the decorated function picks by argument type.

    Unlike a function that is passed as an argument, one picked by type leaves the caller cacheable.
    """
    if numba.config.DISABLE_JIT:
        return lambda pick: pick
    options = {"_nrt": CHECKED, "forceinline": not CHECKED, "error_model": "numpy", "boundscheck": CHECKED}
    return cast("Callable[[F], F]", numba.extending.overload(function, jit_options=options, strict=False))


def chain(
    functions: Mapping[int, Callable[..., Any]],
    number: str,
    arguments: Sequence[str],
    otherwise: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """Return a function for ``specialise`` that calls the function whose key equals an expression.

    Parameters
    ----------
    functions
        Kernels by number; they receive the arguments from the first one that ``number`` begins with.
    number
        An expression in the arguments, such as ``"law.code"``.
    arguments
        The names of the arguments.
    otherwise
        The function for all other numbers; by default they give NaN.
    """
    passed = ", ".join(arguments[arguments.index(number.partition(".")[0]) :])
    scope: dict[str, Any] = {f"f{key}": function for key, function in functions.items()}
    scope |= {"__name__": __name__, "nan": math.nan, "other": otherwise}
    cases = [f"    if {number} == {key}:\n        return f{key}({passed})" for key in functions]
    rest = "nan" if otherwise is None else f"other({passed})"
    exec("\n".join([f"def chain({', '.join(arguments)}):", *cases, f"    return {rest}"]), scope)
    return cast("Callable[..., Any]", scope["chain"])


def switch(function: Callable[..., object], kinds: Sequence[type]) -> None:
    """Let kernels call ``function(name, law, …)``: the function ``name`` in the file of ``kinds[law.code]``.

    When a caller is first compiled, the list must be complete. The call becomes a chain of comparisons; it
    returns NaN for a number without such a function.
    """

    def pick(name: object, _law: object, *given: object) -> Callable[..., object] | None:
        word = getattr(name, "literal_value", None)
        if word is None:
            return None  # Numba asks again with the text itself.
        files = [sys.modules[kind.__module__] for kind in kinds]
        found = {code: getattr(file, word) for code, file in enumerate(files) if hasattr(file, word)}
        return chain(found, "law.code", ["name", "law", *(f"p{i}" for i in range(len(given)))])

    specialise(function)(pick)


def constants(named: type, names: Sequence[str], kinds: Sequence[type]) -> None:
    """Let kernels read attributes of a NamedTuple that are those of ``kinds[code]``, for its first field.

    They are compiled in as constants. When a caller is first compiled, the list must be complete.
    """
    _CONSTANTS[named] = (names, kinds)


_CONSTANTS: dict[type, tuple[Sequence[str], Sequence[type]]] = {}


def _values(of: Any, name: str) -> list[bool | float]:
    names, kinds = _CONSTANTS.get(of.instance_class, ((), ()))
    return [getattr(kind, name) for kind in kinds] if name in names else []


@infer_getattr
class _ConstantType(AttributeTemplate):  # type: ignore[misc]
    key = numba.types.NamedTuple

    def generic_resolve(self, of: Any, name: str) -> Any:
        values = _values(of, name)
        return numba.typeof(values[0]) if values else None


@numba.extending.lower_getattr_generic(numba.types.NamedTuple)  # type: ignore[untyped-decorator]
def _constant(context: Any, builder: Any, of: Any, value: Any, name: str) -> Any:
    values = _values(of, name)
    if not values:
        return namedtuple_getattr(context, builder, of, value, name)
    code, kind = builder.extract_value(value, 0), numba.typeof(values[0])
    found = context.get_constant(kind, values[0])
    for number, one in enumerate(values):
        if one != values[0]:
            same = builder.icmp_signed("==", code, code.type(number))
            found = builder.select(same, context.get_constant(kind, one), found)
    return found


def entry(function: Callable[P, R], *example: Any) -> Callable[P, R]:
    """Return the machine code of a kernel for arguments like these, to be called with such alone.

    A kernel looks at the types of its arguments in every call, which takes half of the time of a small one.
    """
    if numba.config.DISABLE_JIT:
        return function
    kernel: Any = function
    types = tuple(map(numba.typeof, example))
    kernel.compile(types)
    return cast("Callable[P, R]", kernel.overloads[types].entry_point)


def plain(function: F) -> F:
    """Return the Python function that a kernel was compiled from, for ``specialise`` to compile in place."""
    return cast("F", getattr(function, "py_func", function))


@functools.cache
def cache_folder() -> Path | None:
    """Return a folder for compiled kernels that can be written, or None where there is none."""
    if not Path(__file__).is_file():
        return None  # In a zip file: Numba keeps code only for sources that are files.
    base = os.environ.get("NUMBA_CACHE_DIR") or platformdirs.user_cache_path("clusterbandits")
    folder = Path(base) / f"kernels-{source_key()}{'-checked' if CHECKED else ''}"
    if _writable(folder):
        return folder
    try:
        # A private folder, not a shared one with a known name: a cache holds code that will be run.
        temporary = Path(tempfile.mkdtemp(prefix="clusterbandits-"))
    except OSError:
        return None
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return temporary


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
