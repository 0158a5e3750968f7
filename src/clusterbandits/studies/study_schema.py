"""What a study file may hold: every key, what it must be and what it means; and examples to start from."""

from __future__ import annotations

import textwrap
from importlib import resources
from pathlib import Path

from clusterbandits.files import check_new_file, whole_file
from clusterbandits.studies.toml_file import Key
from clusterbandits.tables import WIDTH
from clusterbandits.validate import known_name

STUDY = (
    Key("title", "text", "stands above the report", "the file's name"),
    Key("note", "text", "a paragraph under the title", "none"),
    Key("horizon", "a whole number from 1 to 1e15", "rounds of every run", "1e5"),
    Key("runs", "a whole number of at least 2", "independent runs of every policy on every instance", "48"),
    Key("seed", "a whole number of at least 0", "decides all randomness", "0"),
    Key("paired", "true or false", "whether policies of a run meet the same rewards", "true"),
    Key(
        "checkpoints",
        "a whole number of at least 1, or a list of rounds",
        "when pulls are written down",
        "ten a decade",
    ),
    Key("instances", "a list of tables", "the problems, see below"),
    Key("widths", "a list of tables", "what policies are told, see below", "the true spans"),
    Key("policies", "a list of texts or tables", "who plays, see below; differences are to the first"),
)

INSTANCE = (
    Key("name", "text, different for each", "what the report calls it", "its place"),
    Key("means", "lists of means, one for each group, or a table by group", "the means, written here"),
    Key(
        "table",
        "a bundled table, a path, or a table with file, columns, decimal, …",
        "a table of trials, whose estimates are the means; paths are relative to the study",
    ),
    Key("random", "a table", "many instances, drawn, see below"),
    Key(
        "family",
        "a reward family, as gaussian:sigma=0.5",
        "the reward distribution; with a table, bernoulli or bounded",
        "bernoulli",
    ),
    Key("widths", "a list of tables", "what policies are told here", "the study's widths"),
    Key(
        "start",
        "as for table",
        "a history that policies start from",
        "none",
    ),
)

RANDOM = (
    Key("count", "a whole number from 1 to 100000", "how many instances", "10"),
    Key("layout", "separated, overlapping or scattered", "how the groups' ranges lie", "scattered"),
    Key("groups", "a whole number, or the least and the most", "how many groups each instance has"),
    Key("arms", "a whole number, or the least and the most", "how many arms each group has"),
    Key(
        "span",
        "a number, or the least and the most",
        "the difference between the largest and the smallest mean of a group",
    ),
    Key("within", "two numbers", "the interval that holds all means", "[0.05, 0.95]"),
    Key("seed", "a whole number of at least 0", "decides the instances", "the study's seed"),
)

WIDTHS = (
    Key("name", "text, different for each", "what the report calls it", "what it says"),
    Key("factor", "a number of at least 0, or inf", "so many times the true span of every group: 1 is exact"),
    Key("fixed", "a number of at least 0, or inf", "the same width for every group"),
    Key("groups", "a list of widths, or a table by group", "a width for every group"),
)

POLICY = (
    Key("policy", "a name or text as in clus-ucb:a=5", "which policy"),
    Key("label", "text, different for each", "what the report calls it", "its name and settings"),
    Key("…", "as in docs/reference/policies.md", "every setting of the policy, by its name", "its default"),
)

#: How each table is written, what it is, and its keys.
TABLES = {
    "": ("The file itself.", STUDY),
    "[[instances]]": ("One problem, or many drawn ones: exactly one of means, table and random.", INSTANCE),
    "[instances.random]": ("A family of drawn problems.", RANDOM),
    "[[widths]]": (
        "What policies that use widths are told, each with every one: exactly one of these.",
        WIDTHS,
    ),
    "[[policies]]": ("A policy; a list of texts does as well.", POLICY),
}


def schema_markdown() -> str:
    """Return all tables as Markdown, for the documentation."""
    parts = []
    for head, (what, keys) in TABLES.items():
        title = f"### `{head}`" if head else "### At the top"
        rows = [f"| `{key.name}` | {key.meaning} | {key.allowed} | {key.default} |" for key in keys]
        parts.append(
            "\n".join(
                [title, "", what, "", "| key | meaning | allowed | default |", "|---|---|---|---|", *rows]
            )
        )
    return "\n\n".join(parts) + "\n"


def schema_text() -> str:
    """Return all keys for a terminal."""
    parts = []
    for head, (what, keys) in TABLES.items():
        lines = [head or "At the top", textwrap.fill(what, WIDTH)]
        for key in keys:
            said = f"{key.name}: {key.meaning}. {key.allowed}; default: {key.default}."
            if key.default == "required":
                said = f"{key.name}: {key.meaning}. {key.allowed}."
            lines.append(textwrap.fill(said, WIDTH, initial_indent="  ", subsequent_indent="      "))
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


#: Every example, and what it shows.
EXAMPLES = {
    "start": "a problem written down, five policies",
    "table": "a table of successes and failures, bundled or your own",
    "widths": "what wrong widths cost: a sweep from too small to far too large",
    "random": "a hundred random problems",
    "paper": "the paper's Figures 2 to 8",
}


def example_text(name: str) -> str:
    """Return an example.

    Examples
    --------
    >>> example_text("start").splitlines()[0]
    '# A first study. Run it:  clusterbandits run start.toml'
    """
    file = known_name("example", "example", name, EXAMPLES, "name") + ".toml"
    place = resources.files("clusterbandits.studies").joinpath("examples", file)
    return place.read_text(encoding="utf-8")


def write_example(name: str, file: Path | None = None) -> Path:
    """Write an example to a new file, by default NAME.toml in the current folder; return its path."""
    text = example_text(name)
    path = Path(f"{name}.toml") if file is None else file
    check_new_file(path, "out", "example")
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
    return path
