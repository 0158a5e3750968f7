"""The public call: what policies would have earned, from a log of what others chose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clusterbandits.families import as_family
from clusterbandits.limits import LARGEST_SEED
from clusterbandits.studies.columns import Source
from clusterbandits.studies.replay.episodes import plan_episodes
from clusterbandits.studies.replay.learners import read_learners
from clusterbandits.studies.replay.play import play
from clusterbandits.studies.replay.result import ReplayResult
from clusterbandits.studies.replay.rows import COLUMNS
from clusterbandits.studies.replay.survey import survey
from clusterbandits.studies.replay.trust import check_chances
from clusterbandits.validate import between, invalid, whole

if TYPE_CHECKING:
    from clusterbandits.families import Family
    from clusterbandits.studies.replay.progress import ReplayListener


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
) -> ReplayResult:
    r"""Tell what policies would earn, from rows that show what somebody else chose and what it paid.

    A policy chooses; rows pass until one shows its choice; it is told what that row paid. Over arms drawn
    uniformly that is the game it would have played. Where arms were drawn with known propensities p, every
    row is kept with the chance :math:`p_{\min}/p` first: what is left was drawn uniformly, whoever came.

    The log is cut into episodes; in each of them every policy begins anew and plays ``rounds`` rounds, and
    their mean rewards are independent and unbiased. The log is read twice, a few MB at a time.

    Parameters
    ----------
    log
        The path of a CSV file, a frame, or columns by name: time (never going backwards), arm, reward, and
        perhaps propensity (the chance that this arm had to be shown in this row) and group.
    policies
        A policy or a list of them, or their names, as ``"clus-ucb:a=5"``. Each begins anew in every episode:
        what one was told before, as by ``from_history``, is left alone.
    widths
        What policies given by name know of groups: one width, one for every group in the order in which they
        first appear, or a mapping. They must come from elsewhere than this log.
    groups
        The arms of every group, as ``Clusters`` takes them; by default what the log's column says.
    rounds
        Rounds of an episode; by default as many as leave about 20 episodes.
    seed
        Decides all chance, together with a policy's label and the number of the episode.
    confidence
        The level of intervals.
    family
        The law of rewards.
    progress
        Called after every batch with a ``ReplayProgress``.

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
    start = whole("seed", "replay", seed, least=0, most=LARGEST_SEED)
    level = between("confidence", "replay", confidence, 0.5, 0.9999)
    if progress is not None and not callable(progress):
        raise invalid("progress", "replay", "a function of a ReplayProgress", progress)
    source = Source(log, COLUMNS, "log", "replay")
    found = survey(source, law, progress)
    learners = read_learners(policies, found, groups, widths, law)
    check_chances(source, found)
    episodes = plan_episodes(source, found, rounds)
    played = play(source, found, learners, episodes, start, progress)
    result = ReplayResult(
        labels=tuple(learner.policy.label for learner in learners),
        rounds=episodes.rounds,
        means=played.means,
        alarmed=played.alarmed,
        usable=played.usable,
        log=found,
        confidence=level,
        seed=start,
    )
    if np.isfinite(result.means).sum(axis=1).min() < 2:
        short = f"{result.usable:,} that matched fewer than two episodes"
        raise source.refuse(f"have more usable rows for episodes of {result.rounds:,} rounds", short)
    return result
