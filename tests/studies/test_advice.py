"""Advice: what it recommends, whether its savings come true, and what it says at the extremes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import clusterbandits as cb
from benchmarks.advice import KINDS, follow_advice
from clusterbandits.serial import to_json
from clusterbandits.studies.advise import Advice, advise
from clusterbandits.studies.candidates import COLD_WORLDS, PLAIN, TRIED, Candidate, choose
from clusterbandits.studies.group_advice import may_be_best, widest_help
from clusterbandits.studies.history import History, read_history, table_history
from clusterbandits.studies.plausible_means import plausible_means
from clusterbandits.studies.plausible_worlds import _shown, tilted, world_instance
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
    return advise(table_history("admissions"), horizon=2e4, worlds=24)


def test_it_is_ready_to_use(admissions: Advice) -> None:
    history = table_history("admissions")
    assert dict(admissions.widths) == dict(zip(history.groups, safe_widths(history.counts()), strict=True))
    assert admissions.clusters() == history.clusters()
    policy = admissions.policy()
    assert policy.name == admissions.recommended
    assert policy.clusters == admissions.clusters()
    assert policy.rounds == 4526
    assert repr(admissions) == f"<Advice: {policy.name} for <History: 12 arms in 6 groups, 4526 trials>>"


def test_what_it_says_of_the_groups(admissions: Advice) -> None:
    groups = {group.name: group for group in admissions.groups}
    assert [groups[name].verdict for name in "ABCDEF"] == ["has the best arm", "too wide", *["helps"] * 4]
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


def test_its_code_starts_the_policy(admissions: Advice, tmp_path: Path) -> None:
    file = tmp_path / "it's.csv"
    columns = admissions.history.to_dict()
    lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    file.write_text("\n".join([",".join(columns), *lines]))
    known: dict[str, Any] = {"reward": 1}
    exec(admissions.code(str(file)), known)
    assert known["policy"].to_json() != admissions.policy().to_json()  # It has been told one more reward.
    assert known["policy"].rounds == 4527
    assert known["policy"].clusters == admissions.clusters()
    sure = advise(rows([(50, 10), (60, 20)], [(70, 30)]), horizon=50, worlds=3, confidence=0.99)
    assert sure.recommended == "kindred"
    assert "widths = {" in sure.code()
    assert sure.code() in str(sure)


def test_what_it_foretells_is_what_simulations_of_its_worlds_pay(admissions: Advice) -> None:
    """Fresh runs in the same worlds, with other rewards, agree within three standard errors."""
    history, horizon = admissions.history, admissions.settings.horizon
    drawn_from = np.random.SeedSequence(0, spawn_key=(0,))
    worlds = plausible_means(history, 1000, np.random.default_rng(drawn_from))[:24]
    for name in ("clus-ucb", "imed"):
        one = next(one for one in admissions.candidates if one.policy == name)
        fresh = []
        for means in worlds[: one.warm.size]:
            result = cb.simulate(
                world_instance(history, means),
                cb.policy(name, admissions.clusters()),
                horizon,
                8,
                seed=99,
                start=history,
            )
            fresh.append(result.mean(0)[-1])
        apart = np.array(fresh) - one.warm
        assert abs(apart.mean()) <= 3 * apart.std(ddof=1) / math.sqrt(apart.size)


def test_every_candidate_is_tried_with_and_without_the_history(admissions: Advice) -> None:
    assert [one.policy for one in admissions.candidates] == list(TRIED)
    assert {one.warm.size for one in admissions.candidates} == {24}
    assert {one.cold.size for one in admissions.candidates} == {COLD_WORLDS}
    for one in admissions.candidates:
        if one.policy in {"kindred", "thompson", "kl-ucb"}:
            assert one.paid.value < one.cold.mean()


@pytest.mark.statistical
def test_advice_is_close_to_the_best_policy_in_hindsight() -> None:
    """On 20 histories of five kinds of truth; ``python -m benchmarks advice`` does it on 200."""
    found = follow_advice(histories=20, horizon=5_000, worlds=12, runs=10, seed=3)
    assert set(found.kinds) == set(KINDS)
    assert found.excess() <= 15
    bias = found.bias()
    assert abs(bias.value) <= 3 * bias.error
    # Many another policy would have been a worse choice: the test can fail.
    others = 100 * (found.regret.mean(axis=1) / found.regret.mean(axis=1).min() - 1)
    assert np.median(others) > 30


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


def candidate(policy: str, regret: list[float]) -> Candidate:
    return Candidate(policy, np.array(regret), np.array(regret))


def chosen(kindred: list[float], **others: list[float]) -> tuple[str, str]:
    rest = [candidate(name.replace("_", "-"), regret) for name, regret in others.items()]
    return choose([candidate("kindred", kindred), candidate(PLAIN, [90.0, 110, 100, 100]), *rest])


def test_the_default_is_taken_unless_another_is_clearly_better() -> None:
    low, high = [50.0, 52, 51, 49], [80.0, 83, 79, 81]
    assert chosen(low, imed=high)[0] == "kindred"
    assert chosen(high, imed=low)[0] == "imed"
    name, reason = chosen([53.0, 54, 53, 53], imed=low)
    assert name == "kindred"
    assert "imed has a lower score, 50.8 instead of 53.4, which is at most a tenth less" in reason
    name, reason = chosen([20.0, 160, 30, 90], imed=low)
    assert name == "kindred"
    assert "but its mean regret is not significantly lower" in reason
    # A tail counts: the mean is the same, the 95th percentile is not.
    assert chosen([95.0, 96, 95, 96], imed=[0.0, 0, 0, 196], clus_ucb=low)[0] == "clus-ucb"
    assert candidate("x", [0.0, 0, 0, 100]).score > candidate("x", [25.0] * 4).score
    assert "No bound on the regret of kindred is proven." in chosen(low)[1]
    assert "No bound" not in chosen(high, imed=low)[1]


def test_the_benchmarks_of_the_default_are_those_of_the_league() -> None:
    league = pd.read_csv(Path(__file__).parents[2] / "docs" / "reference" / "league.csv")
    own = league[league["policy"] == "kindred"]
    worst = math.ceil(10 * own["ratio"].max()) / 10
    assert chosen([50.0, 52, 51, 49])[1].endswith(
        f"On {own['problem'].nunique()} benchmark problems, its mean regret was at most {worst} times that "
        f"of the best of {league['policy'].nunique()} policies."
    )


def test_a_policy_without_a_proven_bound_is_not_recommended() -> None:
    """In worlds of a model it may look best, and be ruined where the model is wrong."""
    low, high = [50.0, 52, 51, 49], [80.0, 83, 79, 81]
    name, reason = chosen(high, tsc=low)
    assert name == "kindred"
    assert "tsc has a lower score, 50.8 instead of 81.2, but no bound on its regret is proven" in reason
    name, reason = chosen(high, tsc=[1.0] * 4, imed=low)
    assert name == "imed"
    assert "tsc has a lower score, 1 instead of 50.8, but" in reason


def test_text_and_data(admissions: Advice) -> None:
    text = str(admissions)
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith(
        f"Recommended: {admissions.recommended}. Its expected regret after the history is "
    )
    assert "At risk: A, B. The best arm may be there" in text
    assert "In the other groups, a width that is too small does no harm." in " ".join(text.split())
    assert "× trials" in text
    page = admissions._repr_html_()
    assert page.count("<table>") == 2
    data = json.loads(to_json(admissions.to_dict()))
    assert data["widths"] == dict(admissions.widths)
    assert [one["policy"] for one in data["candidates"]] == list(TRIED)
    assert data["code"] == admissions.code()
    assert read_history(data["history"]).to_dict() == admissions.history.to_dict()
    assert admissions.table().columns[0] == "group"


def test_neither_workers_nor_who_listens_change_it(admissions: Advice) -> None:
    heard: list[cb.Progress] = []
    table = rows([(50, 10), (60, 20)], [(70, 30)])
    first = advise(table, horizon=500, worlds=3, workers=1, progress=heard.append)
    second = advise(table, horizon=500, worlds=3, workers=2)
    assert to_json(first.to_dict()) == to_json(second.to_dict())
    assert heard
    assert all(one.runs == 6 * len(TRIED) and one.rounds == one.runs * 500 for one in heard)
    assert [one.runs_done for one in heard] == sorted(one.runs_done for one in heard)
    third = advise(table, horizon=500, worlds=3, seed=1)
    assert to_json(third.to_dict()) != to_json(first.to_dict())
    del admissions


EXTREMES = {
    "one arm": (rows([(10, 3)]), ["no effect"]),
    "one group": (rows([(100, 30), (100, 50)]), ["has the best arm"]),
    "groups of one": (rows([(100, 30)], [(100, 50)], [(3, 0)]), ["no effect"] * 3),
    "all equal": (rows([(100, 30), (100, 30)], [(100, 30), (100, 30)]), ["has the best arm"] * 2),
    "all successes": (rows([(10, 10), (20, 20)], [(5, 5)]), ["has the best arm", "no effect"]),
    "no successes": (rows([(10, 0), (20, 0)], [(5, 0)]), ["has the best arm", "no effect"]),
    "nothing tried": (rows([(0, 0), (0, 0)], [(0, 0)]), ["has the best arm", "no effect"]),
    "an arm untried": (
        rows([(500, 100), (0, 0)], [(500, 300), (500, 290)]),
        ["too wide", "has the best arm"],
    ),
    "spread too far": (rows([(500, 10), (500, 295)], [(500, 300)]), ["no effect", "no effect"]),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extremes(name: str) -> None:
    table, verdicts = EXTREMES[name]
    advice = advise(table, horizon=200, worlds=3)
    assert [group.verdict for group in advice.groups] == verdicts
    assert all(0 <= width <= 1 for width in advice.widths.values())
    assert max(map(len, str(advice).splitlines())) <= 80
    json.loads(to_json(advice.to_dict()))
    assert advice.policy().ask() in advice.history.arms
    if name == "an arm untried":
        assert "1 arm was never tried" in str(advice)


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
    found = [to_json(advise(one, horizon=100, worlds=2).to_dict()) for one in (table, events, file)]
    assert len(set(found)) == 1


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"horizon": 0}, "horizon"),
        ({"horizon": 1.5}, "horizon"),
        ({"confidence": 1.0}, "confidence"),
        ({"confidence": "high"}, "confidence"),
        ({"worlds": 1}, "worlds"),
        ({"seed": -1}, "seed"),
        ({"workers": 0}, "workers"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(cb.InvalidInputError, match=f": {named} must be"):
        advise(rows([(10, 3), (10, 4)]), **settings)


@pytest.mark.parametrize(("arms", "worlds"), [(2, 32), (80, 25), (400, 16)])
def test_very_many_arms_are_played_less_often(arms: int, worlds: int) -> None:
    advice = advise(rows([(20, 5)] * arms), horizon=2)
    assert advice.settings.worlds == worlds
    assert max(map(len, str(advice).splitlines())) <= 80


def test_a_group_that_costs_nothing_has_nothing_to_save() -> None:
    """Beside an arm that always succeeds, one failure proves another worse: the classical bound is 0."""
    rows = {
        "arm": ["a", "b", "c", "d"],
        "group": ["sure", "sure", "poor", "poor"],
        "trials": [10, 10, 10, 10],
        "successes": [10, 10, 3, 4],
    }
    found = cb.advise(rows, horizon=20, worlds=2)
    poor = found.groups[1]
    assert (poor.classical, poor.verdict) == (0.0, "no effect")
    assert "poor" in str(found)


def test_runs_that_do_not_fit_into_memory_are_refused() -> None:
    rows = {"arm": range(2000), "group": [0] * 2000, "trials": [1] * 2000, "successes": [0] * 2000}
    with pytest.raises(cb.InvalidInputError, match=r"at most 5000, but got 6000"):
        cb.advise(rows, horizon=20, worlds=6000)


def revenues(seed: int = 5) -> dict[str, list[Any]]:
    """Return visits to 6 pages in 2 groups: most pay nothing, some a skewed amount up to 50."""
    rng = np.random.default_rng(seed)
    table: dict[str, list[Any]] = {"arm": [], "group": [], "revenue": []}
    for arm in range(6):
        bought = rng.random(400) < 0.05 + 0.02 * (arm // 3)
        paid = np.where(bought, np.minimum(rng.lognormal(2, 0.7, 400), 50), 0).round(2)
        table["arm"] += [f"page {arm}"] * 400
        table["group"] += [f"group {arm // 3}"] * 400
        table["revenue"] += paid.tolist()
    return table


def test_revenues_get_advice_too() -> None:
    advice = advise(revenues(), family="bounded:low=0,high=50", horizon=500, worlds=4)
    assert advice.policy().family == cb.Bounded(0, 50)
    assert "family='bounded:low=0.0,high=50.0'" in advice.code()
    assert max(map(len, str(advice).splitlines())) <= 80
    with pytest.raises(cb.InvalidInputError, match="bounds must be given, as in family="):
        advise(revenues())


def test_worlds_of_revenues_are_as_far_from_the_estimates_as_they_should_be() -> None:
    """Over the arms, a world's means are off the truth by about what they are off each other."""
    history = read_history(revenues(), family="bounded:low=0,high=50")
    means = plausible_means(history, 2000, np.random.default_rng(1))
    assert history.rewards is not None
    errors = np.array([one.std() / 20 for one in history.rewards])
    assert (np.abs(means.mean(axis=0) - history.means) < 2 * errors).all()
    assert (means.std(axis=0) < 1.1 * errors).all()
    assert (means.std(axis=0) > 0.4 * errors).all()


