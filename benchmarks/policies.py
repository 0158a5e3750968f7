"""The time per round of all policies, and of an exact draw of a cluster."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measure import Measurement, seconds
from benchmarks.plain_loop import sample_plainly
from clusterbandits import POLICIES, Clusters, ClusTS, Instance, simulate
from clusterbandits.paper.figures import figure
from clusterbandits.policies.protocol import KERNELS
from clusterbandits.simulation.loop import Rewards
from clusterbandits.studies.history import table_instance

if TYPE_CHECKING:
    from clusterbandits import Policy

#: Rounds per run: of policies with holds, of random policies, of those with slow draws, and with many arms.
_HOLDING, _DRAWING, _SLOW, _MANY_ARMS_ROUNDS = 10**6, 10**6, 10**4, 10**5
#: The limits in nanoseconds.
_LIMITS = {"thompson": 400, "kindred": 10_000}
_MANY_ARMS_LIMITS = {"kindred": 40_000}


def _rounds(kind: type[Policy]) -> int:
    if not kind.randomised:
        return _HOLDING
    return _SLOW if kind.name in {"clus-ts", "hier-ts"} else _DRAWING


def _nanoseconds_a_round(
    instance: Instance, name: str, clusters: Clusters, rounds: int | None = None
) -> float:
    """Return the mean time per round on one core after compilation, the best of five runs."""
    rounds = rounds or _rounds(POLICIES[name])
    simulate(instance, name, 100, runs=1, clusters=clusters)
    taken = []
    for _ in range(5):
        start = time.perf_counter()
        simulate(instance, name, rounds, runs=1, seed=1, clusters=clusters, workers=1)
        taken.append(time.perf_counter() - start)
    return 1e9 * min(taken) / rounds


def _plain_nanoseconds(instance: Instance, rounds: int = 10**6) -> float:
    """Return the time per round of Thompson sampling in a plain compiled loop."""
    taken = []
    for many in (100, *[rounds] * 5):
        arms = len(instance.arms)
        nothing, first = np.zeros((arms, 0)), np.zeros(arms, dtype=np.int64)
        rng = np.random.default_rng(1)
        rewards = Rewards(instance.family.law, np.array(instance.means), rng, nothing, first)
        start = time.perf_counter()
        sample_plainly(rewards, np.zeros(arms, dtype=np.int64), np.zeros(arms), many)
        taken.append((time.perf_counter() - start) / many)
    return 1e9 * min(taken[1:])


def _microseconds_a_draw(arms: int, width: float, clusters: int = 200) -> float:
    """Return the time of a draw of a cluster whose cells must be computed; each call draws many clusters."""
    policy = ClusTS(Clusters([arms] * clusters, widths=width), alarm="ignore")
    for arm in range(arms * clusters):
        policy.tell(arm, 8 + arm % 3, pulls=20)
    state: Any = policy._live
    select = KERNELS[type(state)].select

    def draw() -> None:
        state.cells.kept_counts[:] = 0
        select(state, 1000)

    return 1e6 * seconds(draw) / clusters


def measure() -> list[Measurement]:
    """Measure the time per round of all policies on Figure 4, of some on 183 arms, and of exact draws.

    Thompson sampling is compared with a plain compiled loop.
    """
    four = figure(4)
    instance = four.instance
    clusters = instance.clusters(four.widths[0])
    found = []
    for name in POLICIES:
        taken = _nanoseconds_a_round(instance, name, clusters)
        found.append(Measurement(f"{name}, per round", taken, "ns", limit=_LIMITS.get(name)))
    flights = table_instance("flights-by-destination")
    for name in ("thompson", "tsc", "kindred"):
        taken = _nanoseconds_a_round(flights, name, flights.clusters(), _MANY_ARMS_ROUNDS)
        limit = _MANY_ARMS_LIMITS.get(name)
        found.append(Measurement(f"{name}, per round with 183 arms", taken, "ns", limit=limit))
    plain = _plain_nanoseconds(instance)
    thompson = next(one.value for one in found if one.claim == "thompson, per round")
    draws = []
    for arms, width in ((2, 0.02), (3, 0.02), (3, 0.2), (10, 0.02), (10, 0.2)):
        claim = f"a draw of {arms} arms within {width:g}"
        draws.append(Measurement(claim, _microseconds_a_draw(arms, width), "µs"))
    return [
        *found,
        Measurement("plain compiled loop of Thompson, per round", plain, "ns"),
        Measurement("thompson over that loop", thompson / plain, "×"),
        *draws,
    ]
