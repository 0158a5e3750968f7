"""Compile kernels with Numba: ``@kernel`` compiles a function and keeps the machine code on disk.

Only this module and ``machine_code.py`` import Numba. ``kernel_cache.py`` says where the code is kept.
"""

from __future__ import annotations

import math
import os
import sys
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

import numba
import numba.extending
import numpy as np
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.cpython.tupleobj import namedtuple_getattr

from clusterbandits.fingerprint import is_own
from clusterbandits.kernel_cache import CHECKED
from clusterbandits.machine_code import Kernel, cache_of, entry_point

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F")

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
    return _compiled(function, kept=False, _nrt=CHECKED, inline=_INLINE)


def allocating_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that makes arrays, or calls one that does, or takes a generator from Python."""
    return _compiled(function, _nrt=True)


def loop_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop over many rounds; a call waits for machine code, because plain Python takes longer."""
    made = allocating_kernel(function)
    if isinstance(made, Kernel):
        made.waits = True
    return made


def _compiled(function: Callable[P, R], *, kept: bool = True, **options: bool | str) -> Callable[P, R]:
    if numba.config.DISABLE_JIT:
        return function
    compiled = Kernel(function, targetoptions={"nopython": True, **_OPTIONS, **options})
    if kept and is_own(function):
        compiled._cache = cache_of(function)
    return cast("Callable[P, R]", compiled)


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
    return function if numba.config.DISABLE_JIT else entry_point(function, example)


def plain(function: F) -> F:
    """Return the Python function that a kernel was compiled from, for ``specialise`` to compile in place."""
    return cast("F", getattr(function, "py_func", function))
