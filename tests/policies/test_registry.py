"""Policies by name: the text says all, keywords win, what is unknown is refused."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given, strategies as st

import clusterbandits as cb
from tests.policies.learner import CLUSTERS, refusal

NAMES = {"Clusters": cb.Clusters, "KLUCB": cb.KLUCB, "ClusUCB": cb.ClusUCB}
CLUS_UCB = {"a": 0.0, "refresh": 1, "leader": "clustered", "hedge": 0.0, "alarm": "warn", "alarm_level": 0.05}
CLASSICAL = ["ucb1", "moss", "epsilon-greedy", "kl-ucb", "kl-ucb++", "imed", "thompson"]
CLUSTERED = ["tlp-mean", "tlp-max", "tsc", "ucbc", "ckl-ucb", "ossb", "clus-ucb"]
BEYOND = ["clus-ucb-hedged", "clus-opt", "imed-clus", "imed-opt", "clus-ts", "hier-ts", "kindred"]


def test_settings_behind_a_colon() -> None:
    policy = cb.policy("clus-ucb:a=5,refresh=50", CLUSTERS)
    assert type(policy) is cb.ClusUCB
    assert policy.clusters is CLUSTERS
    assert policy.settings == CLUS_UCB | {"a": 5.0, "refresh": 50}
    assert (type(policy.settings["a"]), type(policy.settings["refresh"])) == (float, int)
    assert policy.family == cb.Bernoulli()
    assert policy.to_json() == cb.ClusUCB(CLUSTERS, a=5, refresh=50).to_json()


@pytest.mark.parametrize(
    ("spec", "kind", "settings"),
    [
        ("kl-ucb", cb.KLUCB, {"a": 0.0, "refresh": 1}),
        ("clus-ucb", cb.ClusUCB, CLUS_UCB),
        ("kl-ucb:a=0", cb.KLUCB, {"a": 0.0, "refresh": 1}),
        ("kl-ucb:refresh=1e3", cb.KLUCB, {"a": 0.0, "refresh": 1000}),
        ("clus-ucb: leader = plain , a = 0.5", cb.ClusUCB, CLUS_UCB | {"a": 0.5, "leader": "plain"}),
    ],
)
def test_names(spec: str, kind: type[cb.Policy], settings: dict[str, object]) -> None:
    policy = cb.policy(spec, CLUSTERS)
    assert (type(policy), policy.settings) == (kind, settings)


def test_keywords_win() -> None:
    policy = cb.policy("clus-ucb:a=5,refresh=50", CLUSTERS, a=1, leader="plain")
    assert policy.settings == CLUS_UCB | {"a": 1.0, "refresh": 50, "leader": "plain"}


def test_family_and_label() -> None:
    policy = cb.policy("kl-ucb", CLUSTERS, family="gaussian:sigma=2", label="mine")
    assert (policy.family, policy.label, policy.spec) == (cb.Gaussian(sigma=2), "mine", "kl-ucb")
    assert cb.policy("kl-ucb:a=1", CLUSTERS).label == "kl-ucb:a=1.0"


@given(
    st.sampled_from(["kl-ucb", "clus-ucb"]),
    st.floats(0, 1e6),
    st.integers(1, 10**9),
    st.sampled_from(["plain", "clustered"]),
)
def test_the_spec_makes_the_same_policy(name: str, a: float, refresh: int, leader: str) -> None:
    more = {"leader": leader} if name == "clus-ucb" else {}
    policy = cb.policy(name, CLUSTERS, a=a, refresh=refresh, **more)
    again = cb.policy(policy.spec, CLUSTERS)
    assert again.settings == policy.settings == dict(policy.defaults) | {"a": a, "refresh": refresh, **more}
    assert (again.spec, again.to_json()) == (policy.spec, policy.to_json())
    assert eval(repr(policy), NAMES).to_json() == policy.to_json()


@pytest.mark.parametrize(
    "family",
    ["bernoulli", "gaussian:sigma=0.1", "poisson", "exponential:shape=3", "negative-binomial:shape=3"],
)
def test_repr_makes_the_same_policy(family: str) -> None:
    clusters = cb.Clusters([2, 1], widths=[0.5, math.inf])
    policy = cb.ClusUCB(clusters, refresh=5, family=family, label="it's")
    assert eval(repr(policy), {**NAMES, "inf": math.inf}).to_json() == policy.to_json()


def test_every_policy_says_what_it_is() -> None:
    assert {*CLASSICAL, *CLUSTERED, *BEYOND} <= set(cb.POLICIES)
    for name, kind in cb.POLICIES.items():
        policy = cb.policy(name, CLUSTERS)
        assert type(policy) is kind
        assert (policy.name, policy.spec, policy.label) == (name, name, name)
        assert policy.settings == kind.defaults
        assert kind.reference
        assert kind.guarantee
    assert [name for name in CLASSICAL if cb.POLICIES[name].uses_widths] == []
    assert [name for name in BEYOND if not cb.POLICIES[name].uses_widths] == []
    assert [name for name, kind in cb.POLICIES.items() if kind.needs_horizon] == ["kl-ucb++"]
    drawn = ["epsilon-greedy", "thompson", "tsc", "clus-ts", "hier-ts", "kindred"]
    assert [name for name, kind in cb.POLICIES.items() if kind.randomised] == drawn


@pytest.mark.parametrize(
    "spec", ["ucb2", "", "KL-UCB", " kl-ucb", ":a=5", "a=5", None, 5, ["kl-ucb"], {}, cb.KLUCB]
)
def test_unknown_names_are_refused(spec: Any) -> None:
    sentence = refusal(lambda: cb.policy(spec, CLUSTERS))
    assert sentence.startswith("Unknown policy ")
    assert "Did you mean '" in sentence or "Available: ucb1, moss, epsilon-greedy, " in sentence


@pytest.mark.parametrize(
    "written",
    [
        "",
        ",",
        "a",
        "a=",
        "=5",
        "a=1,",
        "a=1,a=2",
        "b=1",
        "leader=plain",
        "A=1",
        "label=x",
        "family=poisson",
        "a:1",
    ],
)
def test_unknown_settings_in_the_text_are_refused(written: str) -> None:
    sentence = refusal(lambda: cb.policy(f"kl-ucb:{written}", CLUSTERS))
    assert re.match("Unknown setting '.*' of policy kl-ucb|KLUCB: (a|refresh) must be given", sentence)


def test_unknown_settings_as_keywords_are_refused() -> None:
    assert "Unknown setting 'leader' of policy kl-ucb" in refusal(
        lambda: cb.policy("kl-ucb", CLUSTERS, leader="plain")
    )
    assert "Unknown setting 'b' of policy clus-ucb" in refusal(
        lambda: cb.policy("clus-ucb:a=5", CLUSTERS, b=1)
    )


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *(("a", value) for value in ["five", "-1", "nan", "inf", "1e7", "1=2"]),
        *(("refresh", value) for value in ["0", "-1", "1.5", "inf", "nan", "1e10", "often"]),
        *(("leader", value) for value in ["Plain", "5", "none", "nan"]),
    ],
)
def test_bad_values_are_refused(setting: str, value: str) -> None:
    sentence = refusal(lambda: cb.policy(f"clus-ucb:{setting}={value}", CLUSTERS))
    assert f"ClusUCB: {setting} must be " in sentence


BAD_VALUES: dict[str, list[Any]] = {
    "a": [-1, math.nan, math.inf, None, True, "5", [1]],
    "refresh": [0, 1.5, None, True, "5", 10**10],
    "leader": ["Plain", None, 5, ["plain"]],
    "label": ["", " ", 5, ["x"]],
    "family": ["cauchy", None, 5, "gaussian:sigma=0", []],
}


@pytest.mark.parametrize(
    ("setting", "value"), [(key, value) for key in BAD_VALUES for value in BAD_VALUES[key]]
)
def test_bad_keywords_are_refused(setting: str, value: Any) -> None:
    more: dict[str, Any] = {setting: value}
    by_name = refusal(lambda: cb.policy("clus-ucb", CLUSTERS, **more))
    assert by_name == refusal(lambda: cb.ClusUCB(CLUSTERS, **more))


@pytest.mark.parametrize("clusters", [None, [2, 1], "red", {"red": ["a"]}, CLUSTERS.partition])
def test_clusters_must_be_clusters(clusters: Any) -> None:
    assert "KLUCB: clusters must be a Clusters object," in refusal(lambda: cb.policy("kl-ucb", clusters))


def test_seeds_keep_their_digits() -> None:
    policy = cb.policy("thompson", CLUSTERS, seed=2**60 + 1)
    assert cb.policy(policy.spec, CLUSTERS).settings["seed"] == 2**60 + 1


def test_distances_are_given_from_python() -> None:
    assert "passed from Python as a list of lists, but got" in refusal(
        lambda: cb.policy("ckl-ucb:distances=0.1", CLUSTERS)
    )
    alone: Any = cb.CKLUCB(cb.Clusters([1], widths=1), distances=[[0]])
    before = alone.to_json()
    refusal(lambda: alone.remove_arm(0))
    assert alone.to_json() == before


def test_a_gap_whose_square_is_0_explores_throughout() -> None:
    policy = cb.EpsilonGreedy(cb.Clusters([2], widths=1), gap=1e-300)
    policy.tell(0, 10**6, pulls=10**6)
    policy.tell(1, 0)
    assert set(policy.ask(50)) == {0, 1}
