"""The random number generator of policies: its state is an array of four numbers, which is saved with them.

It is SFC64 (Doty-Humphrey, PractRand, 2014) and returns the same numbers as NumPy's ``SFC64``. A NumPy
generator would be unpacked in every call from Python, which takes a hundred times longer than a draw.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clusterbandits.compiled import inner_kernel, kernel, separate_kernel, specialise

if TYPE_CHECKING:
    from collections.abc import Callable

Stream = NDArray[np.uint64]

_MASK = 2**64 - 1
_UNIT = 2.0**-53
#: The number of draws discarded after seeding.
_MIXING = 12
#: Leva's ellipses: a pair inside the inner one is accepted, outside the outer one rejected, without a log.
_CENTRE_U, _CENTRE_V, _A, _B, _INNER, _OUTER = 0.449871, -0.386595, 0.196, 0.25472, 0.27597, 0.27846
_WIDEST = 1.7156
_SMALLEST = 1e-300


def fresh_stream(rng: np.random.Generator) -> Stream:
    """Return a stream whose seed is drawn from a NumPy generator."""
    seeded = np.random.SFC64(rng.integers(2**63, size=4, dtype=np.uint64))
    return np.array(seeded.state["state"]["state"], dtype=np.uint64)


def following(stream: Stream) -> int:
    """Return the next 64 random bits."""
    a, b, c, count = map(int, stream)
    bits = (a + b + count) & _MASK
    stream[0] = b ^ (b >> 11)
    stream[1] = (c + (c << 3)) & _MASK
    stream[2] = (((c << 24) & _MASK | (c >> 40)) + bits) & _MASK
    stream[3] = (count + 1) & _MASK
    return bits


@specialise(following)
def _pick_following(_stream: Any) -> Callable[..., Any]:
    def compiled(stream: Any) -> Any:
        b, c = stream[1], stream[2]
        bits = stream[0] + b + stream[3]
        stream[0] = b ^ (b >> np.uint64(11))
        stream[1] = c + (c << np.uint64(3))
        stream[2] = ((c << np.uint64(24)) | (c >> np.uint64(40))) + bits
        stream[3] += np.uint64(1)
        return bits

    return compiled


def _high_bits(bits: int) -> int:
    return bits >> 11


@specialise(_high_bits)
def _pick_high_bits(_bits: Any) -> Callable[..., Any]:
    return lambda bits: np.int64(bits >> np.uint64(11))


@kernel
def restart(stream: Stream, seed: int) -> None:
    """Seed a stream with a whole number; the same seed gives the same draws."""
    for place in range(3):
        stream[place] = seed
    stream[3] = 1
    for _ in range(_MIXING):
        following(stream)


@kernel
def uniform(stream: Stream) -> float:
    """Draw from the uniform distribution on [0, 1)."""
    return float(_high_bits(following(stream)) * _UNIT)


@kernel
def normal(stream: Stream) -> float:
    """Draw from the standard normal distribution by Leva's ratio of uniforms."""
    while True:
        u, v = 1.0 - uniform(stream), _WIDEST * (uniform(stream) - 0.5)
        x, y = u - _CENTRE_U, abs(v) - _CENTRE_V
        q = x * x + y * (_A * y - _B * x)
        if q < _INNER or (q <= _OUTER and v * v <= -4.0 * u * u * math.log(u)):
            return v / u


@separate_kernel
def gamma(stream: Stream, shape: float) -> float:
    """Draw from the Gamma distribution of scale 1 by the method of Marsaglia and Tsang; NaN for NaN."""
    if math.isnan(shape):
        return shape
    raised = shape if shape >= 1.0 else shape + 1.0
    d = raised - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(stream)
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            u, squared = 1.0 - uniform(stream), x * x
            if u < 1.0 - 0.0331 * squared * squared:
                break
            if math.log(u) < 0.5 * squared + d * (1.0 - v + math.log(v)):
                break
    if shape >= 1.0:
        return d * v
    return max(d * v * math.pow(1.0 - uniform(stream), 1.0 / shape), _SMALLEST) if shape > 0.0 else _SMALLEST


@inner_kernel
def beta(stream: Stream, a: float, b: float) -> float:
    """Draw from the Beta distribution as a ratio of Gamma draws."""
    x = gamma(stream, a)
    return x / (x + gamma(stream, b))
