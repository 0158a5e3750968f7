"""The environment: true means and reward distributions of the arms."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from clusterbandits.clusters import Clusters
from clusterbandits.distributions import Distribution
from clusterbandits.families import Family, as_family
from clusterbandits.partition import DATA_KEYS, Label, Partition
from clusterbandits.plotting import drawn
from clusterbandits.tables import Table
from clusterbandits.validate import Described, as_float, as_mapping, check_keys, invalid, is_list

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from clusterbandits.plotting import Axes

    Floats = NDArray[np.float64]

_SHOWN_ARMS = 24


class Instance:
    """A bandit environment: the true means of the arms, in groups, and a reward family.

    Groups describe the environment; a policy does not see them but is given ``Clusters``.

    Parameters
    ----------
    means
        Means in groups, ``[[0.41, 0.42], [0.45]]``; in named groups,
        ``{"red": [0.41, 0.42], "blue": [0.45]}``; with labels of arms,
        ``{"red": {"a": 0.41, "b": 0.42}, "blue": {"c": 0.45}}``; or flat, ``[0.41, 0.42, 0.45]`` or
        ``{"a": 0.41, "b": 0.42, "c": 0.45}``. Instead of means, also distributions: ``Beta``,
        ``TruncatedGaussian``, ``Mixture``, ``Empirical``, or ``Sampled`` for a function of your own.
    labels
        Group of each arm, for flat means; by default, flat means form one group.
    arms
        Labels of the arms, for flat means; by default 0, 1, …
    family
        ``Family`` or its name, by default ``"bernoulli"``; see ``as_family``. With distributions, it is the
        family that policies given by name assume and for which bounds on regret are computed.

    Examples
    --------
    >>> instance = Instance([[0.41, 0.42, 0.43], [0.43, 0.44, 0.45]])
    >>> instance.best_arms, instance.best_mean
    ((5,), 0.45)
    >>> instance.clusters(widths=[0.03, 0.04])
    Clusters([3, 3], widths=[0.03, 0.04])
    >>> from clusterbandits import Beta, Empirical
    >>> Instance([[Beta(2, 8), Beta(3, 7)], [Empirical([0, 0, 0, 1])]])
    <Instance: 3 arms in 2 groups, means 0.2 to 0.3, own distributions, family bernoulli>
    """

    def __init__(
        self,
        means: object,
        labels: object = None,
        arms: object = None,
        family: Family | str = "bernoulli",
    ) -> None:
        partition, given = _read(means, labels, arms)
        distributions = [one for one in given if isinstance(one, Distribution)]
        if distributions and len(distributions) < len(given):
            allowed = "either all numbers or all distributions"
            raise invalid(
                "means",
                "Instance",
                allowed,
                Described(f"{len(distributions)} distributions among {len(given)}"),
            )
        values = _floats([one.mean for one in distributions] or given)
        #: The reward distributions of the arms, if they were given; else None.
        self.rewards: tuple[Distribution, ...] | None = tuple(distributions) or None
        self.family = as_family(family, "Instance")
        self.partition = partition
        inside = self.family.contains(values)
        if not inside.all():
            allowed = f"{self.family.domain} for {self.family.name} rewards"
            raise invalid("means", "Instance", allowed, float(values[~inside][0]))
        values.setflags(write=False)
        self.means: Floats = values

    @property
    def arms(self) -> tuple[Label, ...]:
        """The labels of the arms."""
        return self.partition.arms

    @functools.cached_property
    def best_mean(self) -> float:
        """The largest mean, μ*."""
        return float(self.means.max())

    @functools.cached_property
    def gaps(self) -> Floats:
        """The gaps of the arms, μ* − μ: the regret per pull."""
        return self.best_mean - self.means

    @property
    def best_arms(self) -> tuple[Label, ...]:
        """The labels of the arms with the largest mean."""
        return tuple(self.arms[k] for k in np.flatnonzero(self.gaps == 0))

    @functools.cached_property
    def spans(self) -> tuple[float, ...]:
        """The largest difference between means in each group, which is the smallest true width."""
        return tuple(float(np.ptp(self.means[part])) for part in self.partition.members)

    def clusters(self, widths: object = None) -> Clusters:
        """Return the groups as ``Clusters``, by default with the true spans as widths."""
        return Clusters(self.partition, self.spans if widths is None else widths)

    def to_dict(self) -> dict[str, Any]:
        """Return the instance as plain data for ``from_dict``."""
        data = {"family": self.family.spec, **self.partition.to_dict(), "means": self.means.tolist()}
        own = {} if self.rewards is None else {"rewards": [one.to_dict() for one in self.rewards]}
        return data | own

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Instance:
        """Return the instance that ``to_dict`` described.

        Examples
        --------
        >>> instance = Instance({"red": {"a": 0.4}, "blue": {"b": 0.5}}, family="poisson")
        >>> Instance.from_dict(instance.to_dict()) == instance
        True
        """
        own = ["rewards"] if isinstance(data, Mapping) and "rewards" in data else []
        check_keys(["family", *DATA_KEYS, "means", *own], "Instance.from_dict", data)
        means = [Distribution.from_dict(one) for one in data["rewards"]] if own else data["means"]
        made = cls(means, labels=Partition.of_dict(data, "Instance"), family=data["family"])
        if own and made.means.tolist() != data["means"]:
            raise invalid("means", "Instance.from_dict", "the means of the rewards", data["means"])
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Instance) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[object, ...]:
        return self.family, self.partition, tuple(self.means.tolist()), self.rewards

    def __repr__(self) -> str:
        family = "" if self.family.name == "bernoulli" else f", family={self.family.spec!r}"
        if len(self.arms) > _SHOWN_ARMS or self.rewards is not None:
            extent = f"means {self.means.min():g} to {self.best_mean:g}"
            groups = len(self.partition.clusters)
            law = (
                self.family.spec if self.rewards is None else f"own distributions, family {self.family.spec}"
            )
            return f"<Instance: {len(self.arms)} arms in {groups} groups, {extent}, {law}>"
        if not self.partition.contiguous:
            labels = self.partition.cluster_names
            arms = "" if self.partition.anonymous else f", arms={list(self.arms)!r}"
            return f"Instance({self.means.tolist()!r}, labels={labels!r}{arms}{family})"
        return f"Instance({self._grouped()!r}{family})"

    def _grouped(self) -> object:
        parts = {
            name: self.means[part].tolist()
            if self.partition.anonymous
            else {self.arms[k]: float(self.means[k]) for k in part}
            for name, part in zip(self.partition.clusters, self.partition.members, strict=True)
        }
        return list(parts.values()) if self.partition.numbered and self.partition.anonymous else parts

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the means on a number line, a row with its span for every cluster; return the Matplotlib axes.

        Parameters
        ----------
        ax
            The axes to draw on; by default those of a new figure.

        Examples
        --------
        >>> ax = Instance({"red": [0.41, 0.43], "blue": [0.42, 0.45]}).plot()
        >>> [text.get_text() for text in ax.texts if text.get_weight() == "bold"]
        ['red: span 0.02', 'blue: span 0.03']
        """
        return drawn("instance", self, ax)

    def _repr_html_(self) -> str:
        rows = tuple(
            zip(self.partition.cluster_names, self.arms, self.means.tolist(), self.gaps.tolist(), strict=True)
        )
        title = f"Means of {self.family.spec} rewards, and gaps to the best"
        return Table(("cluster", "arm", "mean", "gap"), rows, title=title).html()


