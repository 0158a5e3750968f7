"""Simulation plans: the data that determine a result exactly, and the blocks in which it is simulated."""

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
    """The results of a block."""

    #: ``[run, checkpoint, arm]``
    pulls: NDArray[np.int64]
    #: ``[run, cluster]``: the round of the width alarm, 0 if there was none.
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
    #: The history before the first round; horizon and checkpoints count the rounds after it.
    start: Start = NO_HISTORY

    @property
    def labels(self) -> tuple[str, ...]:
        """The display names of the policies."""
        return tuple(policy.label for policy in self.policies)

    def sources(self) -> tuple[str, ...]:
        """Return hashes of the code from outside the package in this process."""
        return tuple(type(policy)._source for policy in self.policies)

    def check_sources(self, planned: tuple[str, ...] | None = None) -> None:
        """Refuse policies and samplers from outside the package whose code differs from the planned one."""
        for policy, source in zip(self.policies, planned or self.sources(), strict=True):
            policy.check_source("simulate", source if planned else None)
        for distribution in self.instance.rewards or ():
            distribution.check_source("simulate")

    def blocks(self, pieces: int, played: NDArray[np.bool_]) -> list[Block]:
        """Return the missing runs in blocks, at most ``pieces`` per policy plus those that gaps require.

        The first runs of all policies come first, so that the policies can be compared after an interruption.

        Parameters
        ----------
        pieces
            Number of blocks per policy if all its runs are missing; results do not depend on it.
        played
            ``[policy, run]``: whether the run is finished.
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
        """Return the plan as plain data for ``of_dict``."""
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
        # Omitted without a history, so that such plans have the same hash as before histories existed.
        known = {"start": self.start.labelled(self.instance.arms)} if self.start.rows else {}
        return data | known

    def to_json(self) -> str:
        """Return ``to_dict`` as text."""
        return to_json(self.to_dict())

    @classmethod
    def of_dict(cls, data: Mapping[str, Any]) -> Plan:
        """Return the plan that ``to_dict`` described; refuse invalid data."""
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
        """Check the other settings, given by name, and return the plan."""
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
    """Return the plan that ``Plan.to_json`` wrote; cached, so a worker reads it once for all its blocks."""
    return Plan.of_dict(json.loads(text))
