"""What is to be played: the data that decides every bit of a result, and the pieces it is played in."""

from __future__ import annotations

import functools
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from clusterbandits.instance import Instance
from clusterbandits.policies import Policy
from clusterbandits.serial import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Pieces a policy's runs are played, handed out and stored in.
_BLOCKS = 16


class Block(NamedTuple):
    """Some runs of one policy."""

    policy: int
    first: int
    runs: int


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

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of every policy."""
        return tuple(policy.label for policy in self.policies)

    @property
    def blocks(self) -> list[Block]:
        """The pieces, all policies' first runs first, so that an interruption leaves runs to compare."""
        size = math.ceil(self.runs / _BLOCKS)
        return [
            Block(policy, first, min(size, self.runs - first))
            for first in range(0, self.runs, size)
            for policy in range(len(self.policies))
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which ``of_dict`` makes this plan again."""
        return {
            "instance": self.instance.to_dict(),
            "policies": [policy.description() for policy in self.policies],
            "horizon": self.horizon,
            "runs": self.runs,
            "seed": self.seed,
            "checkpoints": list(self.checkpoints),
            "paired": self.paired,
            "stepwise": self.stepwise,
        }

    def to_json(self) -> str:
        """Return ``to_dict`` as text."""
        return to_json(self.to_dict())

    @classmethod
    def of_dict(cls, data: Mapping[str, Any]) -> Plan:
        """Return the plan that ``to_dict`` described."""
        return cls(
            instance=Instance.from_dict(data["instance"]),
            policies=tuple(Policy.of_description(one) for one in data["policies"]),
            checkpoints=tuple(data["checkpoints"]),
            **{key: data[key] for key in ("horizon", "runs", "seed", "paired", "stepwise")},
        )


@functools.lru_cache(maxsize=8)
def plan_of_json(text: str) -> Plan:
    """Return the plan that ``Plan.to_json`` wrote; a worker reads it once for all its blocks."""
    return Plan.of_dict(json.loads(text))
