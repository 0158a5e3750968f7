"""``clusterbandits warmup``: compiling ahead of time."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterbandits import kernel_cache
from clusterbandits.cli.main import run


def ended(*arguments: str) -> object:
    with pytest.raises(SystemExit) as stop:
        run(list(arguments))
    return stop.value.code


def test_unknown_policies_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended("warmup", "klucb") == 2
    assert "klucb" in capsys.readouterr().err


def test_code_that_cannot_be_kept_is_not_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")
    monkeypatch.setenv("CLUSTERBANDITS_CACHE", str(occupied))
    monkeypatch.setattr(kernel_cache, "cache", kernel_cache.cache.__wrapped__)
    assert ended("warmup", "kl-ucb") == 2
    message = capsys.readouterr().err
    assert "file is not writable" in message
    assert "CLUSTERBANDITS_CACHE" in message
