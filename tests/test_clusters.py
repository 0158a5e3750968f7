from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from clusterbandits import Clusters, InvalidInputError

RED_BLUE = {"red": ["a", "b", "c"], "blue": ["d", "e"]}


def test_named_arms() -> None:
    clusters = Clusters(RED_BLUE, widths={"blue": 0.04, "red": 0.03})
    assert clusters.names == ("red", "blue")
    assert clusters.arms == ("a", "b", "c", "d", "e")
    assert clusters.sizes == (3, 2)
    assert clusters.widths == (0.03, 0.04)
    assert clusters.members("blue") == ("d", "e")


def test_anonymous_arms_are_numbered() -> None:
    clusters = Clusters([2, 1], widths=0.1)
    assert (clusters.names, clusters.arms, clusters.widths) == ((0, 1), (0, 1, 2), (0.1, 0.1))
    assert Clusters({"x": 2, "y": 1}, widths=0.1).members("y") == (2,)


def test_arms_of_a_cluster_need_not_stand_side_by_side() -> None:
    clusters = Clusters.from_labels(["red", "blue", "red"], widths=[0.1, 0.2], arms=["p", "q", "r"])
    assert clusters.members("red") == ("p", "r")
    assert clusters.sizes == (2, 1)
    assert [part.tolist() for part in clusters.partition.members] == [[0, 2], [1]]


@pytest.mark.parametrize("widths", [0, 0.0, 1, 7.5, math.inf, np.float64(0.2), np.int64(1), [0, math.inf]])
def test_widths_from_zero_to_infinity(widths: Any) -> None:
    clusters = Clusters([1, 1], widths=widths)
    assert all(type(width) is float and width >= 0 for width in clusters.widths)


def test_equality_and_hash() -> None:
    one, same = Clusters(RED_BLUE, widths=0.1), Clusters(RED_BLUE, widths=[0.1, 0.1])
    assert one == same
    assert len({one, same}) == 1
    others: list[Any] = [
        Clusters(RED_BLUE, widths=0.2),
        Clusters([3, 2], widths=0.1),
        Clusters({"red": ["a", "b"], "blue": ["c", "d", "e"]}, widths=0.1),
        "red",
    ]
    assert all(one != other for other in others)
    assert pickle.loads(pickle.dumps(one)) == one
    frozen: Any = one
    with pytest.raises(AttributeError):
        frozen.widths = (1.0, 1.0)


labels = st.one_of(st.integers(), st.text(max_size=5))
widths_at_all = st.one_of(st.floats(0, allow_nan=False), st.just(math.inf))


@st.composite
def any_clusters(draw: st.DrawFn) -> Clusters:
    groups = draw(st.lists(labels, min_size=1, max_size=12))
    count = len(set(groups))
    arms = draw(
        st.one_of(st.none(), st.lists(labels, min_size=len(groups), max_size=len(groups), unique=True))
    )
    return Clusters.from_labels(groups, draw(st.lists(widths_at_all, min_size=count, max_size=count)), arms)


@given(any_clusters())
def test_json_round_trip(clusters: Clusters) -> None:
    text = clusters.to_json()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert Clusters.from_json(text) == clusters
    assert Clusters.from_dict(clusters.to_dict()) == clusters


@given(any_clusters())
def test_repr_makes_the_same_clusters(clusters: Clusters) -> None:
    assert eval(repr(clusters), {"Clusters": Clusters, "inf": math.inf}) == clusters


def test_large_clusters_have_a_short_repr() -> None:
    assert (
        repr(Clusters([100] * 100, widths=0.1)) == "<Clusters: 10000 arms in 100 clusters, widths 0.1 to 0.1>"
    )


def test_notebook_view_escapes_labels() -> None:
    page = Clusters({"<b>": ["&"]}, widths=math.inf)._repr_html_()
    assert "&lt;b&gt;" in page
    assert "&amp;" in page
    assert "∞" in page


