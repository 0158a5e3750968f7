"""An instance and the clusters told of it: they must speak of the same arms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterbandits.clusters import Clusters
from clusterbandits.instance import Instance
from clusterbandits.validate import Described, invalid

if TYPE_CHECKING:
    from clusterbandits.partition import Partition


def paired_clusters(instance: Instance, clusters: Clusters | None, owner: str) -> Clusters:
    """Return clusters that fit an instance's arms, its own with true spans where None are given.

    Arms match by position. Labels, where both sides have them, must agree; so must the names of clusters that
    both sides use. Arms may be grouped otherwise than the instance was written.
    """
    if not isinstance(instance, Instance):
        raise invalid("instance", owner, "an Instance", instance)
    if clusters is None:
        return instance.clusters()
    if not isinstance(clusters, Clusters):
        raise invalid("clusters", owner, "a Clusters", clusters)
    if len(instance.arms) != len(clusters.arms):
        raise invalid("clusters", owner, f"over the {len(instance.arms)} arms of the instance", clusters)
    _check_labels(instance.partition, clusters.partition, owner)
    _check_names(instance.partition, clusters.partition, owner)
    return clusters


def _check_labels(true: Partition, told: Partition, owner: str) -> None:
    if true.arms == told.arms:
        return
    if not (true.anonymous or told.anonymous) or not set(true.arms).isdisjoint(told.arms):
        raise invalid("clusters", owner, "over the arms of the instance, in its order", told.arms)


def _check_names(true: Partition, told: Partition, owner: str) -> None:
    if true.numbered or told.numbered:
        return
    shared = set(true.clusters) & set(told.clusters)
    for arm, one, other in zip(told.arms, true.cluster_names, told.cluster_names, strict=True):
        if one != other and {one, other} & shared:
            given = Described(f"arm {arm!r} in {other!r}, which the instance has in {one!r},")
            raise invalid("clusters", owner, "grouped as the instance where names are the same", given)
