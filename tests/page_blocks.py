"""The blocks of code in the documents, and their commands, read as a terminal reads them."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import typer.main
from markdown_it import MarkdownIt

from clusterbandits.cli.main import app

ROOT = Path(__file__).parents[1]
_MADE = ("docs/_build", "docs/reference/api/", "docs/reference/generated/")
#: The text of every page that is written by hand, or made from such pages, by its path.
PAGES = {
    name: page.read_text(encoding="utf-8")
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if not (name := page.relative_to(ROOT).as_posix()).startswith(_MADE)
}


class Block(NamedTuple):
    """A block of code in a page."""

    #: The language; "session" for commands with their output.
    kind: str
    text: str
    #: The last file that the page named before it.
    file: str


def blocks(page: str, *kinds: str) -> list[Block]:
    """Return the blocks of a page, those in lists too, but not the directives of Sphinx."""
    found, file = [], ""
    for token in MarkdownIt("commonmark").parse(PAGES[page]):
        names = re.findall(r"`([\w-]+\.[a-z]+)`", token.content if token.type == "inline" else "")
        file = names[-1] if names else file
        if token.type == "fence" and not token.info.startswith("{"):
            kind = token.info.strip()
            kind = "session" if kind == "console" and token.content.startswith("$ ") else kind
            found.append(Block(kind, token.content, file))
    return [one for one in found if not kinds or one.kind in kinds]


def commands(block: Block) -> Iterator[str]:
    """Yield the commands of a console block or of a session, without comments."""
    prompt = "$ " if block.kind == "session" else ""
    for line in block.text.replace("\\\n", " ").splitlines():
        if line.startswith(prompt) and line.strip():
            yield line.removeprefix(prompt)


def arguments(command: str) -> list[str]:
    """Return the words of a command."""
    return shlex.split(command, comments=True)


def parse(words: Sequence[str]) -> None:
    """Parse the arguments of ``clusterbandits``, and raise the error of a wrong one."""
    command: Any = typer.main.get_command(app)
    context, rest = None, ["clusterbandits", *words]
    while rest:
        name, *own = rest
        context = command.make_context(name, own, parent=context)
        rest = [*getattr(context, "_protected_args", ()), *context.args]
        if rest:
            command = command.resolve_command(context, rest)[1]


def session(block: Block) -> list[tuple[str, str]]:
    """Return each command of a session with its output."""
    return re.findall(r"^\$ (.*?)\n(.*?)(?=^\$ |\Z)", block.text, flags=re.MULTILINE | re.DOTALL)


def unknown_extras(requirement: str) -> set[str]:
    """Return the extras in a requirement of pip that the package does not have."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = re.fullmatch(r"(?:clusterbandits|\.)(?:\[(.*)\])?", requirement)
    assert named is not None, requirement
    return set((named[1] or "").split(",")) - {""} - set(project["optional-dependencies"])
