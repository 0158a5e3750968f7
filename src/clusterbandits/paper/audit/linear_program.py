"""The linear program behind the lower bound, solved by others."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linprog

from clusterbandits.paper.audit.claim import Finding
from clusterbandits.paper.audit.samples import ROUNDING, bernoulli, best_beside, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clusterbandits.bounds import ClusterBound

    Floats = NDArray[np.float64]


def closed_form(parts: Sequence[ClusterBound]) -> Finding:
    """Compare min(A, B) with the value of the linear program."""
    apart = [abs(part.lower / math.fsum(program(part)) - 1) for part in parts]
    told = f"{len(parts)} clusters: largest relative difference {max(apart):.1g}."
    return Finding(share((one <= ROUNDING for one in apart), universal=True), told)


def worst_arm_alone(parts: Sequence[ClusterBound]) -> Finding:
    """Ask whether the program pulls the lowest arm alone where the second term is the minimum."""
    second = [part for part in parts if part.branch == "B" and part.span > 0]
    alone = [program(part)[int(part.means.argmin())] >= (1 - ROUNDING) * part.lower for part in second]
    told = f"The second term is the minimum in {len(second)} of {len(parts)} clusters"
    return Finding(share(alone), f"{told}; only the worst arm is pulled in {sum(alone)} of these.")


@functools.cache
def program(part: ClusterBound) -> tuple[float, ...]:
    """Return what the linear program of the proof spends on each arm, by HiGHS."""
    # In units of cost, x = a c, and scaled: the solver's tolerances are absolute.
    told = (np.diag(part.alpha) + part.b) / part.gaps
    ones, scale = np.ones(len(part.gaps)), told.max()
    return tuple((linprog(ones, A_ub=-told / scale, b_ub=-ones, method="highs").x / scale).tolist())


def infimum(parts: Sequence[ClusterBound], seed: int = 1) -> Finding:
    """Minimise the evidence over bad instances by brute force and compare with the constraint."""
    rng = np.random.default_rng(seed)
    apart = []
    for part in parts:
        weights = rng.exponential(size=len(part.means))
        raised = int(rng.integers(len(part.means)))
        stated = float(weights @ part.b + weights[raised] * part.alpha[raised])
        apart.append(abs(_least_evidence(part, weights, raised) / stated - 1))
    told = f"{len(parts)} clusters with random weights: largest relative difference {max(apart):.1g}."
    return Finding(share((one <= ROUNDING for one in apart), universal=True), told)


def _least_evidence(part: ClusterBound, weights: Floats, raised: int) -> float:
    """Minimise Σ C d(μ, λ) over windows [x, x + β] that hold all λ and reach the best mean."""
    best = best_beside(part)
    start = best - part.width + (1 - best) * np.linspace(0, 0.999, 500)[:, None]
    moved = np.clip(part.means, start, start + part.width)
    moved[:, raised] = np.maximum(start[:, 0], best)
    return float((bernoulli(part.means, moved) @ weights).min())
