"""Kindred: Thompson sampling that learns how alike the arms of a cluster are, and explores sparingly."""

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

#: How often means are drawn until they keep within a width.
_TRIES = 20
#: The odds that an arm is drawn as an exception double with so many pulls: otherwise, one that looks like its
#: cluster so far is pulled too seldom to be found in time.
_PULLS_TO_DOUBLE = 32.0


class KindredState(NamedTuple):
    """Statistics, the prior that was given (0 pulls: none), what was learned, and what is drawn."""

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
    #: [arm]: what stands for the mean of every arm in this round.
    draws: Floats


@kernel
def select(state: KindredState, _n: int) -> int:
    """Return the arm with the largest draw; arms that must be tried first go before."""
    untried = _untried(state)
    return untried if untried >= 0 else draw_largest(state)


@kernel
def draw_largest(state: KindredState) -> int:
    """Draw what stands for the means of all arms; return the arm with the largest."""
    kin, chosen, best = state.kinship, 0, -math.inf
    if state.pulls.size > 1:
        common = draw_cell(state.stream, kin.common)
        for c in range(kin.told.size):
            _draw_cluster(state, c, common, 1.0 / (state.start[c + 1] - state.start[c]))
            for place in range(state.start[c], state.start[c + 1]):
                arm = state.order[place]
                if state.draws[arm] > best:
                    chosen, best = arm, state.draws[arm]
    return int(chosen)


@kernel
def among(state: KindredState, _n: int, open_arms: Mask) -> int:
    """Return the open arm with the largest draw, given all rewards; arms that must be tried first go before.

    About one open arm of a cluster is drawn, whatever the number of others.
    """
    untried = _untried_among(state, open_arms)
    if untried >= 0:
        return untried
    kin, chosen, best = state.kinship, NOBODY, -math.inf
    common = draw_cell(state.stream, kin.common)
    for c in range(kin.told.size):
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
    """Return an open arm that must be tried first, or -1, as ``_untried`` does."""
    for c in range(state.kinship.told.size):
        if state.kinship.told[c] == 0.0:
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

    It is the first one of a cluster without pulls; or any without, where means have no upper end: other arms
    do not tell how much better it may be.
    """
    for c in range(state.kinship.told.size):
        if state.kinship.told[c] == 0.0:
            return int(state.order[state.start[c]])
    if state.law.highest == math.inf:
        for arm in range(state.pulls.size):
            if state.pulls[arm] == 0:
                return arm
    return -1


@inner_kernel
def _draw_cluster(state: KindredState, c: int, common: int, chance: float) -> None:
    """Draw the way in which a cluster is explained, and then what stands for the means of its arms.

    An arm that is no exception is drawn with a probability of ``chance``.
    """
    ways, share = state.kinship.ways[c, common], uniform(state.stream)
    if share < ways[UNRELATED_BELOW]:
        _draw_unrelated(state, c)
    elif share >= ways[WITHIN_BELOW] or not _draw_within(state, c, common, chance):
        _draw_alike(state, c, _draw_precision(state, c, common), chance, False)


@kernel
def _draw_unrelated(state: KindredState, c: int) -> None:
    """Draw all arms of a cluster from their own posteriors."""
    base = state.kinship.base
    for place in range(state.start[c], state.start[c + 1]):
        arm = state.order[place]
        pulls, total = base[PULLS] + state.pulls[arm], base[TOTAL] + state.totals[arm]
        state.draws[arm] = draw_mean(state.law, state.stream, pulls, total)


@kernel
def _draw_precision(state: KindredState, c: int, common: int) -> int:
    """Draw the precision of a cluster: the one in common, or one of its own."""
    if uniform(state.stream) < state.kinship.ways[c, common, IN_COMMON]:
        return common
    return draw_cell(state.stream, state.kinship.own[c])


@kernel
def _draw_within(state: KindredState, c: int, common: int, chance: float) -> bool:
    """Draw until the means keep within the width; tell whether they ever did."""
    for _ in range(_TRIES):
        by_width = uniform(state.stream) < state.kinship.ways[c, common, BY_WIDTH]
        v = WIDTH if by_width else _draw_precision(state, c, common)
        if _draw_alike(state, c, v, chance, True):
            return True
    return False


@kernel
def _draw_alike(state: KindredState, c: int, v: int, chance: float, within: bool) -> bool:
    """Draw exceptions, and others with a probability of ``chance``; the rest stand at their posterior means.

    To keep ``within`` the width, all are drawn; tell whether they do.
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
    """Return how often an arm is drawn as an exception."""
    exception = state.kinship.exceptions[v, point, arm]
    odds = exception * (1.0 + state.pulls[arm] / _PULLS_TO_DOUBLE)
    return float(odds / (1.0 - exception + odds))


