"""Advice as files: a picture of arms and safe widths, and a study that simulates its policies."""

from __future__ import annotations

import json
import math
import os
import shlex
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbandits.families import Bernoulli
from clusterbandits.report.arms_panel import arms_figure, arms_panel
from clusterbandits.report.picture import check_picture_file, save_figure
from clusterbandits.serial import number_text
from clusterbandits.simulation.statistics import count_text
from clusterbandits.studies.arms_view import MOST_GROUPS, arms_groups
from clusterbandits.studies.history import TABLES
from clusterbandits.studies.table_file import TableFile, as_table_file
from clusterbandits.tables import plain
from clusterbandits.validate import invalid
from clusterbandits.wording import is_text

if TYPE_CHECKING:
    from clusterbandits.report.picture import Picture
    from clusterbandits.report.views import ArmsGroup
    from clusterbandits.studies.advise import Advice

_RUNS = 48
_PLAYED = 5
_WIDE = 100


def arms_picture(advice: Advice, name: str = "arms") -> Picture:
    """Return the picture for a page."""
    return arms_panel(
        drawn_groups(advice), name=name, title=_title(advice), quantity=advice.history.mean_name
    )


def save_arms_picture(advice: Advice, file: str | os.PathLike[str]) -> None:
    """Write the picture of an advice as PNG, SVG or PDF, completely or not at all.

    Parameters
    ----------
    advice
        Result of ``advise``.
    file
        File to write; its suffix selects the format.
    """
    path = check_picture_file(file, "file", "save_arms_picture")
    save_figure(arms_figure(drawn_groups(advice), _title(advice), advice.history.mean_name), path)


def drawn_groups(advice: Advice) -> tuple[ArmsGroup, ...]:
    """Return the numbers of the picture."""
    return arms_groups(advice.history, advice.widths, advice.confidence)


def _title(advice: Advice) -> str:
    arms, groups = len(advice.history.arms), len(advice.groups)
    shown = f", the best {MOST_GROUPS} of them" if groups > MOST_GROUPS else ""
    return f"{count_text(arms, 'arm')} in {count_text(groups, 'group')}{shown}"


def study_text(advice: Advice, table: Path | TableFile, study: Path) -> str:
    """Return a study that simulates the best policies with the safe widths at the estimated means.

    Parameters
    ----------
    advice
        Result of ``advise``.
    table
        File of the history.
    study
        File of the study; the path of the table in it is relative to its folder.

    Examples
    --------
    >>> from clusterbandits import advise
    >>> rows = {"arm": ["a", "b"], "group": ["x", "y"], "trials": [50, 50], "successes": [5, 20]}
    >>> text = study_text(advise(rows, horizon=100, worlds=2), Path("ads.csv"), Path("next.toml"))
    >>> print(text.partition("[[instances]]")[2])
    <BLANKLINE>
    name = "ads"
    table = "ads.csv"
    start = "ads.csv"
    <BLANKLINE>
    # Safe with 0.95 confidence.
    [[instances.widths]]
    name = "safe"
    groups = { "x" = 0, "y" = 0 }
    ...
    """
    described = as_table_file(table)
    file = described.path or Path("history.csv")
    named, name = _named_table(file, described, study), plain(file.stem).strip() or "history"
    bounded = "" if isinstance(advice.history.family, Bernoulli) else advice.history.family.spec
    family = f"family = {toml_text(bounded)}\n" if bounded else ""
    said = f"Recommended: {advice.recommended}. {advice.reason}"
    widths = ", ".join(f"{toml_text(name)} = {_number(width)}" for name, width in advice.widths.items())
    return f"""# Made by clusterbandits advise. Run it:  clusterbandits run {plain(shlex.quote(study.name))}
{textwrap.fill(plain(said), _WIDE, initial_indent="# ", subsequent_indent="# ")}

title = {toml_text(f"What {name} advises")}
horizon = {advice.settings.horizon}
runs = {_RUNS}
seed = {advice.settings.seed}
policies = {json.dumps(_played(advice))}

[[instances]]
name = {toml_text(name)}
table = {named}
start = {named}
{family}
# Safe with {advice.confidence:g} confidence.
[[instances.widths]]
name = "safe"
groups = {{ {widths} }}

# Other widths to compare with; the estimated spans, factor = 1.0, are not safe.
# [[instances.widths]]
# factor = 2.0
"""


def _played(advice: Advice) -> list[str]:
    """Return the recommended policy, and the others with the least scores."""
    ranked = sorted(advice.candidates, key=lambda one: (one.policy != advice.recommended, one.score))
    return [one.policy for one in ranked[:_PLAYED]]


def _named_table(table: Path, described: TableFile, study: Path) -> str:
    """Return the table in TOML: a path, or a TOML table with the path and the settings for reading it."""
    path, settings = toml_text(_table_path(table, study)), described.settings()
    if not settings:
        return path
    names = described.columns.items()
    columns = ", ".join(f"{toml_text(role)} = {toml_text(name)}" for role, name in names)
    values = {key: f"{{ {columns} }}" if key == "columns" else toml_text(settings[key]) for key in settings}
    return f"{{ file = {path}, {', '.join(f'{key} = {value}' for key, value in values.items())} }}"


def _table_path(table: Path, study: Path) -> str:
    """Return the path of the table from the folder of the study, never the name of a bundled table."""
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
