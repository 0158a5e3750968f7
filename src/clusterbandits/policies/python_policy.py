"""``PythonPolicy``: the base class of policies in plain Python and NumPy."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from clusterbandits.policies.policy import Policy
from clusterbandits.policies.protocol import FOREVER, Kernels
from clusterbandits.policies.saved import Attributes
from clusterbandits.validate import Described, invalid

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    from clusterbandits.clusters import Clusters
    from clusterbandits.policies.arms import Ints

_BASE = {"seed": 0}


class PythonState:
    """Statistics as arrays, by arm number, and the policy object that uses them."""

    __slots__ = ("learner", "pulls", "rng", "squares", "totals")

    def __init__(self, learner: PythonPolicy, rng: Generator | None) -> None:
        arms = len(learner.clusters.arms)
        self.learner, self.rng = learner, rng
        self.pulls: NDArray[np.int64] = np.zeros(arms, dtype=np.int64)
        self.totals: NDArray[np.float64] = np.zeros(arms)
        self.squares: NDArray[np.float64] = np.zeros(arms)
        learner._seen = self

    def copy(self) -> PythonState:
        """Return an independent copy with the same random generator."""
        _, (made, arrays, rng, remembered) = self.__reduce__()
        return _again(made, arrays, rng, copy.deepcopy(remembered))

    def __reduce__(self) -> tuple[Any, ...]:
        """Give copies and pickles their own policy object."""
        learner = self.learner
        made = type(learner), learner.clusters, learner.settings, learner.family, learner.label
        arrays = self.pulls, self.totals, self.squares
        return _again, (made, arrays, self.rng, {name: getattr(learner, name) for name in learner.remembers})


class EveryRewardState(PythonState):
    """The state of a policy that needs each reward separately; a class of its own has its own kernels."""

    __slots__ = ()


def _again(
    made: tuple[Any, ...], arrays: tuple[Any, ...], rng: Generator | None, remembered: dict[str, Any]
) -> PythonState:
    kind, clusters, settings, family, label = made
    state: PythonState = kind.make(clusters, settings, family=family, label=label)._fresh_learner(rng)
    for name, values in zip(("pulls", "totals", "squares"), arrays, strict=True):
        getattr(state, name)[:] = values
    for name, value in remembered.items():
        setattr(state.learner, name, value)
    return state


def _select(state: PythonState, n: int) -> int:
    arm = state.learner.select(n)
    try:
        number = int(arm)
    except (TypeError, ValueError):
        number = -1
    if not 0 <= number < state.pulls.size or number != arm:
        allowed = f"the number of an arm, from 0 to {state.pulls.size - 1}"
        raise invalid("select", type(state.learner).__name__, allowed, Described(f"{arm!r} in round {n}"))
    return number


def _update(state: PythonState, arm: int, pulls: int, total: float) -> None:
    state.pulls[arm] += pulls
    state.totals[arm] += total
    if pulls == 1:
        state.squares[arm] += total * total
        state.learner.update(arm, total)


def _never(_state: PythonState, _n: int) -> int:
    return FOREVER


def _nothing(_state: PythonState, _arm: int) -> None:
    """Do nothing: ``update`` has used all rewards."""


class PythonPolicy(Policy):
    """Base class of policies in plain Python, which can be used wherever built-in policies can.

    A subclass has a ``name`` and a method ``select``. Optional are ``update``, which is called after each
    reward; ``reset``, which is called before the first round; settings with ``defaults``, available as
    ``self.settings``; and ``remembers``, the names of attributes that ``reset``, ``select`` and ``update``
    may set and that are saved with the policy. Setting other attributes is an error, since a saved policy
    would lose them.

    Only these methods can use the following:

    ``self.pulls``, ``self.totals``
        Arrays with the number of pulls and the sum of rewards per arm, in the order of
        ``self.clusters.arms``. Do not write to them. (Built-in policies have dictionaries by label instead.)
    ``self.squares``
        Sums of squared rewards, for a class with ``needs_squares = True``.
    ``self.clusters``, ``self.family``, ``self.settings``
        The arguments of the policy; ``self.clusters.partition.members`` lists the arms of each cluster.
    ``self.rng``
        A NumPy random generator. Use no other source of randomness, or results are not reproducible.

    Simulations run it round by round, in one process per core.

    Examples
    --------
    >>> import numpy as np
    >>> import clusterbandits as cb
    >>> class Greedy(cb.PythonPolicy):
    ...     name = "greedy"
    ...     def select(self, n):
    ...         if n <= len(self.pulls):
    ...             return n - 1
    ...         return int(np.argmax(self.totals / self.pulls))
    >>> policy = Greedy(cb.Clusters([2, 1], widths=0.1))
    >>> for reward in [0, 1, 0]:
    ...     policy.tell(policy.ask(), reward)
    >>> policy.ask()
    1
    """

    compiled = False
    randomised = True
    remembers: ClassVar[tuple[str, ...]] = ()
    _seen: PythonState | None

    def __init_subclass__(cls) -> None:
        if "select" in vars(cls) and not hasattr(cls, "name"):
            raise invalid("name", cls.__name__, "set to text such as 'greedy'", Described("nothing"))
        if "name" in vars(cls) and cls.select is PythonPolicy.select:
            raise invalid("select", cls.__name__, "defined", Described("nothing"))
        if cls.randomised:
            cls.defaults = {**cls.defaults, **{k: v for k, v in _BASE.items() if k not in cls.defaults}}
        cls.saved = Attributes(cls.remembers, random=cls.randomised)
        super().__init_subclass__()

    def __init__(self, clusters: Clusters, **settings: Any) -> None:
        super().__init__(clusters, **settings)
        self._seen = None

    @property
    def kernels(self) -> Kernels:
        """The functions that call ``select`` and ``update``."""
        wants_each = self.needs_squares or type(self).update is not PythonPolicy.update
        return Kernels(_select, _update, watch=_never, learn=_nothing, wants_each=wants_each)

    def select(self, n: int) -> int:
        """Return the number of the arm to pull in round n; the first round is 1."""
        raise NotImplementedError

    def update(self, arm: int, reward: float) -> None:
        """Process a reward, which ``totals`` already includes."""

    def reset(self) -> None:
        """Set the attributes named in ``remembers`` to their values before the first round."""

    @property
    def pulls(self) -> NDArray[np.int64]:  # type: ignore[override]
        """Number of pulls per arm, as an array."""
        return self._statistics.pulls

    @property
    def totals(self) -> NDArray[np.float64]:  # type: ignore[override]
        """Sum of rewards per arm, as an array."""
        return self._statistics.totals

    @property
    def squares(self) -> NDArray[np.float64]:
        """Sum of squared rewards per arm, as an array; for classes with ``needs_squares``."""
        if not self.needs_squares:
            raise invalid("needs_squares", type(self).__name__, "True in a class that uses squares", False)
        return self._statistics.squares

    @property
    def rng(self) -> Generator:
        """The random generator to draw from."""
        rng = self._statistics.rng
        if rng is None:
            raise invalid("randomised", type(self).__name__, "True in a class that uses rng", False)
        return rng

    @property
    def _statistics(self) -> PythonState:
        return self._live if self._seen is None else self._seen  # type: ignore[return-value]

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute; during a run, only a declared one."""
        seen = vars(self).get("_seen")
        if seen is not None and name not in self.remembers and not name.startswith("_"):
            allowed = f"a tuple that contains {name!r}, so that the attribute is saved"
            raise invalid("remembers", type(self).__name__, allowed, self.remembers)
        super().__setattr__(name, value)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Return a remembered attribute from the online state."""
            if name in type(self).remembers and vars(self).get("_seen") is None:
                return getattr(self._live.learner, name)
            return super().__getattr__(name)

    def new_state(self, rng: Generator | None) -> Any:
        """Return the state before the first round."""
        return self._fresh_learner(rng)

    def _fresh_learner(self, rng: Generator | None) -> PythonState:
        learner = self.make(self.clusters, self.settings, family=self.family, label=self.label)
        state = (EveryRewardState if self.kernels.wants_each else PythonState)(learner, rng)
        learner.reset()
        missing = [name for name in self.remembers if name not in vars(learner)]
        if missing:
            allowed = f"set by reset() to a value before the first round: {', '.join(missing)}"
            raise invalid("remembers", type(self).__name__, allowed, Described("no value"))
        return state

    @property
    def _in_order(self) -> bool:
        return type(self).update is not PythonPolicy.update

    def _limited_to(self, arms: Ints) -> Any:
        state = super()._limited_to(arms)
        state.rng = self._live.rng  # type: ignore[attr-defined]
        return state

    def _check_limits(self, owner: str) -> None:
        if self.remembers:
            allowed = "empty if arms are retired or limited, since its attributes concern all arms"
            raise invalid("remembers", owner, allowed, self.remembers)

    def _regroup(self, clusters: Clusters) -> None:
        if self.remembers:
            allowed = "empty if arms are added, since its attributes would have to change"
            raise invalid("remembers", f"{type(self).__name__}.add_arm", allowed, self.remembers)
        super()._regroup(clusters)
