"""Kindred: hierarchical Thompson sampling that learns how similar the arms of a cluster are."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families.posterior import draw_mean
from clusterbandits.families.stream import Stream, fresh_stream, uniform
from clusterbandits.limits import LARGEST_MEAN, MOST_TABLE_ARMS
from clusterbandits.policies.arms import NOBODY, Floats, Ints, Mask, members_of
from clusterbandits.policies.kinship.cluster_mean import draw_cell, draw_cluster_mean, worth
from clusterbandits.policies.kinship.learning import is_within, learn, learn_all
from clusterbandits.policies.kinship.tables import (
    BY_WIDTH,
    IN_COMMON,
    PULLS,
    TOTAL,
    UNRELATED_BELOW,
    WIDTH,
    WITHIN_BELOW,
    Kinship,
    fresh_kinship,
)
from clusterbandits.policies.policy import Policy
from clusterbandits.policies.protocol import Kernels
from clusterbandits.policies.saved import StreamPlace
from clusterbandits.policies.settings import ALARM
from clusterbandits.policies.width_alarm import Alarm, watch_widths
from clusterbandits.validate import between, invalid, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.random import Generator

    from clusterbandits.families.law import Law
    from clusterbandits.partition import Label

#: The largest number of attempts to draw means within a width.
_TRIES = 20
#: The number of pulls that doubles the odds of drawing an arm as an exception. Otherwise, an arm that has
#: resembled its cluster so far would be pulled too seldom to be recognised as an exception.
_PULLS_TO_DOUBLE = 32.0


class KindredState(NamedTuple):
    """Statistics, the given prior (0 pulls: none), what was learned, and the draws."""

    law: Law
    pulls: Ints
    totals: Floats
    cluster: Ints
    order: Ints
    start: Ints
    widths: Floats
    alarm: Alarm
    stream: Stream
    known: float
    known_total: float
    kinship: Kinship
    #: [arm]: the draw or posterior mean of each arm in this round.
    draws: Floats


@kernel
def select(state: KindredState, _n: int) -> int:
    """Return an arm that must be tried first or, if there is none, the arm with the largest draw."""
    untried = _untried(state)
    return untried if untried >= 0 else draw_largest(state)


@kernel
def draw_largest(state: KindredState) -> int:
    """Set the draws or posterior means of all arms; return the arm with the largest."""
    kin, chosen, best = state.kinship, 0, -math.inf
    if state.pulls.size > 1:
        common = draw_cell(state.stream, kin.common)
        for c in range(kin.observed.size):
            _draw_cluster(state, c, common, 1.0 / (state.start[c + 1] - state.start[c]))
            for place in range(state.start[c], state.start[c + 1]):
                arm = state.order[place]
                if state.draws[arm] > best:
                    chosen, best = arm, state.draws[arm]
    return int(chosen)


@kernel
def among(state: KindredState, _n: int, open_arms: Mask) -> int:
    """Return the open arm with the largest draw given all rewards; arms that must be tried first precede it.

    On average about one open arm per cluster is drawn, whatever the number of other arms.
    """
    untried = _untried_among(state, open_arms)
    if untried >= 0:
        return untried
    kin, chosen, best = state.kinship, NOBODY, -math.inf
    common = draw_cell(state.stream, kin.common)
    for c in range(kin.observed.size):
        count = 0
        for place in range(state.start[c], state.start[c + 1]):
            count += open_arms[state.order[place]]
        if count > 0:
            _draw_cluster(state, c, common, 1.0 / count)
            for place in range(state.start[c], state.start[c + 1]):
                arm = state.order[place]
                if open_arms[arm] and (chosen == NOBODY or state.draws[arm] > best):
                    chosen, best = arm, state.draws[arm]
    return int(chosen)


@inner_kernel
def _untried_among(state: KindredState, open_arms: Mask) -> int:
    """Return an open arm that must be tried first, or -1; see ``_untried``."""
    for c in range(state.kinship.observed.size):
        if state.kinship.observed[c] == 0.0:
            for place in range(state.start[c], state.start[c + 1]):
                if open_arms[state.order[place]]:
                    return int(state.order[place])
    if state.law.highest == math.inf:
        for arm in range(state.pulls.size):
            if open_arms[arm] and state.pulls[arm] == 0:
                return arm
    return NOBODY


@inner_kernel
def _untried(state: KindredState) -> int:
    """Return an arm that must be tried first, or -1.

    It is the first arm of a cluster without pulls or, if means have no upper limit, any arm without pulls,
    because other arms then do not bound its mean.
    """
    for c in range(state.kinship.observed.size):
        if state.kinship.observed[c] == 0.0:
            return int(state.order[state.start[c]])
    if state.law.highest == math.inf:
        for arm in range(state.pulls.size):
            if state.pulls[arm] == 0:
                return arm
    return -1


@inner_kernel
def _draw_cluster(state: KindredState, c: int, common: int, chance: float) -> None:
    """Draw the explanation of a cluster, then set the draws or posterior means of its arms.

    An arm that is not an exception is drawn with probability ``chance``.
    """
    ways, share = state.kinship.ways[c, common], uniform(state.stream)
    if share < ways[UNRELATED_BELOW]:
        _draw_unrelated(state, c)
    elif share >= ways[WITHIN_BELOW] or not _draw_within(state, c, common, chance):
        _draw_alike(state, c, _draw_precision(state, c, common), chance, False)


@kernel
def _draw_unrelated(state: KindredState, c: int) -> None:
    """Draw the means of all arms of a cluster from their own posteriors."""
    base = state.kinship.base
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        pulls, total = base[PULLS] + state.pulls[arm], base[TOTAL] + state.totals[arm]
        state.draws[arm] = draw_mean(state.law, state.stream, pulls, total)


@kernel
def _draw_precision(state: KindredState, c: int, common: int) -> int:
    """Draw the precision of a cluster: the common one, or one of its own."""
    if uniform(state.stream) < state.kinship.ways[c, common, IN_COMMON]:
        return common
    return draw_cell(state.stream, state.kinship.own[c])


@kernel
def _draw_within(state: KindredState, c: int, common: int, chance: float) -> bool:
    """Draw until the means are within the width; return whether any draw was."""
    for _ in range(_TRIES):
        by_width = uniform(state.stream) < state.kinship.ways[c, common, BY_WIDTH]
        v = WIDTH if by_width else _draw_precision(state, c, common)
        if _draw_alike(state, c, v, chance, True):
            return True
    return False


@kernel
def _draw_alike(state: KindredState, c: int, v: int, chance: float, within: bool) -> bool:
    """Draw exceptions, and other arms with probability ``chance``; use posterior means for the rest.

    With ``within``, all arms are drawn; return whether the draws are within the width.
    """
    mean, point = draw_cluster_mean(state, state.stream, c, v)
    known = worth(state, c, v, mean)
    base, least, most = state.kinship.base, math.inf, -math.inf
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        share, exception = uniform(state.stream), _drawn_as_exception(state, v, point, arm)
        pulls, total = known, known * mean
        if share < exception:
            pulls, total = base[PULLS], base[TOTAL]
        pulls, total = pulls + state.pulls[arm], total + state.totals[arm]
        shown = share < exception + chance
        drawn = draw_mean(state.law, state.stream, pulls, total) if within or shown else 0.0
        state.draws[arm] = drawn if shown else total / pulls
        if within:
            least, most = min(least, drawn), max(most, drawn)
            if not is_within(state.law, state.widths[c], mean, most - least):
                return False
    return True


@inner_kernel
def _drawn_as_exception(state: KindredState, v: int, point: int, arm: int) -> float:
    """Return the probability with which an arm is drawn as an exception."""
    exception = state.kinship.exceptions[v, point, arm]
    odds = exception * (1.0 + state.pulls[arm] / _PULLS_TO_DOUBLE)
    return float(odds / (1.0 - exception + odds))


@kernel
def update(state: KindredState, arm: int, pulls: int, total: float) -> None:
    """Update the statistics of the arm and of its cluster."""
    state.pulls[arm] += pulls
    state.totals[arm] += total
    state.kinship.observed[state.cluster[arm]] += pulls


@kernel
def watch(state: KindredState, n: int) -> int:
    """Check the widths; invalidate what was learned with a width that is now ignored."""
    looked = watch_widths(state, n)
    for c in range(state.widths.size):
        if state.alarm.fired[c] == n and state.alarm.widens:
            learn_all(state)
    return looked


class _Memory(StreamPlace):
    """The position in the random stream, and the rewards learned from; all else follows from them."""

    keys = ("stream", "learned_pulls", "learned_totals")

    def dump(self, state: Any, arms: Sequence[Label]) -> dict[str, Any]:
        kin = state.kinship
        learned = {"learned_pulls": kin.pulls.astype(int).tolist(), "learned_totals": kin.totals.tolist()}
        return {**super().dump(state, arms), **learned}

    def check(self, data: Any, state: Any, numbers: Mapping[Label, int], rounds: int) -> None:
        super().check(data, state, numbers, rounds)
        for key in ("learned_pulls", "learned_totals"):
            if not isinstance(data[key], list) or len(data[key]) != len(numbers):
                raise invalid(
                    key, data.owner, f"a list with a number for each of {len(numbers)} arms", data[key]
                )
        low, high = max(state.law.lowest, -LARGEST_MEAN), min(state.law.highest, LARGEST_MEAN)
        for pulls, total in zip(data["learned_pulls"], data["learned_totals"], strict=True):
            whole("learned_pulls", data.owner, pulls, least=0, most=rounds)
            between("learned_totals", data.owner, total, low * pulls, high * pulls)

    def load(self, data: Mapping[str, Any], state: Any, numbers: Mapping[Label, int]) -> None:
        """Learn again from the same rewards, or from all rewards if the arms have changed."""
        super().load(data, state, numbers)
        kin, same = state.kinship, len(data["learned_pulls"]) == len(numbers)
        kin.pulls[:] = data["learned_pulls"] if same else state.pulls
        kin.totals[:] = data["learned_totals"] if same else state.totals
        learn_all(state)

    def learn_again(self, state: Any, number: int) -> None:
        """Mark the cluster of an arm as due for learning."""
        state.kinship.due[state.cluster[number]] = 0.0

    def learn_all(self, state: Any) -> None:
        """Learn all clusters again from all rewards."""
        state.kinship.pulls[:], state.kinship.totals[:] = state.pulls, state.totals
        learn_all(state)


class Kindred(Policy):
    r"""Learn how similar the arms of each cluster are; draw the means of a few arms; pull the largest.

    Each cluster has three possible explanations: its arms are similar, to a degree that is learned from all
    clusters; they are similar and within their declared width; or they are unrelated. Each of several similar
    arms may be an exception, which is estimated from its own rewards. So arms share information only if they
    are similar, a declared width helps even though it may be wrong, and an arm that is better than its
    cluster is still found. In each round, exceptions and about one other arm per cluster are drawn from their
    posteriors, and posterior means are used for the other arms: drawing all of many arms explores too much.

    Widths are not needed. The mean of a new arm is estimated from the other arms of its cluster until the arm
    has its own rewards; if means have no upper limit, as with Gaussian rewards, each arm is pulled once
    first. The posterior of a cluster is computed again when its pulls have grown by 3 %.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = Kindred(Clusters([2, 1], widths=0.1))
    >>> policy.tell(policy.ask(), 1)
    >>> policy.ask()
    2

    References
    ----------
    New in this project. Hong, Kveton, Zaheer and Ghavamzadeh, Hierarchical Bayesian bandits, AISTATS 2022;
    for draws of few arms: Jin, Xu, Xiao and Anandkumar, Finite-time regret of Thompson sampling algorithms
    for exponential family multi-armed bandits, NeurIPS 2022.
    """

    name = "kindred"
    defaults: ClassVar = {"prior": None, "seed": 0, **ALARM}
    uses_widths = True
    widths_optional = True
    randomised = True
    needs_posterior = True
    guarantee = "none proven"
    reference = "this project"
    saved = _Memory()
    kernels = Kernels(select, update, watch=watch, learn=learn, among=among, among_any=True)
    most_arms = MOST_TABLE_ARMS

    def new_state(self, rng: Generator | None) -> KindredState:
        """Return the state before the first round."""
        assert rng is not None
        members, arms = members_of(self.clusters), len(self.clusters.arms)
        mean, pulls = self.settings["prior"] or (0.0, 0.0)
        state = KindredState(
            **self.clustered_fields(members, self.clusters.widths),
            stream=fresh_stream(rng),
            known=float(pulls),
            known_total=float(pulls * mean),
            kinship=fresh_kinship([len(part) for part in members]),
            draws=np.zeros(arms),
        )
        return state._replace(kinship=_before_rewards(state))

    def supposing(self, live: Any) -> KindredState:
        """Return a state for outstanding rewards, which change neither what was learned nor the widths."""
        state: KindredState = live
        kinship = state.kinship._replace(observed=state.kinship.observed.copy())
        return state._replace(pulls=state.pulls.copy(), totals=state.totals.copy(), kinship=kinship)


#: Cached results that depend on widths only.
_BEFORE: dict[object, Kinship] = {}
_MOST_KEPT = 64


def _before_rewards(state: KindredState) -> Kinship:
    """Return the prior before the first reward; counting draws takes long, so a few results are cached."""
    key = state.law, state.start.tobytes(), state.widths.tobytes(), state.known, state.known_total
    known = _BEFORE.get(key)
    if known is None:
        learn_all(state)
        known = state.kinship
        if len(_BEFORE) >= _MOST_KEPT:
            _BEFORE.clear()
        _BEFORE[key] = known
    return copy.deepcopy(known)
