"""Studies and replays that begin with a history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clusterbandits as cb
from clusterbandits.simulation.start import Start
from clusterbandits.studies.study_file import parse_study, read_study
from clusterbandits.studies.study_runs import contenders
from tests.studies.replayed import ARMS, GROUP_OF, MEANS, WIDTHS, uniform_log

CSV = "arm,group,trials,successes\nb,red,50,30\na,red,40,12\nc,blue,0,0\n"
STUDY = """horizon = 300
runs = 4
policies = ["kl-ucb", "clus-ucb", "kl-ucb++"]
[[instances]]
name = "ads"
means.red = { a = 0.3, b = 0.7 }
means.blue = { c = 0.2 }
start = "past.csv"
"""
COLD = """[[instances]]
name = "cold"
means = [[0.4, 0.5]]
"""
LEARNED = {"arm": ARMS, "group": GROUP_OF, "trials": [400] * 4}
PAST = cb.read_history({**LEARNED, "successes": [round(400 * float(mean)) for mean in MEANS]})
replayed: Any = cb.replay


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "past.csv").write_text(CSV)
    path = tmp_path / "ads.toml"
    path.write_text(STUDY)
    return path


def test_a_study_reads_the_history_beside_it(file: Path) -> None:
    study = read_study(file)
    assert study.cases[0].start == Start(((0, 40, 12.0), (1, 50, 30.0)))
    plans = [one.plan for one in contenders(study, study.cases[0])]
    assert [plan.start.trials for plan in plans] == [90, 90, 90]
    assert plans[2].policies[0].settings["horizon"] == 390


def test_a_bundled_table_is_a_history_too() -> None:
    text = 'policies = ["kl-ucb"]\n[[instances]]\ntable = "admissions"\nstart = "admissions"\n'
    assert parse_study(text).cases[0].start.trials == 4526
    assert parse_study(text.replace('start = "admissions"\n', "")).cases[0].start == Start()


def test_a_study_is_what_simulate_returns_and_says_so(file: Path, tmp_path: Path) -> None:
    file.write_text(STUDY + COLD)
    report = cb.run_study(file, tmp_path / "out", workers=1)
    instance = cb.Instance({"red": {"a": 0.3, "b": 0.7}, "blue": {"c": 0.2}})
    history = cb.read_history(tmp_path / "past.csv")
    expected = cb.simulate(instance, ["kl-ucb", "clus-ucb"], 300, 4, paired=True, start=history)
    rows = report.frame()
    assert rows["start_trials"].tolist() == [90, 90, 90, 0, 0, 0]
    assert rows["regret"].tolist()[:2] == [expected.mean(label)[-1] for label in expected.labels]
    assert "start from a history: ads (90 trials)." in " ".join(str(report).split())
    page = report.page.read_text()
    assert "4 runs of 300 rounds. Every run begins after a history of 90 trials." in page
    assert page.count("after a history of") == 1
    pictures = {path.stem for path in (tmp_path / "out" / "pictures").iterdir()}
    assert {"instance-2-pulls", "instance-1-regret"} < pictures
    assert "instance-1-pulls" not in pictures


def test_the_content_of_the_table_decides_and_not_its_path(file: Path, tmp_path: Path) -> None:
    first = cb.run_study(file, tmp_path / "out")
    assert first.stored == 0
    head, *rows = CSV.splitlines()
    (tmp_path / "moved.csv").write_text("\n".join([head, *reversed(rows)]))
    file.write_text(STUDY.replace("past.csv", "moved.csv"))
    again = cb.run_study(file, tmp_path / "out")
    assert again.stored == again.runs == 12
    assert "Every run begins after a history of 90 trials." in str(again)
    (tmp_path / "moved.csv").write_text(CSV.replace("50,30", "51,30"))
    edited = cb.run_study(file, tmp_path / "out")
    assert edited.stored == 0
    assert edited.frame()["start_trials"].unique().tolist() == [91]


class EveryReward(cb.PythonPolicy):
    """One that takes in every reward."""

    name = "every-reward-in-a-study"

    def select(self, n: int) -> int:
        return n % len(self.pulls)

    def update(self, arm: int, reward: float) -> None:
        """Take in a reward."""


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("past.csv", "nowhere.csv"), r"^Line 8 of 'ads.toml', key 'instances\[0\].start': .*nowhere.csv"),
        (
            ('"past.csv"', "3"),
            r"^Line 8 of .*start must be one of flights-by-origin",
        ),
        (("{ c = 0.2 }", "{ d = 0.2 }"), "^$"),
        (("a = 0.3, ", ""), r"^Line 8 of .* Unknown arm 'a' in the history. Available: b, c"),
        (
            ("horizon = 300", "horizon = 1e15"),
            r"^Line 1 of .*at most 999,999,999,999,910 after a history of 90",
        ),
        (
            ('"kl-ucb",', '"every-reward-in-a-study",'),
            r"^Line 3 of .* left out for every-reward-in-a-study, w",
        ),
        (
            (
                STUDY[STUDY.index("means.red") : STUDY.index("start")],
                "random = { groups = 2, arms = 2, span = 0.1 }\n",
            ),
            r"key 'instances\[0\].start': .* must be left out for drawn instances",
        ),
    ],
)
def test_a_wrong_history_is_refused_with_its_line(file: Path, changed: tuple[str, str], said: str) -> None:
    file.write_text(STUDY.replace(*changed))
    if said == "^$":
        assert read_study(file).cases[0].start.trials == 90
        return
    with pytest.raises(cb.ClusterBanditsError, match=said):
        read_study(file)


def test_totals_that_the_family_cannot_have_are_refused(file: Path) -> None:
    """Exponential rewards are larger than 0."""
    (file.parent / "past.csv").write_text(CSV.replace("40,12", "40,0"))
    file.write_text(STUDY.replace("start =", 'family = "exponential"\nstart ='))
    with pytest.raises(
        cb.InvalidInputError, match=r"start': .* a history of exponential rewards, each .* sum of 0 for"
    ):
        read_study(file)


def plainly(policy: cb.Policy, log: dict[str, Any], rounds: int) -> float:
    """Return the mean reward of the rows that match the choices of a policy, the first so many."""
    earned, matched, chosen = 0.0, 0, policy.ask()
    for arm, reward in zip(log["arm"].tolist(), log["reward"].tolist(), strict=True):
        if arm == chosen and matched < rounds:
            policy.tell(arm, reward)
            earned, matched, chosen = earned + reward, matched + 1, policy.ask()
    return earned / rounds


@pytest.mark.parametrize("kind", [cb.KLUCB, cb.ClusUCB, cb.TLPMean, cb.KLUCBPlusPlus])
def test_replayed_as_a_policy_that_was_given_the_history(kind: type[cb.Policy]) -> None:
    log = uniform_log(np.random.default_rng(3), 2000)
    rounds = 100
    warm = replayed(log, [kind(PAST.clusters(WIDTHS))], rounds=rounds, start=PAST)
    horizon: dict[str, Any] = {"horizon": 1600 + rounds} if kind.needs_horizon else {}
    policy = kind.from_history(PAST, WIDTHS, **horizon)
    assert warm.means[0, 0] == plainly(policy, log, rounds)
    assert warm.rounds == rounds
    assert policy.rounds >= 1600 + rounds


def test_replays_say_that_episodes_begin_with_a_history() -> None:
    log = uniform_log(np.random.default_rng(3), 4000)
    warm, cold = (replayed(log, ["kl-ucb", "clus-ucb"], widths=WIDTHS, start=one) for one in (PAST, None))
    assert "Every episode begins after a history of 1600 trials." in str(warm)
    assert "history" not in str(cold)
    assert (warm.to_dict()["start_trials"], cold.to_dict()["start_trials"]) == (1600, 0)
    assert warm.rounds == cold.rounds
    for label in warm.labels:
        assert warm.value(label).value > cold.value(label).value


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (5, r"^replay: start must be a history returned by read_history, but got 5"),
        (
            {"arm": ["x"], "group": ["red"]},
            r"^Unknown arm .* in the history",
        ),
    ],
)
def test_replay_refuses_what_cannot_be_a_start(start: Any, said: str) -> None:
    log = uniform_log(np.random.default_rng(3), 4000)
    history = cb.read_history(start | {"trials": [3], "successes": [1]}) if isinstance(start, dict) else start
    with pytest.raises(cb.InvalidInputError, match=said):
        replayed(log, "kl-ucb", start=history)


def test_replay_refuses_sums_for_policies_that_need_every_reward() -> None:
    log = uniform_log(np.random.default_rng(3), 4000)
    policy = EveryReward(PAST.clusters(WIDTHS))
    with pytest.raises(
        cb.InvalidInputError, match=r"^replay: start must be left out for every-reward-in-a-study"
    ):
        replayed(log, policy, start=PAST)
