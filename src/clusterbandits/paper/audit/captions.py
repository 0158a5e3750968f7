"""Claims of captions and text about the instances of the figures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from clusterbandits.bounds import regret_bound
from clusterbandits.paper.audit.claim import Claim, Finding, Verdict, by_cases
from clusterbandits.paper.audit.samples import share
from clusterbandits.paper.figures import FIGURES, Figure, Setting, figure, settings
from clusterbandits.tables import cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterbandits.bounds import ClusterBound

_TERM = {"A": "first", "B": "second"}
#: The means have two digits: smaller differences are rounding errors.
_ROUNDING = 1e-9


def caption(one: Setting) -> Finding:
    """Compare the term that a caption names with the smaller term."""
    verdict = {None: Verdict.INCONCLUSIVE, True: Verdict.HOLDS, False: Verdict.FAILS}[one.caption_holds]
    measured = _smaller(one.suboptimal)
    if verdict is Verdict.FAILS and one.suboptimal.violated:
        true = regret_bound(one.figure.instance)
        measured += f" With the true widths: {_smaller(replace(one, bound=true).suboptimal)}"
    return Finding(verdict, measured)


def _smaller(part: ClusterBound) -> str:
    return f"A = {cell(part.A)}, B = {cell(part.B)}: the {_TERM[part.branch]} term is smaller."


def strict_widths(found: Sequence[Setting]) -> Finding:
    """Sort settings by the smallest difference between width and span: positive, zero or negative."""
    margins = {one.name: min(part.width - part.span for part in one.bound.clusters) for one in found}
    below = [name for name, margin in margins.items() if margin > _ROUNDING]
    equal = [name for name, margin in margins.items() if abs(margin) <= _ROUNDING]
    above = [name for name, margin in margins.items() if margin < -_ROUNDING]
    words = {
        "All spans below the width": below,
        "one equal to its width": equal,
        "one above its width": above,
    }
    measured = "; ".join(f"{word}: {', '.join(names) or 'none'}" for word, names in words.items())
    return Finding(by_cases(below, equal + above, []), f"{measured}.")


def gap(shown: Figure) -> float:
    """Return the distance between the ranges of a figure's two clusters, negative where they overlap."""
    return max(map(min, shown.means)) - min(map(max, shown.means))


def _apart(shown: Figure, verdict: Verdict) -> Finding:
    ranges = " and ".join(f"{cell(min(part))} to {cell(max(part))}" for part in shown.means)
    between = round(gap(shown), 9)
    if not between:
        return Finding(verdict, f"The ranges {ranges} touch: they share one mean.")
    relation = "overlap" if between < 0 else "are separated"
    return Finding(verdict, f"The ranges {ranges} {relation} by {cell(abs(between))}.")


def well_separated(shown: Figure) -> Finding:
    """Require a gap between the ranges that exceeds both spans; with a condition for any positive gap."""
    if gap(shown) > max(shown.instance.spans):
        return _apart(shown, Verdict.HOLDS)
    return _apart(shown, Verdict.CONDITION if gap(shown) > _ROUNDING else Verdict.FAILS)


def overlapping(shown: Figure) -> Finding:
    """Require that the ranges share an interval; with a condition if they share one mean."""
    if gap(shown) < -_ROUNDING:
        return _apart(shown, Verdict.HOLDS)
    return _apart(shown, Verdict.CONDITION if gap(shown) <= _ROUNDING else Verdict.FAILS)


def close_but_separated(shown: Figure) -> Finding:
    """Require a positive gap of at most the larger span; with a condition if the ranges touch."""
    if abs(gap(shown)) <= _ROUNDING:
        return _apart(shown, Verdict.CONDITION)
    near = 0 < gap(shown) <= max(shown.instance.spans)
    return _apart(shown, Verdict.HOLDS if near else Verdict.FAILS)


def narrowing(earlier: Setting, first: Setting, last: Setting) -> Finding:
    """Compare the suboptimal cluster's width with its span: first above, then below."""
    verdict = share([_against_span(first.suboptimal) == "above", _against_span(last.suboptimal) == "below"])
    widths = ", ".join(
        f"{one.name}: {cell(one.suboptimal.width)} ({_against_span(one.suboptimal)})"
        for one in (earlier, first, last)
    )
    span = cell(round(first.suboptimal.span, 9))
    return Finding(verdict, f"Width compared with the span {span}: {widths}.")


def _against_span(part: ClusterBound) -> str:
    margin = part.width - part.span
    return "equal" if abs(margin) <= _ROUNDING else "above" if margin > 0 else "below"


