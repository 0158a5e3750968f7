"""Regret bounds of an instance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.bounds import view
from clusterbandits.bounds.cluster import ClusterBound, Evidence, inverse, solve
from clusterbandits.instance import paired_clusters
from clusterbandits.plotting import drawn
from clusterbandits.validate import whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clusterbandits.clusters import Clusters
    from clusterbandits.families import Family
    from clusterbandits.instance import Instance
    from clusterbandits.partition import Label
    from clusterbandits.plotting import Axes

    Floats = NDArray[np.float64]

#: More than half a unit in the last place for each of the best mean, a width and a mean.
_ROUNDING = 2 * np.finfo(float).eps


@dataclass(frozen=True, eq=False, repr=False)
class RegretBound:
    """Lower bounds on regret per log n, as returned by ``regret_bound``; prints as a table."""

    family: Family
    best_mean: float
    arms: tuple[Label, ...]
    membership: tuple[int, ...]
    clusters: tuple[ClusterBound, ...]
    #: The lower bound for uniformly good policies that know the clusters (Theorem 1).
    lower: float
    #: The regret of Clus-UCB (Theorem 2).
    clus_ucb: float
    #: The lower bound for uniformly good policies that do not know the clusters (Lai and Robbins).
    classical: float

    @property
    def saving(self) -> float:
        """The share of the classical bound that knowledge of the clusters saves, from 0 to 1."""
        return max(0.0, 1.0 - self.lower / self.classical) if 0 < self.classical < math.inf else 0.0

    @property
    def violated(self) -> tuple[Label, ...]:
        """The clusters whose span exceeds the declared width."""
        return tuple(cluster.name for cluster in self.clusters if cluster.violated)

    @property
    def allocation(self) -> Floats:
        """The pulls per log n of each arm that attain the lower bound; infinite for a best arm."""
        return self._by_arm([cluster.allocation for cluster in self.clusters])

    @property
    def clus_ucb_allocation(self) -> Floats:
        """The pulls per log n of each arm by Clus-UCB, 1/(α L); infinite for a best arm."""
        return self._by_arm([cluster.clus_ucb_allocation for cluster in self.clusters])

    @property
    def classical_allocation(self) -> Floats:
        """The pulls per log n of each arm that attain the classical bound, 1/D; infinite for a best arm."""
        return self._by_arm([cluster.classical_allocation for cluster in self.clusters])

    def expected_pulls(self, horizon: float) -> Floats:
        """Return the expected pulls of each arm by Clus-UCB in ``horizon`` rounds, to first order.

        A suboptimal arm gets log T / (α L) pulls, or log T / D in a cluster with a best arm. The best arms
        share the remaining rounds equally. If no rounds remain, the horizon is too short for this
        approximation; see ``suffices``.
        """
        rounds = whole("horizon", "RegretBound.expected_pulls", horizon, least=1)
        best = self._by_arm([cluster.gaps for cluster in self.clusters]) == 0
        pulls = np.where(best, 0.0, self.clus_ucb_allocation * math.log(rounds)) if rounds > 1 else 0.0 * best
        pulls[best] = max(rounds - math.fsum(pulls[~best]), 0.0) / best.sum()
        return pulls

    def suffices(self, horizon: float) -> bool:
        """Return whether a horizon is long enough for ``expected_pulls`` to leave rounds to the best arms."""
        return bool(self.expected_pulls(horizon).sum() <= horizon * (1 + 1e-9))

    @property
    def misled(self) -> tuple[Label, ...]:
        """The clusters with a best arm whose span exceeds the declared width, outside the theorems."""
        return tuple(part.name for part in self.clusters if part.violated and part.branch == "classical")

    def to_dict(self) -> dict[str, Any]:
        """Return all bounds as plain data; infinities are floats."""
        return {
            "family": self.family.spec,
            "best_mean": self.best_mean,
            "lower": self.lower,
            "clus_ucb": self.clus_ucb,
            "classical": self.classical,
            "saving": self.saving,
            "violated": list(self.violated),
            "misled": list(self.misled),
            "clusters": [cluster.to_dict() for cluster in self.clusters],
        }

    def _by_arm(self, parts: list[Floats]) -> Floats:
        result = np.empty(len(self.arms))
        result[np.argsort(self.membership, kind="stable")] = np.concatenate(parts)
        return result

    def __repr__(self) -> str:
        rates = {"lower": self.lower, "clus_ucb": self.clus_ucb, "classical": self.classical}
        return f"RegretBound({', '.join(f'{name}={rate:.6g}' for name, rate in rates.items())})"

    def __str__(self) -> str:
        return view.text(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the bounds of every cluster side by side; return the Matplotlib axes.

        The legend has the sums over all clusters. Bounds that are equal in every cluster share their bars.

        Parameters
        ----------
        ax
            The axes to draw on; by default those of a new figure.

        Examples
        --------
        >>> from clusterbandits import Clusters, Instance
        >>> ax = regret_bound(Instance([[0.3, 0.4], [0.7, 0.8]]), Clusters([2, 2], widths=0.1)).plot()
        >>> ax.get_xlabel(), [text.get_text() for text in ax.texts if text.get_weight() == "bold"]
        ('regret per log n', ['cluster 0: 2 arms', 'cluster 1: 2 arms'])
        """
        return drawn("regret_bound", self, ax)

    def _repr_html_(self) -> str:
        return view.html(self)


