"""KL-UCB++: KL-UCB with the threshold of MOSS, for a known horizon."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from clusterbandits.compiled import kernel
from clusterbandits.families.law import upper
from clusterbandits.policies.scores import MONOTONE, ScorePolicy
from clusterbandits.validate import invalid

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterbandits.partition import Label
    from clusterbandits.policies.scores import ScoreState


@kernel
def score(state: ScoreState, _arm: int, pulls: int, total: float, _n: int) -> float:
    """Return sup{q : t d(m, q) ≤ log⁺(y (1 + log⁺(y)²))} with y = T / (K t); T is the parameter."""
    share = state.parameter / (state.pulls.size * pulls)
    surplus = math.log(share) if share > 1.0 else 0.0
    inflated = share * (1.0 + surplus * surplus)
    return upper(state.law, total / pulls, math.log(inflated) / pulls if inflated > 1.0 else 0.0)


class KLUCBPlusPlus(ScorePolicy):
    r"""Pull the arm with the largest upper confidence bound, at a threshold that depends on the horizon.

    .. math:: v_k = \sup\{q : t_k\, d(m_k, q) \le \log^+(y(1 + \log^+(y)^2))\}, \quad y = T / (K t_k)

    The horizon T must be known: simulations set it, and online use requires it as a setting.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = KLUCBPlusPlus(Clusters([2, 1], widths=0.1), horizon=100)
    >>> for reward in [0, 1, 0]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    1

    References
    ----------
    Ménard and Garivier, A minimax and asymptotically optimal algorithm for stochastic bandits, ALT 2017.
    """

    name = "kl-ucb++"
    needs_horizon = True
    defaults: ClassVar = {"horizon": None}
    guarantee = "meets the classical bound; minimax"
    reference = "Ménard and Garivier 2017"
    score = score
    parameter = "horizon"
    timeless = True
    relies_on = MONOTONE

    def ask(self, k: int | None = None, *, available: Iterable[Label] | None = None) -> Any:
        """Return the arm to pull next, or a list of arms; refused if the horizon is not known."""
        if self.settings["horizon"] is None:
            raise invalid(
                "horizon", "KLUCBPlusPlus", "set to the number of rounds before ask is called", None
            )
        return super().ask(k, available=available)
