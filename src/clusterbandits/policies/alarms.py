"""Width alarms in online use: one warning per cluster, a list of alarms, and a record that is saved."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.compiled import plain
from clusterbandits.policies.protocol import FOREVER
from clusterbandits.policies.width_alarm import CLOSE, look_after
from clusterbandits.serial import restore_number
from clusterbandits.validate import as_float, check_keys, invalid, is_list, whole

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from clusterbandits.clusters import Clusters
    from clusterbandits.partition import Label
    from clusterbandits.policies.protocol import Kernels, State

_FIELDS = ["cluster", "round", "width", "evidence", "needed"]
#: What the policy does after an alarm, and what users can do, by the setting ``alarm``.
_RESPONSES = {
    "warn": "The policy still uses this width: declare a larger one, or set alarm='widen' to ignore it.",
    "widen": "The policy now ignores this width.",
}


@dataclass(frozen=True)
class WidthAlarm:
    """An alarm: the rewards of a cluster contradict its declared width."""

    cluster: Label
    #: The round before which the alarm was raised.
    round: int
    #: The declared width.
    width: float
    #: Λ, the distance of the data from all means that the width allows.
    evidence: float
    #: The threshold of Λ: if all widths are true, Λ ever reaches it with at most the probability
    #: ``alarm_level``.
    needed: float

    def __str__(self) -> str:
        return (
            f"The arms of cluster {self.cluster!r} differ by more than its declared width {self.width:g} "
            f"(round {self.round}: evidence {self.evidence:.3g}, threshold {self.needed:.3g})."
        )


class Watchful:
    """The part of a policy that checks its declared widths."""

    clusters: Clusters
    settings: dict[str, Any]
    _live: State
    _kernels: Kernels
    _next_round: int
    _lock: AbstractContextManager[Any]
    #: The round of the next check; infinite if no width is watched.
    _look: float

    def alarms(self) -> tuple[WidthAlarm, ...]:
        """Return the alarms: clusters whose rewards contradict their declared widths, earliest first.

        Examples
        --------
        >>> from clusterbandits import ClusUCB, Clusters
        >>> policy = ClusUCB(Clusters({"red": ["a", "b"]}, widths=0.1), alarm="widen")
        >>> policy.alarms()
        ()
        """
        with self._lock:
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

    def _begin_watch(self, live: State) -> None:
        alarm = getattr(live, "alarm", None)
        look = FOREVER if alarm is None else int(alarm.look[0])
        self._look = look if look < FOREVER else math.inf

    def _watch(self) -> list[str]:
        """Check the widths; return one message per new alarm."""
        known = {one.cluster for one in self.alarms()}
        self._look = int(self._kernels.watch(self._live, self._next_round))
        response = _RESPONSES[self.settings["alarm"]]
        return [f"{one} {response}" for one in self.alarms() if one.cluster not in known]

    def _watch_earlier(self) -> None:
        """Move the next check and the rounds of alarms as if the cancelled rounds had not been asked for."""
        alarm = getattr(self._live, "alarm", None)
        if alarm is not None:
            np.minimum(alarm.fired, self._next_round, out=alarm.fired)
            if self._look < math.inf:
                alarm.look[0] = self._look = min(self._look, _look_after(self._next_round))

    def _watched(self) -> dict[str, Any]:
        """Return the alarms as plain data."""
        look = self._look if self._look < math.inf else None
        return {"look": look, "alarms": [asdict(one) for one in self.alarms()]}

    def _check_watched(self, data: object, owner: str) -> None:
        """Refuse data that ``_watched`` cannot have returned."""
        check_keys(["look", "alarms"], owner, data)
        watched: Any = data
        if not is_list(watched["alarms"]):
            raise invalid("alarms", owner, "a list", watched["alarms"])
        names, widths = self.clusters.partition.clusters, self.clusters.widths
        ignored = self.settings.get("alarm", "ignore") == "ignore"
        declared = {} if ignored else dict(zip(names, widths, strict=True))
        one: Any
        for one in watched["alarms"]:
            check_keys(_FIELDS, owner, one)
            self._check_alarm(one, declared, owner)
            # A cluster has at most one alarm.
            del declared[one["cluster"]]
        if (watched["look"] is None) != (self._look == math.inf):
            allowed = "null" if self._look == math.inf else "the round of the next check"
            raise invalid("look", owner, allowed, watched["look"])
        if watched["look"] is not None:
            latest = _look_after(self._next_round)
            look = whole("look", owner, watched["look"], least=1, most=latest)
            if look != _look_after(look - 1):
                raise invalid("look", owner, "a round of the alarm's schedule", look)

    def _check_alarm(self, one: dict[str, Any], declared: dict[Label, float], owner: str) -> None:
        if type(one["cluster"]) not in {str, int} or one["cluster"] not in declared:
            raise invalid("alarms", owner, "at most one per watched cluster", one["cluster"])
        whole("round", owner, one["round"], least=1, most=self._next_round)
        width = as_float(restore_number(one["width"]))
        if not width == declared[one["cluster"]] < math.inf:
            raise invalid(
                "width", owner, "the declared width of its cluster, which must be finite", one["width"]
            )
        needed, evidence = (as_float(restore_number(one[key])) for key in ("needed", "evidence"))
        if not 0.0 <= needed * CLOSE <= evidence or needed == math.inf:
            raise invalid("evidence", owner, f"at least the threshold {needed:g}", one["evidence"])

    def _restore_watched(self, data: dict[str, Any]) -> None:
        """Restore the alarms that ``_watched`` returned, except those of clusters that no longer exist."""
        alarm: Any = getattr(self._live, "alarm", None)
        if alarm is None:
            return
        places = {name: c for c, name in enumerate(self.clusters.partition.clusters)}
        for one in data["alarms"]:
            c = places.get(one["cluster"])
            if c is not None:
                alarm.fired[c] = one["round"]
                alarm.evidence[c], alarm.needed[c] = (float(one[key]) for key in ("evidence", "needed"))
                if alarm.widens:
                    self._widen(c)
        if data["look"] is not None and self._look < math.inf:
            alarm.look[0] = self._look = int(data["look"])

    def _widen(self, c: int) -> None:
        """Ignore the width of a cluster from the next round on."""
        state: Any = self._live
        state.widths[c] = math.inf


def _look_after(n: int) -> int:
    """Return the first scheduled round after n."""
    return plain(look_after)(n, 1)
