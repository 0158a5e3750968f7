"""One policy and several threads: nothing is lost, batches stay whole, copies are independent."""

from __future__ import annotations

import copy
import pickle
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clusterbandits as cb
from fuzz.threads import use_together

CLUSTERS = cb.Clusters([3, 2], widths=[0.1, 0.3])
COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda policy: pickle.loads(pickle.dumps(policy)),
}


def together(*calls: Callable[[], object]) -> None:
    """Make calls at the same time; an error in any of them is an error."""
    errors: list[BaseException] = []

    def guarded(call: Callable[[], object]) -> None:
        try:
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
        assert not thread.is_alive()
    for error in errors:
        raise error


@pytest.mark.parametrize(
    "spec",
    [
        "kl-ucb",
        "clus-ucb:alarm=widen,refresh=7",
        "thompson",
        "tlp-mean:refresh=3",
        "ossb",
        "imed-clus",
        "ckl-ucb",
        "kindred:alarm=widen",
    ],
)
def test_nothing_is_lost_between_threads(spec: str) -> None:
    policy = cb.policy(spec, CLUSTERS)
    use_together(policy, threads=4, operations=700, rng=np.random.default_rng(1))
    assert policy.rounds > 1000


def test_every_reward_counts() -> None:
    policy = cb.KLUCB(CLUSTERS)

    def work() -> None:
        for _ in range(5000):
            policy.tell(policy.ask(), 1)

    together(*[work] * 4)
    assert sum(policy.pulls.values()) == sum(policy.totals.values()) == policy.rounds == 20_000
    assert policy.awaited == {}


def test_a_batch_is_asked_without_others_in_between() -> None:
    """Without rewards, arms are chosen in turn, so each batch of five has each arm once."""
    policy = cb.ClusUCB(CLUSTERS)
    batches: list[list[int]] = []
    together(*[lambda: batches.extend(policy.ask(5) for _ in range(300))] * 6)
    assert len(batches) == 1800
    assert {tuple(batch) for batch in batches} == {(0, 1, 2, 3, 4)}


def contradict(policy: Any) -> None:
    policy.tell(0, 0, pulls=500)
    policy.tell(1, 400, pulls=500)
    policy.tell(2, 0, pulls=500)


def test_a_warning_as_an_error_leaves_the_policy_whole() -> None:
    policy, twin = cb.ClusUCB(CLUSTERS, alarm="widen"), cb.ClusUCB(CLUSTERS, alarm="widen")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        contradict(twin)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(cb.WidthWarning):
            contradict(policy)
    assert policy.pulls == {0: 500, 1: 500, 2: 500, 3: 0, 4: 0}
    assert policy.to_json() == twin.to_json()
    assert [one.cluster for one in policy.alarms()] == [0]
    together(lambda: policy.tell(policy.ask(), 1))
    assert policy.rounds == 1501


def test_whatever_shows_a_warning_may_wait_for_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, seen = cb.ClusUCB(CLUSTERS), []

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        together(lambda: seen.append((str(message), policy.rounds)))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", show)
        contradict(policy)
    assert len(seen) == 1
    assert "differ by more than" in seen[0][0]
    assert seen[0][1] == 1500


def test_a_warning_points_to_who_told() -> None:
    policy = cb.ClusUCB(CLUSTERS)
    with pytest.warns(cb.WidthWarning) as caught:
        contradict(policy)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", cb.POLICIES)
def test_copies_go_on_by_themselves(name: str, way: str) -> None:
    horizon: dict[str, Any] = {"horizon": 100} if cb.POLICIES[name].needs_horizon else {}
    policy = cb.policy(name, CLUSTERS, **horizon)
    for _ in range(12):
        policy.tell(policy.ask(), 1)
    policy.ask(2)
    before = policy.to_json()
    one, other = COPIES[way](policy), COPIES[way](policy)
    assert type(one) is type(policy)
    assert one.to_json() == before
    for _ in range(10):
        arm = one.ask()
        assert arm == other.ask()
        one.tell(arm, 0)
        other.tell(arm, 0)
    one.add_arm("new", 0)
    assert policy.to_json() == before
    assert one.clusters != policy.clusters
    assert COPIES[way](one).to_json() == one.to_json()


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_is_of_one_moment(way: str) -> None:
    policy = cb.KLUCB(CLUSTERS)
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            policy.tell(policy.ask(), 1)

    def look() -> None:
        try:
            for _ in range(100):
                one = COPIES[way](policy)
                assert one.rounds == sum(one.pulls.values()) + sum(one.awaited.values())
                assert one.pulls == one.totals
        finally:
            done.set()

    together(work, work, look)
