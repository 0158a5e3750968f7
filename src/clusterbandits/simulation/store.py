"""A folder that stores finished runs: a manifest that describes them, and one Parquet file per block.

Any Parquet reader can open the folder as one table; it ignores names that begin with an underscore.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clusterbandits.errors import UnreadableFileError, UnwritableFileError
from clusterbandits.files import claimed_folder, whole_file
from clusterbandits.fingerprint import check_same, differing, fingerprint
from clusterbandits.limits import MOST_RUNS
from clusterbandits.serial import to_json
from clusterbandits.simulation.plan import Block, Plan, Played
from clusterbandits.validate import Described, invalid, shown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

MANIFEST = "_manifest.json"
_FORMAT = "clusterbandits runs 3"
#: The previous format, without the hashes needed to continue a simulation; it can still be read.
_EARLIER = "clusterbandits runs 2"
_KEY = b"clusterbandits"
_NAME = re.compile(r"policy-(\d{1,9})-runs-(\d{6,9})\.parquet")
_COLUMNS = ["policy", "run", "round", "arm", "pulls"]
#: The number of attempts to write a block if another process removes the unfinished file.
_ATTEMPTS = 5


class Store:
    """The folder that stores the runs of one plan; ``begin_store`` and ``read_store`` open it."""

    def __init__(self, folder: Path, plan: Plan, manifest: Mapping[str, Any]) -> None:
        self.folder, self.plan = folder, plan
        self._begun: Mapping[str, object] = manifest["fingerprint"]
        #: The number of files per policy, fixed when the store is created, so that files do not overlap.
        self.pieces: int = manifest["pieces"]
        self._key = hashlib.sha256(to_json(json.loads(plan.to_json())).encode()).hexdigest()

    def check_fingerprint(self) -> None:
        """Refuse to continue runs of other sources, versions or machines, whose results could differ."""
        check_same(self._begun, "store", "simulate", str(self.folder))

    def load(self) -> dict[Block, Played]:
        """Return the stored blocks; refuse damaged or foreign files by name."""
        found: dict[Block, Played] = {}
        taken = np.zeros((len(self.plan.policies), self.plan.runs), dtype=np.bool_)
        for path in sorted(self.folder.glob("*.parquet")):
            block, played = self._read(path, *self._named(path))
            runs = taken[block.policy, block.first : block.first + block.runs]
            if runs.size != block.runs or (runs.any() and not _agrees(block, played, found)):
                raise self._foreign(path)
            runs[:] = True
            found[block] = played
        return found

    def _named(self, path: Path) -> tuple[int, int]:
        """Return the policy and the first run, read from a file name."""
        name = _NAME.fullmatch(path.name)
        policy, first = map(int, name.groups()) if name else (-1, -1)
        inside = 0 <= policy < len(self.plan.policies) and 0 <= first < self.plan.runs
        if not inside or path != self._path(Block(policy, first, 1)):
            raise self._foreign(path)
        return policy, first

    def _foreign(self, path: Path) -> UnreadableFileError:
        return UnreadableFileError(
            f"The folder '{self.folder}' must contain only runs of one plan, but has '{path.name}'. "
            "Delete that file, or choose another folder."
        )

    def save(self, block: Block, played: Played) -> None:
        """Write a block atomically."""
        about = self._about(block) | {"alarms": played.alarms.tolist()}
        table = self._table(block, played.pulls).replace_schema_metadata({_KEY: to_json(about).encode()})
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
        self._write(self._path(block), sink.getvalue(), _ATTEMPTS)

    def _write(self, path: Path, data: Any, attempts: int) -> None:
        try:
            with whole_file(path) as unfinished:
                unfinished.write_bytes(data)
        except UnwritableFileError as error:
            removed = isinstance(error.__cause__, FileNotFoundError) and self.folder.is_dir()
            if not removed or attempts == 1:
                raise
            self._write(path, data, attempts - 1)

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
            table = _read_table(path)
            mark = json.loads((table.schema.metadata or {}).get(_KEY, b"{}"))
            block = Block(policy, first, self._runs_of(table))
            alarms = self._alarms(mark.pop("alarms", None) if isinstance(mark, dict) else None, block)
            pulls = self._pulls(table, block)
            whole = pulls is not None and table.equals(self._table(block, pulls), check_metadata=False)
        except (OSError, ValueError, TypeError, MemoryError, RecursionError, pa.ArrowException) as error:
            raise self._bad(path, "a whole Parquet file", type(error).__name__) from None
        if mark != self._about(block):
            raise self._bad(path, "a block of this plan", "another")
        if pulls is None or alarms is None or not whole:
            raise self._bad(path, "a table of runs that add up to their rounds", "another")
        return block, Played(pulls, alarms)

    def _runs_of(self, table: Any) -> int:
        """Return the number of runs in a table, at least 1."""
        rows_a_run = len(self.plan.checkpoints) * len(self.plan.instance.arms)
        return max(1, int(table.num_rows) // rows_a_run)

    def _alarms(self, listed: object, block: Block) -> Ints | None:
        """Return the rounds of alarms, or None if they are impossible."""
        shape = (block.runs, len(self.plan.policies[block.policy].clusters.widths))
        alarms = np.array(listed if isinstance(listed, list) else [])
        if alarms.shape != shape or alarms.dtype.kind != "i":
            return None
        inside = (alarms >= 0).all() and (alarms <= self.plan.horizon).all()
        return alarms.astype(np.int64) if inside else None

    def _pulls(self, table: Any, block: Block) -> Ints | None:
        """Return the counts of a table, or None if they are impossible."""
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
            f"The file '{path}' must be {expected}, but got {given}. "
            "Delete it; its runs are then simulated again."
        )


def begin_store(folder: Path, plan: Plan, pieces: int) -> Store:
    """Return the store of a plan, creating it if necessary; refuse a folder with other content.

    A new store has ``pieces`` files per policy.
    """
    written = json.loads(plan.to_json())
    manifest = {"format": _FORMAT, "fingerprint": fingerprint(), "pieces": pieces, "plan": written}
    names = claimed_folder(folder, MANIFEST, to_json(manifest, indent=2) + "\n")
    if not names:
        return Store(folder, plan, manifest)
    if MANIFEST not in names:
        allowed = "a new or empty folder, or one with runs of the same simulation"
        hint = f"It has other files, such as {shown(names[0])}."
        raise invalid("store", "simulate", allowed, str(folder), hint)
    known = _read_manifest(folder)
    different = differing(known["plan"], written)
    if different:
        allowed = "a new or empty folder, or one with runs of the same simulation"
        hint = f"Its runs have other {', '.join(sorted(different))}."
        raise invalid("store", "simulate", allowed, str(folder), hint)
    return Store(folder, plan, known)


def read_store(folder: Path) -> Store:
    """Return the existing store in a folder, for reading."""
    manifest = _read_manifest(folder)
    try:
        plan = Plan.of_dict(manifest["plan"])
        store = Store(folder, plan, manifest)
        given = "one that was edited" if differing(json.loads(plan.to_json()), manifest["plan"]) else ""
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        given = shown(Described(error))
    if given:
        raise UnreadableFileError(
            f"The file '{folder / MANIFEST}' must contain the plan of its runs, but got {given}."
        )
    return store


def _read_table(path: Path) -> Any:
    """Return the table of a file, read in this thread.

    Other functions of pyarrow interpret names such as ``file:x`` or ``run=3``. They also read in other
    threads, which can abort a process that exits immediately.
    """
    with pa.OSFile(os.fsencode(path)) as file:
        reader = pq.ParquetFile(file, page_checksum_verification=True, pre_buffer=False)
        return reader.read(use_threads=False)


def _agrees(block: Block, played: Played, found: Mapping[Block, Played]) -> bool:
    """Return whether runs that are also in other files are identical there."""
    for other, known in found.items():
        first, end = max(block.first, other.first), min(block.first + block.runs, other.first + other.runs)
        if other.policy == block.policy and first < end:
            here, there = (slice(first - one.first, end - one.first) for one in (block, other))
            pairs = zip(played, known, strict=True)
            if not all(np.array_equal(one[here], same[there]) for one, same in pairs):
                return False
    return True


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise UnreadableFileError(f"Cannot read the file '{path}': {reason}.") from None
    except (ValueError, RecursionError):
        raise UnreadableFileError(f"The file '{path}' must be JSON, but got other text.") from None
    manifest = _as_now(manifest)
    if manifest is None:
        raise UnreadableFileError(
            f"The file '{path}' must be the manifest of a store, in format '{_FORMAT}' or '{_EARLIER}', "
            "but got other data."
        )
    return manifest


def _as_now(data: object) -> dict[str, Any] | None:
    """Return a manifest in the current format, or None if the data are not a manifest."""
    if not isinstance(data, dict):
        return None
    if data.get("format") == _EARLIER and data.keys() == {"format", "versions", "plan"}:
        data = {"format": _FORMAT, "fingerprint": {}, "pieces": 1, "plan": data["plan"]}
    known = data.get("format") == _FORMAT and data.keys() == {"format", "fingerprint", "pieces", "plan"}
    if not known or not all(isinstance(data[key], dict) for key in ("fingerprint", "plan")):
        return None
    return data if type(data["pieces"]) is int and 1 <= data["pieces"] <= MOST_RUNS else None
