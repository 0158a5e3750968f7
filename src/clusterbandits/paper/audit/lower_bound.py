"""What the paper says of its lower bound, put to the test on the figures and on random problems."""

from __future__ import annotations

import functools
import itertools
import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from clusterbandits.bounds import ClusterBound, RegretBound, regret_bound
from clusterbandits.families import as_family
from clusterbandits.generators import random_instance
from clusterbandits.instance import Instance
from clusterbandits.paper.audit.claim import Claim, Finding, Verdict, by_cases
from clusterbandits.paper.branches import settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

#: One cluster with growing widths.
Ladder: TypeAlias = tuple[ClusterBound, ...]

#: Relative differences below this are those of rounding.
ROUNDING = 1e-9
_PROBLEMS = 1000
_SEED = 2025
_GRID = np.linspace(0.05, 0.95, 10)


def bernoulli(x: ArrayLike, y: ArrayLike) -> Floats:
    """Return d(x, y) for means inside (0, 1), straight from its definition."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    result: Floats = x * np.log(x / y) + (1 - x) * np.log((1 - x) / (1 - y))
    return result


def share(results: Iterable[bool]) -> Verdict:
    """Return the verdict on cases that hold or do not; undecided without a case."""
    cases = list(results)
    none = [] if cases else ["none"]
    return by_cases(["true"] * sum(cases), ["false"] * (len(cases) - sum(cases)), none)


@functools.cache
def paper_bounds() -> tuple[RegretBound, ...]:
    """Return the bounds of every setting of the figures."""
    return tuple(one.bound for one in settings())


@functools.cache
def random_bounds(widths: Literal["exact", "wide"]) -> tuple[RegretBound, ...]:
    """Return the bounds of random problems whose widths are their spans, or up to 4 times those."""
    factors = np.random.default_rng(_SEED + 1).uniform(1, 4, size=(_PROBLEMS, 3))
    return tuple(
        regret_bound(
            instance, instance.clusters(instance.spans if widths == "exact" else _times(factor, instance))
        )
        for factor, instance in zip(factors, _instances(), strict=True)
    )


@functools.cache
def _instances() -> tuple[Instance, ...]:
    rng = np.random.default_rng(_SEED)
    sizes = [rng.integers(1, 5, size=rng.integers(2, 4)).tolist() for _ in range(_PROBLEMS)]
    return tuple(random_instance("scattered", s, rng.uniform(0, 0.3, len(s)).tolist(), rng) for s in sizes)


def _times(factors: Floats, instance: Instance) -> list[float]:
    return [float(factor) * span for factor, span in zip(factors, instance.spans, strict=False)]


def suboptimal(bounds: Iterable[RegretBound]) -> list[ClusterBound]:
    """Return the clusters that hold no best arm."""
    return [part for bound in bounds for part in bound.clusters if part.branch != "classical"]


def _spread(parts: Iterable[ClusterBound], count: int) -> list[ClusterBound]:
    """Return the first clusters of different means; one of several with the same means."""
    different = {tuple(part.means): part for part in parts if part.span > 0}
    return list(different.values())[:count]


def beside(groups: Sequence[Sequence[float]], best: float, widths: Sequence[float]) -> Ladder:
    """Return the bounds of clusters that compete with a single best arm."""
    instance = Instance([*map(list, groups), [best]])
    return regret_bound(instance, instance.clusters([*widths, 1.0])).clusters[:-1]


def ladder(part: ClusterBound, steps: int = 40) -> Ladder:
    """Return a cluster with widths from 0 to beyond all its gaps, its span among them."""
    widths = sorted({*np.linspace(0, 1.1 * part.gaps.max(), steps).tolist(), part.span})
    return beside([part.means.tolist()] * len(widths), _best(part), widths)


def _best(part: ClusterBound) -> float:
    return float(part.means[0] + part.gaps[0])


def finite_divergence(means: ArrayLike) -> Finding:
    """Count the pairs of means whose divergence is positive and finite, as the model assumes."""
    pairs = list(itertools.combinations(sorted(np.asarray(means).tolist()), 2))
    values = [float(as_family("bernoulli").divergence(*pair)) for pair in pairs]
    fine = [0 < value < math.inf for value in values]
    ends = sum(pair[1] == 1 for pair, good in zip(pairs, fine, strict=True) if not good)
    told = f"True for {sum(fine)} of {len(pairs)} pairs of means."
    return Finding(share(fine), told + f" In {ends} of the others the larger mean is 1." * (not all(fine)))


def below_classical(bounds: Sequence[RegretBound]) -> Finding:
    """Count where the clustered bound is lower than the classical one, equal to it, or higher."""
    ratios = np.array([bound.lower / bound.classical for bound in bounds])
    lower, higher = int(np.sum(ratios < 1 - ROUNDING)), int(np.sum(ratios > 1 + ROUNDING))
    equal = [bound for bound, ratio in zip(bounds, ratios, strict=True) if abs(ratio - 1) <= ROUNDING]
    silent = sum(all(len(p.arms) == 1 or not p.b.any() for p in suboptimal([bound])) for bound in equal)
    verdict = Verdict.FAILS if higher or not lower else Verdict.CONDITION if equal else Verdict.HOLDS
    told = f"{len(bounds)} problems: lower in {lower}, equal in {len(equal)}, higher in {higher}."
    why = (
        f" In {silent} of {len(equal)} equal ones no arm has a mate that tells anything (no mate, or b = 0)."
    )
    return Finding(verdict, told + why * bool(equal))


def closed_form(parts: Sequence[ClusterBound]) -> Finding:
    """Compare min(A, B) with the value of the linear program."""
    apart = [abs(part.lower / math.fsum(program(part)) - 1) for part in parts]
    told = f"{len(parts)} clusters: largest relative difference {max(apart):.1g}."
    return Finding(share(one <= ROUNDING for one in apart), told)


def worst_arm_alone(parts: Sequence[ClusterBound]) -> Finding:
    """Ask whether the program pulls the lowest arm alone where the second term is the minimum."""
    second = [part for part in parts if part.branch == "B" and part.span > 0]
    alone = [program(part)[int(part.means.argmin())] >= (1 - ROUNDING) * part.lower for part in second]
    told = f"The second term is the minimum in {len(second)} of {len(parts)} clusters"
    return Finding(share(alone), f"{told}; only the worst arm is pulled in {sum(alone)} of these.")


@functools.cache
def program(part: ClusterBound) -> tuple[float, ...]:
    """Return what the linear program of the proof spends on each arm, by HiGHS."""
    from scipy.optimize import linprog  # noqa: PLC0415 - slow to import, and needed here only

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
    return Finding(share(one <= ROUNDING for one in apart), told)


def _least_evidence(part: ClusterBound, weights: Floats, raised: int) -> float:
    """Minimise Σ C d(μ, λ) over windows [x, x + β] that hold all λ and reach the best mean."""
    best = _best(part)
    start = best - part.width + (1 - best) * np.linspace(0, 0.999, 500)[:, None]
    moved = np.clip(part.means, start, start + part.width)
    moved[:, raised] = np.maximum(start[:, 0], best)
    return float((bernoulli(part.means, moved) @ weights).min())


def no_knowledge(parts: Sequence[ClusterBound]) -> Finding:
    """Ask whether the first term is the classical sum and the second infinite."""
    apart = [
        _difference(part.A, float(np.sum(part.gaps / bernoulli(part.means, _best(part))))) for part in parts
    ]
    infinite = [part.B is not None and math.isinf(part.B) for part in parts]
    told = f"{len(parts)} clusters: first term the classical one up to {max(apart):.1g}, relatively"
    verdict = share(one <= ROUNDING and no_end for one, no_end in zip(apart, infinite, strict=True))
    return Finding(verdict, f"{told}; second term infinite in {sum(infinite)}.")


def one_arm_in_effect(parts: Sequence[ClusterBound]) -> Finding:
    """Ask whether both terms are those of a single arm."""
    apart = []
    for part in parts:
        single = float(part.gaps[0] / bernoulli(part.means[0], _best(part)))
        apart.append(max(_difference(part.A, single), _difference(part.B, single)))
    told = f"{len(parts)} clusters of 1 to {max(len(part.arms) for part in parts)} arms"
    told += f": both terms those of one arm up to {max(apart):.1g}, relatively."
    return Finding(share(one <= ROUNDING for one in apart), told)


def _difference(term: float | None, expected: float) -> float:
    return abs((math.nan if term is None else term) / expected - 1)


def loose_and_tight(ladders: Sequence[Ladder]) -> Finding:
    """Ask whether the minimum goes once from second to first term, and at a width that can be true."""
    once = [_branches(steps) == ["B", "A"] for steps in ladders]
    true = [any(step.branch == "B" for step in steps if not step.violated) for steps in ladders]
    verdict = share(once)
    if verdict is Verdict.HOLDS and not all(true):
        verdict = Verdict.CONDITION
    told = f"One switch from second to first term as the width grows, in {sum(once)} of {len(once)} clusters."
    return Finding(verdict, f"{told} Some true width makes the second the minimum in {sum(true)} only.")


def _branches(steps: Ladder) -> list[str]:
    return [branch for branch, _ in itertools.groupby(step.branch for step in steps)]


def mostly_first(groups: Mapping[str, Sequence[ClusterBound]]) -> Finding:
    """Count the clusters whose minimum is the first term, group by group."""
    first = {name: sum(part.branch == "A" for part in parts) for name, parts in groups.items()}
    told = ", ".join(f"{first[name]} of {len(parts)} {name}" for name, parts in groups.items())
    verdict = share(2 * first[name] > len(parts) for name, parts in groups.items())
    return Finding(verdict, f"The first term is the minimum in {told}.")


def optimal_cluster(bounds: Sequence[RegretBound]) -> Finding:
    """Ask whether arms of the optimal cluster tell nothing about their mates: b = 0."""
    best = [part for bound in bounds for part in bound.clusters if part.branch == "classical"]
    silent = [not part.b.any() for part in best]
    loud = [part for part in best if part.b.any()]
    told = f"Mates tell nothing in {sum(silent)} of {len(best)} optimal clusters."
    why = f" In {sum(part.violated for part in loud)} of the {len(loud)} others the width is not true."
    return Finding(share(silent), told + why * bool(loud))


def mates_matter(parts: Sequence[ClusterBound]) -> Finding:
    """Raise the lowest mean by a hundredth of its gap and see whether the highest arm's term changes."""
    changed = [abs(_top_term(part, 0.01) / _top_term(part, 0.0) - 1) > ROUNDING for part in parts]
    still = [part for part, other in zip(parts, changed, strict=True) if not other]
    told = f"It changes in {sum(changed)} of {len(parts)} clusters."
    why = f" In {sum(not part.b.any() for part in still)} of the {len(still)} others b = 0 for all arms."
    return Finding(share(changed), told + why * bool(still))


