"""Simulations that begin with a history: as a policy that was given it online, and counted from there."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import clusterbandits as cb
from clusterbandits.fingerprint import sources
from clusterbandits.simulation.plan import Plan
from clusterbandits.simulation.rewards import Refill, run_rewards
from clusterbandits.simulation.runs import play_block
from clusterbandits.simulation.simulate import plan_of
from clusterbandits.simulation.start import Start, read_start

pytestmark = pytest.mark.filterwarnings("ignore::clusterbandits.WidthWarning")

INSTANCE = cb.Instance({"red": {"a": 0.3, "b": 0.7}, "blue": {"c": 0.1, "d": 0.2, "e": 0.8}})
WIDTHS = [0.4, 0.7]
CLUSTERS = INSTANCE.clusters(WIDTHS)
COUNTS = {"trials": [40, 50, 30, 0, 60], "successes": [12, 30, 3, 0, 50]}
ROWS: dict[str, list[Any]] = {
    "arm": ["a", "b", "c", "d", "e"],
    "group": ["red", "red", "blue", "blue", "blue"],
    **COUNTS,
}
HISTORY = cb.read_history(ROWS)
TRIALS = 180
#: Arms without a past, one reward alone, and rewards that contradict the width of red.
HISTORIES = [
    HISTORY,
    cb.read_history({"arm": ["e"], "group": ["blue"], "trials": [1], "successes": [1]}),
    cb.read_history({**ROWS, "trials": [900, 900, 1, 1, 700], "successes": [10, 890, 0, 0, 560]}),
]
BOTH = ["kl-ucb", "thompson"]
UNPAIRED = {"paired": False, "stepwise": False}
loosely: Any = cb.simulate
playing: Any = cb.play


class Sums:
    """A history in which rewards need not be 0 or 1."""

    family = cb.Gaussian()

    def __init__(self, *rows: object) -> None:
        self._rows = rows

    def clusters(self, widths: object = None) -> cb.Clusters:
        return INSTANCE.clusters(widths)

    def observed(self) -> Iterator[Any]:
        return iter(self._rows)


class Greedy(cb.PythonPolicy):
    """The largest mean; an arm without a pull first."""

    name = "greedy-after-a-history"
    remembers = ("selected",)

    def reset(self) -> None:
        self.selected: list[int] = []

    def select(self, n: int) -> int:
        self.selected = [*self.selected[-3:], n]
        if not self.pulls.all():
            return int(np.argmin(self.pulls))
        return int(np.argmax(self.totals / self.pulls + np.sqrt(math.log(n) / self.pulls)))


class EveryReward(Greedy):
    """One that takes in every reward."""

    name = "every-reward-after-a-history"

    def update(self, arm: int, reward: float) -> None:
        """Take in a reward."""


def drawn_tape(columns: int, seed: int = 0) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return (rng.random((INSTANCE.means.size, columns)) < INSTANCE.means[:, None]).astype(float)


def deployed(policy: cb.Policy, history: Any, rounds: int) -> cb.Policy:
    """Return the policy as it is deployed: given the history arm by arm."""
    online = policy.for_horizon(rounds + sum(pulls for _, pulls, _ in history.observed()))
    for arm, pulls, total in history.observed():
        online.tell(arm, total, pulls=pulls)
    return online


def asked(policy: cb.Policy, tape: NDArray[np.float64], rounds: int) -> list[int]:
    used, path = [0] * len(tape), []
    for _ in range(rounds):
        arm = policy.clusters.arms.index(policy.ask())
        policy.tell(policy.clusters.arms[arm], float(tape[arm, used[arm]]))
        used[arm] += 1
        path.append(arm)
    return path


def counts_of(path: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pulls of every arm after every round."""
    return np.cumsum(np.eye(5, dtype=np.int64)[path], axis=0)


def planned(policies: object = BOTH, start: Any = HISTORY, **changed: Any) -> Plan:
    settings = {"horizon": 200, "runs": 6, "seed": 3, "checkpoints": [10, 50]} | UNPAIRED | changed
    return plan_of(INSTANCE, policies, settings, CLUSTERS, start)


def simulated(**how: Any) -> cb.Result:
    result: cb.Result = loosely(INSTANCE, BOTH, 200, 6, 3, checkpoints=[10, 50], clusters=CLUSTERS, **how)
    return result


