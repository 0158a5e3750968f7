"""Databases of both kinds, and services that run on them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from clusterbandits.service import operations
from clusterbandits.service.database import Database
from tests.service.postgres import Cluster, cluster, programs
from tests.service.running import Served, serving

REQUIRED = "CLUSTERBANDITS_POSTGRESQL_REQUIRED"
BOTH = ("sqlite", "postgresql")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Cluster]:
    if programs() is None:
        assert not os.environ.get(REQUIRED), "PostgreSQL must be installed"
        pytest.skip("PostgreSQL is not installed")
    with cluster() as running:
        yield running


@pytest.fixture(scope="session")
def new_database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], str]:
    """Return a function that returns the address of an empty database of a kind."""

    def make(kind: str) -> str:
        if kind == "sqlite":
            return f"sqlite:///{tmp_path_factory.mktemp('sqlite') / 'test.db'}"
        running: Cluster = request.getfixturevalue("postgresql")
        return running.new_database()

    return make


@pytest.fixture(params=BOTH)
def address(request: pytest.FixtureRequest, new_database: Callable[[str], str]) -> str:
    return new_database(request.param)


@pytest.fixture
def database(address: str) -> Iterator[Database]:
    made = Database(address)
    made.upgrade()
    yield made
    made.dispose()


@pytest.fixture
def fixed_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make engines of this process draw the same at every run of a test; services of their own do not."""
    monkeypatch.setattr(operations, "new_salt", lambda: "0123456789abcdef")


@pytest.fixture(scope="module", params=BOTH)
def served(
    request: pytest.FixtureRequest,
    new_database: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Served]:
    """A service with keys, one worker, on an empty database of each kind."""
    folder: Path = tmp_path_factory.mktemp("served")
    with serving("--database", new_database(request.param), folder=folder) as running:
        yield running
