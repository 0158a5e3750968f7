"""KL-UCB++: KL-UCB with MOSS's threshold, for a known number of rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from clusterbandits.policies.scored.kernels import KL_UCB_PLUS, ScoreState, fresh_state
from clusterbandits.policies.scored.policy import ScoredPolicy
from clusterbandits.validate import invalid

if TYPE_CHECKING:
    from numpy.random import Generator


class KLUCBPlusPlus(ScoredPolicy):
    r"""Pull the arm with the largest mean not refuted, at a threshold that depends on the rounds in all.

    .. math:: v_k = \sup\{q : t_k\, d(m_k, q) \le \log^+(y(1 + \log^+(y)^2))\}, \quad y = T / (K t_k)

    It must know T, the number of rounds: a simulation tells it, online it must be given.

    Parameters
    ----------
    clusters
        The arms; their widths are not used.
    horizon
        T; left out, that of the simulation.
    family
        The law of rewards.
    label
        What tables and pictures call it.

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
    uses_widths = False
    needs_horizon = True
    defaults: ClassVar = {"horizon": None}
    guarantee = "meets the classical bound; minimax"
    reference = "Ménard and Garivier 2017"

    def fresh_state(self, rng: Generator | None = None) -> ScoreState:
        """Return the state before the first round."""
        del rng
        horizon = self.settings["horizon"] or 1
        return fresh_state(self.family.law, KL_UCB_PLUS, horizon, len(self.clusters.arms))

    def ask(self, k: int | None = None) -> Any:
        """Return the arm to play next, or a list of arms; refused where the horizon is not known."""
        if self.settings["horizon"] is None:
            raise invalid("horizon", "KLUCBPlusPlus", "the number of rounds there will be, to be asked", None)
        return super().ask(k)
