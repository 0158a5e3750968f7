from __future__ import annotations

from pathlib import Path

import pytest

from clusterbandits import Clusters, Instance, Poisson
from clusterbandits.studies.problem import read_problem


@pytest.mark.parametrize("text", ["0.1,0.2; 0.3", " 0.1 , 2e-1 ;0.3; ", "0.1,0.2;0.3"])
def test_one_line(text: str) -> None:
    problem = read_problem(text, widths="0.1,inf")
    assert problem.instance == Instance([[0.1, 0.2], [0.3]])
    assert problem.clusters == Clusters([2, 1], widths=[0.1, float("inf")])


def test_file_by_any_name_and_an_option_that_overrides(tmp_path: Path) -> None:
    file = tmp_path / "problem"
    file.write_text(
        'family = "gaussian:sigma=2"\n[clusters.x]\nmeans = [1, 2]\nwidth = inf\n[clusters.y]\nmeans = [4]'
    )
    problem = read_problem(str(file))
    assert problem.instance == Instance({"x": [1, 2], "y": [4]}, family="gaussian:sigma=2")
    assert problem.clusters.widths == (float("inf"), 0.0)
    assert read_problem(str(file), widths="3", family="poisson").instance.family == Poisson()
    assert read_problem(str(file), widths="3").clusters.widths == (3.0, 3.0)


def test_negative_means_on_the_line() -> None:
    assert read_problem("-1,2; 3", family="gaussian").instance.means.tolist() == [-1, 2, 3]
