"""Why an arm is asked for: indices, intervals and opponents, against the plain reference."""

from __future__ import annotations

import json
import math
from random import Random
from typing import Any

import pytest
from rich.cells import cell_len

import clusterbandits as cb
from clusterbandits.serial import to_json
from tests.exactness.reference import FAMILIES
from tests.policies.learner import CLUSTERS, EACH_FAMILY, EACH_KIND, KINDS, after_rewards, reference

pytestmark = pytest.mark.filterwarnings("ignore::clusterbandits.WidthWarning")

INF = math.inf
SETTINGS: list[dict[str, Any]] = [{}, {"a": 5}]


def a_state(kind: str, family: str, seed: int, **settings: Any) -> Any:
    """A policy whose arms have different sums, so that its indices are not tied."""
    policy = KINDS[kind](CLUSTERS, family=family, **settings)
    chance = Random(seed)
    for arm in CLUSTERS.arms:
        pulls = chance.randint(3, 200)
        policy.tell(arm, chance.randint(1, pulls - 1), pulls=pulls)
    return policy


def statistics(policy: Any) -> tuple[list[int], list[float], int]:
    return list(policy.pulls.values()), list(policy.totals.values()), policy.rounds + 1


@EACH_KIND
@EACH_FAMILY
@pytest.mark.parametrize("seed", range(5))
def test_indices_and_what_is_asked_next(kind: str, family: str, seed: int) -> None:
    for settings in SETTINGS:
        policy = a_state(kind, family, seed, **settings)
        rules, (pulls, totals, n) = reference(policy), statistics(policy)
        explained = policy.explain()
        assert (explained.round, explained.threshold) == (n, pytest.approx(rules.threshold(n), rel=1e-14))
        indices = [view.index for view in explained.arms]
        assert indices == pytest.approx(rules.indices(pulls, totals, n), rel=1e-11)
        asked = policy.ask()
        assert asked == CLUSTERS.arms[rules.choose(pulls, totals, n)]
        close = [view.arm for view in explained.arms if view.index > max(indices) * (1 - 1e-12)]
        assert asked in close
        assert len(close) == 1 or kind != "kl-ucb"


@EACH_KIND
@EACH_FAMILY
def test_what_every_arm_was_told(kind: str, family: str) -> None:
    policy = a_state(kind, family, seed=1)
    views = policy.explain().arms
    assert [view.arm for view in views] == list(CLUSTERS.arms)
    assert [view.cluster for view in views] == ["red", "blue", "red", "green", "blue", "red"]
    assert {view.arm: view.pulls for view in views} == policy.pulls
    for view in views:
        assert view.mean == policy.totals[view.arm] / view.pulls


@EACH_KIND
@EACH_FAMILY
@pytest.mark.parametrize("seed", range(3))
def test_the_arms_own_rewards_bracket_its_mean(kind: str, family: str, seed: int) -> None:
    policy = a_state(kind, family, seed)
    explained = policy.explain()
    alone = cb.KLUCB(CLUSTERS, family=family)
    for arm, pulls in policy.pulls.items():
        alone.tell(arm, policy.totals[arm], pulls=pulls)
    highest = reference(alone).indices(*statistics(alone))
    for view, high in zip(explained.arms, highest, strict=True):
        assert view.low < view.mean < view.high
        assert view.high == pytest.approx(high, rel=1e-11)
        against = view.pulls * policy.family.divergence(view.mean, view.low)
        assert against == pytest.approx(explained.threshold, rel=1e-9)
        assert view.index <= view.high * (1 + 1e-14)


