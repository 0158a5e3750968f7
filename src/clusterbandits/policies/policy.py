"""What people hold in their hands: a policy with its knowledge, its settings and, once asked, its memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

from clusterbandits.clusters import Clusters
from clusterbandits.families import Family, as_family
from clusterbandits.families.law import lower, upper
from clusterbandits.limits import MOST_ARMS
from clusterbandits.partition import check_arms
from clusterbandits.policies.explanation import ArmView, Explanation
from clusterbandits.policies.online import TOLD, Online
from clusterbandits.policies.settings import read_settings, signature
from clusterbandits.serial import read_json, to_json
from clusterbandits.validate import check_keys, choice, invalid
from clusterbandits.wording import is_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.random import Generator

    from clusterbandits.partition import Label
    from clusterbandits.policies.protocol import State

_FORMAT = "clusterbandits policy 2"
_DESCRIPTION = ["policy", "settings", "family", "label", "clusters"]


@runtime_checkable
class Past(Protocol):
    """What was tried before, as ``read_history`` returns it."""

    def clusters(self, widths: object = None) -> Clusters:
        """Return the groups, with safe widths where none are given."""

    def told(self) -> Iterable[tuple[Label, int, int]]:
        """Return every arm that was tried, its pulls and its total."""


class Policy(Online):
    """A learner that knows which arms belong together and how far apart they can be.

    It can be asked (``ask``, ``tell``) or put on trial (``simulate``), where every run begins anew and leaves
    what it was told alone. A subclass names itself, lists its settings with their defaults and makes its
    state.

    Threads may share a policy: every method holds the policy's lock, reads included, and ``ask(k)`` returns
    the whole batch before another thread is served. The two locks of one ``ask`` and ``tell`` take about 3 %
    of the time. Copies (``copy``, ``pickle``) are independent and have their own lock. A ``WidthWarning`` is
    issued after the lock is released; if it is turned into an error, the reward has still been counted.

    Parameters
    ----------
    clusters
        What it knows.
    **settings
        Settings by name; those left out have their defaults.
    family
        The law of rewards, or its name.
    label
        What tables and pictures call it; by default its name and the settings that are not the defaults.
    """

    name: ClassVar[str]
    defaults: ClassVar[Mapping[str, object]]
    #: Whether it uses the widths of clusters.
    uses_widths: ClassVar[bool]
    #: Whether it must know beforehand how many rounds there will be.
    needs_horizon: ClassVar[bool] = False
    #: What is known of its regret, in a few words.
    guarantee: ClassVar[str]
    #: Whether its choices are drawn at random.
    randomised: ClassVar[bool] = False
    #: Whether it draws means from the posteriors of their arms, which not all families have.
    needs_posterior: ClassVar[bool] = False
    reference: ClassVar[str]
    #: The most arms it has memory for.
    most_arms: ClassVar[int] = MOST_ARMS
    #: Every policy there is, by name.
    kinds: ClassVar[dict[str, type[Policy]]] = {}

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls):
            Policy.kinds[cls.name] = cls
            type.__setattr__(cls, "__signature__", signature(cls.defaults))

    def __init__(
        self,
        clusters: Clusters,
        *,
        family: Family | str = "bernoulli",
        label: str | None = None,
        **settings: object,
    ) -> None:
        owner = type(self).__name__
        if not isinstance(clusters, Clusters):
            raise invalid("clusters", owner, "a Clusters", clusters)
        if label is not None and not (is_text(label) and label.strip()):
            raise invalid("label", owner, "a name of at least one letter", label)
        check_arms("clusters", owner, len(clusters.arms), self.most_arms)
        self.clusters = clusters
        self.family = as_family(family, owner)
        if self.needs_posterior and not self.family.has_posterior:
            raise invalid("family", owner, "a family with a posterior to draw means from", self.family.spec)
        self.settings = read_settings(self.name, self.defaults, settings, owner)
        self.label = self.spec if label is None else label
        super().__init__()

    @classmethod
    def from_history(
        cls, history: Past, widths: object = None, *, label: str | None = None, **settings: object
    ) -> Self:
        """Return a policy that knows what was tried before, to go on from there with ``ask`` and ``tell``.

        On trial (``simulate``, ``replay``) it begins anew, as every policy does.

        Parameters
        ----------
        history
            Trials and successes, as ``read_history`` returns them.
        widths
            As for ``Clusters``; by default widths that the history itself shows to be wide enough, all of
            them with a confidence of 95 %.
        label, **settings
            As for the policy itself.

        Examples
        --------
        >>> from clusterbandits import ClusUCB, read_history
        >>> rows = {"arm": ["a", "b"], "group": ["red", "red"], "trials": [40, 50], "successes": [4, 10]}
        >>> policy = ClusUCB.from_history(read_history(rows), widths=0.2)
        >>> policy.pulls, policy.rounds, policy.ask()
        ({'a': 40, 'b': 50}, 90, 'b')
        """
        if not isinstance(history, Past):
            allowed = "a history, as read_history returns it"
            raise invalid("history", f"{cls.__name__}.from_history", allowed, history)
        policy = cls.make(history.clusters(widths), settings, family="bernoulli", label=label)
        for arm, pulls, total in history.told():
            policy.tell(arm, total, pulls=pulls)
        return policy

    @property
    def spec(self) -> str:
        """The text that ``policy`` makes this policy of again, as in ``"clus-ucb:a=5.0,refresh=50"``.

        A table of distances does not fit into it and is only named.
        """
        changed = [f"{key}={_text(value)}" for key, value in self._changed().items()]
        return ":".join([self.name, *([",".join(changed)] if changed else [])])

    @property
    def heeds_widths(self) -> bool:
        """Whether the widths of its clusters can change its choices or alarms, with its present settings."""
        return self.uses_widths

    def _changed(self) -> dict[str, Any]:
        return {key: value for key, value in tuple(self.settings.items()) if value != self.defaults[key]}

    def fresh_state(self, rng: Generator | None = None) -> State:
        """Return the state before the first round, as compiled code receives it.

        A policy that chooses at random draws from ``rng``, or from a generator of its own seed.
        """
        raise NotImplementedError

    def for_horizon(self, horizon: int) -> Self:
        """Return a new policy like this one for so many rounds; changes of this one do not affect it."""
        with self._lock:
            settings = dict(self.settings)
            if self.needs_horizon and settings["horizon"] is None:
                settings["horizon"] = horizon
            return self.make(self.clusters, settings, family=self.family, label=self.label)

    def explain(self) -> Explanation:
        """Return what it knows of every arm, and what it compares them by where that is not left to chance.

        Only rewards that were told count. Prints as a table; ``low`` and ``high`` are confidence bounds from
        the arm's own rewards.
        """
        with self._lock:
            return self._explain()

    def _explain(self) -> Explanation:
        state, level = self._live, math.log(self._next_round)
        scores = self._scores() if state.pulls.all() else None
        arms = []
        for number, cluster in enumerate(self.clusters.partition.cluster_names):
            label, pulls = self.clusters.arms[number], int(state.pulls[number])
            if not pulls:
                arms.append(ArmView(label, cluster, 0))
                continue
            mean = float(state.totals[number]) / pulls
            low, high = (bound(self.family.law, mean, level / pulls) for bound in (lower, upper))
            score = None if scores is None else scores[number]
            arms.append(ArmView(label, cluster, pulls, mean, low, high, score))
        return Explanation(self._next_round, None, tuple(arms))

    def _scores(self) -> list[float] | None:
        """Return what arms are compared by, once all were pulled; None where that is left to chance."""
        return None

    def description(self) -> dict[str, Any]:
        """Return plain data that says all but what it was told: name, settings, family, label, clusters."""
        with self._lock:
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
        return cls(
            clusters, family=family, label=label, **read_settings(cls.name, cls.defaults, given, cls.__name__)
        )

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
        with self._lock:
            data = {"format": _FORMAT, **self.description(), **self._told()}
        return to_json(data)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the policy that ``to_json`` wrote, to go on where it was.

        The text is refused with one sentence if no policy can have written it. It must be strict JSON: no
        duplicate keys, no NaN or Infinity, no number beyond floats, only text that UTF-8 can encode. All keys
        must be present and no others. Settings, family and clusters are checked as for a new policy; totals
        must be possible for the family and the number of pulls; ``rounds`` must cover all pulls. A choice may
        be kept for at most ``refresh`` rounds, the next look at the widths must be due on the schedule, each
        alarm must belong to a watched cluster with its declared width and enough evidence, and a random
        generator must belong to the seed.
        """
        owner = f"{cls.__name__}.from_json"
        data = read_json(text, owner)
        check_keys(["format", *_DESCRIPTION, *TOLD], owner, data)
        if data["format"] != _FORMAT:
            raise invalid("format", owner, repr(_FORMAT), data["format"])
        restored = cls.of_description({key: data[key] for key in _DESCRIPTION})
        restored._take_up({key: data[key] for key in TOLD}, owner)
        return restored

    def __repr__(self) -> str:
        settings = "".join(f", {key}={value!r}" for key, value in self._changed().items())
        family = "" if self.family.name == "bernoulli" else f", family={self.family.spec!r}"
        label = "" if self.label == self.spec else f", label={self.label!r}"
        return f"{type(self).__name__}({self.clusters!r}{settings}{family}{label})"


def _text(value: object) -> str:
    """Return a setting as labels show it; a table is only named."""
    return "given" if isinstance(value, list) else str(value)
