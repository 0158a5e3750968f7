"""What the captions and the text say about the figures' instances, and what their numbers say."""

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
#: Means are written with two digits: a smaller difference is one of rounding.
_ROUNDING = 1e-9


def caption(one: Setting) -> Finding:
    """Compare the term a caption names with the smaller one."""
    verdict = {None: Verdict.UNDECIDED, True: Verdict.HOLDS, False: Verdict.FAILS}[one.caption_holds]
    told = _smaller(one.suboptimal)
    if verdict is Verdict.FAILS and one.suboptimal.violated:
        true = regret_bound(one.figure.instance)
        told += f" With the true widths: {_smaller(replace(one, bound=true).suboptimal)}"
    return Finding(verdict, told)


def _smaller(part: ClusterBound) -> str:
    return f"A = {cell(part.A)}, B = {cell(part.B)}: the {_TERM[part.branch]} is smaller."


def strict_widths(found: Sequence[Setting]) -> Finding:
    """Sort settings by whether every span is below its width, equal to it at most, or above it."""
    room = {one.name: min(part.width - part.span for part in one.bound.clusters) for one in found}
    below = [name for name, left in room.items() if left > _ROUNDING]
    equal = [name for name, left in room.items() if abs(left) <= _ROUNDING]
    above = [name for name, left in room.items() if left < -_ROUNDING]
    words = {"All spans below the width": below, "one equal to it": equal, "one above it": above}
    told = "; ".join(f"{word}: {', '.join(names) or 'none'}" for word, names in words.items())
    return Finding(by_cases(below, equal + above, []), f"{told}.")


def gap(shown: Figure) -> float:
    """Return the distance between the ranges of a figure's two clusters, negative where they overlap."""
    return max(map(min, shown.means)) - min(map(max, shown.means))


def _apart(shown: Figure, verdict: Verdict) -> Finding:
    ranges = " and ".join(f"{cell(min(part))} to {cell(max(part))}" for part in shown.means)
    between = round(gap(shown), 9)
    if not between:
        return Finding(verdict, f"Ranges {ranges} touch: they share one mean.")
    return Finding(
        verdict, f"Ranges {ranges} {'overlap' if between < 0 else 'lie apart'} by {cell(abs(between))}."
    )


def well_separated(shown: Figure) -> Finding:
    """Ask for more room between the clusters than either takes; any room at all is half of that."""
    if gap(shown) > max(shown.instance.spans):
        return _apart(shown, Verdict.HOLDS)
    return _apart(shown, Verdict.CONDITION if gap(shown) > _ROUNDING else Verdict.FAILS)


def overlapping(shown: Figure) -> Finding:
    """Ask for a common interval; one common mean is half of that."""
    if gap(shown) < -_ROUNDING:
        return _apart(shown, Verdict.HOLDS)
    return _apart(shown, Verdict.CONDITION if gap(shown) <= _ROUNDING else Verdict.FAILS)


def close_but_separated(shown: Figure) -> Finding:
    """Ask for room between the clusters, less than one takes; clusters that touch are half of that."""
    if abs(gap(shown)) <= _ROUNDING:
        return _apart(shown, Verdict.CONDITION)
    near = 0 < gap(shown) <= max(shown.instance.spans)
    return _apart(shown, Verdict.HOLDS if near else Verdict.FAILS)


def narrowing(earlier: Setting, first: Setting, last: Setting) -> Finding:
    """Ask whether the suboptimal cluster's width goes from above its span to below it."""
    verdict = share([_against_span(first.suboptimal) == "above", _against_span(last.suboptimal) == "below"])
    told = ", ".join(
        f"{one.name}: {cell(one.suboptimal.width)} ({_against_span(one.suboptimal)})"
        for one in (earlier, first, last)
    )
    return Finding(verdict, f"Width against the span {cell(round(first.suboptimal.span, 9))}: {told}.")


