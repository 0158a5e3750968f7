"""The database: SQLite or PostgreSQL, with one writer at a time, and the versions of its schema."""

from __future__ import annotations

import contextlib
import time
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from psycopg import Error as DriverError
from sqlalchemy import create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from clusterbandits.service.refusals import UnavailableError
from clusterbandits.validate import Described, invalid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Engine

#: With PostgreSQL, all writers take a lock; statements after it see everything committed before.
BEGIN_TURN = "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(7310001)"
_BUSY_SECONDS = 30
_BUSY_TIMEOUT = f"PRAGMA busy_timeout={_BUSY_SECONDS * 1000}"
#: Seconds between two attempts to begin a transaction in SQLite; a transaction takes a few milliseconds.
_ATTEMPT_SECONDS = 0.0005
_CONNECT_SECONDS = 5
_LOCK_SECONDS = 20
#: Seconds after which PostgreSQL ends the turn of a writer that is silent, such as a frozen machine.
_SILENT_SECONDS = 60


class Database:
    """Connections to one database.

    Parameters
    ----------
    url
        Address: ``sqlite:///path`` or ``postgresql://user@host/name``.

    Threads may share it, since each call uses its own connection.
    """

    def __init__(self, url: str) -> None:
        self.url = _driver_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        #: Transactions are begun explicitly, since the two databases separate writers differently.
        self.engine: Engine = create_engine(
            self.url, isolation_level="AUTOCOMMIT", **({} if self.is_sqlite else _POSTGRESQL)
        )
        #: For the writing thread, which keeps one connection that readers cannot take.
        self.writer: Engine = create_engine(
            self.url,
            isolation_level="AUTOCOMMIT",
            poolclass=NullPool,
            **({} if self.is_sqlite else {"connect_args": _POSTGRESQL_WRITER}),
        )
        if self.is_sqlite:
            event.listen(self.engine, "connect", _prepare_sqlite)
            event.listen(self.writer, "connect", _prepare_sqlite)

    @contextlib.contextmanager
    def connected(self) -> Iterator[Connection]:
        """Yield a connection in autocommit mode."""
        with translated(), self.engine.connect() as connection:
            yield connection

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection with a consistent snapshot of the database, despite concurrent writes."""
        begin = "BEGIN" if self.is_sqlite else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        with self.connected() as connection:
            connection.exec_driver_sql(begin)
            try:
                yield connection
            finally:
                _roll_back(connection)

    @contextlib.contextmanager
    def exclusive(self, connection: Connection) -> Iterator[None]:
        """Exclude all other writers; commit at the end, or roll back after an error."""
        if self.is_sqlite:
            begin_sqlite_turn(connection)
        else:
            connection.exec_driver_sql(BEGIN_TURN)
        try:
            yield
            connection.exec_driver_sql("COMMIT")
        except BaseException:
            _roll_back(connection)
            raise

    def dispose(self) -> None:
        """Close all connections that are not in use."""
        self.engine.dispose()
        self.writer.dispose()

    def version(self) -> str | None:
        """Return the version of the schema in the database, or None if there is none yet."""
        with self.connected() as connection:
            return MigrationContext.configure(connection).get_current_revision()

    def upgrade(self) -> None:
        """Upgrade the schema to the newest version, once even if several workers start together."""
        with self.connected() as connection, self.exclusive(connection), _configuration() as settings:
            settings.attributes["connection"] = connection
            try:
                command.upgrade(settings, "head")
            except CommandError:
                allowed = "of this release or an earlier one"
                raise invalid("database", "serve", allowed, Described("one of a later release")) from None

    def check_version(self) -> None:
        """Refuse a database whose schema is not the newest version."""
        found, newest = self.version(), newest_version()
        if found != newest:
            given = Described("an empty database" if found is None else f"version {found}")
            allowed = f"at version {newest}; run 'clusterbandits serve upgrade'"
            raise invalid("database", "serve", allowed, given)


def begin_sqlite_turn(connection: Connection) -> None:
    """Begin a transaction that excludes other writers.

    SQLite itself waits for up to 0.1 s between two attempts, which would delay some requests.
    """
    end = time.monotonic() + _BUSY_SECONDS
    connection.exec_driver_sql("PRAGMA busy_timeout=0")
    try:
        while True:
            try:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            except OperationalError as error:
                if not _is_busy(error) or time.monotonic() > end:
                    raise
                time.sleep(_ATTEMPT_SECONDS)
            else:
                return
    finally:
        connection.exec_driver_sql(_BUSY_TIMEOUT)


def _is_busy(error: OperationalError) -> bool:
    return getattr(error.orig, "sqlite_errorname", "").startswith("SQLITE_BUSY")


def newest_version() -> str:
    """Return the schema version of this release."""
    with _configuration() as settings:
        head = ScriptDirectory.from_config(settings).get_current_head()
    assert head is not None
    return head


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Convert database errors to errors of one sentence."""
    try:
        yield
    except (SQLAlchemyError, DriverError) as error:
        # Rows are copied to PostgreSQL by its driver, whose errors are not wrapped.
        cause = error.orig if isinstance(error, DBAPIError) else error
        # Further lines are hints and the text of the statement.
        reason = str(cause).strip().partition("\n")[0].rstrip(".: ") or type(cause).__name__
        raise UnavailableError(f"The database is not available: {reason}.") from error


@contextlib.contextmanager
def _configuration() -> Iterator[Config]:
    """Yield the Alembic configuration with the folder of migrations."""
    with as_file(files("clusterbandits.service") / "migrations") as folder:
        settings = Config()
        settings.set_main_option("script_location", str(folder).replace("%", "%%"))
        yield settings


_POSTGRESQL: dict[str, Any] = {
    "pool_pre_ping": True,
    "pool_size": 4,
    "max_overflow": 16,
    "pool_timeout": 5,
    "connect_args": {
        "connect_timeout": _CONNECT_SECONDS,
        "options": f"-c lock_timeout={_LOCK_SECONDS}s",
        "application_name": "clusterbandits",
        # A lost network is noticed within seconds instead of hours.
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 1000 * _LOCK_SECONDS,
    },
}
_OPTIONS: str = _POSTGRESQL["connect_args"]["options"]
_POSTGRESQL_WRITER = _POSTGRESQL["connect_args"] | {
    "options": f"{_OPTIONS} -c idle_in_transaction_session_timeout={_SILENT_SECONDS}s"
}


def _driver_url(url: str) -> Any:
    """Return the address with the name of the driver."""
    try:
        made = make_url(url)
        backend = made.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        backend = "unreadable"
    if backend == "sqlite" and (made.database or ":memory:") == ":memory:":
        # Every connection of the service would have a database of its own.
        raise invalid("database", "serve", "a file such as sqlite:///file.db", Described("one in memory"))
    if backend not in {"sqlite", "postgresql"}:
        allowed = "an address such as sqlite:///file.db or postgresql://user@host/name"
        raise invalid("database", "serve", allowed, Described(f"one of another kind ({backend})"))
    return made.set(drivername="postgresql+psycopg") if backend == "postgresql" else made


def _prepare_sqlite(connection: Any, _record: object) -> None:
    """Allow reads during a write, and make commits survive a power failure."""
    for setting in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", _BUSY_TIMEOUT):
        connection.execute(setting)


def _roll_back(connection: Connection) -> None:
    with contextlib.suppress(DBAPIError, DriverError):
        connection.execute(text("ROLLBACK"))
