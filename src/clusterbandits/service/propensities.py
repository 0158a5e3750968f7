"""Propensities: the probability of each decision in the log, given the state in which it was made.

The state is computed from the log before the decision. A random policy chooses many times, with other random
numbers; the choice of a deterministic policy has probability 1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from clusterbandits.service.experiment import Asked
from clusterbandits.simulation.statistics import count_text

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
        (p (1 − p) / draws)^½. A decision of the policy counts as one more draw, so that its probability is
        not 0. A uniform draw says nothing about the policy and is replaced by one more choice: so the mean of
        1/p is the number of possible arms, for any number of draws.

    Attributes
    ----------
    decisions, certain
        Number of decisions so far, and of those in which no other arm was possible, because the policy is
        deterministic and did not explore.
    """

    def __init__(self, one: Experiment, draws: int) -> None:
        self._one, self._draws = one, draws
        self.decisions = self.certain = 0

    def of(self, event: Event) -> dict[str, Any]:
        """Return the probability of a decision and its standard error, as columns."""
        one, asked = self._one, Asked.of(event)
        available = one.unmasked(asked.available)
        candidates = one.open_arms(available)
        explore = one.plan.explore
        chosen, error = (0.0, 0.0) if explore >= 1 else self._by_policy(event, available, asked.explored)
        self.decisions += 1
        self.certain += not one.policy.randomised and explore == 0
        return {
            "propensity": explore / len(candidates) + (1 - explore) * chosen,
            "propensity_error": (1 - explore) * error,
        }

    def warning(self) -> str | None:
        """Return a sentence about decisions that cannot support estimates; None if there are none."""
        if not self.certain:
            return None
        every = "every propensity is" if self.certain == self.decisions else "their propensities are"
        return (
            f"A deterministic policy made {self.certain:,} of {count_text(self.decisions, 'decision')} "
            f"without exploration: {every} 1, and they cannot support inverse-propensity estimates. Create "
            "experiments with explore above 0 for that."
        )

    def _by_policy(self, event: Event, available: list[str] | None, explored: bool) -> tuple[float, float]:
        policy, label = self._one.policy, self._one.arms[event.arm or 0]
        repeated = self._draws + explored
        share = policy.chances(repeated, available=available, seed=event.seq)[label]
        if not policy.randomised:
            return share, 0.0
        hits, draws = round(share * repeated) + (not explored), self._draws + 1
        # Half a draw each way: an arm that was never drawn can have a probability above 0.
        likely = (hits + 0.5) / (draws + 1)
        return hits / draws, math.sqrt(likely * (1 - likely) / draws)
