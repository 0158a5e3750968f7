"""Maintenance commands: check a service, rebuild its statistics from the log, and export."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from clusterbandits.files import whole_file
from clusterbandits.service import log, snapshots
from clusterbandits.service.database import newest_version, translated
from clusterbandits.service.experiment import Experiment
from clusterbandits.service.export import Wanted, write
from clusterbandits.service.keys import list_keys
from clusterbandits.service.schema import events
from clusterbandits.validate import invalid, known_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Connection

    from clusterbandits.service.database import Database

#: The result of a check or a rebuild: messages for users, data for programs.
Found = tuple[list[str], dict[str, Any]]


def check(database: Database) -> Found:
    """Check that the database answers, is writable, and has the newest schema and a log without gaps."""
    version, newest = database.version(), newest_version()
    kind = "SQLite" if database.is_sqlite else "PostgreSQL"
    data: dict[str, Any] = {"database": kind, "version": version, "newest": newest, "ok": version == newest}
    if version != newest:
        shown = "is empty" if version is None else f"is at version {version}"
        return [f"The {kind} database {shown}; run 'clusterbandits serve upgrade'."], data
    snapshots.prove_writable(database)
    # One snapshot of the database: a running service appends events meanwhile.
    with database.reading() as connection:
        last, count = log.last_position(connection), _count(connection)
        experiments = len(log.created(connection))
        valid = sum(one.revoked_at is None for one in list_keys(connection))
    data |= {"events": count, "experiments": experiments, "keys": valid, "ok": last == count}
    sentences = [
        f"The {kind} database answers, can be written, and is at version {version}.",
        f"Experiments: {experiments}. Events: {count}. Valid keys: {valid}.",
    ]
    if last != count:
        sentences.append(f"The log has gaps: its last event is number {last}. Restore a backup.")
    return sentences, data


def _count(connection: Connection) -> int:
    return int(connection.execute(select(func.count()).select_from(events)).scalar_one())


def rebuild(database: Database, say: Callable[[str], None]) -> Found:
    """Compute all statistics from the log, compare them with the snapshots, and replace the snapshots.

    Stop the service first if its statistics may be wrong: running workers keep their state in memory.
    """
    database.check_version()
    with database.reading() as connection:
        saved, _ = snapshots.read(connection)
        until = log.last_position(connection)
        made = {}
        rows = []
        for created in log.created(connection):
            say(f"Rebuilding {created.key}.")
            rebuilt = _folded(connection, Experiment(created), until)
            derived = _folded(connection, snapshots.restore(created, saved.get(created.seq)), until)
            same = _statistics(rebuilt) == _statistics(derived)
            rows.append({"experiment": rebuilt.name, "same": same, **_counts(rebuilt)})
            made[created.seq] = rebuilt, same
    with translated(), database.connected() as connection, database.exclusive(connection):
        for number, (one, same) in made.items():
            body = snapshots.encode(one.to_dict())
            snapshots.save(connection, number, one.seq, body, later=not same)
    sentences = [
        f"{row['experiment']}: {row['decisions']} decisions, {row['pulls']} rewards, {row['open']} open; "
        + ("the same as before." if row["same"] else "DIFFERENT from before; replaced.")
        for row in rows
    ]
    ok = all(row["same"] for row in rows)
    return sentences or ["There are no experiments."], {"ok": ok, "events": until, "experiments": rows}


def _folded(connection: Connection, one: Experiment, until: int) -> Experiment:
    for event in log.read_of(connection, one.number, one.seq, until):
        one.apply(event)
    return one


def _statistics(one: Experiment) -> tuple[Any, ...]:
    """Return all statistics that are derived from the log."""
    policy = one.policy
    return (
        policy.pulls,
        policy.totals,
        policy.awaited,
        policy.retired,
        policy.rounds,
        one.decisions.tolist(),
        (one.late, one.defaulted, one.cancelled, one.state),
        one.plan,
    )


def _counts(one: Experiment) -> dict[str, Any]:
    policy = one.policy
    return {
        "decisions": int(one.decisions.sum()),
        "pulls": one.own_rewards()[0],
        "open": sum(policy.awaited.values()),
        "late": one.late,
        "defaulted": one.defaulted,
        "cancelled": one.cancelled,
        "chosen_differently_here": one.differing,
        "arms": {
            label: {"pulls": pulls, "total": total}
            for (label, pulls), total in zip(policy.pulls.items(), policy.totals.values(), strict=True)
        },
    }


def export_file(database: Database, name: str, out: Path, wanted: Wanted, listener: Any) -> str | None:
    """Write an experiment's decisions to a file atomically; return a warning or None."""
    database.check_version()
    with database.connected() as connection:
        known = {str(one.key): one for one in log.created(connection)}
        number = known[known_name("experiment", "export", name, known)].seq
    kinds = {".csv": "csv", ".parquet": "parquet"}
    if out.suffix not in kinds:
        raise invalid("out", "export", "a file name that ends in .csv or .parquet", out.name)
    wanted = replace(wanted, experiment=number, format=kinds[out.suffix])
    with whole_file(out) as path:
        return write(database, wanted, str(path), listener)
