"""Study files: what they may say, and one sentence with the line and the key for everything else."""

from __future__ import annotations

import doctest
import math
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from clusterbandits import ClusterBanditsError, Instance, InvalidInputError, UnreadableFileError
from clusterbandits.cli.main import run
from clusterbandits.studies import study_schema as schema
from clusterbandits.studies.study_file import parse_study, read_study
from clusterbandits.studies.study_runs import contenders, count_simulations
from clusterbandits.studies.study_schema import EXAMPLES, example_text, write_example
from clusterbandits.studies.toml_file import Document, line_of

POLICIES = 'policies = ["kl-ucb"]\n'
INSTANCE = "[[instances]]\nmeans = [[0.4, 0.5], [0.6]]\n"
DRAWN = "[[instances]]\n[instances.random]\n"
BOTH = "groups = 2\narms = 2\n"
SENTENCE = r"Line (\d+) of 's\.toml', key '([^']+)': (.*)"


def refusal(text: str, folder: Path = Path()) -> tuple[int, str, str]:
    """The line, the key and the sentence with which a study is refused."""
    with pytest.raises(ClusterBanditsError) as caught:
        parse_study(text, "s.toml", folder)
    found = re.fullmatch(SENTENCE, str(caught.value))
    assert found is not None, str(caught.value)
    assert found[3].endswith((".", "?", "…"))
    assert len(str(caught.value).splitlines()) == 1
    return int(found[1]), found[2], found[3]


# What is at the top, with and without comments and blank lines before it.
TOP: list[tuple[str, str, str]] = [
    ("runz", "3", "Unknown key 'runz'. Did you mean 'runs'"),
    ("horizon", "0", "a whole number of at least 1"),
    ("horizon", "1.5", "a whole number of at least 1"),
    ("horizon", "'1e5'", "a whole number of at least 1"),
    ("horizon", "1e16", r"a whole number of at most 1e\+15"),
    ("runs", "1", "a whole number of at least 2"),
    ("runs", "true", "a whole number of at least 2"),
    ("runs", "10_000_000", r"a whole number of at most 1e\+06"),
    ("seed", "-1", "a whole number of at least 0"),
    ("seed", "[1]", "a whole number of at least 0"),
    ("paired", "1", "True or False"),
    ("paired", "'yes'", "True or False"),
    ("checkpoints", "0", "a whole number of at least 1"),
    ("checkpoints", "'all'", "a whole number of at least 1"),
    ("checkpoints", "[200_000]", "rounds from 1 to the horizon 100000"),
    ("checkpoints", "[]", "rounds from 1 to the horizon 100000"),
    ("title", "3", "text on one line"),
    ("title", "' '", "text on one line"),
    ("note", "[]", "text on one line"),
    ("note", r'"a\nb"', "on one line"),
    ("widths", "3", r"a list of at least one table, as in \[\[widths\]\] factor = 1.0"),
    ("widths", "[]", "a list of at least one table"),
    ("widths", "{ factor = 1 }", "a list of at least one table"),
]


@pytest.mark.parametrize(("key", "value", "allowed"), TOP)
@pytest.mark.parametrize("before", ["", "# a comment\n\n   # another = [\n"])
def test_keys_at_the_top(key: str, value: str, allowed: str, before: str) -> None:
    line, named, sentence = refusal(f"{POLICIES}{before}{key} = {value}\n{INSTANCE}")
    assert (line, named) == (2 + before.count("\n"), key)
    assert re.search(rf"^({key} must be .*{allowed}.*, but got |{allowed})", sentence)