def test_fits_names_what_is_too_wide() -> None:
    fit = Clusters(RED_BLUE, widths=[0.02, 0.05]).fits([0.80, 0.82, 0.84, 0.3, 0.32])
    assert not fit
    assert list(fit.violated) == ["red"]
    assert fit.violated["red"] == pytest.approx(0.02)
    assert fit.spans == pytest.approx((0.04, 0.02))
    assert str(fit) == "Cluster red spans 0.04, 0.02 more than its width 0.02."


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_fits_forgives_rounding_alone(scale: float) -> None:
    clusters = Clusters([2], widths=0.04 * scale)
    assert clusters.fits([0.80 * scale, 0.84 * scale])
    assert not clusters.fits([0.80 * scale, 0.840_000_001 * scale])
    assert clusters.fits([(0.80 + 1e-12) * scale, (0.84 + 1e-12) * scale])
    assert str(clusters.fits([0.0, 0.0])) == "Every cluster fits its width."


def test_fits_does_not_forgive_more_where_means_are_large() -> None:
    assert not Clusters([2], widths=0.1).fits([1e9, 1e9 + 0.5])
    assert not Clusters([2], widths=0.0).fits([1e-9, 2e-9])
    assert Clusters([2], widths=0.5).fits([1e9, 1e9 + 0.5])
    assert Clusters([2], widths=0.0).fits([0.3, 0.1 + 0.2])


def test_fits_takes_grouped_means() -> None:
    clusters = Clusters.from_labels(["red", "blue", "red"], widths=0.1)
    assert clusters.fits([[0.1, 0.9], [0.5]]).spans == pytest.approx((0.8, 0.0))
    assert clusters.fits(np.array([0.1, 0.5, 0.9])).spans == pytest.approx((0.8, 0.0))


def test_one_more_arm_stands_behind_the_others() -> None:
    clusters = Clusters(RED_BLUE, widths=[0.03, math.inf])
    more = clusters.with_arm("f", "red")
    assert more.arms == ("a", "b", "c", "d", "e", "f")
    assert (more.names, more.sizes, more.widths) == (("red", "blue"), (4, 2), (0.03, math.inf))
    assert (more.members("red"), more.members("blue")) == (("a", "b", "c", "f"), ("d", "e"))
    assert clusters == Clusters(RED_BLUE, widths=[0.03, math.inf])
    assert Clusters([2, 1], widths=0.1).with_arm(3, 0) == Clusters.from_labels([0, 0, 1, 0], widths=0.1)


def test_one_arm_less() -> None:
    clusters = Clusters(RED_BLUE, widths=[0.03, math.inf])
    less = clusters.without_arm("b")
    assert less == Clusters({"red": ["a", "c"], "blue": ["d", "e"]}, widths=[0.03, math.inf])
    assert clusters == Clusters(RED_BLUE, widths=[0.03, math.inf])
    assert Clusters([2, 1], widths=0.1).without_arm(0).arms == (1, 2)


def test_a_cluster_goes_with_its_last_arm() -> None:
    clusters = Clusters({"red": ["a"], "blue": ["b", "c"], "green": ["d"]}, widths=[0.1, 0.2, 0.3])
    less = clusters.without_arm("a")
    assert (less.names, less.widths, less.arms) == (("blue", "green"), (0.2, 0.3), ("b", "c", "d"))
    assert less.without_arm("b").without_arm("c") == Clusters({"green": ["d"]}, widths=0.3)


@given(any_clusters(), st.data())
def test_an_arm_that_comes_and_goes_leaves_no_trace(clusters: Clusters, data: st.DataObject) -> None:
    arm = data.draw(labels.filter(lambda label: label not in clusters.arms))
    name = data.draw(st.sampled_from(clusters.names))
    more = clusters.with_arm(arm, name)
    assert more.arms == (*clusters.arms, arm)
    assert more.widths == clusters.widths
    assert more.without_arm(arm) == clusters
    assert Clusters.from_json(more.to_json()) == more


