"""What one cluster must cost: the two vertices of its linear program, in closed form."""

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

#: Where α is at most this share of D in a whole cluster, its limit for β → 0 is exact.
_VANISHING = 1e-100


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """What a pull of each arm says: the coefficients of the linear program."""

    #: a = μ* − μ, the cost of a pull.
    gaps: Floats
    #: D = d(μ, μ*), how hard a pull argues against the arm itself being best.
    divergences: Floats
    #: b = d⁺(μ, μ* − β), how hard it argues against any arm of the cluster being best.
    b: Floats
    #: α = D − b.
    alpha: Floats
    #: 1/D, the pulls per log n that must be spent without knowledge of the clusters; infinite for a best arm.
    classical_allocation: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Rates:
    """What follows from the evidence; every rate is per log n.

    A cluster that holds a best arm pays the classical rate: ``branch`` is ``"classical"`` and L, A and B are
    None. Otherwise ``branch`` names the smaller of A (all constraints tight) and B (the lowest arm alone
    refutes the whole cluster).
    """

    L: float | None
    A: float | None
    B: float | None
    branch: Branch
    #: The least regret any uniformly good policy pays here.
    lower: float
    #: What Clus-UCB pays here (Theorem 2).
    clus_ucb: float
    #: What must be paid without knowledge of the clusters.
    classical: float
    #: Pulls of each arm that attain ``lower``; infinite for a best arm.
    allocation: Floats
    #: Pulls of each arm by Clus-UCB, 1/(α L); infinite for a best arm.
    clus_ucb_allocation: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class ClusterBound(Rates, Evidence):
    """One cluster's share of the bounds, with the evidence of its arms in their order."""

    name: Label
    arms: tuple[Label, ...]
    means: Floats
    width: float
    span: float
    #: By how much the span exceeds the width, 0 where the width is true.
    excess: float

    @property
    def violated(self) -> bool:
        """Whether the means spread wider than the declared width."""
        return self.excess > 0

    @property
    def pull_ratios(self) -> Floats | None:
        """Clus-UCB's pulls of each arm over those of its most pulled one; None if an arm here is best."""
        if self.branch == "classical":
            return None
        alpha, least = self.alpha, float(self.alpha.min())
        if least == 0:
            # The limit β → 0, or arms so close to the best that α vanishes beside the others.
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
        # β → 0: α becomes proportional to the gap, in every exponential family.
        shares = arms.gaps.min() / arms.gaps
        return shares * _reciprocal(_sum(arms.divergences * shares)), math.inf
    if least == 0:
        # An arm so close to the best that its divergence is below all floats: no pulls suffice.
        return inverse(arms.alpha), 1.0
    w = least / arms.alpha
    combined = _sum(arms.b * w)
    return w / (least + combined), 1.0 + combined / least


def _lowest_alone(arms: Evidence) -> Floats:
    """Return the allocation 1/b on the arm of lowest mean, which has the largest b; equals share it."""
    largest = float(arms.b.max())
    lowest = arms.b == largest
    return np.where(lowest, _reciprocal(largest) / int(lowest.sum()), 0.0)


def _sum(values: Floats) -> float:
    """Return the sum with a single rounding, so that the order of the arms changes nothing."""
    return math.fsum(values.tolist())


def inverse(values: Floats) -> Floats:
    """Return 1/values, infinite where they vanish."""
    with np.errstate(over="ignore"):
        return np.divide(1.0, values, out=np.full_like(values, math.inf), where=values > 0)


def _reciprocal(value: float) -> float:
    return 1.0 / value if value > 0 else math.inf
