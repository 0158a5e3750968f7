"""Nothing is lost at 10^12 rounds: not in counts, nor totals, nor thresholds, nor choices."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import clusterbandits as cb
from clusterbandits.policies.kl_ucb import threshold
from clusterbandits.policies.protocol import KERNELS
from clusterbandits.simulation.loop import DONE, Record, Rewards, Rules, advance, new_cursor
from tests.exactness.problems import KINDS, PAPER

LATE = 10**12


Stats = list[tuple[int, float]]


def _evidence(stats: Stats, arm: int, q: mpmath.mpf, others: dict[int, float]) -> mpmath.mpf:
    """Return F_k(q) of Bernoulli arms in 60 digits."""

    def term(k: int, y: mpmath.mpf) -> mpmath.mpf:
        pulls, total = stats[k]
        x = mpmath.mpf(total) / pulls
        if y <= x:
            return mpmath.mpf(0)
        return pulls * (x * mpmath.log(x / y) + (1 - x) * mpmath.log((1 - x) / (1 - y)))

    return term(arm, q) + sum(term(other, q - mpmath.mpf(width)) for other, width in others.items())


def _exact_choice(policy: cb.Policy, pulls: list[int], totals: list[float], n: int) -> int:
    """Return the arm with the largest index, by bisection in 60 digits."""
    widths = dict(zip(policy.clusters.names, policy.clusters.widths, strict=True))
    names = policy.clusters.partition.cluster_names
    indices, stats = [], list(zip(pulls, totals, strict=True))
    with mpmath.workdps(60):
        level = mpmath.log(n)
        for arm in range(len(pulls)):
            others = {
                mate: widths[names[arm]]
                for mate in range(len(pulls))
                if policy.name == "clus-ucb" and mate != arm and names[mate] == names[arm]
            }
            low, high = mpmath.mpf(0), mpmath.mpf(1)
            for _ in range(100):
                middle = (low + high) / 2
                inside = _evidence(stats, arm, middle, others) <= level
                low, high = (middle, high) if inside else (low, middle)
            indices.append(low)
    return max(range(len(pulls)), key=lambda arm: indices[arm])


def _late_state(policy: cb.Policy, close: float) -> tuple[Any, list[int], list[float]]:
    """Return a state of about 10^12 rounds in which the two best arms' indices are a few rewards apart."""
    pulls = [12_000, 20_000, 60_000, 60_000, 150_000, LATE]
    means = [0.41, 0.42, 0.43, 0.43, 0.4395, 0.45]
    totals = [float(round(mean * count)) for mean, count in zip(means, pulls, strict=True)]
    family, level = cb.Bernoulli(), np.log(sum(pulls) + 1)
    target = family.upper(totals[4] / pulls[4], level / pulls[4])
    leader = family.lower(target, level / LATE)
    totals[5] = float(round(leader * LATE + close))
    state = policy.fresh_state()
    for arm in range(6):
        KERNELS[type(state)].update(state, arm, pulls[arm], totals[arm])
    return state, pulls, totals


@pytest.mark.parametrize("kind", ["kl-ucb", "clus-ucb"])
def test_choices_at_a_trillion_rounds_are_those_of_60_digits(kind: str) -> None:
    policy = PAPER[2].policy(kind)
    chosen = set()
    for close in np.arange(-4000.0, 4001.0, 400.0):
        state, pulls, totals = _late_state(policy, close)
        n = sum(pulls) + 1
        arm = KERNELS[type(state)].select(state, n)
        assert arm == _exact_choice(policy, pulls, totals, n)
        chosen.add(arm)
    assert chosen == {4, 5}


@pytest.mark.parametrize("kind", KINDS)
def test_holding_equals_stepwise_at_a_trillion_rounds(kind: str) -> None:
    policy = PAPER[2].policy(kind)
    rounds = 20_000
    paths, ends = [], []
    for stepwise in (False, True):
        state, pulls, _ = _late_state(policy, -50.0)
        before = sum(pulls)
        tape = PAPER[2].tape(7, rounds)
        first = np.array(pulls, dtype=np.int64)
        rewards = Rewards(policy.family.law, np.zeros(6), np.random.default_rng(0), tape, first)
        checkpoints = np.array([rounds], dtype=np.int64)
        record = Record(checkpoints, np.zeros((1, 6), dtype=np.int64), np.zeros(0, dtype=np.int64))
        cursor = new_cursor(before + 1)
        path: list[int] = []
        for n in range(before + 1, before + rounds + 1):
            if cursor[0] > n:
                path.append(path[-1])
                continue
            played = state.pulls.copy()
            advance(state, rewards, record, cursor, Rules(before + rounds, stepwise), 1)
            path.append(int((state.pulls - played).argmax()))
        assert advance(state, rewards, record, cursor, Rules(before + rounds, stepwise), 1) == DONE
        paths.append(path)
        ends.append((record.pulls.tolist(), state.totals.tolist()))
    assert paths[0] == paths[1]
    assert ends[0] == ends[1]
    assert len(set(paths[0])) > 1


def test_totals_and_thresholds_keep_every_unit() -> None:
    state = PAPER[2].policy("clus-ucb").fresh_state()
    update = KERNELS[type(state)].update
    update(state, 0, LATE - 1, float(LATE // 2 - 1))
    update(state, 0, 1, 1.0)
    assert (state.pulls[0], state.totals[0]) == (LATE, LATE // 2)
    for n in (1, 2, 3, 10**6, LATE, 10**15):
        exact = mpmath.log(n) + 5 * mpmath.log(max(mpmath.log(n), 1))
        assert float(abs(threshold(n, 5.0) - exact)) <= 4e-15 * max(1.0, float(exact))


def test_a_trillion_rounds_are_counted_one_by_one() -> None:
    result = cb.simulate(cb.Instance([[0.2], [0.8]]), ["kl-ucb"], LATE, runs=2, checkpoints=[10, LATE - 1])
    assert result.pulls[0, :, :, :].sum(axis=-1).tolist() == [[10, LATE - 1, LATE]] * 2
    assert (result.pulls[0, :, -1, 0] < 500).all()
