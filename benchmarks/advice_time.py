"""The time of advice for 200 arms with default settings, on all cores."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.advice import KINDS, tried_arms
from benchmarks.measure import Measurement
from clusterbandits import Instance, advise

_GROUPS, _SIZE = 20, 10


def measure() -> list[Measurement]:
    """Measure the time of advice on a history of 20 to 500 trials per arm, after compilation."""
    means = KINDS["alike"](np.random.default_rng(15), [_SIZE] * _GROUPS)
    history = tried_arms(Instance([part.tolist() for part in means]), np.random.default_rng(16))
    advise(history, horizon=100, worlds=2)
    start = time.perf_counter()
    advise(history)
    return [Measurement("advice on 200 arms, 10⁵ rounds", time.perf_counter() - start, "s", limit=60)]
