"""A full disk and a read-only database: 503 with a clear sentence, and decisions resume when it is mended."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest

from tests.service.postgres import Cluster, cluster, free_port
from tests.service.running import Served, eventually, serving

GROUPS = {"red": ["a", "b", "c"], "blue": ["d", "e", "f"]}


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Yield a folder on a file system of its own with 8 MB."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def pair(served: Served) -> tuple[int, str]:
    """Make decisions and reward them; return the status and the sentence of what failed, or 200."""
    answer = served.client.post(
        "/v1/experiments/load/decisions", json={"count": 200, "note": {"text": "x" * 900}}
    )
    if answer.status_code != 200:
        return answer.status_code, answer.json()["detail"]
    rewards = [{"id": one["id"], "value": 1} for one in answer.json()["decisions"]]
    answer = served.client.post("/v1/rewards", json={"rewards": rewards})
    return answer.status_code, answer.json().get("detail", "")


def create(served: Served) -> None:
    served.post("/v1/experiments", {"name": "load", "groups": GROUPS}, 201)


def acknowledged(served: Served) -> dict[str, Any]:
    state = served.get("/v1/experiments/load")
    assert state["decisions"] == state["pulls"] + state["open"]
    return dict(state)


def wait_until_ready(served: Served) -> None:
    """Wait for a service that nobody uses: it must notice by itself that the database is mended."""
    eventually(lambda: served.client.get("/ready").status_code == 200)


def fails_until_mended(served: Served, mend: Callable[[], object], word: str) -> None:
    """Check that requests are refused with a sentence, change nothing, and succeed once it is mended."""
    for _ in range(3):
        status, sentence = pair(served)
        assert status == 503, sentence
        assert word in sentence
    assert served.client.get("/health").status_code == 200
    ready = served.client.get("/ready")
    assert (ready.status_code, word in ready.json()["detail"]) == (503, True)
    mend()
    wait_until_ready(served)
    for _ in range(50):
        if pair(served)[0] == 200:
            break
    before = acknowledged(served)
    assert pair(served)[0] == 200
    assert acknowledged(served)["decisions"] == before["decisions"] + 200


def test_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(b"x" * 3_000_000)
        with serving("--data", str(disk), "--insecure", folder=tmp_path) as served:
            create(served)
            done = 0
            while pair(served)[0] == 200:
                done += 1
                assert done < 1000
            assert done > 0
            fails_until_mended(served, ballast.unlink, "full")
            state = acknowledged(served)
            served.stop()
        with serving("--data", str(disk), "--insecure", folder=tmp_path) as served:
            assert acknowledged(served) == state


def fill(file: Path) -> None:
    """Write a file until the disk is full."""
    with contextlib.suppress(OSError), file.open("wb", buffering=0) as opened:
        while True:
            opened.write(b"x" * 4096)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_of_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    """Exports are refused; all else goes on, also with the shared metrics of several workers."""
    with small_disk(tmp_path / "disk") as disk:
        monkeypatch.setenv("TMPDIR", str(disk))
        options = ("--data", str(tmp_path / "data"), "--insecure", "--workers", str(workers))
        with serving(*options, folder=tmp_path) as served:
            create(served)
            export, processes = "/v1/experiments/load/export", {one.pid for one in served.workers()}
            assert served.client.get(export).status_code == 200
            fill(disk / "ballast")
            for path in ("nowhere", "load/nowhere", "load/changes", "load/explain", "load/history"):
                assert served.client.get(f"/v1/experiments/{path}").status_code in {200, 404}
            for _ in range(10):
                with httpx.Client(base_url=served.url) as client:
                    assert client.get("/metrics").status_code == 200
                assert pair(served)[0] == 200
            assert {one.pid for one in served.workers()} == processes
            refused = served.client.get(export)
            assert (refused.status_code, "No space left" in refused.text) == (503, True)
            (disk / "ballast").unlink()
            assert served.client.get(export).status_code == 200
            served.stop()
        assert not list(disk.glob("clusterbandits-exports-*"))


def test_a_database_file_that_becomes_read_only(tmp_path: Path) -> None:
    data = tmp_path / "data"

    def protect(sign: str) -> bool:
        files = [str(file) for file in data.glob("*.db*") if not file.name.endswith("-shm")]
        return not subprocess.run(["chattr", f"{sign}i", *files], capture_output=True, check=False).returncode

    with serving("--data", str(data), "--insecure", folder=tmp_path) as served:
        create(served)
        assert pair(served)[0] == 200
        if not protect("+"):
            pytest.skip("files cannot be made immutable here")
        try:
            command = [sys.executable, "-m", "clusterbandits", "serve", "--data", str(data), "--port"]
            second = subprocess.run(
                [*command, str(free_port())], capture_output=True, text=True, timeout=120, check=False
            )
            assert (second.returncode, "database" in second.stderr) == (2, True)
            fails_until_mended(served, lambda: protect("-"), "database")
        finally:
            protect("-")


def test_a_postgresql_that_becomes_read_only_or_goes_away(postgresql: Cluster, tmp_path: Path) -> None:
    address = postgresql.new_database()

    def execute(setting: str) -> None:
        with psycopg.connect(address, autocommit=True) as connection:
            name = address.rsplit("/", 1)[1]
            connection.execute(
                f"ALTER DATABASE {name} SET default_transaction_read_only = {setting}".encode()
            )
            connection.execute(
                b"SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                b" WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    with serving("--database", address, "--insecure", folder=tmp_path) as served:
        create(served)
        assert pair(served)[0] == 200
        execute("on")
        pair(served)
        fails_until_mended(served, lambda: mend(address), "read-only")


def mend(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        name = address.rsplit("/", 1)[1]
        connection.execute(b"SET default_transaction_read_only = off")
        connection.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only".encode())
        connection.execute(
            b"SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            b" WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_a_postgresql_that_is_away(tmp_path: Path) -> None:
    with cluster() as running:
        address = running.new_database()
        with serving("--database", address, "--insecure", folder=tmp_path) as served:
            create(served)
            assert pair(served)[0] == 200
            running.stop()
            assert served.client.get("/ready").status_code == 503
            fails_until_mended(served, running.start, "database")
            assert served.client.get("/ready").status_code == 200


def test_a_database_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    nowhere = "postgresql://nobody@127.0.0.1:1/nothing"
    for options in (["serve", "--database", nowhere], ["serve", "--database", "mysql://x/y"]):
        done = subprocess.run(
            [sys.executable, "-m", "clusterbandits", *options],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        assert done.returncode == 2
        assert done.stderr.startswith("Error: ")
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("workers", ["1", "2"])
def test_two_services_cannot_have_one_address(tmp_path: Path, workers: str) -> None:
    options = ["--workers", workers, "--insecure"]
    with serving("--data", str(tmp_path / "first"), *options, folder=tmp_path) as first:
        command = [sys.executable, "-m", "clusterbandits", "serve", "--port", str(first.port)]
        command += ["--data", str(tmp_path / "second"), *options]
        second = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert second.returncode != 0
        assert "address already in use" in second.stderr.lower()
        assert first.client.get("/ready").status_code == 200


def test_both_workers_of_a_service_get_connections(tmp_path: Path) -> None:
    options = ("--data", str(tmp_path), "--workers", "2", "--insecure")
    with serving(*options, folder=tmp_path) as served, contextlib.ExitStack() as stack:
        # Every client has a connection of its own, which the kernel gives to one of the workers.
        for _ in range(40):
            client = stack.enter_context(httpx.Client(base_url=served.url))
            assert client.get("/health").status_code == 200
        assert len(served.busy_workers()) == 2


def test_workers_end_with_the_process_that_supervises_them(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "data"), "--workers", "2", "--insecure")
    with serving(*data, folder=tmp_path) as served:
        workers = served.workers()
        assert len(workers) == 2
        served.process.kill()
        _, alive = psutil.wait_procs(workers, timeout=30)
        assert not alive
        again = Served(*data, folder=tmp_path, port=served.port)
        try:
            again.wait()
        finally:
            again.kill()


def test_an_export_is_asked_for_again_when_the_service_stops(tmp_path: Path) -> None:
    with serving("--data", str(tmp_path / "data"), "--insecure", folder=tmp_path) as served:
        create(served)
        for _ in range(20):
            served.post("/v1/experiments/load/decisions", {"count": 1000})
        answers: list[httpx.Response] = []

        def export() -> None:
            path = "/v1/experiments/load/export?propensities=computed&unrewarded=true"
            answers.append(httpx.get(served.url + path, timeout=60))

        thread = threading.Thread(target=export)
        thread.start()
        time.sleep(1)
        served.stop()
        thread.join(30)
        assert [answer.status_code for answer in answers] == [503]
        assert "stopping" in answers[0].json()["detail"]
        assert "exception" not in served.log.read_text()
