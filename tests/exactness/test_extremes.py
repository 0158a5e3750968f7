"""Rewards and settings at the ends of what is allowed: choices stay exact, and every call returns."""

from __future__ import annotations

import subprocess
import sys

import mpmath
import numpy as np
import pytest

import clusterbandits as cb
from clusterbandits.families.law import natural_gap

FAMILIES = [
    "bernoulli",
    "gaussian:sigma=0.5",
    "poisson",
    "exponential:shape=2.5",
    "negative-binomial:shape=2.5",
]
#: θ(y) for mean y.
NATURAL = {
    "bernoulli": lambda y: mpmath.log(y / (1 - y)),
    "gaussian": lambda y: 4 * y,
    "poisson": mpmath.log,
    "exponential": lambda y: mpmath.mpf("-2.5") / y,
    "negative-binomial": lambda y: mpmath.log(y / (y + mpmath.mpf("2.5"))),
}


def played_alike(policy: cb.Policy, tape: np.ndarray) -> list[int]:
    """The path of a policy, which skipping ahead must not change."""
    stepwise: list[int] = cb.play(policy, tape, stepwise=True).tolist()
    assert cb.play(policy, tape).tolist() == stepwise
    return stepwise


def test_indices_of_hundreds_of_powers_of_ten_tie() -> None:
    tape = np.full((5, 3000), 1e-4)
    tape[0] = 0.1
    policy = cb.KLUCB(cb.Clusters([1] * 5, widths=0), a=50.0, family="exponential:shape=0.05")
    path = played_alike(policy, tape)
    # In round 10 the last arm, pulled once, has the largest index; those of the others are finite.
    assert path[:10] == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]


@pytest.mark.parametrize("reward", [1e-100, 1.0, 1e100])
def test_holds_stay_inside_the_rounds_there_are(reward: float) -> None:
    """A certificate for an index 10^300 times the mean once held for -2^63 rounds."""
    policy = cb.KLUCB(cb.Clusters([2], widths=np.inf), family="exponential:shape=0.001")
    assert played_alike(policy, np.full((2, 6), reward)) == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("x", [1e-90, 1e-20, 1e-3, 0.4, 0.4999999])
def test_natural_parameters_keep_their_digits_however_far_apart(family: str, x: float) -> None:
    law, y = cb.as_family(family).law, 0.5
    theta = NATURAL[family.partition(":")[0]]
    with mpmath.workdps(150):
        exact = theta(mpmath.mpf(y)) - theta(mpmath.mpf(x))
        assert abs(natural_gap(law, x, y, y - x) / exact - 1) < 1e-15 + 1e-16 / (y - x)


#: Family, width, and pulls and totals of the arms of one cluster: data that no draw can be reconciled with.
CONTRADICTIONS = [
    ("gaussian", 0.1, [(1, 0), (1, 1e9)]),
    ("gaussian:sigma=1e-10", 0.1, [(1, 0), (1, 0.4)]),
    ("gaussian:sigma=1e-50", 1e-3, [(1, 0), (1, 1)]),
    ("bernoulli", 0.1, [(4e14, 0.8e14), (4e14, 3.2e14)]),
    ("bernoulli", 1e-12, [(4e14, 0.8e14), (4e14, 3.2e14)]),
    ("poisson", 0.1, [(4e14, 4e14), (4e14, 2e15)]),
    ("poisson", 1e90, [(1, 0), (1, 1e95), (1000, 5)]),
    ("exponential:shape=0.001", 1e99, [(1, 4.24), (1, 0.81)]),
    ("exponential:shape=3", 4.7e88, [(1, 1e-4), (13, 1e90), (1, 1e-90)]),
    ("negative-binomial", 0.1, [(4e14, 4e14), (4e14, 2e15)]),
    ("negative-binomial", 1e90, [(1, 0), (1, 1e95), (1000, 5)]),
    ("negative-binomial:shape=0.001", 1e99, [(1, 4), (1, 0)]),
    ("negative-binomial:shape=0.001", 0.1, [(1, 0), (1, 1000)]),
    ("negative-binomial:shape=1e6", 0.1, [(1000, 0), (1, 1000)]),
]
ASK = """
import clusterbandits as cb
for family, width, told in {cases}:
    clusters = cb.Clusters([len(told)], widths=width)
    for policy in (
        cb.ClusTS(clusters, family=family, alarm="ignore"),
        cb.HierTS(clusters, family=family, alarm="ignore", widths="respected"),
    ):
        for arm, (pulls, total) in enumerate(told):
            policy.tell(arm, total, pulls=pulls)
        policy.ask(10)
"""


def test_draws_end_where_data_contradict_a_width_by_any_factor() -> None:
    """In a process of its own, as a draw that does not end could not be interrupted."""
    subprocess.run([sys.executable, "-c", ASK.format(cases=CONTRADICTIONS)], check=True, timeout=300)


def test_totals_near_the_largest_are_restored() -> None:
    policy = cb.KLUCB(cb.Clusters([1], widths=0), family="poisson")
    for _ in range(7):
        policy.tell(0, 1e100)
    assert cb.KLUCB.from_json(policy.to_json()).totals == policy.totals
