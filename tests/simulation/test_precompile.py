"""Policies compiled beside others."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, ClassVar

import pytest

import clusterbandits as cb
from clusterbandits.simulation import precompile


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


def made(*names: str) -> list[cb.Policy]:
    return [cb.policy(name, cb.Clusters([2, 1], widths=0.1)) for name in names]


@pytest.fixture(autouse=True)
def processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Process, "started", [])
    monkeypatch.setattr(Process, "ended", [])
    monkeypatch.setattr(subprocess, "Popen", Process)


def test_nothing_is_started_where_kernels_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precompile, "nothing_compiled", lambda: False)
    with precompile.precompiled(made("tlp-mean"), 10):
        assert Process.started == []


def test_the_other_processes_end_with_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precompile, "nothing_compiled", lambda: True)
    with pytest.raises(ZeroDivisionError), precompile.precompiled(made("tlp-mean", "tlp-max", "imed"), 10):
        raise ZeroDivisionError
    command = [sys.executable, "-P", "-m", "clusterbandits.simulation.precompile", "simulations"]
    assert Process.started == [[*command, "tlp-mean"], [*command, "imed"]]
    assert Process.ended == ["waited for", *["killed", "waited for"] * 2]


def test_a_machine_that_starts_no_process_goes_on_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(precompile, "nothing_compiled", lambda: True)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    done = []
    with precompile.precompiled(made("tlp-mean"), 10):
        done.append(True)
    assert done == [True]


def test_compiling_plays_every_policy() -> None:
    precompile.compile_policies(["simulations"], ["kl-ucb", "tlp-mean"])
    assert not precompile.nothing_compiled()
