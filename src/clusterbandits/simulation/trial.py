"""Many independent runs on all cores, with the same bits for any number of workers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbandits.errors import SimulationInterrupted
from clusterbandits.families.family import MOST_COUNT
from clusterbandits.instance import paired_clusters
from clusterbandits.limits import LARGEST_SEED, MOST_RUNS
from clusterbandits.policies import Policy, policy
from clusterbandits.simulation.checkpoints import read_checkpoints
from clusterbandits.simulation.crew import PIECES, Ledger, crew_of, play_all
from clusterbandits.simulation.plan import Plan
from clusterbandits.validate import Described, check_numbers, invalid, is_list, truth, whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Executor

    from clusterbandits.clusters import Clusters
    from clusterbandits.instance import Instance
    from clusterbandits.simulation.progress import Listener
    from clusterbandits.simulation.results import Result


def simulate(
    instance: Instance,
    policies: object,
    horizon: float,
    runs: int = 48,
    seed: int = 0,
    *,
    clusters: Clusters | None = None,
    workers: int | None = None,
    checkpoints: object = None,
    executor: Executor | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: Listener | None = None,
    paired: bool = False,
    stepwise: bool = False,
) -> Result:
    """Play policies against an instance in independent runs, exactly.

    Parameters
    ----------
    instance
        The truth.
    policies
        A policy or a list of them; names such as ``"clus-ucb:a=5"`` are made with ``clusters``.
    horizon
        The number of rounds, 10¹⁵ at most. Cost grows far slower: what is certain is played at once.
    runs
        The number of independent runs.
    seed
        Decides all randomness, together with the run and the policy's label.
    clusters
        What policies given by name know; by default the instance's groups with their true spans.
    workers
        Threads; by default one for every core. The result does not depend on it.
    checkpoints
        Rounds at which pulls are written down: by default ten a decade, log-spaced, with round 1 and the
        horizon; a number for so many; or the rounds.
    executor
        Any ``concurrent.futures.Executor`` to play in instead of threads of its own.
    store
        A folder that keeps runs as they finish and from which an interrupted simulation goes on.
    progress
        Called now and then with a ``Progress``.
    paired
        Let all policies of a run meet the same rewards: pull i of an arm pays each of them the same, for the
        first 65,536 pulls of every arm (of more than 16 arms: a million in all). Later rewards, by which
        policies hardly differ, are each policy's own.
    stepwise
        Choose in every round. The law of the result is the same; it only takes longer.

    Raises
    ------
    SimulationInterrupted
        On Ctrl-C, a KeyboardInterrupt that carries what is done as ``result``.

    Examples
    --------
    >>> from clusterbandits import Instance
    >>> instance = Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
    >>> result = simulate(instance, ["kl-ucb", "clus-ucb"], horizon=10**4, runs=8, seed=1)
    >>> result
    <Result: kl-ucb, clus-ucb, 8 runs of 1e4 rounds>
    >>> result.regret("clus-ucb").shape, result.checkpoints[[0, -1]].tolist()
    ((8, 38), [1, 10000])
    """
    plan = plan_of(
        instance,
        policies,
        {
            "horizon": horizon,
            "runs": runs,
            "seed": seed,
            "checkpoints": checkpoints,
            "paired": paired,
            "stepwise": stepwise,
        },
        clusters,
    )
    crew = crew_of(workers, executor, "simulate")
    if progress is not None and not callable(progress):
        raise invalid("progress", "simulate", "a function of a Progress", progress)
    ledger = open_ledger(plan, None if store is None else _folder(store, "simulate"))
    try:
        for _ in play_all([ledger], crew, lambda: progress and progress(ledger.tally.progress())):
            pass
    except KeyboardInterrupt:
        raise SimulationInterrupted(ledger.finished_result()) from None
    return ledger.result("simulate")


def open_ledger(plan: Plan, folder: Path | None, pieces: int = PIECES) -> Ledger:
    """Return a ledger with the runs that a folder has, to be filled with those it misses.

    Parameters
    ----------
    plan
        What is to be played.
    folder
        Keeps runs as they finish; made where there is none. None keeps them in memory alone.
    pieces
        In how many pieces a policy's runs are handed out, and stored where the folder is new.
    """
    if folder is None:
        return Ledger(plan, None, pieces)
    from clusterbandits.simulation.store import begin_store

    store = begin_store(folder, plan, pieces)
    ledger = Ledger(plan, store, store.pieces)
    if ledger.missing:
        store.check_fingerprint()
    return ledger


def load_result(store: str | os.PathLike[str]) -> Result:
    """Return the result that a folder holds: the runs that every policy has finished.

    Parameters
    ----------
    store
        The folder given to ``simulate`` as ``store``.
    """
    from clusterbandits.simulation.store import read_store

    kept = read_store(_folder(store, "load_result"))
    return Ledger(kept.plan, kept).result("load_result")


def _folder(store: object, owner: str) -> Path:
    if not isinstance(store, str | os.PathLike) or not os.fspath(store) or "\0" in str(store):
        raise invalid("store", owner, "the path of a folder", store)
    return Path(store)


def plan_of(
    instance: Instance, policies: object, settings: Mapping[str, object], clusters: Clusters | None = None
) -> Plan:
    """Return what ``simulate`` plays, checked.

    ``settings`` are its horizon, runs, seed, checkpoints, paired and stepwise, by name.
    """
    horizon = whole("horizon", "simulate", settings["horizon"], least=1)
    learners = _policies(instance, policies, clusters, horizon)
    family, best = instance.family, instance.best_mean
    if family.counts and horizon * best > MOST_COUNT:
        raise invalid(
            "horizon", "simulate", f"at most {MOST_COUNT / best:.3g} for a mean of {best:g}", horizon
        )
    runs = whole("runs", "simulate", settings["runs"], least=1, most=MOST_RUNS)
    checkpoints = read_checkpoints(settings["checkpoints"], horizon)
    check_numbers("simulate", len(learners), runs, len(checkpoints), len(instance.arms))
    return Plan(
        instance=instance,
        policies=learners,
        horizon=horizon,
        runs=runs,
        seed=whole("seed", "simulate", settings["seed"], least=0, most=LARGEST_SEED),
        checkpoints=checkpoints,
        paired=truth("paired", "simulate", settings["paired"]),
        stepwise=truth("stepwise", "simulate", settings["stepwise"]),
    )


def _policies(
    instance: Instance, given: object, clusters: Clusters | None, horizon: int
) -> tuple[Policy, ...]:
    known = paired_clusters(instance, clusters, "simulate")
    listed = list(given) if is_list(given) else [given]
    made = [policy(one, known, family=instance.family) if isinstance(one, str) else one for one in listed]
    if not made:
        raise invalid("policies", "simulate", "at least one policy", given)
    chosen: list[Policy] = []
    for each in made:
        if not isinstance(each, Policy):
            raise invalid("policies", "simulate", "policies or their names", each)
        one = each.for_horizon(horizon)
        paired_clusters(instance, one.clusters, "simulate")
        if not one.family.includes(instance.family):
            allowed = f"made for {instance.family.name} rewards, as in family={instance.family.spec!r}"
            raise invalid("policies", "simulate", allowed, Described(f"{one.label} for {one.family.name}"))
        if one.label in [other.label for other in chosen]:
            allowed = "called by different labels, as in label='wide'"
            raise invalid("policies", "simulate", allowed, Described(f"{one.label!r} twice"))
        chosen.append(one)
    return tuple(chosen)
