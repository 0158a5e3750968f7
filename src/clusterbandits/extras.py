"""Optional packages: the pip extra that installs each, and the error if one is missing."""

from __future__ import annotations

import contextlib
from importlib.util import find_spec
from typing import TYPE_CHECKING

from clusterbandits.errors import ClusterBanditsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TABLES = ("pandas", "pyarrow", "scipy")
#: The packages that each extra installs, by the names under which they are imported. Where one extra is
#: named for a package, it is the first that installs it.
EXTRAS: Mapping[str, tuple[str, ...]] = {
    "plot": ("matplotlib",),
    "tables": _TABLES,
    "excel": ("openpyxl", *_TABLES),
    "serve": (
        "alembic",
        "fastapi",
        "fastapi_offline",
        "httptools",
        "httpx",
        "orjson",
        "prometheus_client",
        "psycopg",
        "pyarrow",
        "sqlalchemy",
        "uvicorn",
    ),
    "dask": ("distributed",),
    "testing": ("hypothesis",),
}
_EXTRA_OF = {package: extra for extra in reversed(list(EXTRAS)) for package in EXTRAS[extra]}


class MissingExtraError(ClusterBanditsError, ImportError):
    """An optional package is not installed; the message says how to install it."""


def missing_extra(error: ImportError, extra: str | None = None) -> MissingExtraError | None:
    """Return the error for a failed import, or None if no extra would help.

    Parameters
    ----------
    error
        What the import raised.
    extra
        The extra to name; by default the first that installs the package.

    Examples
    --------
    >>> print(missing_extra(ModuleNotFoundError(name="matplotlib.figure")))
    The package 'matplotlib' is not installed. Install it with: pip install 'clusterbandits[plot]'
    >>> missing_extra(ModuleNotFoundError(name="matplotlit"))
    """
    package = (error.name or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or package not in _EXTRA_OF:
        return None
    command = f"pip install 'clusterbandits[{extra or _EXTRA_OF[package]}]'"
    return MissingExtraError(f"The package '{package}' is not installed. Install it with: {command}")


@contextlib.contextmanager
def extras_explained(extra: str | None = None) -> Iterator[None]:
    """Raise an error that names the missing extra if an import inside the block fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = missing_extra(error, extra)
        if missing is None:
            raise
        raise missing from None


def require_extra(extra: str) -> None:
    """Raise a ``MissingExtraError`` unless every package of an extra is installed."""
    for package in EXTRAS[extra]:
        with extras_explained(extra):
            if find_spec(package) is None:
                raise ModuleNotFoundError(name=package)