# In the first line, where a table of widths is written; its key, and what is allowed.
WIDTHS: list[tuple[str, str, str]] = [
    ("[3]", "widths[0]", "a table with the keys name, factor, fixed, groups"),
    ("[{}]", "widths[0]", "exactly one of the keys factor, fixed, groups, but got none"),
    ("[{ name = 'x' }]", "widths[0]", "exactly one of the keys factor, fixed, groups, but got none"),
    ("[{ factor = 1, fixed = 2 }]", "widths[0].fixed", "exactly one of the keys"),
    ("[{ factr = 1 }]", "widths[0].factr", "Unknown key 'factr'. Did you mean 'factor'?"),
    ("[{ factor = -1 }]", "widths[0].factor", "a number from 0 to inf"),
    ("[{ factor = 'a' }]", "widths[0].factor", "a number from 0 to inf"),
    ("[{ factor = nan }]", "widths[0].factor", "a number from 0 to inf"),
    ("[{ fixed = true }]", "widths[0].fixed", "a number from 0 to inf"),
    ("[{ factor = 1, name = 3 }]", "widths[0].name", "text on one line"),
    (
        "[{ factor = 1 }, { factor = 1.0 }]",
        "widths[1]",
        "a different one for all widths, but got 'spans' twice",
    ),
    ("[{ factor = 1 }, { fixed = 1, name = 'spans' }]", "widths[1].name", "got 'spans' twice"),
    ("[{ groups = 0.1 }]", "widths[0].groups", "a list of widths, or a table by group"),
    ("[{ groups = [0.1] }]", "widths[0].groups", "one for each of the 2 clusters, but got 1 widths"),
    ("[{ groups = [1, 2, 3] }]", "widths[0].groups", "one for each of the 2 clusters, but got 3 widths"),
    (
        "[{ groups = { red = 1 } }]",
        "widths[0].groups",
        "one width for each of 0, 1, but got widths for ['red']",
    ),
    ("[{ groups = [0.1, -1] }]", "widths[0].groups", "numbers from 0 to infinity"),
    ("[{ groups = ['a', 'b'] }]", "widths[0].groups", "numbers from 0 to infinity"),
    ("[{ factor = 1 }, { groups = [0.1] }]", "widths[1].groups", "got 1 widths"),
]


@pytest.mark.parametrize(("value", "key", "allowed"), WIDTHS)
def test_widths(value: str, key: str, allowed: str) -> None:
    line, named, sentence = refusal(f"widths = {value}\n{POLICIES}{INSTANCE}")
    assert (line, named) == (1, key)
    assert allowed in sentence
    own = refusal(f"{POLICIES}{INSTANCE}widths = {value}\n")
    assert own == (4, f"instances[0].{key}", sentence)


ALL = "Available: ucb1, moss, epsilon-greedy, kl-ucb"
PLAYERS: list[tuple[str, str, str]] = [
    ("'kl-ucb'", "policies", "a list of at least one, as in policies = "),
    ("[]", "policies", "a list of at least one"),
    ("[3]", "policies[0]", "names of policies, or tables with the key policy"),
    ("['kl-ucb', ['moss']]", "policies[1]", "names of policies, or tables with the key policy"),
    ("['ucb9']", "policies[0]", "Did you mean 'ucbc'?"),
    ("['']", "policies[0]", ALL),
    ("['kl-ucb:b=1']", "policies[0]", "Unknown setting 'b' of policy kl-ucb. Available: a, refresh."),
    ("['clus-ucb:a=x']", "policies[0]", "a number from 0 to 1e+06, but got 'x'"),
    ("[{ a = 2 }]", "policies[0].policy", "the name of a policy, as in policy = 'kl-ucb', but got nothing"),
    ("[{ policy = 3 }]", "policies[0].policy", "the name of a policy, as in policy = 'kl-ucb', but got 3"),
    ("[{ policy = 'x' }]", "policies[0].policy", ALL),
    ("[{ policy = 'clus-ucb', b = 1 }]", "policies[0].b", "policy, label, a, refresh, leader, hedge"),
    (
        "[{ policy = 'clus-ucb', family = 'poisson' }]",
        "policies[0].family",
        "Unknown key 'family' of policy clus-ucb",
    ),
    ("[{ policy = 'clus-ucb', a = -1 }]", "policies[0].a", "a number from 0 to 1e+06"),
    ("[{ policy = 'clus-ucb', refresh = 1.5 }]", "policies[0].refresh", "a whole number of at least 1"),
    ("[{ policy = 'clus-ucb', label = '' }]", "policies[0].label", "text on one line"),
    ("[{ policy = 'clus-ucb', label = 3 }]", "policies[0].label", "text on one line"),
    ("['kl-ucb', 'kl-ucb']", "policies[1]", "different one for every policy, but got 'kl-ucb' twice"),
    ("['kl-ucb', { policy = 'moss', label = 'kl-ucb' }]", "policies[1].label", "got 'kl-ucb' twice"),
    (
        "[{ policy = 'ckl-ucb', distances = [[0, 1], [1, 0]] }]",
        "policies[0].distances",
        "3 by 3, but got 2 by 2",
    ),
]


