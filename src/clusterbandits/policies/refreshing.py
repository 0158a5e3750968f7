"""Policies that may keep a choice for several rounds: what of that survives saving, copies and cancelling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from clusterbandits.policies.layout import NOBODY, Ints
from clusterbandits.policies.policy import Policy
from clusterbandits.validate import check_keys, whole

if TYPE_CHECKING:
    from clusterbandits.policies.protocol import State


class RefreshedState(Protocol):
    """What a state must have."""

    @property
    def memory(self) -> Ints:
        """Whole numbers that it remembers."""

    @property
    def refresh(self) -> int:
        """Rounds for which a choice is kept."""


class RefreshingPolicy(Policy):
    """A policy with the setting ``refresh``."""

    #: Places in the memory: the arm chosen last, until when it is kept, and the arm whose certainty does not
    #: survive a choice that was made on a copy.
    places: ClassVar[tuple[int, int, int]]

    def _remember_choice(self, state: State) -> None:
        last, until, certain = self.places
        chosen, kept = cast("RefreshedState", state).memory, self._refreshed.memory
        kept[last], kept[until], kept[certain] = chosen[last], chosen[until], NOBODY

    def _forget_cancelled(self) -> None:
        last, until, _ = self.places
        memory, refresh = self._refreshed.memory, self._refreshed.refresh
        if memory[last] == NOBODY or memory[until] - refresh >= self._next_round:
            memory[last], memory[until] = NOBODY, 0

    def _last_choice(self) -> dict[str, Any]:
        last, until, _ = self.places
        memory = self._refreshed.memory
        arm = int(memory[last])
        if arm == NOBODY:
            return {"last": None, "until": 0}
        return {"last": self.clusters.arms[arm], "until": int(memory[until])}

    def _check_choice(self, data: object, owner: str) -> None:
        check_keys(["last", "until"], owner, data)
        choice = cast("dict[str, Any]", data)
        latest = 0
        if choice["last"] is not None:
            self._number(choice["last"], owner)
            latest = self._next_round - 1 + self._refreshed.refresh
        whole("until", owner, choice["until"], least=0, most=latest)

    def _restore_choice(self, data: dict[str, Any]) -> None:
        last, until, _ = self.places
        if data.get("last") is not None:
            memory = self._refreshed.memory
            memory[last], memory[until] = self._numbers[data["last"]], int(data["until"])

    @property
    def _refreshed(self) -> RefreshedState:
        return cast("RefreshedState", self._live)
