"""The regret bound of one cluster: the two vertices of its linear program, in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clusterbandits.partition import Label

    Floats = NDArray[np.float64]

Branch = Literal["A", "B", "classical"]

#: If α is at most this share of D for all arms of a cluster, the limit β → 0 is exact.
_VANISHING = 1e-100


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """The evidence per pull of each arm: the coefficients of the linear program."""

    #: a = μ* − μ, the regret per pull.
    gaps: Floats
    #: D = d(μ, μ*), the evidence per pull against the arm itself being best.
    divergences: Floats
    #: b = d⁺(μ, μ* − β), the evidence per pull against each other arm of the cluster being best.
    b: Floats
    #: α = D − b.
    alpha: Floats
    #: 1/D, the pulls per log n that are needed without knowledge of the clusters; infinite for a best arm.
    classical_allocation: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Rates:
    """The regret rates of one cluster, per log n.

    A cluster with a best arm has the classical rate: ``branch`` is ``"classical"``, and L, A and B are None.
    Otherwise ``branch`` names the smaller one of A (all constraints are tight) and B (pulls of the lowest arm
    alone rule out the whole cluster).
    """

    L: float | None
    A: float | None
    B: float | None
    branch: Branch
    #: The lower bound on the regret of uniformly good policies in this cluster.
    lower: float
    #: The regret of Clus-UCB in this cluster (Theorem 2).
    clus_ucb: float
    #: The lower bound on regret without knowledge of the clusters.
    classical: float
    #: The pulls per log n of each arm that attain ``lower``; infinite for a best arm.
    allocation: Floats
    #: The pulls per log n of each arm by Clus-UCB, 1/(α L); infinite for a best arm.
    clus_ucb_allocation: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class ClusterBound(Rates, Evidence):
    """The bounds for one cluster, with the evidence of its arms in order."""

    name: Label
    arms: tuple[Label, ...]
    means: Floats
    width: float
    span: float
    #: The excess of the span over the width; 0 if the width is true.
    excess: float

    @property
    def violated(self) -> bool:
        """Whether the span of the means exceeds the declared width."""
        return self.excess > 0

    @property
    def pull_ratios(self) -> Floats | None:
        """The pulls of each arm by Clus-UCB relative to the most pulled one; None with a best arm."""
        if self.branch == "classical":
            return None
        alpha, least = self.alpha, float(self.alpha.min())
        if least == 0:
            # The limit β → 0, or arms so close to the best that α is negligible.
            return (alpha == 0).astype(float) if alpha.any() else float(self.gaps.min()) / self.gaps
        return np.ones_like(alpha) if least == math.inf else least / alpha

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        derived = ["violated", "pull_ratios"]
        data = {name: getattr(self, name) for name in [field.name for field in fields(self)] + derived}
        return {
            key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in data.items()
        }


def solve(arms: Evidence) -> Rates:
    """Solve min aᵀc over c ≥ 0 with α_i c_i + Σ b_k c_k ≥ 1 for every arm i; classically with a best arm."""
    plain = arms.classical_allocation
    if not arms.gaps.all():
        suboptimal = arms.gaps > 0
        classical = _sum(arms.gaps[suboptimal] * plain[suboptimal])
        return Rates(
            L=None,
            A=None,
            B=None,
            branch="classical",
            lower=classical,
            clus_ucb=classical,
            classical=classical,
            allocation=plain,
            clus_ucb_allocation=plain,
        )
    tight, L = _all_tight(arms)
    tight = np.minimum(tight, plain)  # 1/(α L) ≤ 1/D, also after rounding
    single = _lowest_alone(arms)
    A, B = _sum(arms.gaps * tight), _sum(arms.gaps * single)
    return Rates(
        L=L,
        A=A,
        B=B,
        branch="A" if A <= B else "B",
        lower=min(A, B),
        clus_ucb=A,
        classical=_sum(arms.gaps * plain),
        allocation=tight if A <= B else single,
        clus_ucb_allocation=tight,
    )


def _all_tight(arms: Evidence) -> tuple[Floats, float]:
    """Return the allocation 1/(α L), as w / (α_min + Σ b w) with w = α_min/α, and L = 1 + Σ b/α."""
    least = float(arms.alpha.min())
    if least == math.inf:
        return np.zeros_like(arms.alpha), 1.0
    if np.all(arms.alpha <= _VANISHING * arms.divergences) and arms.divergences.min() > 0:
        # For β → 0, α is proportional to the gap, in every exponential family.
        shares = arms.gaps.min() / arms.gaps
        return shares * _reciprocal(_sum(arms.divergences * shares)), math.inf
    if least == 0:
        # The divergence of an arm very close to the best is below all floats: no number of pulls is enough.
        return inverse(arms.alpha), 1.0
    w = least / arms.alpha
    combined = _sum(arms.b * w)
    return w / (least + combined), 1.0 + combined / least


def _lowest_alone(arms: Evidence) -> Floats:
    """Return the allocation 1/b to the arm with the lowest mean, which has the largest b; ties share it."""
    largest = float(arms.b.max())
    lowest = arms.b == largest
    return np.where(lowest, _reciprocal(largest) / int(lowest.sum()), 0.0)


def _sum(values: Floats) -> float:
    """Return the sum with a single rounding, so that it does not depend on the order of the arms."""
    return math.fsum(values.tolist())


def inverse(values: Floats) -> Floats:
    """Return 1/values, infinite for values of 0."""
    with np.errstate(over="ignore"):
        return np.divide(1.0, values, out=np.full_like(values, math.inf), where=values > 0)


def _reciprocal(value: float) -> float:
    return 1.0 / value if value > 0 else math.inf