@pytest.mark.parametrize(
    "name", [*cb.POLICIES, "clus-ucb:refresh=9", "tlp-mean:refresh=7", "clus-ucb:alarm=widen"]
)
def test_the_arms_are_those_of_a_policy_that_was_given_the_history(name: str) -> None:
    tape = drawn_tape(500)
    for history in HISTORIES:
        policy = cb.policy(name, CLUSTERS)
        path = cb.play(policy, tape, start=history)
        assert path.tolist() == asked(deployed(policy, history, 500), tape, 500)
        assert path.tolist() == cb.play(policy, tape, stepwise=True, start=history).tolist()


def test_the_state_is_that_of_a_policy_that_was_given_the_history() -> None:
    """Its width alarm too, whose next look depends on when it looked before."""
    last_is_small = cb.read_history({**ROWS, "trials": [900, 12, 0, 0, 1], "successes": [890, 0, 0, 0, 1]})
    for history in (*HISTORIES, last_is_small):
        policy = cb.ClusUCB(CLUSTERS, alarm="widen")
        live: Any = deployed(policy, history, 1)._live
        state: Any = read_start(history, CLUSTERS.arms, "play").state(policy)
        for name in ("pulls", "totals", "widths", "stale"):
            assert np.array_equal(getattr(state, name), getattr(live, name))
        for name in ("look", "fired", "evidence", "needed"):
            assert np.array_equal(getattr(state.alarm, name), getattr(live.alarm, name))


def test_the_first_choice_is_that_of_from_history() -> None:
    for kind, history in product((cb.KLUCB, cb.ClusUCB, cb.TLPMean, cb.IMED, cb.UCB1), HISTORIES[::2]):
        warm = kind.from_history(history, WIDTHS)
        assert warm.clusters.arms[cb.play(warm, drawn_tape(1), start=history)[0]] == warm.ask()


@pytest.mark.parametrize("name", ["kl-ucb", "clus-ucb:alarm=widen", "tlp-max", "imed-opt", "ossb", "moss"])
def test_skipping_ahead_is_exact_after_a_long_history(name: str) -> None:
    past = cb.read_history(
        {**ROWS, "trials": [10**6, 10**6, 10**5, 10**4, 10**6]} | {"successes": [0, 1, 9, 2, 10**5]}
    )
    for seed, history in product(range(3), (*HISTORIES, past)):
        tape, policy = drawn_tape(4000, seed), cb.policy(name, CLUSTERS)
        assert np.array_equal(
            cb.play(policy, tape, start=history), cb.play(policy, tape, stepwise=True, start=history)
        )


@pytest.mark.parametrize("family", ["poisson", "exponential", "gaussian:sigma=0.5", "negative-binomial"])
def test_other_families(family: str) -> None:
    history = Sums(("a", 7, 2.0), ("b", 5, 4.0), ("e", 9, 8.0))
    rng = np.random.default_rng(2)
    tape = np.array([cb.as_family(family).draw(float(mean), 300, rng) for mean in INSTANCE.means])
    for name in ("kl-ucb", "clus-ucb", "tlp-mean"):
        policy = cb.policy(name, CLUSTERS, family=family)
        path = playing(policy, tape, start=history)
        assert path.tolist() == asked(deployed(policy, history, 300), tape, 300)
        assert np.array_equal(path, playing(policy, tape, stepwise=True, start=history))


@pytest.mark.parametrize("name", ["kl-ucb", "clus-ucb", "tlp-mean", "thompson", "kl-ucb++"])
def test_simulate_counts_new_rounds_alone(name: str) -> None:
    """Means of 0 and 1 have the same rewards in every run, so that there is one path."""
    instance = cb.Instance({"red": {"a": 0.0, "b": 1.0}, "blue": {"c": 0.0, "d": 0.0, "e": 1.0}})
    policy, every = cb.policy(name, instance.clusters(WIDTHS)), list(range(1, 401))
    tape = np.tile(instance.means[:, None], 400)
    history = cb.read_history({**ROWS, "successes": [0, 50, 0, 0, 60]})
    counts = counts_of(cb.play(policy, tape, start=history))
    for paired, stepwise in product((False, True), repeat=2):
        result = cb.simulate(
            instance, policy, 400, 2, checkpoints=every, paired=paired, stepwise=stepwise, start=history
        )
        assert result.horizon == 400
        assert (result.pulls.sum(axis=3) == every).all()
        if not policy.randomised:
            assert np.array_equal(result.pulls[0, 0], counts)
            assert np.array_equal(result.regret(0)[0], counts @ instance.gaps)


