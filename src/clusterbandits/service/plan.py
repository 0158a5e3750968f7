"""The settings of an experiment: groups, widths, policy, reward family, and the handling of rewards."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from clusterbandits.clusters import Clusters
from clusterbandits.families import as_family
from clusterbandits.policies import POLICIES, Policy, policy
from clusterbandits.policies.policy import AUTO, DEFAULT
from clusterbandits.policies.registry import split_spec
from clusterbandits.policies.settings import refuse_setting
from clusterbandits.validate import Described, between, choice, invalid, known_name, whole
from clusterbandits.wording import is_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterbandits.families.family import Family


#: The ways to combine several rewards of one decision.
COMBINE = ("first", "last", "sum")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
#: In seconds; windows are checked twice per second, with a clock of microseconds.
SHORTEST_WINDOW, _LONGEST_WINDOW = 0.01, 400 * 86400.0
#: The largest number of arms, so that a state can be sent and shown within a fraction of a second.
MOST_ARMS = 10_000
LONGEST_LABEL = 200
#: The settings that a request may change while the experiment runs.
CHANGEABLE = ("widths", "policy", "settings", "window", "default_reward", "explore")


@dataclass(frozen=True)
class Plan:
    """The checked settings of an experiment; arms that are added later are only in its policy."""

    name: str
    groups: dict[str, list[str]]
    #: The declared width of each group; None for no width.
    widths: dict[str, float | None]
    policy: str
    settings: dict[str, Any]
    family: str
    #: Seconds after a decision in which its reward is accepted; None for no limit.
    window: float | None
    default_reward: float | None
    combine: str
    #: The share of decisions that are drawn uniformly.
    explore: float
    #: The history by arm: the number of pulls, and their total.
    history: dict[str, list[float]]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    def begin_policy(self) -> Policy:
        """Return the policy after the history, as ``Policy.from_history`` returns it."""
        made = self.make_policy()
        # Not from_history: its parameter ``widths`` would hide the setting of that name of some policies.
        made._tell_past((arm, int(pulls), total) for arm, (pulls, total) in self.history.items() if pulls)
        return made

    def make_policy(self, clusters: Clusters | None = None) -> Policy:
        """Return the policy before its first round and without the history, for these arms or for more."""
        widths = [math.inf if width is None else width for width in self.widths.values()]
        if clusters is None:
            known = Clusters(self.groups, widths)
        else:
            by_group = dict(zip(self.widths, widths, strict=True))
            labels = clusters.partition.cluster_names
            order = [by_group[str(name)] for name in clusters.names]
            known = Clusters.from_labels(labels, order, arms=clusters.arms)
        return policy(self.policy, known, family=self.family, **self.settings)

    def changed(self, changes: Mapping[str, Any]) -> Plan:
        """Return the plan with other settings; a new policy starts with its default settings."""
        given = dict(changes)
        if isinstance(given.get("widths"), dict):
            given["widths"] = {**self.widths, **given["widths"]}
        if "policy" in given and "settings" not in given:
            given["settings"] = {}
        return read_plan({**self.to_dict(), **given})


def read_plan(data: Mapping[str, Any]) -> Plan:
    """Return the plan that a request describes; refuse an invalid one with a message of one sentence."""
    name = data["name"]
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        allowed = "1 to 64 letters, digits, '.', '_' or '-', and begin with a letter or digit"
        raise invalid("name", "experiment", allowed, name)
    groups = _groups(data["groups"])
    kind, written = split_spec(_own(data["policy"]), "experiment")
    settings = dict(data["settings"])
    for key in settings:
        # Settings become keywords of ``policy``, whose other parameters are not settings.
        if key not in kind.defaults:
            refuse_setting(kind.name, kind.defaults, key)
    family = as_family(data["family"], "experiment")
    plan = Plan(
        name=name,
        groups=groups,
        widths=_widths(data["widths"], list(groups)),
        policy=kind.name if written is None else f"{kind.name}:{written}",
        settings=settings,
        family=family.spec,
        window=_window(data["window"]),
        default_reward=data["default_reward"],
        combine=choice("combine", "experiment", data["combine"], COMBINE),
        explore=between("explore", "experiment", data["explore"], 0, 1),
        history=_history(data.get("history") or {}, family),
    )
    made = plan.begin_policy()
    if plan.default_reward is not None:
        value = family.read_total(plan.default_reward, 1, "experiment", "default_reward")
        plan = replace(plan, default_reward=value)
    if made.needs_horizon and made.settings["horizon"] is None:
        raise invalid("settings", "experiment", f"given with a horizon for policy {made.name!r}", settings)
    if not _is_finite(made.settings):
        raise invalid("settings", "experiment", "made of finite numbers", settings)
    # Settings in the text of the policy are moved to its settings, so that equal plans are equal data.
    return replace(plan, policy=made.name, settings=dict(made.settings))


def _is_finite(part: object) -> bool:
    """Return whether JSON can represent a setting."""
    if isinstance(part, dict | list | tuple):
        return all(map(_is_finite, part.values() if isinstance(part, dict) else part))
    return not isinstance(part, float) or math.isfinite(part)


def _groups(given: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the arms of each group."""
    groups = {group: list(arms) for group, arms in given.items()}
    arms = [arm for members in groups.values() for arm in members]
    if len(arms) > MOST_ARMS:
        raise invalid(
            "groups", "experiment", f"of at most {MOST_ARMS} arms together", Described(f"{len(arms)} arms")
        )
    for label in [*groups, *arms]:
        check_label(label)
    if len(set(arms)) < len(arms):
        (twice, _), *_ = Counter(arms).most_common(1)
        raise invalid("groups", "experiment", "groups that have each arm once", twice)
    return groups


