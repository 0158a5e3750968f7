"""The policies of a replay: made for the arms of a log, with the groups and widths they need."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clusterbandits.clusters import Clusters
from clusterbandits.policies import Policy, policy
from clusterbandits.validate import Described, invalid, is_list

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clusterbandits.families import Family
    from clusterbandits.studies.replay.survey import Survey

#: Policies that use who belongs together and nothing else; those with widths do anyway.
_GROUPED = frozenset({"tlp-mean", "tlp-max", "tsc", "ucbc"})


class Learner(NamedTuple):
    """A policy, and its own number for every arm of the log."""

    policy: Policy
    numbers: NDArray[np.int64]


def read_learners(
    policies: object, found: Survey, groups: object, widths: object, family: Family
) -> list[Learner]:
    """Return policies or the names of some, ready for the arms of a log."""
    known = _clusters(found, groups, widths)
    grouped = groups is not None or found.groups is not None
    listed = list(policies) if is_list(policies) else [policies]
    if not listed:
        raise invalid("policies", "replay", "at least one policy", policies)
    learners: list[Learner] = []
    for one in listed:
        made = _named(one, known, grouped, widths, family) if isinstance(one, str) else one
        if not isinstance(made, Policy):
            raise invalid("policies", "replay", "policies or their names", one)
        if not made.family.includes(family):
            allowed = f"made for {family.name} rewards, as in family={family.spec!r}"
            raise invalid("policies", "replay", allowed, Described(f"{made.label} for {made.family.name}"))
        if made.label in [other.policy.label for other in learners]:
            allowed = "called by different labels, as in label='wide'"
            raise invalid("policies", "replay", allowed, Described(f"{made.label!r} twice"))
        learners.append(Learner(made, _numbers(made.clusters, found, f"policy {made.label!r}")))
    return learners


def uses_groups(made: Policy) -> bool:
    """Tell whether a policy's choices depend on who belongs together."""
    return made.name in _GROUPED or made.uses_widths


def needs_widths(made: Policy) -> bool:
    """Tell whether a policy, with its settings, makes use of widths."""
    given = made.settings.get("distances") is not None or made.settings.get("widths") == "ignored"
    return made.uses_widths and not given


def _named(spec: str, known: Clusters, grouped: bool, widths: object, family: Family) -> Policy:
    made = policy(spec, known, family=family)
    if uses_groups(made) and not grouped:
        allowed = f"given, or a column 'group' be in the log, for {made.name}"
        raise invalid("groups", "replay", allowed, None)
    if needs_widths(made) and widths is None:
        allowed = f"given for {made.name}, from elsewhere than this log, such as advise on an earlier one"
        raise invalid("widths", "replay", allowed, widths)
    return made


def _clusters(found: Survey, groups: object, widths: object) -> Clusters:
    told = math.inf if widths is None else widths
    if groups is not None:
        given = Clusters(groups, told)
        _numbers(given, found, "groups")
        return given
    if found.groups is not None:
        return Clusters.from_labels(found.groups, told, found.arms)
    if widths is not None:
        allowed = "given with groups: a column 'group' in the log, or 'groups' from Python"
        raise invalid("widths", "replay", allowed, Described("no groups"))
    return Clusters({"all arms": found.arms}, math.inf)


def _numbers(clusters: Clusters, found: Survey, owner: str) -> NDArray[np.int64]:
    """Return the number that the clusters give every arm of the log; both must have the same arms."""
    places = {str(label): place for place, label in enumerate(clusters.arms)}
    strange = [repr(arm) for arm in found.arms if arm not in places]
    if strange:
        raise invalid("arms", owner, "those of the log", Described(f"none for {strange[0]}"))
    never = [repr(arm) for arm in places if arm not in set(found.arms)]
    if never:
        given = Described(f"{never[0]}, which the log never shows,")
        raise invalid("arms", owner, "those of the log", given)
    return np.array([places[arm] for arm in found.arms], dtype=np.int64)
