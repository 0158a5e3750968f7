"""TLP-MEAN: choose a cluster by KL-UCB on its pooled mean, then an arm by KL-UCB."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from clusterbandits.compiled import kernel
from clusterbandits.families.law import upper
from clusterbandits.policies.two_level import TwoLevelPolicy

if TYPE_CHECKING:
    from clusterbandits.policies.two_level_scores import TwoLevelState


@kernel
def pooled_mean(state: TwoLevelState, c: int, spent: int, _held: int) -> float:
    """Return the mean of all rewards of a cluster."""
    total = 0.0
    for place in range(state.start[c], state.start[c + 1]):
        total += state.totals[state.order[place]]
    return float(total / (state.cluster_pulls[c] + spent))


@kernel
def kl_score(state: TwoLevelState, mean: float, pulls: int, level: float) -> float:
    """Return the KL-UCB index, sup{q : t d(m, q) ≤ f}."""
    return upper(state.law, mean, level / pulls)


class TLPMean(TwoLevelPolicy):
    r"""Choose a cluster by the KL-UCB index of its pooled rewards, then an arm by its own KL-UCB index.

    .. math:: \sup\{q : N_c\, d(S_c / N_c, q) \le f(n)\}, \quad \text{then} \quad
              \sup\{q : t_k\, d(m_k, q) \le f(N_c)\}

    with N_c pulls and total S_c of cluster c.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = TLPMean(Clusters([2, 1], widths=0.1))
    >>> for reward in [0, 1, 0]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    1

    References
    ----------
    Pandey, Chakrabarti and Agarwal, Multi-armed bandit problems with dependent arms, ICML 2007.
    """

    name = "tlp-mean"
    defaults: ClassVar = {"a": 0.0, "clock": "cluster", "refresh": 1}
    guarantee = "none; can miss a good arm in a poor cluster"
    reference = "Pandey et al. 2007"
    score = kl_score
    standing = pooled_mean