@pytest.mark.parametrize(("total", "pulls"), [(0, 1), (0, 50), (1, 1), (50, 50)])
def test_intervals_at_the_ends(total: int, pulls: int) -> None:
    policy: Any = cb.KLUCB(cb.Clusters([["a"]], widths=0.1))
    policy.tell("a", total, pulls=pulls)
    (view,) = policy.explain().arms
    assert 0 <= view.low <= view.mean <= view.high <= 1
    assert (view.low, view.high)[total // pulls] == total // pulls


def expected_opponents(policy: Any, indices: list[float]) -> list[dict[Any, float]]:
    """Return for each arm the evidence of each other arm of its cluster, as a share of the threshold."""
    rules, (pulls, totals, n) = reference(policy), statistics(policy)
    means = [total / count for total, count in zip(totals, pulls, strict=True)]
    leader = min(range(len(means)), key=lambda k: (-means[k], pulls[k], k))
    arms = policy.clusters.arms
    shares: list[dict[Any, float]] = [{} for _ in arms]
    for group, width in zip(rules.clusters, rules.widths or [], strict=True):
        if rules.leader == "plain" and leader in group:
            continue
        for k in group:
            for j in group:
                lowered = indices[k] - width
                if j != k and lowered > means[j]:
                    evidence = pulls[j] * FAMILIES[rules.family](means[j], lowered)[0]
                    shares[k][arms[j]] = evidence / rules.threshold(n)
    return shares


@pytest.mark.parametrize("kind", ["clus-ucb", "plain leader"])
@EACH_FAMILY
def test_opponents(kind: str, family: str) -> None:
    opposed = 0
    for seed in range(12):
        policy = a_state(kind, family, seed)
        indices = reference(policy).indices(*statistics(policy))
        views = policy.explain().arms
        for view, shares in zip(views, expected_opponents(policy, indices), strict=True):
            assert view.held_down_by == pytest.approx(shares, rel=1e-6, abs=1e-12)
            listed = list(view.held_down_by.values())
            assert listed == sorted(listed, reverse=True)
            assert all(0 < share <= 1 + 1e-9 for share in listed)
            assert bool(listed) == (view.index < view.high * (1 - 1e-12))
            opposed += len(listed)
    assert opposed > 15


@EACH_FAMILY
def test_the_shares_and_the_own_evidence_are_the_threshold(family: str) -> None:
    for seed in range(5):
        policy = a_state("clus-ucb", family, seed)
        explained = policy.explain()
        for view in explained.arms:
            own = view.pulls * policy.family.divergence_above(view.mean, view.index)
            whole = own / explained.threshold + sum(view.held_down_by.values())
            assert whole == pytest.approx(1, rel=1e-8)


def test_kl_ucb_has_no_opponents() -> None:
    for policy in (a_state("kl-ucb", "bernoulli", 1), cb.ClusUCB(cb.Clusters([3], widths=INF))):
        for arm in policy.clusters.arms:
            policy.tell(arm, 1, pulls=10)
        assert [view.held_down_by for view in policy.explain().arms] == [{}] * len(policy.clusters.arms)


def test_by_hand() -> None:
    """With width 0 two Gaussian arms are one: (q - 1)² + 2 (q - 1)² = log 7, of which b argues 2/3."""
    policy = cb.ClusUCB(cb.Clusters([["a", "b"]], widths=0), family="gaussian")
    policy.tell("a", 2, pulls=2)
    policy.tell("b", 4, pulls=4)
    explained = policy.explain()
    a, b = explained.arms
    assert explained.round == 7
    assert explained.threshold == pytest.approx(math.log(7), rel=1e-15)
    assert (a.index, b.index) == pytest.approx([1 + math.sqrt(math.log(7) / 3)] * 2, rel=1e-14)
    assert a.held_down_by == pytest.approx({"b": 2 / 3})
    assert b.held_down_by == pytest.approx({"a": 1 / 3})
    assert (a.low, a.high) == pytest.approx((1 - math.sqrt(math.log(7)), 1 + math.sqrt(math.log(7))))


@EACH_KIND
def test_arms_never_pulled(kind: str) -> None:
    policy = KINDS[kind](CLUSTERS)
    for view in policy.explain().arms:
        assert (view.pulls, view.mean, view.low, view.high, view.held_down_by) == (0, None, None, None, {})
        assert view.index == INF
    policy.tell("b", 1, pulls=2)
    views = {view.arm: view for view in policy.explain().arms}
    assert (views["b"].mean, views["b"].index, views["b"].held_down_by) == (0.5, None, {})
    assert views["b"].low < 0.5 < views["b"].high
    assert [view.index for view in views.values()].count(INF) == 5
    assert "∞" in str(policy.explain())


@EACH_KIND
def test_only_what_was_told_counts(kind: str) -> None:
    policy = a_state(kind, "bernoulli", seed=2)
    pulls, totals, n = statistics(policy)
    policy.ask(9)
    explained = policy.explain()
    assert explained.round == n + 9
    assert [view.pulls for view in explained.arms] == pulls
    expected = reference(policy).indices(pulls, totals, n + 9)
    assert [view.index for view in explained.arms] == pytest.approx(expected, rel=1e-11)


@EACH_KIND
@pytest.mark.parametrize("refresh", [1, 7])
def test_explaining_changes_nothing(kind: str, refresh: int) -> None:
    policy, twin = after_rewards(kind, 5, refresh=refresh), after_rewards(kind, 5, refresh=refresh)
    for _ in range(60):
        before = policy.to_json()
        assert policy.explain() == policy.explain()
        assert policy.to_json() == before
        arm = policy.ask()
        assert arm == twin.ask()
        for one in (policy, twin):
            one.tell(arm, one.rounds % 3 == 0)


@EACH_KIND
@EACH_FAMILY
def test_it_prints_within_eighty_columns(kind: str, family: str) -> None:
    labels = [
        "an arm with a name as long as a sentence, and a comma",
        "b",
        "条件付き" * 9,
        10**30,
        "",
        "x\ny",
    ]
    clusters = cb.Clusters({"a cluster with a name as long as a sentence": labels}, widths=0)
    policy = KINDS[kind](clusters, family=family)
    for number, arm in enumerate(labels):
        policy.tell(arm, 10 ** (number % 3), pulls=10**4 + number)
        for line in str(policy.explain()).splitlines():
            assert cell_len(line) <= 80
    assert len(str(policy.explain()).splitlines()) == 1 + 2 + len(labels)


def test_the_largest_numbers_fit_eighty_columns() -> None:
    policy = cb.ClusUCB(cb.Clusters([["first arm", "second arm"]], widths=0.1), family="gaussian")
    policy.tell("first arm", -1.2345e-60, pulls=4 * 10**14)
    policy.tell("second arm", -1.2345e110, pulls=4 * 10**14)
    for line in str(policy.explain()).splitlines():
        assert cell_len(line) <= 80


def test_the_table() -> None:
    policy = a_state("clus-ucb", "bernoulli", 1)
    lines = str(policy.explain()).splitlines()
    assert lines[0].startswith(f"Round {policy.rounds + 1}: f(n) = ")
    assert " ".join(lines[1].split()) == "arm cluster pulls mean low high index limited by"
    for arm, line in zip(CLUSTERS.arms, lines[3:], strict=True):
        assert line.split()[0] == arm
        assert line.split()[2] == str(policy.pulls[arm])


@EACH_KIND
@EACH_FAMILY
def test_plain_data(kind: str, family: str) -> None:
    for policy in (KINDS[kind](CLUSTERS, family=family), a_state(kind, family, 3)):
        explained = policy.explain()
        data = explained.to_dict()
        assert set(data) == {"round", "threshold", "arms"}
        assert [set(row) for row in data["arms"]] == [
            {"arm", "cluster", "pulls", "mean", "low", "high", "index", "held_down_by"}
        ] * 6
        again = json.loads(to_json(data), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
        for row, view in zip(again["arms"], explained.arms, strict=True):
            index = "inf" if view.index == INF else view.index
            assert (row["arm"], row["pulls"], row["index"]) == (view.arm, view.pulls, index)
            assert row["held_down_by"] == view.held_down_by


def test_notebook_view_escapes_labels() -> None:
    policy = cb.ClusUCB(cb.Clusters({"<i>": ["<b>", "&"]}, widths=0))
    policy.tell("<b>", 1, pulls=9)
    policy.tell("&", 1, pulls=9)
    page = policy.explain()._repr_html_()
    assert page.startswith('<div class="tex2jax_ignore mathjax_ignore"><table>')
    assert page.count("<tr>") == 3
    assert "<b>" not in page
    assert "<i>" not in page
    assert "&lt;b&gt; " in page
    assert "Round 19: f(n) = 2.944" in page


@pytest.mark.parametrize(
    "family", ["exponential:shape=0.02", "exponential:shape=0.002", "exponential:shape=0.0001"]
)
def test_indices_beyond_the_largest_mean(family: str) -> None:
    policy: Any = cb.ClusUCB(CLUSTERS, family=family)
    for arm in CLUSTERS.arms:
        policy.tell(arm, 2.0, pulls=1)
    views = policy.explain().arms
    assert all(view.index > 1e10 for view in views)
    to_json(policy.explain().to_dict())
    assert len(str(policy.explain()).splitlines()) == 9


def test_means_at_the_edge_of_floats() -> None:
    """Ten rewards of 1e100 have a mean a little above it in floats."""
    policy: Any = cb.KLUCB(cb.Clusters([["a"]], widths=0.1), family="gaussian")
    for _ in range(10):
        policy.tell("a", 1e100)
    (view,) = policy.explain().arms
    assert view.low <= view.mean <= view.high


def test_two_hundred_other_arms() -> None:
    policy: Any = cb.ClusUCB(cb.Clusters([200], widths=0.1))
    chance = Random(1)
    for arm in range(200):
        policy.tell(arm, chance.randint(0, 50), pulls=50 + arm)
    views = policy.explain().arms
    expected = expected_opponents(policy, [view.index for view in views])
    for view, shares in zip(views, expected, strict=True):
        assert view.held_down_by == pytest.approx(shares, rel=1e-6, abs=1e-12)
    assert max(len(view.held_down_by) for view in views) > 5
