from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from clusterbandits import InvalidInputError, regret_bound
from clusterbandits.paper.figures import FIGURES
from clusterbandits.studies.history import TABLES
from league.drawn import draw_history, draw_rates
from league.problems import SMALL, TRIALS, choose, problems

WARM = [problem for problem in problems() if problem.start is not None]


def test_problems_of_all_sources() -> None:
    names = [problem.name for problem in problems()]
    assert len(set(names)) == len({problem.short for problem in problems()}) == 26
    cold = [problem.name.partition(" ")[0] for problem in problems() if problem.start is None]
    assert Counter(cold) == {
        "figure": sum(len(figure.widths) for figure in FIGURES),
        "low-arm": 1,
        **dict.fromkeys(TABLES, 3),
        "ads": 2,
        "rare": 1,
    }
    assert [problem.name for problem in WARM] == [
        "ads (after 12,000 trials)",
        "flights-by-origin (after 1,400 trials)",
        "admissions (after 240 trials)",
    ]


def test_every_problem_has_one_kind() -> None:
    assert Counter(problem.kind for problem in problems()) == {
        "true widths": 13,
        "harmless widths": 2,
        "misleading widths": 5,
        "small rates": 3,
        "warm start": 3,
    }
    for problem in problems():
        assert (problem.kind == "warm start") == (problem.start is not None)
        assert (problem.kind == "small rates") == (
            problem.start is None and max(problem.instance.means) < SMALL
        )


def test_the_fit_is_what_the_bound_says() -> None:
    fits = {problem.name: problem.fit for problem in problems()}
    for problem in problems():
        bound = regret_bound(problem.instance, problem.clusters)
        assert (problem.fit == "misleading") == bool(bound.misled)
        assert (problem.fit == "true") == bool(problem.clusters.fits(problem.instance.means))
    assert [name for name, fit in fits.items() if fit == "misleading"] == [
        "figure 3",
        "figure 8 (0.4 and 0.2)",
        *(f"{source} (half the best span)" for source in [*TABLES, "ads"]),
    ]
    assert [name for name, fit in fits.items() if fit == "harmless"] == ["figure 7", "figure 8 (0.1 and 0.7)"]


@pytest.mark.parametrize("source", [*TABLES, "ads"])
def test_declared_widths(source: str) -> None:
    exact, half = choose([f"{source} ({way})" for way in ("spans", "half the best span")])
    spans = exact.instance.spans
    assert exact.clusters.widths == spans
    (best,) = exact.instance.best_arms
    for name, members in exact.clusters.partition.groups.items():
        place = exact.clusters.names.index(name)
        share = 0.5 if best in members else 1
        assert half.clusters.widths[place] == pytest.approx(share * spans[place])
    if source in TABLES:
        (wide,) = choose([f"{source} (1.5 × spans)"])
        assert wide.clusters.widths == pytest.approx([1.5 * span for span in spans])


def test_small_rates() -> None:
    ads, rare = choose(["ads (spans)", "rare (spans)"])
    assert [len(part) for part in ads.instance.partition.groups.values()] == [10] * 6
    assert [len(part) for part in rare.instance.partition.groups.values()] == [5] * 4
    assert 0.001 <= ads.instance.means.min() < ads.instance.means.max() <= 0.03
    assert 1e-3 / 2 < np.exp(np.log(rare.instance.means).mean()) < 2e-3
    assert len(ads.instance.best_arms) == len(rare.instance.best_arms) == 1


def test_drawn_rates_are_log_uniform_with_a_spread() -> None:
    logs = np.log(draw_rates(2000, 10, 0.001, 0.03))
    assert logs.std(axis=1, ddof=1).mean() == pytest.approx(0.28, abs=0.02)  # 0.3, but for the cut
    centres = (logs.mean(axis=1) - np.log(0.001)) / np.log(30)
    room = 0.6 / np.log(30)
    assert np.quantile(centres, [0.25, 0.5, 0.75]) == pytest.approx(
        room + (1 - 2 * room) * np.array([0.25, 0.5, 0.75]), abs=0.02
    )
    assert np.exp(logs).min() >= 0.001
    assert np.exp(logs).max() <= 0.03


@pytest.mark.parametrize("problem", WARM, ids=lambda problem: problem.short)
def test_histories_are_of_the_true_means(problem) -> None:  # type: ignore[no-untyped-def]
    trials = TRIALS[problem.name.partition(" (")[0]]
    assert problem.start.arms == problem.instance.arms
    assert set(problem.start.trials.tolist()) == {trials}
    assert problem.name.endswith(f"(after {problem.start.trials.sum():,} trials)")
    again = draw_history(problem.instance, trials)
    assert again.to_dict() == problem.start.to_dict()
    errors = np.sqrt(problem.instance.means * (1 - problem.instance.means) / trials)
    assert (np.abs(problem.start.means - problem.instance.means) < 4.5 * errors).all()
    assert problem.clusters.widths == problem.start.clusters().widths
    assert problem.fit == "true"


def test_problems_are_chosen_by_name() -> None:
    assert [problem.name for problem in choose()] == [problem.name for problem in problems()]
    chosen = [problem.name for problem in choose(["low-arm", "figure 2", "low-arm"])]
    assert chosen == ["low-arm", "figure 2"]
    with pytest.raises(InvalidInputError, match=r"league: --problems must be one of figure 2"):
        choose(["figure 1"])
