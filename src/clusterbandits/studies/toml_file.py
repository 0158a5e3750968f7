"""TOML files of users; errors name the line and the key."""

from __future__ import annotations

import contextlib
import tomllib
from typing import TYPE_CHECKING, Any, NamedTuple

import tomlkit
from tomlkit.container import OutOfOrderTableProxy
from tomlkit.items import AoT, Table

from clusterbandits.errors import InvalidInputError, UnreadableFileError
from clusterbandits.limits import MOST_BYTES
from clusterbandits.validate import Described, invalid, unknown
from clusterbandits.wording import listed, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    #: Keys of tables and positions in lists, from the outside in.
    Keys = tuple[str | int, ...]

OWNER = "study"
_LONGEST_KEY = 60
#: A text that no file contains.
_MARK = "\ue000clusterbandits\ue000"


def read_text(path: Path, what: str) -> str:
    """Return the text of a file; every error is one sentence that names ``what`` and the path."""
    name = f"{what} '{path}'"
    try:
        with path.open("rb") as file:
            start = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "no such path").lower()
        raise UnreadableFileError(f"{name} cannot be read: {reason}.") from None
    if len(start) > MOST_BYTES:
        raise UnreadableFileError(f"{name} is too large: more than {MOST_BYTES:,} bytes.")
    try:
        return start.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise UnreadableFileError(f"{name} is not text in UTF-8. Save it in this encoding.") from None


def parse_toml(text: str, name: str) -> dict[str, Any]:
    """Return the data of a TOML text; ``name`` is used in errors."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableFileError(f"{name} is not valid TOML: {error}.") from None


class Key(NamedTuple):
    """A key that a table may have, with its description."""

    name: str
    allowed: str
    meaning: str
    default: str = "required"


def line_of(text: str, keys: Keys) -> int:
    r"""Return the line, counted from 1, of a key or a list element, or of the nearest table around it.

    A mark is inserted into the parsed text, which TOML Kit otherwise writes unchanged.

    Examples
    --------
    >>> text = "runs = 3\n[[policies]]\npolicy = 'kl-ucb'\n"
    >>> line_of(text, ("policies", 0, "policy")), line_of(text, ("policies", 0, "label"))
    (3, 2)
    """
    # A failure of TOML Kit must not hide the error whose line is wanted.
    with contextlib.suppress(Exception):
        document = tomlkit.parse(text)
        for length in range(len(keys), 0, -1):
            with contextlib.suppress(LookupError, TypeError):
                _mark(document, keys[:length])
                return document.as_string().partition(_MARK)[0].count("\n") + 1
    return 1


def _mark(document: Any, keys: Keys) -> None:
    around: Any = None
    item: Any = document
    key: Any = None
    for key in keys:
        around, item = item, item[key]
    # Lists of tables, dotted keys and tables without a header begin with the first thing in them.
    while isinstance(item, AoT | OutOfOrderTableProxy) or (isinstance(item, Table) and item.is_super_table()):
        key = 0 if isinstance(item, AoT) else next(iter(item))
        around, item = item, item[key]
    if isinstance(item, Table):
        item.comment(_MARK)
    else:
        around[key] = _MARK


class Document:
    """The text of a TOML file and its data; ``at`` adds the line to errors."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
        #: The error that already has its line.
        self._placed: Exception | None = None
        self.data = parse_toml(text, f"The study '{name}'")

    @contextlib.contextmanager
    def at(self, *keys: str | int) -> Iterator[None]:
        """Add the line and the key to an error of the block."""
        try:
            yield
        except (InvalidInputError, UnreadableFileError) as error:
            if error is self._placed:
                raise
            parameter = error.parameter if isinstance(error, InvalidInputError) else ""
            exact = self._exact(keys, parameter)
            said = error.naming(parameter) if isinstance(error, InvalidInputError) else error
            name = shortened(self.name, _LONGEST_KEY)
            place = f"Line {line_of(self.text, exact)} of '{name}', {_key_text(exact)}"
            self._placed = type(error)(f"{place}: {said}")
            raise self._placed from None

    def _exact(self, keys: Keys, parameter: str) -> Keys:
        """Return the key an error is about: the parameter it names, if that is a key in or beside these."""
        beside = ((*keys, parameter), (*keys[:-1], parameter))
        return next((found for found in beside if self._has(found)), keys)

    def _has(self, keys: Keys) -> bool:
        inside: Any = self.data
        try:
            for key in keys:
                inside = inside[key]
        except (LookupError, TypeError):
            return False
        return True

    def table(
        self, value: object, where: Keys, keys: Sequence[Key], *, open_ended: bool = False
    ) -> dict[str, Any]:
        """Return a table that has only these keys; with ``open_ended``, any others too."""
        known = [key.name for key in keys if key.name != "…"]
        if not isinstance(value, dict):
            with self.at(*where):
                raise invalid(_last(where), OWNER, f"a table with the keys {listed(known)}", value)
        for key in value:
            if key not in known and not open_ended:
                with self.at(*where, key):
                    raise unknown("key", key, known, parameter=key, owner=OWNER)
        return value

    def tables(self, value: object, where: Keys, keys: Sequence[Key], example: str) -> list[dict[str, Any]]:
        """Return a list of at least one table."""
        if not isinstance(value, list) or not value:
            with self.at(*where):
                allowed = f"a list of at least one table, as in {example}"
                raise invalid(_last(where), OWNER, allowed, given(value))
        return [self.table(one, (*where, place), keys) for place, one in enumerate(value)]

    def one_of(self, table: dict[str, Any], where: Keys, names: Sequence[str]) -> str:
        """Return which one of some keys a table has."""
        found = [name for name in names if name in table]
        if len(found) != 1:
            with self.at(*where, *found[1:2]):
                allowed = f"a table with exactly one of the keys {listed(names)}"
                raise invalid(_last(where), OWNER, allowed, Described(" and ".join(found) or "none"))
        return found[0]

    def text_of(self, table: dict[str, Any], where: Keys, key: str, default: str) -> str:
        """Return text on one line that is not blank."""
        value = table.get(key, default)
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            with self.at(*where, key):
                raise invalid(key, OWNER, "text on one line that is not blank", value)
        return value.strip()


def given(value: object) -> object:
    """Return a value for an error; TOML has no None, which stands for a missing key."""
    return Described("nothing") if value is None else value


def _last(where: Keys) -> str:
    return next((str(key) for key in reversed(where) if isinstance(key, str)), OWNER)


def _key_text(keys: Keys) -> str:
    """Return keys in dotted notation.

    Examples
    --------
    >>> _key_text(("policies", 0, "a"))
    "key 'policies[0].a'"
    """
    parts = [f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys]
    return f"key '{shortened(''.join(parts).lstrip('.'), _LONGEST_KEY)}'"
