"""Edited JSON of saved policies, which must be refused in one sentence or restored to a working policy."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

import clusterbandits as cb
from clusterbandits.limits import MOST_ROUNDS
from fuzz.json_edits import damaged_text, edit, raw_json
from fuzz.policies import (
    FAMILIES,
    VALUES,
    WIDTHS,
    pick,
    random_clusters,
    random_policy,
    random_total,
    refused,
    timed,
)

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.random import Generator

SHORT = 150
_SECONDS = 1.0
_MOST_ARMS = 6


def attempt(rng: Generator, _folder: Path) -> Counter[str]:
    """Edit the JSON of a used policy, restore it, and use the restored policy."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", cb.WidthWarning)
        text = _damaged(rng, _used(rng).to_json())
        restored: list[Any] = []
        if refused(lambda: restored.append(timed(lambda: cb.Policy.from_json(text), _SECONDS))):
            return Counter(refused=1)
        for _ in range(4):
            _use(rng, restored[0])
    return Counter(restored=1)


def _used(rng: Generator) -> Any:
    policy = random_policy(rng, random_clusters(rng, _MOST_ARMS))
    extreme = bool(rng.random() < 0.2)
    for _ in range(int(rng.integers(0, 25))):
        arm = policy.ask() if rng.random() < 0.7 else pick(rng, policy.clusters.arms)
        pulls = int(rng.integers(1, 100)) if rng.random() < 0.2 else 1
        if rng.random() < 0.8:
            policy.tell(arm, random_total(rng, policy.family, pulls, extreme=extreme), pulls=pulls)
    return policy


def _damaged(rng: Generator, text: str) -> str:
    if rng.random() < 0.1:
        return damaged_text(rng, text)
    document = json.loads(text)
    for _ in range(int(rng.integers(1, 4))):
        pick(rng, (edit, _pretend))(rng, document)
    text = raw_json(document)
    if rng.random() < 0.05:
        # Duplicate the first key.
        text = text.replace("{", '{"format": "clusterbandits policy 2", ', 1)
    return text


def _pretend(rng: Generator, document: Any) -> None:
    """Make consistent changes: other numbers of pulls, widths, settings or rounds."""
    if not all(isinstance(document.get(key), list) for key in ("pulls", "totals", "awaited")):
        return
    arm = int(rng.integers(len(document["pulls"]) + 1)) - 1
    factor, way = pick(rng, (10, 10**6, 10**12, 10**15)), rng.random()
    with contextlib.suppress(LookupError, TypeError, ValueError, OverflowError):
        if way < 0.3:
            document["pulls"][arm] = int(document["pulls"][arm]) * factor
            document["totals"][arm] = float(document["totals"][arm]) * factor
        elif way < 0.5:
            document["awaited"][arm] += factor - 1
        elif way < 0.6:
            document["clusters"]["widths"] = [pick(rng, WIDTHS) for _ in document["clusters"]["widths"]]
        elif way < 0.8:
            key = pick(rng, [*document["settings"], "seed"])
            document["settings"][key] = pick(rng, VALUES.get(key, (None,)))
        elif way < 0.9:
            document["family"] = pick(rng, FAMILIES)
        document["rounds"] = max(document["rounds"], sum(document["pulls"]) + sum(document["awaited"]))


def _use(rng: Generator, policy: Any) -> None:
    """Check that a policy works, is fast, and can be restored."""
    text = timed(policy.to_json, _SECONDS)
    assert timed(lambda: cb.Policy.from_json(text), _SECONDS).to_json() == text
    timed(policy.explain, _SECONDS)
    asked: list[Any] = []
    if refused(lambda: asked.append(timed(policy.ask, _SECONDS))):
        assert policy.rounds == MOST_ROUNDS or policy.settings.get("horizon", 1) is None
        return
    (arm,) = asked
    assert arm in policy.clusters.arms
    total = random_total(rng, policy.family, 1, extreme=False)
    timed(lambda: policy.tell(arm, total), _SECONDS)
