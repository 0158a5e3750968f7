"""``Policy``: what every policy can do, whatever its algorithm: settings, online use, simulation, JSON."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from clusterbandits.clusters import Clusters
from clusterbandits.families import Family, as_family
from clusterbandits.families.law import lower, upper
from clusterbandits.families.posterior import flat_prior
from clusterbandits.families.stream import fresh_stream
from clusterbandits.fingerprint import is_own
from clusterbandits.limits import MOST_ARMS
from clusterbandits.outside import load, reference, source_key
from clusterbandits.partition import check_arms
from clusterbandits.policies.arms import alone, layout_of, members_of
from clusterbandits.policies.choosing import as_labels
from clusterbandits.policies.explanation import ArmView, Explanation
from clusterbandits.policies.online import Online
from clusterbandits.policies.protocol import KERNELS, one_round
from clusterbandits.policies.settings import check_prior, documented, read_settings, refuse_setting, signature
from clusterbandits.policies.width_alarm import fresh_alarm
from clusterbandits.serial import read_json, to_json
from clusterbandits.validate import Described, check_keys, choice, invalid, whole
from clusterbandits.wording import is_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.random import Generator

    from clusterbandits.partition import Label
    from clusterbandits.policies.arms import Ints
    from clusterbandits.policies.protocol import Assumption, State

_FORMAT = "clusterbandits policy 3"
#: An earlier format, in which no arm can be retired.
_BEFORE_RETIRED = "clusterbandits policy 2"
#: The name that stands for the default policy, and the policy that it is.
AUTO, DEFAULT = "auto", "kindred"
_DESCRIPTION = ["policy", "settings", "family", "label", "clusters"]


@runtime_checkable
class Past(Protocol):
    """What was tried before, as ``read_history`` returns it."""

    @property
    def family(self) -> Family:
        """The reward family."""

    def clusters(self, widths: object = None) -> Clusters:
        """Return the groups, with safe widths where none are given."""

    def told(self) -> Iterable[tuple[Label, int, float]]:
        """Return every arm that was tried, its pulls and its total."""


class Policy(Online):
    """A bandit policy: it chooses arms knowing which of them form clusters, and how wide these are.

    Use it online with ``ask`` and ``tell``, or pass it to ``simulate``, ``replay`` or ``play``, which start
    every run from the first round and do not touch what it was told online. A subclass has a name, settings
    with defaults, kernels and a state; see CONTRIBUTING.md.

    Threads may share a policy: every method holds the policy's lock, reads included, and ``ask(k)`` returns
    the whole batch before another thread is served. Copies (``copy``, ``pickle``) are independent and have
    their own lock. A ``WidthWarning`` is issued after the lock is released; if it is turned into an error,
    the reward has still been counted.

    Parameters
    ----------
    clusters
        Arms, clusters and widths.
    **settings
        Settings by name; the others have their defaults.
    family
        Reward distribution, as a ``Family`` or its name.
    label
        Display name; by default the name and the settings that differ from the defaults.
    """

    name: ClassVar[str]
    defaults: ClassVar[Mapping[str, object]] = {}
    #: Whether it uses the widths of clusters.
    uses_widths: ClassVar[bool] = False
    #: Whether it also does without widths, and without groups: all arms are then one.
    widths_optional: ClassVar[bool] = False
    #: Whether it must know the number of rounds in advance.
    needs_horizon: ClassVar[bool] = False
    #: Whether its choices are drawn at random.
    randomised: ClassVar[bool] = False
    #: Whether its draws need a posterior distribution of the means.
    needs_posterior: ClassVar[bool] = False
    #: What skip-ahead simulation of it assumes; a policy that skips must declare this.
    relies_on: ClassVar[tuple[Assumption, ...]] = ()
    #: Whether one proof of a choice serves many holds, which makes the longest horizons cheap.
    has_certificates: ClassVar[bool] = False
    #: Whether it runs as compiled code, outside Python's lock.
    compiled: ClassVar[bool] = True
    #: What is known of its regret, in a few words.
    guarantee: ClassVar[str] = "none known"
    reference: ClassVar[str] = ""
    #: The largest number of arms.
    most_arms: ClassVar[int] = MOST_ARMS
    #: Every policy by name, those from outside the package included.
    kinds: ClassVar[dict[str, type[Policy]]] = {}
    #: A hash of the code of a policy from outside the package.
    _source: ClassVar[str] = ""

    @classmethod
    def is_proven(cls) -> bool:
        """Tell whether a bound on its regret is proven; simulations are no proof."""
        return not (cls.guarantee.startswith("none") or cls.guarantee.endswith("in simulation"))

    def __init_subclass__(cls) -> None:
        known = Policy.kinds.get(cls.name) if "name" in vars(cls) else None
        if known is not None and is_own(known) and not is_own(cls):
            raise invalid("name", cls.__name__, "a name that no policy of the package has", cls.name)
        if not is_own(cls):
            cls._source = source_key(cls)
        if "name" in vars(cls):
            Policy.kinds[cls.name] = cls
            type.__setattr__(cls, "__signature__", signature(cls.defaults))
            cls.__doc__ = documented(cls.__doc__, cls.defaults, uses_widths=cls.uses_widths)

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
        if self.settings.get("prior") is not None:
            check_prior(self.family, self.settings["prior"], owner)
        self.label = self.spec if label is None else label
        self._check()
        super().__init__()

    def _check(self) -> None:
        """Refuse settings that do not go together."""

    @classmethod
    def from_history(
        cls, history: Past, widths: object = None, *, label: str | None = None, **settings: object
    ) -> Self:
        """Return a policy that knows what was tried before, to go on from there with ``ask`` and ``tell``.

        ``simulate`` and ``replay`` begin every policy without it; their ``start`` is a history to begin with.

        Parameters
        ----------
        history
            Trials and totals, as ``read_history`` returns them; the policy takes over their reward family.
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
        policy = cls.make(history.clusters(widths), settings, family=history.family, label=label)
        policy._tell_past(history.told())
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
        if self.randomised and rng is None:
            rng = np.random.default_rng(self.settings.get("seed", 0))
        state = self.new_state(rng)
        if type(state) not in KERNELS:
            if self.skips_ahead and not self.relies_on:
                allowed = "declared by a policy that has 'hold': what its certainty assumes"
                raise invalid("relies_on", type(self).__name__, allowed, Described("nothing"))
            KERNELS[type(state)] = self.kernels
        return state

    @property
    def skips_ahead(self) -> bool:
        """Whether simulations can play many rounds of it in one step."""
        return self.kernels.hold is not one_round

    def groups(self) -> tuple[list[list[int]], Sequence[float]]:
        """Return the arms by number in the clusters that it knows, and their widths; else every arm alone."""
        if self.uses_widths:
            return members_of(self.clusters), self.clusters.widths
        return alone(len(self.clusters.arms))

    def clustered_fields(self, members: Sequence[Sequence[int]], widths: Sequence[float]) -> dict[str, Any]:
        """Return the fields of a state that knows clusters: statistics, layout, widths and alarm."""
        layout, law = layout_of(members), self.family.law
        response, level = self.settings.get("alarm", "ignore"), self.settings.get("alarm_level", 1.0)
        return {
            "law": law,
            "pulls": np.zeros(layout.order.size, dtype=np.int64),
            "totals": np.zeros(layout.order.size),
            **layout._asdict(),
            "widths": np.array(widths, dtype=np.float64),
            "alarm": fresh_alarm(law, layout, widths, response, level),
        }

    def prior(self) -> tuple[float, float]:
        """Return what is known of an arm beforehand: the pulls it is worth, and their total."""
        if self.settings.get("prior") is None:
            return flat_prior(self.family.law)
        mean, pulls = self.settings["prior"]
        return pulls, pulls * mean

    def new_state(self, rng: Generator | None) -> State:
        """Make a state before the first round; ``rng`` is None for a policy that does not draw."""
        raise NotImplementedError

    def resized(self, clusters: Clusters, arms: Ints) -> Self:
        """Return a new policy like this one for some of its arms, given by number."""
        del arms
        return self.make(clusters, dict(self.settings), family=self.family, label=self.label)

    def for_horizon(self, horizon: int) -> Self:
        """Return a new policy like this one for so many rounds; changes of this one do not affect it."""
        with self._lock:
            settings = dict(self.settings)
            if self.needs_horizon and settings["horizon"] is None:
                settings["horizon"] = horizon
            return self.make(self.clusters, settings, family=self.family, label=self.label)

    def chances(
        self, draws: int = 1000, *, available: Iterable[Label] | None = None, seed: int = 0
    ) -> dict[Label, float]:
        """Return how likely ``ask`` is to return each arm now; nothing is changed.

        A policy that draws is asked many times, with random numbers of ``seed``: a probability p has the
        standard error (p (1 − p) / draws)^½. The choice of any other policy is certain.

        Examples
        --------
        >>> from clusterbandits import KLUCB, Thompson
        >>> policy = KLUCB(Clusters([2, 1]))
        >>> policy.chances()
        {0: 1.0, 1: 0.0, 2: 0.0}
        >>> policy = Thompson(Clusters([2, 1]))
        >>> for arm in policy.ask(3):
        ...     policy.tell(arm, 1)
        >>> sum(policy.chances(200).values())
        1.0
        """
        owner = f"{type(self).__name__}.chances"
        many = whole("draws", owner, draws, least=1, most=10**6) if self.randomised else 1
        labels = None if available is None else as_labels(available, owner)
        twin = copy.copy(self)
        if self.randomised:
            twin._draw_from(np.random.default_rng([whole("seed", owner, seed, least=0), 1]))
        with twin._lock:
            open_arms = twin._open if labels is None else twin._open_arms(labels, owner)
            chosen = np.bincount(
                [twin._choose(open_arms) for _ in range(many)], minlength=len(self.clusters.arms)
            )
        return dict(zip(twin.clusters.arms, (chosen / many).tolist(), strict=True))

    def _draw_from(self, rng: Generator) -> None:
        """Draw other random numbers from now on."""
        live: Any = self._live
        if hasattr(live, "stream"):
            live.stream[:] = fresh_stream(rng)
        else:
            live.rng = rng

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
        kind = type(self)
        named = {"policy": self.name} if is_own(kind) else {"policy": reference(kind), "source": self._source}
        with self._lock:
            return {
                **named,
                "settings": dict(self.settings),
                "family": self.family.spec,
                "label": self.label,
                "clusters": self.clusters.to_dict(),
            }

    @classmethod
    def of_description(cls, data: Mapping[str, Any]) -> Self:
        """Return the policy that ``description`` described, before its first round.

        One from outside the package keeps the hash of its code: ``check_source`` compares it with the code
        that is imported now.
        """
        owner = f"{cls.__name__}.of_description"
        outside = isinstance(data, Mapping) and ":" in str(data.get("policy"))
        check_keys([*_DESCRIPTION, *(["source"] if outside else [])], owner, data)
        kind = Policy.kind_of(data["policy"], owner)
        check_keys(list(kind.defaults), owner, data["settings"])
        if not issubclass(kind, cls):
            raise invalid("policy", cls.__name__, repr(cls.name), data["policy"])
        made = kind.make(
            Clusters.from_dict(data["clusters"]), data["settings"], family=data["family"], label=data["label"]
        )
        if outside:
            vars(made)["_source"] = str(data["source"])
        return made

    @staticmethod
    def kind_of(name: object, owner: str = "policy") -> type[Policy]:
        """Return the class that a name, or a text such as ``my_module:Greedy``, stands for."""
        if isinstance(name, str) and "." in name and ":" not in name:
            raise invalid("policy", owner, "written as 'my_module:Greedy' if it is a class of a module", name)
        if not (isinstance(name, str) and ":" in name):
            known = DEFAULT if name == AUTO else name
            return Policy.kinds[choice("policy", owner, known, Policy.kinds)]
        found = load(name, "policy", owner)
        if not (isinstance(found, type) and issubclass(found, Policy)):
            raise invalid("policy", owner, f"a class that derives from Policy; {name!r} does not", found)
        return found

    def check_source(self, owner: str, planned: str | None = None) -> None:
        """Refuse a policy from outside the package whose code is not what it was described with."""
        if (self._source if planned is None else planned) != type(self)._source:
            allowed = f"the same code as when the simulation was planned, for {reference(type(self))!r}"
            raise invalid("policy", owner, allowed, Described("code that was edited"))

    @classmethod
    def make(cls, clusters: Clusters, settings: object, *, family: Family | str, label: str | None) -> Self:
        """Return a policy of this kind with settings by name; unknown ones are refused."""
        given = settings if isinstance(settings, Mapping) else {"settings": settings}
        for key in given:
            if key not in cls.defaults:
                refuse_setting(cls.name, cls.defaults, key)
        return cls(clusters, family=family, label=label, **given)

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
        alarm must belong to a watched cluster with its declared width and enough evidence.
        """
        owner = f"{cls.__name__}.from_json"
        data = read_json(text, owner)
        if not isinstance(data, Mapping) or data.get("format") not in (_FORMAT, _BEFORE_RETIRED):
            given = data.get("format") if isinstance(data, Mapping) else data
            raise invalid("format", owner, repr(_FORMAT), given)
        added: dict[str, Any] = {"retired": []} if data["format"] == _BEFORE_RETIRED else {}
        described = [*_DESCRIPTION, *(["source"] if ":" in str(data.get("policy")) else [])]
        restored = cls.of_description({key: data[key] for key in described if key in data})
        vars(restored).pop("_source", None)
        told = [key for key in restored._told_keys if key not in added]
        check_keys(["format", *described, *told], owner, data)
        restored._take_up({key: data[key] for key in told} | added, owner)
        return restored

    def __repr__(self) -> str:
        settings = "".join(f", {key}={value!r}" for key, value in self._changed().items())
        family = "" if self.family.name == "bernoulli" else f", family={self.family.spec!r}"
        label = "" if self.label == self.spec else f", label={self.label!r}"
        return f"{type(self).__name__}({self.clusters!r}{settings}{family}{label})"


def _text(value: object) -> str:
    """Return a setting as ``policy`` reads it; a table is only named."""
    if isinstance(value, list):
        return "given" if isinstance(value[0], list) else "@".join(map(str, value))
    return str(value)
