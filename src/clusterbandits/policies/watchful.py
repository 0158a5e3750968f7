"""Alarms as people meet them: a warning once, a list to read, and a record that is saved with the rest."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from clusterbandits.errors import WidthWarning
from clusterbandits.policies.layout import FOREVER
from clusterbandits.serial import restore_number
from clusterbandits.validate import as_float, check_keys, invalid, is_list, whole

if TYPE_CHECKING:
    from clusterbandits.clusters import Clusters
    from clusterbandits.partition import Label
    from clusterbandits.policies.protocol import Kernels, State

_FIELDS = ["cluster", "round", "width", "evidence", "needed"]


@dataclass(frozen=True)
class WidthAlarm:
    """The data of one cluster contradict its declared width."""

    cluster: Label
    #: The round before which it was noticed.
    round: int
    #: The width that was declared.
    width: float
    #: Λ, how far the data are from all means that the width allows.
    evidence: float
    #: What Λ reaches with a chance of the alarm's level at most, ever, where all widths are true.
    needed: float

    def __str__(self) -> str:
        return (
            f"Cluster {self.cluster!r} spreads wider than its width {self.width:g}: "
            f"evidence {self.evidence:.3g}, {self.needed:.3g} needed, by round {self.round}."
        )


class Watchful:
    """The part of a learner that watches its widths."""

    clusters: Clusters
    settings: dict[str, Any]
    _live: State
    _kernels: Kernels
    _next_round: int

    def alarms(self) -> tuple[WidthAlarm, ...]:
        """Return the clusters whose data contradict their declared widths, in the order they were noticed.

        Examples
        --------
        >>> from clusterbandits import ClusUCB, Clusters
        >>> policy = ClusUCB(Clusters({"red": ["a", "b"]}, widths=0.1), alarm="widen")
        >>> policy.alarms()
        ()
        """
        alarm = getattr(self._live, "alarm", None)
        if alarm is None:
            return ()
        names, widths = self.clusters.partition.clusters, self.clusters.widths
        found = [
            WidthAlarm(names[c], int(when), widths[c], float(alarm.evidence[c]), float(alarm.needed[c]))
            for c, when in enumerate(alarm.fired)
            if when
        ]
        return tuple(sorted(found, key=lambda one: one.round))

    def _begin_watch(self) -> None:
        alarm = getattr(self._live, "alarm", None)
        self._look = FOREVER if alarm is None else int(alarm.look[0])

    def _watch(self) -> None:
        """Look at the widths where it is time; warn of what is found for the first time."""
        if self._next_round < self._look:
            return
        known = {one.cluster for one in self.alarms()}
        self._look = int(self._kernels.watch(self._live, self._next_round))
        for one in self.alarms():
            if one.cluster not in known:
                done = " It is trusted no more." if self.settings["alarm"] == "widen" else ""
                warnings.warn(f"{one}{done}", WidthWarning, stacklevel=3)

    def _watched(self) -> dict[str, Any]:
        """Return what was noticed, as plain data."""
        look = None if self._look == FOREVER else self._look
        return {"look": look, "alarms": [asdict(one) for one in self.alarms()]}

    def _check_watched(self, data: object, owner: str) -> None:
        """Refuse what ``_watched`` cannot have returned."""
        check_keys(["look", "alarms"], owner, data)
        watched: Any = data
        if watched["look"] is not None:
            whole("look", owner, watched["look"], least=1, most=FOREVER)
        if not is_list(watched["alarms"]):
            raise invalid("alarms", owner, "a list", watched["alarms"])
        one: Any
        for one in watched["alarms"]:
            check_keys(_FIELDS, owner, one)
            whole("round", owner, one["round"], least=1)
            if one["cluster"] not in self.clusters.partition.clusters:
                raise invalid("alarms", owner, "those of its clusters", one["cluster"])
            for key in ("evidence", "needed"):
                if not math.isfinite(as_float(restore_number(one[key]))):
                    raise invalid(key, owner, "a finite number", one[key])

    def _restore_watched(self, data: dict[str, Any]) -> None:
        """Take up what ``_watched`` returned; alarms of clusters that are gone are forgotten."""
        alarm: Any = getattr(self._live, "alarm", None)
        if alarm is None or data["look"] is None:
            return
        places = {name: c for c, name in enumerate(self.clusters.partition.clusters)}
        for one in data["alarms"]:
            c = places.get(one["cluster"])
            if c is not None:
                alarm.fired[c] = one["round"]
                alarm.evidence[c], alarm.needed[c] = one["evidence"], one["needed"]
                if alarm.widens:
                    self._widen(c)
        alarm.look[0] = self._look = int(data["look"])

    def _widen(self, c: int) -> None:
        """Trust a cluster's width no more."""
        state: Any = self._live
        state.widths[c] = math.inf
