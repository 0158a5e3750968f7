"""The examples in the documents run and print the shown output."""

from __future__ import annotations

import doctest
import json
import os
import platform
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import httpx
import pytest

import clusterbandits
from benchmarks.__main__ import NAMES
from benchmarks.cold import ALONE, THOMPSON
from benchmarks.default import USUAL, pairs as default_pairs
from benchmarks.measure import Measurement
from benchmarks.slopes import problems as slopes_problems
from clusterbandits.cli.main import run
from clusterbandits.paper.audit import CLAIMS
from clusterbandits.studies import history_rows, log_survey
from clusterbandits.studies.history import TABLES
from clusterbandits.studies.study_file import parse_study
from tests.page_blocks import ROOT, arguments, blocks, commands, parse, session, unknown_extras
from tests.service.running import serving

SAID = {"holds": "hold", "holds with a condition": "hold with a condition", "does not hold": "do not hold"}
README = ROOT / "README.md"
TABLE_GUIDE = "docs/how-to/tables.md"
STUDY_GUIDE = "docs/how-to/studies.md"
CONTAINER_GUIDE = "docs/how-to/containers.md"
#: Options that make commands of the pages quick.
QUICK = {"advise": ["--horizon", "1000", "--worlds", "2"], "simulate": ["--horizon", "1000", "--runs", "2"]}
#: A command on a machine whose compiled code can only be read, as in a container.
READ_ONLY = """
import sys
from clusterbandits import kernel_cache
from clusterbandits.cli.main import run
kernel_cache._writable = lambda folder: False
run(sys.argv[1:])
"""


def exit_code(*words: str) -> object:
    """Run a command in this process."""
    with pytest.raises(SystemExit) as end:
        run(list(words))
    return end.value.code


@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("README.md", 8),
        ("docs/reference/policies.md", 5),
        ("docs/how-to/replay.md", 4),
        ("docs/how-to/tables.md", 2),
    ],
)
def test_examples_print_what_they_say(page: str, least: int) -> None:
    shown = [block.text for block in blocks(page, "python")]
    text = "\n".join(re.sub(r"^$(?=\n.)", "<BLANKLINE>", block, flags=re.MULTILINE) for block in shown)
    example = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    found = doctest.DocTestRunner().run(example)
    assert found.attempted >= least
    assert found.failed == 0


