"""Partitions of arms into clusters."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass
from itertools import chain, pairwise
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from clusterbandits.limits import MOST_ARMS
from clusterbandits.validate import Described, as_mapping, invalid, is_list, whole
from clusterbandits.wording import is_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

Label: TypeAlias = str | int

#: The names of the parts of a partition in saved files.
DATA_KEYS = ["clusters", "arms", "membership"]


@dataclass(frozen=True)
class Partition:
    """A partition of arms into clusters; the order of the arms is kept.

    Parameters
    ----------
    clusters
        Names of the clusters.
    arms
        Labels of the arms.
    membership
        Number of the cluster of each arm.
    """

    clusters: tuple[Label, ...]
    arms: tuple[Label, ...]
    membership: tuple[int, ...]

    @classmethod
    def of_groups(cls, groups: object, owner: str) -> Partition:
        """Return the partition of sizes ``[3, 2]``, labels ``[["a", "b"], ["c"]]``, or a mapping to them."""
        names: list[object] | None = None
        named = as_mapping(groups)
        if named is not None:
            names, parts = list(named), list(named.values())
        elif is_list(groups):
            parts = list(groups)
        else:
            raise invalid("arms", owner, "a list of cluster sizes or groups, or a mapping", groups)
        if not parts:
            raise invalid("arms", owner, "at least one cluster", groups)
        if any(is_list(part) for part in parts):
            members = [_labels("arms", part, owner) for part in parts]
            check_arms("arms", owner, sum(map(len, members)))
            return cls._of_members(_names(names, len(parts), owner), members, owner)
        sizes = [whole("arms", owner, part, least=1) for part in parts]
        check_arms("arms", owner, sum(sizes))
        return cls._of_sizes(sizes, _names(names, len(parts), owner))

    @classmethod
    def _of_sizes(cls, sizes: Sequence[int], names: tuple[Label, ...]) -> Partition:
        membership = np.repeat(np.arange(len(sizes)), sizes)
        return cls(names, tuple(range(membership.size)), tuple(membership.tolist()))

    @classmethod
    def of_labels(cls, labels: object, arms: object, owner: str) -> Partition:
        """Return the partition from the cluster of each arm, as in ``["red", "red", "blue"]``."""
        groups = _labels("labels", labels, owner)
        if not groups:
            raise invalid("labels", owner, "the cluster of every arm, for at least one arm", labels)
        check_arms("labels", owner, len(groups))
        names = _labels("arms", range(len(groups)) if arms is None else arms, owner)
        if len(names) != len(groups):
            raise invalid(
                "arms", owner, f"one label for each of {len(groups)} arms", Described(f"{len(names)}")
            )
        number = {name: i for i, name in enumerate(dict.fromkeys(groups))}
        return cls(tuple(number), _distinct("arms", names, owner), tuple(number[name] for name in groups))

    @classmethod
    def of_dict(cls, data: Mapping[str, Any], owner: str) -> Partition:
        """Return the partition from the three lists of ``to_dict``, which are checked."""
        names = _distinct("clusters", _labels("clusters", data["clusters"], owner), owner)
        arms = _distinct("arms", _labels("arms", data["arms"], owner), owner)
        check_arms("arms", owner, len(arms))
        given = _labels("membership", data["membership"], owner)
        numbers = tuple(whole("membership", owner, c, least=0) for c in given)
        if not arms or len(numbers) != len(arms) or set(numbers) != set(range(len(names))):
            allowed = f"a cluster number below {len(names)} for each of {len(arms)} arms, none left empty"
            raise invalid("membership", owner, allowed, given)
        return cls(names, arms, numbers)

    def to_dict(self) -> dict[str, Any]:
        """Return the partition as plain data for ``of_dict``."""
        return {key: list(getattr(self, key)) for key in DATA_KEYS}

    @classmethod
    def _of_members(cls, names: tuple[Label, ...], members: list[list[Label]], owner: str) -> Partition:
        for name, part in zip(names, members, strict=True):
            if not part:
                raise invalid("arms", owner, "at least one arm per cluster", Described(f"none in {name!r}"))
        arms = _distinct("arms", list(chain.from_iterable(members)), owner)
        membership = tuple(i for i, part in enumerate(members) for _ in part)
        return cls(names, arms, membership)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of arms of each cluster."""
        return tuple(len(part) for part in self.members)

    @functools.cached_property
    def members(self) -> tuple[NDArray[np.intp], ...]:
        """The numbers of the arms of each cluster."""
        order = np.argsort(self.membership, kind="stable")
        counts = np.bincount(self.membership, minlength=len(self.clusters))
        return tuple(np.split(order, np.cumsum(counts)[:-1]))

    @property
    def cluster_names(self) -> list[Label]:
        """The name of the cluster of each arm."""
        return [self.clusters[c] for c in self.membership]

    @functools.cached_property
    def groups(self) -> dict[Label, tuple[Label, ...]]:
        """The arms of each cluster."""
        arms = self.arms
        parts = zip(self.clusters, self.members, strict=True)
        return {name: tuple(arms[k] for k in part.tolist()) for name, part in parts}

    @functools.cached_property
    def anonymous(self) -> bool:
        """Whether the labels of the arms are their numbers."""
        return self.arms == tuple(range(len(self.arms)))

    @property
    def numbered(self) -> bool:
        """Whether the names of the clusters are their numbers."""
        return self.clusters == tuple(range(len(self.clusters)))

    @property
    def contiguous(self) -> bool:
        """Whether the arms of each cluster are adjacent, with the clusters in order."""
        return all(a <= b for a, b in pairwise(self.membership))


def check_arms(parameter: str, owner: str, arms: int, most: int = MOST_ARMS) -> None:
    """Refuse too many arms, before memory is allocated for them."""
    if arms > most:
        raise invalid(parameter, owner, f"at most {most:,} arms in total", Described(f"{arms:,}"))


def _names(names: list[object] | None, count: int, owner: str) -> tuple[Label, ...]:
    return tuple(range(count)) if names is None else tuple(_label("arms", name, owner) for name in names)


def _labels(parameter: str, values: object, owner: str) -> list[Label]:
    if not is_list(values):
        raise invalid(parameter, owner, "lists of labels", values)
    return [_label(parameter, value, owner) for value in values]


def _distinct(parameter: str, labels: list[Label], owner: str) -> tuple[Label, ...]:
    if len(set(labels)) < len(labels):
        twice = next(label for label, times in Counter(labels).items() if times > 1)
        raise invalid(parameter, owner, "different labels", Described(f"{twice!r} twice"))
    return tuple(labels)


def _label(parameter: str, value: object, owner: str) -> Label:
    if isinstance(value, str):
        if not is_text(value):
            raise invalid(parameter, owner, "labels that can be encoded as UTF-8", value)
        return str(value)
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    raise invalid(parameter, owner, "labels that are text or whole numbers", value)
