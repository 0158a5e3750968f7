"""``Policy``, the base class of all policies: settings, online use, simulation, JSON."""

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
from clusterbandits.plotting import drawn
from clusterbandits.policies.arms import alone, layout_of, members_of
from clusterbandits.policies.choosing import as_labels
from clusterbandits.policies.explanation import ArmView, Explanation
from clusterbandits.policies.online import Online
from clusterbandits.policies.protocol import KERNELS, one_round
from clusterbandits.policies.settings import check_prior, documented, read_settings, refuse_setting, signature
from clusterbandits.policies.width_alarm import fresh_alarm
from clusterbandits.serial import read_json, to_json
from clusterbandits.tables import Table
from clusterbandits.validate import Described, check_keys, invalid, known_name, whole
from clusterbandits.wording import is_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.random import Generator

    from clusterbandits.partition import Label
    from clusterbandits.plotting import Axes
    from clusterbandits.policies.arms import Ints
    from clusterbandits.policies.protocol import Assumption, State

_FORMAT = "clusterbandits policy 3"
#: The previous format, without retired arms.
_BEFORE_RETIRED = "clusterbandits policy 2"
#: The name for the default policy, and the policy it stands for.
AUTO, DEFAULT = "auto", "kindred"
_DESCRIPTION = ["policy", "settings", "family", "label", "clusters"]


@runtime_checkable
class Past(Protocol):
    """A history of trials, as ``read_history`` returns it."""

    @property
    def family(self) -> Family:
        """The reward family."""

    def clusters(self, widths: object = None) -> Clusters:
        """Return the groups as clusters, by default with safe widths."""

    def observed(self) -> Iterable[tuple[Label, int, float]]:
        """Return arm, pulls and total of each arm with trials."""


