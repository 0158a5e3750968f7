"""What the paper says of its lower bound, put to the test on the figures and on random problems."""

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


def no_knowledge(parts: Sequence[ClusterBound]) -> Finding:
    """Ask whether the first term is the classical sum and the second infinite."""
    apart = [
        _difference(part.A, float(np.sum(part.gaps / bernoulli(part.means, best_beside(part)))))
        for part in parts
    ]
    infinite = [part.B is not None and math.isinf(part.B) for part in parts]
    told = f"{len(parts)} clusters: first term the classical one up to {max(apart):.1g}, relatively"
    verdict = share(one <= ROUNDING and no_end for one, no_end in zip(apart, infinite, strict=True))
    return Finding(verdict, f"{told}; second term infinite in {sum(infinite)}.")


def one_arm_in_effect(parts: Sequence[ClusterBound]) -> Finding:
    """Ask whether both terms are those of a single arm."""
    apart = []
    for part in parts:
        single = float(part.gaps[0] / bernoulli(part.means[0], best_beside(part)))
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
    changed = beside([means.tolist()], best_beside(part), [part.width])[0]
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


LOWER_BOUND = (
    Claim(
        "divergence-finite",
        "Sections 2.1.1 and 2.2",
        "Divergences towards a larger mean are positive and finite; means lie in [0, 1], ends included.",
        "Compute the Bernoulli divergence on a grid that holds both ends.",
        lambda _: finite_divergence(np.linspace(0, 1, 21)),
    ),
    Claim(
        "term-depends-on-mates",
        "Section 3, remark 1",
        "An arm's exploration term depends on the means of the others in its cluster.",
        "Move the lowest mean a little and see whether the highest arm's term changes.",
        lambda _: mates_matter(
            [*suboptimal(paper_bounds()), *different(suboptimal(random_bounds("wide")), 100)]
        ),
    ),
    Claim(
        "bound-below-classical",
        "Section 3, remark 2",
        "The clustered bound is always lower than the classical one.",
        "Compare them in the figures and in random problems with exact and wider widths.",
        lambda _: below_classical(everything()),
    ),
    Claim(
        "optimal-cluster-classical",
        "Section 3, remark 3",
        "Arms of the optimal cluster pay the classical term: its structure makes no difference.",
        "Compute what their mates tell about them, b, in the figures and in random problems.",
        lambda _: optimal_cluster([one for one in everything() if not one.misled]),
    ),
    Claim(
        "second-term-worst-arm",
        "Section 3, remark 4",
        "Where the second term is the minimum, only the worst arm of the cluster is pulled.",
        "Look at the solution of the linear program there.",
        lambda _: worst_arm_alone(programs()),
    ),
    Claim(
        "loose-first-tight-second",
        "Section 3, remark 4",
        "Loose clusters tend to have the first term as the minimum, tight ones the second.",
        "Widen the figures' suboptimal clusters and random ones step by step, from 0.",
        lambda _: loose_and_tight(ladders()),
    ),
    Claim(
        "first-term-common",
        "Section 3, remark 4",
        "On most instances the first term is the minimum.",
        "Count suboptimal clusters of the figures and of random problems.",
        lambda _: mostly_first(
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
        lambda _: no_knowledge(grids(1.0, equal=False)),
    ),
    Claim(
        "width-zero",
        "Section 3, remark 6",
        "With width 0 and equal means both terms are those of one arm.",
        "Compute both on a grid of means.",
        lambda _: one_arm_in_effect(grids(0.0, equal=True)),
    ),
    Claim(
        "narrower-is-better",
        "Section 6",
        "A smaller width of a suboptimal cluster can only improve the bound.",
        "Widen the figures' suboptimal clusters and random ones step by step, from 0.",
        lambda _: narrower_is_better(ladders()),
    ),
    Claim(
        "constraint-is-infimum",
        "Appendix, proof of Theorem 1",
        "The hardest bad instance raises one arm to the best mean, its mates only as far as needed.",
        "Search all bad instances of a cluster for the least evidence, with random numbers of pulls.",
        lambda _: infimum(programs()),
    ),
    Claim(
        "closed-form-solves-program",
        "Appendix, proof of Theorem 1",
        "The smaller of the two terms is the value of the linear program.",
        "Solve it by HiGHS for the figures' suboptimal clusters and 200 random ones.",
        lambda _: closed_form(programs()),
    ),
)