def only_best_too_narrow(found: Sequence[Setting]) -> Finding:
    """Find settings whose width is too small for the optimal cluster and for no other cluster."""
    misled = [one for one in found if one.bound.misled]
    clean = [one for one in misled if set(one.bound.violated) == set(one.bound.misled)]
    verdict = Verdict.HOLDS if clean else Verdict.CONDITION if misled else Verdict.FAILS
    others = [one.name for one in found if one.bound.violated and not one.bound.misled]
    optimal = ", ".join(one.name for one in clean) or "none"
    return Finding(
        verdict,
        f"Width too small for the optimal cluster only: {optimal}. "
        f"For a suboptimal cluster only: {', '.join(others) or 'none'}.",
    )


def hides_the_best(one: Setting) -> Finding:
    """Compare the averages and spans of the optimal and the suboptimal cluster."""
    best = next(part for part in one.bound.clusters if part.branch == "classical")
    other = one.suboptimal
    lower = float(best.means.mean()) < float(other.means.mean()) - _ROUNDING
    wider = best.span > other.span + _ROUNDING
    measured = "; ".join(
        f"{name} cluster: average {cell(float(part.means.mean()))}, span {cell(round(part.span, 9))}"
        for name, part in (("Optimal", best), ("suboptimal", other))
    )
    return Finding(share([lower, wider]), f"{measured}.")


def one_best_arm(shown: Sequence[Figure]) -> Finding:
    """Count the arms with the largest mean in each figure."""
    single = [int(np.sum(one.instance.gaps <= _ROUNDING)) == 1 for one in shown]
    return Finding(share(single), f"Exactly one best arm in {sum(single)} of {len(single)} figures.")


def savings(found: Sequence[Setting]) -> Finding:
    """Compute how far the clustered bound is below the classical bound in each setting, in per cent."""
    saved = {one.name: one.bound.saving for one in found}
    shares = ", ".join(f"{name.removeprefix('Figure ')}: {100 * part:.1f}" for name, part in saved.items())
    verdict = share(part > _ROUNDING for part in saved.values())
    return Finding(verdict, f"Reduction of the classical bound in per cent, by figure: {shares}.")


def _setting(number: int) -> Setting:
    return settings([number])[0]


def _caption_claim(number: int) -> Claim:
    named = figure(number).caption
    return Claim(
        f"caption-{number}",
        f"Caption of Figure {number}",
        f"The {_TERM[named or 'A']} term is the minimum for the suboptimal cluster.",
        "Compute both terms.",
        lambda _: caption(_setting(number)),
    )


CAPTIONS = (
    Claim(
        "bound-improves",
        "Abstract",
        "The clustered lower bound improves on the classical one.",
        "Compute both bounds for each figure and width vector.",
        lambda _: savings(settings()),
    ),
    Claim(
        "one-best-arm",
        "Section 2.2",
        "Exactly one arm has the largest mean.",
        "Count the arms with the largest mean in each figure.",
        lambda _: one_best_arm(FIGURES),
    ),
    Claim(
        "means-within-width",
        "Section 2.2",
        "The means of a cluster differ by strictly less than its width.",
        "Compare spans with widths in Figures 2 to 5; later figures use wrong widths on purpose.",
        lambda _: strict_widths(settings([2, 3, 4, 5])),
    ),
    Claim(
        "figure-5-hides-the-best",
        "Section 5",
        "In Figure 5 the optimal cluster has the lower average and the larger span.",
        "Compare the averages and spans of the two clusters.",
        lambda _: hides_the_best(_setting(5)),
    ),
    Claim(
        "figures-6-7-narrow-the-width",
        "Section 6",
        "From Figure 6 to Figure 7 the width of the suboptimal cluster changes from too large to too small.",
        "Compare the widths with the span of the cluster.",
        lambda _: narrowing(_setting(4), _setting(6), _setting(7)),
    ),
    Claim(
        "figure-8-optimal-too-narrow",
        "Section 6",
        "Figure 8 shows a width that is too small for the optimal cluster.",
        "Compare widths with spans; the width of the other cluster must be large enough to separate the "
        "effects.",
        lambda _: only_best_too_narrow(settings([8])),
    ),
    Claim(
        "figure-2-well-separated",
        "Caption of Figure 2",
        "The clusters are well separated.",
        "The gap between the ranges of means should exceed the larger span.",
        lambda _: well_separated(figure(2)),
    ),
    Claim(
        "figure-3-overlapping",
        "Caption of Figure 3",
        "The clusters overlap.",
        "The ranges of means should share an interval.",
        lambda _: overlapping(figure(3)),
    ),
    Claim(
        "figure-4-close-but-separated",
        "Captions of Figures 4, 6 and 7",
        "The clusters are close but separated.",
        "The gap between the ranges of means should be positive, and at most the larger span.",
        lambda _: close_but_separated(figure(4)),
    ),
    *map(_caption_claim, range(2, 8)),
)
