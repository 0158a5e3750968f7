"""Policies as text: strict, versioned, exact to the last bit; damaged texts are refused."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import clusterbandits as cb
from tests.policies.learner import CLUSTERS, EACH_FAMILY, EACH_KIND, KINDS, Walk, after_rewards, draw, refusal

pytestmark = pytest.mark.filterwarnings("ignore::clusterbandits.WidthWarning")

INF = math.inf
#: A policy in the middle of a hold, with rewards awaited and an arm removed: the format as it must stay.
MIDWAY: dict[str, Any] = {
    "format": "clusterbandits policy 3",
    "policy": "clus-ucb",
    "settings": {
        "a": 2.0,
        "refresh": 7,
        "leader": "clustered",
        "hedge": 0.0,
        "alarm": "warn",
        "alarm_level": 0.05,
    },
    "family": "bernoulli",
    "label": "clus-ucb:a=2.0,refresh=7",
    "clusters": {
        "clusters": ["red", "blue"],
        "arms": ["a", "b", "c", "e", "f"],
        "membership": [0, 1, 0, 1, 0],
        "widths": [0.05, 0.1],
    },
    "pulls": [8, 15, 8, 15, 6],
    "totals": [3.0, 4.0, 2.0, 7.0, 1.0],
    "awaited": [0, 0, 0, 2, 2],
    "retired": ["c"],
    "rounds": 64,
    "choice": {"last": "e", "until": 70},
    "watched": {"look": 66, "alarms": []},
}


def strict(text: str) -> Any:
    """Read JSON that holds none of the words Python adds to it."""
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def check_goes_on(policy: Any, again: Any, rounds: int = 200, seed: int = 0) -> None:
    """Check that a policy and one restored from it are the same, and stay so."""
    assert again.to_json() == policy.to_json()
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        arm = policy.ask()
        assert again.ask() == arm
        reward = draw(policy, arm, rng)
        policy.tell(arm, reward)
        again.tell(arm, reward)
    assert again.to_json() == policy.to_json()


def saved_midway() -> dict[str, Any]:
    return copy.deepcopy(MIDWAY)


def restored(document: object) -> cb.Policy:
    return cb.Policy.from_json(json.dumps(document))


@EACH_KIND
@EACH_FAMILY
@pytest.mark.parametrize("refresh", [1, 7])
def test_a_policy_goes_on_where_it_was(kind: str, family: str, refresh: int) -> None:
    for rounds in (0, 3, 6, 9, 41):
        policy = after_rewards(kind, rounds, family, rounds, refresh=refresh, a=0.1 + 0.2)
        text = policy.to_json()
        strict(text)
        again = type(policy).from_json(text)
        assert type(again) is type(policy)
        assert (again.clusters, again.family, again.settings) == (CLUSTERS, policy.family, policy.settings)
        check_goes_on(policy, again)


@EACH_KIND
@pytest.mark.parametrize("seed", range(6))
def test_a_policy_goes_on_from_any_moment(kind: str, seed: int) -> None:
    walk = Walk(KINDS[kind](CLUSTERS, refresh=1 + 3 * (seed % 3)), seed)
    for _ in range(20 + 7 * seed):
        walk.step("ask", "ask", "ask_many", "tell", "tell", "tell_unasked", "add", "remove")
    check_goes_on(walk.policy, cb.Policy.from_json(walk.policy.to_json()), seed=seed)


def test_nothing_is_lost() -> None:
    clusters = cb.Clusters.from_labels(
        [0, "0", 0, "ü"], widths=[INF, 0, 0.1 + 0.2], arms=["", '\n"\\', 3, "💡"]
    )
    policy = cb.ClusUCB(
        clusters, a=0.1, refresh=9, leader="plain", label="<mine>", family="gaussian:sigma=0.3"
    )
    policy.tell(3, 0.1 + 0.2)
    policy.tell("", -1e-300)
    policy.tell("💡", 1e17)
    policy.tell("💡", 1)
    policy.ask(3)
    again: Any = cb.Policy.from_json(policy.to_json())
    assert repr(again) == repr(policy)
    assert again.to_json() == policy.to_json()
    assert (again.label, again.spec, again.clusters) == ("<mine>", policy.spec, clusters)
    assert again.family == cb.Gaussian(sigma=0.3)
    assert again.totals == {"": -1e-300, '\n"\\': 0.0, 3: 0.1 + 0.2, "💡": 1e17}
    assert (again.pulls, again.awaited, again.rounds) == (policy.pulls, policy.awaited, 7)


def test_a_hold_is_remembered() -> None:
    policy = after_rewards("kl-ucb", seed=1, rounds=6 + 2, refresh=1000)
    held = policy.ask()
    again = cb.KLUCB.from_json(policy.to_json())
    assert again.ask(997) == [held] * 997
    again.tell(held, 0, pulls=998)
    assert again.ask() != held


def test_format_2_has_no_retired_arms() -> None:
    document = saved_midway()
    del document["retired"]
    document["format"] = "clusterbandits policy 2"
    again = restored(document)
    assert again.retired == ()
    assert strict(again.to_json()) == saved_midway() | {"retired": []}


def test_the_text_is_strict_and_versioned() -> None:
    policy = cb.ClusUCB(cb.Clusters([2, 1], widths=INF), refresh=3)
    policy.tell(0, 0.5)
    document = strict(policy.to_json())
    assert list(document) == list(MIDWAY)
    assert re.fullmatch(r"clusterbandits policy \d+", document["format"])
    assert document["clusters"]["widths"] == ["inf", "inf"]
    assert (document["pulls"], document["totals"], document["rounds"]) == ([1, 0, 0], [0.5, 0.0, 0.0], 1)


def test_the_format_stays() -> None:
    policy = restored(MIDWAY)
    assert policy.to_json() == json.dumps(MIDWAY)
    assert policy.pulls == {"a": 8, "b": 15, "c": 8, "e": 15, "f": 6}
    assert policy.totals == {"a": 3.0, "b": 4.0, "c": 2.0, "e": 7.0, "f": 1.0}
    assert (policy.awaited, policy.rounds) == ({"e": 2, "f": 2}, 64)
    assert policy.clusters == cb.Clusters.from_labels(
        ["red", "blue", "red", "blue", "red"], widths=[0.05, 0.1], arms=[*"abcef"]
    )
    assert policy.ask(5) == ["e"] * 5


def test_saving_changes_nothing() -> None:
    policy = after_rewards("clus-ucb", seed=1, refresh=7)
    policy.ask(2)
    assert policy.to_json() == policy.to_json()
    twin = after_rewards("clus-ucb", seed=1, refresh=7)
    twin.ask(2)
    assert policy.ask(20) == twin.ask(20)


@EACH_KIND
def test_any_kind_is_restored_by_its_name(kind: str) -> None:
    policy = after_rewards(kind, seed=2)
    assert type(cb.Policy.from_json(policy.to_json())) is type(policy)


def test_another_kind_is_refused() -> None:
    kl, clus = cb.KLUCB(CLUSTERS), cb.ClusUCB(CLUSTERS)
    assert "must be 'clus-ucb', but got 'kl-ucb'." in refusal(lambda: cb.ClusUCB.from_json(kl.to_json()))
    assert "must be 'kl-ucb', but got 'clus-ucb'." in refusal(lambda: cb.KLUCB.from_json(clus.to_json()))


def test_the_order_of_keys_does_not_matter() -> None:
    document = saved_midway()
    backwards = {key: document[key] for key in reversed(document)}
    assert restored(backwards).to_json() == json.dumps(document, ensure_ascii=False)


def test_totals_at_the_edge_of_floats_are_restored() -> None:
    for family, reward, times in (("gaussian", 1e100, 10), ("exponential", 1e-100, 93)):
        policy = cb.KLUCB(CLUSTERS, family=family)
        for _ in range(times):
            policy.tell("a", reward)
        assert cb.Policy.from_json(policy.to_json()).to_json() == policy.to_json()


@pytest.mark.parametrize("refresh", [1, 10**9])
def test_the_last_rounds_there_are_can_be_saved(refresh: int) -> None:
    policy = cb.KLUCB(cb.Clusters([1], widths=0.1), refresh=refresh)
    policy.tell(0, 10**14, pulls=10**15 - 3)
    policy.ask()
    with contextlib.suppress(cb.InvalidInputError):
        policy.ask(5)
    assert cb.Policy.from_json(policy.to_json()).to_json() == policy.to_json()
    policy.tell(0, 1)
    assert policy.pulls == {0: 10**15 - 2}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "3",
        "{}",
        '"clusterbandits policy 3"',
        "[" * 100_000,
        "{'a': 1}",
        None,
        3,
        {},
        b"\xff",
    ],
    ids=lambda text: repr(text)[:20],
)
def test_what_is_no_document_is_refused(text: Any) -> None:
    sentence = refusal(lambda: cb.ClusUCB.from_json(text))
    assert re.match(r"ClusUCB\.from_json: (text|format) must be ", sentence)


def nested_keys(document: Any) -> list[tuple[str, ...]]:
    inside = [(key, part) for key in document if isinstance(document[key], dict) for part in document[key]]
    return [*((key,) for key in document), *inside]


@pytest.mark.parametrize("path", nested_keys(MIDWAY), ids=".".join)
def test_a_missing_key_is_refused(path: tuple[str, ...]) -> None:
    document = saved_midway()
    place = document
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    refusal(lambda: restored(document))


@pytest.mark.parametrize("place", [(), ("settings",), ("clusters",), ("choice",)])
def test_an_unknown_key_is_refused(place: tuple[str, ...]) -> None:
    document = saved_midway()
    inside = document
    for key in place:
        inside = inside[key]
    inside["more"] = 1
    refusal(lambda: restored(document))


WRONG: list[Any] = [None, True, -1, 2.5, "text", [], {}, [None], [[]], {"more": 1}, math.nan]


@pytest.mark.parametrize("key", [key for key in MIDWAY if key != "label"])
@pytest.mark.parametrize("value", WRONG, ids=repr)
def test_a_wrong_type_is_refused(key: str, value: Any) -> None:
    if (key, value) == ("retired", []):
        pytest.skip("no arm need be retired")
    document = saved_midway()
    document[key] = value
    refusal(lambda: restored(document))


def change(*path: Any, to: Any) -> Callable[[Any], None]:
    def apply(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = to

    return apply


def alarm(**changes: Any) -> dict[str, Any]:
    return {"cluster": "red", "round": 60, "width": 0.05, "evidence": 20.0, "needed": 12.5} | changes


def with_alarms(*alarms: Any) -> Callable[[Any], None]:
    return change("watched", "alarms", to=list(alarms))


DAMAGED: dict[str, Callable[[Any], object]] = {
    "label of a number": change("label", to=3),
    "empty label": change("label", to=" "),
    "later format": change("format", to="clusterbandits policy 4"),
    "unknown policy": change("policy", to="ucb2"),
    "unknown family": change("family", to="cauchy"),
    "unknown parameter of the family": change("family", to="bernoulli:sigma=1"),
    "bad parameter of the family": change("family", to="gaussian:sigma=-1"),
    "unknown setting": change("settings", "b", to=1),
    "setting of another type": change("settings", "a", to="2"),
    "setting out of range": change("settings", "refresh", to=0),
    "setting of NaN": change("settings", "a", to=math.nan),
    "unknown leader": change("settings", "leader", to="none"),
    "too few pulls": lambda document: document["pulls"].pop(),
    "too many totals": lambda document: document["totals"].append(0.0),
    "too many awaited": lambda document: document["awaited"].append(0),
    "negative pulls": change("pulls", 0, to=-1),
    "half a pull": change("pulls", 0, to=1.5),
    "pulls of text": change("pulls", 0, to="1"),
    "pulls of true": change("pulls", 0, to=True),
    "endless pulls": change("pulls", 0, to=10**400),
    "negative awaited": change("awaited", 1, to=-2),
    "awaited of null": change("awaited", 1, to=None),
    "total above its pulls": change("totals", 0, to=1e6),
    "total below 0": change("totals", 0, to=-0.5),
    "total of NaN": change("totals", 0, to=math.nan),
    "total without end": change("totals", 0, to=INF),
    "total of text": change("totals", 0, to="0.5"),
    "total of null": change("totals", 0, to=None),
    "total of a list": change("totals", 0, to=[1]),
    "an unknown retired arm": change("retired", to=["d"]),
    "a retired arm twice": change("retired", to=["a", "a"]),
    "retired arms alone": change("retired", to=["a", "b", "c", "e", "f"]),
    "retired arms in format 2": change("format", to="clusterbandits policy 2"),
    "rounds fewer than pulls": change("rounds", to=10),
    "rounds one fewer than pulls": lambda document: document.update(
        rounds=sum(document["pulls"]) + sum(document["awaited"]) - 1
    ),
    "rounds of half": change("rounds", to=1000.5),
    "rounds without end": change("rounds", to=INF),
    "until beyond the refresh": change("choice", "until", to=64 + 7 + 1),
    "until without a last arm": change("choice", "last", to=None),
    "look beyond the schedule": change("watched", "look", to=10**15),
    "look between rounds of the schedule": change("watched", "look", to=65),
    "no look at widths that are watched": change("watched", "look", to=None),
    "look of round 0": change("watched", "look", to=0),
    "look of half a round": change("watched", "look", to=65.5),
    "an alarm of nobody": with_alarms(alarm(cluster="green")),
    "an alarm of a list": with_alarms(alarm(cluster=["red"])),
    "two alarms of a cluster": with_alarms(alarm(), alarm()),
    "an alarm in a later round": with_alarms(alarm(round=66)),
    "an alarm in round 0": with_alarms(alarm(round=0)),
    "an alarm of another width": with_alarms(alarm(width=0.06)),
    "an alarm without evidence": with_alarms(alarm(evidence=-1.35e3, needed="-inf")),
    "an alarm of too little evidence": with_alarms(alarm(evidence=5.0, needed=5.1)),
    "an alarm that needs all": with_alarms(alarm(evidence="inf", needed="inf")),
    "an alarm of NaN": with_alarms(alarm(evidence="nan")),
    "an alarm that nobody waits for": lambda document: (
        with_alarms(alarm())(document),
        change("settings", "alarm", to="ignore")(document),
    ),
    "total of true": change("totals", 4, to=True),
    "last of an unknown arm": change("choice", "last", to="z"),
    "last of a list": change("choice", "last", to=["a"]),
    "last of an object": change("choice", "last", to={}),
    "last of a number": change("choice", "last", to=0.5),
    "until below 0": change("choice", "until", to=-1),
    "until of text": change("choice", "until", to="7"),
    "until of NaN": change("choice", "until", to=math.nan),
    "until of null": change("choice", "until", to=None),
    "arm twice": change("clusters", "arms", 0, to="b"),
    "arm of a number that is not whole": change("clusters", "arms", 0, to=0.5),
    "arm of a list": change("clusters", "arms", 0, to=[]),
    "cluster twice": change("clusters", "clusters", 0, to="blue"),
    "unknown cluster": change("clusters", "membership", 0, to=2),
    "empty cluster": change("clusters", "membership", to=[0, 0, 0, 0, 0]),
    "negative width": change("clusters", "widths", 0, to=-0.1),
    "width of NaN": change("clusters", "widths", 0, to=math.nan),
    "too few widths": change("clusters", "widths", to=[0.1]),
    "no arms at all": lambda document: document.update(
        clusters={"clusters": [], "arms": [], "membership": [], "widths": []}, pulls=[], totals=[], awaited=[]
    ),
    "no arms but pulls": change("clusters", to={"clusters": [], "arms": [], "membership": [], "widths": []}),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_document_is_refused(damage: str) -> None:
    document = saved_midway()
    assert restored(document).rounds == 64
    DAMAGED[damage](document)
    refusal(lambda: restored(document))


SOUND: dict[str, Callable[[Any], object]] = {
    "until at the end of a hold": change("choice", "until", to=64 + 7),
    "nothing chosen yet": change("choice", to={"last": None, "until": 0}),
    "looked long ago": change("watched", "look", to=1),
    "an alarm": with_alarms(alarm()),
    "an alarm of all evidence there is": with_alarms(alarm(evidence="inf")),
    "an alarm of the next round": with_alarms(alarm(round=65)),
    "two alarms": with_alarms(alarm(), alarm(cluster="blue", width=0.1, round=61)),
    "rounds of arms since removed": change("rounds", to=10**14),
    "the last rounds there are": change("rounds", to=10**15),
    "awaited without end": lambda document: document.update(awaited=[0, 0, 0, 10**14, 0], rounds=10**15),
    "a width of the least float": change("clusters", "widths", 0, to=5e-324),
    "a width of the largest float": change("clusters", "widths", 0, to=1.7e308),
    "a hold without end": change("settings", "refresh", to=10**9),
}


@pytest.mark.parametrize("edit", SOUND)
def test_an_edit_that_could_be_true_works(edit: str) -> None:
    document = saved_midway()
    SOUND[edit](document)
    policy: Any = restored(document)
    assert policy.to_json() == json.dumps(document, ensure_ascii=False)
    policy.explain()
    if policy.rounds < 10**15:
        policy.tell(policy.ask(), 1)
    assert restored(json.loads(policy.to_json())).to_json() == policy.to_json()


TEXTS: dict[str, Callable[[str], str]] = {
    "a key twice": lambda text: text.replace("{", '{"rounds": 64, ', 1),
    "a key twice inside": lambda text: text.replace('"until": 70', '"until": 70, "until": 70'),
    "NaN": lambda text: text.replace("3.0", "NaN"),
    "Infinity": lambda text: text.replace("0.05", "Infinity"),
    "a width beyond floats": lambda text: text.replace("[0.05", "[1e400"),
    "a number of 5,000 digits": lambda text: text.replace("64", "6" * 5000),
    "a lone surrogate": lambda text: text.replace('"red"', '"\\ud800"'),
    "a lone surrogate as it is": lambda text: text.replace('"red"', '"\ud800"'),
    "nested deep": lambda text: text.replace("[3.0", "[" * 900 + "3.0").replace("1.0]", "1.0" + "]" * 900),
    "nested deeper": lambda text: text.replace("[3.0", "[" * 10**5 + "3.0"),
    "nested too deep": lambda text: text.replace("64", "[" * 11 + "]" * 11),
    "text behind it": lambda text: f"{text} {text}",
    "a mark before it": lambda text: f"\ufeff{text}",
}


@pytest.mark.parametrize("edit", TEXTS)
def test_text_that_readers_take_differently_is_refused(edit: str) -> None:
    text = json.dumps(MIDWAY)
    assert TEXTS[edit](text) != text
    sentence = refusal(lambda: cb.Policy.from_json(TEXTS[edit](text)))
    assert len(sentence) < 300
    assert "JSON" in sentence
    sentence.encode()


def test_zeros_below_0_are_zeros() -> None:
    document = saved_midway()
    document["awaited"][0] = document["awaited"][1] = -0.0
    document["totals"][0] = -0.0
    document["clusters"]["widths"][0] = -0.0
    policy = restored(document)
    assert policy.totals["a"] == 0.0
    assert policy.awaited == {"e": 2, "f": 2}
    assert math.copysign(1.0, policy.clusters.widths[0]) == 1.0


def test_a_stream_of_other_numbers_is_refused() -> None:
    policy = cb.Thompson(CLUSTERS)
    policy.tell("a", 1)
    document = json.loads(policy.to_json())
    assert restored(document).to_json() == policy.to_json()
    for stream in (
        None,
        [],
        ["1"] * 3,
        ["1", "2", "3", str(2**64)],
        ["1", "2", "3", 4],
        ["-1", "2", "3", "4"],
    ):
        document["choice"]["stream"] = stream
        assert "stream" in refusal(lambda: restored(document))


def test_alarms_of_a_policy_without_widths_are_refused() -> None:
    document = json.loads(cb.KLUCB(CLUSTERS).to_json())
    document["watched"]["alarms"] = [alarm(round=1)]
    refusal(lambda: restored(document))


def test_a_thousand_long_names_make_one_short_sentence() -> None:
    clusters = cb.Clusters([[f"{number}{'x' * 200}" for number in range(1000)]], widths=0.1)
    policy = cb.KLUCB(clusters)
    for call in (lambda: policy.tell("nobody", 1), lambda: policy.cancel(clusters.arms[0])):
        assert len(refusal(call)) < 400
    document = json.loads(policy.to_json())
    document["choice"]["last"] = "nobody"
    assert len(refusal(lambda: restored(document))) < 400


@pytest.mark.parametrize("total", [0.5, -1, "0", None, [], math.nan, INF])
def test_a_total_without_pulls_is_refused(total: Any) -> None:
    document = json.loads(cb.KLUCB(CLUSTERS).to_json())
    document["totals"][2] = total
    refusal(lambda: restored(document))


@pytest.mark.parametrize(
    ("family", "total"),
    [("poisson", 2.5), ("poisson", -1), ("exponential", 0), ("exponential", -1), ("gaussian", INF)],
)
def test_a_total_outside_the_support_is_refused(family: str, total: float) -> None:
    policy = after_rewards("kl-ucb", seed=1, family=family, rounds=20)
    document = json.loads(policy.to_json())
    document["totals"][2] = total
    refusal(lambda: restored(document))


def places(document: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document, from the outside to the inside."""
    if isinstance(document, dict | list):
        keys = list(document) if isinstance(document, dict) else range(len(document))
        for key in keys:
            yield (*above, key)
            yield from places(document[key], (*above, key))


