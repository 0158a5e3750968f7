"""The linear program of the lower bound, solved numerically."""

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
    errors = [abs(part.lower / math.fsum(program(part)) - 1) for part in parts]
    measured = f"{len(parts)} clusters: largest relative difference {max(errors):.1g}."
    return Finding(share((one <= ROUNDING for one in errors), universal=True), measured)


def worst_arm_alone(parts: Sequence[ClusterBound]) -> Finding:
    """Test whether the solution pulls only the lowest arm if the second term is the minimum."""
    second = [part for part in parts if part.branch == "B" and part.span > 0]
    alone = [program(part)[int(part.means.argmin())] >= (1 - ROUNDING) * part.lower for part in second]
    measured = f"The second term is the minimum in {len(second)} of {len(parts)} clusters"
    return Finding(share(alone), f"{measured}; only the worst arm is pulled in {sum(alone)} of them.")


@functools.cache
def program(part: ClusterBound) -> tuple[float, ...]:
    """Return the regret per arm in the solution of the proof's linear program, by HiGHS."""
    # In units of regret, x = a c, and scaled, because the solver's tolerances are absolute.
    evidence = (np.diag(part.alpha) + part.b) / part.gaps
    ones, scale = np.ones(len(part.gaps)), evidence.max()
    return tuple((linprog(ones, A_ub=-evidence / scale, b_ub=-ones, method="highs").x / scale).tolist())


def infimum(parts: Sequence[ClusterBound], seed: int = 1) -> Finding:
    """Minimise the evidence over alternative instances by brute force and compare with the constraint."""
    rng = np.random.default_rng(seed)
    errors = []
    for part in parts:
        weights = rng.exponential(size=len(part.means))
        raised = int(rng.integers(len(part.means)))
        stated = float(weights @ part.b + weights[raised] * part.alpha[raised])
        errors.append(abs(_least_evidence(part, weights, raised) / stated - 1))
    measured = f"{len(parts)} clusters with random pulls: largest relative difference {max(errors):.1g}."
    return Finding(share((one <= ROUNDING for one in errors), universal=True), measured)


def _least_evidence(part: ClusterBound, weights: Floats, raised: int) -> float:
    """Minimise Σ C d(μ, λ) over windows [x, x + β] that contain all λ and reach the best mean."""
    best = best_beside(part)
    start = best - part.width + (1 - best) * np.linspace(0, 0.999, 500)[:, None]
    moved = np.clip(part.means, start, start + part.width)
    moved[:, raised] = np.maximum(start[:, 0], best)
    return float((bernoulli(part.means, moved) @ weights).min())
