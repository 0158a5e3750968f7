from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

from clusterbandits import Clusters, Gaussian, Instance, InvalidInputError, Poisson


def test_grouped_means() -> None:
    instance = Instance([[0.41, 0.42, 0.43], [0.43, 0.44, 0.45]])
    assert instance.family.name == "bernoulli"
    assert instance.best_mean == 0.45
    assert instance.best_arms == (5,)
    assert instance.gaps == pytest.approx([0.04, 0.03, 0.02, 0.02, 0.01, 0.0])
    assert instance.spans == pytest.approx((0.02, 0.02))
    assert instance.clusters([0.03, 0.04]) == Clusters([3, 3], widths=[0.03, 0.04])
    assert instance.clusters().fits(instance.means)


def test_every_way_to_write_the_same_means() -> None:
    flat = Instance([0.1, 0.2, 0.3], labels=["x", "x", "y"])
    by_name = Instance({"x": [0.1, 0.2], "y": [0.3]})
    assert flat == by_name
    assert hash(flat) == hash(by_name)
    assert Instance(np.array([[0.1, 0.2], [0.3, 0.4]])) == Instance([[0.1, 0.2], [0.3, 0.4]])
    assert Instance([0.1, 0.2]).partition.sizes == (2,)
    labelled = Instance({"x": {"a": 0.1, "b": 0.2}, "y": {"c": 0.3}})
    assert labelled.arms == ("a", "b", "c")
    assert labelled.best_arms == ("c",)
    assert labelled != by_name


loosely: Any = Instance.from_dict


class Series:
    """What the package needs to know of a pandas Series: it is iterated by value and has labelled items."""

    def __init__(self, values: dict[Any, Any]) -> None:
        self._values = values

    def __iter__(self) -> Any:
        return iter(self._values.values())

    def keys(self) -> Any:
        return self._values.keys()

    def items(self) -> Any:
        return self._values.items()


def test_flat_means_with_arm_labels() -> None:
    wanted = Instance({"x": {"a": 0.1, "b": 0.2}, "y": {"c": 0.3}})
    flat = {"a": 0.1, "b": 0.2, "c": 0.3}
    assert Instance(flat, labels=["x", "x", "y"]) == wanted
    assert Instance([0.1, 0.2, 0.3], labels=["x", "x", "y"], arms=["a", "b", "c"]) == wanted
    assert Instance(Series(flat), labels=Series({0: "x", 1: "x", 2: "y"})) == wanted
    assert Instance(Series({0: 0.1, 1: 0.2})) == Instance([0.1, 0.2])
    assert Clusters({"x": 2, "y": 1}, widths=Series({"y": 0.3, "x": 0.1})).widths == (0.1, 0.3)
    assert Clusters({"x": 2, "y": 1}, widths=Series({0: 0.3, 1: 0.1})).widths == (0.3, 0.1)


def test_plain_data_round_trip() -> None:
    one = Instance([0.1, 0.9, 0.3], labels=["x", "y", "x"], arms=["p", "q", "r"], family="gaussian:sigma=2")
    assert Instance.from_dict(one.to_dict()) == one
    with pytest.raises(InvalidInputError, match=r"one for each of the 2 means, but got 3 labels"):
        Instance.from_dict(one.to_dict() | {"means": [0.1, 0.2]})
    with pytest.raises(InvalidInputError, match="exactly the keys family, clusters, arms, membership, means"):
        loosely({1: 2, "a": 3})


def test_scattered_labels_keep_the_order_of_arms() -> None:
    instance = Instance([0.1, 0.9, 0.3], labels=["x", "y", "x"])
    assert instance.means.tolist() == [0.1, 0.9, 0.3]
    assert instance.spans == pytest.approx((0.2, 0.0))
    assert instance.best_arms == (1,)


def test_several_best_arms() -> None:
    assert Instance([[0.5, 0.5], [0.5, 0.1]]).best_arms == (0, 1, 2)


