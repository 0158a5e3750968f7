"""A changing set of arms: add, remove, retire and restore arms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterbandits.policies.merging import Merging
from clusterbandits.validate import invalid, unknown

if TYPE_CHECKING:
    from clusterbandits.partition import Label


class Lineup(Merging):
    """The part of a policy that handles a changing set of arms."""

    @property
    def retired(self) -> tuple[Label, ...]:
        """The arms that are no longer chosen, in the order of all arms."""
        with self._lock:
            retired = self._retired.tolist()
            return tuple(label for label, gone in zip(self.clusters.arms, retired, strict=True) if gone)

    def add_arm(self, arm: Label, cluster: Label) -> None:
        """Add a new arm to an existing cluster; policies that pull each arm once choose it next."""
        with self._lock:
            self._regroup(self.clusters.with_arm(arm, cluster))

    def remove_arm(self, arm: Label) -> None:
        """Remove an arm and its rewards; its rounds still count. A cluster is removed with its last arm."""
        owner = f"{type(self).__name__}.remove_arm"
        with self._lock:
            self._check_left(self._number(arm, owner), owner)
            self._regroup(self.clusters.without_arm(arm))

    def retire_arm(self, arm: Label) -> None:
        """Stop choosing an arm but keep its rewards; rewards that arrive late still count.

        Simulations of the policy use all arms, retired ones included. To discard the rewards too, use
        ``remove_arm``.

        Examples
        --------
        >>> from clusterbandits import KLUCB, Clusters
        >>> policy = KLUCB(Clusters([2, 1]))
        >>> policy.retire_arm(1)
        >>> policy.retired, policy.ask(3)
        ((1,), [0, 2, 0])
        """
        owner = f"{type(self).__name__}.retire_arm"
        with self._lock:
            number = self._number(arm, owner)
            self._check_limits(owner)
            self._check_left(number, owner)
            retired = self._retired.copy()
            retired[number] = True
            self._retire(retired)

    def restore_arm(self, arm: Label) -> None:
        """Allow a retired arm to be chosen again.

        Examples
        --------
        >>> from clusterbandits import KLUCB, Clusters
        >>> policy = KLUCB(Clusters([2, 1]))
        >>> policy.retire_arm(0)
        >>> policy.restore_arm(0)
        >>> policy.retired, policy.ask()
        ((), 0)
        """
        with self._lock:
            number = self._number(arm, f"{type(self).__name__}.restore_arm")
            retired = self._retired.copy()
            retired[number] = False
            self._retire(retired)

    def _check_left(self, number: int, owner: str) -> None:
        """Refuse to remove or retire the last arm that can be chosen."""
        others = self._retired.copy()
        others[number] = True
        if others.all():
            allowed = "one of at least two arms that are not retired"
            raise invalid("arm", owner, allowed, self.clusters.arms[number])

    def _number(self, arm: Label, owner: str) -> int:
        try:
            return self._numbers[arm]
        except (KeyError, TypeError):
            raise unknown("arm", arm, self.clusters.arms, owner=owner) from None