@pytest.mark.parametrize(("value", "key", "allowed"), PLAYERS)
def test_policies(value: str, key: str, allowed: str) -> None:
    line, named, sentence = refusal(f"runs = 2\npolicies = {value}\n{INSTANCE}")
    assert (line, named) == (2, key)
    assert allowed in sentence


def test_labels_must_differ_after_the_names_of_widths_too() -> None:
    text = "widths = [{ factor = 1 }, { factor = 2 }]\n" + INSTANCE
    clash = 'policies = [{ policy = "kl-ucb", label = "clus-ucb spans" }, "clus-ucb"]\n'
    line, key, sentence = refusal(clash + text)
    assert (line, key) == (1, "policies[1]")
    assert "'clus-ucb spans' twice" in sentence
    parse_study(clash + INSTANCE)


PROBLEMS: list[tuple[str, int, str, str]] = [
    ("instances = 3\n", 2, "instances", "as in [[instances]] means ="),
    ("instances = []\n", 2, "instances", "a list of at least one table"),
    ("[instances]\nmeans = [[0.5]]\n", 2, "instances", "a list of at least one table"),
    ("[[instances]]\n", 2, "instances[0]", "exactly one of the keys means, table, random, but got none"),
    (
        "[[instances]]\nmeans = [[0.5]]\ntable = 'admissions'\n",
        4,
        "instances[0].table",
        "got means and table",
    ),
    ("[[instances]]\nmean = [[0.5]]\n", 3, "instances[0].mean", "Did you mean 'means'?"),
    ("[[instances]]\nmeans = 0.5\n", 3, "instances[0].means", "lists of means, one for each group"),
    ("[[instances]]\nmeans = 'a'\n", 3, "instances[0].means", "lists of means, one for each group"),
    ("[[instances]]\nmeans = [[0.5, 1.5]]\n", 3, "instances[0].means", "from 0 to 1 for bernoulli rewards"),
    ("[[instances]]\nmeans = [['a']]\n", 3, "instances[0].means", "finite numbers"),
    ("[[instances]]\nmeans = [[]]\n", 3, "instances[0].means", "at least one mean per group"),
    ("[[instances]]\nmeans = []\n", 3, "instances[0].means", "at least one mean"),
    ("[[instances]]\nmeans.a = {}\n", 3, "instances[0].means", "at least one mean per group"),
    ("[[instances]]\nmeans.a = { x = 1 }\nmeans.b = { x = 0 }\n", 3, "instances[0].means", "'x' twice"),
    ("[[instances]]\nname = 3\nmeans = [[0.5]]\n", 3, "instances[0].name", "text on one line"),
    (
        f"{INSTANCE}\n[[instances]]\nname = 'instance 1'\nmeans = [[0.5]]\n",
        6,
        "instances[1].name",
        "'instance 1' twice",
    ),
    (
        f"{INSTANCE}{INSTANCE}family = 'weird'\n",
        6,
        "instances[1].family",
        "Available: bernoulli, gaussian, poisson, exponential",
    ),
    (f"{INSTANCE}family = 3\n", 4, "instances[0].family", "Available: bernoulli"),
    ("[[instances]]\ntable = { columns = {} }\n", 3, "instances[0].table", "keys file, columns, decimal"),
    ("[[instances]]\ntable = { file = 'x', colour = 1 }\n", 3, "instances[0].table", "keys file, columns"),
    ("[[instances]]\ntable = 3\n", 3, "instances[0].table", "one of flights-by-origin"),
    ("[[instances]]\ntable = ''\n", 3, "instances[0].table", "the path of a file"),
    ("[[instances]]\nrandom = 3\n", 3, "instances[0].random", "a table with the keys count, layout, groups"),
]


