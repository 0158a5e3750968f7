"""A folder that keeps finished runs: a manifest that says what they are, and a Parquet file for every block.

The folder opens as one table with any Parquet reader, which passes over names that begin with an underscore.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clusterbandits.errors import UnreadableFileError
from clusterbandits.files import made_folder, sweep, whole_file
from clusterbandits.serial import to_json
from clusterbandits.simulation.plan import Block, Plan, Played
from clusterbandits.validate import invalid

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

MANIFEST = "_manifest.json"
_FORMAT = "clusterbandits runs 2"
_KEY = b"clusterbandits"
_NAME = re.compile(r"policy-(\d+)-runs-(\d{6,})\.parquet")
_COLUMNS = ["policy", "run", "round", "arm", "pulls"]


class Store:
    """The folder of one plan; made where there is none, refused where it holds anything else."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder, self.plan = folder, plan
        written = json.loads(plan.to_json())
        self._key = hashlib.sha256(to_json(written).encode()).hexdigest()
        names = made_folder(folder)
        if MANIFEST in names:
            self._check(_read_manifest(folder)["plan"], written)
        elif names:
            allowed = f"an empty or new folder, or one of the same plan, not one with '{names[0]}' alone"
            raise invalid("store", "simulate", allowed, str(folder))
        else:
            manifest = {"format": _FORMAT, "versions": _versions(), "plan": written}
            with whole_file(folder / MANIFEST) as unfinished:
                unfinished.write_text(to_json(manifest, indent=2) + "\n", encoding="utf-8")

    def _check(self, known: dict[str, Any], written: dict[str, Any]) -> None:
        different = sorted(key for key in known.keys() | written.keys() if known.get(key) != written.get(key))
        if different:
            allowed = f"an empty or new folder, or one of runs with the same {', '.join(different)}"
            raise invalid("store", "simulate", allowed, str(self.folder))

    def sweep(self) -> None:
        """Remove what a process that died left half written."""
        sweep(self.folder)

    def check_versions(self) -> None:
        """Refuse to go on with runs that other versions began: their bits might differ."""
        begun = _read_manifest(self.folder)["versions"]
        if begun != _versions():
            allowed = f"finished with what began it, {_named(begun)}, not {_named(_versions())}"
            raise invalid("store", "simulate", allowed, str(self.folder))

    def load(self) -> dict[Block, Played]:
        """Return what is there already; anything damaged or foreign among it is named and refused."""
        found: dict[Block, Played] = {}
        taken = np.zeros((len(self.plan.policies), self.plan.runs), dtype=np.bool_)
        for path in sorted(self.folder.glob("*.parquet")):
            block, played = self._read(path, *self._named(path))
            runs = taken[block.policy, block.first : block.first + block.runs]
            if runs.any():
                raise self._foreign(path)
            runs[:] = True
            found[block] = played
        return found

    def _named(self, path: Path) -> tuple[int, int]:
        """Return the policy and the first run that a file's name tells of."""
        name = _NAME.fullmatch(path.name)
        policy, first = map(int, name.groups()) if name else (-1, -1)
        if not (0 <= policy < len(self.plan.policies) and 0 <= first < self.plan.runs):
            raise self._foreign(path)
        return policy, first

    def _foreign(self, path: Path) -> UnreadableFileError:
        return UnreadableFileError(
            f"The folder '{self.folder}' must hold runs of its plan alone. Got '{path.name}' instead."
        )

    def save(self, block: Block, played: Played) -> None:
        """Write a block, whole or not at all."""
        about = self._about(block) | {"alarms": played.alarms.tolist()}
        table = self._table(block, played.pulls).replace_schema_metadata({_KEY: to_json(about).encode()})
        with whole_file(self._path(block)) as unfinished:
            pq.write_table(table, unfinished, compression="zstd", write_page_checksum=True)

    def _about(self, block: Block) -> dict[str, Any]:
        return {"plan": self._key, "block": list(block)}

    def _table(self, block: Block, pulls: Ints) -> Any:
        plan = self.plan
        at = np.indices(pulls.shape, sparse=True)
        run, step, arm = (part.ravel() for part in np.broadcast_arrays(*at))
        names = pa.array([str(label) for label in plan.instance.arms])
        columns = [
            pa.DictionaryArray.from_arrays(np.zeros(pulls.size, np.int32), [plan.labels[block.policy]]),
            pa.array(block.first + run),
            pa.array(np.array(plan.checkpoints)[step]),
            pa.DictionaryArray.from_arrays(arm.astype(np.int32), names),
            pa.array(pulls.ravel()),
        ]
        return pa.table(dict(zip(_COLUMNS, columns, strict=True)))

    def _path(self, block: Block) -> Path:
        return self.folder / f"policy-{block.policy}-runs-{block.first:06d}.parquet"

    def _read(self, path: Path, policy: int, first: int) -> tuple[Block, Played]:
        try:
            table = pq.read_table(path, page_checksum_verification=True)
            mark = json.loads((table.schema.metadata or {}).get(_KEY, b"{}"))
            block = Block(policy, first, self._runs_of(table))
            alarms = self._alarms(mark.pop("alarms", None) if isinstance(mark, dict) else None, block)
            pulls = self._pulls(table, block)
            whole = pulls is not None and table.equals(self._table(block, pulls), check_metadata=False)
        except (OSError, ValueError, TypeError, pa.ArrowException) as error:
            raise self._bad(path, "a whole Parquet file", type(error).__name__) from None
        if mark != self._about(block):
            raise self._bad(path, "a block of this plan", "another")
        if pulls is None or alarms is None or not whole:
            raise self._bad(path, "a table of runs that add up to their rounds", "another")
        return block, Played(pulls, alarms)

    def _runs_of(self, table: Any) -> int:
        """Return how many runs a table has rows for, at least one."""
        rows_a_run = len(self.plan.checkpoints) * len(self.plan.instance.arms)
        return max(1, int(table.num_rows) // rows_a_run)

    def _alarms(self, listed: object, block: Block) -> Ints | None:
        """Return the rounds of alarms, or None where they cannot be those of runs."""
        shape = (block.runs, len(self.plan.policies[block.policy].clusters.widths))
        alarms = np.array(listed if isinstance(listed, list) else [])
        if alarms.shape != shape or alarms.dtype.kind != "i":
            return None
        inside = (alarms >= 0).all() and (alarms <= self.plan.horizon).all()
        return alarms.astype(np.int64) if inside else None

    def _pulls(self, table: Any, block: Block) -> Ints | None:
        """Return the counts of a table, or None where they cannot be those of runs."""
        shape = (block.runs, len(self.plan.checkpoints), len(self.plan.instance.arms))
        if table.column_names != _COLUMNS or table.num_rows != math.prod(shape):
            return None
        column = table.column("pulls")
        if column.type != pa.int64() or column.null_count:
            return None
        pulls: Ints = column.to_numpy().reshape(shape)
        grows = (np.diff(pulls, axis=1, prepend=0) >= 0).all()
        adds_up = (pulls.sum(axis=2) == np.array(self.plan.checkpoints)).all()
        return pulls.copy() if grows and adds_up else None

    def _bad(self, path: Path, expected: str, given: str) -> UnreadableFileError:
        return UnreadableFileError(
            f"The file '{path}' must be {expected}. Got {given} instead; "
            "delete it to have its runs played again."
        )


def read_plan(folder: Path) -> Plan:
    """Return the plan a folder holds runs of."""
    try:
        return Plan.of_dict(_read_manifest(folder)["plan"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        path = folder / MANIFEST
        raise UnreadableFileError(
            f"The file '{path}' must hold a whole plan. Got {error!r} instead."
        ) from None


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise UnreadableFileError(f"The file '{path}' must be readable. Got '{reason}' instead.") from None
    except (ValueError, RecursionError):
        raise UnreadableFileError(f"The file '{path}' must be JSON. Got other text instead.") from None
    keys = {"format", "versions", "plan"}
    if not isinstance(manifest, dict) or set(manifest) != keys or manifest["format"] != _FORMAT:
        raise UnreadableFileError(
            f"The file '{path}' must be the manifest of a store. Got other data instead."
        )
    for key in ("versions", "plan"):
        if not isinstance(manifest[key], dict):
            raise UnreadableFileError(f"The file '{path}' must name its {key}. Got other data instead.")
    return manifest


def _versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in ("clusterbandits", "numpy", "numba")}


def _named(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())