def test_the_commands_on_tables_print_what_they_say(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is tables.md."""
    monkeypatch.chdir(tmp_path)
    for block in blocks(TABLE_GUIDE, "csv"):
        Path(block.file).write_text(block.text)
    for block in blocks(TABLE_GUIDE, "session"):
        for command, output in session(block):
            assert exit_code(*arguments(command)[1:]) == 2
            assert capsys.readouterr().err.split() == output.split()
    for block in blocks(TABLE_GUIDE, "console"):
        for command in commands(block):
            _, name, *rest = arguments(command)
            assert exit_code(name, *rest, *QUICK[name]) == 0, command
    (study,) = blocks(TABLE_GUIDE, "toml")
    (case,) = parse_study(f'policies = ["kl-ucb"]\n{study.text}', folder=tmp_path).cases
    assert list(case.instance.means) == [21 / 2400, 20 / 2100, 31 / 2500, 35 / 2300]


def test_the_page_on_tables_has_the_names_of_columns() -> None:
    text = (ROOT / TABLE_GUIDE).read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", text, flags=re.MULTILINE))
    shown = {role: set(re.split(", |; in logs also ", names)) for role, names in rows.items()}
    known: defaultdict[str, set[str]] = defaultdict(set)
    for column in (*history_rows.COLUMNS, *log_survey.COLUMNS):
        known[column.name] |= {name.replace("_", " ") for name in column.also}
    assert shown == known


def test_the_commands_on_studies_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    smallest = blocks(STUDY_GUIDE, "toml")[0].text
    Path("study.toml").write_text(f"horizon = 500\nruns = 2\n{smallest}")
    (block,) = blocks(STUDY_GUIDE, "console")
    shown = [arguments(command)[1:] for command in commands(block)]
    assert len(shown) == 4
    for words in shown:
        # tests/simulation/test_dask_workers.py runs studies on other machines.
        if "--dask" not in words:
            assert exit_code(*words) == 0
            printed = capsys.readouterr().out
            assert "--json" not in words or json.loads(printed)
    assert Path("study/index.html").is_file()
    assert Path("DIR/index.html").is_file()


def test_the_image_can_be_used_as_the_page_says(tmp_path: Path) -> None:
    """Docker may be missing, so this runs what containers.md would run in it."""
    dockerfile, processor = blocks(CONTAINER_GUIDE, "dockerfile")
    steps = [(name, rest) for name, _, rest in (line.partition(" ") for line in dockerfile.text.splitlines())]
    named = dict(steps)
    folder, user, (_, *command) = named["VOLUME"], named["USER"], json.loads(named["CMD"])
    for _, step in (step for step in steps if step[0] == "RUN" and step[1].startswith(("pip", "cluster"))):
        program, *words = shlex.split(step)
        if program == "pip":
            assert not unknown_extras(words[-1])
        else:
            parse(words)
    owned = steps.index(("RUN", f"mkdir {folder} && chown {user} {folder}"))
    assert owned < steps.index(("VOLUME", folder)) < steps.index(("USER", user))
    parse(command)
    options = [str(tmp_path / "data") if word == folder else word for word in command[1:]]
    with serving(*options, folder=tmp_path) as served:
        assert served.get("/v1/experiments") == {"experiments": []}
        here = f"http://127.0.0.1:{served.port}/v1/experiments"
        assert httpx.get(here).status_code == 401
    if platform.machine() == "x86_64":
        settings = dict(word.split("=") for word in shlex.split(processor.text)[1:])
        kernel = "import numba; assert numba.njit(lambda x: x + 1)(1) == 2"
        subprocess.run([sys.executable, "-c", kernel], env=os.environ | settings, check=True)


def test_a_warm_folder_that_can_only_be_read_is_enough() -> None:
    """The page is containers.md: after warmup, its last command compiles nothing."""
    *_, last = blocks(CONTAINER_GUIDE, "console")
    (line,) = commands(last)
    words = arguments(line)
    simulate = words[words.index("clusterbandits") + 1 :]
    assert exit_code("warmup", "kindred", "kl-ucb", "clus-ucb") == 0
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY, *simulate], capture_output=True, text=True, check=True
    )
    assert all(name in done.stdout for name in ("kindred", "kl-ucb", "clus-ucb"))
    assert "compil" not in done.stderr


def test_readme_is_short_and_shows_a_picture() -> None:
    text = README.read_text()
    assert len(text.splitlines()) <= 120
    pictures = re.findall(r'(?:src|srcset)="([^"]+)"', text)
    assert len(pictures) == 2
    assert all((ROOT / picture).is_file() for picture in pictures)


def test_commands_of_the_claims_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    commands = re.findall(r"^\|.*\| `(.*?)` \|$", (ROOT / "docs" / "claims.md").read_text(), re.MULTILINE)
    assert len(commands) > 25
    for command in commands:
        program, *names = command.removeprefix("python -m ").split()
        assert program in {"make", "benchmarks"}
        known = [name for name in names if f"\n{name}: " in makefile] if program == "make" else NAMES
        assert set(names) <= set(known), command


def test_links_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_measured_promises_are_kept() -> None:
    kept = json.loads((ROOT / "benchmarks" / "results.json").read_text())
    assert set(kept) == set(NAMES)
    promised = [Measurement(**one) for name in kept for one in kept[name]["measurements"] if one["limit"]]
    assert [one.claim for one in promised if one.verdict != "kept"] == []
    assert {one.claim: one.limit for one in promised} == {
        "10,000 arms in 100 clusters": 50,
        "time of 100,000 arms over 10,000": 13,
        "clusterbandits --help": 0.4,
        "bound --help": 0.4,
        "bound, nothing compiled": 2,
        "first ask of auto, nothing compiled": 5,
        "README's example, nothing compiled": 20,
        **{f"{name}, plain compiled loop over skip-ahead": 100 for name in ("kl-ucb", "clus-ucb")},
        **{f"{name}, 10¹⁰ rounds over 10⁶": 40 for name in ("kl-ucb", "clus-ucb")},
        **{f"{name}, 1,000 arms over 6 arms": 100 for name in ("kl-ucb", "clus-ucb")},
        **{f"{name} over river's UCB": 3 for name in ("kl-ucb", "clus-ucb")},
        **{f"{name} over MABWiser's UCB1": 1 for name in ("kl-ucb", "clus-ucb")},
        "two workers over one": 1.8,
        "first call in a new process, warm cache": 0.5,
        "thompson, per round": 400,
        "kindred, per round": 10_000,
        "kindred, per round with 183 arms": 40_000,
        "kindred, ask and tell per round": 40,
        "kindred, ask and tell with 183 arms": 150,
        "the two locks of a kl-ucb round": 10,
        "rewards kept of 20,000 from four threads": 20_000,
        **{f"{name}: ask with 1,000 outstanding rewards over none": 2 for name in clusterbandits.POLICIES},
        **{f"PostgreSQL, {count}: share of a bare endpoint": 40 for count in ("1 worker", "2 workers")},
        **{f"PostgreSQL, {count}: p99 at half load": 25 for count in ("1 worker", "2 workers")},
        "memory after 1,000,000 decisions of that after 200,000": 115,
        "start on a log of 2,000,000 events after a kill": 20,
        "start on 1,000,000 events of 100 experiments after a kill": 20,
        "paper, empty compile cache": 120,
        "paper, warm compile cache": 45,
        "paper, peak memory": 600,
        "paper --beyond, its own policies not yet compiled": 900,
        "1,000 instances, 80,000 runs of 10⁵ rounds": 3600,
        "1,000 instances, peak memory": 1000,
        "replay of 10⁷ rows, two policies": 60,
        "replay of 10⁷ rows, peak memory": 450,
        "replay, memory of 10⁷ rows over 10⁶": 1.2,
        "advice over the best single policy": 15,
        "advice on 200 arms, 10⁵ rounds": 60,
        "excess of predicted over actual regret, in standard errors": 3,
        **{f"excess of predicted over actual regret{name}, either way": 15 for name in ("", ", kl-ucb")},
        **{claim: 1.2 for claim, *_ in default_pairs()},
        **{f"{name}: excess over known groups, standard errors": 2 for name in (ALONE, THOMPSON)},
        **{f"{table}: kindred below {name}": 2 for table in TABLES for name in USUAL},
        **{f"{name}: over it": 1.3 for name, *_ in slopes_problems()},
    }


def test_pages_say_of_the_paper_what_the_audit_says() -> None:
    audit = (ROOT / "docs" / "reference" / "audit.md").read_text()
    claims = (ROOT / "docs" / "claims.md").read_text()
    found = (ROOT / "docs" / "explanation" / "paper-audit.md").read_text()
    rows = re.findall(r"^\| Figure .*$", claims, flags=re.MULTILINE)
    assert len(rows) == 10
    assert [row for row in rows if row not in audit] == []
    numbers = re.findall(r"\d[\d.]* ± [\d.]*\d", found)
    assert len(numbers) > 5
    assert [number for number in numbers if number not in audit] == []
    verdicts = re.findall(r"Verdict: \*\*(.*?)\*\*", audit)
    counts = [f"{verdicts.count(word)} {said}" for word, said in SAID.items()]
    for page in (claims, found):
        assert f"{len(verdicts)} claims" in page
        assert ", ".join(counts) in " ".join(page.split())


def test_the_audit_page_is_of_these_claims() -> None:
    audit = (ROOT / "docs" / "reference" / "audit.md").read_text()
    assert "Made by `clusterbandits paper`," in audit
    assert re.findall(r'<a id="(.*?)"></a>', audit) == [claim.key for claim in CLAIMS]
    for claim in CLAIMS:
        assert f"### {claim.says}" in audit
        assert f"*Test.* {claim.test}" in audit


def test_changelog_names_the_version() -> None:
    assert f"## {clusterbandits.__version__}" in (ROOT / "CHANGELOG.md").read_text()
