"""Replay of logs: the rewards of policies, estimated from a log of the choices of another policy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from clusterbandits.clusters import Clusters
from clusterbandits.families import as_family
from clusterbandits.limits import LARGEST_SEED
from clusterbandits.policies import Policy, policy
from clusterbandits.simulation.simulate import read_policies
from clusterbandits.simulation.start import read_start
from clusterbandits.studies.columns import Source
from clusterbandits.studies.log_checks import check_chances
from clusterbandits.studies.log_survey import COLUMNS, survey
from clusterbandits.studies.replay_episodes import Learner, plan_episodes, replay_episodes
from clusterbandits.studies.replay_result import ReplayResult
from clusterbandits.validate import Described, between, invalid, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from clusterbandits.families import Family
    from clusterbandits.policies.policy import Past
    from clusterbandits.studies.log_survey import ReplayListener, Survey

#: Policies that use groups but no widths; those that use widths use groups as well.
_GROUPED = frozenset({"tlp-mean", "tlp-max", "tsc", "ucbc"})


def replay(
    log: object,
    policies: object,
    *,
    widths: object = None,
    groups: object = None,
    rounds: float | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    family: Family | str = "bernoulli",
    progress: ReplayListener | None = None,
    start: Past | None = None,
    columns: Mapping[str, str] | None = None,
) -> ReplayResult:
    r"""Estimate the rewards of policies from a log of the choices of another policy.

    A policy chooses an arm; rows are skipped until one shows that arm, and the policy receives its reward.
    If the logged arms were drawn uniformly, this has the distribution of the policy's own run. If they were
    drawn with known propensities p, every row is first kept with probability :math:`p_{\min}/p`: the rows
    that are left were drawn uniformly.

    The log is cut into episodes of ``rounds`` rounds; all policies start again in each episode.
    The mean rewards of episodes are independent and unbiased. The log is read twice, a few MB at a time.

    Parameters
    ----------
    log
        Path of a CSV, Excel or Parquet file, a data frame, columns by name, or a ``TableFile``, with the
        columns time (never decreasing), arm, reward, and optionally propensity (the probability of showing
        this arm in this row) and group. Arms of the same name in different groups are different arms, with
        the labels ``"group / arm"``.
    policies
        Policy or list of policies, or their names, such as ``"clus-ucb:a=5"``. In each episode they start
        again from the history ``start``; earlier rewards, such as those of ``from_history``, are not used.
    widths
        Declared widths for policies given by name: one width, one per group in the order in which groups
        first appear, or a mapping. They must come from other data than this log.
    groups
        Arms by group, as for ``Clusters``; by default from the column ``group`` of the log.
    rounds
        Rounds per episode; by default chosen to give about 20 episodes.
    seed
        Random seed, used together with a policy's label and the number of the episode.
    confidence
        Confidence level of the intervals.
    family
        Reward family: ``"bernoulli"`` for rewards 0 or 1, ``"bounded:low=0,high=50"`` for others between
        known bounds, such as revenue. Widths are then in the unit of the rewards.
    progress
        Function that is called after each batch with a ``ReplayProgress``.
    start
        History, as ``read_history`` returns it, from which all policies start in each episode; by default
        none. It must come from other data than this log.
    columns
        Names of columns in the log, by their content, as in ``{"arm": "ad_id"}``. By default the names
        above and other usual ones.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> arms = rng.integers(0, 3, 30_000)
    >>> rewards = rng.random(30_000) < np.array([0.3, 0.4, 0.6])[arms]
    >>> result = replay({"time": range(30_000), "arm": arms, "reward": rewards}, ["kl-ucb", "ucb1"])
    >>> result
    <ReplayResult: kl-ucb, ucb1, 20 episodes of 444 rounds>
    >>> result.value("kl-ucb").low < 0.6 > result.value("ucb1").high
    True

    References
    ----------
    Li, Chu, Langford and Wang, Unbiased offline evaluation of contextual-bandit-based news article
    recommendation algorithms, WSDM 2011. Dudík, Erhan, Langford and Li, Sample-efficient nonstationary policy
    evaluation for contextual bandits, UAI 2012.
    """
    law = as_family(family, "replay")
    chance = whole("seed", "replay", seed, least=0, most=LARGEST_SEED)
    level = between("confidence", "replay", confidence, 0.5, 0.9999)
    if progress is not None and not callable(progress):
        raise invalid("progress", "replay", "a function that takes a ReplayProgress", progress)
    source = Source(log, COLUMNS, "log", "replay", columns)
    found = survey(source, law, progress)
    learners = read_learners(policies, found, groups, widths, law, start)
    check_chances(source, found)
    episodes = plan_episodes(source, found, rounds)
    learners[0].start.check_horizon(episodes.rounds, "replay", "rounds")
    played = replay_episodes(source, found, learners, episodes, chance, progress)
    result = ReplayResult(
        labels=tuple(learner.policy.label for learner in learners),
        rounds=episodes.rounds,
        means=played.means,
        alarmed=played.alarmed,
        usable=played.usable,
        log=found,
        confidence=level,
        seed=chance,
        start_trials=learners[0].start.trials,
    )
    if np.isfinite(result.means).sum(axis=1).min() < 2:
        rule = f"at least two episodes of {result.rounds:,} rounds must be matched"
        raise source.refuse(rule, f"The {result.usable:,} usable rows matched fewer")
    return result


def read_learners(
    policies: object,
    found: Survey,
    groups: object,
    widths: object,
    family: Family,
    start: Past | None = None,
) -> list[Learner]:
    """Return policies, given as objects or by name, for the arms of a log, with their history."""
    known = _clusters(found, groups, widths)
    grouped = groups is not None or found.groups is not None

    def named(spec: str) -> Policy:
        return _named(spec, known, grouped, widths, family)

    made = read_policies(policies, named, family, "replay")
    return [_learner(one, found, start) for one in made]


def _learner(made: Policy, found: Survey, start: Past | None) -> Learner:
    numbers = _numbers(made.clusters, found, f"policy {made.label!r}")
    past = read_start(start, made.clusters.arms, "replay")
    past.check_policy(made, "replay")
    return Learner(made, numbers, past)


def needs_groups(made: Policy) -> bool:
    """Return whether a policy needs to know the groups."""
    return made.name in _GROUPED or (made.uses_widths and not made.widths_optional)


def needs_widths(made: Policy) -> bool:
    """Return whether a policy, with its settings, needs declared widths."""
    return made.heeds_widths and not made.widths_optional and made.settings.get("distances") is None


def _named(spec: str, known: Clusters, grouped: bool, widths: object, family: Family) -> Policy:
    made = policy(spec, known, family=family)
    if needs_groups(made) and not grouped:
        allowed = f"given for {made.name}, unless the log has a column 'group'"
        raise invalid("groups", "replay", allowed, Described("no groups"))
    if needs_widths(made) and widths is None:
        allowed = f"given for {made.name}, from other data than this log, such as an earlier log"
        raise invalid("widths", "replay", allowed, Described("no widths"))
    return made


def _clusters(found: Survey, groups: object, widths: object) -> Clusters:
    declared = math.inf if widths is None else widths
    if groups is not None:
        given = Clusters(groups, declared)
        _numbers(given, found, "groups")
        return given
    if found.groups is not None:
        return Clusters.from_labels(found.groups, declared, found.arms)
    if widths is not None:
        allowed = "given only if there are groups, such as a column 'group' in the log"
        raise invalid("widths", "replay", allowed, Described("no groups"))
    return Clusters({"all arms": found.arms}, math.inf)


def _numbers(clusters: Clusters, found: Survey, owner: str) -> NDArray[np.int64]:
    """Return the number in the clusters of each arm of the log; both must have the same arms."""
    places = {str(label): place for place, label in enumerate(clusters.arms)}
    strange = [repr(arm) for arm in found.arms if arm not in places]
    if strange:
        raise invalid("arms", owner, "those of the log", Described(f"none for {strange[0]}"))
    never = [repr(arm) for arm in places if arm not in set(found.arms)]
    if never:
        given = Described(f"{never[0]}, which the log never shows,")
        raise invalid("arms", owner, "those of the log", given)
    return np.array([places[arm] for arm in found.arms], dtype=np.int64)