def _read(means: object, labels: object, arms: object) -> tuple[Partition, list[object]]:
    named = as_mapping(means)
    if named is None and not is_list(means):
        raise invalid("means", "Instance", "a list of means, a list of groups, or a mapping", means)
    parts = list(named.values()) if named is not None else list(cast("Iterable[object]", means))
    if any(is_list(part) or as_mapping(part) is not None for part in parts):
        for parameter, given in (("labels", labels), ("arms", arms)):
            if given is not None:
                raise invalid(parameter, "Instance", "left out if means are grouped", given)
        return _read_grouped(parts, None if named is None else list(named))
    if named is not None and arms is None:
        arms = list(named)
    return _read_flat(parts, labels, arms)


def _read_flat(parts: list[object], labels: object, arms: object) -> tuple[Partition, list[object]]:
    if not parts:
        raise invalid("means", "Instance", "at least one mean", parts)
    values = parts
    groups = [0] * len(values) if labels is None else labels
    partition = groups if isinstance(groups, Partition) else Partition.of_labels(groups, None, "Instance")
    if len(partition.arms) != len(values):
        given = Described(f"{len(partition.arms)} labels")
        raise invalid("labels", "Instance", f"one for each of the {len(values)} means", given)
    if arms is not None:
        partition = Partition.of_labels(partition.cluster_names, arms, "Instance")
    return partition, values


