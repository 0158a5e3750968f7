"""``python -m clusterbandits`` is the command line."""

from clusterbandits.cli.main import run

run()
