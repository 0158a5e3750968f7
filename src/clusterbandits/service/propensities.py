"""Propensities: the probability of each decision in the log, given the state in which it was made.

The state is computed from the log before the decision. A random policy chooses many times, with other random
numbers; the choice of a deterministic policy has probability 1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from clusterbandits.service.experiment import Asked

if TYPE_CHECKING:
    from clusterbandits.service.experiment import Experiment
    from clusterbandits.service.log import Event


class Propensities:
    """Compute the probabilities of decisions in the order of the log.

    Parameters
    ----------
    one
        Experiment to which the caller applies each event after its probability was computed.
    draws
        Number of repeated choices of a random policy. The standard error of a probability p is
        (p (1 − p) / draws)^½. The decision itself counts as one more draw, so that no probability is 0.
    """

    def __init__(self, one: Experiment, draws: int) -> None:
        self._one, self._draws = one, draws

    def of(self, event: Event) -> dict[str, Any]:
        """Return the probability of a decision and its standard error, as columns."""
        one = self._one
        available = one.unmasked(Asked.of(event).available)
        candidates = one.open_arms(available)
        label, explore = one.arms[event.arm or 0], one.plan.explore
        chosen, error = (0.0, 0.0) if explore >= 1 else self._by_policy(label, available, event.seq)
        return {
            "propensity": explore / len(candidates) + (1 - explore) * chosen,
            "propensity_error": (1 - explore) * error,
        }

    def _by_policy(self, label: str, available: list[str] | None, seed: int) -> tuple[float, float]:
        policy = self._one.policy
        found = policy.chances(self._draws, available=available, seed=seed)
        if not policy.randomised:
            return found[label], 0.0
        hits = round(found[label] * self._draws) + 1
        share = hits / (self._draws + 1)
        return share, math.sqrt(share * (1 - share) / (self._draws + 1))
