"""Every example in the documents is executed by the build or by a test, and the reference is complete."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import clusterbandits as cb
from tests.page_blocks import PAGES, ROOT, arguments, blocks, commands, parse, unknown_extras

_PAGE_TESTS = "tests/test_documents.py"
_SERVICE = "tests/service/test_examples.py::test_every_example_runs"
_ADVICE = "tests/studies/test_advice_page.py"
_STUDIES = "tests/studies/test_study_file.py"
_OWN = "tests/own/test_python_policy.py"
#: For each page and kind of block, how many blocks tests execute, and which tests. Blocks in {code-cell} are
#: executed by the build, JSON and consoles by the tests below.
EXECUTED = {
    ("CONTRIBUTING.md", "python"): (
        3,
        "tests/own/test_contributing.py::test_ucb_v_takes_a_file_a_line_and_a_test",
    ),
    ("README.md", "python"): (1, f"{_PAGE_TESTS}::test_examples_print_what_they_say"),
    ("docs/how-to/advise.md", "csv"): (1, f"{_ADVICE}::test_the_command_prints_what_it_says"),
    ("docs/how-to/advise.md", "python"): (2, f"{_ADVICE}::test_python_examples_print_what_they_say"),
    ("docs/how-to/advise.md", "session"): (1, f"{_ADVICE}::test_the_command_prints_what_it_says"),
    ("docs/how-to/containers.md", "dockerfile"): (
        2,
        f"{_PAGE_TESTS}::test_the_image_can_be_used_as_the_page_says",
    ),
    ("docs/how-to/experiments.md", "bash"): (3, _SERVICE),
    ("docs/how-to/experiments.md", "javascript"): (1, _SERVICE),
    ("docs/how-to/experiments.md", "python"): (4, _SERVICE),
    ("docs/how-to/machines.md", "python"): (
        1,
        "tests/simulation/test_dask_workers.py::test_the_documented_processes",
    ),
    ("docs/how-to/own-policies.md", "python"): (
        5,
        f"{_OWN}::test_it_has_a_name_in_texts_studies_and_commands",
    ),
    ("docs/how-to/own-policies.md", "toml"): (1, f"{_OWN}::test_it_has_a_name_in_texts_studies_and_commands"),
    ("docs/how-to/replay.md", "python"): (4, f"{_PAGE_TESTS}::test_examples_print_what_they_say"),
    ("docs/how-to/service.md", "bash"): (4, _SERVICE),
    ("docs/how-to/service.md", "javascript"): (4, _SERVICE),
    ("docs/how-to/service.md", "python"): (6, _SERVICE),
    ("docs/how-to/studies.md", "python"): (2, f"{_STUDIES}::test_the_documents_examples_print_what_they_say"),
    ("docs/how-to/studies.md", "session"): (
        1,
        f"{_STUDIES}::test_the_documents_examples_print_what_they_say",
    ),
    ("docs/how-to/studies.md", "text"): (1, f"{_STUDIES}::test_the_documents_pieces_of_studies_are_studies"),
    ("docs/how-to/studies.md", "toml"): (4, f"{_STUDIES}::test_the_documents_pieces_of_studies_are_studies"),
    ("docs/how-to/tables.md", "csv"): (2, f"{_PAGE_TESTS}::test_the_commands_on_tables_print_what_they_say"),
    ("docs/how-to/tables.md", "python"): (1, f"{_PAGE_TESTS}::test_examples_print_what_they_say"),
    ("docs/how-to/tables.md", "session"): (
        2,
        f"{_PAGE_TESTS}::test_the_commands_on_tables_print_what_they_say",
    ),
    ("docs/how-to/tables.md", "toml"): (1, f"{_PAGE_TESTS}::test_the_commands_on_tables_print_what_they_say"),
    ("docs/reference/policies.md", "python"): (2, f"{_PAGE_TESTS}::test_examples_print_what_they_say"),
}
#: Blocks that no test executes, by page and beginning, and why.
NOT_EXECUTED = {
    ("docs/how-to/machines.md", "from dask_jobqueue"): "needs a Slurm cluster",
    ("docs/how-to/machines.md", "class RayExecutor"): "needs Ray",
    ("docs/how-to/operate-service.md", "location / {"): "needs nginx",
}
#: Commands of other programs in the consoles of a page, and the test that runs them.
RUN = {
    ("docs/how-to/operate-service.md", ("sqlite3", "python3", "rm", "cp")): (
        "tests/service/test_examples.py::test_commands_of_operators_run_on_sqlite"
    ),
    ("docs/how-to/operate-service.md", ("pg_dump", "pg_restore")): (
        "tests/service/test_examples.py::test_commands_of_operators_run_on_postgresql"
    ),
}
#: Kinds whose blocks are all checked below.
_CHECKED_HERE = {"console", "json"}


@pytest.mark.parametrize("name", sorted(PAGES))
def test_every_example_is_executed(name: str) -> None:
    skipped = tuple(start for page, start in NOT_EXECUTED if page == name)
    shown = [one for one in blocks(name) if not (skipped and one.text.startswith(skipped))]
    assert len(blocks(name)) - len(shown) == len(skipped)
    counts = Counter(one.kind for one in shown if one.kind not in _CHECKED_HERE)
    expected = {kind: number for (page, kind), (number, _) in EXECUTED.items() if page == name}
    assert counts == expected, f"execute the new blocks of {name} in a test, then count them in EXECUTED"


@pytest.mark.parametrize("test", sorted({test for _, test in EXECUTED.values()} | set(RUN.values())))
def test_the_tests_of_examples_exist(test: str) -> None:
    file, _, function = test.partition("::")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert f"\ndef {function}(" in text
    pages = {page for (page, _), (_, named) in EXECUTED.items() if named == test}
    pages |= {page for (page, _), named in RUN.items() if named == test}
    assert [page for page in pages if page.rpartition("/")[2] not in text] == []


@pytest.mark.parametrize("name", sorted(PAGES))
def test_json_can_be_read(name: str) -> None:
    for block in blocks(name, "json"):
        json.loads(block.text)


def _pip(words: list[str]) -> None:
    install, *rest = words
    assert install == "install"
    for requirement in rest:
        assert requirement == "--upgrade" or not unknown_extras(requirement), requirement


def _make(words: list[str]) -> None:
    (target,) = words
    assert f"\n{target}:" in (ROOT / "Makefile").read_text(encoding="utf-8")


def _python(words: list[str]) -> None:
    option, module, *rest = words
    assert (option, rest) == ("-m", [])
    assert importlib.util.find_spec(module) is not None, module


def _export(words: list[str]) -> None:
    (assignment,) = words
    assert re.fullmatch("[A-Z]+=.+", assignment)


def _dask(words: list[str]) -> None:
    name, *rest = words
    command = importlib.import_module(f"distributed.cli.dask_{name}").main
    command.make_context(name, rest)


def _docker(words: list[str]) -> None:
    """Check the command that runs inside the container; there may be no Docker here."""
    action, *rest = words
    assert action in {"build", "run", "logs"}
    if "clusterbandits" in rest:
        parse(rest[rest.index("clusterbandits") + 1 :])


#: How the arguments of each program are checked.
PROGRAMS: dict[str, Callable[[list[str]], None]] = {
    "clusterbandits": parse,
    "dask": _dask,
    "docker": _docker,
    "export": _export,
    "make": _make,
    "pip": _pip,
    "python": _python,
}


@pytest.mark.parametrize("name", sorted(PAGES))
def test_commands_are_those_of_the_programs(name: str) -> None:
    run_elsewhere = {program for (page, programs) in RUN if page == name for program in programs}
    for block in blocks(name, "console", "session"):
        for line in commands(block):
            program, *words = arguments(line)
            if program not in run_elsewhere:
                assert program in PROGRAMS, f"{name}: {line}"
                PROGRAMS[program](words)


@pytest.mark.parametrize(
    "wrong",
    [
        "run study.toml --worker 4",
        "runs study.toml",
        "serve export ads --out ads.csv --propensity",
        "serve --port 0",
        "simulate 0.4 --horizon",
    ],
)
def test_wrong_commands_are_found(wrong: str) -> None:
    with pytest.raises(Exception, match=r"(?i)option|command|argument|should"):
        parse(wrong.split())


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
