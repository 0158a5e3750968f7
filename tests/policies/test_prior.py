"""``prior=``: what is drawn with it, how it is written and saved, and what is refused."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import clusterbandits as cb
from clusterbandits.cli.main import run
from clusterbandits.families.posterior import draw_mean
from clusterbandits.families.stream import fresh_stream
from clusterbandits.policies.protocol import entries
from tests.policies.learner import refusal

SMALLEST_P = 1e-4
DRAWING = ["thompson", "tsc", "clus-ts", "hier-ts", "kindred"]
EACH = pytest.mark.parametrize("name", DRAWING)
ARMS = cb.Clusters([2, 1], widths=math.inf)
PULLS, TOTALS = (7, 3, 12), (2, 3, 5)


def after_rewards(name: str, clusters: cb.Clusters = ARMS, **settings: Any) -> Any:
    policy = cb.policy(name, clusters, **settings)
    for arm, (pulls, total) in enumerate(zip(PULLS, TOTALS, strict=True)):
        policy.tell(arm, total, pulls=pulls)
    return policy


#: The posterior of t pulls with total s after prior=(m, ν), for every family.
POSTERIORS: dict[str, Any] = {
    "bernoulli": lambda t, s: stats.beta(s, t - s),
    "gaussian:sigma=0.5": lambda t, s: stats.norm(s / t, 0.5 / math.sqrt(t)),
    "poisson": lambda t, s: stats.gamma(s, scale=1 / t),
    "exponential:shape=2": lambda t, s: stats.invgamma(2 * t + 1, scale=2 * s),
    "negative-binomial:shape=2": lambda t, s: stats.betaprime(s, 2 * t + 1, scale=2),
}


@pytest.mark.statistical
@pytest.mark.parametrize("family", POSTERIORS)
def test_what_thompson_draws_from(family: str) -> None:
    """The state has no draws: they are made from the numbers in it, as ``choose`` does."""
    state = after_rewards("thompson", family=family, prior=(0.2, 4.0))._live
    assert (state.known, state.known_total) == pytest.approx((4.0, 0.8))
    stream = fresh_stream(np.random.default_rng(1))
    for t, s in zip(PULLS, TOTALS, strict=True):
        known, total = state.known + t, state.known_total + s
        found = [draw_mean(state.law, stream, known, total) for _ in range(4000)]
        assert stats.kstest(found, POSTERIORS[family](4.0 + t, 0.8 + s).cdf).pvalue > SMALLEST_P


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["thompson", "tsc"])
def test_arms_are_chosen_as_often_as_they_are_best(name: str) -> None:
    policy = after_rewards(name, prior=(0.02, 50))
    state = policy._live
    select = entries(state).select
    counts = np.bincount([select(state, 100) for _ in range(20_000)], minlength=3)
    rng, a, b = np.random.default_rng(2), 0.02 * 50, 0.98 * 50

    def draws(t: int, s: int) -> Any:
        return rng.beta(a + s, b + t - s, 400_000)

    arms = np.array([draws(t, s) for t, s in zip(PULLS, TOTALS, strict=True)])
    if name == "tsc":
        first = draws(PULLS[0] + PULLS[1], TOTALS[0] + TOTALS[1]) > draws(PULLS[2], TOTALS[2])
        best = np.where(first, arms[:2].argmax(axis=0), 2)
    else:
        best = arms.argmax(axis=0)
    wanted = np.bincount(best, minlength=3) / 400_000
    errors = np.sqrt(wanted * (1 - wanted) / 20_000) + 1e-4
    assert (np.abs(counts / 20_000 - wanted) < 4 * errors).all()


@pytest.mark.statistical
def test_clus_ts_draws_from_the_prior_within_widths() -> None:
    clusters = cb.Clusters([2, 1], widths=[0.1, math.inf])
    policy = after_rewards("clus-ts", clusters, prior=(0.3, 20.0), alarm="ignore")
    state = policy._live
    select = entries(state).select
    found = np.empty((4000, 3))
    for i in range(len(found)):
        select(state, 100)
        found[i] = state.draws
    rng, t, s = np.random.default_rng(3), np.array(PULLS), np.array(TOTALS)
    free = rng.beta(s + 6.0, t - s + 14.0, (200_000, 3))
    kept = free[np.ptp(free[:, :2], axis=1) <= 0.1]
    for arm in range(3):
        assert stats.ks_2samp(found[:, arm], kept[:, arm]).pvalue > SMALLEST_P


def test_the_flat_prior_is_the_default() -> None:
    tape = (np.random.default_rng(4).random((3, 300)) < 0.4).astype(float)
    for name in ("thompson", "tsc", "clus-ts", "hier-ts"):
        flat = cb.play(cb.policy(name, ARMS), tape)
        assert np.array_equal(cb.play(cb.policy(name, ARMS, prior=(0.5, 2)), tape), flat)
        assert not np.array_equal(cb.play(cb.policy(name, ARMS, prior=(0.5, 40)), tape), flat)


def test_a_prior_takes_the_place_of_what_kindred_assumes() -> None:
    without, given = (after_rewards("kindred", prior=prior)._live.kinship for prior in (None, (0.5, 2.0)))
    # Rewards of 0 or 1 are assumed to have a flat prior.
    assert given.alike == pytest.approx(without.alike, abs=0.02)
    medians = []
    for prior in (None, (0.02, 1e5)):
        state, drawn = after_rewards("kindred", prior=prior)._live, []
        for _ in range(300):
            entries(state).select(state, 100)
            drawn.append(state.draws.copy())
        medians.append(np.median(np.array(drawn), axis=0))
    # It is a prior of cluster means; how far arms are from them is still learned.
    assert (medians[1] < 0.5 * medians[0]).all()


@EACH
def test_priors_are_written_in_every_way(name: str) -> None:
    settings: list[Any] = [(0.02, 60), [0.02, 60.0], "0.02@60", "0.02 @ 60", np.array([0.02, 60])]
    made = [cb.policy(name, ARMS, prior=prior) for prior in settings]
    made.append(cb.policy(f"{name}:prior=0.02@60", ARMS))
    for policy in made:
        assert policy.settings["prior"] == [0.02, 60.0]
        assert policy.spec == f"{name}:prior=0.02@60.0"
        assert cb.policy(policy.spec, ARMS).settings == policy.settings
        again: Any = cb.Policy.from_json(policy.to_json())
        assert (again.to_json(), again.settings) == (policy.to_json(), policy.settings)
        assert cb.Policy.of_description(policy.description()).description() == policy.description()
    assert json.loads(made[0].to_json())["settings"]["prior"] == [0.02, 60.0]
    odd = cb.policy(name, ARMS, prior=(0.1 + 0.2, 1e3 / 3))
    assert cb.policy(odd.spec, ARMS).settings == odd.settings


@EACH
def test_the_command_line_reads_priors(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    means = ["0.02,0.03;0.01", "--horizon", "60", "--runs", "2", "--json"]
    printed = []
    for spec in (f"{name}:prior=0.02@60", name):
        with pytest.raises(SystemExit) as ended:
            run(["simulate", *means, "--policy", spec])
        assert ended.value.code == 0
        printed.append(json.loads(capsys.readouterr().out))
    assert f"{name}:prior=0.02@60.0" in json.dumps(printed[0])


BAD: list[Any] = ["", "0.02", "0.02@", "@50", "0.02@50@1", "a@b", 0.02, (0.02,), (0.02, 50, 1), (0.02, 0)]
BAD += [
    (0.02, -1),
    (0.02, math.nan),
    (math.nan, 5),
    (math.inf, 5),
    (0.02, math.inf),
    (0.02, 1e7),
    True,
    {},
    [],
]


@EACH
@pytest.mark.parametrize("prior", BAD, ids=repr)
def test_what_is_no_prior_is_refused(name: str, prior: Any) -> None:
    sentence = refusal(lambda: cb.policy(name, ARMS, prior=prior))
    kind = cb.POLICIES[name].__name__
    assert f"{kind}: prior must be a mean and the pulls it is worth" in sentence


@EACH
@pytest.mark.parametrize(
    ("family", "mean"),
    [("bernoulli", 0.0), ("bernoulli", 1.0), ("bernoulli", 1.5), ("poisson", 0.0), ("exponential", -1.0)],
)
def test_means_at_the_ends_are_refused(name: str, family: str, mean: float) -> None:
    sentence = refusal(lambda: cb.policy(name, ARMS, family=family, prior=(mean, 100.0)))
    assert "must be a mean between" in sentence
    assert family in sentence


def test_draws_within_widths_need_what_a_flat_prior_is_worth() -> None:
    for name in ("clus-ts", "hier-ts"):
        sentence = refusal(lambda name=name: cb.policy(name, ARMS, prior=(0.02, 10)))  # type: ignore[misc]
        assert "must be worth more pulls" in sentence
        assert cb.policy(name, ARMS, prior=(0.02, 50)).settings["prior"] == [0.02, 50.0]
    for name in ("thompson", "tsc", "kindred"):
        assert cb.policy(name, ARMS, prior=(0.02, 0.1)).settings["prior"] == [0.02, 0.1]


def test_policies_without_a_posterior_have_no_prior() -> None:
    assert "Unknown setting 'prior' of policy ucb1. Available: none." in refusal(
        lambda: cb.policy("ucb1", ARMS, prior=(0.02, 50))
    )
    assert "Unknown setting 'prior' of policy kl-ucb" in refusal(
        lambda: cb.policy("kl-ucb", ARMS, prior=(0.02, 50))
    )
