"""``clusterbandits serve`` and ``clusterbandits keys``: decisions over HTTP."""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clusterbandits.cli.common import Json, show
from clusterbandits.cli.refusals import Command, Group
from clusterbandits.extras import require_extra

if TYPE_CHECKING:
    from clusterbandits.service.database import Database

Data = Annotated[Path, typer.Option(metavar="DIR", help="Folder of the SQLite database; created if missing.")]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="Database instead of --data: postgresql://user@host/name or sqlite:///file."
    ),
]
#: For subcommands of ``serve``: --data may stand before or after the subcommand.
OwnData = Annotated[Path | None, typer.Option("--data", metavar="DIR", help="Folder of the SQLite database.")]
_FOLDER = Path("clusterbandits-data")

serve_app = typer.Typer(
    help="Serve decisions over HTTP, with a live page.",
    cls=Group,
    invoke_without_command=True,
    no_args_is_help=False,
)
keys_app = typer.Typer(help="Manage API keys of the service.", cls=Group, no_args_is_help=True)


@serve_app.callback()
def serve(
    context: typer.Context,
    data: Data = _FOLDER,
    database: DatabaseUrl = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)] = 8000,
    workers: Annotated[int, typer.Option(help="Worker processes.", min=1, max=64)] = 1,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Do not require API keys; only on a loopback address.")
    ] = False,
    rate: Annotated[
        float, typer.Option(help="Maximum requests per second, per key and worker.", min=1)
    ] = 5_000,
) -> None:
    """Serve decisions over HTTP until Ctrl-C."""
    if context.invoked_subcommand is not None:
        context.obj = (data, database)
        return
    require_extra("serve")
    from clusterbandits.service.keys import add_key, list_keys
    from clusterbandits.service.server import serve as run
    from clusterbandits.service.settings import ServiceSettings
    from clusterbandits.service.snapshots import prove_writable

    settings = ServiceSettings(_url(data, database), host, port, workers, insecure, rate)
    _check_port(host, port)
    opened = _opened(data, database)
    prove_writable(opened)
    with opened.connected() as connection:
        first = None if insecure or list_keys(connection) else add_key(connection, "first", ["admin"])
    opened.dispose()
    shown = f"[{host}]" if ":" in host else host
    show(f"Live page: http://{shown}:{port}/\nAPI description: http://{shown}:{port}/docs")
    show("Ctrl-C stops the service.")
    if first is not None:
        show(f"First key, with the role admin; it is not shown again:\n{first}")
    elif insecure:
        show("Without keys: every program on this machine can use the service.")
    else:
        show("API keys are required; 'clusterbandits keys add' creates one.")
    sys.stdout.flush()
    run(settings)


@serve_app.command(cls=Command)
def check(
    context: typer.Context, data: OwnData = None, database: DatabaseUrl = None, json: Json = False
) -> None:
    """Check the configuration, the database and its schema."""
    require_extra("serve")
    from clusterbandits.service.upkeep import check as run

    _report(run(_database(context, data, database)), as_json=json)


@serve_app.command(cls=Command)
def upgrade(context: typer.Context, data: OwnData = None, database: DatabaseUrl = None) -> None:
    """Upgrade the schema of the database to this release."""
    require_extra("serve")
    from clusterbandits.service.database import newest_version

    opened = _database(context, data, database)
    before = opened.version()
    opened.upgrade()
    show(f"The schema is at version {newest_version()} (before: {before or 'none'}).")


@serve_app.command(cls=Command)
def rebuild(
    context: typer.Context, data: OwnData = None, database: DatabaseUrl = None, json: Json = False
) -> None:
    """Recompute all statistics from the log, report differences, and save them."""
    require_extra("serve")
    from clusterbandits.service.upkeep import rebuild as run

    _report(run(_database(context, data, database), lambda sentence: show(sentence, err=True)), as_json=json)


@serve_app.command(cls=Command)
def export(
    context: typer.Context,
    experiment: Annotated[str, typer.Argument(help="Name of the experiment.")],
    out: Annotated[Path, typer.Option(help="File to write, .csv or .parquet.")],
    propensities: Annotated[
        bool, typer.Option("--propensities", help="Add the probability of each decision.")
    ] = False,
    unrewarded: Annotated[
        bool, typer.Option("--unrewarded", help="Include decisions without a reward.")
    ] = False,
    draws: Annotated[int, typer.Option(help="Random draws per probability.", min=10, max=100_000)] = 400,
    data: OwnData = None,
    database: DatabaseUrl = None,
) -> None:
    """Write decisions and rewards to a file, for replay and for other programs."""
    require_extra("serve")
    from clusterbandits.cli.progress_bar import count_bar
    from clusterbandits.service.export import Wanted
    from clusterbandits.service.upkeep import export_file

    wanted = Wanted(0, propensities=propensities, unrewarded=unrewarded, draws=draws)
    with count_bar("exporting", "events") as listener:
        sentence = export_file(_database(context, data, database), experiment, out, wanted, listener)
    show(f"Wrote {out}.")
    if sentence:
        show(sentence)


