"""``Clusters``: which arms form a cluster, and the declared widths."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.limits import LARGEST_MEAN
from clusterbandits.partition import DATA_KEYS, Label, Partition
from clusterbandits.plotting import drawn
from clusterbandits.serial import read_json, restore_number, to_json
from clusterbandits.tables import Table, cell
from clusterbandits.validate import Described, as_float, as_mapping, check_keys, invalid, is_list, unknown
from clusterbandits.wording import listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from clusterbandits.plotting import Axes

#: The share of a width by which a span may exceed it, in addition to the rounding error of the largest mean.
TOLERANCE = 1e-9
_ROUNDING = 4 * np.finfo(float).eps
_SHOWN_ARMS = 24


@dataclass(frozen=True, init=False, repr=False)
class Clusters:
    """A partition of the arms into clusters, with the declared width of each cluster.

    The width β of a cluster is the largest possible difference between the means of its arms.

    Parameters
    ----------
    arms
        Cluster sizes for anonymous arms 0, 1, …, as in ``[3, 2]``; labels of arms, as in
        ``[["a", "b"], ["c"]]``; or a mapping from cluster names to either.
    widths
        One width for all clusters, a list with one width per cluster, or a mapping from cluster names to
        widths; from 0 (all means of the cluster are equal) to infinity (no restriction, the default).

    Examples
    --------
    >>> Clusters({"red": ["a", "b"], "blue": ["c"]}, widths={"red": 0.03, "blue": 0.1})
    Clusters({'red': ['a', 'b'], 'blue': ['c']}, widths=[0.03, 0.1])
    >>> print(Clusters([2, 2], widths=0.02).fits([0.80, 0.84, 0.81, 0.82]))
    Cluster 0 spans 0.04, 0.02 more than its width 0.02.
    """

    partition: Partition
    widths: tuple[float, ...]

    def __init__(self, arms: object, widths: object = math.inf) -> None:
        partition = arms if isinstance(arms, Partition) else Partition.of_groups(arms, "Clusters")
        object.__setattr__(self, "partition", partition)
        object.__setattr__(self, "widths", _read_widths(widths, partition.clusters))

    @classmethod
    def from_labels(cls, labels: object, widths: object = math.inf, arms: object = None) -> Clusters:
        """Return clusters from the cluster of each arm, as in a column of a table.

        Parameters
        ----------
        labels
            Cluster of each arm; the arms of a cluster need not be adjacent.
        widths
            As for the class; a list is in the order in which clusters first appear.
        arms
            Labels of the arms, by default 0, 1, …

        Examples
        --------
        >>> Clusters.from_labels(["red", "blue", "red"], widths=0.1).members("red")
        (0, 2)
        """
        return cls(Partition.of_labels(labels, arms, "Clusters"), widths)

    @property
    def names(self) -> tuple[Label, ...]:
        """The names of the clusters."""
        return self.partition.clusters

    @property
    def arms(self) -> tuple[Label, ...]:
        """The labels of the arms."""
        return self.partition.arms

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of arms of each cluster."""
        return self.partition.sizes

    def members(self, name: Label) -> tuple[Label, ...]:
        """Return the arms of one cluster."""
        if not (isinstance(name, str | int) and name in self.names):
            raise unknown("cluster", name, self.names, parameter="name", owner="Clusters.members")
        return self.partition.groups[name]

    def with_arm(self, arm: Label, cluster: Label) -> Clusters:
        """Return these clusters with another arm at the end of an existing cluster.

        Examples
        --------
        >>> Clusters({"red": ["a", "b"], "blue": ["c"]}, widths=0.1).with_arm("d", "red").members("red")
        ('a', 'b', 'd')
        """
        if not (isinstance(cluster, str | int) and cluster in self.names):
            raise unknown("cluster", cluster, self.names, owner="Clusters.with_arm")
        labels = [*self.partition.cluster_names, cluster]
        return self._regrouped(Partition.of_labels(labels, [*self.arms, arm], "Clusters.with_arm"))

    def without_arm(self, arm: Label) -> Clusters:
        """Return these clusters without an arm; a cluster is removed with its last arm."""
        if not (isinstance(arm, str | int) and arm in self.arms):
            raise unknown("arm", arm, self.arms, owner="Clusters.without_arm")
        if len(self.arms) == 1:
            raise invalid("arm", "Clusters.without_arm", "one of at least two arms", arm)
        return self.limited_to([k for k, label in enumerate(self.arms) if label != arm])

    def limited_to(self, numbers: Sequence[int]) -> Clusters:
        """Return the clusters restricted to some arms, given by number; empty clusters are removed.

        Examples
        --------
        >>> Clusters({"red": ["a", "b"], "blue": ["c"]}, widths=0.1).limited_to([0, 1])
        Clusters({'red': ['a', 'b']}, widths=[0.1])
        """
        labels, arms = self.partition.cluster_names, self.arms
        return self._regrouped(
            Partition.of_labels([labels[k] for k in numbers], [arms[k] for k in numbers], "Clusters")
        )

    def _regrouped(self, partition: Partition) -> Clusters:
        widths = dict(zip(self.names, self.widths, strict=True))
        return Clusters(partition, [widths[name] for name in partition.clusters])

    def fits(self, means: object) -> WidthFit:
        """Return which clusters have a span above their declared width, and the excess.

        Parameters
        ----------
        means
            Means of the arms in the order of ``arms``, flat or grouped.
        """
        values = self._flat(means)
        parts = [values[part] for part in self.partition.members]
        spans = tuple(float(np.ptp(part)) for part in parts)
        slack = [_ROUNDING * float(np.abs(part).max()) for part in parts]
        over = zip(spans, self.widths, slack, strict=True)
        excess = tuple(s - w if s > w * (1 + TOLERANCE) + rounding else 0.0 for s, w, rounding in over)
        return WidthFit(self.names, self.widths, spans, excess)

    def _flat(self, means: object) -> NDArray[np.float64]:
        plain = isinstance(means, np.ndarray) and means.ndim == 1 and means.dtype == np.float64
        flat = np.asarray(means) if plain else self._gathered(means)
        if flat.size != len(self.arms):
            raise invalid("means", "Clusters.fits", f"{len(self.arms)} means, one per arm", means)
        if not np.all(np.abs(flat) <= LARGEST_MEAN):
            raise invalid("means", "Clusters.fits", f"finite numbers of at most {LARGEST_MEAN:g}", means)
        return flat

    def _gathered(self, means: object) -> NDArray[np.float64]:
        rows = list(means) if is_list(means) else [means]
        if not any(map(is_list, rows)):
            return np.array([as_float(mean) for mean in rows])
        groups = [list(row) if is_list(row) else [row] for row in rows]
        if tuple(map(len, groups)) != self.sizes:
            given = Described(f"groups of {[len(group) for group in groups]}")
            raise invalid("means", "Clusters.fits", f"grouped as the clusters, {list(self.sizes)}", given)
        flat = np.empty(len(self.arms))
        for part, group in zip(self.partition.members, groups, strict=True):
            flat[part] = [as_float(mean) for mean in group]
        return flat

    def to_dict(self) -> dict[str, Any]:
        """Return the clusters as plain data for ``from_dict``."""
        return {**self.partition.to_dict(), "widths": list(self.widths)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Clusters:
        """Return the clusters that ``to_dict`` described."""
        check_keys([*DATA_KEYS, "widths"], "Clusters.from_dict", data)
        return cls(Partition.of_dict(data, "Clusters"), data["widths"])

    def to_json(self) -> str:
        """Return strict JSON; an infinite width is the text "inf"."""
        return to_json(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Clusters:
        """Return the clusters that ``to_json`` wrote.

        Examples
        --------
        >>> clusters = Clusters([2, 1], widths=[0.5, float("inf")])
        >>> Clusters.from_json(clusters.to_json()) == clusters
        True
        """
        return cls.from_dict(read_json(text, "Clusters.from_json"))

    def __repr__(self) -> str:
        if len(self.arms) > _SHOWN_ARMS:
            widths = f"{min(self.widths):g} to {max(self.widths):g}"
            return f"<Clusters: {len(self.arms)} arms in {len(self.names)} clusters, widths {widths}>"
        widths = f"widths={list(self.widths)!r}"
        if not self.partition.contiguous:
            labels = self.partition.cluster_names
            arms = "" if self.partition.anonymous else f", arms={list(self.arms)!r}"
            return f"Clusters.from_labels({labels!r}, {widths}{arms})"
        numbered = self.partition.numbered
        if self.partition.anonymous:
            sizes = list(self.sizes) if numbered else dict(zip(self.names, self.sizes, strict=True))
            return f"Clusters({sizes!r}, {widths})"
        groups = {name: list(arms) for name, arms in self.partition.groups.items()}
        return f"Clusters({list(groups.values()) if numbered else groups!r}, {widths})"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the declared width of every cluster, with the names of its arms; return the Matplotlib axes.

        Parameters
        ----------
        ax
            The axes to draw on; by default those of a new figure.

        Examples
        --------
        >>> ax = Clusters({"red": ["a", "b"], "blue": ["c"]}, widths={"red": 0.03, "blue": 0.1}).plot()
        >>> ax.get_xlabel(), [text.get_text() for text in ax.texts][:3]
        ('width', ['red: 2 arms', 'a, b', '0.03'])
        """
        return drawn("clusters", self, ax)

    def _repr_html_(self) -> str:
        rows = tuple(
            (name, len(arms), width, ", ".join(map(str, arms)))
            for (name, arms), width in zip(self.partition.groups.items(), self.widths, strict=True)
        )
        columns = ("cluster", "arms", "width", "names of the arms")
        return Table(columns, rows, title="Clusters and declared widths").html()


@dataclass(frozen=True)
class WidthFit:
    """A comparison of the spans of means with the declared widths; true if all clusters fit."""

    names: tuple[Label, ...]
    widths: tuple[float, ...]
    spans: tuple[float, ...]
    #: The excess of each span over its width, 0 if it fits.
    excess: tuple[float, ...]

    def __bool__(self) -> bool:
        return not any(self.excess)

    @property
    def violated(self) -> dict[Label, float]:
        """The clusters whose span exceeds the declared width, each with the excess."""
        return {name: over for name, over in zip(self.names, self.excess, strict=True) if over}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the span of every cluster beside its declared width; return the Matplotlib axes.

        Parameters
        ----------
        ax
            The axes to draw on; by default those of a new figure.

        Examples
        --------
        >>> ax = Clusters([2, 2], widths=0.02).fits([0.80, 0.84, 0.81, 0.82]).plot()
        >>> [text.get_text() for text in ax.texts if text.get_weight() == "bold"]
        ['cluster 0: width too small by 0.02', 'cluster 1']
        """
        return drawn("width_fit", self, ax)

    def _repr_html_(self) -> str:
        columns = ("cluster", "span", "width", "too small by")
        excess = [over or None for over in self.excess]
        rows = tuple(zip(self.names, self.spans, self.widths, excess, strict=True))
        return Table(columns, rows, title="Spans of the means and declared widths").html()

    def __str__(self) -> str:
        rows = zip(self.names, self.spans, self.excess, self.widths, strict=True)
        return "\n".join(f"{exceeds(*row)}." for row in rows if row[2]) or "Every cluster fits its width."


def exceeds(name: Label, span: float, excess: float, width: float) -> str:
    """Return a clause that states by how much a span exceeds its declared width."""
    return f"Cluster {cell(name)} spans {cell(span)}, {cell(excess)} more than its width {cell(width)}"


def _read_widths(widths: object, names: tuple[Label, ...]) -> tuple[float, ...]:
    named = as_mapping(widths)
    if named is not None:
        if set(named) != set(names):
            expected = f"a mapping with one width for each of {listed(map(repr, names))}"
            given = Described(f"widths for [{listed(map(repr, named))}]")
            raise invalid("widths", "Clusters", expected, given)
        values = [named[name] for name in names]
    elif is_list(widths):
        values = list(widths)
        if len(values) != len(names):
            expected = f"one number, or one for each of the {len(names)} clusters"
            raise invalid("widths", "Clusters", expected, Described(f"{len(values)} widths"))
    else:
        values = [widths] * len(names)
    return tuple(_read_width(value) for value in values)


def _read_width(value: object) -> float:
    width = as_float(restore_number(value))
    if math.isnan(width) or width < 0:
        raise invalid("widths", "Clusters", "numbers from 0 to infinity", value)
    return abs(width)
