"""From advice to a study: the table, the policies and the widths that were found safe, ready to be played."""

from __future__ import annotations

import json
import math
import os
import shlex
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbandits.serial import number_text
from clusterbandits.studies.tables import TABLES
from clusterbandits.tables import plain
from clusterbandits.validate import invalid
from clusterbandits.wording import is_text

if TYPE_CHECKING:
    from clusterbandits.studies.advice.advice import Advice

_POLICIES = ("kl-ucb", "clus-ucb", "clus-opt", "clus-ucb-hedged")
_RUNS = 48
_WIDE = 100


def study_text(advice: Advice, table: Path, study: Path) -> str:
    """Return a study that plays the policies with the safe widths against the estimated means.

    Parameters
    ----------
    advice
        What ``advise`` returned.
    table
        The file of the history.
    study
        The file that the study will be: the path of the table begins at its folder.

    Examples
    --------
    >>> from clusterbandits import advise
    >>> rows = {"arm": ["a", "b"], "group": ["x", "y"], "trials": [50, 50], "successes": [5, 20]}
    >>> text = study_text(advise(rows, horizon=100, runs=2), Path("ads.csv"), Path("next.toml"))
    >>> print(text.partition("policies")[2])
     = ["kl-ucb", "clus-ucb", "clus-opt", "clus-ucb-hedged"]
    <BLANKLINE>
    [[instances]]
    name = "ads"
    table = "ads.csv"
    <BLANKLINE>
    # Safe with 0.95 confidence.
    [[instances.widths]]
    name = "safe"
    groups = { "x" = 0, "y" = 0 }
    ...
    """
    path, name = _table_path(table, study), plain(table.stem).strip() or "history"
    said = f"Recommended: {advice.recommended}. {advice.reason}"
    widths = ", ".join(f"{toml_text(name)} = {_number(width)}" for name, width in advice.widths.items())
    return f"""# Made by: clusterbandits advise. Run it:  clusterbandits run {plain(shlex.quote(study.name))}
{textwrap.fill(plain(said), _WIDE, initial_indent="# ", subsequent_indent="# ")}

title = {toml_text(f"What {name} advises")}
horizon = {advice.game.horizon}
runs = {_RUNS}
seed = {advice.game.seed}
policies = {json.dumps(list(_POLICIES))}

[[instances]]
name = {toml_text(name)}
table = {toml_text(path)}

# Safe with {advice.confidence:g} confidence.
[[instances.widths]]
name = "safe"
groups = {{ {widths} }}

# Other widths to compare with; the estimated spans, factor = 1.0, are not safe.
# [[instances.widths]]
# factor = 2.0
"""


def _table_path(table: Path, study: Path) -> str:
    """Return the path of the table as the study names it: not by the name of a bundled table."""
    path = Path(os.path.relpath(table, study.parent)).as_posix()
    if not is_text(path):
        raise invalid("table", "advise --study", "a file whose path is text in UTF-8", path)
    return f"./{path}" if path in TABLES else path


def toml_text(value: object) -> str:
    r"""Return text as TOML writes it: as JSON does, and without DEL, which JSON leaves as it is.

    Examples
    --------
    >>> print(toml_text('a "b" \\ \n \x7f'))
    "a \"b\" \\ \n \u007f"
    """
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _number(width: float) -> str:
    return "inf" if math.isinf(width) else number_text(width)