@pytest.mark.parametrize(("text", "line", "key", "allowed"), PROBLEMS)
def test_instances(text: str, line: int, key: str, allowed: str) -> None:
    found = refusal(POLICIES + text)
    assert found[:2] == (line, key)
    assert allowed in found[2]


DRAWING: list[tuple[str, int, str, str]] = [
    ("", 3, "groups", "a whole number of at least 1, or two, the smaller first, but got nothing"),
    (BOTH, 3, "span", "a number of at least 0, or two, the smaller first, but got nothing"),
    (f"{BOTH}span = 0.1\nsed = 1\n", 7, "sed", "Did you mean 'seed'?"),
    (f"{BOTH}span = 0.1\ncount = 0\n", 7, "count", "a whole number of at least 1"),
    (f"{BOTH}span = 0.1\ncount = 100_001\n", 7, "count", "a whole number of at most 100000"),
    (f"{BOTH}span = 0.1\nseed = -1\n", 7, "seed", "a whole number of at least 0"),
    (f"{BOTH}span = 0.1\nlayout = 'x'\n", 7, "layout", "separated, overlapping, scattered"),
    (f"{BOTH}span = 0.1\nwithin = [0.9, 0.1]\n", 7, "within", "two finite numbers, the smaller first"),
    (f"{BOTH}span = 0.1\nwithin = 3\n", 7, "within", "two finite numbers, the smaller first"),
    (f"{BOTH}span = -0.1\n", 6, "span", "a number of at least 0"),
    (f"{BOTH}span = 2\n", 6, "span", "each from 0 to 0.9"),
    (f"{BOTH}span = [0.2, 0.1]\n", 6, "span", "the smaller first"),
    ("groups = 0\narms = 2\nspan = 0.1\n", 4, "groups", "a whole number of at least 1"),
    ("groups = [3, 2]\narms = 2\nspan = 0.1\n", 4, "groups", "the smaller first"),
    ("groups = [1, 2, 3]\narms = 2\nspan = 0.1\n", 4, "groups", "the smaller first"),
    ("groups = 'a'\narms = 2\nspan = 0.1\n", 4, "groups", "a whole number"),
    ("groups = 2\narms = 2.5\nspan = 0.1\n", 5, "arms", "a whole number"),
    ("groups = 10_000\narms = 2\nspan = 0.1\n", 5, "arms", "at most 10,000 per instance"),
    ("groups = 100\narms = 100\nspan = 0\ncount = 1_001\n", 5, "arms", "10,000,000 in total"),
]


@pytest.mark.parametrize(("text", "line", "key", "allowed"), DRAWING)
def test_drawn_instances(text: str, line: int, key: str, allowed: str) -> None:
    found = refusal(POLICIES + DRAWN + text)
    assert found[:2] == (line, f"instances[0].random.{key}")
    assert allowed in found[2]


def test_missing_keys_are_said_to_be_missing() -> None:
    assert refusal("")[:2] == (1, "instances")
    assert refusal("# nothing\nruns = 3\n")[2].endswith(", but got nothing.")
    line, key, sentence = refusal(INSTANCE)
    assert (line, key) == (1, "policies")
    assert sentence.endswith(", but got nothing.")


def test_counts_without_a_ceiling_limit_the_horizon() -> None:
    line, key, sentence = refusal(
        f'{POLICIES}horizon = 1e15\n[[instances]]\nmeans = [[5000.0]]\nfamily = "poisson"\n'
    )
    assert (line, key) == (2, "horizon")
    assert "at most 2e+14 for a mean of 5000" in sentence