def _top_term(part: ClusterBound, raised: float) -> float:
    means = part.means.copy()
    means[part.means.argmin()] += raised * part.gaps.max()
    changed = beside([means.tolist()], _best(part), [part.width])[0]
    return float(changed.clus_ucb_allocation[part.means.argmax()])


def narrower_is_better(ladders: Sequence[Ladder]) -> Finding:
    """Ask whether neither the lower bound nor Theorem 2's rate ever falls as the width grows."""
    falls = [max(_fall([s.lower for s in steps]), _fall([s.clus_ucb for s in steps])) for steps in ladders]
    steady = [fall <= ROUNDING for fall in falls]
    told = (
        f"{len(ladders)} clusters, {len(ladders[0])} widths each: neither bound falls as the width grows in "
    )
    return Finding(share(steady), f"{told}{sum(steady)}; largest fall {max(falls):.1g}.")


def _fall(rates: list[float]) -> float:
    return max(0.0, *(1 - later / before for before, later in itertools.pairwise(rates)))


def _everything() -> list[RegretBound]:
    return [*paper_bounds(), *random_bounds("exact"), *random_bounds("wide")]


def _programs() -> list[ClusterBound]:
    return [*suboptimal(paper_bounds()), *suboptimal(random_bounds("exact"))[:200]]


