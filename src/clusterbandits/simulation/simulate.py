"""The public ``simulate``: policies in independent runs, with the same result for any number of workers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbandits.errors import SimulationInterrupted
from clusterbandits.extras import extras_explained
from clusterbandits.families.family import MOST_COUNT
from clusterbandits.instance import paired_clusters
from clusterbandits.policies import Policy, policy
from clusterbandits.simulation.campaign import Campaign, Simulation, open_simulation
from clusterbandits.simulation.executors import workers_of
from clusterbandits.simulation.plan import Plan
from clusterbandits.simulation.start import read_start
from clusterbandits.validate import Described, invalid, is_list, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Executor

    from clusterbandits.clusters import Clusters
    from clusterbandits.families import Family
    from clusterbandits.instance import Instance
    from clusterbandits.policies.policy import Past
    from clusterbandits.simulation.campaign import Listener
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
    start: Past | None = None,
) -> Result:
    """Simulate policies on an instance in independent runs, with exact skip-ahead.

    Parameters
    ----------
    instance
        Environment: true means and reward family.
    policies
        Policy or list of policies; names such as ``"clus-ucb:a=5"`` get ``clusters``.
    horizon
        Number of rounds, at most 10¹⁵. Rounds in which the choice is certain are simulated in one step, so
        the time grows much more slowly than the horizon.
    runs
        Number of independent runs, by default 48.
    seed
        Random seed, by default 0. Together with the number of the run and the label of the policy, it
        determines all random numbers.
    clusters
        Clusters and declared widths for policies given by name; by default, the groups of the instance with
        their true spans.
    workers
        Number of threads; by default one per core. The result does not depend on it.
    checkpoints
        Rounds at which pulls are recorded: a number of log-spaced rounds, or the rounds themselves; by
        default, ten log-spaced rounds per decade with round 1 and the horizon.
    executor
        ``concurrent.futures.Executor`` to use instead of threads; by default none.
    store
        Folder that stores finished runs and from which an interrupted simulation continues; by default none.
    progress
        Function that is called several times per second with a ``Progress``; by default none.
    paired
        Whether all policies of a run get the same rewards: pull i of an arm then has the same reward for each
        policy, for the first 65,536 pulls per arm (with more than 16 arms: a million pulls in all). Later
        rewards are drawn separately for each policy. By default, all rewards are.
    stepwise
        Whether to simulate round by round, without skip-ahead; by default not. The distribution of the result
        is the same, but the simulation takes longer.
    start
        History that all policies start from, as returned by ``read_history`` and used by
        ``Policy.from_history``; by default none. Policies continue to count rounds after it. The horizon,
        checkpoints, pulls and regret count only the new rounds. Arms match by label; arms that are not in the
        history have no earlier trials.

    Raises
    ------
    SimulationInterrupted
        On Ctrl-C: a ``KeyboardInterrupt`` with the finished runs as ``result``.

    Examples
    --------
    >>> from clusterbandits import Instance
    >>> instance = Instance([[0.3, 0.7], [0.1, 0.2, 0.8]])
    >>> result = simulate(instance, ["kl-ucb", "clus-ucb"], horizon=10**4, runs=8, seed=1)
    >>> result
    <Result: kl-ucb, clus-ucb, 8 runs of 1e4 rounds>
    >>> result.regret("clus-ucb").shape, result.checkpoints[[0, -1]].tolist()
    ((8, 38), [1, 10000])

    After 200 trials of two arms:

    >>> from clusterbandits import read_history
    >>> rows = {"arm": [1, 4], "group": [0, 1], "trials": [100, 100], "successes": [68, 83]}
    >>> warm = simulate(instance, "clus-ucb", 10**4, runs=8, seed=1, start=read_history(rows))
    >>> warm
    <Result: clus-ucb, 8 runs of 1e4 rounds after 200 trials>
    >>> bool(warm.mean(0)[-1] < result.mean("clus-ucb")[-1])
    True
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
        start,
    )
    chosen = workers_of(workers, executor, "simulate")
    if progress is not None and not callable(progress):
        raise invalid("progress", "simulate", "a function that takes a Progress", progress)
    one = open_simulation(plan, None if store is None else _folder(store, "simulate"))
    campaign = Campaign([one], chosen, progress, runs=one.runs, rounds=one.runs * plan.horizon)
    try:
        for _ in campaign.finished():
            pass
    except KeyboardInterrupt:
        raise SimulationInterrupted(one.finished_result()) from None
    return one.result()


def load_result(store: str | os.PathLike[str]) -> Result:
    """Return the result stored in a folder: the runs that all policies have finished.

    Parameters
    ----------
    store
        Folder that was passed to ``simulate`` as ``store``.
    """
    with extras_explained():
        from clusterbandits.simulation.store import read_store

    kept = read_store(_folder(store, "load_result"))
    return Simulation(kept.plan, kept).result("load_result")


def _folder(store: object, owner: str) -> Path:
    if not isinstance(store, str | os.PathLike) or not os.fspath(store) or "\0" in str(store):
        raise invalid("store", owner, "the path of a folder", store)
    return Path(store)


def plan_of(
    instance: Instance,
    policies: object,
    settings: Mapping[str, object],
    clusters: Clusters | None = None,
    start: Past | None = None,
) -> Plan:
    """Check the arguments of a simulation and return its plan; later code does not check them again.

    ``settings`` are the arguments horizon, runs, seed, checkpoints, paired and stepwise of ``simulate``, by
    name; ``start`` is the history.
    """
    horizon = whole("horizon", "simulate", settings["horizon"], least=1)
    known = paired_clusters(instance, clusters, "simulate")
    past = read_start(start, instance.arms, "simulate")
    learners = _policies(instance, policies, known, past.trials + horizon)
    family, best = instance.family, instance.best_mean
    if family.counts and horizon * best > MOST_COUNT:
        raise invalid(
            "horizon", "simulate", f"at most {MOST_COUNT / best:.3g} for a mean of {best:g}", horizon
        )
    return Plan.checked("simulate", instance, learners, horizon, settings, past)


def _policies(instance: Instance, given: object, known: Clusters, horizon: int) -> tuple[Policy, ...]:
    """Return copies of policies for a horizon; refuse policies with other arms than the instance."""
    family = instance.family
    made = read_policies(given, lambda name: policy(name, known, family=family), family, "simulate")
    copies = tuple(one.for_horizon(horizon) for one in made)
    for one in copies:
        if one.clusters is not known:
            paired_clusters(instance, one.clusters, "simulate")
    return copies


def read_policies(given: object, named: Callable[[str], Policy], family: Family, owner: str) -> list[Policy]:
    """Return a list of policies with different labels, all for the given reward family.

    ``named`` returns the policy with a given name; ``owner`` is the calling function for error messages.
    """
    listed = list(given) if is_list(given) else [given]
    if not listed:
        raise invalid("policies", owner, "at least one policy", given)
    chosen: dict[str, Policy] = {}
    for each in listed:
        made = named(each) if isinstance(each, str) else each
        if not isinstance(made, Policy):
            raise invalid("policies", owner, "policies or their names", each)
        if not made.family.includes(family):
            allowed = f"policies for {family.name} rewards, made with family={family.spec!r}"
            raise invalid(
                "policies", owner, allowed, Described(f"{made.label} for {made.family.name} rewards")
            )
        if made.label in chosen:
            allowed = "different policies, or policies with different labels"
            raise invalid("policies", owner, allowed, Described(f"{made.label!r} twice"))
        chosen[made.label] = made
    return list(chosen.values())