TABLES: dict[str, tuple[bytes | None, str]] = {
    "missing.csv": (None, "must be readable. The operating system says: no such file or directory"),
    "more.csv": (b"arm,group,trials,successes\na,x,3,5\n", "Row 1 (line 2) has 5 successes in 3 trials"),
    "columns.csv": (b"arm,trials,successes\na,3,2\n", "there is no column 'group'"),
    "empty.csv": (b"", "The file is empty"),
    "latin.csv": ("arm,group,trials,successes\nРеклама,x,3,1\n".encode("cp1251"), "must be in UTF-8"),
    "untried.csv": (b"arm,group,trials,successes\na,x,0,0\n", "at least 1 of every arm, but got none of 'a'"),
    "words.csv": (b"arm,group,trials,successes\na,x,many,1\n", "trials"),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_ones_own_that_cannot_be_used(name: str, tmp_path: Path) -> None:
    content, said = TABLES[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    line, key, sentence = refusal(f"{POLICIES}\n[[instances]]\ntable = '{name}'\n", tmp_path)
    assert (line, key) == (4, "instances[0].table")
    assert said in sentence


def test_tables_may_say_how_they_are_read(tmp_path: Path) -> None:
    (tmp_path / "ads.csv").write_text(
        "id;campaign;views;clicks;won;sum\na;x;2.000;9;3;2,5\nb;x;3.000;8;4;7,5\n"
    )
    study = tmp_path / "study.toml"
    settings = "columns = { arm = 'id', successes = 'won' }, thousands = '.'"
    table = f"{{ file = 'ads.csv', {settings} }}"
    study.write_text(f"{POLICIES}[[instances]]\ntable = {table}\nstart = {table}\n")
    (case,) = read_study(study).cases
    assert case.name == "ads"
    assert case.instance.means.tolist() == pytest.approx([0.0015, 4 / 3000])
    assert case.start.trials == 5000
    bounded = f"table = {table}\nstart = {table}\nfamily = 'bounded:low=0,high=9'\n"
    study.write_text(f"{POLICIES}[[instances]]\n{bounded}")
    assert read_study(study).cases[0].instance.means.tolist() == pytest.approx([0.00125, 0.0025])


def test_a_folder_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert "is a directory" in refusal(f"{POLICIES}[[instances]]\ntable = 'folder'\n", tmp_path)[2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("horizon =\n", "Invalid value (at line 1, column 10)"),
        ("runs = 1\nruns = 2\n", "at line 2"),
        ("[x\n", "at line 1"),
        ('policies = [\n"kl-ucb"\n', "Unclosed array"),
        ("\x00", "at line 1"),
        ("a = " + "[" * 5000, "maximum recursion depth"),
    ],
)
def test_what_is_no_toml(text: str, said: str) -> None:
    with pytest.raises(UnreadableFileError, match=r"^The study 's\.toml' is not valid TOML: .*\.$") as caught:
        parse_study(text, "s.toml")
    assert said in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match=r"cannot be read: no such file or directory"):
        read_study(tmp_path / "missing.toml")
    with pytest.raises(UnreadableFileError, match=r"cannot be read: is a directory"):
        read_study(tmp_path)
    with pytest.raises(UnreadableFileError, match=r"cannot be read: no such path"):
        read_study("a\0b")
    file = tmp_path / "s.toml"
    file.write_bytes(POLICIES.encode("utf-16"))
    with pytest.raises(UnreadableFileError, match=r"is not text in UTF-8"):
        read_study(file)


