"""What UCB1, MOSS and KL-UCB++ share: the score of every arm is its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from clusterbandits.policies.policy import Policy
from clusterbandits.policies.scored.kernels import score_of

if TYPE_CHECKING:
    from clusterbandits.policies.scored.kernels import ScoreState


class ScoredPolicy(Policy):
    """A policy that pulls the arm with the largest score."""

    def _scores(self) -> list[float]:
        state = cast("ScoreState", self._live)
        return [float(score_of(state, arm, self._next_round)) for arm in range(state.pulls.size)]
