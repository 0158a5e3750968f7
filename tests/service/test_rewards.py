"""Rewards: repeated, conflicting, late, out of order, malformed; and how several of one decision combine."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest

from tests.service.running import Served, eventually

_numbers = itertools.count()


def created(served: Served, **settings: Any) -> str:
    """Create an experiment of six arms and return its name."""
    name = f"rewards-{next(_numbers)}"
    groups = {"red": ["a", "b", "c"], "blue": ["d", "e", "f"]}
    served.post("/v1/experiments", {"name": name, "groups": groups, "widths": 0.2, **settings}, 201)
    return name


def decided(served: Served, name: str, **body: Any) -> dict[str, Any]:
    (found,) = served.post(f"/v1/experiments/{name}/decisions", body)["decisions"]
    return dict(found)


def rewarded(served: Served, decision: str, value: float, status: int = 200, **more: Any) -> Any:
    return served.post(f"/v1/decisions/{decision}/reward", {"value": value, **more}, status)


def counts(served: Served, name: str) -> tuple[int, float, int]:
    """Return rewards learned, their total, and open decisions."""
    state = served.get(f"/v1/experiments/{name}")
    assert sum(arm["pulls"] for arm in state["arms"]) == state["pulls"]
    assert sum(group["pulls"] for group in state["groups"]) == state["pulls"]
    return state["pulls"], state["total"], state["open"]


def test_the_same_reward_counts_once_and_another_conflicts(served: Served) -> None:
    name = created(served)
    one = decided(served, name)
    assert counts(served, name) == (0, 0, 1)
    assert rewarded(served, one["id"], 1) == {"id": one["id"], "status": "counted", "value": 1}
    for _ in range(3):
        assert rewarded(served, one["id"], 1)["status"] == "repeated"
    assert rewarded(served, one["id"], 1.0)["status"] == "repeated"
    assert "another reward" in rewarded(served, one["id"], 0, 409)["detail"]
    assert counts(served, name) == (1, 1, 0)


def test_rewards_may_come_in_any_order(served: Served) -> None:
    name = created(served)
    found = [decided(served, name) for _ in range(20)]
    for number, one in enumerate(reversed(found)):
        rewarded(served, one["id"], number % 2)
    state = served.get(f"/v1/experiments/{name}")
    for arm in state["arms"]:
        own = [19 - place for place, one in enumerate(found) if one["arm"] == arm["arm"]]
        assert (arm["pulls"], arm["total"]) == (len(own), sum(number % 2 for number in own))


@pytest.mark.parametrize(
    "decision", ["1-00000000", "ffffffffffffff-00000000", "x", "1-0000000g", "0-00000000", "é"]
)
def test_an_unknown_decision(served: Served, decision: str) -> None:
    assert "no decision" in rewarded(served, decision, 1, 404)["detail"]


def test_the_token_of_another_decision_is_not_accepted(served: Served) -> None:
    name = created(served)
    first, second = decided(served, name)["id"], decided(served, name)["id"]
    mixed = f"{first.split('-')[0]}-{second.split('-')[1]}"
    rewarded(served, mixed, 1, 404)
    assert counts(served, name) == (0, 0, 2)


@pytest.mark.parametrize(
    "body",
    [
        *({}, {"value": "1"}, {"value": None}, {"value": True}, {"value": 2}, {"value": -1}, {"value": [1]}),
        *([], 1, {"value": 1, "extra": 2}, {"value": 1, "key": ""}, {"value": 1, "key": "\0"}),
        {"value": 10**400},
    ],
)
def test_what_cannot_be_a_reward_changes_nothing(served: Served, body: Any) -> None:
    name = created(served)
    one = decided(served, name)
    answer = served.client.post(f"/v1/decisions/{one['id']}/reward", json=body)
    assert answer.status_code == 422
    assert isinstance(answer.json()["detail"], str)
    assert counts(served, name) == (0, 0, 1)


@pytest.mark.parametrize(
    "text", [b"", b"{", b'{"value": NaN}', b'{"value": Infinity}', b"\xff", b"[" * 100_000]
)
def test_what_is_not_json_changes_nothing(served: Served, text: bytes) -> None:
    name = created(served)
    one = decided(served, name)
    headers = {"Content-Type": "application/json"}
    answer = served.client.post(f"/v1/decisions/{one['id']}/reward", content=text, headers=headers)
    assert answer.status_code == 422
    assert counts(served, name) == (0, 0, 1)


def test_a_late_reward_is_recorded_and_not_learned(served: Served) -> None:
    name = created(served, window=4)
    early, late = decided(served, name), decided(served, name)
    rewarded(served, early["id"], 1)
    time.sleep(max(0.0, late["expires_at"] - time.time()) + 0.3)
    assert "closed" in rewarded(served, late["id"], 1, 410)["detail"]
    rewarded(served, late["id"], 1, 410)
    (result,) = served.post("/v1/rewards", {"rewards": [{"id": late["id"], "value": 1}]})["results"]
    assert (result["code"], result["status"]) == (410, "late")
    assert rewarded(served, early["id"], 1)["status"] == "repeated"
    state = wait_for(served, name, lambda state: state["cancelled"] == 1)
    assert (state["pulls"], state["total"], state["open"], state["late"]) == (1, 1, 0, 1)
    found = served.get(f"/v1/decisions/{late['id']}")
    assert found["status"] == "cancelled"
    assert [(one["value"], one["status"]) for one in found["rewards"]] == [(1, "late")]


def test_the_default_reward_is_learned_when_none_came(served: Served) -> None:
    name = created(served, window=4, default_reward=0)
    found = served.post(f"/v1/experiments/{name}/decisions", {"count": 5})["decisions"]
    rewarded(served, found[0]["id"], 1)
    state = wait_for(served, name, lambda state: state["open"] == 0)
    assert (state["pulls"], state["total"], state["defaulted"], state["cancelled"]) == (5, 1, 4, 0)
    assert served.get(f"/v1/decisions/{found[1]['id']}")["status"] == "defaulted"


def wait_for(served: Served, name: str, there: Any) -> Any:
    def look() -> Any:
        state = served.get(f"/v1/experiments/{name}")
        return state if there(state) else None

    return eventually(look)


def test_the_last_reward_replaces_the_earlier_ones(served: Served) -> None:
    name = created(served, combine="last")
    one = decided(served, name)
    assert rewarded(served, one["id"], 1)["value"] == 1
    assert rewarded(served, one["id"], 0)["value"] == 0
    # The first one arrives once more, because its sender had seen no answer.
    assert rewarded(served, one["id"], 1)["status"] == "repeated"
    assert counts(served, name) == (1, 0, 0)
    assert rewarded(served, one["id"], 1, key="again")["value"] == 1
    assert counts(served, name) == (1, 1, 0)


def test_rewards_add_up_by_key(served: Served) -> None:
    name = created(served, combine="sum", family="bounded:low=0,high=10")
    one = decided(served, name)
    assert rewarded(served, one["id"], 2.5, key="first")["value"] == 2.5
    assert rewarded(served, one["id"], 4, key="second")["value"] == 6.5
    assert rewarded(served, one["id"], 4, key="second")["status"] == "repeated"
    rewarded(served, one["id"], 5, 409, key="second")
    assert "10" in rewarded(served, one["id"], 4, 422, key="third")["detail"]
    assert counts(served, name) == (1, 6.5, 0)
    # The same in a list, beside a reward that is possible.
    sent = [{"id": one["id"], "value": 4, "key": "third"}, {"id": decided(served, name)["id"], "value": 7}]
    results = served.post("/v1/rewards", {"rewards": sent})["results"]
    assert [(result["code"], result["status"]) for result in results] == [(422, "invalid"), (200, "counted")]
    assert counts(served, name) == (2, 13.5, 0)
    found = served.get(f"/v1/decisions/{one['id']}")
    assert found["value"] == 6.5
    assert [reward["key"] for reward in found["rewards"]] == ["first", "second"]


def test_many_rewards_at_once_succeed_or_fail_one_by_one(served: Served) -> None:
    name = created(served)
    found = served.post(f"/v1/experiments/{name}/decisions", {"count": 4})["decisions"]
    rewarded(served, found[1]["id"], 1)
    sent = [
        (found[0]["id"], 1),
        (found[1]["id"], 1),
        (found[1]["id"], 0),
        ("7-00000000", 1),
        (found[2]["id"], 7),
    ]
    body = {"rewards": [{"id": one, "value": value} for one, value in [*sent, sent[0]]]}
    results = served.post("/v1/rewards", body)["results"]
    assert [one["code"] for one in results] == [200, 200, 409, 404, 422, 200]
    expected = ["counted", "repeated", "conflict", "unknown", "invalid", "repeated"]
    assert [one["status"] for one in results] == expected
    assert counts(served, name) == (2, 2, 2)
    too_many = {"rewards": [{"id": "1-00000000", "value": 1}] * 1001}
    served.post("/v1/rewards", too_many, 422)
    assert served.post("/v1/rewards", {"rewards": []})["results"] == []
