"""The width alarm: when it goes off, what it says, what it does, and that it survives saving."""

from __future__ import annotations

import json
import math
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import betaln

import clusterbandits as cb
from tests.policies.learner import refusal

CLUSTERS = cb.Clusters({"red": ["a", "b", "c"], "blue": ["d", "e"], "green": ["f"]}, widths=[0.1, 0.2, 0.0])
WATCHFUL = [name for name, kind in cb.POLICIES.items() if kind.uses_widths and name != "hier-ts"]


def after_rewards(policy: Any, red: int = 90) -> Any:
    """Tell a policy rewards that contradict the width of red, unless red's last arm pays as the others."""
    for arm, total in zip("abcdef", (10, 12, red, 50, 55, 30), strict=True):
        policy.tell(arm, total, pulls=100)
    return policy


def quietly(policy: Any, red: int = 90) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cb.WidthWarning)
        return after_rewards(policy, red)


def entropy(mean: float) -> float:
    return 0.0 if mean in {0.0, 1.0} else -mean * math.log(mean) - (1 - mean) * math.log(1 - mean)


def divergence(x: float, y: float) -> float:
    return float(cb.Bernoulli().divergence(x, y))


def test_what_it_says_is_the_formula() -> None:
    (alarm,) = quietly(cb.ClusUCB(CLUSTERS)).alarms()
    means = [0.10, 0.12, 0.90]

    def misfit(x: float) -> float:
        return sum(100 * divergence(mean, min(max(mean, x), x + 0.1)) for mean in means)

    evidence = minimize_scalar(misfit, bounds=(0.1, 0.8), method="bounded", options={"xatol": 1e-10}).fun
    penalties = [-(betaln(100 * m + 1, 100 - 100 * m + 1) + 100 * entropy(m)) for m in means]
    assert alarm.cluster == "red"
    assert alarm.width == 0.1
    assert alarm.evidence == pytest.approx(evidence, rel=1e-9)
    # Red and blue are watched; green has one arm.
    assert alarm.needed == pytest.approx(math.log(2 / 0.05) + sum(penalties), rel=1e-9)