def _against_span(part: ClusterBound) -> str:
    left = part.width - part.span
    return "equal" if abs(left) <= _ROUNDING else "above" if left > 0 else "below"


def only_best_too_narrow(found: Sequence[Setting]) -> Finding:
    """Look for widths that are too small for the optimal cluster and true for all others."""
    misled = [one for one in found if one.bound.misled]
    clean = [one for one in misled if set(one.bound.violated) == set(one.bound.misled)]
    verdict = Verdict.HOLDS if clean else Verdict.CONDITION if misled else Verdict.FAILS
    others = [one.name for one in found if one.bound.violated and not one.bound.misled]
    told = f"Only the optimal cluster too narrow: {', '.join(one.name for one in clean) or 'nowhere'}."
    return Finding(verdict, f"{told} Only a suboptimal one: {', '.join(others) or 'nowhere'}.")


def hides_the_best(one: Setting) -> Finding:
    """Ask whether the optimal cluster has the lower average and the wider spread."""
    best = next(part for part in one.bound.clusters if part.branch == "classical")
    other = one.suboptimal
    lower = float(best.means.mean()) < float(other.means.mean()) - _ROUNDING
    wider = best.span > other.span + _ROUNDING
    told = "; ".join(
        f"{name} cluster: average {cell(float(part.means.mean()))}, span {cell(round(part.span, 9))}"
        for name, part in (("Optimal", best), ("suboptimal", other))
    )
    return Finding(share([lower, wider]), f"{told}.")


def one_best_arm(shown: Sequence[Figure]) -> Finding:
    """Count the arms of the largest mean in every figure."""
    single = [int(np.sum(one.instance.gaps <= _ROUNDING)) == 1 for one in shown]
    return Finding(share(single), f"One best arm in {sum(single)} of {len(single)} figures.")


def savings(found: Sequence[Setting]) -> Finding:
    """Compute what share of the classical bound every setting saves."""
    saved = {one.name: one.bound.saving for one in found}
    told = ", ".join(f"{name.removeprefix('Figure ')}: {100 * part:.1f}" for name, part in saved.items())
    verdict = share(part > _ROUNDING for part in saved.values())
    return Finding(verdict, f"Saved per cent of the classical bound, by figure: {told}.")


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
        "Compute both bounds for every figure and width vector.",
        lambda _: savings(settings()),
    ),
    Claim(
        "one-best-arm",
        "Section 2.2",
        "Exactly one arm has the largest mean.",
        "Count the arms of largest mean in every figure.",
        lambda _: one_best_arm(FIGURES),
    ),
    Claim(
        "means-within-width",
        "Section 2.2",
        "Means of one cluster differ by strictly less than its width.",
        "Compare spans with widths in Figures 2 to 5; the later figures use wrong widths on purpose.",
        lambda _: strict_widths(settings([2, 3, 4, 5])),
    ),
    Claim(
        "figure-5-hides-the-best",
        "Section 5",
        "In Figure 5 the optimal cluster has the lower average and the wider spread.",
        "Compare averages and spans of the two clusters.",
        lambda _: hides_the_best(_setting(5)),
    ),
    Claim(
        "figures-6-7-narrow-the-width",
        "Section 6",
        "From Figure 6 to 7 the suboptimal cluster's width goes from too wide to too narrow.",
        "Compare the widths with the span.",
        lambda _: narrowing(_setting(4), _setting(6), _setting(7)),
    ),
    Claim(
        "figure-8-optimal-too-narrow",
        "Section 6",
        "Figure 8 shows a width that is too small for the optimal cluster.",
        "Compare widths with spans; the other cluster's width must be true, to tell the two effects apart.",
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
        "The clusters are close, yet separated.",
        "The gap between the ranges of means should be positive, and at most the larger span.",
        lambda _: close_but_separated(figure(4)),
    ),
    *map(_caption_claim, range(2, 8)),
)
