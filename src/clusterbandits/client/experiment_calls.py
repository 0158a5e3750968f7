"""Calls about experiments, one function per method of the clients, with its docstring."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack

from clusterbandits.client.answers import Change, Experiment, Summary, read_all, read_experiment
from clusterbandits.client.exchange import Link, Steps, path_of
from clusterbandits.validate import invalid

if TYPE_CHECKING:
    from clusterbandits.policies.policy import Past

#: One width per group, one for all groups, or none.
Widths: TypeAlias = Mapping[str, float | None] | float | None


def create_experiment(  # noqa: PLR0913
    link: Link,
    name: str,
    groups: Mapping[str, Sequence[str]] | None = None,
    *,
    history: Past | None = None,
    widths: Widths = None,
    policy: str = "auto",
    settings: Mapping[str, Any] | None = None,
    family: str | None = None,
    window: float | None = 86_400.0,
    default_reward: float | None = None,
    combine: Literal["first", "last", "sum"] = "first",
    explore: float = 0.0,
) -> Steps[Experiment]:
    """Create an experiment and return its state. Creating it again with the same settings changes nothing.

    Parameters
    ----------
    name
        Name of the experiment: letters, digits, ``.``, ``_``, ``-``; at most 64.
    groups
        Arms by group, such as ``{"red": ["a", "b"], "blue": ["c"]}``; by default, the arms of the history.
    history
        History of trials from which the policy starts, as ``read_history`` returns it; by default none.
    widths
        Largest difference between means in a group: one number per group, one for all groups, or None (the
        default). With a history, None means safe widths, estimated from it.
    policy, settings
        Name and settings of the policy; by default ``"auto"``, the recommended policy.
    family
        Reward family, such as ``"bernoulli"`` (the default) or ``"bounded:low=0,high=50"``.
    window
        Seconds after a decision in which its reward is accepted, by default 86,400; None for no limit.
    default_reward
        Reward to assume for a decision without a reward when its window closes; by default None: such
        decisions are cancelled.
    combine
        Which of several rewards of one decision counts: the first (the default), the last, or their sum.
    explore
        Share of decisions that are drawn uniformly from the available arms, by default 0.

    Raises
    ------
    ServiceError
        With code 409 if an experiment with that name has other settings; with code 422 if a setting is
        invalid.
    """
    past: dict[str, Any] = {}
    if history is not None:
        clusters = history.clusters()
        known = {str(group): list(map(str, arms)) for group, arms in clusters.partition.groups.items()}
        groups = known if groups is None else groups
        widths = dict(zip(known, clusters.widths, strict=True)) if widths is None else widths
        family = history.family.spec if family is None else family
        past = {str(arm): {"pulls": pulls, "total": total} for arm, pulls, total in history.observed()}
    if groups is None:
        raise invalid("groups", "create_experiment", "given if there is no history", None)
    body = {
        "name": name,
        "groups": {group: list(arms) for group, arms in groups.items()},
        "widths": _widths(widths),
        "history": past,
        "policy": policy,
        "settings": dict(settings or {}),
        "family": "bernoulli" if family is None else family,
        "window": window,
        "default_reward": default_reward,
        "combine": combine,
        "explore": explore,
    }
    return read_experiment((yield from link.post("/v1/experiments", body)))


def experiments(link: Link, *, archived: bool = False) -> Steps[list[Summary]]:
    """Return all experiments that the key may read, archived ones only with ``archived=True``."""
    query = {"archived": "true" if archived else "false"}
    found = yield from link.get("/v1/experiments", query)
    return list(read_all(Summary, found, "experiments"))


def experiment(link: Link, name: str) -> Steps[Experiment]:
    """Return the state of an experiment: settings, counts, groups, arms, alarms."""
    return read_experiment((yield from link.get(path_of(name))))


class Changes(TypedDict, total=False):
    """Settings that can change while an experiment runs."""

    widths: Widths
    policy: str
    settings: dict[str, Any]
    window: float | None
    default_reward: float | None
    explore: float


def change(link: Link, name: str, **settings: Unpack[Changes]) -> Steps[Experiment]:
    """Change settings of an experiment; all observations are kept.

    Parameters
    ----------
    name
        Name of the experiment.
    **settings
        ``widths``, ``policy``, ``settings``, ``window``, ``default_reward`` or ``explore``. All other
        settings keep their values.
    """
    body: dict[str, Any] = {**settings}
    if "widths" in body:
        body["widths"] = _widths(body["widths"])
    return read_experiment((yield from link.patch(path_of(name), body)))


def pause(link: Link, name: str) -> Steps[Experiment]:
    """Stop making decisions. Rewards of earlier decisions are still learned."""
    return read_experiment((yield from link.post(f"{path_of(name)}/pause", {})))


def resume(link: Link, name: str) -> Steps[Experiment]:
    """Make decisions again after a pause."""
    return read_experiment((yield from link.post(f"{path_of(name)}/resume", {})))


def archive(link: Link, name: str) -> Steps[Experiment]:
    """End an experiment permanently. Rewards of earlier decisions are still learned."""
    return read_experiment((yield from link.post(f"{path_of(name)}/archive", {})))


def add_arm(link: Link, name: str, arm: str, group: str) -> Steps[Experiment]:
    """Add an arm to a group of an experiment."""
    return read_experiment((yield from link.post(f"{path_of(name)}/arms", {"arm": arm, "group": group})))


def retire_arm(link: Link, name: str, arm: str) -> Steps[Experiment]:
    """Stop choosing an arm. Its rewards are kept, and those of earlier decisions are still learned."""
    return read_experiment((yield from link.post(f"{path_of(name)}/arms/retire", {"arm": arm})))


def restore_arm(link: Link, name: str, arm: str) -> Steps[Experiment]:
    """Allow a retired arm to be chosen again."""
    return read_experiment((yield from link.post(f"{path_of(name)}/arms/restore", {"arm": arm})))


def changes(link: Link, name: str) -> Steps[list[Change]]:
    """Return all recorded changes of an experiment, oldest first: who changed what, and when."""
    found = yield from link.get(f"{path_of(name)}/changes")
    return list(read_all(Change, found, "changes"))


def history(link: Link, name: str) -> Steps[dict[str, Any]]:
    """Return counts over time.

    The columns ``at``, ``decisions``, ``pulls``, ``total`` and ``regret`` are lists; ``groups`` maps names to
    lists of cumulative decisions.
    """
    found: dict[str, Any] = yield from link.get(f"{path_of(name)}/history")
    return found


def explain(link: Link, name: str) -> Steps[dict[str, Any]]:
    """Return the numbers that the policy compares per arm (``arms``), and a table of them (``text``)."""
    found: dict[str, Any] = yield from link.get(f"{path_of(name)}/explain")
    return found


def _widths(given: Widths) -> dict[str, float | None] | float | None:
    """Return widths for JSON, with null for infinite ones."""
    if isinstance(given, Mapping):
        return {group: None if width == math.inf else width for group, width in given.items()}
    return None if given == math.inf else given