def test_it_warns_once_in_one_sentence() -> None:
    with pytest.warns(cb.WidthWarning) as caught:
        policy = after_rewards(cb.ClusUCB(CLUSTERS))
    (warning,) = caught
    assert str(warning.message).startswith(f"{policy.alarms()[0]} ")
    assert "alarm='widen'" in str(warning.message)
    assert "cluster 'red' differ by more than its declared width 0.1" in str(warning.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(300):
            policy.tell(policy.ask(), 1)
    assert len(policy.alarms()) == 1


@pytest.mark.parametrize("name", WATCHFUL)
def test_every_policy_with_widths_watches(name: str) -> None:
    assert [one.cluster for one in quietly(cb.policy(name, CLUSTERS)).alarms()] == ["red"]
    assert quietly(cb.policy(name, CLUSTERS), red=11).alarms() == ()
    assert quietly(cb.policy(name, CLUSTERS, alarm="ignore")).alarms() == ()


def test_hier_ts_watches_only_widths_it_respects() -> None:
    assert quietly(cb.HierTS(CLUSTERS)).alarms() == ()
    assert len(quietly(cb.HierTS(CLUSTERS, widths="respected")).alarms()) == 1


def test_given_distances_are_not_watched() -> None:
    distances = np.full((6, 6), 0.1) - 0.1 * np.eye(6)
    assert quietly(cb.CKLUCB(CLUSTERS, distances=distances)).alarms() == ()


def test_policies_without_widths_have_no_alarms() -> None:
    assert quietly(cb.KLUCB(CLUSTERS)).alarms() == ()


@pytest.mark.parametrize("name", ["clus-ucb", "ckl-ucb", "clus-opt", "imed-clus", "imed-opt", "ossb"])
def test_widening_trusts_the_cluster_no_more(name: str) -> None:
    """From then on, the policy chooses like one without this width."""
    widened = quietly(cb.policy(name, CLUSTERS, alarm="widen"))
    wide = cb.Clusters(CLUSTERS.partition, widths=[math.inf, 0.2, 0.0])
    never = quietly(cb.policy(name, wide, alarm="ignore"))
    rng = np.random.default_rng(3)
    for _ in range(300):
        arm = widened.ask()
        assert never.ask() == arm
        reward = float(rng.random() < 0.5)
        widened.tell(arm, reward)
        never.tell(arm, reward)


@pytest.mark.parametrize("name", WATCHFUL)
@pytest.mark.parametrize("response", ["warn", "widen"])
def test_alarms_survive_saving(name: str, response: str) -> None:
    policy = quietly(cb.policy(name, CLUSTERS, alarm=response))
    again: Any = cb.Policy.from_json(policy.to_json())
    assert again.alarms() == policy.alarms()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(50):
            arm = policy.ask()
            assert again.ask() == arm
            policy.tell(arm, 1)
            again.tell(arm, 1)
    assert again.to_json() == policy.to_json()


def test_alarms_of_clusters_that_stay_are_kept() -> None:
    policy = quietly(cb.ClusUCB(CLUSTERS, alarm="widen"))
    before = policy.alarms()
    policy.add_arm("g", "blue")
    policy.remove_arm("f")
    assert policy.alarms() == before


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("look", 0),
        ("look", "soon"),
        ("alarms", 5),
        ("alarms", [{}]),
        ("alarms", [{"cluster": "pink", "round": 3, "width": 0.1, "evidence": 9.0, "needed": 8.0}]),
        ("alarms", [{"cluster": "red", "round": 0, "width": 0.1, "evidence": 9.0, "needed": 8.0}]),
        ("alarms", [{"cluster": "red", "round": 3, "width": 0.1, "evidence": None, "needed": 8.0}]),
    ],
)
def test_damaged_alarms_are_refused(key: str, value: object) -> None:
    document = json.loads(cb.ClusUCB(CLUSTERS).to_json())
    document["watched"][key] = value
    assert refusal(lambda: cb.Policy.from_json(json.dumps(document)))


def test_rounds_that_were_cancelled_put_off_no_look() -> None:
    """Told while 10,000 rewards are awaited, which then never come: the alarm must not wait for them."""
    policy = cb.ClusUCB(cb.Clusters([2], widths=0.1))
    policy.ask(10_000)
    policy.tell(0, 0)
    for arm, count in policy.awaited.items():
        policy.cancel(arm, count)
    assert policy.rounds == 1
    assert json.loads(policy.to_json())["watched"]["look"] == 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cb.WidthWarning)
        for _ in range(200):
            policy.tell(0, 0)
            policy.tell(1, 1)
    (one,) = policy.alarms()
    assert one.round < 100


def test_an_alarm_is_dated_by_rounds_that_happened() -> None:
    policy = cb.ClusUCB(cb.Clusters([2], widths=0.1))
    policy.ask(1000)
    policy.tell(0, 0, pulls=100)
    with pytest.warns(cb.WidthWarning):
        policy.tell(1, 600, pulls=600)
    assert policy.alarms()[0].round == 1101
    policy.cancel(0, 400)
    assert policy.rounds == 700
    assert policy.alarms()[0].round == 701
    assert cb.Policy.from_json(policy.to_json()).alarms() == policy.alarms()


def test_an_alarm_before_the_first_choice() -> None:
    """No arm is kept yet when a width is widened: none is saved, nor asked for after rounds are cancelled."""
    policy = cb.ClusUCB(cb.Clusters([2, 1], widths=0.1), alarm="widen", refresh=50)
    policy.ask(300)
    policy.tell(0, 0, pulls=100)
    policy.tell(2, 0, pulls=90)
    with pytest.warns(cb.WidthWarning):
        policy.tell(1, 200, pulls=200)
    assert policy.awaited == {2: 10}
    twin = cb.Policy.from_json(policy.to_json())
    assert twin.to_json() == policy.to_json()
    for one in (policy, twin):
        one.cancel(2, 5)
        assert one.ask() == 1


