"""OSSB: play the allocation that the lower bound asks for at the empirical means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from clusterbandits.limits import MOST_ROUNDS
from clusterbandits.policies.allocation.kernels import EXPLORED, AllocationState, allocate, fresh_state
from clusterbandits.policies.layout import members_of
from clusterbandits.policies.leader import leader_of
from clusterbandits.policies.policy import Policy
from clusterbandits.policies.settings import ALARM
from clusterbandits.validate import check_keys, whole

if TYPE_CHECKING:
    from numpy.random import Generator

    from clusterbandits.policies.protocol import State


class OSSB(Policy):
    r"""Pull the leader where all arms have the pulls the lower bound asks for, else one that lacks them.

    With c_k the solution of the lower bound's linear program at the empirical means: where

    .. math:: t_k \ge c_k (1 + \gamma) \log n

    for all suboptimal arms the leader is pulled. Else, with s rounds that explored so far, the least pulled
    arm if it has at most ε s pulls, or else the arm with the least t_k / c_k. Rounds that were asked for and
    cancelled stay counted in s.

    Parameters
    ----------
    clusters
        Who belongs together, and how far apart.
    epsilon
        ε, how often arms are pulled that seem to need nothing.
    gamma
        γ, how much more is explored than the bound asks for.
    alarm, alarm_level
        As for ``ClusUCB``.
    family
        The law of rewards.
    label
        What tables and pictures call it.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = OSSB(Clusters([2, 1], widths=0.1))
    >>> for reward in [0, 1, 0]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    1

    References
    ----------
    Combes, Magureanu and Proutière, Minimal exploration in structured stochastic bandits, NeurIPS 2017.
    """

    name = "ossb"
    uses_widths = True
    defaults: ClassVar = {"epsilon": 0.01, "gamma": 0.0, **ALARM}
    guarantee = "meets the lower bound as ε, γ → 0"
    reference = "Combes et al. 2017"

    def fresh_state(self, rng: Generator | None = None) -> AllocationState:
        """Return the state before the first round."""
        del rng
        return fresh_state(self.family.law, members_of(self.clusters), self.clusters.widths, self.settings)

    def _scores(self) -> list[float]:
        state = cast("AllocationState", self._live)
        leader = leader_of(state.pulls, state.totals)
        allocate(state, float(state.totals[leader]) / int(state.pulls[leader]))
        return [float(need) for need in state.needed]

    def _remember_choice(self, state: State) -> None:
        chosen, kept = cast("AllocationState", state), cast("AllocationState", self._live)
        kept.memory[EXPLORED] = chosen.memory[EXPLORED]

    def _last_choice(self) -> dict[str, Any]:
        return {"explored": min(int(cast("AllocationState", self._live).memory[EXPLORED]), MOST_ROUNDS)}

    def _check_choice(self, data: object, owner: str) -> None:
        check_keys(["explored"], owner, data)
        whole("explored", owner, cast("dict[str, Any]", data)["explored"], least=0)

    def _restore_choice(self, data: dict[str, Any]) -> None:
        cast("AllocationState", self._live).memory[EXPLORED] = int(data.get("explored", 0))