@given(any_clusters(), st.data())
def test_removing_an_arm_keeps_all_others_as_they_were(clusters: Clusters, data: st.DataObject) -> None:
    arm = data.draw(st.sampled_from(clusters.arms))
    if len(clusters.arms) == 1:
        with pytest.raises(InvalidInputError):
            clusters.without_arm(arm)
        return
    less = clusters.without_arm(arm)
    assert less.arms == tuple(label for label in clusters.arms if label != arm)
    width = dict(zip(clusters.names, clusters.widths, strict=True))
    left = {name: [label for label in clusters.members(name) if label != arm] for name in clusters.names}
    assert set(less.names) == {name for name, members in left.items() if members}
    for name, declared in zip(less.names, less.widths, strict=True):
        assert (list(less.members(name)), declared) == (left[name], width[name])


NO_LABELS: list[Any] = [None, 1.5, ["a"], {}, ("a",), math.nan, b"a", np.array(["a", "b"]), np.array([0, 1])]


@pytest.mark.parametrize("label", NO_LABELS, ids=repr)
def test_what_is_no_label_is_neither_added_nor_removed(label: Any) -> None:
    clusters = Clusters(RED_BLUE, widths=0.1)
    calls: list[Any] = [
        lambda: clusters.with_arm(label, "red"),
        lambda: clusters.with_arm("f", label),
        lambda: clusters.without_arm(label),
        lambda: clusters.members(label),
    ]
    for call in calls:
        with pytest.raises(InvalidInputError) as caught:
            call()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: Clusters([], 0.1),
            "Clusters: arms must be at least one cluster, but got [].",
        ),
        (
            lambda: Clusters([2, 0], 0.1),
            "Clusters: arms must be a whole number of at least 1, but got 0",
        ),
        (
            lambda: Clusters([["a"], []], 0.1),
            "must be at least one arm per cluster, but got none in 1.",
        ),
        (
            lambda: Clusters({"x": []}, 0.1),
            "must be at least one arm per cluster, but got none in 'x'.",
        ),
        (
            lambda: Clusters([["a", "b"], ["a"]], 0.1),
            "must be different labels, but got 'a' twice.",
        ),
        (lambda: Clusters(7, 0.1), "must be a list of cluster sizes or groups, or a mapping, but got 7."),
        (
            lambda: Clusters("abc", 0.1),
            "must be a list of cluster sizes or groups, or a mapping, but got 'abc'",
        ),
        (lambda: Clusters([["a", 1.5]], 0.1), "labels that are text or whole numbers, but got 1.5."),
        (
            lambda: Clusters([["a"], 2], 0.1),
            "Clusters: arms must be lists of labels, but got 2.",
        ),
        (lambda: Clusters([2, "x"], 0.1), "must be a whole number of at least 1, but got 'x'."),
        (
            lambda: Clusters([2], -0.1),
            "Clusters: widths must be numbers from 0 to infinity, but got -0.1",
        ),
        (lambda: Clusters([2], math.nan), "must be numbers from 0 to infinity, but got nan."),
        (lambda: Clusters([2], "wide"), "must be numbers from 0 to infinity, but got 'wide'."),
        (lambda: Clusters([2], True), "must be numbers from 0 to infinity, but got True."),
        (lambda: Clusters([2], np.array(0.1)), "must be numbers from 0 to infinity, but got array(0.1)."),
        (lambda: Clusters([2], 0.1).fits([1e308, -1e308]), "finite numbers of at most 1e+100"),
        (lambda: Clusters([2], None), "must be numbers from 0 to infinity, but got None."),
        (
            lambda: Clusters([2, 2], [0.1]),
            "one number, or one for each of the 2 clusters, but got 1 widths.",
        ),
        (
            lambda: Clusters(RED_BLUE, {"red": 0.1}),
            "one width for each of 'red', 'blue', but got widths for ['red']",
        ),
        (
            lambda: Clusters.from_labels([], 0.1),
            "Clusters: labels must be the cluster of every arm",
        ),
        (
            lambda: Clusters.from_labels(["x"], 0.1, arms=["a", "b"]),
            "Clusters: arms must be one label for each of 1 arms, but got 2",
        ),
        (
            lambda: Clusters(RED_BLUE, 0.1).with_arm("a", "blue"),
            "Clusters.with_arm: arms must be different labels, but got 'a' twice",
        ),
        (
            lambda: Clusters(RED_BLUE, 0.1).with_arm("f", "violet"),
            "Unknown cluster 'violet'. Available: red, blue.",
        ),
        (
            lambda: Clusters(RED_BLUE, 0.1).with_arm(True, "red"),
            "Clusters.with_arm: arms must be labels that are text or whole numbers",
        ),
        (
            lambda: Clusters(RED_BLUE, 0.1).without_arm("f"),
            "Unknown arm 'f'. Available: a, b, c, d, e.",
        ),
        (
            lambda: Clusters([["a"]], 0.1).without_arm("a"),
            "one of at least two arms, but got 'a'",
        ),
        (
            lambda: Clusters([2], 0.1).members(5),
            "Unknown cluster 5. Available: 0.",
        ),
        (lambda: Clusters([2], 0.1).fits([0.1]), "Clusters.fits: means must be 2 means"),
        (lambda: Clusters([2], 0.1).fits([0.1, math.nan]), "must be finite numbers of at most"),
        (
            lambda: Clusters([2], 0.1).fits([[0.1], [0.2]]),
            "grouped as the clusters, [2], but got groups of [1, 1]",
        ),
        (lambda: Clusters.from_json("{"), "Clusters.from_json: text must be JSON"),
        (
            lambda: Clusters.from_json("[]"),
            "a mapping with exactly the keys clusters, arms, membership, widths",
        ),
        (lambda: Clusters.from_json('{"arms": []}'), "a mapping with exactly the keys"),
        (
            lambda: Clusters.from_json('{"clusters": [], "arms": [], "membership": [], "widths": []}'),
            "Clusters: ",
        ),
        (
            lambda: Clusters.from_json(
                '{"clusters": [0, 0], "arms": [0, 1], "membership": [0, 1], "widths": 1}'
            ),
            "Clusters: clusters must be different labels, but got 0 twice",
        ),
        (
            lambda: Clusters.from_json(
                '{"clusters": [0, 1], "arms": [0, 1], "membership": [0, 2], "widths": 1}'
            ),
            "Clusters: membership must be a cluster number below 2 for each of 2 arms",
        ),
    ],
)
def test_bad_input_gets_one_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        call()
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Clusters([10**9], widths=0.1),
        lambda: Clusters({"a": 10**15}, widths=0.1),
        lambda: Clusters([60_000, 60_000], widths=0.1),
        lambda: Clusters([range(100_001)], widths=0.1),
        lambda: Clusters.from_labels([0] * 100_001, widths=0.1),
    ],
)
def test_too_many_arms_are_refused_before_they_are_made(make: Callable[[], Clusters]) -> None:
    with pytest.raises(InvalidInputError, match=r"at most 100,000 arms in total, but got 1[\d,]+\.$"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Clusters({"\ud800": 2}, widths=0.1),
        lambda: Clusters([["a", "b\udcff"]], widths=0.1),
        lambda: Clusters.from_labels(["\ud800"], widths=0.1),
    ],
)
def test_names_that_no_file_could_hold_are_refused(make: Callable[[], Clusters]) -> None:
    with pytest.raises(InvalidInputError, match=r"labels that can be encoded as UTF-8, but got '[a-z]?\\ud"):
        make()


def test_deep_json_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="must be JSON"):
        Clusters.from_json("[" * 100_000)


def test_long_lists_of_names_are_cut() -> None:
    clusters = Clusters({f"cluster {k}": 1 for k in range(1000)}, widths=0.1)
    with pytest.raises(InvalidInputError, match=r"'x'.* cluster 1, .*, … and 9\d\d more\.$") as error:
        clusters.members("x")
    assert len(str(error.value)) < 400


def test_numbers_too_long_to_show_are_described() -> None:
    with pytest.raises(InvalidInputError, match="got a value of type int that is too large to show"):
        Clusters([10**5000], widths=0.1)


def test_json_with_half_a_character_is_refused() -> None:
    text = '{"clusters":["\\ud800"],"arms":[0],"membership":[0],"widths":[1]}'
    with pytest.raises(InvalidInputError, match="lone surrogate"):
        Clusters.from_json(text)