class Policy(Online):
    """Base class of bandit policies, which choose arms given clusters and their declared widths.

    Use a policy online with ``ask`` and ``tell``, or pass it to ``simulate``, ``replay`` or ``play``. These
    start each run from the first round and do not change the online state. A subclass has a name, settings
    with defaults, kernels and a state; see CONTRIBUTING.md.

    Threads may share a policy: every method holds the policy's lock, even for reading, and ``ask(k)`` chooses
    the whole batch before another thread can continue. Copies (``copy``, ``pickle``) are independent and have
    their own lock. A ``WidthWarning`` is issued after the lock is released; if it is turned into an error,
    the reward has still been recorded.

    Parameters
    ----------
    clusters
        Arms, clusters and widths.
    **settings
        Settings by name; all others keep their defaults.
    family
        Reward family, as a ``Family`` or its name; by default Bernoulli.
    label
        Display name; by default the name and the settings that differ from the defaults.
    """

    name: ClassVar[str]
    defaults: ClassVar[Mapping[str, object]] = {}
    #: Whether the policy uses the widths of clusters.
    uses_widths: ClassVar[bool] = False
    #: Whether the policy also works without widths and without groups; all arms then form one cluster.
    widths_optional: ClassVar[bool] = False
    #: Whether the policy must know the horizon in advance.
    needs_horizon: ClassVar[bool] = False
    #: Whether its choices are drawn at random.
    randomised: ClassVar[bool] = False
    #: Whether the policy draws from posterior distributions of the means.
    needs_posterior: ClassVar[bool] = False
    #: The assumptions of skip-ahead simulation; a policy that skips ahead must declare them.
    relies_on: ClassVar[tuple[Assumption, ...]] = ()
    #: Whether one certificate of a choice is valid for many holds, which makes long horizons fast.
    has_certificates: ClassVar[bool] = False
    #: Whether the policy runs as compiled code, without the GIL.
    compiled: ClassVar[bool] = True
    #: The guarantee on its regret, in a few words.
    guarantee: ClassVar[str] = "none known"
    reference: ClassVar[str] = ""
    #: The largest number of arms.
    most_arms: ClassVar[int] = MOST_ARMS
    #: All policies by name, those from outside the package included.
    kinds: ClassVar[dict[str, type[Policy]]] = {}
    #: A hash of the code of a policy from outside the package.
    _source: ClassVar[str] = ""

    @classmethod
    def is_proven(cls) -> bool:
        """Return whether a bound on its regret is proven; simulations are not a proof."""
        return not (cls.guarantee.startswith("none") or cls.guarantee.endswith("in simulation"))

    def __init_subclass__(cls) -> None:
        known = Policy.kinds.get(cls.name) if "name" in vars(cls) else None
        if known is not None and is_own(known) and not is_own(cls):
            raise invalid("name", cls.__name__, "a name that no built-in policy has", cls.name)
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
            raise invalid("clusters", owner, "a Clusters object", clusters)
        if label is not None and not (is_text(label) and label.strip()):
            raise invalid("label", owner, "text with at least one visible character", label)
        check_arms("clusters", owner, len(clusters.arms), self.most_arms)
        self.clusters = clusters
        self.family = as_family(family, owner)
        if self.needs_posterior and not self.family.has_posterior:
            raise invalid(
                "family", owner, "a family with a posterior distribution of means", self.family.spec
            )
        self.settings = read_settings(self.name, self.defaults, settings, owner)
        if self.settings.get("prior") is not None:
            check_prior(self.family, self.settings["prior"], owner)
        self.label = self.spec if label is None else label
        self._check()
        super().__init__()

    def _check(self) -> None:
        """Refuse incompatible settings."""

    @classmethod
    def from_history(
        cls, history: Past, widths: object = None, *, label: str | None = None, **settings: object
    ) -> Self:
        """Return a policy that starts from a history of trials and continues with ``ask`` and ``tell``.

        ``simulate`` and ``replay`` ignore this history; pass it to them as ``start``.

        Parameters
        ----------
        history
            Trials and totals, as ``read_history`` returns them; also sets the reward family.
        widths
            As for ``Clusters``; by default safe widths, all of which hold with 95 % confidence given the
            history.
        label, **settings
            As for the policy.

        Examples
        --------
        >>> from clusterbandits import ClusUCB, read_history
        >>> rows = {"arm": ["a", "b"], "group": ["red", "red"], "trials": [40, 50], "successes": [4, 10]}
        >>> policy = ClusUCB.from_history(read_history(rows), widths=0.2)
        >>> policy.pulls, policy.rounds, policy.ask()
        ({'a': 40, 'b': 50}, 90, 'b')
        """
        if not isinstance(history, Past):
            allowed = "a history returned by read_history"
            raise invalid("history", f"{cls.__name__}.from_history", allowed, history)
        policy = cls.make(history.clusters(widths), settings, family=history.family, label=label)
        policy._tell_past(history.observed())
        return policy

    @property
    def spec(self) -> str:
        """The specification of this policy for ``policy``, such as ``"clus-ucb:a=5.0,refresh=50"``.

        A table of distances is only named in it.
        """
        changed = [f"{key}={_text(value)}" for key, value in self._changed().items()]
        return ":".join([self.name, *([",".join(changed)] if changed else [])])

    @property
    def heeds_widths(self) -> bool:
        """Whether widths can change the choices or alarms of this policy, given its settings."""
        return self.uses_widths

    def _changed(self) -> dict[str, Any]:
        return {key: value for key, value in tuple(self.settings.items()) if value != self.defaults[key]}

    def fresh_state(self, rng: Generator | None = None) -> State:
        """Return the state before the first round, in the form for compiled code.

        A policy that chooses at random draws from ``rng``, by default from a generator seeded by its own
        seed.
        """
        if self.randomised and rng is None:
            rng = np.random.default_rng(self.settings.get("seed", 0))
        state = self.new_state(rng)
        if type(state) not in KERNELS:
            if self.skips_ahead and not self.relies_on:
                allowed = "declared by a policy with 'hold': the assumptions of skip-ahead simulation"
                raise invalid("relies_on", type(self).__name__, allowed, Described("nothing"))
            KERNELS[type(state)] = self.kernels
        return state

    @property
    def skips_ahead(self) -> bool:
        """Whether simulations can skip ahead: simulate many rounds of this policy in one step."""
        return self.kernels.hold is not one_round

    def groups(self) -> tuple[list[list[int]], Sequence[float]]:
        """Return the arms of each cluster by number, and the widths; single arms if clusters are ignored."""
        if self.uses_widths:
            return members_of(self.clusters), self.clusters.widths
        return alone(len(self.clusters.arms))

    def clustered_fields(self, members: Sequence[Sequence[int]], widths: Sequence[float]) -> dict[str, Any]:
        """Return the fields of a state with clusters: statistics, layout, widths and alarm."""
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
        """Return the prior of an arm: the equivalent number of pulls, and their total."""
        if self.settings.get("prior") is None:
            return flat_prior(self.family.law)
        mean, pulls = self.settings["prior"]
        return pulls, pulls * mean

    def new_state(self, rng: Generator | None) -> State:
        """Return the state before the first round; ``rng`` is None for a policy that does not draw."""
        raise NotImplementedError

    def resized(self, clusters: Clusters, arms: Ints) -> Self:
        """Return a new policy with the same settings for some of the arms, given by number."""
        del arms
        return self.make(clusters, dict(self.settings), family=self.family, label=self.label)

    def for_horizon(self, horizon: int) -> Self:
        """Return an independent new policy with the same settings for a given horizon."""
        with self._lock:
            settings = dict(self.settings)
            if self.needs_horizon and settings["horizon"] is None:
                settings["horizon"] = horizon
            return self.make(self.clusters, settings, family=self.family, label=self.label)

    def chances(
        self, draws: int = 1000, *, available: Iterable[Label] | None = None, seed: int = 0
    ) -> dict[Label, float]:
        """Return the probability that ``ask`` returns each arm next; the policy does not change.

        For a policy that draws at random, the probabilities are estimated from repeated choices: a
        probability p has the standard error (p (1 − p) / draws)^½. For all other policies they are 0 or 1.

        Parameters
        ----------
        draws
            Number of repeated choices, by default 1000.
        available
            Arms to choose from; by default, all arms that are not retired.
        seed
            Random seed of the repeated choices, by default 0.

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
        """Use another random stream from now on."""
        live: Any = self._live
        if hasattr(live, "stream"):
            live.stream[:] = fresh_stream(rng)
        else:
            live.rng = rng

    def explain(self) -> Explanation:
        """Return the statistics of each arm and, unless the policy chooses at random, its index or score.

        Outstanding rewards do not count. The explanation prints as a table; ``low`` and ``high`` are
        confidence bounds from the arm's own rewards.
        """
        with self._lock:
            return self._explain()

    def _explain(self) -> Explanation:
        scores = self._scores() if self._live.pulls.all() else None
        return Explanation(self._next_round, None, self._views_of_arms(scores))

    def _views_of_arms(self, scores: Sequence[float] | None = None) -> tuple[ArmView, ...]:
        """Return the statistics of each arm, with its index or score if given."""
        state, level = self._live, math.log(self._next_round)
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
        return tuple(arms)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean reward of each arm with its interval, and its share of the pulls.

        Outstanding rewards do not count. Intervals are those of ``explain``. Returns the Matplotlib axes.

        Parameters
        ----------
        ax
            The axes to draw on; by default those of a new figure.

        Examples
        --------
        >>> from clusterbandits import KLUCB
        >>> policy = KLUCB(Clusters({"red": ["a", "b"]}))
        >>> policy.tell("a", 3, pulls=4)
        >>> policy.tell("b", 2, pulls=12)
        >>> [text.get_text() for text in policy.plot().texts]
        ['red', 'a', '25 %', 'b', '75 %']
        """
        with self._lock:
            views = self._views_of_arms()
        return drawn("policy", self, views, ax)

    def _repr_html_(self) -> str:
        with self._lock:
            views, rounds = self._views_of_arms(), self._next_round - 1
        total = sum(view.pulls for view in views)
        rows = tuple(
            (view.cluster, view.arm, view.pulls, f"{100 * view.pulls / max(1, total):.0f} %", view.mean)
            for view in views
        )
        title = f"{self.label} after {rounds:,} rounds"
        return Table(("cluster", "arm", "pulls", "share", "mean"), rows, title=title).html()

    def _scores(self) -> list[float] | None:
        """Return the score of each arm, once all have been pulled; None if the policy chooses at random."""
        return None

    def description(self) -> dict[str, Any]:
        """Return all but the observations as plain data: name, settings, family, label, clusters."""
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
        """Return the policy that ``description`` described, in its state before the first round.

        A policy from outside the package keeps the hash of its code; ``check_source`` compares it with the
        code that is imported now.
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
        """Return the class of a policy name, or of a reference such as ``my_module:Greedy``."""
        if isinstance(name, str) and "." in name and ":" not in name:
            raise invalid("policy", owner, "written as 'my_module:Greedy' if it is a class in a module", name)
        if not (isinstance(name, str) and ":" in name):
            known = DEFAULT if name == AUTO else name
            return Policy.kinds[known_name("policy", owner, known, Policy.kinds)]
        found = load(name, "policy", owner)
        if not (isinstance(found, type) and issubclass(found, Policy)):
            raise invalid("policy", owner, "a class derived from Policy", found)
        return found

    def check_source(self, owner: str, planned: str | None = None) -> None:
        """Refuse a policy from outside the package whose code has changed since it was described."""
        if (self._source if planned is None else planned) != type(self)._source:
            allowed = f"unchanged since the simulation was planned, for {reference(type(self))!r}"
            raise invalid("policy", owner, allowed, Described("edited code"))

    @classmethod
    def make(cls, clusters: Clusters, settings: object, *, family: Family | str, label: str | None) -> Self:
        """Return a policy of this class with settings by name; refuse unknown settings."""
        given = settings if isinstance(settings, Mapping) else {"settings": settings}
        for key in given:
            if key not in cls.defaults:
                refuse_setting(cls.name, cls.defaults, key)
        return cls(clusters, family=family, label=label, **given)

    def to_json(self) -> str:
        """Return the policy and its observations as strict JSON; numbers are exact to the last bit.

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
            data = {"format": _FORMAT, **self.description(), **self._observed()}
        return to_json(data)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the policy that ``to_json`` wrote, in the same state.

        Data that no policy can have written are refused with an error of one sentence. The text must be
        strict JSON: no duplicate keys, no NaN or Infinity, no number outside the range of floats, only text
        that UTF-8 can encode. All keys must be present, and no others. Settings, family and clusters are
        checked as for a new policy. Totals must be possible for the family and the number of pulls, and
        ``rounds`` must cover all pulls. A choice may be kept for at most ``refresh`` rounds, the next check
        of the widths must be on the schedule, and each alarm must belong to a watched cluster with its
        declared width and enough evidence.
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
        observed = [key for key in restored._observed_keys if key not in added]
        check_keys(["format", *described, *observed], owner, data)
        restored._take_up({key: data[key] for key in observed} | added, owner)
        return restored

    def __repr__(self) -> str:
        settings = "".join(f", {key}={value!r}" for key, value in self._changed().items())
        family = "" if self.family.name == "bernoulli" else f", family={self.family.spec!r}"
        label = "" if self.label == self.spec else f", label={self.label!r}"
        return f"{type(self).__name__}({self.clusters!r}{settings}{family}{label})"


def _text(value: object) -> str:
    """Return a setting as text that ``policy`` reads; a table is only named."""
    if isinstance(value, list):
        return "given" if isinstance(value[0], list) else "@".join(map(str, value))
    return str(value)
