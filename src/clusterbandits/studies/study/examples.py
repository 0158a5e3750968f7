"""Studies to start from, with comments."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from clusterbandits.files import check_new_file, whole_file
from clusterbandits.validate import choice

#: Every example, and what it shows.
EXAMPLES = {
    "start": "a problem written down, four policies",
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
    file = choice("name", "example", name, EXAMPLES) + ".toml"
    place = resources.files("clusterbandits.studies.study").joinpath("examples", file)
    return place.read_text(encoding="utf-8")


def write_example(name: str, file: Path | None = None) -> Path:
    """Write an example to a new file, by default NAME.toml in the current folder; return its path."""
    text = example_text(name)
    path = Path(f"{name}.toml") if file is None else file
    check_new_file(path, "out", "example")
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
    return path
