"""What ``Kindred`` learns and draws, against integrals and draws that are made from its model alone."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import clusterbandits as cb
from clusterbandits.policies import kindred
from clusterbandits.policies.kinship import learning, prior, tables
from tests.policies.kinship_model import (
    BERNOULLI,
    LAWS,
    OF_WIDTH,
    PRIOR,
    SHARED,
    WIDTH,
    WITHIN,
    Cluster,
    Law,
    Posterior,
    middle,
)

SMALLEST_P = 1e-4
#: A few pulls of three arms; the second case has an arm without rewards.
FEW, FEWEST = ((5, 40, 12), (1.0, 22.0, 9.0)), ((3, 0, 2), (1.0, 0.0, 2.0))
RARE = ((4000, 300, 1000), (4.0, 0.0, 2.0))
CASES = [(law, data) for law in LAWS for data in (FEW, FEWEST)]
EACH = pytest.mark.parametrize(("law", "data"), CASES, ids=lambda part: getattr(part, "spec", None))
EACH_LAW = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.spec)
Data = tuple[tuple[int, ...], tuple[float, ...]]
#: The share of cluster means that the grid may leave out: where one arm of three may be an exception, the
#: tails are long.
LEFT_OUT = 0.04


def learned(law: Law, *data: Data, widths: Any = math.inf, **settings: Any) -> Any:
    """A policy that has learned from all rewards of its clusters at once."""
    clusters = cb.Clusters([len(pulls) for pulls, _ in data], widths=widths)
    policy = cb.Kindred(clusters, family=law.spec, alarm="ignore", **settings)
    pulls, totals = (sum((one[i] for one in data), ()) for i in range(2))
    rows = ((arm, int(t), s) for arm, (t, s) in enumerate(zip(pulls, totals, strict=True)))
    policy._tell_past(row for row in rows if row[1])
    return policy


def clusters_of(law: Law, *data: Data, width: float = math.inf) -> list[Cluster]:
    pulls, totals = (sum((one[i] for one in data), ()) for i in range(2))
    return [Cluster(law, *one, middle(law, pulls, totals), width) for one in data]


@cache
def expected(law: Law, *data: Data, width: float = math.inf) -> list[Posterior]:
    return [Posterior.of(one) for one in clusters_of(law, *data, width=width)]


def cdf_at(posterior: Posterior, v: int, places: Any) -> Any:
    """The distribution function of the cluster mean in a column."""
    chances = posterior.chances[v]
    return np.interp(places, posterior.places[v], np.cumsum(chances) - chances / 2)


@EACH
def test_columns_are_weighed_by_their_likelihood(law: Law, data: Data) -> None:
    kin = learned(law, data, widths=0.3)._live.kinship
    posterior = expected(law, data, width=0.3)[0]
    assert kin.alike[0] - kin.unrelated[0] == pytest.approx(posterior.alike, abs=LEFT_OUT)
    assert np.diff(kin.own[0], prepend=0) == pytest.approx(posterior.precisions, abs=0.002)


@EACH
def test_cluster_means_have_their_posterior(law: Law, data: Data) -> None:
    kin = learned(law, data, widths=0.3)._live.kinship
    posterior = expected(law, data, width=0.3)[0]
    for v in range(WIDTH + 1):
        ends = kin.first[0, v] + kin.step[0, v] * np.arange(tables.POINTS + 1)
        found = np.concatenate([[0.0], kin.means[0, v]])
        assert np.abs(found - cdf_at(posterior, v, ends)).max() < LEFT_OUT


def at_points(kin: Any, v: int) -> Any:
    """The places on the scale where a column of the only cluster is weighed."""
    return kin.first[0, v] + kin.step[0, v] * (np.arange(tables.POINTS) + 0.5)


@EACH
def test_exceptions_are_bayes_rule(law: Law, data: Data) -> None:
    kin = learned(law, data, widths=0.3)._live.kinship
    cluster = clusters_of(law, data, width=0.3)[0]
    for v in range(WIDTH + 1):
        wanted = cluster.exceptions(law.mean(at_points(kin, v)), v)
        assert kin.exceptions[v] == pytest.approx(wanted, rel=1e-4)


#: Five arms that are much alike, and one far above them.
OUTLIER = ((200, 300, 250, 400, 150, 120), (50.0, 75.0, 64.0, 99.0, 38.0, 78.0))


@EACH_LAW
def test_an_exception_does_not_hide_how_alike_the_others_are(law: Law) -> None:
    kin = learned(law, OUTLIER)._live.kinship
    posterior = expected(law, OUTLIER)[0]
    assert kin.alike[0, :WIDTH] - kin.unrelated[0] == pytest.approx(posterior.alike, abs=0.05)
    tight = WIDTH - 1
    means = np.diff(kin.means[0, tight], prepend=0)
    probable = means @ kin.exceptions[tight]
    assert probable[-1] > 0.99
    assert (probable[:-1] < 0.1).all()


@pytest.mark.parametrize("law", [BERNOULLI, LAWS[2]], ids=lambda law: law.spec)
def test_the_grid_is_coarser_where_successes_are_rare(law: Law) -> None:
    """The likelihood of a wide spread is then far from normal on the scale."""
    kin = learned(law, RARE, widths=0.003)._live.kinship
    posterior = expected(law, RARE, width=0.003)[0]
    errors = kin.alike[0] - kin.unrelated[0] - posterior.alike
    assert np.abs(errors).max() < 0.06
    assert np.abs(errors[3:WIDTH]).max() < 0.01
    assert np.diff(kin.own[0], prepend=0) == pytest.approx(posterior.precisions, abs=0.01)


#: A likely mean and the pulls it is worth: weak, strong, and somewhat away from the rewards.
PRIORS = [(0.5, 3.0), (0.5, 300.0), (0.4, 1e6), (0.3, 10.0), (0.9, 20.0)]


@EACH_LAW
@pytest.mark.parametrize("given", PRIORS)
def test_given_priors_are_those_of_cluster_means(law: Law, given: tuple[float, float]) -> None:
    kin = learned(law, FEW, widths=0.3, prior=given)._live.kinship
    posterior = Posterior.of(Cluster(law, *FEW, given[::-1], 0.3))
    assert kin.alike[0] - kin.unrelated[0] == pytest.approx(posterior.alike, abs=0.05)
    for v in range(WIDTH + 1):
        ends = kin.first[0, v] + kin.step[0, v] * np.arange(tables.POINTS + 1)
        found = np.concatenate([[0.0], kin.means[0, v]])
        assert np.abs(found - cdf_at(posterior, v, ends)).max() < LEFT_OUT


def test_the_prior_of_means_is_normalised() -> None:
    """Else it would decide between arms that are alike and unrelated ones."""
    for law in LAWS:
        for given in (None, (0.3, 5.0), (0.5, 2000.0)):
            state = learned(law, FEW, prior=given)._live
            places = state.kinship.base[tables.CENTRE] + 0.02 * np.sinh(np.linspace(-9, 9, 1801))
            means = law.mean(places)
            inside = np.abs(places) < 30
            logs = [prior.log_prior(state.law, state.kinship.base, float(m)) for m in means[inside]]
            assert np.trapezoid(np.exp(logs), places[inside]) == pytest.approx(1, abs=2e-3), (law.spec, given)


def drawn(policy: Any, count: int) -> Any:
    """What stands for the means of all arms, as ``draw_largest`` leaves it."""
    state = policy._live
    found = np.empty((count, len(state.pulls)))
    for i in range(count):
        kindred.draw_largest(state)
        found[i] = state.draws
    return found


def expected_draws(posterior: Posterior, count: int, seed: int) -> Any:
    """What stands for the means of the arms of a single cluster without a width."""
    rng = np.random.default_rng(seed)
    apart = posterior.cluster.apart
    chance = apart / (apart + (1 - apart) * np.exp(posterior.any_precision))
    known = posterior.knowledge(rng, rng.choice(WIDTH, count, p=posterior.precisions))
    together = known.show(posterior.cluster.law.draw(rng, known.pulls, known.totals))
    return np.where(rng.random((count, 1)) < chance, posterior.alone(rng, count), together)


def check_same_law(found: Any, wanted: Any) -> None:
    """Compare arms one by one, and how they go together."""
    for arm in range(found.shape[1]):
        assert stats.ks_2samp(found[:, arm], wanted[:, arm]).pvalue > SMALLEST_P, arm
    for summary in (np.ptp, np.min, np.max):
        assert stats.ks_2samp(summary(found, axis=1), summary(wanted, axis=1)).pvalue > SMALLEST_P, summary


@pytest.mark.statistical
@EACH
def test_draws_are_those_of_the_mixture(law: Law, data: Data) -> None:
    check_same_law(drawn(learned(law, data), 6000), expected_draws(expected(law, data)[0], 60_000, 3))


@pytest.mark.statistical
@EACH_LAW
def test_single_arms_are_drawn_from_their_posterior(law: Law) -> None:
    """An arm that is alone in its cluster is drawn in every round."""
    data = ((7,), (3.0,)), ((20,), (11.0,))
    found = drawn(learned(law, *data), 6000)
    rng = np.random.default_rng(5)
    for c, one in enumerate(expected(law, *data)):
        # The precision in common is that of no other arm: its prior is left of it.
        known = one.knowledge(rng, rng.choice(WIDTH, 60_000, p=one.precisions))
        apart = one.cluster.apart
        unrelated = rng.random((60_000, 1)) < apart / (apart + (1 - apart) * np.exp(one.any_precision))
        wanted = np.where(unrelated, one.alone(rng, 60_000), law.draw(rng, known.pulls, known.totals))
        assert stats.ks_2samp(found[:, c], wanted[:, 0]).pvalue > SMALLEST_P


@pytest.mark.statistical
@EACH_LAW
def test_draws_within_a_width_are_those_of_the_restricted_posterior(law: Law) -> None:
    policy, posterior, common = learned(law, FEW, widths=0.3), expected(law, FEW, width=0.3)[0], 4
    state, count = policy._live, 4000
    tries = (kindred._draw_within(state, 0, common, 1 / state.pulls.size) for _ in range(count))
    found = [state.draws.copy() for kept in tries if kept]
    rng, many = np.random.default_rng(8), 100_000
    own = rng.choice(WIDTH, many, p=posterior.precisions)
    shared = SHARED * np.exp(posterior.alike[common])
    alike = shared + (1 - SHARED) * np.exp(posterior.any_precision)
    kept = OF_WIDTH * np.exp(posterior.alike[WIDTH])
    kept /= kept + (1 - OF_WIDTH) * alike
    columns = np.where(rng.random(many) < shared / alike, common, own)
    columns = np.where(rng.random(many) < kept, WIDTH, columns)
    known = posterior.knowledge(rng, columns)
    means = law.draw(rng, known.pulls, known.totals)
    within = posterior.keeps_within(means, known.m)
    assert len(found) > count / 2
    check_same_law(np.array(found), known.show(means)[within])


def share_within(posterior: Posterior) -> tuple[float, float]:
    """P(within | rewards) and its standard error."""
    rng, many = np.random.default_rng(4), 100_000
    known = posterior.knowledge(rng, posterior.columns(rng, many), drawn=False)
    means = posterior.cluster.law.draw(rng, known.pulls, known.totals)
    share = posterior.keeps_within(means, known.m).mean()
    return float(share), math.sqrt(share * (1 - share) / many)


def beforehand(cluster: Cluster, many: int, seed: int) -> tuple[Any, Any]:
    """Draw means of arms before any reward, one column per draw, and tell which keep within the width."""
    law, rng, (b, x) = cluster.law, np.random.default_rng(seed), cluster.known
    columns = np.where(rng.random(many) < OF_WIDTH, WIDTH, rng.choice(WIDTH, many, p=PRIOR))
    m = law.draw(rng, np.full(many, b), np.full(many, b * x))
    m = np.clip(m, 1e-14, 1 - 1e-14) if law.bounded else m
    nu = np.choose(columns, [cluster.worth(m, v) for v in range(WIDTH + 1)])
    apart = rng.random((len(cluster.pulls), many)) < cluster.rate
    means = law.draw(rng, np.where(apart, b, nu), np.where(apart, b * x, nu * m))
    return means, np.ptp(means, axis=0) <= cluster.width + 2e-3 * np.sqrt(law.variance(m))


@cache
def few_within(law: Law) -> tuple[tuple[float, float], float]:
    """P(within | rewards) of the cluster of few pulls, with its standard error, and P(within) beforehand."""
    posterior = expected(law, FEW, width=0.3)[0]
    return share_within(posterior), float(beforehand(posterior.cluster, 200_000, 6)[1].mean())


@pytest.mark.statistical
@EACH_LAW
def test_means_within_a_width_are_counted_without_bias(law: Law) -> None:
    """The 32 draws of a count start from the pulls of the cluster; other pulls give other draws."""
    state = learned(law, FEW, widths=0.3)._live
    kin = state.kinship
    any_precision = float(logsumexp(kin.alike[0, :WIDTH], b=PRIOR))
    counts = []
    for due in range(500):
        kin.due[0] = due
        counts.append(learning._share_within(state, 0, any_precision))
    (share, error), before = few_within(law)
    apart = math.hypot(error, np.std(counts) / math.sqrt(500))
    assert abs(np.mean(counts) - share) < 4 * apart
    assert np.std(counts) == pytest.approx(math.sqrt(share * (1 - share) / 32), rel=0.15)
    assert abs(kin.within_before[0] - before) < 4 * math.sqrt(before / 4000)


def ways_of(kin: Any, c: int) -> Any:
    """The probabilities of unrelated arms, of means within the width, and of others, over all precisions."""
    common = np.diff(kin.common, prepend=0)
    unrelated = common @ kin.ways[c, :, tables.UNRELATED_BELOW]
    below = common @ kin.ways[c, :, tables.WITHIN_BELOW]
    return np.array([unrelated, below - unrelated, 1 - below])


@EACH_LAW
def test_ways_of_one_cluster_are_bayes_rule(law: Law) -> None:
    """Given the share of draws within the width, which is replaced by a long count."""
    state = learned(law, FEW, widths=0.3)._live
    kin, posterior = state.kinship, expected(law, FEW, width=0.3)[0]
    (kin.within[0], _), kin.within_before[0] = few_within(law)
    learning._weigh_ways(state, 0, float(logsumexp(kin.alike[0, :WIDTH], b=PRIOR)))
    learning._count_votes(kin)
    alike = math.exp(posterior.any_precision)
    kept = OF_WIDTH * math.exp(posterior.alike[WIDTH]) + (1 - OF_WIDTH) * alike
    fits = kin.within[0] / kin.within_before[0]
    apart = posterior.cluster.apart
    weights = np.array([apart, (1 - apart) * WITHIN * fits * kept, (1 - apart) * (1 - WITHIN) * alike])
    assert ways_of(kin, 0) == pytest.approx(weights / weights.sum(), abs=0.006)


@EACH_LAW
def test_the_restricted_likelihood_is_that_of_restricted_draws(law: Law) -> None:
    """P(rewards | within) as the mean likelihood of means that are drawn within the width beforehand."""
    data = ((3, 2), (1.0, 2.0))
    posterior = expected(law, data, width=0.3)[0]
    cluster = posterior.cluster
    means, within = beforehand(cluster, 500_000, 9)
    means = np.clip(means, 1e-16, 1 - 1e-16) if law.bounded else means
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.maximum(law.place(means[:, within]), -700.0)
    logs = sum(s * law.theta(u[j]) - t * law.A(u[j]) for j, (t, s) in enumerate(zip(*data, strict=True)))
    likely = np.exp(logs)
    mean, error = likely.mean(), likely.std() / math.sqrt(likely.size)
    # The likelihood of unrelated arms, times what the rewards say beyond it.
    kept = OF_WIDTH * np.exp(posterior.alike[WIDTH]) + (1 - OF_WIDTH) * np.exp(posterior.any_precision)
    fits = share_within(posterior)[0] / within.mean()
    assert abs(math.exp(cluster.unrelated()) * kept * fits - mean) < 4 * error + 0.005 * mean


def joint(posteriors: list[Posterior], fits: list[float]) -> tuple[Any, Any]:
    """P(common precision | rewards) and the ways of every cluster, by listing all cases."""
    limited = [math.isfinite(one.cluster.width) for one in posteriors]
    cases = []
    for v in range(WIDTH):
        of_clusters = []
        for one, fit, narrow in zip(posteriors, fits, limited, strict=True):
            alike = SHARED * np.exp(one.alike[v]) + (1 - SHARED) * np.exp(one.any_precision)
            kept = OF_WIDTH * np.exp(one.alike[WIDTH]) + (1 - OF_WIDTH) * alike if narrow else 0.0
            within, apart = WITHIN if narrow else 0.0, one.cluster.apart
            of_clusters.append([apart, (1 - apart) * within * fit * kept, (1 - apart) * (1 - within) * alike])
        cases.append(of_clusters)
    table = np.array(cases)
    sums = table.sum(axis=2)
    common = PRIOR * sums.prod(axis=1)
    common /= common.sum()
    return common, np.einsum("v,vcw->cw", common, table / sums[:, :, None])


@EACH_LAW
@pytest.mark.parametrize("width", [math.inf, 0.3])
def test_clusters_learn_their_precision_from_each_other(law: Law, width: float) -> None:
    other = ((30, 25, 60), (12.0, 11.0, 22.0))
    kin = learned(law, FEW, other, widths=width)._live.kinship
    common, ways = joint(expected(law, FEW, other, width=width), (kin.within / kin.within_before).tolist())
    assert np.diff(kin.common, prepend=0) == pytest.approx(common, abs=0.003)
    for c in range(2):
        assert ways_of(kin, c) == pytest.approx(ways[c], abs=0.006)
    # Votes are the log of that, without what the clusters have in common.
    votes = np.exp(kin.votes.sum(axis=0) - kin.votes.sum(axis=0).max()) * PRIOR
    assert votes / votes.sum() == pytest.approx(common, abs=0.003)
    alone = expected(law, FEW, width=width)[0].precisions
    assert np.abs(common - alone).max() > 0.02
