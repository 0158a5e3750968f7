"""Advice: what it recommends, whether its savings come true, and what it says at the extremes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clusterbandits as cb
from clusterbandits.serial import to_json
from clusterbandits.studies.advise import Advice, advise
from clusterbandits.studies.candidates import FEWEST_WORLDS, Candidate, choose
from clusterbandits.studies.group_advice import may_be_best, widest_help
from clusterbandits.studies.history import History, read_history, table_history
from clusterbandits.studies.safe_widths import rounded_up, safe_widths, span_bound

Truth = list[list[float]]
CAMPAIGNS: Truth = [[0.2, 0.22, 0.25], [0.4, 0.45], [0.1, 0.12, 0.11, 0.14]]


def drawn(truth: Truth, trials: int, rng: np.random.Generator) -> History:
    means = np.concatenate(truth)
    tried = rng.integers(trials // 2, 2 * trials, means.size)
    groups = [c for c, part in enumerate(truth) for _ in part]
    counts = {"trials": tried.tolist(), "successes": rng.binomial(tried, means).tolist()}
    return read_history({"arm": list(range(means.size)), "group": groups, **counts})


def rows(*groups: list[tuple[int, int]]) -> dict[str, list[Any]]:
    """Return a table with an arm for every pair of trials and successes."""
    pairs = [(c, pair) for c, part in enumerate(groups) for pair in part]
    return {
        "arm": [f"arm {k}" for k in range(len(pairs))],
        "group": [f"group {c}" for c, _ in pairs],
        "trials": [pair[0] for _, pair in pairs],
        "successes": [pair[1] for _, pair in pairs],
    }


@pytest.fixture(scope="module")
def admissions() -> Advice:
    return advise(table_history("admissions"), horizon=2e4, runs=24)


def test_it_is_ready_to_use(admissions: Advice) -> None:
    history = table_history("admissions")
    assert dict(admissions.widths) == dict(zip(history.groups, safe_widths(history.counts()), strict=True))
    assert admissions.clusters() == history.clusters()
    policy = admissions.policy()
    assert policy.name == admissions.recommended
    assert policy.clusters == admissions.clusters()
    assert policy.rounds == 0
    warm = cb.POLICIES[admissions.recommended].from_history(history, admissions.widths)
    assert warm.rounds == 4526
    assert repr(admissions) == f"<Advice: {policy.name} for <History: 12 arms in 6 groups, 4526 trials>>"


def test_what_it_says_of_the_groups(admissions: Advice) -> None:
    groups = {group.name: group for group in admissions.groups}
    assert [groups[name].verdict for name in "ABCDEF"] == ["holds the best", "too loose", *["helps"] * 4]
    assert [groups[name].at_risk for name in "ABCDEF"] == [True, True, False, False, False, False]
    assert groups["A"].chance > 0.9
    assert sum(group.chance for group in admissions.groups) == pytest.approx(1)
    bound = cb.regret_bound(admissions.history.instance(), admissions.clusters())
    assert [group.clustered for group in admissions.groups] == [part.clus_ucb for part in bound.clusters]
    assert [group.classical for group in admissions.groups] == [part.classical for part in bound.clusters]
    for group in admissions.groups:
        assert (group.verdict == "helps") <= (group.clustered < group.classical)


def test_more_trials_would_help_as_it_says(admissions: Advice) -> None:
    group = admissions.groups[1]
    assert group.trials_factor is not None
    assert group.trials_needed == math.ceil(group.trials_factor * 585)
    members = admissions.history.partition.members[1]
    means = admissions.history.means
    limit = widest_help(means[members], float(means.max()))
    risk = 1 - 0.95 ** (1 / 6)
    trials, successes = admissions.history.counts()[1]
    for factor, enough in ((group.trials_factor, True), (0.9 * group.trials_factor, False)):
        width = rounded_up(span_bound(factor * trials, factor * successes, risk))
        assert (width <= limit) is enough


def test_widest_help_is_where_the_rate_begins_to_fall() -> None:
    means, best = np.array([0.3, 0.4]), 0.8
    limit = widest_help(means, best)
    truth = cb.Instance([means.tolist(), [best]])
    for width, helps in ((limit * 0.999, True), (limit * 1.001, False)):
        part = cb.regret_bound(truth, truth.clusters([width, 0.0])).clusters[0]
        assert (part.clus_ucb <= 0.99 * part.classical) is helps


def test_the_saving_comes_true_at_the_estimates(admissions: Advice) -> None:
    """Fresh simulations with another seed agree within three standard errors of both."""
    instance, horizon = admissions.history.instance(), admissions.settings.horizon
    told = {
        "safe": admissions.clusters(),
        "spans": instance.clusters(),
        "midway": instance.clusters(
            [(group.width + group.span) / 2 for group in admissions.groups],
        ),
    }
    assert len(admissions.candidates) == 6
    for one in admissions.candidates[1:]:
        policies = [cb.policy(name, told[one.widths]) for name in ("kl-ucb", one.policy)]
        fresh = cb.simulate(instance, policies, horizon, 48, seed=77, paired=True)
        saved = fresh.difference(0, 1)
        error = math.hypot(saved.error, one.saved.error)
        assert abs(saved.value - one.saved.value) <= 3 * error
        paid = fresh.mean(1)[-1] - one.paid.value
        assert abs(paid) <= 3 * math.hypot(fresh.standard_error(1)[-1], one.paid.error)


def test_nine_of_ten_worlds_are_nine_of_ten() -> None:
    """With fewer than 19 worlds, no two of them would enclose nine tenths."""
    advice = advise(rows([(50, 10), (50, 12)], [(50, 20), (50, 21)]), horizon=50, runs=2)
    assert [one.world_saving.size for one in advice.candidates] == [FEWEST_WORLDS] * 6
    one = Candidate("x", "safe", *[np.arange(19.0)] * 4)
    assert one.range == (0.0, 18.0)  # one more value is below or above with a chance of 2 in 20
    assert "in 19 plausible worlds" in " ".join(str(advice).split())


@pytest.mark.statistical
def test_the_range_over_worlds_covers_what_comes() -> None:
    """The saving of one fresh run at the truth lies in the range about nine times of ten."""
    rng = np.random.default_rng(11)
    covered, mean_covered, apart = [], [], []
    truth = cb.Instance(CAMPAIGNS)
    for k in range(18):
        advice = advise(drawn(CAMPAIGNS, (40, 150, 600)[k % 3], rng), horizon=5e3, runs=24, seed=k)
        safe = truth.clusters(list(advice.widths.values()))
        fresh = cb.simulate(truth, [cb.KLUCB(safe), cb.ClusUCB(safe)], 5e3, 12, seed=500 + k, paired=True)
        saved = fresh.regret(0)[:, -1] - fresh.regret(1)[:, -1]
        low, high = advice.candidates[1].range
        covered.append(np.mean((low <= saved) & (saved <= high)))
        mean_covered.append(low <= saved.mean() <= high)
        apart.append((advice.candidates[1].saved_in_worlds.value - saved.mean()) / fresh.mean(0)[-1])
    # Histories are what varies: three standard errors of their mean below 90 %.
    assert np.mean(covered) > 0.9 - 3 * np.std(covered, ddof=1) / math.sqrt(len(covered))
    assert np.mean(covered) > 0.8
    assert np.mean(mean_covered) >= 0.9
    # What is foretold is right on average, to two hundredths of what KL-UCB pays and the errors of histories.
    assert abs(np.mean(apart)) < 0.02 + 2 * np.std(apart, ddof=1) / math.sqrt(len(apart))


def test_the_best_arm_is_hardly_ever_ruled_out() -> None:
    rng = np.random.default_rng(3)
    means = np.concatenate(CAMPAIGNS)
    missed = kept = 0
    for _ in range(500):
        possible = may_be_best(drawn(CAMPAIGNS, 200, rng), 0.95)
        missed += not possible[means.argmax()]
        kept += int(possible.sum())
    assert missed <= 25
    assert kept / 500 < 4


def candidate(policy: str, widths: str, saving: list[float]) -> Candidate:
    saved = np.array(saving)
    return Candidate(policy, widths, 100 - saved, saved, 100 - saved, saved)


def chosen(hedged: list[float], plain: list[float], steered: list[float]) -> tuple[str, str]:
    candidates = (
        candidate("kl-ucb", "", [0.0] * 4),
        candidate("clus-ucb", "safe", plain),
        candidate("clus-opt", "safe", steered),
        candidate("clus-ucb-hedged", "safe", hedged),
        candidate("clus-ucb", "spans", [90.0] * 4),
    )
    return choose(candidates, (), 0.95)


def test_the_safest_that_keeps_up_is_taken() -> None:
    high, low, none = [50.0, 52, 51, 49], [30.0, 31, 29, 30], [-9.0, 8, 3, -1]
    assert chosen(high, high, high)[0] == "clus-ucb-hedged"
    assert chosen([0.95 * value for value in high], high, high)[0] == "clus-ucb-hedged"
    assert chosen(low, high, high)[0] == "clus-ucb"
    assert chosen(low, low, high)[0] == "clus-opt"
    assert chosen(none, none, none)[0] == "kl-ucb"
    assert "saves 50.50 ± 0.65 of the 100 that KL-UCB pays" in chosen(high, high, high)[1]
    assert "saves clearly less" in chosen(low, high, high)[1]


def test_text_and_data(admissions: Advice) -> None:
    text = str(admissions)
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith(f"Take {admissions.recommended} with the safe widths below. ")
    assert "At risk: A, B. The best arm may be there" in text
    assert "× trials" in text
    page = admissions._repr_html_()
    assert page.count("<table>") == 2
    data = json.loads(to_json(admissions.to_dict()))
    assert data["widths"] == dict(admissions.widths)
    assert [one["policy"] for one in data["candidates"]][:2] == ["kl-ucb", "clus-ucb"]
    assert read_history(data["history"]).to_dict() == admissions.history.to_dict()
    assert admissions.table().columns[0] == "group"


def test_neither_workers_nor_who_listens_change_it(admissions: Advice) -> None:
    heard: list[cb.Progress] = []
    table = rows([(50, 10), (60, 20)], [(70, 30)])
    first = advise(table, horizon=500, runs=3, workers=1, progress=heard.append)
    second = advise(table, horizon=500, runs=3, workers=2)
    assert to_json(first.to_dict()) == to_json(second.to_dict())
    assert heard
    runs = 6 * (3 + FEWEST_WORLDS)
    assert all(one.runs == runs and one.rounds == runs * 500 for one in heard)
    assert [one.runs_done for one in heard] == sorted(one.runs_done for one in heard)
    third = advise(table, horizon=500, runs=3, seed=1)
    assert to_json(third.to_dict()) != to_json(first.to_dict())
    del admissions


EXTREMES = {
    "one arm": (rows([(10, 3)]), ["tells nothing"]),
    "one group": (rows([(100, 30), (100, 50)]), ["holds the best"]),
    "groups of one": (rows([(100, 30)], [(100, 50)], [(3, 0)]), ["tells nothing"] * 3),
    "all equal": (rows([(100, 30), (100, 30)], [(100, 30), (100, 30)]), ["holds the best"] * 2),
    "all successes": (rows([(10, 10), (20, 20)], [(5, 5)]), ["holds the best", "tells nothing"]),
    "no successes": (rows([(10, 0), (20, 0)], [(5, 0)]), ["holds the best", "tells nothing"]),
    "nothing tried": (rows([(0, 0), (0, 0)], [(0, 0)]), ["holds the best", "tells nothing"]),
    "an arm untried": (rows([(500, 100), (0, 0)], [(500, 300), (500, 290)]), ["too loose", "holds the best"]),
    "spread too far": (rows([(500, 10), (500, 295)], [(500, 300)]), ["tells nothing", "tells nothing"]),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extremes(name: str) -> None:
    table, verdicts = EXTREMES[name]
    advice = advise(table, horizon=200, runs=3)
    assert [group.verdict for group in advice.groups] == verdicts
    assert all(0 <= width <= 1 for width in advice.widths.values())
    assert max(map(len, str(advice).splitlines())) <= 80
    json.loads(to_json(advice.to_dict()))
    assert advice.policy().ask() == "arm 0"
    if name in {"one arm", "groups of one"}:
        assert advice.recommended == "kl-ucb"
        assert "Every group has one arm" in advice.reason
    if name == "an arm untried":
        assert "1 arm was never tried" in str(advice)


def test_groups_that_tell_nothing_are_said_to() -> None:
    loose = advise(rows([(3, 1), (2, 0)], [(4, 3), (3, 1)]), horizon=300, runs=8)
    assert loose.groups[0].verdict == "too loose"
    assert loose.recommended == "kl-ucb"
    assert "No" in loose.reason


def test_files_frames_and_events_give_the_same_advice(tmp_path: Path) -> None:
    table = rows([(6, 2), (5, 3)], [(4, 1)])
    events: dict[str, list[Any]] = {"arm": [], "group": [], "reward": []}
    for arm, group, trials, successes in zip(*table.values(), strict=True):
        events["arm"] += [arm] * trials
        events["group"] += [group] * trials
        events["reward"] += [1] * successes + [0] * (trials - successes)
    file = tmp_path / "history.csv"
    lines = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    file.write_text("\n".join([",".join(table), *lines]))
    found = [to_json(advise(one, horizon=100, runs=2).to_dict()) for one in (table, events, file)]
    assert len(set(found)) == 1


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"horizon": 0}, "horizon"),
        ({"horizon": 1.5}, "horizon"),
        ({"confidence": 1.0}, "confidence"),
        ({"confidence": "high"}, "confidence"),
        ({"runs": 1}, "runs"),
        ({"seed": -1}, "seed"),
        ({"workers": 0}, "workers"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(cb.InvalidInputError, match=f"'{named}' parameter"):
        advise(rows([(10, 3), (10, 4)]), **settings)


@pytest.mark.parametrize(("arms", "runs"), [(2, 32), (400, 16), (850, 8)])
def test_very_many_arms_are_played_less_often(arms: int, runs: int) -> None:
    advice = advise(rows([(20, 5)] * arms), horizon=2)
    assert advice.settings.runs == runs
    assert max(map(len, str(advice).splitlines())) <= 80


def test_a_group_that_costs_nothing_has_nothing_to_save() -> None:
    """Beside an arm that always succeeds, one failure proves another worse: the classical bound is 0."""
    rows = {
        "arm": ["a", "b", "c", "d"],
        "group": ["sure", "sure", "poor", "poor"],
        "trials": [10, 10, 10, 10],
        "successes": [10, 10, 3, 4],
    }
    found = cb.advise(rows, horizon=20, runs=2)
    poor = found.groups[1]
    assert (poor.classical, poor.verdict) == (0.0, "tells nothing")
    assert "poor" in str(found)


def test_runs_that_do_not_fit_into_memory_are_refused() -> None:
    rows = {"arm": range(2000), "group": [0] * 2000, "trials": [1] * 2000, "successes": [0] * 2000}
    with pytest.raises(
        cb.InvalidInputError, match=r"must be at most 5,000 for 2,000 arms\. Got 6000 instead"
    ):
        cb.advise(rows, horizon=20, runs=6000)
