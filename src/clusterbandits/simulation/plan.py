"""What is to be played: the data that decides every bit of a result, and the pieces it is played in."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clusterbandits.instance import Instance
from clusterbandits.limits import LARGEST_SEED, MOST_RUNS
from clusterbandits.policies import Policy
from clusterbandits.serial import to_json
from clusterbandits.simulation.checkpoints import read_checkpoints
from clusterbandits.simulation.start import NO_HISTORY, Start, start_of_rows
from clusterbandits.validate import check_keys, check_numbers, truth, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


class Block(NamedTuple):
    """Some runs of one policy."""

    policy: int
    first: int
    runs: int


class Played(NamedTuple):
    """What a block leaves behind."""

    #: ``[run, checkpoint, arm]``
    pulls: NDArray[np.int64]
    #: ``[run, cluster]``: the round in which the width alarm went off, 0 where it did not.
    alarms: NDArray[np.int64]


@dataclass(frozen=True)
class Plan:
    """A simulation as data."""

    instance: Instance
    policies: tuple[Policy, ...]
    horizon: int
    runs: int
    seed: int
    checkpoints: tuple[int, ...]
    paired: bool
    stepwise: bool
    #: What policies know before the first round; horizon and checkpoints count the rounds after it.
    start: Start = NO_HISTORY

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of every policy."""
        return tuple(policy.label for policy in self.policies)

    def sources(self) -> tuple[str, ...]:
        """Return hashes of the code from outside the package, as it is here."""
        return tuple(type(policy)._source for policy in self.policies)

    def check_sources(self, planned: tuple[str, ...] | None = None) -> None:
        """Refuse policies and samplers from outside the package whose code is not what was planned with."""
        for policy, source in zip(self.policies, planned or self.sources(), strict=True):
            policy.check_source("simulate", source if planned else None)
        for distribution in self.instance.rewards or ():
            distribution.check_source("simulate")

    def blocks(self, pieces: int, played: NDArray[np.bool_]) -> list[Block]:
        """Return the runs that were not played yet, in at most so many pieces a policy, and what gaps add.

        All policies' first runs come first, so that an interruption leaves runs to compare.

        Parameters
        ----------
        pieces
            In how many pieces a policy's runs are cut where all are missing; no bit depends on it.
        played
            ``[policy, run]``
        """
        size = math.ceil(self.runs / pieces)
        found = []
        for first in range(0, self.runs, size):
            for policy, done in enumerate(played):
                missing = np.flatnonzero(~done[first : first + size]) + first
                parts = np.split(missing, np.flatnonzero(np.diff(missing) > 1) + 1) if missing.size else []
                found += [Block(policy, int(part[0]), part.size) for part in parts]
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which ``of_dict`` makes this plan again."""
        data = {
            "instance": self.instance.to_dict(),
            "policies": [policy.description() for policy in self.policies],
            "horizon": self.horizon,
            "runs": self.runs,
            "seed": self.seed,
            "checkpoints": list(self.checkpoints),
            "paired": self.paired,
            "stepwise": self.stepwise,
        }
        # Left out without a history: such plans are written, and hashed, as they were before there was one.
        known = {"start": self.start.labelled(self.instance.arms)} if self.start.rows else {}
        return data | known

    def to_json(self) -> str:
        """Return ``to_dict`` as text."""
        return to_json(self.to_dict())

    @classmethod
    def of_dict(cls, data: Mapping[str, Any]) -> Plan:
        """Return the plan that ``to_dict`` described; what could not be one is refused."""
        names = [field.name for field in dataclasses.fields(cls)]
        check_keys([name for name in names if name != "start" or name in data], "Plan", data)
        horizon = whole("horizon", "Plan", data["horizon"], least=1)
        instance = Instance.from_dict(data["instance"])
        policies = tuple(Policy.of_description(one) for one in data["policies"])
        start = start_of_rows(data.get("start", ()), instance.arms, "Plan")
        return cls.checked("Plan", instance, policies, horizon, data, start)

    @classmethod
    def checked(
        cls,
        owner: str,
        instance: Instance,
        policies: tuple[Policy, ...],
        horizon: int,
        settings: Mapping[str, Any],
        start: Start,
    ) -> Plan:
        """Return a plan whose other settings, by name, have been checked here."""
        start.check_horizon(horizon, owner)
        for policy in policies:
            start.check_policy(policy, owner)
        if instance.rewards is None:
            start.check_family(instance.family, owner)
        runs = whole("runs", owner, settings["runs"], least=1, most=MOST_RUNS)
        checkpoints = read_checkpoints(settings["checkpoints"], horizon)
        check_numbers(owner, len(policies), runs, len(checkpoints), len(instance.arms))
        return cls(
            instance=instance,
            policies=policies,
            horizon=horizon,
            runs=runs,
            seed=whole("seed", owner, settings["seed"], least=0, most=LARGEST_SEED),
            checkpoints=checkpoints,
            paired=truth("paired", owner, settings["paired"]),
            stepwise=truth("stepwise", owner, settings["stepwise"]),
            start=start,
        )


@functools.lru_cache(maxsize=8)
def plan_of_json(text: str) -> Plan:
    """Return the plan that ``Plan.to_json`` wrote; a worker reads it once for all its blocks."""
    return Plan.of_dict(json.loads(text))
