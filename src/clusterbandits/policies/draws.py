"""Policies that choose at random from statistics of single arms: Thompson, TSC, ε-greedy.

A policy of this kind is one formula, ``choose(state, n)``, in the file named after it. All of them share a
state and one compilation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from clusterbandits.compiled import inner_kernel, kernel
from clusterbandits.families.posterior import draw_mean
from clusterbandits.families.stream import Stream, fresh_stream
from clusterbandits.policies.arms import Floats, Ints, first_unpulled, layout_of, members_of
from clusterbandits.policies.hold_search import fresh_memory, take_in
from clusterbandits.policies.policy import Policy
from clusterbandits.policies.protocol import Kernels, by_formula
from clusterbandits.policies.saved import StreamPlace

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator
    from numpy.typing import NDArray

    from clusterbandits.families.law import Law


class DrawState(NamedTuple):
    """Statistics, the number of the formula, the prior, and the random stream."""

    law: Law
    #: The index of the formula.
    formula: int
    #: A number that the formula needs, such as c K / g² of ε-greedy.
    parameter: float
    #: The prior of an arm as an equivalent number of pulls and their total.
    known: float
    known_total: float
    pulls: Ints
    totals: Floats
    order: Ints
    start: Ints
    memory: NDArray[Any]
    stream: Stream


FORMULAS: list[Callable[..., int]] = []


#: ``choose(state, n)``: the arm that the formula chooses, once all arms have been pulled.
choose = by_formula(lambda _: FORMULAS)


@kernel
def select(state: DrawState, n: int) -> int:
    """Return the first arm without pulls; if there is none, the arm that the formula chooses."""
    if state.memory[0].unpulled > 0:
        return first_unpulled(state.pulls)
    return int(choose(state, n))


@inner_kernel
def drawn_mean(state: DrawState, pulls: int, total: float) -> float:
    """Draw a mean from its posterior, given the number of pulls and their total."""
    return draw_mean(state.law, state.stream, state.known + pulls, state.known_total + total)


class DrawPolicy(Policy):
    """Base class of random policies; a subclass sets ``choose`` to a kernel ``choose(state, n)``."""

    choose: ClassVar[Callable[..., int]]
    #: Whether the policy uses clusters; otherwise all arms form one.
    clustered: ClassVar[bool] = False
    randomised = True
    saved = StreamPlace()
    kernels = Kernels(select, take_in)
    _formula: ClassVar[int]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._formula = len(FORMULAS)
        FORMULAS.append(cls.choose)
        cls.choose = staticmethod(cls.choose)

    def parameter(self) -> float:
        """Return the parameter of the formula."""
        return 0.0

    def new_state(self, rng: Generator | None) -> DrawState:
        """Return the state before the first round."""
        assert rng is not None
        arms = len(self.clusters.arms)
        known, known_total = self.prior()
        layout = layout_of(members_of(self.clusters) if self.clustered else [list(range(arms))])
        return DrawState(
            law=self.family.law,
            formula=self._formula,
            parameter=float(self.parameter()),
            known=known,
            known_total=known_total,
            pulls=np.zeros(arms, dtype=np.int64),
            totals=np.zeros(arms),
            order=layout.order,
            start=layout.start,
            memory=fresh_memory(arms),
            stream=fresh_stream(rng),
        )