@pytest.mark.parametrize("kind", [cb.KLUCB, cb.ClusUCB, cb.TLPMax, Greedy])
def test_paired_runs_read_their_tape_from_its_beginning(kind: type[cb.Policy]) -> None:
    plan = planned(policies=kind(CLUSTERS), paired=True)
    result = loosely(INSTANCE, kind(CLUSTERS), 200, 6, 3, checkpoints=[10, 50], paired=True, start=HISTORY)
    for run in range(6):
        rewards = run_rewards(plan, run, plan.policies[0]).tape
        path = cb.play(kind(CLUSTERS), rewards[:, :200], start=HISTORY)
        assert np.array_equal(result.pulls[0, run], counts_of(path)[[9, 49, 199]])


@pytest.mark.parametrize("kind", [cb.KLUCB, cb.ClusUCB, cb.TLPMax, Greedy])
def test_distributions_are_drawn_from_the_first_new_pull_on(kind: type[cb.Policy]) -> None:
    """For longer than one chunk of rewards."""
    instance, horizon = (
        cb.Instance([[cb.Beta(3, 7), cb.Beta(7, 3)], [cb.Beta(1, 9), cb.Beta(2, 8), cb.Beta(8, 2)]]),
        9000,
    )
    history = Sums((0, 40, 12.0), (1, 50, 30.5), (2, 30, 3.0), (4, 60, 50.0))
    policy = kind(instance.clusters(WIDTHS))
    every = list(range(100, horizon + 1, 100))
    settings = {"horizon": horizon, "runs": 1, "seed": 3, "checkpoints": every} | UNPAIRED
    plan = plan_of(instance, policy, settings, start=history)
    refill, size = Refill(plan, 0, plan.policies[0]), run_rewards(plan, 0, plan.policies[0]).tape.shape[1]
    tape = np.array([np.concatenate([refill.chunk(arm, size) for _ in range(3)]) for arm in range(5)])
    counts = counts_of(playing(policy, tape, horizon, start=history))
    for stepwise in (False, True):
        result = loosely(instance, policy, horizon, 1, 3, checkpoints=every, stepwise=stepwise, start=history)
        assert np.array_equal(result.pulls[0, 0], counts[99::100])


def test_thompson_has_the_law_of_a_policy_that_goes_on() -> None:
    result = cb.simulate(INSTANCE, "thompson", 50, 3000, seed=4, clusters=CLUSTERS, start=HISTORY)
    mean, error = result.mean(0)[-1], result.standard_error(0)[-1]
    rng, regrets = np.random.default_rng(1), []
    for seed in range(300):
        online = cb.Thompson.from_history(HISTORY, WIDTHS, seed=seed)
        arms = []
        for _ in range(50):
            arms.append(HISTORY.arms.index(online.ask()))
            online.tell(HISTORY.arms[arms[-1]], float(rng.random() < INSTANCE.means[arms[-1]]))
        regrets.append(INSTANCE.gaps[arms].sum())
    apart = math.hypot(error, np.std(regrets, ddof=1) / math.sqrt(300))
    assert abs(np.mean(regrets) - mean) < 4 * apart


def test_a_horizon_covers_the_history() -> None:
    plan = planned(policies=["kl-ucb++", cb.KLUCBPlusPlus(CLUSTERS, horizon=77, label="own")])
    assert [policy.settings["horizon"] for policy in plan.policies] == [TRIALS + 200, 77]


def test_alarms_are_rounds_after_the_history() -> None:
    noticed = loosely(INSTANCE, cb.ClusUCB(CLUSTERS), 50, 2, start=HISTORIES[2])
    assert noticed.alarms(0).tolist() == [[1, 0], [1, 0]]
    calm = loosely(INSTANCE, cb.ClusUCB(CLUSTERS), 50, 2, start=HISTORY)
    assert calm.alarms(0).tolist() == [[0, 0], [0, 0]]
    # Blue has an arm without a past, which is pulled in round 1.
    narrow = loosely(INSTANCE, cb.ClusUCB(INSTANCE.clusters(0.01)), 5000, 3, start=HISTORY).alarms(0)
    assert narrow[:, 1].tolist() == [2, 2, 2]
    assert (narrow[:, 0] > 2).all()
    assert (narrow[:, 0] < 1000).all()


def test_a_policy_in_python_goes_on_counting() -> None:
    policy, tape = Greedy(CLUSTERS), drawn_tape(200)
    path = cb.play(policy, tape, start=HISTORY)
    online = deployed(policy, HISTORY, 200)
    assert path.tolist() == asked(online, tape, 200)
    assert online.selected[-1] == TRIALS + 200  # type: ignore[attr-defined]
    one, two = (cb.simulate(INSTANCE, policy, 100, 4, workers=workers, start=HISTORY) for workers in (1, 2))
    assert np.array_equal(one.pulls, two.pulls)
    assert (one.pulls.sum(axis=3) == one.checkpoints).all()
    with pytest.raises(cb.InvalidInputError, match=r"^simulate: start must be left out for ev"):
        cb.simulate(INSTANCE, EveryReward(CLUSTERS), 10, 1, start=HISTORY)
    assert loosely(INSTANCE, EveryReward(CLUSTERS), 10, 1, start=HISTORIES[1]).start_trials == 1