def _read_grouped(parts: list[object], names: list[object] | None) -> tuple[Partition, list[object]]:
    labelled = [as_mapping(part) for part in parts]
    values = [list(_values(part)) for part in parts]
    if not all(values):
        raise invalid("means", "Instance", "at least one mean per group", parts)
    if len({part is None for part in labelled}) > 1:
        raise invalid("means", "Instance", "labelled in all groups or in none", parts)
    arms = [len(part) if label is None else list(label) for part, label in zip(values, labelled, strict=True)]
    groups = arms if names is None else dict(zip(names, arms, strict=True))
    return Partition.of_groups(groups, "Instance"), [mean for part in values for mean in part]


def _values(part: object) -> Iterable[object]:
    named = as_mapping(part)
    if named is not None:
        return named.values()
    if is_list(part):
        return part
    raise invalid("means", "Instance", "either flat or grouped throughout", part)


def _floats(values: list[object]) -> Floats:
    for value in values:
        if not np.isfinite(as_float(value)):
            raise invalid("means", "Instance", "finite numbers", value)
    return np.array([as_float(value) for value in values])


def paired_clusters(instance: Instance, clusters: Clusters | None, owner: str) -> Clusters:
    """Return clusters over the arms of an instance; by default its own groups with their true spans.

    Arms match by position. If both sides have labels, these must agree, and so must the names of clusters
    that both sides use. The clusters may differ from the groups of the instance.
    """
    if not isinstance(instance, Instance):
        raise invalid("instance", owner, "an Instance object", instance)
    if clusters is None:
        return instance.clusters()
    if not isinstance(clusters, Clusters):
        raise invalid("clusters", owner, "a Clusters object", clusters)
    if len(instance.arms) != len(clusters.arms):
        raise invalid(
            "clusters", owner, f"clusters of the {len(instance.arms)} arms of the instance", clusters
        )
    _check_labels(instance.partition, clusters.partition, owner)
    _check_names(instance.partition, clusters.partition, owner)
    return clusters


def _check_labels(true: Partition, declared: Partition, owner: str) -> None:
    if true.arms == declared.arms:
        return
    if not (true.anonymous or declared.anonymous) or not set(true.arms).isdisjoint(declared.arms):
        raise invalid(
            "clusters", owner, "clusters of the arms of the instance, in the same order", declared.arms
        )


def _check_names(true: Partition, declared: Partition, owner: str) -> None:
    if true.numbered or declared.numbered:
        return
    shared = set(true.clusters) & set(declared.clusters)
    for arm, one, other in zip(declared.arms, true.cluster_names, declared.cluster_names, strict=True):
        if one != other and {one, other} & shared:
            given = Described(f"arm {arm!r} in {other!r}, but {one!r} in the instance")
            raise invalid(
                "clusters", owner, "grouped like the instance if clusters have the same names", given
            )