@serve_app.command(cls=Command)
def demo(
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)] = 8000,
    rate: Annotated[float, typer.Option(help="Simulated visitors per second.", min=0.1, max=1000)] = 40.0,
) -> None:
    """Serve with simulated visitors, without keys, in a temporary folder."""
    require_extra("serve")
    from clusterbandits.service.demo import demonstrate

    def say(sentence: str) -> None:
        show(sentence)
        sys.stdout.flush()

    demonstrate(port, rate, say)


@keys_app.command("add", cls=Command)
def add(
    name: Annotated[str, typer.Argument(help="Name of the key's owner.")],
    role: Annotated[list[str], typer.Option(help="decide, reward, read or admin; can be repeated.")],
    experiment: Annotated[
        list[str] | None, typer.Option(help="Only this experiment; can be repeated. Default: all.")
    ] = None,
    data: Data = _FOLDER,
    database: DatabaseUrl = None,
) -> None:
    """Create an API key and print it; it is not shown again."""
    require_extra("serve")
    from clusterbandits.service.keys import add_key

    with _opened(data, database).connected() as connection:
        show(add_key(connection, name, role, experiment))


@keys_app.command("list", cls=Command)
def list_all(data: Data = _FOLDER, database: DatabaseUrl = None, json: Json = False) -> None:
    """List keys, without their secrets."""
    require_extra("serve")
    from clusterbandits.service.keys import keys_table, list_keys

    opened = _existing(data, database)
    opened.check_version()
    with opened.connected() as connection:
        found = list_keys(connection)
    rows = [
        {
            "id": one.id,
            "name": one.name,
            "roles": one.roles,
            "experiments": one.experiments,
            "created_at": one.created_at,
            "revoked_at": one.revoked_at,
        }
        for one in found
    ]
    show(json_module.dumps(rows, indent=2) if json else keys_table(found).text())


@keys_app.command("revoke", cls=Command)
def revoke(
    identity: Annotated[str, typer.Argument(metavar="ID", help="As 'keys list' shows it.")],
    data: Data = _FOLDER,
    database: DatabaseUrl = None,
) -> None:
    """Revoke a key; running workers refuse it within two seconds."""
    require_extra("serve")
    from clusterbandits.service.keys import revoke_key

    opened = _existing(data, database)
    opened.check_version()
    with opened.connected() as connection:
        revoke_key(connection, identity)
    show(f"Key {identity} is revoked.")


def _url(data: Path, database: str | None) -> str:
    from clusterbandits.service.settings import database_in

    return database_in(data) if database is None else database


def _opened(data: Path, database: str | None) -> Database:
    """Return the database with the newest schema."""
    from clusterbandits.service.database import Database

    opened = Database(_url(data, database))
    opened.upgrade()
    return opened


def _existing(data: Path, database: str | None) -> Database:
    """Return an existing database, so that a mistyped folder does not pass for an empty one."""
    from clusterbandits.errors import ClusterBanditsError
    from clusterbandits.service.database import Database
    from clusterbandits.service.settings import database_of

    opened = Database(database_of(data) if database is None else database)
    if opened.is_sqlite and not Path(opened.url.database or "").is_file():
        where = f"at {database} (--database)" if database is not None else f"in the folder {data} (--data)"
        raise ClusterBanditsError(f"There is no database {where}. 'clusterbandits serve' creates one.")
    return opened


def _database(context: typer.Context, data: Path | None, database: str | None) -> Database:
    """Return the database that the options of the subcommand name or, without any, those of ``serve``."""
    before: tuple[Path, str | None] = context.obj
    if data is None and database is None:
        data, database = before
    return _existing(data or before[0], database)


def _check_port(host: str, port: int) -> None:
    """Refuse an address that cannot be listened on, before anything is printed."""
    import socket

    from clusterbandits.errors import ClusterBanditsError

    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
    except OSError as error:
        reason = (error.strerror or "an error").lower()
        sentence = f"Cannot listen on {host}:{port}: {reason}. Choose another --port or --host."
        raise ClusterBanditsError(sentence) from None


def _report(found: tuple[list[str], dict[str, object]], *, as_json: bool) -> None:
    """Print sentences or data; end with 1 if something is wrong."""
    sentences, data = found
    show(json_module.dumps(data, indent=2) if as_json else "\n".join(sentences))
    if not data["ok"]:
        raise typer.Exit(1)
