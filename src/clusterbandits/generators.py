"""Random instances, for studies of many environments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from clusterbandits.instance import Instance
from clusterbandits.partition import check_arms
from clusterbandits.validate import Described, as_float, choice, invalid, is_list, random_generator, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clusterbandits.families import Family

    Floats = NDArray[np.float64]

Layout = Literal["separated", "overlapping", "scattered"]


def random_instance(
    layout: Layout,
    sizes: Sequence[int],
    span: float | Sequence[float],
    seed: int | np.random.SeedSequence | np.random.Generator,
    *,
    within: tuple[float, float] = (0.05, 0.95),
    family: Family | str = "bernoulli",
) -> Instance:
    """Draw an instance whose groups have exactly the given spans of means.

    Parameters
    ----------
    layout
        Position of the groups: ``"separated"`` (disjoint ranges of means with random distances),
        ``"overlapping"`` (each range overlaps the next one), or ``"scattered"`` (independent uniform
        positions, suitable for many arms).
    sizes
        Number of arms of each group, as in ``[3, 3]`` or ``[20] * 50``.
    span
        Difference between the largest and the smallest mean of a group: one number for all groups or one per
        group; for a group of one arm, it is 0.
    seed
        Random seed, or a NumPy generator.
    within
        Interval that contains all means, by default from 0.05 to 0.95.
    family
        Reward family, by default Bernoulli.

    Examples
    --------
    >>> instance = random_instance("separated", [3, 2], span=0.1, seed=1)
    >>> [round(span, 12) for span in instance.spans]
    [0.1, 0.1]
    >>> random_instance("scattered", [20] * 50, span=0.05, seed=1)
    <Instance: 1000 arms in 50 groups, means 0.0734... to 0.933..., bernoulli>
    """
    owner = "random_instance"
    choice("layout", owner, layout, get_args(Layout))
    counts = [whole("sizes", owner, size, least=1) for size in sizes] if is_list(sizes) else []
    if not counts:
        raise invalid("sizes", owner, "a list with the size of every group", sizes)
    check_arms("sizes", owner, sum(counts))
    ends = [as_float(end) for end in within] if is_list(within) else []
    if not (len(ends) == 2 and np.isfinite(ends).all() and ends[0] < ends[1]):
        raise invalid("within", owner, "two finite numbers, the smaller first", within)
    low, high = ends
    spans = _spans(span, counts, high - low)
    rng = random_generator(seed, owner)
    place = {"separated": _separated, "overlapping": _overlapping, "scattered": _scattered}[layout]
    starts = low + place(rng, spans, high - low)
    drawn = [_group(rng, *group) for group in zip(starts, spans, counts, strict=True)]
    return Instance([np.clip(group, low, high) for group in drawn], family=family)


def _spans(span: object, counts: list[int], length: float) -> Floats:
    given = span if is_list(span) else [span] * len(counts)
    values: Floats = np.array([as_float(value) for value in given])
    if values.size != len(counts) or not np.all((values >= 0) & (values <= length * (1 + 1e-9))):
        allowed = f"one number or one for each of {len(counts)} groups, each from 0 to {length:g}"
        raise invalid("span", "random_instance", allowed, span)
    values[np.array(counts) == 1] = 0.0
    values[values > length] = length
    return values


def _separated(rng: np.random.Generator, spans: Floats, length: float) -> Floats:
    """Place disjoint ranges in random order, with random gaps before, between and after them."""
    free = length - float(spans.sum())
    if free <= 0:
        given = Described(f"spans that sum to {spans.sum():g}")
        raise invalid("span", "random_instance", f"less than {length:g} in total for separated groups", given)
    gaps = free * rng.dirichlet(np.ones(spans.size + 1))
    order = rng.permutation(spans.size)
    starts = np.empty(spans.size)
    starts[order] = np.cumsum(gaps[:-1]) + np.cumsum(spans[order]) - spans[order]
    return starts


def _overlapping(rng: np.random.Generator, spans: Floats, length: float) -> Floats:
    """Place ranges so that each overlaps the one before; compress them if they do not fit."""
    starts = np.zeros(spans.size)
    for i in range(1, spans.size):
        upper, lower = spans[i - 1] * rng.uniform(0.5, 0.9), spans[i] * rng.uniform(0.1, 0.5)
        apart = 0.0 if spans[i - 1] or spans[i] else length * rng.uniform(0.01, 0.1)
        starts[i] = starts[i - 1] + upper - lower + apart
    starts -= starts.min()
    if (starts + spans).max() > length:
        starts *= (length - spans.max()) / starts.max()
    free = float(length - (starts + spans).max())
    return starts + free * rng.uniform()


def _scattered(rng: np.random.Generator, spans: Floats, length: float) -> Floats:
    return rng.uniform(size=spans.size) * (length - spans)


def _group(rng: np.random.Generator, start: float, span: float, count: int) -> Floats:
    inner = rng.uniform(start, start + span, max(count - 2, 0))
    return rng.permutation([start, *inner, start + span] if count > 1 else [start])