@functools.cache
def _ladders() -> tuple[Ladder, ...]:
    own, random = (_spread(suboptimal(bounds), 50) for bounds in (paper_bounds(), random_bounds("exact")))
    return tuple(map(ladder, [*own, *random]))


def _grids(width: float, *, equal: bool) -> list[ClusterBound]:
    """Return clusters of means on a grid, all alike or in all combinations, with best means on it too."""
    parts: list[ClusterBound] = []
    for best in _GRID[3::3]:
        below = [float(mean) for mean in _GRID if mean < best]
        alike = [[mean] * size for mean in below for size in range(1, 5)]
        mixed = [list(group) for size in range(1, 4) for group in itertools.combinations(below, size)]
        groups = alike if equal else mixed
        parts += beside(groups, float(best), [width] * len(groups))
    return parts


LOWER_BOUND = (
    Claim(
        "divergence-finite",
        "Sections 2.1.1 and 2.2",
        "Divergences towards a larger mean are positive and finite; means lie in [0, 1], ends included.",
        "Compute the Bernoulli divergence on a grid that holds both ends.",
        lambda _evidence: finite_divergence(np.linspace(0, 1, 21)),
    ),
    Claim(
        "term-depends-on-mates",
        "Section 3, remark 1",
        "An arm's exploration term depends on the means of the others in its cluster.",
        "Move the lowest mean a little and see whether the highest arm's term changes.",
        lambda _evidence: mates_matter(
            [*suboptimal(paper_bounds()), *_spread(suboptimal(random_bounds("wide")), 100)]
        ),
    ),
    Claim(
        "bound-below-classical",
        "Section 3, remark 2",
        "The clustered bound is always lower than the classical one.",
        "Compare them in the figures and in random problems with exact and wider widths.",
        lambda _evidence: below_classical(_everything()),
    ),
    Claim(
        "optimal-cluster-classical",
        "Section 3, remark 3",
        "Arms of the optimal cluster pay the classical term: its structure makes no difference.",
        "Compute what their mates tell about them, b, in the figures and in random problems.",
        lambda _evidence: optimal_cluster(_everything()),
    ),
    Claim(
        "second-term-worst-arm",
        "Section 3, remark 4",
        "Where the second term is the minimum, only the worst arm of the cluster is pulled.",
        "Look at the solution of the linear program there.",
        lambda _evidence: worst_arm_alone(_programs()),
    ),
    Claim(
        "loose-first-tight-second",
        "Section 3, remark 4",
        "Loose clusters tend to have the first term as the minimum, tight ones the second.",
        "Widen the figures' suboptimal clusters and random ones step by step, from 0.",
        lambda _evidence: loose_and_tight(_ladders()),
    ),
    Claim(
        "first-term-common",
        "Section 3, remark 4",
        "On most instances the first term is the minimum.",
        "Count suboptimal clusters of the figures and of random problems.",
        lambda _evidence: mostly_first(
            {
                "clusters in the figures": suboptimal(paper_bounds()),
                "random ones with exact widths": suboptimal(random_bounds("exact")),
                "with wider ones": suboptimal(random_bounds("wide")),
            }
        ),
    ),
    Claim(
        "width-one",
        "Section 3, remark 5",
        "With width 1 a cluster's first term is the classical one, its second infinite.",
        "Compute both on a grid of means.",
        lambda _evidence: no_knowledge(_grids(1.0, equal=False)),
    ),
    Claim(
        "width-zero",
        "Section 3, remark 6",
        "With width 0 and equal means both terms are those of one arm.",
        "Compute both on a grid of means.",
        lambda _evidence: one_arm_in_effect(_grids(0.0, equal=True)),
    ),
    Claim(
        "narrower-is-better",
        "Section 6",
        "A smaller width of a suboptimal cluster can only improve the bound.",
        "Widen the figures' suboptimal clusters and random ones step by step, from 0.",
        lambda _evidence: narrower_is_better(_ladders()),
    ),
    Claim(
        "constraint-is-infimum",
        "Appendix, proof of Theorem 1",
        "The hardest bad instance raises one arm to the best mean, its mates only as far as needed.",
        "Search all bad instances of a cluster for the least evidence, with random numbers of pulls.",
        lambda _evidence: infimum(_programs()),
    ),
    Claim(
        "closed-form-solves-program",
        "Appendix, proof of Theorem 1",
        "The smaller of the two terms is the value of the linear program.",
        "Solve it by HiGHS for the figures' suboptimal clusters and 200 random ones.",
        lambda _evidence: closed_form(_programs()),
    ),
)
