"""Every example in the documents is executed by the build or by a test, and the reference is complete."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer.main

import clusterbandits as cb
from clusterbandits.cli.main import app

ROOT = Path(__file__).parents[1]
MADE = ("docs/_build", "docs/reference/api/", "docs/reference/generated/")
PAGES = {
    name: page.read_text(encoding="utf-8")
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if not (name := page.relative_to(ROOT).as_posix()).startswith(MADE)
}
#: The test that executes the examples of a page; those in {code-cell} are executed by the build.
TESTS = {
    "README.md": "tests/test_documents.py",
    "CONTRIBUTING.md": "tests/own/test_contributing.py",
    "docs/how-to/advise.md": "tests/studies/test_advice_page.py",
    "docs/how-to/experiments.md": "tests/service/test_examples.py",
    "docs/how-to/machines.md": "tests/simulation/test_dask_workers.py",
    "docs/how-to/own-policies.md": "tests/own/test_python_policy.py",
    "docs/how-to/replay.md": "tests/test_documents.py",
    "docs/how-to/service.md": "tests/service/test_examples.py",
    "docs/how-to/tables.md": "tests/test_documents.py",
    "docs/how-to/studies.md": "tests/studies/test_study_file.py",
    "docs/reference/policies.md": "tests/test_documents.py",
}
#: Blocks that no test executes, by how they begin, and why.
NOT_EXECUTED = {
    "from dask_jobqueue": "needs a Slurm cluster",
    "class RayExecutor": "needs Ray",
}
#: Of commands that stand alone in a page, the options are looked up.
EXECUTED = {"python", "bash", "javascript", "toml"}
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def blocks(text: str) -> list[tuple[str, str]]:
    """Return the language and the text of every block, those in lists too."""
    found = re.findall(r"^( *)```(\w+)\n(.*?)^\1```", text, flags=re.MULTILINE | re.DOTALL)
    return [
        (language, re.sub(rf"^{indent}", "", code, flags=re.MULTILINE)) for indent, language, code in found
    ]


@pytest.mark.parametrize("name", sorted(PAGES))
def test_every_example_is_executed(name: str) -> None:
    for language, code in blocks(PAGES[name]):
        if language in EXECUTED and not code.startswith(tuple(NOT_EXECUTED)):
            assert name in TESTS, f"nothing executes this example of {name}:\n{code}"
            assert Path(name).name in (ROOT / TESTS[name]).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(PAGES))
def test_commands_and_their_options_exist(name: str) -> None:
    for language, code in blocks(PAGES[name]):
        if language not in {"console", "text"}:
            continue
        for line in code.replace("\\\n", " ").splitlines():
            command = re.match(r"(?:\$ )?clusterbandits ([a-z]+)(?: ([a-z]+))?(.*)", line)
            if command is None or command[1] not in COMMANDS:
                assert not re.match(r"(\$ )?clusterbandits [a-z]", line), f"{name}: {line}"
                continue
            called = COMMANDS[command[1]]
            called = getattr(called, "commands", {}).get(command[2], called)
            known = {option for one in called.params for option in (*one.opts, *one.secondary_opts)}
            options = set(re.findall(r"(?<=\s)--[a-z][a-z-]*", line.partition("#")[0])) - {"--help"}
            assert options <= known, f"{name}: {line}"


def test_the_reference_lists_every_public_name() -> None:
    listed = set(re.findall(r"^   (\w+)$", PAGES["docs/reference/api.md"], flags=re.MULTILINE))
    package: Any = cb
    assert listed == set(package.__all__)


def test_the_account_of_the_audit_has_its_numbers() -> None:
    audit, account = (
        PAGES["docs/reference/audit.md"],
        " ".join(PAGES["docs/explanation/paper-audit.md"].split()),
    )
    verdicts = re.findall(r"Verdict: \*\*(.*?)\*\*", audit)
    holds, partly, fails = (
        verdicts.count(word) for word in ("holds", "holds with a condition", "does not hold")
    )
    said = f"Of {len(verdicts)} claims, {holds} hold, {partly} hold with a condition, {fails} do not hold"
    assert said in account
    numbers = re.findall(r"\d[\d.]* ± [\d.]*\d", account)
    assert len(numbers) > 8
    assert [number for number in numbers if number not in audit] == []
