"""The numbers of the page, in one JSON file with one line per cell that is always complete."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterbandits.errors import UnreadableFileError
from clusterbandits.files import whole_file
from league.cells import Cell, Pair, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_FORMAT = "clusterbandits league 1"


@dataclass(frozen=True)
class Results:
    """All cells, with settings and versions."""

    command: str
    settings: Settings
    versions: Mapping[str, str]
    cells: Mapping[Pair, Cell]

    def to_json(self) -> str:
        """Return the text of the file."""
        head = {
            "format": _FORMAT,
            "command": self.command,
            "settings": dataclasses.asdict(self.settings),
            "versions": dict(self.versions),
        }
        parts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
        rows = [json.dumps(dataclasses.asdict(cell), ensure_ascii=False) for cell in self.cells.values()]
        parts.append('"cells": [\n' + ",\n".join(rows) + "\n]")
        return "{\n" + ",\n".join(parts) + "\n}\n"

    @classmethod
    def from_json(cls, text: str) -> Results:
        """Return the results that ``to_json`` wrote; other texts raise ValueError, KeyError or TypeError."""
        data: dict[str, Any] = json.loads(text)
        if data["format"] != _FORMAT:
            raise ValueError(data["format"])
        cells = [Cell(**row) for row in data["cells"]]
        return cls(
            command=data["command"],
            settings=Settings(**data["settings"]),
            versions=data["versions"],
            cells={cell.pair: cell for cell in cells},
        )


def load(path: Path) -> Results | None:
    """Return the results in a file, or None if there is no file yet."""
    try:
        return Results.from_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        message = f"The file '{path}' does not contain results of the league. Delete it."
        raise UnreadableFileError(message) from None


def save(results: Results, path: Path) -> None:
    """Write results atomically."""
    with whole_file(path) as unfinished:
        unfinished.write_text(results.to_json(), encoding="utf-8")
