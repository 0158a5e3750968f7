"""A throw-away PostgreSQL cluster, run as an ordinary user."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg


def programs() -> Path | None:
    """Return the folder with initdb and pg_ctl, None where PostgreSQL is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)
    if found:
        return found[0].parent
    known = shutil.which("initdb")
    return None if known is None else Path(known).resolve().parent


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Cluster:
    """A server with its data in a temporary folder; PostgreSQL refuses to run as root."""

    def __init__(self, folder: Path) -> None:
        bin_folder = programs()
        assert bin_folder is not None
        self._bin, self._folder, self.port, self._databases = bin_folder, folder, free_port(), 0
        self._user = pwd.getpwnam("postgres").pw_name if os.geteuid() == 0 else None
        if self._user is not None:
            shutil.chown(folder, self._user)
        self._run("initdb", "-D", str(folder / "data"), "-U", "tester", "--auth=trust", "--no-sync")
        settings = [
            f"port = {self.port}",
            f"unix_socket_directories = '{folder}'",
            "listen_addresses = '127.0.0.1'",
        ]
        with (folder / "data" / "postgresql.conf").open("a") as file:
            file.write("\n".join([*settings, "max_connections = 200", ""]))
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._bin / program), *arguments]
        if self._user is not None:
            command = ["runuser", "-u", self._user, "--", *command]
        # The server must not keep a pipe of the tests open.
        done = subprocess.run(
            command, cwd=self._folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
        )
        assert done.returncode == 0, f"{program} failed"

    def start(self) -> None:
        log = str(self._folder / "log")
        self._run("pg_ctl", "-D", str(self._folder / "data"), "-w", "-l", log, "start")

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-D", str(self._folder / "data"), "-w", "-m", mode, "stop")

    def new_database(self) -> str:
        """Create an empty database and return its address."""
        self._databases += 1
        name = f"test{self._databases}"
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self._address(name)

    def _address(self, name: str) -> str:
        return f"postgresql://tester@127.0.0.1:{self.port}/{name}"


@contextlib.contextmanager
def cluster() -> Iterator[Cluster]:
    """Yield a running cluster; nothing is left of it in the end."""
    folder = Path(tempfile.mkdtemp(prefix="clusterbandits-postgres-"))
    try:
        running = Cluster(folder)
        try:
            yield running
        finally:
            running.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
