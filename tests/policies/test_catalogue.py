"""The table of policies, on the command line and in the documents, says what the classes say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import clusterbandits as cb
from clusterbandits.cli.main import run
from clusterbandits.policies.registry import catalogue

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "policies.md"


def test_the_page_has_the_table_of_the_registry(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(["policies", "--markdown"])
    table = capsys.readouterr().out
    page = PAGE.read_text(encoding="utf-8")
    assert f"\n\n{table}\n" in page, "Renew the table: clusterbandits policies --markdown"
    assert page.count("\n| `") == table.count("\n| `") + page.partition("## Settings")[2].count("\n| `")
    marks = {True: "yes", False: "no"}
    for row in catalogue():
        flags = " | ".join(marks[row[key]] for key in ("widths", "horizon", "random"))
        line = f"| `{row['policy']}` | `{row['class']}` | {flags} | {row['guarantee']} | {row['reference']} |"
        assert line in table.splitlines()


def test_the_page_explains_every_setting() -> None:
    text = PAGE.read_text(encoding="utf-8")
    settings = {name for kind in cb.POLICIES.values() for name in kind.defaults}
    assert [name for name in sorted(settings) if f"`{name}`" not in text] == []


def test_the_command_lists_all(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["policies"])
    printed = capsys.readouterr().out
    assert ended.value.code == 0
    assert [name for name in cb.POLICIES if name not in printed] == []
    assert max(map(len, printed.splitlines())) <= 80
    assert "…" not in printed


def test_the_command_speaks_json(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(["policies", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert [row["policy"] for row in rows] == list(cb.POLICIES)
    assert rows[-1]["settings"] == {"prior": None, "seed": 0, "alarm": "warn", "alarm_level": 0.05}