def regret_bound(instance: Instance, clusters: Clusters | None = None) -> RegretBound:
    r"""Return the lower bounds on the regret of uniformly good policies on an instance, per log n.

    Parameters
    ----------
    instance
        Means and reward family.
    clusters
        Clusters and declared widths, over the same arms in the same order; by default, the groups of the
        instance with their true spans as widths. Widths below the spans are used as given, and reported.

    Notes
    -----
    With μ* the best mean, a suboptimal cluster of width β and arms k has

    .. math::
        a_k = μ^* - μ_k, \quad D_k = d(μ_k, μ^*), \quad b_k = d^+(μ_k, μ^* - β), \quad α_k = D_k - b_k,
        \quad L = 1 + \sum_k b_k / α_k

    and a regret of at least :math:`\min(A, B)` per log n, with :math:`A = \sum_k a_k / (α_k L)` and :math:`B
    = a_j / b_j` for its lowest arm j. Clus-UCB incurs A. In a cluster with a best arm, the regret is at least
    :math:`\sum_k a_k / D_k` over the other arms.

    Examples
    --------
    >>> from clusterbandits import Clusters, Instance
    >>> bound = regret_bound(Instance([[0.3, 0.7], [0.1, 0.2, 0.8]]), Clusters([2, 3], widths=[0.1, 0.7]))
    >>> bound
    RegretBound(lower=2.80759, clus_ucb=3.67563, classical=5.74059)
    >>> bound.clusters[0].branch, bound.clusters[0].violated
    ('B', True)

    References
    ----------
    Gore and Chaporkar, Clus-UCB: a near-optimal algorithm for clustered bandits, Theorems 1 and 2.
    """
    known = paired_clusters(instance, clusters, "regret_bound")
    evidence = _evidence(instance, known)
    fit = known.fits(instance.means)
    parts = []
    for c, members in enumerate(known.partition.members):
        own = Evidence(**{name: values[members] for name, values in vars(evidence).items()})
        part = ClusterBound(
            name=known.names[c],
            arms=known.partition.groups[known.names[c]],
            means=instance.means[members],
            width=known.widths[c],
            span=fit.spans[c],
            excess=fit.excess[c],
            **vars(own),
            **vars(solve(own)),
        )
        parts.append(part)
    return RegretBound(
        family=instance.family,
        best_mean=instance.best_mean,
        arms=known.arms,
        membership=known.partition.membership,
        clusters=tuple(parts),
        lower=math.fsum(part.lower for part in parts),
        clus_ucb=math.fsum(part.clus_ucb for part in parts),
        classical=math.fsum(part.classical for part in parts),
    )


def _evidence(instance: Instance, clusters: Clusters) -> Evidence:
    family, means, best = instance.family, instance.means, instance.best_mean
    width = np.array(clusters.widths)[np.array(clusters.partition.membership)]
    # In floats, 0.8 − 0.5 is above 0.3, but an arm exactly one width below the best must have b = 0.
    touching = np.abs(instance.gaps - width) <= _ROUNDING * np.maximum(abs(best), np.abs(means))
    reached = (instance.gaps <= width) | (touching & (width > 0))
    divergences = family.divergence(means, best)
    return Evidence(
        gaps=instance.gaps,
        divergences=divergences,
        b=np.where(reached, 0.0, family.divergence_above(means, best, width)),
        alpha=np.where(reached, divergences, family.rise(means, best, width)),
        classical_allocation=inverse(divergences),
    )
