"""Claims about the lower bound, tested on the figures and on random problems."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from clusterbandits.families import as_family
from clusterbandits.paper.audit.claim import Claim, Finding, Verdict
from clusterbandits.paper.audit.linear_program import closed_form, infimum, worst_arm_alone
from clusterbandits.paper.audit.samples import (
    ROUNDING,
    Ladder,
    bernoulli,
    beside,
    best_beside,
    different,
    everything,
    grids,
    ladders,
    paper_bounds,
    programs,
    random_bounds,
    share,
    suboptimal,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from clusterbandits.bounds import ClusterBound, RegretBound


def finite_divergence(means: ArrayLike) -> Finding:
    """Count the pairs of means with a positive and finite divergence, which the model assumes."""
    pairs = list(itertools.combinations(sorted(np.asarray(means).tolist()), 2))
    values = [float(as_family("bernoulli").divergence(*pair)) for pair in pairs]
    fine = [0 < value < math.inf for value in values]
    others = [pair for pair, good in zip(pairs, fine, strict=True) if not good]
    measured = f"Positive and finite for {sum(fine)} of {len(pairs)} pairs of means."
    if others:
        ends = sum(larger == 1 for _, larger in others)
        measured += f" In {ends} of the {len(others)} others the larger mean is 1."
    return Finding(share(fine), measured)


def below_classical(bounds: Sequence[RegretBound]) -> Finding:
    """Count the problems whose clustered bound is lower than the classical bound, equal to it, or higher."""
    ratios = np.array([bound.lower / bound.classical for bound in bounds])
    lower, higher = int(np.sum(ratios < 1 - ROUNDING)), int(np.sum(ratios > 1 + ROUNDING))
    equal = [bound for bound, ratio in zip(bounds, ratios, strict=True) if abs(ratio - 1) <= ROUNDING]
    uninformative = sum(
        all(len(p.arms) == 1 or not p.b.any() for p in suboptimal([bound])) for bound in equal
    )
    verdict = Verdict.FAILS if higher or not lower else Verdict.CONDITION if equal else Verdict.HOLDS
    measured = f"{len(bounds)} problems: lower in {lower}, equal in {len(equal)}, higher in {higher}."
    if equal:
        measured += (
            f" In {uninformative} of the {len(equal)} equal cases, pulls carry no information about other "
            "arms of the suboptimal clusters (single arms, or b = 0)."
        )
    return Finding(verdict, measured)


def no_knowledge(parts: Sequence[ClusterBound]) -> Finding:
    """Test whether the first term equals the classical sum and the second is infinite."""
    errors = [
        _difference(part.A, float(np.sum(part.gaps / bernoulli(part.means, best_beside(part)))))
        for part in parts
    ]
    infinite = [part.B is not None and math.isinf(part.B) for part in parts]
    verdict = share(one <= ROUNDING and other for one, other in zip(errors, infinite, strict=True))
    return Finding(
        verdict,
        f"{len(parts)} clusters: the first term equals the classical term up to a relative difference of "
        f"{max(errors):.1g}; the second term is infinite in {sum(infinite)}.",
    )


def one_arm_in_effect(parts: Sequence[ClusterBound]) -> Finding:
    """Test whether both terms equal those of a single arm."""
    errors = []
    for part in parts:
        single = float(part.gaps[0] / bernoulli(part.means[0], best_beside(part)))
        errors.append(max(_difference(part.A, single), _difference(part.B, single)))
    largest = max(len(part.arms) for part in parts)
    return Finding(
        share(one <= ROUNDING for one in errors),
        f"{len(parts)} clusters of 1 to {largest} arms: both terms equal those of a single arm up to a "
        f"relative difference of {max(errors):.1g}.",
    )


def _difference(term: float | None, expected: float) -> float:
    return abs((math.nan if term is None else term) / expected - 1)


def loose_and_tight(ladders: Sequence[Ladder]) -> Finding:
    """Test whether the minimum switches once, from the second to the first term, as the width increases."""
    once = [_branches(steps) == ["B", "A"] for steps in ladders]
    true = [any(step.branch == "B" for step in steps if not step.violated) for steps in ladders]
    verdict = share(once)
    if verdict is Verdict.HOLDS and not all(true):
        verdict = Verdict.CONDITION
    return Finding(
        verdict,
        "As the width increases, the minimum switches once from the second to the first term in "
        f"{sum(once)} of {len(once)} clusters. In {sum(true)} clusters the second term is the minimum for a "
        "width that is at least the span.",
    )


def _branches(steps: Ladder) -> list[str]:
    return [branch for branch, _ in itertools.groupby(step.branch for step in steps)]


def mostly_first(groups: Mapping[str, Sequence[ClusterBound]]) -> Finding:
    """Count the clusters of each group whose minimum is the first term."""
    first = {name: sum(part.branch == "A" for part in parts) for name, parts in groups.items()}
    counts = ", ".join(f"{first[name]} of {len(parts)} {name}" for name, parts in groups.items())
    verdict = share(2 * first[name] > len(parts) for name, parts in groups.items())
    return Finding(verdict, f"The first term is the minimum in {counts}.")


def optimal_cluster(bounds: Sequence[RegretBound]) -> Finding:
    """Test whether b = 0 in optimal clusters: pulls carry no information about other arms of the cluster."""
    best = [part for bound in bounds for part in bound.clusters if part.branch == "classical"]
    informative = [part for part in best if part.b.any()]
    zero = len(best) - len(informative)
    measured = f"b = 0 for all arms in {zero} of {len(best)} optimal clusters."
    if informative:
        violated = sum(part.violated for part in informative)
        measured += f" In {violated} of the {len(informative)} others the width is smaller than the span."
    return Finding(share(not part.b.any() for part in best), measured)


def depends_on_others(parts: Sequence[ClusterBound]) -> Finding:
    """Raise the lowest mean by 1 % of its gap and test whether the term of the highest arm changes."""
    changed = [abs(_top_term(part, 0.01) / _top_term(part, 0.0) - 1) > ROUNDING for part in parts]
    unchanged = [part for part, other in zip(parts, changed, strict=True) if not other]
    measured = f"The term changes in {sum(changed)} of {len(parts)} clusters."
    if unchanged:
        zero = sum(not part.b.any() for part in unchanged)
        measured += f" In {zero} of the {len(unchanged)} others b = 0 for all arms."
    return Finding(share(changed), measured)


def _top_term(part: ClusterBound, raised: float) -> float:
    means = part.means.copy()
    means[part.means.argmin()] += raised * part.gaps.max()
    changed = beside([means.tolist()], best_beside(part), [part.width])[0]
    return float(changed.clus_ucb_allocation[part.means.argmax()])


def narrower_is_better(ladders: Sequence[Ladder]) -> Finding:
    """Test whether the lower bound and the rate of Theorem 2 do not decrease as the width increases."""
    falls = [max(_fall([s.lower for s in steps]), _fall([s.clus_ucb for s in steps])) for steps in ladders]
    steady = [fall <= ROUNDING for fall in falls]
    return Finding(
        share(steady),
        f"{len(ladders)} clusters with {len(ladders[0])} widths each: in {sum(steady)} neither bound "
        f"decreases as the width increases; largest decrease {max(falls):.1g}.",
    )


def _fall(rates: list[float]) -> float:
    return max(0.0, *(1 - later / before for before, later in itertools.pairwise(rates)))


LOWER_BOUND = (
    Claim(
        "divergence-finite",
        "Sections 2.1.1 and 2.2",
        "Divergences towards a larger mean are positive and finite; means lie in [0, 1], including 0 and 1.",
        "Compute the Bernoulli divergence on a grid of means that includes 0 and 1.",
        lambda _: finite_divergence(np.linspace(0, 1, 21)),
    ),
    Claim(
        "term-depends-on-others",
        "Section 3, remark 1",
        "An arm's exploration term depends on the means of the other arms of its cluster.",
        "Raise the lowest mean by 1 % of its gap and test whether the term of the highest arm changes.",
        lambda _: depends_on_others(
            [*suboptimal(paper_bounds()), *different(suboptimal(random_bounds("wide")), 100)]
        ),
    ),
    Claim(
        "bound-below-classical",
        "Section 3, remark 2",
        "The clustered bound is always lower than the classical bound.",
        "Compare both bounds in the figures and in random problems with exact and larger widths.",
        lambda _: below_classical(everything()),
    ),
    Claim(
        "optimal-cluster-classical",
        "Section 3, remark 3",
        "Arms of the optimal cluster contribute the classical term: the structure makes no difference.",
        "Compute b, the evidence per pull about other arms of the cluster, in the figures and in random "
        "problems.",
        lambda _: optimal_cluster([one for one in everything() if not one.misled]),
    ),
    Claim(
        "second-term-worst-arm",
        "Section 3, remark 4",
        "If the second term is the minimum, only the worst arm of the cluster is pulled.",
        "Inspect the solution of the linear program in these clusters.",
        lambda _: worst_arm_alone(programs()),
    ),
    Claim(
        "loose-first-tight-second",
        "Section 3, remark 4",
        "In loose clusters the first term tends to be the minimum, in tight clusters the second.",
        "Increase the widths of the figures' suboptimal clusters and of random clusters from 0 in steps.",
        lambda _: loose_and_tight(ladders()),
    ),
    Claim(
        "first-term-common",
        "Section 3, remark 4",
        "On most instances the first term is the minimum.",
        "Count the suboptimal clusters of the figures and of random problems.",
        lambda _: mostly_first(
            {
                "clusters of the figures": suboptimal(paper_bounds()),
                "random clusters with exact widths": suboptimal(random_bounds("exact")),
                "random clusters with larger widths": suboptimal(random_bounds("wide")),
            }
        ),
    ),
    Claim(
        "width-one",
        "Section 3, remark 5",
        "With width 1, the first term of a cluster is the classical term, and the second is infinite.",
        "Compute both terms on a grid of means.",
        lambda _: no_knowledge(grids(1.0, equal=False)),
    ),
    Claim(
        "width-zero",
        "Section 3, remark 6",
        "With width 0 and equal means, both terms equal those of a single arm.",
        "Compute both terms on a grid of means.",
        lambda _: one_arm_in_effect(grids(0.0, equal=True)),
    ),
    Claim(
        "narrower-is-better",
        "Section 6",
        "A smaller width of a suboptimal cluster can only improve the bound.",
        "Increase the widths of the figures' suboptimal clusters and of random clusters from 0 in steps.",
        lambda _: narrower_is_better(ladders()),
    ),
    Claim(
        "constraint-is-infimum",
        "Appendix, proof of Theorem 1",
        "The alternative instance that is hardest to reject raises one arm to the best mean, and the other "
        "arms of its cluster only as far as necessary.",
        "Minimise the evidence over all alternative instances of a cluster, with random numbers of pulls.",
        lambda _: infimum(programs()),
    ),
    Claim(
        "closed-form-solves-program",
        "Appendix, proof of Theorem 1",
        "The smaller of the two terms is the value of the linear program.",
        "Solve the linear program with HiGHS for the figures' suboptimal clusters and 200 random clusters.",
        lambda _: closed_form(programs()),
    ),
)
