"""The schema of study files: each key with its meaning and the allowed values; and example studies."""

from __future__ import annotations

import textwrap
from importlib import resources
from pathlib import Path

from clusterbandits.files import check_new_file, whole_file
from clusterbandits.studies.toml_file import Key
from clusterbandits.tables import WIDTH
from clusterbandits.validate import known_name

STUDY = (
    Key("title", "text", "title of the report", "the file's name"),
    Key("note", "text", "a paragraph under the title", "none"),
    Key("horizon", "a whole number from 1 to 1e15", "rounds per run", "1e5"),
    Key("runs", "a whole number of at least 2", "independent runs per policy and instance", "48"),
    Key("seed", "a whole number of at least 0", "random seed", "0"),
    Key("paired", "true or false", "whether all policies of a run get the same rewards", "true"),
    Key(
        "checkpoints",
        "a whole number of at least 1, or a list of rounds",
        "rounds at which pulls are recorded",
        "ten per decade",
    ),
    Key("instances", "a list of tables", "the problems, see below"),
    Key("widths", "a list of tables", "the declared widths, see below", "the true spans"),
    Key("policies", "a list of texts or tables", "the policies, see below; all are compared with the first"),
)

INSTANCE = (
    Key("name", "text, different for each", "display name", "the name of its table, or its number"),
    Key("means", "lists of means, one for each group, or a table by group", "the means themselves"),
    Key(
        "table",
        "a bundled table, a path, or a table with file, columns, decimal, …",
        "a table of trials, whose estimated means are used; paths are relative to the study",
    ),
    Key("random", "a table", "many randomly drawn instances, see below"),
    Key(
        "family",
        "a reward family, such as gaussian:sigma=0.5",
        "the reward distribution; with a table, bernoulli or bounded",
        "bernoulli",
    ),
    Key("widths", "a list of tables", "the declared widths for this instance", "the study's widths"),
    Key(
        "start",
        "as for table",
        "a history that policies start from",
        "none",
    ),
)

RANDOM = (
    Key("count", "a whole number from 1 to 100000", "number of instances", "10"),
    Key("layout", "separated, overlapping or scattered", "position of the ranges of means", "scattered"),
    Key("groups", "a whole number, or the smallest and the largest", "number of groups per instance"),
    Key("arms", "a whole number, or the smallest and the largest", "number of arms per group"),
    Key(
        "span",
        "a number, or the smallest and the largest",
        "the difference between the largest and the smallest mean of a group",
    ),
    Key("within", "two numbers", "the interval that contains all means", "[0.05, 0.95]"),
    Key("seed", "a whole number of at least 0", "random seed of the instances", "the study's seed"),
)

WIDTHS = (
    Key("name", "text, different for each", "display name", "the widths as text"),
    Key("factor", "a number of at least 0, or inf", "widths as a multiple of the true spans: 1 is exact"),
    Key("fixed", "a number of at least 0, or inf", "the same width for all groups"),
    Key("groups", "a list of widths, or a table by group", "one width per group"),
)

POLICY = (
    Key("policy", "a name, or text such as clus-ucb:a=5", "the policy"),
    Key("label", "text, different for each", "display name", "its name and settings"),
    Key("…", "as in docs/reference/policies.md", "any setting of the policy, by name", "its default"),
)

#: How each table is written, what it is, and its keys.
TABLES = {
    "": ("The file itself.", STUDY),
    "[[instances]]": ("One problem, or many drawn ones; has one of means, table and random.", INSTANCE),
    "[instances.random]": ("A family of drawn problems.", RANDOM),
    "[[widths]]": (
        "Declared widths; has one of factor, fixed and groups. Policies that use widths are "
        "simulated once with each entry.",
        WIDTHS,
    ),
    "[[policies]]": ("A policy; a list of texts is also allowed.", POLICY),
}


def schema_markdown() -> str:
    """Return all tables as Markdown, for the documentation."""
    parts = []
    for head, (what, keys) in TABLES.items():
        title = f"### `{head}`" if head else "### Top level"
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
        lines = [head or "Top level", textwrap.fill(what, WIDTH)]
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
