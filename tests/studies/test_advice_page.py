"""The examples on the advice page run and print the shown output."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from clusterbandits.cli.main import run

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "advise.md").read_text(encoding="utf-8")


def test_python_examples_print_what_they_say() -> None:
    text = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
    example = doctest.DocTestParser().get_doctest(text, {}, "advise", "advise", 0)
    found = doctest.DocTestRunner().run(example)
    assert found.attempted >= 6
    assert found.failed == 0


def test_the_command_prints_what_it_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (table,) = re.findall(r"```csv\n(.*?)```", PAGE, flags=re.DOTALL)
    (command, output), *_ = re.findall(
        r"```console\n\$ clusterbandits (.*?)\n(.*?)```", PAGE, flags=re.DOTALL
    )
    (tmp_path / "ads.csv").write_text(table)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        run(shlex.split(command))
    assert end.value.code == 0
    assert capsys.readouterr().out == output
    assert (tmp_path / "arms.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_for_revenue_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (command,) = re.findall(r"```console\nclusterbandits (advise .*?)\n```", PAGE)
    rows = [f"{arm},{group},{10 * k % 60}" for k in range(40) for arm, group in ("ax", "bx", "cy")]
    (tmp_path / "visits.csv").write_text("\n".join(["arm,group,revenue", *rows]))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        run([*shlex.split(command), "--horizon", "500", "--worlds", "2"])
    assert end.value.code == 0
    assert "lost revenue" in capsys.readouterr().out
