"""Policies compiled beside others."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, ClassVar

import pytest

from clusterbandits.simulation import warm


class Process:
    """Remembers what it was started with and how it ended."""

    started: ClassVar[list[list[str]]] = []
    ended: ClassVar[list[str]] = []

    def __init__(self, command: list[str], **_: Any) -> None:
        Process.started.append(command)

    def kill(self) -> None:
        Process.ended.append("killed")

    def wait(self) -> None:
        Process.ended.append("waited for")


@pytest.fixture(autouse=True)
def processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Process, "started", [])
    monkeypatch.setattr(Process, "ended", [])
    monkeypatch.setattr(subprocess, "Popen", Process)


def test_nothing_is_started_where_kernels_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "is_cold", lambda: False)
    with warm.compiled_aside(["tlp-mean"]):
        assert Process.started == []


def test_the_other_processes_end_with_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "is_cold", lambda: True)
    with pytest.raises(ZeroDivisionError), warm.compiled_aside(["tlp-mean", "imed"]):
        raise ZeroDivisionError
    command = [sys.executable, "-P", "-m", "clusterbandits.simulation.warm"]
    assert Process.started == [[*command, "tlp-mean"], [*command, "imed"]]
    assert Process.ended == ["waited for", *["killed", "waited for"] * 2]


def test_a_machine_that_starts_no_process_goes_on_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(warm, "is_cold", lambda: True)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    done = []
    with warm.compiled_aside(["tlp-mean"]):
        done.append(True)
    assert done == [True]


def test_compiling_plays_every_policy() -> None:
    warm.compile_policies(["kl-ucb", "tlp-mean"])
    assert not warm.is_cold()