def test_plans_are_plain_data() -> None:
    plan = planned()
    data = json.loads(plan.to_json())
    assert data["start"] == [["a", 40, 12.0], ["b", 50, 30.0], ["c", 30, 3.0], ["e", 60, 50.0]]
    again = Plan.of_dict(data)
    assert again.start == plan.start
    assert again.to_json() == plan.to_json()
    shuffled = cb.read_history({name: values[::-1] for name, values in ROWS.items()})
    assert planned(start=shuffled).to_json() == plan.to_json()
    assert planned(start=None).start == Start()


def test_plans_without_a_history_are_written_as_they_were() -> None:
    data = planned(start=None).to_dict()
    assert sorted(data) == sorted(
        ["instance", "policies", "horizon", "runs", "seed", "checkpoints", "paired", "stepwise"]
    )
    untried = cb.read_history({**ROWS, "trials": [0] * 5, "successes": [0] * 5})
    assert planned(start=untried).to_dict() == data
    assert Plan.of_dict(data).start.trials == 0


EDITED: list[Any] = [
    None,
    5,
    "a",
    [5],
    [["a"]],
    [["a", 1]],
    [["x", 1, 1.0]],
    [["a", 0, 0.0]],
    [["a", 1.5, 1.0]],
]
EDITED += [[["a", 1, 2.0]], [["a", 1, "inf"]], [["a", 1, 1.0]] * 2, [[["a"], 1, 1.0]], [["a", 1, None]]]


@pytest.mark.parametrize("start", EDITED)
def test_edited_plans_are_refused(start: Any) -> None:
    data = json.loads(planned().to_json()) | {"start": start}
    with pytest.raises(cb.InvalidInputError, match=r"^Plan: start must be|^Unknown arm"):
        Plan.of_dict(data)


def test_workers_and_executors_return_the_same_bits() -> None:
    plan = planned()
    there = play_block(plan.to_json(), plan.blocks(1, np.zeros((2, 6), dtype=np.bool_))[1])
    first = simulated(start=HISTORY, workers=1)
    assert np.array_equal(first.pulls[1], there.pulls)
    assert np.array_equal(first.pulls, simulated(start=HISTORY, workers=2).pulls)
    with ThreadPoolExecutor(2) as executor:
        assert np.array_equal(first.pulls, simulated(start=HISTORY, executor=executor).pulls)
    assert not np.array_equal(first.pulls, simulated().pulls)


def test_stores_know_their_history(tmp_path: Path) -> None:
    def stored(start: object, runs: int = 4) -> cb.Result:
        result: cb.Result = loosely(INSTANCE, "kl-ucb", 100, runs, start=start, store=tmp_path / "kept")
        return result

    first = stored(HISTORY)
    assert np.array_equal(stored(HISTORY).pulls, first.pulls)
    loaded = cb.load_result(tmp_path / "kept")
    assert np.array_equal(loaded.pulls, first.pulls)
    assert loaded.start_trials == TRIALS
    one_more = cb.read_history({**ROWS, "trials": [41, 50, 30, 0, 60]})
    for other in (None, one_more):
        with pytest.raises(cb.InvalidInputError, match=r"have other start"):
            stored(other)
    (tmp_path / "kept" / "policy-0-runs-000002.parquet").unlink()
    assert np.array_equal(stored(HISTORY).pulls, first.pulls)


def test_a_store_of_a_cold_simulation_refuses_a_history(tmp_path: Path) -> None:
    cb.simulate(INSTANCE, "kl-ucb", 100, 2, store=tmp_path / "kept")
    manifest = json.loads((tmp_path / "kept" / "_manifest.json").read_text())
    assert "start" not in manifest["plan"]
    assert cb.load_result(tmp_path / "kept").start_trials == 0
    with pytest.raises(cb.InvalidInputError, match=r"have other start"):
        cb.simulate(INSTANCE, "kl-ucb", 100, 2, store=tmp_path / "kept", start=HISTORY)