def test_means_cannot_be_changed() -> None:
    given = np.array([0.1, 0.2])
    instance = Instance(given)
    given[0] = 0.9
    assert instance.means.tolist() == [0.1, 0.2]
    with pytest.raises(ValueError, match="read-only"):
        instance.means[0] = 0.5


@pytest.mark.parametrize(
    "instance",
    [
        Instance([[0.1, 0.2], [0.3]]),
        Instance({"x": [0.1, 0.2], "y": [0.3]}, family="poisson"),
        Instance({"x": {"a": -1.0}, "y": {"b": 2.0}}, family=Gaussian(sigma=2.0)),
        Instance([0.1, 0.9, 0.3], labels=["x", "y", "x"]),
    ],
)
def test_repr_makes_the_same_instance(instance: Instance) -> None:
    assert eval(repr(instance), {"Instance": Instance}) == instance
    assert pickle.loads(pickle.dumps(instance)) == instance


def test_large_instances_have_a_short_repr() -> None:
    text = repr(Instance([np.linspace(0, 1, 50)], family=Poisson()))
    assert text == "<Instance: 50 arms in 1 groups, means 0 to 1, poisson>"


def test_plain_data() -> None:
    data = Instance({"x": {"a": 0.1}, "y": {"b": 0.2}}, family="gaussian:sigma=2").to_dict()
    assert data == {
        "family": "gaussian:sigma=2.0",
        "clusters": ["x", "y"],
        "arms": ["a", "b"],
        "membership": [0, 1],
        "means": [0.1, 0.2],
    }


def test_notebook_view() -> None:
    assert "<td" in Instance([[0.1], [0.2]])._repr_html_()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Instance([]), "Instance: means must be at least one mean, but got []."),
        (lambda: Instance([[0.1], []]), "must be at least one mean per group"),
        (lambda: Instance({}), "Instance: means must be at least one mean"),
        (lambda: Instance(0.5), "must be a list of means, a list of groups, or a mapping, but got 0.5."),
        (lambda: Instance("0.1,0.2"), "must be a list of means, a list of groups, or a mapping"),
        (lambda: Instance([0.1, math.nan]), "must be finite numbers, but got nan."),
        (lambda: Instance([0.1, math.inf], family="gaussian"), "must be finite numbers, but got inf."),
        (lambda: Instance([0.1, "x"]), "must be finite numbers, but got 'x'."),
        (lambda: Instance([0.1, None]), "must be finite numbers, but got None."),
        (lambda: Instance([0.1, 10**400]), "must be finite numbers"),
        (
            lambda: Instance([0.1, 1.2]),
            "must be from 0 to 1 for bernoulli rewards, but got 1.2.",
        ),
        (
            lambda: Instance([0.1, -0.2], family="poisson"),
            "from 0 to 1e+100 for poisson rewards, but got -0.2",
        ),
        (
            lambda: Instance([0.1, 0.0], family="exponential"),
            "from 1e-100 to 1e+100 for exponential rewards, but got 0.0",
        ),
        (lambda: Instance([0.1], family="beta"), "Unknown family 'beta'. Available: bernoulli"),
        (lambda: Instance([[0.1], 0.2]), "must be either flat or grouped throughout, but got 0.2."),
        (lambda: Instance([{"a": 0.1}, [0.2]]), "must be labelled in all groups or in none"),
        (
            lambda: Instance([{"a": 0.1}, {"a": 0.2}]),
            "must be different labels, but got 'a' twice",
        ),
        (
            lambda: Instance([0.1, 0.2], labels=["x"]),
            "Instance: labels must be one for each of the 2",
        ),
        (lambda: Instance(np.array(0.1)), "must be a list of means, a list of groups, or a mapping"),
        (
            lambda: Instance([0.1], arms=["a", "b"]),
            "Instance: arms must be one label for each of 1",
        ),
        (lambda: Instance([[0.1]], arms=["a"]), "Instance: arms must be left out"),
        (lambda: Instance([[0.1]], labels=["x"]), "Instance: labels must be left out"),
    ],
)
def test_bad_input_gets_one_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        call()
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
