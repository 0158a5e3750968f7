"""What kernels of examples run when they start: shell cells whose output is shown in one piece."""

import subprocess
import sys

from IPython.core.magic import register_cell_magic


@register_cell_magic
def bash(line: str, cell: str) -> None:
    """Run a cell in a shell. IPython's own magic cuts the output after every 100 characters."""
    command = ["bash", "-c", cell, "bash", *line.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    sys.stderr.write(done.stderr)
    sys.stdout.write(done.stdout)
    done.check_returncode()