def test_a_mark_of_byte_order_and_other_line_ends_are_no_matter(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_bytes(b"\xef\xbb\xbf" + (POLICIES + INSTANCE).replace("\n", "\r\n").encode())
    assert read_study(file).cases[0].instance == Instance([[0.4, 0.5], [0.6]])
    file.write_bytes((POLICIES + INSTANCE + "runz = 1\n").replace("\n", "\r\n").encode())
    with pytest.raises(InvalidInputError, match=r"^Line 4 of 's.toml', key 'instances\[0\].runz'"):
        read_study(file)


LAID_OUT = '''# Every way to write the same things.
title = """of "many"
lines [ # no comment
"""
note = 'a # [ b'    # [ {
policies = [
    "kl-ucb",    # knows [ nothing
    # between

    { policy = "clus-ucb", a = 1 },
    'moss', "imed",
]
widths = [{ factor = 1 }, {
  fixed = 2 }]

[[instances]]
means.red = { a = 0.1, b = 0.2 }
"means".blue = { "c#]" = 0.3 }

[[instances]]
name = "two"
[instances.random]
span = [
  0.1,
  0.2]
  [[instances.widths]]
  factor = 1
  [[instances.widths]]
  groups = [0.1,
    [0.2]]
'''.replace("{\n  fixed", "{ fixed")


def test_lines_of_keys_however_they_are_written() -> None:
    wanted = {
        ("title",): 2,
        ("note",): 5,
        ("policies",): 6,
        ("policies", 0): 7,
        ("policies", 1): 10,
        ("policies", 1, "a"): 10,
        ("policies", 2): 11,
        ("policies", 3): 11,
        ("widths",): 13,
        ("widths", 1, "fixed"): 13,
        ("instances",): 15,
        ("instances", 0): 15,
        ("instances", 0, "means"): 16,
        ("instances", 0, "means", "red", "b"): 16,
        ("instances", 0, "means", "blue"): 17,
        ("instances", 0, "means", "blue", "c#]"): 17,
        ("instances", 1): 19,
        ("instances", 1, "name"): 20,
        ("instances", 1, "random"): 21,
        ("instances", 1, "random", "span"): 22,
        ("instances", 1, "random", "span", 1): 24,
        ("instances", 1, "widths"): 25,
        ("instances", 1, "widths", 0): 25,
        ("instances", 1, "widths", 1): 27,
        ("instances", 1, "widths", 1, "groups"): 28,
        ("instances", 1, "widths", 1, "groups", 1, 0): 29,
    }
    assert {path: line_of(LAID_OUT, path) for path in wanted} == wanted
    assert line_of(LAID_OUT, ("instances", 1, "widths", 1, "name")) == 27
    assert line_of(LAID_OUT, ("nowhere",)) == 1
    assert line_of("a = [", ("a",)) == 1


def every_path(data: Any) -> set[tuple[str | int, ...]]:
    """The plain reference: all keys and places of parsed data."""
    pairs: list[tuple[Any, Any]] = (
        list(data.items())
        if isinstance(data, dict)
        else list(enumerate(data))
        if isinstance(data, list)
        else []
    )
    return {(key, *rest) for key, value in pairs for rest in [(), *every_path(value)]}


@pytest.mark.parametrize("text", [LAID_OUT, *map(example_text, EXAMPLES)])
def test_every_key_is_found_in_its_line(text: str) -> None:
    lines = text.splitlines()
    for path in every_path(tomllib.loads(text)):
        named = [key for key in path if isinstance(key, str)][-1]
        if path[-1] == named:
            assert named in lines[line_of(text, path) - 1], path
        assert line_of(text, path) >= line_of(text, path[:-1])


@given(
    st.lists(
        st.sampled_from(["'a'", '"b]"', "[1, [2]]", "{ x = 1 }", '"""c"""', "\n", "# ]\n", ""]), max_size=9
    )
)
def test_elements_stand_where_they_were_written(values: list[str]) -> None:
    pieces, wanted, line = [], [], 1
    for value in values:
        if value.strip() and not value.startswith("#"):
            wanted.append(line)
            pieces.append(value + ",")
        else:
            pieces.append(value)
        line += value.count("\n")
    text = "list = [" + "".join(pieces) + "]\nlast = 1\n"
    assert [line_of(text, ("list", place)) for place in range(len(wanted))] == wanted
    assert line_of(text, ("last",)) == line + 1


def test_many_lines_take_little_time() -> None:
    text = "means = [\n" + "0.5,\n" * 50_000 + "]\nlast = 1\n"
    assert line_of(text, ("last",)) == 50_003


def test_errors_that_were_placed_are_not_placed_again() -> None:
    document = Document("a = 1\nb = 2\n", "s.toml")
    with pytest.raises(InvalidInputError) as caught, document.at("a"), document.at("b"):
        raise InvalidInputError("No.")
    assert str(caught.value) == "Line 2 of 's.toml', key 'b': No."


def test_what_is_left_out_has_the_defaults_that_the_schema_says() -> None:
    study = parse_study(POLICIES + INSTANCE, "mine.toml")
    assert (study.name, study.title, study.note) == ("mine", "mine", "")
    assert (study.horizon, study.runs, study.seed, study.paired) == (10**5, 48, 0, True)
    assert len(study.checkpoints) == 48
    assert [rule.name for rule in study.cases[0].rules] == ["spans"]
    assert study.cases[0].name == "instance 1"
    assert parse_study(f"{POLICIES}[[instances]]\ntable = 'admissions'\n").cases[0].name == "admissions"
    drawn = parse_study(f"{POLICIES}seed = 3\n{DRAWN}{BOTH}span = 0.1\n").cases
    assert [case.name for case in drawn] == [f"instance 1 {k}" for k in range(1, 11)]
    assert {case.drawn for case in drawn} == {"instance 1"}
    seeded = parse_study(f"{POLICIES}{DRAWN}{BOTH}span = 0.1\nseed = 3\n").cases
    assert [case.instance for case in seeded] == [case.instance for case in drawn]


def test_drawn_instances_are_what_was_asked_for() -> None:
    ask = "count = 40\ngroups = [2, 4]\narms = [1, 3]\nspan = [0.05, 0.1]\nwithin = [0.2, 0.9]\nseed = 5\n"
    cases = parse_study(POLICIES + DRAWN + ask).cases
    sizes = {len(case.instance.spans) for case in cases}
    arms = {len(part) for case in cases for part in case.instance.partition.members}
    assert (len(cases), sizes, arms) == (40, {2, 3, 4}, {1, 2, 3})
    for case in cases:
        means = case.instance.means
        assert means.min() >= 0.2
        assert means.max() <= 0.9
        for part, span in zip(case.instance.partition.members, case.instance.spans, strict=True):
            assert span == 0 if len(part) == 1 else 0.05 <= span <= 0.1
    fewer = parse_study(POLICIES + DRAWN + ask.replace("40", "3")).cases
    assert [case.instance for case in fewer] == [case.instance for case in cases[:3]]
    assert len({case.instance.means.tobytes() for case in cases}) == 40


def test_widths_are_what_was_asked_for() -> None:
    rules = "{ factor = 0.5 }, { factor = inf }, { fixed = 0.3 }, { groups = [0.1, inf], name = 'own' }"
    (case,) = parse_study(f"widths = [{rules}]\n" + POLICIES + INSTANCE).cases
    widths = {rule.name: rule.clusters(case.instance).widths for rule in case.rules}
    assert widths == {
        "0.5 × spans": (pytest.approx(0.05), 0.0),
        "inf × spans": (math.inf, math.inf),
        "0.3": (0.3, 0.3),
        "own": (0.1, math.inf),
    }
    named = INSTANCE.replace("means = [[0.4, 0.5], [0.6]]", "means.a = { x = 0.4 }\nmeans.b = { y = 0.6 }")
    (case,) = parse_study(POLICIES + named + "widths = [{ groups = { b = 0.2, a = 0.1 } }]\n").cases
    assert case.rules[0].clusters(case.instance).widths == (0.1, 0.2)


def test_policies_without_widths_play_once() -> None:
    text = (
        'runs = 5\npolicies = ["kl-ucb", "clus-ucb:a=2"]\nwidths = [{ factor = 1 }, { factor = 2 }]\n'
        + INSTANCE
    )
    study = parse_study(text)
    found = contenders(study, study.cases[0])
    assert [one.label for one in found] == ["kl-ucb", "clus-ucb:a=2.0 spans", "clus-ucb:a=2.0 2 × spans"]
    assert count_simulations(study) == 3
    assert len({one.folder for one in found}) == 3
    assert [one.clusters.widths[0] for one in found[1:]] == [pytest.approx(0.1), pytest.approx(0.2)]


def test_folders_of_games_stay_inside_and_tell_all_games_apart() -> None:
    text = "policies = ['kl-ucb']\nhorizon = 50\n" + "".join(
        f'[[instances]]\nname = "{name}"\nmeans = [[0.{k + 1}, 0.5]]\n'
        for k, name in enumerate(["../../etc", "a/b", "a b", "漢字", "..", "x" * 300, "<b>&"])
    )
    study = parse_study(text)
    folders = [one.folder for case in study.cases for one in contenders(study, case)]
    assert len(set(folders)) == 7
    for folder in folders:
        assert re.fullmatch(r"[A-Za-z0-9.-]{1,40}/kl-ucb-[0-9a-f]{16}", folder)
        assert not folder.startswith(".")


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_studies(name: str, tmp_path: Path) -> None:
    study = read_study(write_example(name, tmp_path / f"{name}.toml"))
    assert study.text == example_text(name)
    assert study.title != study.name
    assert f"clusterbandits run {name}.toml" in study.text
    with pytest.raises(InvalidInputError, match="a file that does not exist yet"):
        write_example(name, tmp_path / f"{name}.toml")


def test_the_schema_names_what_is_read_and_nothing_else() -> None:
    """Every key of the tables is accepted by itself, so none is only in the documents."""
    whole = {
        "title": "'t'",
        "note": "'n'",
        "horizon": "100",
        "runs": "2",
        "seed": "1",
        "paired": "false",
        "checkpoints": "5",
        "widths": "[{ factor = 1 }]",
        "policies": "['kl-ucb']",
    }
    assert {*whole, "instances"} == {key.name for key in schema.STUDY}
    text = "".join(f"{key} = {value}\n" for key, value in whole.items())
    assert parse_study(text + INSTANCE).title == "t"
    for head, (_, keys) in schema.TABLES.items():
        for key in keys:
            assert (
                f"| `{key.name}` | {key.meaning} | {key.allowed} | {key.default} |"
                in schema.schema_markdown()
            )
            assert key.name in schema.schema_text()
        assert head in schema.schema_text()
    assert max(map(len, schema.schema_text().splitlines())) <= 80


PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "studies.md"


def test_documents_name_every_example() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, what in EXAMPLES.items():
        assert f"| `{name}` | {what} |" in page


def test_the_documents_examples_print_what_they_say(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text(encoding="utf-8")
    (block,) = re.findall(r"```console\n(\$ .*?)```", page, flags=re.DOTALL)
    for command, output in re.findall(r"\$ clusterbandits (.*?)\n(.*?)(?=\$ |\Z)", block, flags=re.DOTALL):
        with pytest.raises(SystemExit):
            run(shlex.split(command))
        assert capsys.readouterr().out == output
    example = doctest.DocTestParser().get_doctest(
        "\n".join(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)), {}, "studies.md", None, 0
    )
    found = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example)
    assert found.attempted >= 12
    assert found.failed == 0


