"""Decisions: idempotent by key, limited to what is available, and equal to the library's."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clusterbandits as cb
from tests.service.running import Served, eventually

_numbers = itertools.count()
GROUPS = {"red": ["a", "b", "c"], "blue": ["d", "e", "f"]}


def create(served: Served, status: int = 201, **settings: Any) -> Any:
    body = {"name": f"decisions-{next(_numbers)}", "groups": GROUPS, "widths": 0.2, **settings}
    return served.post("/v1/experiments", body, status)


def decide(served: Served, name: str, status: int = 200, **body: Any) -> Any:
    answer = served.post(f"/v1/experiments/{name}/decisions", body, status)
    return answer["decisions"] if status == 200 else answer["detail"]


def test_the_same_key_returns_the_same_decisions(served: Served) -> None:
    name, other = create(served)["name"], create(served)["name"]
    first = decide(served, name, key="visit-17", count=3)
    assert decide(served, name, key="visit-17", count=3) == first
    assert decide(served, name, key="visit-17") == first
    assert decide(served, name, key="visit-18") != first
    assert decide(served, other, key="visit-17") != first
    assert served.get(f"/v1/experiments/{name}")["decisions"] == 4
    served.post(f"/v1/experiments/{name}/pause")
    assert decide(served, name, key="visit-17") == first
    assert "paused" in decide(served, name, 409, key="visit-19")


def test_only_what_is_available_is_chosen(served: Served) -> None:
    name = create(served)["name"]
    for available in (["b"], ["b", "e"], ["f", "a", "c"]):
        found = decide(served, name, available=available, count=30)
        assert {one["arm"] for one in found} <= set(available)
    assert "arm of the experiment" in decide(served, name, 422, available=["a", "x"])
    decide(served, name, 422, available=[])
    decide(served, name, 422, count=0)
    decide(served, name, 422, count=1001)
    decide(served, name, 422, count=1.5)
    assert served.get(f"/v1/experiments/{name}")["decisions"] == 90


def test_arms_are_added_retired_and_restored(served: Served) -> None:
    name = create(served, groups={"red": ["a", "b"]})["name"]
    (early,) = decide(served, name, available=["a"])
    served.post(f"/v1/experiments/{name}/arms/retire", {"arm": "a"})
    assert {one["arm"] for one in decide(served, name, count=20)} == {"b"}
    decide(served, name, 422, available=["a"])
    served.post(f"/v1/decisions/{early['id']}/reward", {"value": 1})
    state = served.post(f"/v1/experiments/{name}/arms", {"arm": "c", "group": "red"})
    arms = {arm["arm"]: arm for arm in state["arms"]}
    assert (arms["a"]["retired"], arms["a"]["pulls"], arms["c"]["retired"]) == (True, 1, False)
    assert {one["arm"] for one in decide(served, name, available=["c"])} == {"c"}
    served.post(f"/v1/experiments/{name}/arms/retire", {"arm": "b"})
    detail = served.post(f"/v1/experiments/{name}/arms/retire", {"arm": "c"}, 409)["detail"]
    assert "last one" in detail
    served.post(f"/v1/experiments/{name}/arms/restore", {"arm": "a"})
    assert {one["arm"] for one in decide(served, name, available=["a"])} == {"a"}
    served.post(f"/v1/experiments/{name}/arms", {"arm": "c", "group": "red"})
    served.post(f"/v1/experiments/{name}/arms", {"arm": "d", "group": "green"}, 422)
    served.post(f"/v1/experiments/{name}/arms/retire", {"arm": "x"}, 422)
    made = [one["change"] for one in served.get(f"/v1/experiments/{name}/changes")["changes"]]
    assert made == ["created", "arm retired", "arm added", "arm retired", "arm restored"]


def test_settings_change_without_losing_what_was_learned(served: Served) -> None:
    name = create(served)["name"]
    for one in decide(served, name, count=40):
        served.post(f"/v1/decisions/{one['id']}/reward", {"value": int(one["arm"] in "abc")})
    waiting = decide(served, name, count=3)
    before = served.get(f"/v1/experiments/{name}")
    changes = {"policy": "clus-ucb:a=1", "widths": {"red": 0.3, "blue": None}, "window": None}
    after = served.client.patch(f"/v1/experiments/{name}", json=changes).json()
    assert (after["policy"], after["settings"]["a"], after["window"]) == ("clus-ucb", 1.0, None)
    assert [group["width"] for group in after["groups"]] == [0.3, None]
    for key in ("decisions", "pulls", "total", "open"):
        assert after[key] == before[key]
    assert [arm["total"] for arm in after["arms"]] == [arm["total"] for arm in before["arms"]]
    for one in waiting:
        served.post(f"/v1/decisions/{one['id']}/reward", {"value": 1})
    assert served.get(f"/v1/experiments/{name}")["open"] == 0
    assert served.client.patch(f"/v1/experiments/{name}", json={"policy": "nonsense"}).status_code == 422
    assert served.client.patch(f"/v1/experiments/{name}", json={"name": "x"}).status_code == 422
    changed = served.get(f"/v1/experiments/{name}/changes")["changes"][-1]
    assert changed["who"] == "first"
    assert changed["body"]["settings"] == {key: after[key] for key in ("policy", "settings", "window")} | {
        "widths": {"red": 0.3, "blue": None}
    }


def test_creating_twice_is_a_success_unless_settings_differ(served: Served) -> None:
    state = create(served)
    again = {"name": state["name"], "groups": GROUPS, "widths": 0.2}
    assert served.post("/v1/experiments", again, 200)["name"] == state["name"]
    served.post("/v1/experiments", {**again, "policy": "kindred"}, 200)
    assert "other settings" in served.post("/v1/experiments", {**again, "widths": 0.3}, 409)["detail"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "a b"},
        {"name": "x" * 65},
        {"groups": {}},
        {"groups": {"red": []}},
        {"groups": {"red": ["a", "a"]}},
        {"groups": {"red": ["a"], "blue": ["a"]}},
        {"groups": {"red": ["\0"]}},
        {"groups": {"red": [" "]}},
        {"groups": {"red": ["x" * 201]}},
        {"groups": {"red": [1]}},
        {"widths": -1},
        {"widths": {"green": 1}},
        {"policy": "nonsense"},
        {"policy": "os:system"},
        {"policy": "kl-ucb++"},
        {"settings": {"nonsense": 1}},
        {"settings": {"seed": "x"}},
        *({"settings": {name: "x"}} for name in ("spec", "clusters", "family", "label")),
        {"family": "nonsense"},
        {"family": "bounded:low=2,high=1"},
        {"window": 0},
        {"window": -1},
        {"default_reward": 2},
        {"combine": "nonsense"},
        {"explore": 1.5},
        {"nonsense": 1},
    ],
)
def test_what_cannot_be_an_experiment(served: Served, wrong: dict[str, Any]) -> None:
    detail = create(served, 422, **wrong)["detail"]
    assert isinstance(detail, str)
    assert len(detail) < 500


def test_limits_of_rewards_may_be_any_numbers(served: Served) -> None:
    # The difference of these limits, added to the lower one, is above the upper one by a rounding error.
    state = create(served, family="bounded:low=-3.3,high=0.1")
    (one,) = decide(served, state["name"])
    assert served.post(f"/v1/decisions/{one['id']}/reward", {"value": 0.1})["status"] == "counted"


def test_paused_and_archived_experiments(served: Served) -> None:
    name = create(served)["name"]
    (one,) = decide(served, name)
    assert served.post(f"/v1/experiments/{name}/pause")["state"] == "paused"
    served.post(f"/v1/experiments/{name}/pause")
    decide(served, name, 409)
    served.post(f"/v1/decisions/{one['id']}/reward", {"value": 1})
    assert served.post(f"/v1/experiments/{name}/resume")["state"] == "running"
    decide(served, name)
    assert served.post(f"/v1/experiments/{name}/archive")["state"] == "archived"
    decide(served, name, 409)
    served.post(f"/v1/experiments/{name}/resume", status=409)
    listed = served.get("/v1/experiments")["experiments"]
    assert name not in [one["name"] for one in listed]
    listed = served.get("/v1/experiments?archived=true")["experiments"]
    assert name in [one["name"] for one in listed]
    made = [one["change"] for one in served.get(f"/v1/experiments/{name}/changes")["changes"]]
    assert made == ["created", "paused", "resumed", "archived"]


@pytest.mark.parametrize("policy", ["kindred", "clus-ucb", "thompson"])
def test_the_served_policy_is_the_librarys(served: Served, policy: str) -> None:
    name, horizon = create(served, policy=policy)["name"], 150
    means = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    tape = (np.random.default_rng(5).random((6, horizon)) < np.array(means)[:, None]).astype(float)
    clusters = cb.Clusters(GROUPS, widths=0.2)
    expected = [clusters.arms[k] for k in cb.play(cb.policy(policy, clusters), tape, horizon)]
    seen, chosen = dict.fromkeys(clusters.arms, 0), []
    for _ in range(horizon):
        (one,) = decide(served, name)
        arm = one["arm"]
        value = tape[clusters.arms.index(arm), seen[arm]]
        seen[arm] += 1
        served.post(f"/v1/decisions/{one['id']}/reward", {"value": value})
        chosen.append(arm)
    assert chosen == expected


def test_explored_decisions_are_uniform_and_marked(served: Served) -> None:
    name = create(served, explore=0.5, policy="kl-ucb")["name"]
    decide(served, name, count=1000)
    found = served.get(f"/v1/experiments/{name}/decisions?limit=1000")["decisions"]
    explored = [one["arm"] for one in found if one["explored"]]
    # Every service draws a salt of its own, so that these are other numbers at every run of this test.
    assert abs(len(explored) - 500) < 5 * np.sqrt(250)
    for arm in "abcdef":
        assert abs(explored.count(arm) - len(explored) / 6) < 5 * np.sqrt(len(explored) * 5 / 36)


@pytest.mark.parametrize("confidence", [0.95, 0.9])
def test_advice_can_be_followed_as_a_service(served: Served, confidence: float) -> None:
    rows = {"arm": list("abc"), "group": ["red", "red", "blue"], "trials": [90] * 3, "successes": [9, 30, 20]}
    advice = cb.advise(rows, horizon=1000, worlds=2, confidence=confidence)
    lines = advice.service_code().replace("http://127.0.0.1:8000", served.url)
    lines = lines.replace('"mine"', f'"decisions-{next(_numbers)}"')
    known: dict[str, Any] = {"table": rows, "reward": 1, "key": served.key}
    exec(f"{advice.code()}\n{lines}", known)
    with known["client"]:
        state = known["client"].experiment(known["client"].decision(known["decision"].id).experiment)
    assert {group.group: group.width for group in state.groups} == advice.widths
    assert (state.policy, state.pulls) == (advice.recommended, 1)


def test_an_experiment_that_starts_from_a_history(served: Served) -> None:
    rows: dict[str, Any] = {
        "arm": list("abcdef"),
        "group": ["red"] * 3 + ["blue"] * 3,
        "trials": [40, 50, 0, 60, 55, 45],
        "successes": [4, 10, 0, 20, 22, 30],
    }
    past = cb.read_history(rows)
    with cb.Client(served.url, served.key) as client:
        name = f"decisions-{next(_numbers)}"
        state = client.create_experiment(name, history=past, policy="kindred")
        assert (state.decisions, state.pulls, state.total, state.regret) == (0, 0, 0, 0)
        assert [(arm.pulls, arm.total) for arm in state.arms] == list(
            zip(rows["trials"], rows["successes"], strict=True)
        )
        expected = cb.Kindred.from_history(past)
        assert [group.width for group in state.groups] == list(expected.clusters.widths)
        for number in range(40):
            decision = client.decide(name)
            assert decision.arm == expected.ask()
            client.reward(decision, number % 2)
            expected.tell(decision.arm, number % 2)
        state = client.experiment(name)
        assert (state.pulls, state.total) == (40, 20)
        changed = client.change(name, policy="clus-ucb")
        assert [arm.pulls for arm in changed.arms] == [arm.pulls for arm in state.arms]
        assert changed.pulls == 40
    wrong = {"history": {"x": {"pulls": 1, "total": 1}}}
    create(served, 422, **wrong)
    create(served, 422, history={"a": {"pulls": 1, "total": 2}})
    create(served, 422, history={"a": {"pulls": 0, "total": 1}})


def test_the_history_over_time_ends_with_the_present_counts(served: Served) -> None:
    past = {"a": {"pulls": 250, "total": 50}, "d": {"pulls": 10, "total": 4}}
    name = create(served, history=past, policy="ucb1")["name"]
    for number in range(30):
        (one,) = decide(served, name)
        if number % 3:
            served.post(f"/v1/decisions/{one['id']}/reward", {"value": int(number % 2)})
    decide(served, name)
    found, state = served.get(f"/v1/experiments/{name}/history"), served.get(f"/v1/experiments/{name}")
    assert found["decisions"] == list(range(1, 32))
    assert (found["pulls"][-1], found["total"][-1]) == (state["pulls"], state["total"]) == (20, 10)
    best = next(arm for arm in state["arms"] if arm["arm"] == state["best"])
    assert found["regret"][-1] == pytest.approx(20 * best["mean"] - 10)
    assert [found["groups"][group["group"]][-1] for group in state["groups"]] == [
        group["decisions"] for group in state["groups"]
    ]
    assert {len(found[key]) for key in ("at", "decisions", "pulls", "total", "regret")} == {31}


def test_metrics_count_what_the_service_has_learned(served: Served) -> None:
    name = create(served, history={"a": {"pulls": 250, "total": 50}})["name"]
    found = decide(served, name, count=7)
    for one in found[:5]:
        served.post(f"/v1/decisions/{one['id']}/reward", {"value": 1})
    expected = {"decisions": 7, "rewards": 5, "open_decisions": 2, "alarms": 0}

    def counted() -> dict[str, float]:
        lines = served.client.get("/metrics").text.splitlines()
        values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        return {
            key: float(values.get(f'clusterbandits_{key}{{experiment="{name}"}}', -1)) for key in expected
        }

    eventually(lambda: counted() == expected)


def test_changes_are_recorded_with_the_settings_that_follow_from_them(served: Served) -> None:
    name = create(served, policy="clus-ucb", settings={"a": 2.0})["name"]
    path = f"/v1/experiments/{name}"
    assert served.client.patch(path, json={"policy": "auto", "widths": {"red": 0.1}}).status_code == 200
    assert served.client.patch(path, json={"policy": "auto"}).status_code == 200
    created, changed = served.get(f"{path}/changes")["changes"]
    assert (created["body"]["policy"], created["body"]["settings"]["a"]) == ("clus-ucb", 2.0)
    settings = served.get(path)["settings"]
    assert settings
    widths = {"red": 0.1, "blue": 0.2}
    assert changed["body"]["settings"] == {"policy": "kindred", "settings": settings, "widths": widths}


@pytest.mark.parametrize(("explore", "certain"), [(0, 4), (0.5, 0)])
def test_an_export_says_that_it_cannot_support_estimates(
    served: Served, tmp_path: Path, explore: float, certain: int
) -> None:
    name = create(served, policy="kl-ucb", explore=explore)["name"]
    for one in decide(served, name, count=4):
        served.post(f"/v1/decisions/{one['id']}/reward", {"value": 1})
    with cb.Client(served.url, served.key) as client, warnings.catch_warnings(record=True) as noticed:
        warnings.simplefilter("always")
        client.export(name, tmp_path / "without.csv")
        assert not noticed
        client.export(name, tmp_path / "with.csv", propensities=True)
    expected = f"A deterministic policy made {certain} of {certain} decisions without exploration"
    assert [str(one.message).partition(":")[0] for one in noticed] == ([expected] if certain else [])


_FRAMEWORK = {"Content-Type": "application/json; charset=utf-8"}
_BODIES: list[tuple[str, bytes]] = [
    ("decisions", body)
    for body in (
        b'{"key": "visit-17", "count": 2, "note": {"page": "caf\\u00e9"}}',
        b'{"key": "visit-17", "available": ["b"]}',
        b'{"available": ["x"]}',
        b'{"available": []}',
        b'{"count": 0}',
        b'{"count": 1.5}',
        b'{"count": "1"}',
        b'{"key": ""}',
        b'{"key": "a\\u0000b"}',
        b'{"key": "\\ud800"}',
        b'{"note": {"n": NaN}}',
        b'{"more": 1}',
        b"[]",
        b"null",
        b"",
        b"{",
        b'{"key": "\xff"}',
        b"[" * 100_000,
        b'{"count": ' + b"9" * 5_000 + b"}",
    )
] + [
    ("reward", body)
    for body in (
        b'{"value": 1}',
        b'{"value": 1, "key": "k"}',
        b'{"value": 0}',
        b'{"value": 2}',
        b'{"value": "1"}',
        b'{"value": true}',
        b'{"value": NaN}',
        b'{"value": 1e999}',
        b"{}",
    )
]


@pytest.mark.parametrize(("what", "body"), _BODIES, ids=[f"{what} {body[:24]!r}" for what, body in _BODIES])
def test_requests_are_answered_as_by_the_framework(served: Served, what: str, body: bytes) -> None:
    name = create(served)["name"]
    decide(served, name, key="visit-17", count=2)
    (rewarded,) = decide(served, name)
    served.post(f"/v1/decisions/{rewarded['id']}/reward", {"value": 1})
    path = (
        f"/v1/decisions/{rewarded['id']}/reward" if what == "reward" else f"/v1/experiments/{name}/decisions"
    )
    direct, framework = (
        served.client.post(path, content=body, headers=headers)
        for headers in ({"Content-Type": "application/json"}, _FRAMEWORK)
    )
    assert direct.status_code == framework.status_code
    assert direct.content == framework.content
    assert {**direct.headers, "date": ""} == {**framework.headers, "date": ""}


@pytest.mark.parametrize(
    "path",
    [
        "/v1/experiments/no-such/decisions",
        "/v1/experiments/no%2Fsuch/decisions",
        f"/v1/experiments/{'n' * 65}/decisions",
        "/v1/decisions/1-00000000/reward",
        "/v1/decisions/x/reward",
        f"/v1/decisions/{'1' * 41}/reward",
        "/v1/decisions//reward",
        "/v1/experiments/no-such/decisions/",
    ],
)
def test_addresses_are_understood_as_by_the_framework(served: Served, path: str) -> None:
    body = b'{"value": 1}' if "reward" in path else b"{}"
    direct, framework = (
        served.client.post(path, content=body, headers=headers)
        for headers in ({"Content-Type": "application/json"}, _FRAMEWORK)
    )
    assert (direct.status_code, direct.content) == (framework.status_code, framework.content)
    assert direct.status_code >= 300


def test_both_ways_are_counted_at_the_same_address(served: Served) -> None:
    name = create(served)["name"]
    path = f"/v1/experiments/{name}/decisions"

    def counted() -> float:
        lines = served.client.get("/metrics").text.splitlines()
        labels = 'method="POST",route="/v1/experiments/{name}/decisions",status="200"'
        wanted = f"clusterbandits_request_seconds_count{{{labels}}}"
        return next((float(line.split()[-1]) for line in lines if line.startswith(wanted)), 0.0)

    before = counted()
    for headers in ({"Content-Type": "application/json"}, _FRAMEWORK):
        assert served.client.post(path, content=b"{}", headers=headers).status_code == 200
    assert counted() == before + 2
