"""What readers see of an experiment: its state, and its history."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from clusterbandits.policies import Policy
    from clusterbandits.service.experiment import Experiment

#: The confidence of intervals, each by itself.
_CONFIDENCE = 0.95
_MOST_ARMS_SHOWN = 20


def describe(one: Experiment) -> dict[str, Any]:
    """Return the state of an experiment for readers: settings, counts, groups, arms, alarms."""
    plan, policy = one.plan, one.policy
    pulls, totals = np.array(list(policy.pulls.values())), np.array(list(policy.totals.values()))
    means, low, high = _intervals(policy, pulls, totals)
    decided, learned, total = int(one.decisions.sum()), int(pulls.sum()), float(totals.sum())
    waiting, retired = policy.awaited, set(policy.retired)
    alarms = [
        {
            "group": alarm.cluster,
            "round": alarm.round,
            "width": alarm.width,
            "evidence": alarm.evidence,
            "needed": alarm.needed,
            "message": str(alarm),
        }
        for alarm in policy.alarms()
    ]
    groups = policy.clusters.partition.cluster_names
    arms = [
        {
            "arm": label,
            "group": group,
            "retired": label in retired,
            "decisions": int(one.decisions[k]),
            "open": waiting.get(label, 0),
            "pulls": int(pulls[k]),
            "total": float(totals[k]),
            "mean": _number(means[k]),
            "low": _number(low[k]),
            "high": _number(high[k]),
            "share": float(one.decisions[k] / decided) if decided else 0.0,
        }
        for k, (label, group) in enumerate(zip(one.arms, groups, strict=True))
    ]
    best = _best(means, [label in retired for label in one.arms])
    return {
        **summary(one),
        "settings": plan.settings,
        "family": plan.family,
        "window": plan.window,
        "default_reward": plan.default_reward,
        "combine": plan.combine,
        "explore": plan.explore,
        "seq": one.seq,
        "open": sum(waiting.values()),
        "late": one.late,
        "cancelled": one.cancelled,
        "defaulted": one.defaulted,
        "total": total,
        "best": None if best is None else one.arms[best],
        "regret": None if best is None else float(learned * means[best] - total),
        "groups": [_group(one, name, part, pulls, totals, decided) for name, part in _members(one)],
        "arms": arms,
        "alarms": alarms,
    }


def summary(one: Experiment) -> dict[str, Any]:
    """Return what a list of experiments shows of each."""
    learned, total = sum(one.policy.pulls.values()), math.fsum(one.policy.totals.values())
    return {
        "name": one.name,
        "state": one.state,
        "policy": one.plan.policy,
        "created_at": one.created_at,
        "decisions": int(one.decisions.sum()),
        "pulls": learned,
        "mean": total / learned if learned else None,
    }


def listed(one: Experiment) -> dict[str, Any]:
    """Return the row of an experiment in a list."""
    return {
        **summary(one),
        "arms": len(one.arms),
        "groups": len(one.plan.groups),
        "alarms": len(one.policy.alarms()),
    }


def history(one: Experiment) -> dict[str, Any]:
    """Return counts over time, of groups and of the arms that were chosen most."""
    counts = one.series.padded(len(one.arms))
    decisions, pulls, totals = counts[:, 0], counts[:, 1], counts[:, 2]
    means = np.divide(totals, pulls, out=np.full_like(totals, -math.inf), where=pulls > 0)
    learned, total = pulls.sum(axis=1), totals.sum(axis=1)
    best = means.max(axis=1, initial=-math.inf)
    regret = np.where(learned > 0, learned * np.where(learned > 0, best, 0.0) - total, 0.0)
    shown = np.argsort(-one.decisions, kind="stable")[:_MOST_ARMS_SHOWN]
    return {
        "at": one.series.at,
        "decisions": decisions.sum(axis=1).tolist(),
        "pulls": learned.tolist(),
        "total": total.tolist(),
        "regret": regret.tolist(),
        "groups": {name: decisions[:, part].sum(axis=1).tolist() for name, part in _members(one)},
        "arms": {one.arms[k]: decisions[:, k].tolist() for k in shown},
    }


def _intervals(policy: Policy, pulls: Any, totals: Any) -> tuple[Any, Any, Any]:
    """Return means and 95 % confidence bounds of all arms, NaN where there are no rewards."""
    means, low, high = (np.full(pulls.size, math.nan) for _ in range(3))
    tried = pulls > 0
    if tried.any():
        means[tried] = totals[tried] / pulls[tried]
        inside = np.clip(means[tried], policy.family.low, policy.family.high)
        level = math.log(2 / (1 - _CONFIDENCE)) / pulls[tried]
        low[tried], high[tried] = policy.family.lower(inside, level), policy.family.upper(inside, level)
    return means, low, high


def _best(means: Any, retired: list[bool]) -> int | None:
    candidates = np.where(np.isnan(means) | np.array(retired), -math.inf, means)
    return int(np.argmax(candidates)) if np.isfinite(candidates).any() else None


def _members(one: Experiment) -> list[tuple[str, Any]]:
    partition = one.policy.clusters.partition
    return [(str(name), part) for name, part in zip(partition.clusters, partition.members, strict=True)]


def _group(one: Experiment, name: str, part: Any, pulls: Any, totals: Any, decided: int) -> dict[str, Any]:
    learned, total, own = int(pulls[part].sum()), float(totals[part].sum()), int(one.decisions[part].sum())
    alarm = next((str(alarm) for alarm in one.policy.alarms() if alarm.cluster == name), None)
    return {
        "group": name,
        "width": one.plan.widths[name],
        "arms": len(part),
        "decisions": own,
        "pulls": learned,
        "total": total,
        "mean": total / learned if learned else None,
        "share": own / decided if decided else 0.0,
        "alarm": alarm,
    }


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def explain(one: Experiment) -> dict[str, Any]:
    """Return what the policy knows and compares."""
    found = one.policy.explain()
    return {
        "round": found.round,
        "policy": one.plan.policy,
        "threshold": found.threshold,
        "arms": [
            {
                "arm": arm.arm,
                "group": arm.cluster,
                "pulls": arm.pulls,
                "mean": arm.mean,
                "low": None if arm.low is None else _number(arm.low),
                "high": None if arm.high is None else _number(arm.high),
                "score": None if arm.index is None else _number(arm.index),
            }
            for arm in found.arms
        ],
        "text": str(found),
    }
