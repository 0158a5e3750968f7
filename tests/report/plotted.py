"""Objects of every class that has ``plot``, with names that are easily cut or typeset as commands."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any

import numpy as np

import clusterbandits as cb
from clusterbandits.policies.explanation import ArmView, Explanation
from clusterbandits.simulation.results import Result
from clusterbandits.studies.history import table_history

LONG = "Spring 2026, returning visitors, all regions but the north and the islands, mobile & tablet only"
LATEX = "50 % of R&D_2 {#1} ~ x^2 \\alpha $5"
NAMES = {LONG: [f"{LONG} {k}" for k in (1, 2)], LATEX: [LATEX, "a_b", "c&d"]}
CLUSTERS = cb.Clusters(NAMES, widths=[0.03, math.inf])
INSTANCE = cb.Instance(
    {name: {arm: 0.4 + 0.01 * len(arm) / 100 for arm in arms} for name, arms in NAMES.items()}
)
ROUNDS = np.array([10, 100, 1000])
TOLD = {"arm": [arm for arms in NAMES.values() for arm in arms], "trials": [90, 80, 70, 60, 0]}
TOLD |= {"group": [name for name, arms in NAMES.items() for _ in arms], "successes": [9, 10, 20, 30, 0]}


def result(labels: tuple[str, ...] = (LATEX, LONG), runs: int = 4) -> Result:
    steps = np.diff(ROUNDS, prepend=0) * np.ones((len(labels), runs, 1), dtype=np.int64)
    pulls = np.random.default_rng(3).multinomial(steps, [0.1, 0.1, 0.1, 0.1, 0.6]).cumsum(2)
    return Result(INSTANCE, labels, ROUNDS, pulls)


def policy(history: cb.History) -> cb.Policy:
    made = cb.KLUCB(history.clusters(0.3))
    for arm, pulls, total in history.observed():
        made.tell(arm, total, pulls=pulls)
    return made


def explanation(index: float = 0.7) -> Explanation:
    arms = [arm for part in NAMES.values() for arm in part]
    share: dict[str | int, float] = dict.fromkeys(arms[:2], 0.4)
    views = [ArmView(arm, LATEX, 9, 0.5, 0.2, 0.8, index, share) for arm in arms[:4]]
    return Explanation(30, 5.7, (*views, ArmView(arms[4], LONG, 0)))


@cache
def replayed() -> cb.ReplayResult:
    random, means = Random(1), {"a": 0.3, "b": 0.7}
    shown = [random.choice("ab") for _ in range(2000)]
    rewards = [int(random.random() < means[arm]) for arm in shown]
    log = {"time": list(range(2000)), "arm": shown, "reward": rewards}
    clusters = cb.Clusters([["a"], ["b"]])
    policies = [cb.KLUCB(clusters, label=LATEX), cb.UCB1(clusters, label=LONG)]
    return cb.replay(log, policies, rounds=50)


@cache
def report(kinds: str) -> cb.StudyReport:
    lines = ["horizon = 100", "runs = 4", f"title = '{LONG}'"]
    lines.append(f"policies = ['ucb1', {{ policy = 'kl-ucb', label = '{LATEX}' }}]")
    for k, kind in enumerate(kinds):
        lines += ["[[instances]]", f"name = '{LATEX} {k}'"]
        drawn = ["[instances.random]", "count = 2", "groups = 2", "arms = 2", "span = 0.1"]
        lines += drawn if kind == "r" else ["means = [[0.2, 0.3], [0.4]]"]
    folder = Path(mkdtemp())
    file = folder / "study.toml"
    file.write_text("\n".join(lines), encoding="utf-8")
    return cb.run_study(file, folder / "report")


def flights() -> cb.History:
    return table_history("flights-by-destination")


#: By name, a function that returns the object: 183 arms where the name says so.
OBJECTS: dict[str, Any] = {
    "clusters": lambda: CLUSTERS,
    "clusters, 183 arms": lambda: flights().clusters(),
    "clusters, 200 of them": lambda: cb.Clusters([2] * 200, widths=np.linspace(0.1, 0.2, 200).tolist()),
    "fit": lambda: CLUSTERS.fits(np.linspace(0.3, 0.5, 5)),
    "instance": lambda: INSTANCE,
    "instance, 183 arms": lambda: flights().instance(),
    "bound": lambda: cb.regret_bound(INSTANCE, CLUSTERS),
    "bound, misled": lambda: cb.regret_bound(cb.Instance([[0.3, 0.7], [0.1, 0.2]]), cb.Clusters([2, 2], 0.1)),
    "bound, 183 arms": lambda: cb.regret_bound(flights().instance(), flights().clusters()),
    "result": result,
    "policy": lambda: policy(cb.read_history(TOLD)),
    "policy, no rewards": lambda: cb.UCB1(CLUSTERS),
    "policy, 183 arms": lambda: policy(flights()),
    "explanation": explanation,
    "explanation, index on another scale": lambda: explanation(30.0),
    "history": lambda: cb.read_history(TOLD),
    "history, 183 arms": flights,
    "replay": replayed,
    "study of one instance": lambda: report("i"),
    "study of two instances": lambda: report("ii"),
    "study of drawn instances": lambda: report("r"),
}
