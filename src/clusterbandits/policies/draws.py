"""Policies that choose by chance from statistics of single arms: Thompson, TSC, ε-greedy.

A policy of this kind is one formula, ``choose(state, n)``, in the file that carries its name. They share a
state and one compilation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from clusterbandits.compiled import kernel
from clusterbandits.policies.arms import Floats, Ints, first_unpulled, layout_of, members_of
from clusterbandits.policies.hold_search import fresh_memory, take_in
from clusterbandits.policies.policy import Policy
from clusterbandits.policies.protocol import Kernels, by_formula
from clusterbandits.policies.saved import RandomStream

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator
    from numpy.typing import NDArray

    from clusterbandits.families.law import Law


class DrawState(NamedTuple):
    """Statistics, the number of the formula, and the random generator."""

    law: Law
    #: The place of the formula.
    formula: int
    #: A number that the formula needs, such as ε-greedy's c K / g².
    parameter: float
    pulls: Ints
    totals: Floats
    order: Ints
    start: Ints
    memory: NDArray[Any]
    rng: np.random.Generator


FORMULAS: list[Callable[..., int]] = []


#: ``choose(state, n)``: the arm that the formula chooses, once all were pulled.
choose = by_formula(lambda _: FORMULAS)


@kernel
def select(state: DrawState, n: int) -> int:
    """Return the first arm never pulled, or what the formula chooses."""
    if state.memory[0].unpulled > 0:
        return first_unpulled(state.pulls)
    return int(choose(state, n))


class DrawPolicy(Policy):
    """A policy that chooses by chance; a subclass sets ``choose`` to a kernel ``choose(state, n)``."""

    choose: ClassVar[Callable[..., int]]
    #: Whether clusters matter to it; else all arms are one.
    clustered: ClassVar[bool] = False
    randomised = True
    saved = RandomStream()
    kernels = Kernels(select, take_in)
    _formula: ClassVar[int]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._formula = len(FORMULAS)
        FORMULAS.append(cls.choose)
        cls.choose = staticmethod(cls.choose)

    def parameter(self) -> float:
        """Return the number that the formula needs."""
        return 0.0

    def new_state(self, rng: Generator | None) -> DrawState:
        """Make a state before the first round."""
        assert rng is not None
        arms = len(self.clusters.arms)
        layout = layout_of(members_of(self.clusters) if self.clustered else [list(range(arms))])
        return DrawState(
            law=self.family.law,
            formula=self._formula,
            parameter=float(self.parameter()),
            pulls=np.zeros(arms, dtype=np.int64),
            totals=np.zeros(arms),
            order=layout.order,
            start=layout.start,
            memory=fresh_memory(arms),
            rng=rng,
        )