def test_results_say_that_runs_began_with_a_history() -> None:
    result = cb.simulate(INSTANCE, "kl-ucb", 1000, 2, start=HISTORY)
    sentence = "Every run begins after a history of 180 trials."
    assert sentence in str(result)
    assert sentence in result._repr_html_()
    assert repr(result) == "<Result: kl-ucb, 2 runs of 1000 rounds after 180 trials>"
    assert result.to_dict()["start_trials"] == TRIALS
    cold = cb.simulate(INSTANCE, "kl-ucb", 1000, 2)
    assert "history" not in str(cold)
    assert cold.to_dict()["start_trials"] == 0


def test_known_arms_cost_less_regret() -> None:
    past = cb.read_history({**ROWS, "trials": [500] * 5, "successes": [150, 350, 50, 100, 400]})
    cold, warm = (
        cb.simulate(INSTANCE, ["kl-ucb", "clus-ucb"], 1000, 40, clusters=CLUSTERS, start=start)
        for start in (None, past)
    )
    for label in cold.labels:
        assert warm.mean(label)[-1] < 0.5 * cold.mean(label)[-1]


def test_labels_that_are_numbers_match_by_their_text() -> None:
    numbered = cb.Instance([[0.3, 0.7], [0.1]])
    history = cb.read_history({"arm": [2, 0], "group": [1, 0], "trials": [5, 9], "successes": [1, 3]})
    settings = {"horizon": 10, "runs": 1, "seed": 0, "checkpoints": None, **UNPAIRED}
    assert plan_of(numbered, "kl-ucb", settings, start=history).start == Start(((0, 9, 3.0), (2, 5, 1.0)))


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (5, "a history returned by read_history, but got 5"),
        ([("a", 1, 1)], "a history returned by read_history, but got [('a', 1, 1)]"),
        (Sums(("x", 1, 1.0)), "Unknown arm 'x' in the history. Available: a, b, c, d, e."),
        (
            Sums(("a", 2, 2.5)),
            "a history of bernoulli rewards, each a number from 0 to 1, but got a sum of 2.5 for 2 rewards",
        ),
        (
            Sums(("a", 2, -1.0)),
            "a history of bernoulli rewards, each a number from 0 to 1, but got a sum of -1 for 2 rewards",
        ),
        (
            Sums(("a", 0, 0.0)),
            "rows with an arm, its number of pulls (at least 1) and the sum of its rewards",
        ),
        (
            Sums(("a", 1, math.nan)),
            "rows with an arm, its number of pulls (at least 1) and the sum of its rewards",
        ),
        (Sums(("a", 1, 1.0), ("a", 1, 1.0)), "a history with one row per arm, but got 'a' twice"),
    ],
)
def test_what_cannot_be_a_start_is_refused(start: object, said: str) -> None:
    with pytest.raises(cb.InvalidInputError) as caught:
        loosely(INSTANCE, "kl-ucb", 10, 1, start=start)
    assert said in str(caught.value)
    with pytest.raises(cb.InvalidInputError, match=r"^play: start must be|^Unknown arm"):
        playing(cb.KLUCB(CLUSTERS), drawn_tape(10), start=start)


def test_history_and_horizon_have_at_most_1e15_rounds() -> None:
    history = Sums(("a", 10**15 - 100, 0.0))
    assert loosely(INSTANCE, "ucb1", 100, 1, start=history).horizon == 100
    with pytest.raises(cb.InvalidInputError, match=r"^simulate: horizon must be at most 100 aft"):
        loosely(INSTANCE, "ucb1", 101, 1, start=history)


def test_policies_of_wider_families_take_what_distributions_pay() -> None:
    instance = cb.Instance([[cb.TruncatedGaussian(0.5, 1, -2, 2), cb.Beta(2, 2)]], family="gaussian")
    assert loosely(instance, "kl-ucb", 20, 1, start=Sums((0, 3, -1.5))).start_trials == 3


def test_too_short_a_tape_names_the_arm_and_the_new_round() -> None:
    tape = np.array([[0.0] * 8, [0.0] * 8, [0.0] * 8, [0.0] * 8, [1.0] * 8])
    for policy in (cb.KLUCB(CLUSTERS), Greedy(CLUSTERS)):
        path = cb.play(policy, np.repeat(tape, 5, axis=1), 40, start=HISTORIES[2])
        arm = int(np.bincount(path).argmax())
        ninth = int(np.flatnonzero(path == arm)[8]) + 1
        with pytest.raises(cb.InvalidInputError) as caught:
            cb.play(policy, tape, 40, start=HISTORIES[2])
        assert f"{CLUSTERS.arms[arm]!r}" in str(caught.value)
        assert f"by round {ninth}," in str(caught.value)


def test_the_code_is_part_of_the_fingerprint() -> None:
    assert "simulation/start.py" in sources().texts
