"""Bundled tables: in the package, read as they are written, refused by one sentence."""

from __future__ import annotations

from importlib import resources
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clusterbandits import InvalidInputError, simulate
from clusterbandits.studies.history import TABLES, table_instance

#: file, arms, groups, trials, best arm
FACTS = {
    "flights-by-origin": ("flights_carrier_origin.csv", 28, 10, 331_142, "DL-JFK"),
    "flights-by-destination": ("flights_carrier_dest.csv", 183, 11, 319_488, "VX-LAS"),
    "admissions": ("ucb_admissions.csv", 12, 6, 4_526, "A-Female"),
}
DATA = resources.files("clusterbandits.studies") / "data"


def frame(file: str) -> pd.DataFrame:
    with resources.as_file(DATA / file) as path:
        return pd.read_csv(path)


def test_every_table_is_described_in_a_line() -> None:
    assert list(TABLES) == list(FACTS)
    assert all(text and "\n" not in text for text in TABLES.values())


@pytest.mark.parametrize("name", FACTS)
def test_the_instance_is_the_file(name: str) -> None:
    file, arms, groups, trials, best = FACTS[name]
    table, instance = frame(file), table_instance(name)
    assert list(table.columns) == ["arm", "group", "trials", "successes"]
    assert len(table) == len(instance.arms) == arms
    assert len(instance.partition.clusters) == groups
    assert int(table["trials"].sum()) == trials
    assert instance.arms == tuple(table["arm"])
    assert list(instance.partition.cluster_names) == table["group"].tolist()
    assert np.array_equal(instance.means, table["successes"] / table["trials"])
    assert instance.best_arms == (best,)
    assert instance.family.name == "bernoulli"
    assert min(instance.partition.sizes) >= 2


def test_the_data_names_its_sources() -> None:
    text = (DATA / "README.md").read_text(encoding="utf-8")
    for word in ("public domain", "CC0", "Bickel", *(fact[0] for fact in FACTS.values()), *TABLES):
        assert word in text


def test_a_table_can_be_played() -> None:
    instance = table_instance("admissions")
    result = simulate(instance, ["clus-ucb"], horizon=100, runs=2)
    assert result.arms[0] == "A-Female"


@pytest.mark.parametrize("name", ["flights", "", 3, None, ["admissions"]])
def test_unknown_names_are_refused(name: Any) -> None:
    with pytest.raises(InvalidInputError) as error:
        table_instance(name)
    assert str(error.value).startswith(f"Unknown table {name!r}. ")
    assert "flights-by-origin" in str(error.value)