def test_clusters_are_watched_from_their_second_arm_on() -> None:
    policy = cb.ClusUCB(cb.Clusters({"red": ["a"], "blue": ["b"]}, widths=0.1))
    assert json.loads(policy.to_json())["watched"]["look"] is None
    policy.tell("a", 0, pulls=100)
    policy.add_arm("c", "red")
    with pytest.warns(cb.WidthWarning):
        policy.tell("c", 100, pulls=100)
    policy.remove_arm("c")
    assert json.loads(policy.to_json())["watched"]["look"] is None
    again = cb.Policy.from_json(policy.to_json())
    assert again.to_json() == policy.to_json()
    assert [one.cluster for one in again.alarms()] == ["red"]


@pytest.mark.parametrize("total", [5e-324, 1e-323, 1e-310, 1e-300])
def test_the_smallest_rewards_raise_no_alarm(total: float) -> None:
    """Half of the least float is 0: its logarithm made what is needed infinitely small."""
    policy = cb.ClusUCB(cb.Clusters([2], widths=1e-12))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy.tell(0, total, pulls=2)
        policy.tell(1, 0.29, pulls=2)
    assert policy.alarms() == ()


@pytest.mark.parametrize("pulls", [10**6, 10**14])
def test_what_is_needed_is_above_0_after_any_number_of_pulls(pulls: int) -> None:
    policy = cb.ClusUCB(cb.Clusters([2], widths=0.1), alarm_level=1)
    policy.tell(0, pulls // 3, pulls=pulls)
    with pytest.warns(cb.WidthWarning):
        policy.tell(1, pulls, pulls=pulls)
    assert 0.0 <= policy.alarms()[0].needed < 100.0


def test_evidence_beyond_floats_is_saved() -> None:
    policy = cb.ClusUCB(cb.Clusters([2], widths=0.1), family="gaussian:sigma=1e-50")
    policy.tell(0, 0, pulls=10**10)
    with pytest.warns(cb.WidthWarning):
        policy.tell(1, 1e110, pulls=10**10)
    assert policy.alarms()[0].evidence == math.inf
    assert cb.Policy.from_json(policy.to_json()).to_json() == policy.to_json()


@pytest.mark.parametrize("name", ["kl-ucb", "clus-ucb", "ossb", "ucb1"])
def test_the_last_rounds_there_are(name: str) -> None:
    """The round after them is the number that stands for never."""
    policy = cb.policy(name, cb.Clusters([2], widths=0.1))
    policy.tell(0, 1)
    policy.tell(1, 10**14, pulls=10**15 - 3)
    for _ in range(2):
        assert cb.Policy.from_json(policy.to_json()).to_json() == policy.to_json()
        policy.tell(policy.ask(), 1)
    assert policy.rounds == 10**15
    assert cb.Policy.from_json(policy.to_json()).to_json() == policy.to_json()
    refusal(policy.ask)


@pytest.mark.parametrize(("setting", "value"), [("alarm", "shout"), ("alarm_level", 0), ("alarm_level", 2)])
def test_bad_settings_are_refused(setting: str, value: Any) -> None:
    more = {setting: value}
    assert f"ClusUCB: {setting} must be" in refusal(lambda: cb.ClusUCB(CLUSTERS, **more))


def test_simulations_tell_in_which_runs() -> None:
    instance = cb.Instance([[0.1, 0.2, 0.8], [0.5]])
    told_widths = instance.clusters([0.2, 0.1])
    result = cb.simulate(
        instance, ["kl-ucb", "clus-ucb:refresh=50"], 2000, runs=12, seed=1, clusters=told_widths
    )
    alarms = result.alarms("clus-ucb:refresh=50")
    assert alarms.shape == (12, 2)
    assert (alarms[:, 0] > 0).sum() >= 6
    assert not alarms[:, 1].any()
    assert not result.alarms("kl-ucb").any()
    assert f"contradict a declared width in {(alarms[:, 0] > 0).sum()} of 12 runs" in str(result)
    again = cb.simulate(
        instance, "clus-ucb:refresh=50", 2000, runs=12, seed=1, clusters=told_widths, stepwise=True
    )
    assert again.alarms(0).shape == alarms.shape
