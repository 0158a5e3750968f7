"""The rounds in which the best arm's index is below its mean: the ones that Theorem 2's proof sets aside."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from clusterbandits.paper.audit.claim import Claim, Finding, Verdict
from clusterbandits.paper.audit.estimates import Estimate, estimate
from clusterbandits.paper.figures import figure
from clusterbandits.paper.programme import WRONG_WIDTHS
from clusterbandits.policies import ClusUCB
from clusterbandits.simulation import play
from clusterbandits.simulation.statistics import count_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clusterbandits.instance import Instance
    from clusterbandits.paper.results import PaperResults

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_ROUNDS = 10**5
_RUNS = 24
#: The widths of Figure 8 that are its spans.
_WIDTHS = (0.4, 0.7)


def count_bad_rounds(instance: Instance, policy: ClusUCB, tape: Floats) -> int:
    """Return in how many rounds of a run against fixed rewards the best arm's index is below its mean.

    The index is below q where the evidence F(q) against q exceeds the threshold: nothing is solved for.
    """
    arms = play(policy, tape)
    best = int(instance.means.argmax())
    mates = instance.partition.members[instance.partition.membership[best]]
    width = policy.clusters.widths[instance.partition.membership[best]]
    evidence = np.zeros(arms.size)
    for arm in np.asarray(mates).tolist():
        pulls, mean = _history(arms, tape[arm], arm)
        highest = instance.best_mean if arm == best else max(instance.best_mean - width, 0.0)
        against = np.where(mean < highest, instance.family.divergence(mean, highest), 0.0)
        evidence += pulls * against
    rounds = np.arange(1, arms.size + 1)
    known = np.log(rounds)
    threshold = known + policy.settings["a"] * np.log(np.maximum(known, 1.0))
    return int((evidence > threshold)[len(instance.arms) :].sum())


def _history(arms: Ints, rewards: Floats, arm: int) -> tuple[Ints, Floats]:
    """Return the pulls of an arm before every round, and the mean of what they paid (0 for none)."""
    pulled = arms == arm
    pulls = np.cumsum(pulled) - pulled
    paid = np.concatenate([[0.0], np.cumsum(rewards)])[pulls]
    return pulls, paid / np.maximum(pulls, 1)


def judge_rare(counts: Estimate, rounds: int) -> Finding:
    """Judge that the mean number of bad rounds is at most log log T."""
    allowed = math.log(math.log(rounds))
    # Where no run has any, as many as three in all runs together might have been missed.
    reach = counts.reach() if counts.error > 0 else 3 / counts.runs
    verdict = Verdict.UNDECIDED
    if abs(counts.value - allowed) > reach:
        verdict = Verdict.FAILS if counts.value > allowed else Verdict.HOLDS
    return Finding(verdict, f"{counts} rounds of {count_text(rounds, 'round')}, log log T = {allowed:.2f}")


def bad_rounds(a: float, rounds: int, runs: int, seed: int) -> Estimate:
    """Return the mean number of bad rounds of Clus-UCB in Figure 8 with its true widths."""
    instance = figure(WRONG_WIDTHS).instance
    policy = ClusUCB(instance.clusters(_WIDTHS), a=a)
    counts = []
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        tape = (rng.random((len(instance.arms), rounds)) < instance.means[:, None]).astype(np.float64)
        counts.append(count_bad_rounds(instance, policy, tape))
    return estimate(np.array(counts, dtype=float))


def _rare(paper: PaperResults) -> Finding:
    settings = paper.settings
    rounds, runs = min(_ROUNDS, settings.horizon), min(_RUNS, settings.runs)
    found = judge_rare(bad_rounds(5.0, rounds, runs, settings.seed), rounds)
    without = bad_rounds(0.0, rounds, runs, settings.seed)
    return Finding(found.verdict, f"With a = 5, {found.measured}. With a = 0: {without}.")


BAD_ROUNDS = (
    Claim(
        "bad-rounds-are-rare",
        "Section 4, first point",
        "The best arm's index is below its mean in O(log log T) rounds only.",
        "Rounds in which the evidence against the best arm's true mean exceeds the threshold, counted in "
        "Figure 8 with widths [0.4, 0.7]; rare: log log T at most.",
        _rare,
        figures=(WRONG_WIDTHS,),
    ),
)