def test_the_documents_pieces_of_studies_are_studies(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    whole, drawn, widths, warm = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    assert len(parse_study(whole).cases) == 1
    assert len(parse_study(POLICIES + drawn).cases) == 1001
    (tmp_path / "ads.csv").write_text("arm,group,trials,successes\na,red,40,4\nb,blue,50,10\n")
    assert parse_study(POLICIES + warm, folder=tmp_path).cases[0].start.trials == 90
    named = "[[instances]]\nmeans.red = { a = 0.41, b = 0.42 }\nmeans.blue = { c = 0.4 }\n"
    (case,) = parse_study(POLICIES + widths + named).cases
    assert [rule.name for rule in case.rules] == ["0.5 × spans", "spans", "2 × spans", "0.1", "a guess"]
    shown = " ".join(re.findall(r"```text\nError: (.*?)\n```", page, flags=re.DOTALL)[0].split())
    text = f"{POLICIES}{chr(10) * 10}widths = [\n  {{ factor = 1 }},\n  {{ factr = 2 }},\n]\n"
    with pytest.raises(InvalidInputError) as caught:
        parse_study(text + named, "study.toml")
    assert str(caught.value) == shown


def test_sizes_that_do_not_fit_into_memory_are_refused() -> None:
    many = "[[instances]]\nmeans = [[" + "0.5, " * 999 + "0.6]]\n"
    line, key, sentence = refusal(f'runs = 5000\npolicies = ["kl-ucb"]\n{many}')
    assert (line, key) == (1, "runs")
    assert "policies × runs × checkpoints × arms is at most 100,000,000" in sentence
    drawn = "[[instances]]\n[instances.random]\ncount = 20\ngroups = 1\narms = 1\nspan = 0\n"
    line, key, sentence = refusal(
        f'checkpoints = 1e6\nhorizon = 1e15\nruns = 2\npolicies = ["kl-ucb"]\n{drawn}'
    )
    assert (line, key) == (1, "checkpoints")
    assert "at most 10,000,000 points" in sentence