@kernel
def update(state: KindredState, arm: int, pulls: int, total: float) -> None:
    """Add to the statistics of the arm and of its cluster."""
    state.pulls[arm] += pulls
    state.totals[arm] += total
    state.kinship.told[state.cluster[arm]] += pulls


@kernel
def watch(state: KindredState, n: int) -> int:
    """Look at the widths; what was learned with another width no longer holds."""
    looked = watch_widths(state, n)
    for c in range(state.widths.size):
        if state.alarm.fired[c] == n and state.alarm.widens:
            learn_all(state)
    return looked


class _Memory(StreamPlace):
    """The place in the stream, and the rewards that were learned from, which all else follows from."""

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
        """Learn again from the same rewards, or from all of them if the arms are no longer the same."""
        super().load(data, state, numbers)
        kin, same = state.kinship, len(data["learned_pulls"]) == len(numbers)
        kin.pulls[:] = data["learned_pulls"] if same else state.pulls
        kin.totals[:] = data["learned_totals"] if same else state.totals
        learn_all(state)

    def learn_again(self, state: Any, number: int) -> None:
        """Let the cluster of an arm be due."""
        state.kinship.due[state.cluster[number]] = 0.0

    def learn_all(self, state: Any) -> None:
        """Learn all clusters again from all rewards."""
        state.kinship.pulls[:], state.kinship.totals[:] = state.pulls, state.totals
        learn_all(state)


class Kindred(Policy):
    r"""Learn how alike the arms of a cluster are; draw the means of a few arms; pull the largest.

    Every cluster has three possible explanations: its arms are alike, to a degree that is learned from all
    clusters; they are alike and within their declared width; or they are unrelated. Among arms that are
    alike, each may be an exception, which stands for itself. So rewards tell about other arms of a cluster
    where that is true, a declared width helps without being trusted blindly, and an arm that is better than
    its cluster is still found. Exceptions and about one other arm of a cluster are drawn from their
    posteriors in a round, and the other arms stand at their posterior means: drawing all of them explores far
    too much where there are many.

    Widths are not needed. An arm that is added to a cluster is judged by the others until it has rewards of
    its own; where means have no upper end, as with Gaussian rewards, every arm is pulled once first. What was
    learned is computed again when the pulls of a cluster have grown by 3 %.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = Kindred(Clusters([2, 1], widths=0.1))
    >>> policy.tell(policy.ask(), 1)
    >>> policy.ask()
    2

    References
    ----------
    Of this project; Hong, Kveton, Zaheer and Ghavamzadeh, Hierarchical Bayesian bandits, AISTATS 2022; for
    draws of few arms Jin, Xu, Xiao and Anandkumar, Finite-time regret of Thompson sampling algorithms for
    exponential family multi-armed bandits, NeurIPS 2022.
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
        """Make a state before the first round."""
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
        """Return a state for awaited rewards: they change neither what was learned nor widths."""
        state: KindredState = live
        kinship = state.kinship._replace(told=state.kinship.told.copy())
        return state._replace(pulls=state.pulls.copy(), totals=state.totals.copy(), kinship=kinship)


#: What was learned from widths alone, by what it depends on.
_BEFORE: dict[object, Kinship] = {}
_MOST_KEPT = 64


def _before_rewards(state: KindredState) -> Kinship:
    """Return what is known before the first reward; it takes long to count, so a few of them are kept."""
    key = state.law, state.start.tobytes(), state.widths.tobytes(), state.known, state.known_total
    known = _BEFORE.get(key)
    if known is None:
        learn_all(state)
        known = state.kinship
        if len(_BEFORE) >= _MOST_KEPT:
            _BEFORE.clear()
        _BEFORE[key] = known
    return copy.deepcopy(known)