@pytest.mark.parametrize(
    "rewards",
    [
        np.random.default_rng(2).lognormal(0, 1, 500),
        np.random.default_rng(2).lognormal(0, 1, 5000),  # neighbours are averaged
        np.array([0.0] * 99_900 + [50.0] * 100),
        np.concatenate([3 + np.random.default_rng(3).exponential(5, 239), [1000.0]]),
        np.array([0.0, 0.0, 0.0, 9.99, 10.0]),
    ],
)
def test_tilted_rewards_have_the_mean_that_was_asked_for(rewards: Any) -> None:
    """Also between a value and one far away, and where rewards other than 0 are rare."""
    values, shares = _shown(rewards)
    assert values @ shares == pytest.approx(rewards.mean(), rel=1e-9)
    for share in (1e-6, 0.001, 0.0011, 0.3, 0.999, 1 - 1e-9):
        mean = values[0] + share * (values[-1] - values[0])
        found = tilted(values, shares, mean)
        assert found.mean == pytest.approx(mean, rel=1e-7)
        assert set(found.values) <= set(values)
        assert found.chances.min() >= 0
    drawn = tilted(values, shares, rewards.mean()).draw(100_000, np.random.default_rng(1))
    assert drawn.mean() == pytest.approx(rewards.mean(), abs=5 * rewards.std() / 100_000**0.5)
    assert tilted(values, shares, values[0] - 1).values.tolist() == [values[0] - 1]


@pytest.mark.parametrize("outlier", [0.0, 1000.0])
def test_advice_on_skewed_revenue(outlier: float) -> None:
    rng = np.random.default_rng(4)
    rewards = np.minimum(5 + rng.lognormal(1, 2, 240), 1000)
    rewards[7] = max(rewards[7], outlier)
    rows = {
        "arm": [f"a{k % 8}" for k in range(240)],
        "group": [str(k % 8 // 4) for k in range(240)],
        "revenue": rewards,
    }
    advice = cb.advise(rows, family="bounded:low=0,high=1000", horizon=200, worlds=4)
    assert all(np.isfinite(one.warm).all() for one in advice.candidates)


@pytest.mark.parametrize("trials", [10**12, 10**14])
def test_advice_on_more_trials_than_floats_tell_apart(trials: int) -> None:
    rows = {
        "arm": ["a", "b", "c"],
        "group": [1, 1, 2],
        "trials": [trials] * 3,
        "successes": [trials, trials // 10, 0],
    }
    assert cb.advise(rows, horizon=100, worlds=2).recommended in cb.POLICIES
