"""How errors about a table say what to give: in Python, on the command line, or in a study."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Protocol


class Wording(Protocol):
    """The words for settings of a table."""

    def setting(self, name: str, value: str) -> str:
        """Return how to give a setting, such as the thousands separator."""

    def column(self, role: str, title: str) -> str:
        """Return how to name a column."""

    def parameter(self, name: str) -> str:
        """Return the name of a parameter that is not about reading the table."""

    def bounds(self) -> str:
        """Return how to give the bounds of rewards."""


@dataclass(frozen=True)
class PythonWording:
    """Arguments of functions.

    Examples
    --------
    >>> PythonWording().setting("thousands", "."), PythonWording().column("arm", "ad_id")
    ("cb.TableFile(…, thousands='.')", "columns={'arm': 'ad_id'}")
    """

    def setting(self, name: str, value: str) -> str:
        """Return an argument of ``cb.TableFile``."""
        return f"cb.TableFile(…, {name}={value!r})"

    def column(self, role: str, title: str) -> str:
        """Return the argument ``columns``."""
        return f"columns={{{role!r}: {title!r}}}"

    def parameter(self, name: str) -> str:
        """Return the name of an argument."""
        return f"{name}="

    def bounds(self) -> str:
        """Return the argument ``family``."""
        return "family='bounded:low=0,high=50'"


@dataclass(frozen=True)
class CommandWording:
    """Options of a command.

    Examples
    --------
    >>> CommandWording().setting("thousands", "."), CommandWording().column("arm", "the ad")
    ('--thousands .', "--arm 'the ad'")
    """

    def setting(self, name: str, value: str) -> str:
        """Return an option."""
        return f"--{name} {shlex.quote(value)}"

    def column(self, role: str, title: str) -> str:
        """Return the option of a column."""
        return self.setting(role, title)

    def parameter(self, name: str) -> str:
        """Return the name of an option."""
        return f"--{name}"

    def bounds(self) -> str:
        """Return the options --low and --high."""
        return "--low 0 --high 50"


@dataclass(frozen=True)
class StudyWording:
    """Keys of a study; ``key`` is the key that names the table.

    Examples
    --------
    >>> print(StudyWording("table").setting("thousands", "."))
    table = { file = "…", thousands = "." }
    >>> print(StudyWording("start").column("arm", "ad_id"))
    start = { file = "…", columns = { arm = "ad_id" } }
    """

    key: str

    def setting(self, name: str, value: str) -> str:
        """Return the key of the table with this setting."""
        return self._written(name, _quoted(value))

    def column(self, role: str, title: str) -> str:
        """Return the key of the table with this column."""
        return self._written("columns", f"{{ {role} = {_quoted(title)} }}")

    def parameter(self, name: str) -> str:
        """Return a key."""
        return f"the key {name}"

    def bounds(self) -> str:
        """Return the key ``family``."""
        return 'family = "bounded:low=0,high=50"'

    def _written(self, name: str, value: str) -> str:
        return f'{self.key} = {{ file = "…", {name} = {value} }}'


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
