"""Code from outside the package: references, imports, and hashes that detect edits."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import sys
import sysconfig
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterbandits.validate import invalid
from clusterbandits.wording import is_text, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

_DIGITS = 16
#: The largest length of an error of another module that is shown.
_LONGEST = 200
_CONSTANTS = (bool, int, float, str, tuple, list, dict)


def reference(thing: Any) -> str:
    """Return the reference with which ``load`` imports a class or a function.

    Examples
    --------
    >>> reference(Path)
    'pathlib:Path'
    """
    return f"{thing.__module__}:{thing.__qualname__}"


def load(text: str, parameter: str, owner: str) -> object:
    """Import the object of a reference such as ``my_module:Greedy``, also from the current folder.

    Examples
    --------
    >>> load("pathlib:Path", "policy", "study") is Path
    True
    """
    module, _, name = text.partition(":")
    if not is_text(text) or not all(part.isidentifier() for part in [*module.split("."), *name.split(".")]):
        raise invalid(parameter, owner, "a text such as 'my_module:Greedy'", text)
    try:
        found: object = _imported(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:
        allowed = "a module and a name in it, such as 'my_module:Greedy' for a class of my_module.py"
        hint = f"It cannot be imported: {type(error).__name__}: {shortened(str(error), _LONGEST)}."
        raise invalid(parameter, owner, allowed, text, hint) from None
    return found


def _imported(module: str) -> types.ModuleType:
    if module in sys.modules:
        return sys.modules[module]
    # Unlike ``python -m``, installed commands do not search the current folder.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
        importlib.invalidate_caches()
    return importlib.import_module(module)


def source_key(thing: Any) -> str:
    """Return a hash of the code of a class or function and of the modules it imports.

    Modules of the standard library and of installed packages are excluded, unless the code is in the same
    package. For code typed into an interactive session, the bytecode is hashed.
    """
    digest = hashlib.sha256()
    texts = dict(_module_texts(thing.__module__, thing.__module__.partition(".")[0], set()))
    for name in sorted(texts):
        digest.update(f"{name}\0{len(texts[name])}\0".encode())
        digest.update(texts[name])
    if not texts:
        for part in _compiled_parts(thing, set()):
            digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:_DIGITS]


def _module_texts(name: str, package: str, seen: set[str]) -> Iterator[tuple[str, bytes]]:
    """Return the files of a module and of the modules it imports, by name."""
    if name in seen:
        return
    seen.add(name)
    path = _file_of(name)
    if path is None or (name.partition(".")[0] != package and _is_installed(path)):
        return
    try:
        text = path.read_bytes()
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError):
        return
    yield name, text
    for imported in _imports(tree, name, path):
        yield from _module_texts(imported, package, seen)


def _imports(tree: ast.Module, name: str, path: Path) -> Iterator[str]:
    parent = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = parent.split(".")[: len(parent.split(".")) - max(node.level - 1, 0)]
            module = ".".join([*(above if node.level else []), *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _file_of(name: str) -> Path | None:
    module = sys.modules.get(name)
    try:
        spec = None if module is not None else importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return None
    place = getattr(module, "__file__", None) if module is not None else spec and spec.origin
    return Path(place) if place and place.endswith(".py") and Path(place).is_file() else None


def _is_installed(path: Path) -> bool:
    paths = sysconfig.get_paths()
    folders = [Path(paths[key]) for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    return any(path.is_relative_to(folder) for folder in (*folders, Path(__file__).parent))


def _compiled_parts(thing: object, seen: set[int]) -> Iterator[str]:
    """Return the code of functions, including those they call, without line numbers."""
    thing = getattr(thing, "py_func", thing)
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, type):
        for name, part in sorted(vars(thing).items(), key=lambda item: item[0]):
            if name not in {"__doc__", "__weakref__", "__dict__", "__signature__"}:
                yield name
                yield from _compiled_parts(getattr(part, "fget", getattr(part, "__func__", part)), seen)
    elif isinstance(thing, types.FunctionType):
        yield from _code_parts(thing.__code__)
        yield repr((thing.__defaults__, thing.__kwdefaults__))
        used = [thing.__globals__.get(name) for name in _names(thing.__code__)]
        for part in used:
            if isinstance(part, _CONSTANTS) or getattr(part, "__module__", None) == thing.__module__:
                yield from _compiled_parts(part, seen)
    elif isinstance(thing, _CONSTANTS):
        yield repr(thing)


def _code_parts(code: types.CodeType) -> Iterator[str]:
    yield repr((code.co_code, code.co_names, code.co_varnames))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code_parts(constant)
        else:
            yield repr(constant)


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)
