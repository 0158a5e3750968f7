"""The views of an experiment: its state, its history, and explanations."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

if TYPE_CHECKING:
    from clusterbandits.policies import Policy
    from clusterbandits.service.experiment import Experiment

#: The confidence level of each interval.
_CONFIDENCE = 0.95
#: The number of repeated choices that estimate the probabilities of the next choice of a random policy.
_DRAWS = 200


def as_json(data: object) -> bytes:
    """Return JSON. Integers beyond 64 bits, such as seeds, need the slower encoder."""
    try:
        return orjson.dumps(data)
    except TypeError:
        return json.dumps(data).encode()


def describe(one: Experiment) -> dict[str, Any]:
    """Return the state of an experiment for readers: settings, counts, groups, arms, alarms."""
    plan, policy = one.plan, one.policy
    pulls, totals = np.array(list(policy.pulls.values())), np.array(list(policy.totals.values()))
    means, low, high = _intervals(policy, pulls, totals)
    decided, (learned, total) = int(one.decisions.sum()), one.own_rewards()
    waiting, retired = policy.awaited, set(policy.retired)
    noticed = policy.alarms()
    alarms = [
        {
            "group": alarm.cluster,
            "round": alarm.round,
            "width": alarm.width,
            "evidence": alarm.evidence,
            "needed": alarm.needed,
            "message": str(alarm),
        }
        for alarm in noticed
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
        "groups": _groups(one, pulls, totals, {str(alarm.cluster): str(alarm) for alarm in noticed}),
        "arms": arms,
        "alarms": alarms,
    }


def summary(one: Experiment) -> dict[str, Any]:
    """Return the data of an experiment that lists also show."""
    learned, total = one.own_rewards()
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
    """Return the list entry of an experiment."""
    return {
        **summary(one),
        "arms": len(one.arms),
        "groups": len(one.plan.groups),
        "alarms": len(one.policy.alarms()),
    }


def history(one: Experiment) -> dict[str, Any]:
    """Return counts over time. Regret is estimated against the arm that is best so far.

    The lists are copies: another thread sends them while the experiment grows.
    """
    pulls, totals = (np.array(list(numbers.values())) for numbers in (one.policy.pulls, one.policy.totals))
    means, low, _ = _intervals(one.policy, pulls, totals)
    retired = set(one.policy.retired)
    best = best_arm(low, [label in retired for label in one.arms])
    series, names = one.series, one.policy.clusters.names
    highest = 0.0 if best is None else float(means[best])
    return {
        "at": list(series.at),
        "decisions": [sum(groups) for groups in series.decisions],
        "pulls": list(series.pulls),
        "total": list(series.total),
        "regret": [
            highest * learned - total for learned, total in zip(series.pulls, series.total, strict=True)
        ],
        "groups": {
            str(name): [groups[place] for groups in series.decisions] for place, name in enumerate(names)
        },
    }


def _intervals(policy: Policy, pulls: Any, totals: Any) -> tuple[Any, Any, Any]:
    """Return means and 95 % confidence bounds of all arms; NaN for arms without rewards."""
    means, low, high = (np.full(pulls.size, math.nan) for _ in range(3))
    tried = pulls > 0
    if tried.any():
        means[tried] = totals[tried] / pulls[tried]
        inside = np.clip(means[tried], policy.family.low, policy.family.high)
        level = math.log(2 / (1 - _CONFIDENCE)) / pulls[tried]
        low[tried], high[tried] = policy.family.lower(inside, level), policy.family.upper(inside, level)
    return means, low, high


def best_arm(low: Any, retired: list[bool]) -> int | None:
    """Return the arm with the largest lower confidence bound, so that one lucky reward is not enough."""
    candidates = np.where(np.isnan(low) | np.array(retired), -math.inf, low)
    return int(np.argmax(candidates)) if np.isfinite(candidates).any() else None


def _groups(one: Experiment, pulls: Any, totals: Any, alarms: dict[str, str]) -> list[dict[str, Any]]:
    partition, decided = one.policy.clusters.partition, int(one.decisions.sum())
    found = []
    for name, part in zip(map(str, partition.clusters), partition.members, strict=True):
        learned, total, own = (
            int(pulls[part].sum()),
            float(totals[part].sum()),
            int(one.decisions[part].sum()),
        )
        row = {
            "group": name,
            "width": one.plan.widths[name],
            "arms": len(part),
            "decisions": own,
            "pulls": learned,
            "total": total,
            "mean": total / learned if learned else None,
            "share": own / decided if decided else 0.0,
            "alarm": alarms.get(name),
        }
        found.append(row)
    return found


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _chances(one: Experiment) -> dict[str, float]:
    """Return the probability of each arm in the next decision, exploration included."""
    explore, candidates = one.plan.explore, set(one.open_arms(None))
    return {
        str(arm): (1 - explore) * chance + explore * (arm in candidates) / len(candidates)
        for arm, chance in one.policy.chances(_DRAWS).items()
    }


def explain(one: Experiment) -> dict[str, Any]:
    """Return the statistics and scores that the policy compares, and the probabilities of its next choice."""
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
        "chances": _chances(one),
        "text": str(found),
    }
