"""A study file being read: whatever is refused is refused with its line and its key."""

from __future__ import annotations

import contextlib
import re
import tomllib
from typing import TYPE_CHECKING, Any

from clusterbandits.errors import InvalidInputError, UnreadableFileError
from clusterbandits.studies.study.lines import key_lines, line_of
from clusterbandits.validate import Described, invalid
from clusterbandits.wording import listed, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterbandits.studies.study.lines import Path as Keys
    from clusterbandits.studies.study.schema import Key

OWNER = "study"
_LONGEST_KEY = 60
#: How an error names the parameter it is about.
_PARAMETER = re.compile(r"The '(\w+)' parameter ")


def said(value: object) -> object:
    """Return a value for an error; TOML has no None, which stands for a key that is not there."""
    return Described("nothing") if value is None else value


class Document:
    """The text of a study file and what is in it."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
        #: The error that says already where it is.
        self._placed: Exception | None = None
        try:
            self.data: dict[str, Any] = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise UnreadableFileError(
                f"The study '{name}' must be TOML. Got an error instead: {error}."
            ) from None

    @contextlib.contextmanager
    def at(self, *keys: str | int) -> Iterator[None]:
        """Put the line and the key before whatever the block refuses."""
        try:
            yield
        except (InvalidInputError, UnreadableFileError) as error:
            if error is self._placed:
                raise
            lines = key_lines(self.text)
            exact = _exact(lines, keys, str(error))
            place = (
                f"Line {line_of(lines, exact)} of '{shortened(self.name, _LONGEST_KEY)}', {_key_text(exact)}"
            )
            self._placed = type(error)(f"{place}: {error}")
            raise self._placed from None

    def table(
        self, value: object, where: Keys, keys: Sequence[Key], *, open_ended: bool = False
    ) -> dict[str, Any]:
        """Return a table that has no key but these; with ``open_ended``, others are for somebody else."""
        known = [key.name for key in keys if key.name != "…"]
        if not isinstance(value, dict):
            with self.at(*where):
                raise invalid(_last(where), OWNER, f"a table with the keys {listed(known)}", value)
        for key in value:
            if key not in known and not open_ended:
                with self.at(*where, key):
                    raise invalid(key, OWNER, f"one of the keys {listed(known)}", Described(f"'{key}'"))
        return value

    def tables(self, value: object, where: Keys, keys: Sequence[Key], example: str) -> list[dict[str, Any]]:
        """Return a list of at least one table."""
        if not isinstance(value, list) or not value:
            with self.at(*where):
                raise invalid(
                    _last(where), OWNER, f"a list of at least one table, as in {example}", said(value)
                )
        return [self.table(one, (*where, place), keys) for place, one in enumerate(value)]

    def one_of(self, table: dict[str, Any], where: Keys, names: Sequence[str]) -> str:
        """Return which of some keys a table has; it must be exactly one."""
        given = [name for name in names if name in table]
        if len(given) != 1:
            with self.at(*where, *given[1:2]):
                allowed = f"a table with exactly one of the keys {listed(names)}"
                raise invalid(_last(where), OWNER, allowed, Described(" and ".join(given) or "none"))
        return given[0]

    def text_of(self, table: dict[str, Any], where: Keys, key: str, default: str) -> str:
        """Return a text of at least one letter."""
        value = table.get(key, default)
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            with self.at(*where, key):
                raise invalid(key, OWNER, "text of at least one letter, on one line", value)
        return value.strip()


def _exact(lines: dict[Keys, int], keys: Keys, sentence: str) -> Keys:
    """Return the key an error is about: the parameter it names, where that is a key in or beside these."""
    named = _PARAMETER.match(sentence)
    if named is not None:
        for found in ((*keys, named[1]), (*keys[:-1], named[1])):
            if found in lines:
                return found
    return keys


def _last(where: Keys) -> str:
    return next((str(key) for key in reversed(where) if isinstance(key, str)), "study")


def _key_text(keys: Keys) -> str:
    """Return keys as people write them.

    Examples
    --------
    >>> _key_text(("policies", 0, "a"))
    "key 'policies[0].a'"
    """
    parts = [f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys]
    return f"key '{shortened(''.join(parts).lstrip('.'), _LONGEST_KEY)}'"