def _history(given: Mapping[str, Any], family: Family) -> dict[str, list[float]]:
    """Return pulls and totals by arm; arms are checked later."""
    found: dict[str, list[float]] = {}
    for arm, past in given.items():
        pulls, total = (past["pulls"], past["total"]) if isinstance(past, dict) else past
        found[arm] = [whole("history", "experiment", pulls, least=0), float(total)]
        if not pulls and total:
            raise invalid("history", "experiment", "a total of 0 for an arm without pulls", total)
        if pulls:
            family.read_total(total, int(pulls), "experiment", "history")
    return found


def check_label(label: object) -> str:
    """Return the name of an arm or a group; refuse an invalid one."""
    if not (isinstance(label, str) and is_text(label) and "\0" not in label and label.strip()):
        raise invalid("arm or group", "experiment", "a name with at least one visible character", label)
    if len(label) > LONGEST_LABEL:
        raise invalid("arm or group", "experiment", f"at most {LONGEST_LABEL} characters long", label)
    if label != label.strip():
        # In tables of trials, such names are the same as those without spaces.
        raise invalid("arm or group", "experiment", "a name without spaces at its ends", label)
    return label


def _own(spec: object) -> str:
    """Return the name of a policy of the package; the service never imports code that a request names."""
    name = str(spec).partition(":")[0]
    if name == AUTO:
        return DEFAULT + str(spec)[len(AUTO) :]
    known_name("policy", "experiment", name, POLICIES)
    return str(spec)


def _widths(given: object, groups: list[str]) -> dict[str, float | None]:
    """Return the width of each group; a single number applies to all groups."""
    if isinstance(given, dict):
        named = {group: given.get(group) for group in groups}
        for group in given:
            if group not in named:
                raise invalid("widths", "experiment", "widths of its own groups", group)
    else:
        named = dict.fromkeys(groups, given)
    return {
        group: None
        if width is None or width == math.inf
        else between("widths", "experiment", width, 0, math.inf)
        for group, width in named.items()
    }


def _window(given: object) -> float | None:
    if given is None:
        return None
    return between("window", "experiment", given, SHORTEST_WINDOW, _LONGEST_WINDOW)
