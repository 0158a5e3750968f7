"""Show cells of shell commands as commands: the first line ``%%bash`` makes them run and is not shown."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_MAGIC = "%%bash\n"


def show_commands(app: Sphinx, document: nodes.document) -> None:
    """Remove the magic line from every shell cell."""
    del app
    for block in document.findall(nodes.literal_block):
        text = block.astext()
        if text.startswith(_MAGIC):
            commands = text.removeprefix(_MAGIC)
            block.children = [nodes.Text(commands)]
            block.rawsource = commands
            block["language"] = "bash"


def setup(app: Sphinx) -> dict[str, Any]:
    """Show commands without the magic line, and let cells find the commands of this environment."""
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    app.connect("doctree-read", show_commands)
    return {"parallel_read_safe": True}
