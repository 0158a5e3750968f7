"""Checkpoints: the rounds at which pulls are recorded."""

from __future__ import annotations

import math

import numpy as np

from clusterbandits.validate import invalid, is_list, whole

_A_DECADE = 10


def read_checkpoints(checkpoints: object, horizon: int) -> tuple[int, ...]:
    """Return the checkpoints as increasing rounds that end with the horizon.

    Parameters
    ----------
    checkpoints
        None for ten log-spaced rounds per decade with round 1 and all powers of ten; the number of log-spaced
        rounds; or the rounds themselves.
    horizon
        Last round.

    Examples
    --------
    >>> read_checkpoints(None, 12)
    (1, 2, 3, 4, 5, 6, 8, 10, 12)
    >>> read_checkpoints([5, 10], 12)
    (5, 10, 12)
    """
    if checkpoints is None:
        powers = np.arange(_A_DECADE * math.log10(horizon) + 1) / _A_DECADE
        return _kept(10.0**powers, horizon)
    if is_list(checkpoints):
        rounds = [whole("checkpoints", "simulate", one, least=1) for one in checkpoints]
        if not rounds or max(rounds) > horizon:
            raise invalid("checkpoints", "simulate", f"rounds from 1 to the horizon {horizon}", checkpoints)
        return tuple(sorted({*rounds, horizon}))
    count = whole("checkpoints", "simulate", checkpoints, least=1, most=10**6)
    return _kept(np.geomspace(1, horizon, count)[1 if count == 1 else 0 :], horizon)


def _kept(rounds: np.ndarray, horizon: int) -> tuple[int, ...]:
    whole_rounds = {int(number) for number in np.rint(rounds)}
    return tuple(sorted({number for number in whole_rounds if number < horizon} | {horizon}))
