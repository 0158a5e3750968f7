"""Online use: rewards in order, late, in bulk or cancelled; arms that are added and removed."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import clusterbandits as cb
from tests.policies.learner import (
    CLUSTERS,
    EACH_FAMILY,
    EACH_KIND,
    FAMILIES,
    KINDS,
    MEANS,
    Walk,
    after_rewards,
    draw,
    reference,
    refusal,
    refused_unchanged,
)

pytestmark = pytest.mark.filterwarnings("ignore::clusterbandits.WidthWarning")

INF = math.inf
EACH_REFRESH = pytest.mark.parametrize("refresh", [1, 7])
EACH_SEED = pytest.mark.parametrize("seed", range(4))


def new_tape(family: str, rounds: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return np.array([cb.as_family(family).draw(mean, rounds, rng) for mean in MEANS])


def asked_on(policy: Any, tape: Any, rounds: int) -> list[int]:
    """Return the arms that a policy chooses when rewards of a tape arrive immediately."""
    place = {arm: number for number, arm in enumerate(policy.clusters.arms)}
    numbers = []
    for _ in range(rounds):
        arm = policy.ask()
        numbers.append(place[arm])
        policy.tell(arm, tape[place[arm]][policy.pulls[arm]])
    return numbers


@EACH_KIND
@EACH_REFRESH
@EACH_FAMILY
def test_asking_and_telling_is_playing(kind: str, refresh: int, family: str) -> None:
    tape = new_tape(family, 400, seed=len(kind) + refresh)
    policy = KINDS[kind](CLUSTERS, refresh=refresh, family=family)
    numbers = asked_on(policy, tape, 400)
    assert numbers == cb.play(policy, tape).tolist()
    assert numbers[:150] == reference(policy).play(tape.tolist(), 150)
    assert len(set(numbers[6:])) > 2


@EACH_KIND
def test_asking_and_telling_is_playing_with_more_exploration(kind: str) -> None:
    tape = new_tape("bernoulli", 300, seed=1)
    policy = KINDS[kind](CLUSTERS, a=5, refresh=3)
    assert asked_on(policy, tape, 300) == cb.play(policy, tape).tolist()


@EACH_KIND
@EACH_REFRESH
def test_trials_leave_what_was_told_alone(kind: str, refresh: int) -> None:
    policy = after_rewards(kind, seed=3, refresh=refresh)
    policy.ask(2)
    fresh, twin = KINDS[kind](CLUSTERS, refresh=refresh), cb.Policy.from_json(policy.to_json())
    before = policy.to_json()
    tape = new_tape("bernoulli", 200, seed=2)
    assert cb.play(policy, tape).tolist() == cb.play(fresh, tape).tolist()
    instance = cb.Instance(MEANS, labels=CLUSTERS.partition.cluster_names, arms=CLUSTERS.arms)
    on_trial = [cb.simulate(instance, one, horizon=300, runs=2, workers=1) for one in (policy, fresh)]
    assert on_trial[0].mean(policy.label).tolist() == on_trial[1].mean(policy.label).tolist()
    assert policy.to_json() == before
    assert fresh.rounds == 0
    assert [policy.ask() for _ in range(20)] == [twin.ask() for _ in range(20)]


@EACH_KIND
@EACH_SEED
def test_late_rewards_leave_nothing_behind(kind: str, seed: int) -> None:
    """The order and time of rewards do not change the final state of a policy."""
    late, in_order = KINDS[kind](CLUSTERS), KINDS[kind](CLUSTERS)
    chance, rng = Random(seed), np.random.default_rng(seed)
    pending: list[tuple[Any, float]] = []
    story: list[tuple[Any, float]] = []
    for _ in range(120):
        if chance.random() < 0.6:
            for arm in late.ask(chance.randint(1, 3)):
                pending.append((arm, draw(late, arm, rng)))
                story.append(pending[-1])
        elif pending:
            late.tell(*pending.pop(chance.randrange(len(pending))))
        assert late.rounds == len(story)
        assert late.awaited == Counter(arm for arm, _ in pending)
        assert sum(late.pulls.values()) == len(story) - len(pending)
    chance.shuffle(pending)
    for arm, reward in pending:
        late.tell(arm, reward)
    for arm, reward in story:
        in_order.tell(arm, reward)
    assert (late.awaited, late.rounds) == ({}, len(story))
    assert (late.pulls, late.totals, late.rounds) == (in_order.pulls, in_order.totals, in_order.rounds)
    assert late.ask() == in_order.ask()
    assert late.ask(30) == in_order.ask(30)


@EACH_KIND
@EACH_FAMILY
@EACH_REFRESH
def test_awaited_pulls_count_as_if_they_had_paid_the_mean(kind: str, family: str, refresh: int) -> None:
    walk = Walk(KINDS[kind](CLUSTERS, refresh=refresh, family=family), seed=7)
    for _ in range(100):
        walk.step("ask", "ask", "ask_many", "tell", "tell", "tell", "tell", "tell_unasked")
    assert sum(walk.policy.pulls.values()) > 50


@EACH_KIND
@EACH_REFRESH
@EACH_SEED
def test_arms_come_and_go_between_late_rewards(kind: str, refresh: int, seed: int) -> None:
    walk = Walk(KINDS[kind](CLUSTERS, refresh=refresh), seed)
    for _ in range(90):
        walk.step("ask", "ask", "ask", "ask_many", "tell", "tell", "tell", "tell", "add", "remove", "save")
    assert walk.added > 2


@EACH_KIND
@EACH_SEED
def test_cancelled_rounds_never_happened(kind: str, seed: int) -> None:
    walk = Walk(KINDS[kind](CLUSTERS), seed)
    for _ in range(120):
        walk.step("ask", "ask", "ask_many", "tell", "tell", "tell", "cancel", "save")


@EACH_KIND
@EACH_FAMILY
@EACH_REFRESH
def test_anything_between_choices(kind: str, family: str, refresh: int) -> None:
    """Some arms available or retired, rewards expected from elsewhere, corrected, late and cancelled."""
    walk = Walk(KINDS[kind](CLUSTERS, refresh=refresh, family=family), seed=refresh)
    often = ["ask", "ask", "ask_some", "ask_some", "ask_many", "tell", "tell", "tell", "cancel"]
    rarely = ["expect", "correct", "retire", "restore", "save", "add", "remove", "tell_unasked"]
    for _ in range(140):
        walk.step(*often, *often, *rarely)
    assert walk.policy.rounds > 40


def test_an_awaited_arm_is_judged_by_its_mean() -> None:
    """Assumed pulls and totals, by hand: 3 of 4 observed and one outstanding count as 3.75 of 5."""
    policy = cb.KLUCB(cb.Clusters([1, 1], widths=0.1))
    policy.tell(0, 3, pulls=4)
    policy.tell(1, 2, pulls=4)
    rules = reference(policy)
    pulls, totals = [4, 4], [3.0, 2.0]
    for n in range(9, 40):
        arm = policy.ask()
        assert arm == rules.choose(pulls, totals, n)
        pulls[arm] += 1
        totals[arm] += (0.75, 0.5)[arm]
    assert pulls[1] > 4


def test_an_awaited_arm_never_told_is_judged_by_the_mean_of_all() -> None:
    """Arm 1 has one outstanding reward and no others: it counts as 1 pull with about 8/9, the mean of all.

    The logit of 8/9 is 2.079, which rounds to 2.125.
    """
    policy = cb.KLUCB(cb.Clusters([1, 1], widths=0.1))
    policy.tell(0, 8, pulls=9)
    assert policy.ask() == 1
    assert policy.awaited == {1: 1}
    rules, mean = reference(policy), 1.0 / (1.0 + math.exp(-2.125))
    assert rules.choose([9, 1], [8.0, mean], 11) == 1
    assert rules.choose([9, 1], [8.0, 0.0], 11) == 0
    assert policy.ask() == 1


@EACH_KIND
def test_before_anything_is_told_arms_are_asked_in_turn(kind: str) -> None:
    policy = KINDS[kind](CLUSTERS, refresh=5)
    assert policy.ask(15) == [*"abcdef", *"abcdef", *"abc"]
    assert [policy.ask() for _ in range(3)] == [*"def"]
    assert policy.awaited == dict.fromkeys("abcdef", 3)
    assert policy.rounds == 18


def test_arms_neither_told_nor_awaited_come_first() -> None:
    policy = cb.ClusUCB(CLUSTERS)
    assert policy.ask(3) == ["a", "b", "c"]
    policy.tell("b", 1)
    assert policy.ask(3) == ["d", "e", "f"]
    policy.tell("e", 1)
    policy.cancel("c")
    assert policy.ask() == "c"


@EACH_KIND
@EACH_REFRESH
def test_many_are_asked_as_one_by_one(kind: str, refresh: int) -> None:
    policy = after_rewards(kind, seed=5, refresh=refresh)
    twin = cb.Policy.from_json(policy.to_json())
    asked = policy.ask(40)
    assert asked == [twin.ask() for _ in range(40)]
    assert policy.to_json() == twin.to_json()
    assert policy.awaited == Counter(asked)
    assert len(set(asked)) > 1


@pytest.mark.parametrize("kind", ["kl-ucb", "clus-ucb"])
def test_a_batch_spreads(kind: str) -> None:
    policy = KINDS[kind](CLUSTERS)
    for arm in CLUSTERS.arms:
        policy.tell(arm, 5, pulls=10)
    first = policy.ask(6)
    if kind == "kl-ucb":
        assert first == [*"abcdef"]
    assert len(set(policy.ask(12))) > 2


def test_a_batch_is_a_list_and_one_arm_is_not() -> None:
    policy: Any = cb.KLUCB(CLUSTERS)
    assert policy.ask(1) == ["a"]
    assert policy.ask() == "b"
    assert policy.ask(2.0) == ["c", "d"]  # a whole number, if not an int
    assert policy.ask(np.int64(2)) == ["e", "f"]


@pytest.mark.parametrize("k", [0, -1, 2.5, "3", True, False, math.nan, INF, 10**7, [2], np.array([1, 2])])
def test_bad_batches_are_refused(k: Any) -> None:
    policy = after_rewards("clus-ucb", seed=1)
    assert "ClusUCB.ask: k" in refused_unchanged(policy, lambda: policy.ask(k))


@given(
    st.sampled_from(list(KINDS)),
    st.lists(st.tuples(st.sampled_from(CLUSTERS.arms), st.lists(st.integers(0, 1), min_size=1)), max_size=12),
)
@settings(max_examples=40)
def test_sums_are_the_rewards_one_by_one(kind: str, story: list[tuple[Any, list[int]]]) -> None:
    summed, single = KINDS[kind](CLUSTERS), KINDS[kind](CLUSTERS)
    for arm, rewards in story:
        summed.tell(arm, sum(rewards), pulls=len(rewards))
        for reward in rewards:
            single.tell(arm, reward)
    assert summed.to_json() == single.to_json()
    assert summed.ask(20) == single.ask(20)


@EACH_FAMILY
def test_sums_of_other_rewards(family: str) -> None:
    rewards = cb.as_family(family).draw(0.7, 50, np.random.default_rng(1))
    summed, single = cb.ClusUCB(CLUSTERS, family=family), cb.ClusUCB(CLUSTERS, family=family)
    summed.tell("c", float(rewards.sum()), pulls=50)
    for reward in rewards:
        single.tell("c", reward)
    assert summed.pulls == single.pulls
    assert summed.totals["c"] == pytest.approx(single.totals["c"], rel=1e-13)


def test_sums_arrive_late_too() -> None:
    policy = after_rewards("kl-ucb", seed=1)
    rounds, pulls = policy.rounds, policy.pulls["a"]
    while policy.awaited.get("a", 0) < 3:
        policy.ask()
    waiting, others = policy.rounds - rounds, policy.rounds - rounds - 3
    policy.tell("a", 1, pulls=2)
    assert policy.awaited["a"] == 1
    assert policy.rounds == rounds + waiting
    policy.tell("a", 3, pulls=5)  # one that was awaited, and four that were not
    assert "a" not in policy.awaited
    assert policy.rounds == rounds + others + 7
    assert policy.pulls["a"] == pulls + 7


def test_rewards_nobody_asked_for_count() -> None:
    policy = cb.ClusUCB(CLUSTERS)
    policy.tell("e", 1)
    assert (policy.rounds, policy.pulls["e"], policy.totals["e"], policy.awaited) == (1, 1, 1.0, {})
    assert policy.ask() == "a"


NEVER_PAID: dict[str, list[Any]] = {
    "bernoulli": [1.5, -0.1, 2, np.float64(1.0000001)],
    "gaussian": [1e101, -1e101],
    "poisson": [2.5, -1, 0.5, 1e101, np.float32(0.5)],
    "exponential": [0, -1, 0.0, False, 1e101],
    "negative-binomial": [2.5, -1, 0.5, 1e101],
    "bounded": [1.5, -0.1],
}
NO_NUMBERS: list[Any] = [
    INF,
    -INF,
    math.nan,
    "1",
    "",
    None,
    [1],
    (),
    {},
    1j,
    b"1",
    np.array(1.0),
    np.array([0.0, 1.0]),
    np.float64("nan"),
    10**400,
]


@pytest.mark.parametrize(
    ("family", "reward"),
    [(family, reward) for family in FAMILIES for reward in [*NEVER_PAID[family], *NO_NUMBERS]],
)
def test_rewards_the_family_never_pays_are_refused(family: str, reward: Any) -> None:
    policy = after_rewards("clus-ucb", seed=2, family=family, rounds=20)
    policy.ask(3)
    sentence = refused_unchanged(policy, lambda: policy.tell("a", reward))
    assert sentence.startswith("ClusUCB.tell: reward must be ")
    assert f"for {family} rewards" in sentence


@pytest.mark.parametrize(
    ("family", "total", "pulls"),
    [
        ("bernoulli", 3.5, 3),
        ("bernoulli", -1, 3),
        ("bernoulli", 3 + 1e-12, 3),
        ("gaussian", INF, 2),
        ("gaussian", 3e100, 2),
        ("poisson", 2.5, 5),
        ("poisson", -1, 5),
        ("exponential", 0, 3),
        ("exponential", -2.0, 3),
    ],
)
def test_sums_the_family_never_pays_are_refused(family: str, total: float, pulls: int) -> None:
    policy = after_rewards("kl-ucb", seed=2, family=family, rounds=20)
    sentence = refused_unchanged(policy, lambda: policy.tell("a", total, pulls=pulls))
    assert f"KLUCB.tell: reward must be a sum of {pulls} rewards" in sentence


@pytest.mark.parametrize(
    "arm", ["z", 0, None, math.nan, ("a",), ["a"], {"a"}, {}, np.array(["a", "b"]), b"a"]
)
@pytest.mark.parametrize("call", ["tell", "cancel", "remove_arm"])
def test_unknown_arms_are_refused(call: str, arm: Any) -> None:
    policy = after_rewards("clus-ucb", seed=3, rounds=20)
    policy.ask(4)
    rest = [1] if call == "tell" else []
    sentence = refused_unchanged(policy, lambda: getattr(policy, call)(arm, *rest))
    assert "Available: a, b, c, d, e, f." in sentence


BAD_COUNTS: list[Any] = [
    0,
    -1,
    1.5,
    "1",
    None,
    math.nan,
    INF,
    10**16,
    1e300,
    10**400,
    True,
    [1],
    np.array([1, 2]),
]


@pytest.mark.parametrize("pulls", BAD_COUNTS)
def test_bad_numbers_of_pulls_are_refused(pulls: Any) -> None:
    policy = after_rewards("clus-ucb", seed=3, rounds=20)
    policy.ask(4)
    (arm, *_) = policy.awaited
    assert "pulls must be" in refused_unchanged(policy, lambda: policy.tell(arm, 0, pulls=pulls))
    assert "pulls must be" in refused_unchanged(policy, lambda: policy.cancel(arm, pulls=pulls))


def test_more_rounds_than_floats_can_count_are_refused() -> None:
    policy = cb.KLUCB(CLUSTERS)
    policy.tell("a", 10**14, pulls=10**15 - 10)
    assert "pulls must be" in refused_unchanged(policy, lambda: policy.tell("b", 1, pulls=20))
    policy.tell("b", 1, pulls=2)
    assert policy.rounds == 10**15 - 8


@pytest.mark.parametrize(
    "reward", [True, np.True_, 1, 1.0, np.int8(1), np.float32(1), np.uint64(1), Fraction(1)]
)
def test_one_in_any_dress_is_a_reward(reward: Any) -> None:
    policy = cb.KLUCB(CLUSTERS)
    policy.tell("b", reward)
    assert (policy.pulls["b"], policy.totals["b"]) == (1, 1.0)
    assert (type(policy.pulls["b"]), type(policy.totals["b"])) == (int, float)


@pytest.mark.parametrize("reward", [False, np.False_, 0, -0.0, np.int64(0), np.float16(0)])
def test_nothing_in_any_dress_is_a_reward(reward: Any) -> None:
    policy = cb.KLUCB(CLUSTERS)
    policy.tell("b", reward)
    assert (policy.pulls["b"], policy.totals["b"]) == (1, 0.0)


def test_numpy_arms_and_counts() -> None:
    named: Any = cb.KLUCB(CLUSTERS)
    numbered: Any = cb.KLUCB(cb.Clusters([2, 1], widths=0.1))
    named.tell(np.str_("c"), np.float64(1.5), pulls=3.0)
    numbered.tell(np.int64(2), 1, pulls=np.int64(4))
    assert (named.pulls["c"], named.totals["c"], named.rounds) == (3, 1.5, 3)
    assert numbered.pulls == {0: 0, 1: 0, 2: 4}


def test_cancelling_takes_rounds_back() -> None:
    policy = after_rewards("clus-ucb", seed=4)
    asked = Counter(policy.ask(9))
    for arm, count in asked.items():
        assert policy.awaited[arm] == count
        policy.cancel(arm, pulls=count)
        assert arm not in policy.awaited
    assert (policy.awaited, policy.rounds) == ({}, 60)
    assert sum(policy.pulls.values()) == 60


def test_cancelling_one_of_many() -> None:
    policy = cb.KLUCB(cb.Clusters([1], widths=0.1))
    policy.ask(5)
    policy.cancel(0)
    policy.cancel(0, 2)
    assert (policy.awaited, policy.rounds) == ({0: 2}, 2)


@pytest.mark.parametrize("pulls", [1, 3, 10**6])
def test_no_more_is_cancelled_than_is_awaited(pulls: int) -> None:
    policy = cb.KLUCB(CLUSTERS)
    assert policy.ask(8) == [*"abcdefab"]
    policy.cancel("f")
    sentence = refused_unchanged(policy, lambda: policy.cancel("f", pulls))
    assert "at most 0, the number of outstanding rewards of arm 'f'" in sentence
    if pulls > 2:
        sentence = refused_unchanged(policy, lambda: policy.cancel("a", pulls))
        assert "at most 2, the number of outstanding rewards of arm 'a'" in sentence


@EACH_KIND
def test_a_choice_that_was_cancelled_is_made_anew(kind: str) -> None:
    """Ten cancelled rounds have no effect on later choices."""
    policy, twin = after_rewards(kind, seed=6), after_rewards(kind, seed=6)
    for arm in policy.ask(10):
        policy.cancel(arm)
    rng = np.random.default_rng(1)
    for _ in range(30):
        arm = policy.ask()
        assert arm == twin.ask()
        reward = draw(policy, arm, rng)
        policy.tell(arm, reward)
        twin.tell(arm, reward)


def test_a_hold_that_was_cancelled_is_over() -> None:
    """A hold of arm 0 is cancelled; meanwhile the late rewards of arm 1 have made that the better one."""
    policy = cb.KLUCB(cb.Clusters([1, 1], widths=0.1), refresh=5)
    policy.ask(40)
    policy.tell(0, 15, pulls=20)
    policy.tell(1, 1, pulls=2)
    assert policy.ask(5) == [0] * 5
    policy.cancel(0, 5)
    policy.tell(1, 18, pulls=18)
    assert policy.rounds == 40
    assert policy.ask() == reference(policy).choose([20, 20], [15.0, 19.0], 41) == 1


def test_a_new_arm_is_asked_next() -> None:
    policy, twin = after_rewards("clus-ucb", seed=8), after_rewards("clus-ucb", seed=8)
    policy.add_arm("new", "blue")
    assert policy.clusters.members("blue") == ("b", "e", "new")
    assert policy.pulls == {**twin.pulls, "new": 0}
    assert policy.totals == {**twin.totals, "new": 0.0}
    assert policy.rounds == twin.rounds == 60
    assert policy.ask() == "new"
    policy.tell("new", 1)
    assert (policy.rounds, policy.pulls["new"], policy.totals["new"]) == (61, 1, 1.0)
    pulls, totals = list(policy.pulls.values()), list(policy.totals.values())
    assert policy.ask() == policy.clusters.arms[reference(policy).choose(pulls, totals, 62)]


def test_a_new_arm_keeps_what_is_awaited() -> None:
    policy = after_rewards("kl-ucb", seed=8)
    policy.ask(5)
    awaited = policy.awaited
    policy.add_arm(7, "green")
    assert (policy.awaited, policy.rounds) == (awaited, 65)
    assert policy.ask() == 7
    for arm, count in awaited.items():
        policy.tell(arm, 0, pulls=count)
    assert (policy.awaited, policy.rounds) == ({7: 1}, 66)


def test_a_new_arm_before_anything_was_told() -> None:
    policy = cb.ClusUCB(CLUSTERS)
    policy.add_arm("new", "red")
    assert policy.ask(8) == [*"abcdef", "new", "a"]


@EACH_KIND
def test_a_removed_arm_is_forgotten_and_rounds_go_on(kind: str) -> None:
    policy, twin = after_rewards(kind, seed=9), after_rewards(kind, seed=9)
    policy.ask()
    (asked,) = policy.awaited
    gone = "b" if asked != "b" else "e"
    policy.remove_arm(gone)
    assert policy.clusters.arms == tuple(arm for arm in "abcdef" if arm != gone)
    assert policy.rounds == 61
    assert policy.awaited == {asked: 1}
    for known, before in ((policy.pulls, twin.pulls), (policy.totals, twin.totals)):
        assert known == {arm: value for arm, value in before.items() if arm != gone}
    sentence = refused_unchanged(policy, lambda: policy.tell(gone, 1))
    assert f"Unknown arm {gone!r}" in sentence
    policy.tell(asked, 1)
    pulls, totals = list(policy.pulls.values()), list(policy.totals.values())
    assert policy.ask() == policy.clusters.arms[reference(policy).choose(pulls, totals, 62)]


def test_what_was_awaited_of_a_removed_arm_still_counts_as_rounds() -> None:
    policy = cb.KLUCB(CLUSTERS)
    policy.ask(8)
    policy.remove_arm("a")
    assert policy.awaited == dict.fromkeys("bcdef", 1) | {"b": 2}
    assert policy.rounds == 8
    policy.tell("b", 1)
    assert policy.rounds == 8


def test_a_removed_arm_can_come_back_as_a_new_one() -> None:
    policy = after_rewards("clus-ucb", seed=9)
    policy.remove_arm("c")
    policy.add_arm("c", "green")
    assert policy.clusters.arms == (*"abdef", "c")
    assert (policy.pulls["c"], policy.rounds, policy.ask()) == (0, 60, "c")


def test_a_cluster_goes_with_its_last_arm() -> None:
    policy = after_rewards("clus-ucb", seed=9)
    policy.remove_arm("d")
    assert policy.clusters.names == ("red", "blue")
    assert policy.clusters.widths == (0.05, 0.1)
    refused_unchanged(policy, lambda: policy.add_arm("d", "green"))


def test_the_last_arm_stays() -> None:
    policy = after_rewards("clus-ucb", seed=9)
    for arm in "abcde":
        policy.remove_arm(arm)
    refused_unchanged(policy, lambda: policy.remove_arm("f"))
    assert policy.clusters.arms == ("f",)
    assert (policy.rounds, policy.ask(3)) == (60, ["f", "f", "f"])


@pytest.mark.parametrize(
    ("arm", "cluster"),
    [
        ("a", "red"),
        ("f", "blue"),
        (None, "red"),
        (1.5, "red"),
        (True, "red"),
        (["x"], "red"),
        (np.array([1, 2]), "red"),
        ("x", "violet"),
        ("x", None),
        ("x", ["red"]),
        ("x", {}),
        ("x", 0),
        ("x", np.array(["red", "blue"])),
    ],
)
def test_bad_new_arms_are_refused(arm: Any, cluster: Any) -> None:
    policy = after_rewards("clus-ucb", seed=9, refresh=7)
    policy.ask(3)
    refused_unchanged(policy, lambda: policy.add_arm(arm, cluster))
    assert policy.clusters == CLUSTERS


def in_a_hold(kind: str) -> tuple[Any, Any]:
    """A policy three rounds into a hold of ten, and the arm it holds."""
    policy = KINDS[kind](CLUSTERS, refresh=10)
    rng = np.random.default_rng(11)
    for _ in range(6 + 30 + 3):
        arm = policy.ask()
        policy.tell(arm, draw(policy, arm, rng))
    return policy, arm


@EACH_KIND
def test_a_hold_goes_on_around_a_new_arm(kind: str) -> None:
    policy, held = in_a_hold(kind)
    policy.add_arm("new", "red")
    assert policy.ask() == "new"
    policy.tell("new", 0)
    for _ in range(6):
        assert policy.ask() == held
        policy.tell(held, 0)
    pulls, totals = list(policy.pulls.values()), list(policy.totals.values())
    assert policy.ask() == policy.clusters.arms[reference(policy).choose(pulls, totals, 47)]


@EACH_KIND
def test_a_hold_goes_on_around_a_removed_arm(kind: str) -> None:
    policy, held = in_a_hold(kind)
    policy.remove_arm("a" if held != "a" else "b")
    for _ in range(7):
        assert policy.ask() == held
        policy.tell(held, 0)
    pulls, totals = list(policy.pulls.values()), list(policy.totals.values())
    assert policy.ask() == policy.clusters.arms[reference(policy).choose(pulls, totals, 47)]


@EACH_KIND
def test_a_hold_ends_with_its_arm(kind: str) -> None:
    policy, held = in_a_hold(kind)
    policy.remove_arm(held)
    pulls, totals = list(policy.pulls.values()), list(policy.totals.values())
    chosen = policy.clusters.arms[reference(policy).choose(pulls, totals, 40)]
    assert policy.ask(10) == [chosen] * 10


def test_sums_at_the_edge_of_floats_survive_a_new_arm() -> None:
    """Ten rewards of 1e100 add up to a little more than 1e101 in floats."""
    for family, reward, times in (("gaussian", 1e100, 10), ("exponential", 1e-100, 93)):
        policy = cb.KLUCB(CLUSTERS, family=family)
        for _ in range(times):
            policy.tell("a", reward)
        totals = policy.totals
        policy.add_arm("new", "red")
        assert policy.totals == {**totals, "new": 0.0}


def test_one_arm() -> None:
    for kind in KINDS:
        policy = KINDS[kind](cb.Clusters([["only"]], widths=0.1), refresh=3)
        assert policy.ask(3) == ["only"] * 3
        for reward in (1, 0, 1, 1):
            policy.tell("only", reward)
        assert [policy.ask() for _ in range(5)] == ["only"] * 5
        assert (policy.rounds, policy.awaited) == (9, {"only": 5})
        assert len(policy.explain().arms) == 1


@EACH_KIND
def test_a_thousand_arms(kind: str) -> None:
    policy = KINDS[kind](cb.Clusters([10] * 100, widths=0.1))
    for arm in range(50):
        assert policy.ask() == arm
        policy.tell(arm, arm % 2)
    rng = np.random.default_rng(1)
    for arm, total in enumerate(rng.integers(0, 20, 1000).tolist()):
        policy.tell(arm, total, pulls=20)
    pulls, totals = list(policy.pulls.values()), list(policy.totals.values())
    first = policy.ask()
    assert first == reference(policy).choose(pulls, totals, policy.rounds)
    policy.tell(first, 1)
    for _ in range(49):
        policy.tell(policy.ask(), 0)
    assert policy.rounds == 50 + 20_000 + 50


@EACH_KIND
def test_equal_arms_take_turns(kind: str) -> None:
    clusters = cb.Clusters([["a", "b", "c"]], widths=0.1)
    policy = KINDS[kind](clusters)
    for _ in range(5):
        turn = []
        for _ in range(3):
            turn.append(policy.ask())
            policy.tell(turn[-1], 1)
        assert turn == ["a", "b", "c"]


@EACH_FAMILY
@EACH_REFRESH
def test_infinite_widths_are_kl_ucb(family: str, refresh: int) -> None:
    clusters = cb.Clusters(CLUSTERS.partition, widths=INF)
    tape = new_tape(family, 300, seed=5)
    plain = cb.KLUCB(CLUSTERS, refresh=refresh, family=family)
    wide = cb.ClusUCB(clusters, refresh=refresh, family=family)
    narrow = cb.ClusUCB(CLUSTERS, refresh=refresh, family=family)
    arms = asked_on(plain, tape, 300)
    assert asked_on(wide, tape, 300) == arms
    assert asked_on(narrow, tape, 300) != arms


@pytest.mark.parametrize("kind", ["clus-ucb", "plain leader"])
@EACH_FAMILY
def test_widths_of_zero(kind: str, family: str) -> None:
    """All arms of a cluster have one index: the least pulled of them is due."""
    tape = new_tape(family, 150, seed=6)
    policy = KINDS[kind](cb.Clusters(CLUSTERS.partition, widths=0), family=family)
    assert asked_on(policy, tape, 150) == reference(policy).play(tape.tolist(), 150)


@EACH_KIND
def test_indices_beyond_floats_are_tied(kind: str) -> None:
    """Gamma rewards of a shape this small refute nothing: every index is infinite, so arms take turns."""
    policy = KINDS[kind](CLUSTERS, family="exponential:shape=0.0001")
    tape = np.ones((6, 60))
    assert cb.play(policy, tape, horizon=60).tolist() == [*range(6)] * 10
    assert asked_on(policy, tape, 60) == [*range(6)] * 10


def test_policies_share_nothing() -> None:
    one, other = cb.ClusUCB(CLUSTERS), cb.ClusUCB(CLUSTERS)
    one.tell("a", 1)
    one.ask(3)
    one.remove_arm("b")
    assert (other.rounds, other.awaited, other.clusters) == (0, {}, CLUSTERS)


def test_what_is_shown_is_a_copy() -> None:
    policy = after_rewards("kl-ucb", seed=1)
    policy.ask(3)
    before = policy.to_json()
    for shown in (policy.pulls, policy.totals, policy.awaited):
        shown.clear()
    assert policy.to_json() == before


def test_labels_that_look_alike() -> None:
    policy = cb.KLUCB(cb.Clusters([[1, "1"], ["", "ä"]], widths=0.1))
    policy.tell("1", 1)
    policy.tell("", 0)
    assert policy.pulls == {1: 0, "1": 1, "": 1, "ä": 0}
    assert policy.ask(2) == [1, "ä"]
    assert "Available: 1, '1', '', 'ä'." in refusal(lambda: policy.tell("2", 1))
