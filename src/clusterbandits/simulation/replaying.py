"""The replay loop: a policy gets the rewards of those rows of a log that show the arm it has chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from clusterbandits.compiled import kernel, loop_kernel, plain
from clusterbandits.policies.protocol import learn, select, update, watch
from clusterbandits.simulation.loop import ROUND, SELECTED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Rows(NamedTuple):
    """Rows of a log: the arm shown, its reward, and whether the row may be used."""

    arms: NDArray[np.int64]
    rewards: NDArray[np.float64]
    usable: NDArray[np.bool_]


@loop_kernel
def replay_rows(
    state: Any, rows: Rows, first: int, cursor: NDArray[np.int64], earned: NDArray[np.float64], rounds: int
) -> int:
    """Process rows from ``first`` on until ``rounds`` rounds have matched; return the next row.

    The cursor is that of ``loop``; the rewards of matched rows are added to ``earned[0]``. References are
    counted once per call, as in ``loop.advance``. Policies in plain Python use ``replay_in_python``.
    """
    return _replay_rows(state, rows, first, cursor, earned, rounds)


@kernel
def _replay_rows(
    state: Any, rows: Rows, first: int, cursor: NDArray[np.int64], earned: NDArray[np.float64], rounds: int
) -> int:
    for row in range(first, rows.arms.size):
        if not rows.usable[row]:
            continue
        n = cursor[ROUND]
        if n > rounds:
            return row
        if cursor[SELECTED] < 0:
            watch(state, n)
            cursor[SELECTED] = select(state, n)
        arm = cursor[SELECTED]
        if rows.arms[row] != arm:
            continue
        update(state, arm, 1, rows.rewards[row])
        learn(state, arm)
        earned[0] += rows.rewards[row]
        cursor[SELECTED] = -1
        cursor[ROUND] = n + 1
    return rows.arms.size


#: ``replay_rows`` for policies in plain Python.
replay_in_python = plain(_replay_rows)
