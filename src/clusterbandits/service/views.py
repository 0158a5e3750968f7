"""What readers see of an experiment: its state, and its history."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

if TYPE_CHECKING:
    from clusterbandits.policies import Policy
    from clusterbandits.service.experiment import Experiment

#: The confidence of intervals, each by itself.
_CONFIDENCE = 0.95
_MOST_ARMS_SHOWN = 20
#: How often a policy that draws is asked for the chances of its arms.
_DRAWS = 200


def as_json(data: object) -> bytes:
    """Return JSON. Whole numbers beyond 64 bits, which seeds may be, are left to the slower encoder."""
    try:
        return orjson.dumps(data)
    except TypeError:
        return json.dumps(data).encode()


def describe(one: Experiment) -> dict[str, Any]:
    """Return the state of an experiment for readers: settings, counts, groups, arms, alarms."""
    plan, policy = one.plan, one.policy
    pulls, totals = np.array(list(policy.pulls.values())), np.array(list(policy.totals.values()))
    means, low, high = _intervals(policy, pulls, totals)
    decided, (learned, total) = int(one.decisions.sum()), own_rewards(one)
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
    best = best_arm(low, [label in retired for label in one.arms])
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
    learned, total = own_rewards(one)
    return {
        "name": one.name,
        "state": one.state,
        "policy": one.plan.policy,
        "created_at": one.created_at,
        "decisions": int(one.decisions.sum()),
        "pulls": learned,
        "mean": total / learned if learned else None,
    }


def own_rewards(one: Experiment) -> tuple[int, float]:
    """Return the rewards that the experiment has learned and their total, without its history."""
    before = list(one.plan.history.values())
    learned = sum(one.policy.pulls.values()) - sum(int(pulls) for pulls, _ in before)
    total = math.fsum([*one.policy.totals.values(), *(-total for _, total in before)])
    return learned, total


def listed(one: Experiment) -> dict[str, Any]:
    """Return the row of an experiment in a list."""
    return {
        **summary(one),
        "arms": len(one.arms),
        "groups": len(one.plan.groups),
        "alarms": len(one.policy.alarms()),
    }


def history(one: Experiment) -> dict[str, Any]:
    """Return counts over time, of groups and of the arms that were chosen most.

    Regret is estimated with what is known now of the best arm, at every moment.
    """
    counts = one.series.padded(len(one.arms))
    before = list(one.plan.history.values())
    decisions = counts[:, 0]
    learned = counts[:, 1].sum(axis=1) - sum(pulls for pulls, _ in before)
    total = counts[:, 2].sum(axis=1) - sum(total for _, total in before)
    pulls, totals = (np.array(list(told.values())) for told in (one.policy.pulls, one.policy.totals))
    means, low, _ = _intervals(one.policy, pulls, totals)
    best = best_arm(low, [label in one.policy.retired for label in one.arms])
    shown = np.argsort(-one.decisions, kind="stable")[:_MOST_ARMS_SHOWN]
    return {
        "at": one.series.at,
        "decisions": _whole(decisions.sum(axis=1)),
        "pulls": _whole(learned),
        "total": total.tolist(),
        "regret": [0.0] * len(total) if best is None else (learned * means[best] - total).tolist(),
        "groups": {name: _whole(decisions[:, part].sum(axis=1)) for name, part in _members(one)},
        "arms": {one.arms[k]: _whole(decisions[:, k]) for k in shown},
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


def best_arm(low: Any, retired: list[bool]) -> int | None:
    """Return the arm with the largest lower confidence bound: one lucky reward does not make the best."""
    candidates = np.where(np.isnan(low) | np.array(retired), -math.inf, low)
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


def _whole(values: Any) -> list[int]:
    found: list[int] = values.astype(np.int64).tolist()
    return found


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def explain(one: Experiment) -> dict[str, Any]:
    """Return what the policy knows and compares, and how likely it is to choose each arm next."""
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
        "chances": one.policy.chances(_DRAWS),
        "text": str(found),
    }