PLACES = list(places(MIDWAY))
numbers = st.one_of(st.integers(-3, 100), st.integers(), st.floats(), st.sampled_from([0.5, -0.0, 2**63]))
leaves = st.one_of(
    st.none(), st.booleans(), numbers, st.text(max_size=3), st.sampled_from([*"abcf", "inf", "plain"])
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)
mutations = st.lists(st.tuples(st.sampled_from(PLACES), st.booleans(), values), min_size=1, max_size=3)


def mutate(document: Any, place: tuple[Any, ...], delete: bool, value: Any) -> None:
    """Delete or replace what is at a place, unless an earlier mutation took it away."""
    for key in place[:-1]:
        document = document[key]
    if delete:
        del document[place[-1]]
    else:
        document[place[-1]] = value


@given(mutations)
@settings(max_examples=600)
def test_mutated_documents_are_refused_or_work(changes: list[tuple[tuple[Any, ...], bool, Any]]) -> None:
    document = copy.deepcopy(MIDWAY)
    for place, delete, value in changes:
        try:
            mutate(document, place, delete, value)
        except (LookupError, TypeError):
            return
    try:
        policy: Any = restored(document)
    except cb.ClusterBanditsError:
        return
    strict(policy.to_json())
    again = cb.Policy.from_json(policy.to_json())
    assert again.to_json() == policy.to_json()
    for _ in range(5):
        arm = policy.ask()
        assert arm in policy.clusters.arms
        assert again.ask() == arm
        for one in (policy, again):
            one.tell(arm, 1)
    assert len(policy.explain().arms) == len(policy.clusters.arms)
    assert again.to_json() == policy.to_json()


@given(st.text(max_size=40) | st.binary(max_size=40))
def test_any_other_text_is_refused(text: Any) -> None:
    with pytest.raises(cb.InvalidInputError):
        cb.Policy.from_json(text)


@given(st.integers(0, len(cb.ClusUCB(CLUSTERS).to_json()) - 1))
def test_a_text_cut_off_is_refused(length: int) -> None:
    text = cb.ClusUCB(CLUSTERS).to_json()
    with pytest.raises(cb.InvalidInputError):
        cb.ClusUCB.from_json(text[:length])
