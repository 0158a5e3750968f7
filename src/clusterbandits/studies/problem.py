"""A problem as people write it: one line of means, or a small TOML file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterbandits.instance import Instance
from clusterbandits.studies.toml_file import parse_toml, read_text
from clusterbandits.validate import Described, invalid

if TYPE_CHECKING:
    from clusterbandits.clusters import Clusters

_EXAMPLE = 'means such as "0.41,0.42; 0.43,0.44", groups parted by semicolons, or a TOML file'


@dataclass(frozen=True)
class Problem:
    """The truth and what a learner is told of it."""

    instance: Instance
    clusters: Clusters


def read_problem(
    source: str, widths: str | None = None, family: str | None = None, owner: str = "bound"
) -> Problem:
    """Read a problem from a line of means or from the TOML file a path names.

    Parameters
    ----------
    source
        Means with commas between arms and semicolons between clusters; or the path of a TOML file.
    widths
        Widths with commas between them, or one for all; by default those of the file, or the true spans.
    family
        A family as ``as_family`` reads it; by default that of the file, or Bernoulli.
    owner
        Who is named in errors.

    Examples
    --------
    >>> read_problem("0.41,0.42; 0.45", widths="0.03").clusters
    Clusters([2, 1], widths=[0.03, 0.03])
    """
    described: dict[str, Any] = (
        _from_file(Path(source)) if _is_path(source) else {"means": _means(source, owner)}
    )
    named = described.get("family", "bernoulli") if family is None else family
    instance = Instance(described["means"], family=named)
    if widths is None:
        return Problem(instance, instance.clusters(_file_widths(described, instance)))
    told = _numbers("widths", widths, owner)
    return Problem(instance, instance.clusters(told[0] if len(told) == 1 else told))


def _is_path(source: str) -> bool:
    if source.endswith(".toml"):
        return True
    try:
        return bool(source.strip()) and Path(source).is_file()
    except (OSError, ValueError):
        return False


def _means(text: str, owner: str) -> list[list[float]]:
    return [_numbers("MEANS|FILE", part, owner) for part in text.strip().strip(";").split(";")]


def _numbers(parameter: str, text: str, owner: str) -> list[float]:
    allowed = _EXAMPLE if parameter == "MEANS|FILE" else "numbers with commas between them"
    values = []
    for part in text.split(","):
        try:
            values.append(float(part))
        except ValueError:
            given = Described(f"'{part.strip()}' in '{text.strip()}'")
            raise invalid(parameter, owner, allowed, given) from None
    return values


def _file_widths(described: dict[str, Any], instance: Instance) -> list[Any]:
    told = described.get("widths") or [None] * len(instance.spans)
    return [span if width is None else width for width, span in zip(told, instance.spans, strict=True)]


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
    unknown = sorted(set(data) - allowed)
    if unknown:
        raise invalid(table, path.name, f"made of the keys {', '.join(sorted(allowed))} alone", unknown[0])
