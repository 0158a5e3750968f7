"""What people hold in their hands: a policy with its knowledge, its settings and, once asked, its memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from clusterbandits.clusters import Clusters
from clusterbandits.families import Family, as_family
from clusterbandits.policies.online import TOLD, Online
from clusterbandits.serial import to_json
from clusterbandits.validate import Described, check_keys, choice, invalid

if TYPE_CHECKING:
    from clusterbandits.policies.explanation import Explanation
    from clusterbandits.policies.protocol import State

_FORMAT = "clusterbandits policy 1"
_DESCRIPTION = ["policy", "settings", "family", "label", "clusters"]


class Policy(Online):
    """A learner that knows which arms belong together and how far apart they can be.

    It can be asked (``ask``, ``tell``) or put on trial (``simulate``), where every run begins anew and leaves
    what it was told alone. A subclass names itself, lists its settings with their defaults and makes its
    state.

    Parameters
    ----------
    clusters
        What it knows.
    settings
        The value of every setting.
    family
        The law of rewards, or its name.
    label
        What tables and pictures call it; by default its name and the settings that are not the defaults.
    """

    name: ClassVar[str]
    defaults: ClassVar[Mapping[str, object]]
    #: Whether it uses the widths of clusters.
    uses_widths: ClassVar[bool]
    #: Whether its choices are drawn at random.
    randomised: ClassVar[bool] = False
    reference: ClassVar[str]
    #: Every policy there is, by name.
    kinds: ClassVar[dict[str, type[Policy]]] = {}

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls):
            Policy.kinds[cls.name] = cls

    def __init__(
        self, clusters: Clusters, settings: Mapping[str, object], family: Family | str, label: str | None
    ) -> None:
        owner = type(self).__name__
        if not isinstance(clusters, Clusters):
            raise invalid("clusters", owner, "a Clusters", clusters)
        if label is not None and not _is_name(label):
            raise invalid("label", owner, "a name of at least one letter", label)
        self.clusters = clusters
        self.family = as_family(family, owner)
        self.settings = dict(settings)
        self.label = self.spec if label is None else label
        super().__init__()

    @property
    def spec(self) -> str:
        """The text that ``policy`` makes this policy of again, as in ``"clus-ucb:a=5.0,refresh=50"``."""
        changed = [f"{key}={value}" for key, value in self.settings.items() if value != self.defaults[key]]
        return ":".join([self.name, *([",".join(changed)] if changed else [])])

    def fresh_state(self) -> State:
        """Return the state before the first round, as compiled code receives it."""
        raise NotImplementedError

    def explain(self) -> Explanation:
        """Return what it knows and concludes of every arm."""
        raise NotImplementedError

    def description(self) -> dict[str, Any]:
        """Return plain data that says all but what it was told: name, settings, family, label, clusters."""
        return {
            "policy": self.name,
            "settings": dict(self.settings),
            "family": self.family.spec,
            "label": self.label,
            "clusters": self.clusters.to_dict(),
        }

    @classmethod
    def of_description(cls, data: Mapping[str, Any]) -> Self:
        """Return the policy that ``description`` described, before its first round."""
        check_keys(_DESCRIPTION, f"{cls.__name__}.of_description", data)
        kind = Policy.kinds[choice("policy", cls.__name__, data["policy"], Policy.kinds)]
        check_keys(list(kind.defaults), f"{cls.__name__}.of_description", data["settings"])
        if not issubclass(kind, cls):
            raise invalid("policy", cls.__name__, repr(cls.name), data["policy"])
        return kind.make(
            Clusters.from_dict(data["clusters"]), data["settings"], family=data["family"], label=data["label"]
        )

    @classmethod
    def make(cls, clusters: Clusters, settings: object, *, family: Family | str, label: str | None) -> Self:
        """Return a policy of this kind with settings by name; unknown ones are refused."""
        given = settings if isinstance(settings, Mapping) else {"settings": settings}
        for key in given:
            if key not in cls.defaults:
                allowed = f"'{cls.name}' with {' and '.join(cls.defaults)} alone"
                raise invalid("policy", "policy", allowed, Described(f"'{key}'"))
        construct: Any = cls
        made: Self = construct(clusters, **given, family=family, label=label)
        return made

    def to_json(self) -> str:
        """Return all it is and was told as strict JSON; numbers are kept to the last bit.

        Examples
        --------
        >>> from clusterbandits import ClusUCB
        >>> policy = ClusUCB(Clusters([2, 1], widths=0.1))
        >>> policy.tell(2, 1)
        >>> again = ClusUCB.from_json(policy.to_json())
        >>> again.pulls, again.ask() == policy.ask()
        ({0: 0, 1: 0, 2: 1}, True)
        """
        return to_json({"format": _FORMAT, **self.description(), **self._told()})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the policy that ``to_json`` wrote, to go on where it was."""
        owner = f"{cls.__name__}.from_json"
        try:
            data = json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:
            given = Described(f"text with an error: {error}")
            raise invalid("text", owner, "JSON", given) from None
        check_keys(["format", *_DESCRIPTION, *TOLD], owner, data)
        if data["format"] != _FORMAT:
            raise invalid("format", owner, repr(_FORMAT), data["format"])
        restored = cls.of_description({key: data[key] for key in _DESCRIPTION})
        restored._take_up({key: data[key] for key in TOLD}, owner)
        return restored

    def __repr__(self) -> str:
        settings = "".join(
            f", {key}={value!r}" for key, value in self.settings.items() if value != self.defaults[key]
        )
        family = "" if self.family.name == "bernoulli" else f", family={self.family.spec!r}"
        label = "" if self.label == self.spec else f", label={self.label!r}"
        return f"{type(self).__name__}({self.clusters!r}{settings}{family}{label})"


def _is_name(label: object) -> bool:
    if not isinstance(label, str):
        return False
    try:
        label.encode()
    except UnicodeEncodeError:
        return False
    return bool(label.strip())
