from __future__ import annotations

from collections import Counter

import pytest

from clusterbandits import InvalidInputError, regret_bound
from clusterbandits.paper.figures import FIGURES
from clusterbandits.studies.history import TABLES
from league.problems import choose, problems


def test_twenty_problems_of_three_sources() -> None:
    names = [problem.name for problem in problems()]
    assert len(set(names)) == len({problem.short for problem in problems()}) == 20
    assert Counter(name.partition(" ")[0] for name in names) == {
        "figure": sum(len(figure.widths) for figure in FIGURES),
        "telltale": 1,
        **dict.fromkeys(TABLES, 3),
    }
    assert not any("," in name for name in names), "names are listed with commas between them"


def test_the_fit_is_what_the_bound_says() -> None:
    fits = {problem.name: problem.fit for problem in problems()}
    for problem in problems():
        bound = regret_bound(problem.instance, problem.clusters)
        assert (problem.fit == "misleading") == bool(bound.misled)
        assert (problem.fit == "true") == bool(problem.clusters.fits(problem.instance.means))
    assert [name for name, fit in fits.items() if fit == "misleading"] == [
        "figure 3",
        "figure 8 (0.4 and 0.2)",
        *(f"{table} (half the best span)" for table in TABLES),
    ]
    assert [name for name, fit in fits.items() if fit == "harmless"] == ["figure 7", "figure 8 (0.1 and 0.7)"]


@pytest.mark.parametrize("table", TABLES)
def test_widths_of_tables(table: str) -> None:
    ways = ("spans", "1.5 × spans", "half the best span")
    exact, wide, half = choose([f"{table} ({way})" for way in ways])
    spans = exact.instance.spans
    assert exact.clusters.widths == spans
    assert wide.clusters.widths == pytest.approx([1.5 * span for span in spans])
    (best,) = exact.instance.best_arms
    for name, members in exact.clusters.partition.groups.items():
        place = exact.clusters.names.index(name)
        share = 0.5 if best in members else 1
        assert half.clusters.widths[place] == pytest.approx(share * spans[place])


def test_problems_are_chosen_by_name() -> None:
    assert choose() == problems()
    chosen = [problem.name for problem in choose(["telltale", "figure 2", "telltale"])]
    assert chosen == ["telltale", "figure 2"]
    with pytest.raises(
        InvalidInputError, match=r"The 'problems' parameter of league must be one of figure 2"
    ):
        choose(["figure 1"])
