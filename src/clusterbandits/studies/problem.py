"""A problem: one line of means, a small TOML file, or a table of trials whose estimates are the means."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterbandits.instance import Instance
from clusterbandits.studies.table_file import Naming, TableFile, as_table_file
from clusterbandits.studies.toml_file import parse_toml, read_text
from clusterbandits.validate import Described, invalid, shown, unknown

if TYPE_CHECKING:
    from clusterbandits.clusters import Clusters

_PROBLEM = "The problem"
_EXAMPLE = 'means such as "0.41,0.42; 0.43,0.44" (semicolons between clusters), or the name of a file'
#: Suffixes of files with tables; other files are TOML.
_TABLES = (".csv", ".tsv", ".txt", ".xlsx", ".parquet", ".pq")
_SPANS = "spans"


@dataclass(frozen=True)
class Problem:
    """The environment and the clusters with declared widths."""

    instance: Instance
    clusters: Clusters
    #: The sources of means and widths, if they are not obvious.
    notes: tuple[str, ...] = ()


def read_problem(
    source: str | TableFile, widths: str | None = None, family: str | None = None, owner: str = "bound"
) -> Problem:
    """Read a problem from a line of means, a TOML file, or a table of trials.

    Parameters
    ----------
    source
        Means, with commas between arms and semicolons between clusters, or the path of a TOML file or a
        table.
    widths
        Widths separated by commas, one for all, or ``"spans"`` for the true spans; by default those of the
        TOML file, the true spans for a line of means, and safe widths for a table.
    family
        Family as ``as_family`` reads it; by default that of the file, or Bernoulli.
    owner
        Name of the calling function, for error messages.

    Examples
    --------
    >>> read_problem("0.41,0.42; 0.45", widths="0.03").clusters
    Clusters([2, 1], widths=[0.03, 0.03])
    """
    if isinstance(source, TableFile) or is_table(source):
        return _from_table(source, widths, family, owner)
    described: dict[str, Any] = (
        _from_file(Path(source)) if _is_path(source) else {"means": _means(source, owner)}
    )
    named = described.get("family", "bernoulli") if family is None else family
    instance = Instance(described["means"], family=named)
    if widths is None:
        return Problem(instance, instance.clusters(_file_widths(described, instance)))
    return Problem(instance, _declared(instance, widths, owner))


def is_table(source: str) -> bool:
    """Return whether a problem is a table of trials, by the suffix of the file."""
    return Path(source).suffix.lower() in _TABLES


def _from_table(source: str | TableFile, widths: str | None, family: str | None, owner: str) -> Problem:
    from clusterbandits.studies.history import read_history

    table = as_table_file(source)
    history = read_history(table, owner, family=family)
    untried = [arm for arm, trials in zip(history.arms, history.trials, strict=True) if not trials]
    if untried:
        found = f"Arm {shown(untried[0])} has none"
        raise Naming.of(table, "table", owner).error("every arm must have at least one trial", found)
    instance, file = history.instance(), table.path
    means = f"Means: the estimates of {'the table' if file is None else file}."
    if widths is not None:
        return Problem(instance, _declared(instance, widths, owner), (means,))
    said = f"{means} Widths: safe widths from the same table, all of which hold with 95 % confidence; "
    return Problem(
        instance, history.clusters(), (f"{said}--widths spans uses the spans of the estimates instead.",)
    )


def _declared(instance: Instance, widths: str, owner: str) -> Clusters:
    if widths.strip() == _SPANS:
        return instance.clusters()
    declared = _numbers("widths", widths, owner)
    return instance.clusters(declared[0] if len(declared) == 1 else declared)


def _is_path(source: str) -> bool:
    if source.endswith(".toml"):
        return True
    try:
        return bool(source.strip()) and Path(source).is_file()
    except (OSError, ValueError):
        return False


def _means(text: str, owner: str) -> list[list[float]]:
    return [_numbers(_PROBLEM, part, owner) for part in text.strip().strip(";").split(";")]


def _numbers(parameter: str, text: str, owner: str) -> list[float]:
    allowed = _EXAMPLE if parameter == _PROBLEM else "numbers separated by commas"
    values = []
    for part in text.split(","):
        try:
            values.append(float(part))
        except ValueError:
            place = "" if part == text else f" in '{text.strip()}'"
            given = Described(f"'{part.strip()}'{place}")
            raise invalid(parameter, owner, allowed, given) from None
    return values


def _file_widths(described: dict[str, Any], instance: Instance) -> list[Any]:
    declared = described.get("widths") or [None] * len(instance.spans)
    return [span if width is None else width for width, span in zip(declared, instance.spans, strict=True)]


def _from_file(path: Path) -> dict[str, Any]:
    """Return means by cluster and arm, the widths of the clusters, and the family if the file names one."""
    data = parse_toml(read_text(path, "The file"), f"The file '{path}'")
    _check_keys(path, "file", data, {"family", "clusters"})
    clusters = data.get("clusters")
    if not isinstance(clusters, dict) or not clusters:
        raise invalid("clusters", path.name, "a table with one table for each cluster", clusters)
    for name, cluster in clusters.items():
        if not isinstance(cluster, dict) or "means" not in cluster:
            raise invalid(
                f"clusters.{name}", path.name, "a table with the key means, and perhaps width", cluster
            )
        _check_keys(path, f"clusters.{name}", cluster, {"means", "width"})
        if not isinstance(cluster["means"], list | dict):
            raise invalid(f"clusters.{name}.means", path.name, "a list or a table of means", cluster["means"])
    described: dict[str, Any] = {
        "means": {name: cluster["means"] for name, cluster in clusters.items()},
        "widths": [cluster.get("width") for cluster in clusters.values()],
    }
    return described | ({"family": data["family"]} if "family" in data else {})


def _check_keys(path: Path, table: str, data: dict[str, Any], allowed: set[str]) -> None:
    for key in data:
        if key not in allowed:
            raise unknown("key", key, sorted(allowed), f"in '{table}' of {path.name}", owner=path.name)
