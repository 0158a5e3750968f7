"""What a policy remembers besides pulls and totals: declared once, and saved and restored from that."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterbandits.limits import MOST_ROUNDS
from clusterbandits.policies.arms import NOBODY
from clusterbandits.validate import Described, check_keys, invalid, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterbandits.partition import Label
    from clusterbandits.policies.arms import Ints

#: What the state of a PCG64 generator consists of, with the bits of each number.
_GENERATOR = {"state": 128, "inc": 128, "has_uint32": 1, "uinteger": 32}


class Saved:
    """Nothing but pulls and totals; other kinds of memory derive from this class."""

    #: The keys under which it is saved.
    keys: tuple[str, ...] = ()
    #: Whether rewards change it too, and not only choices.
    changes_with_rewards: bool = False

    def dump(self, state: Any, arms: Sequence[Label]) -> dict[str, Any]:
        """Return what is remembered, as plain data."""
        del state, arms
        return {}

    def check(self, data: Mapping[str, Any], state: Any, numbers: Mapping[Label, int], rounds: int) -> None:
        """Refuse what ``dump`` cannot have returned after so many rounds; the keys are right already."""

    def load(self, data: Mapping[str, Any], state: Any, numbers: Mapping[Label, int]) -> None:
        """Restore what ``dump`` returned."""

    def carry(self, source: Any, target: Any, numbers: Ints) -> None:
        """Let one state remember what a choice on another one decided for later rounds.

        ``numbers`` has the number in the target of every arm of the source, ``NOBODY`` where it has none.
        """

    def forget(self, state: Any, next_round: int) -> None:
        """Forget a choice that was made for a round that was cancelled."""

    def learn_again(self, state: Any, number: int) -> None:
        """Let ``learn`` take the corrected rewards of an arm into account at once."""

    def learn_all(self, state: Any) -> None:
        """Learn from all rewards at once."""

    def add(self, state: Any, data: Mapping[str, Any], before: Mapping[str, Any]) -> None:
        """Add what another policy has counted since ``before``."""

    def checked(
        self, data: object, state: Any, numbers: Mapping[Label, int], rounds: int, owner: str
    ) -> None:
        """Refuse data that are not those of a policy in this state."""
        check_keys(list(self.keys), owner, data)
        self.check(_Named(data, owner), state, numbers, rounds)


class _Named(dict[str, Any]):
    """Data with the name of the function that reads them, for errors."""

    def __init__(self, data: Any, owner: str) -> None:
        super().__init__(data)
        self.owner = owner


class KeptChoice(Saved):
    """The arm chosen last and the round until which it is kept: ``memory[0].last`` and ``.until``."""

    keys = ("last", "until")

    def dump(self, state: Any, arms: Sequence[Label]) -> dict[str, Any]:
        """Return the label of the arm and the round."""
        last = int(state.memory["last"][0])
        if last == NOBODY:
            return {"last": None, "until": 0}
        return {"last": arms[last], "until": int(state.memory["until"][0])}

    def check(self, data: Any, state: Any, numbers: Mapping[Label, int], rounds: int) -> None:
        """Refuse unknown arms, and rounds beyond the next refresh."""
        latest = 0
        if data["last"] is not None:
            if type(data["last"]) not in {str, int} or data["last"] not in numbers:
                raise invalid("last", data.owner, "an arm of the policy", data["last"])
            latest = rounds + state.refresh
        whole("until", data.owner, data["until"], least=0, most=latest)

    def load(self, data: Mapping[str, Any], state: Any, numbers: Mapping[Label, int]) -> None:
        """Keep the same arm until the same round."""
        if data["last"] in numbers:
            state.memory["last"][0], state.memory["until"][0] = numbers[data["last"]], int(data["until"])

    def carry(self, source: Any, target: Any, numbers: Ints) -> None:
        """Copy arm and round; an arm that the target does not have is not kept."""
        last = int(source.memory["last"][0])
        number = NOBODY if last == NOBODY else int(numbers[last])
        target.memory["last"][0] = number
        target.memory["until"][0] = 0 if number == NOBODY else source.memory["until"][0]

    def forget(self, state: Any, next_round: int) -> None:
        """Choose again if the choice belongs to a round that did not take place."""
        memory = state.memory
        if memory["last"][0] == NOBODY or memory["until"][0] - state.refresh >= next_round:
            memory["last"][0], memory["until"][0] = NOBODY, 0


class Counter(Saved):
    """A number of rounds that only grows: one field of ``memory[0]``."""

    def __init__(self, name: str) -> None:
        self.keys = (name,)

    def dump(self, state: Any, arms: Sequence[Label]) -> dict[str, Any]:
        """Return the number."""
        del arms
        return {name: min(int(state.memory[name][0]), MOST_ROUNDS) for name in self.keys}

    def check(self, data: Any, state: Any, numbers: Mapping[Label, int], rounds: int) -> None:
        """Refuse what is no number of rounds."""
        del state, numbers, rounds
        for name in self.keys:
            whole(name, data.owner, data[name], least=0)

    def load(self, data: Mapping[str, Any], state: Any, numbers: Mapping[Label, int]) -> None:
        """Go on counting."""
        del numbers
        for name in self.keys:
            state.memory[name][0] = int(data[name])

    def carry(self, source: Any, target: Any, numbers: Ints) -> None:
        """Copy the number."""
        del numbers
        for name in self.keys:
            target.memory[name][0] = source.memory[name][0]

    def add(self, state: Any, data: Mapping[str, Any], before: Mapping[str, Any]) -> None:
        """Add the rounds that another policy has counted."""
        for name in self.keys:
            more = int(data.get(name, 0)) - int(before.get(name, 0))
            state.memory[name][0] = min(max(int(state.memory[name][0]) + more, 0), MOST_ROUNDS)


class StreamPlace(Saved):
    """The place in a policy's random stream: the four numbers of ``state.stream``, which all views share."""

    keys: tuple[str, ...] = ("stream",)

    def dump(self, state: Any, arms: Sequence[Label]) -> dict[str, Any]:
        """Return the numbers as text: they have more digits than JSON readers keep."""
        del arms
        return {"stream": [str(number) for number in state.stream]}

    def check(self, data: Any, state: Any, numbers: Mapping[Label, int], rounds: int) -> None:
        """Refuse what is not four numbers of 64 bits."""
        del numbers, rounds
        given = data["stream"]
        if not isinstance(given, list) or len(given) != state.stream.size:
            raise invalid("stream", data.owner, f"a list of {state.stream.size} numbers as text", given)
        for one in given:
            _check_bits("stream", data.owner, one, 64)

    def load(self, data: Mapping[str, Any], state: Any, numbers: Mapping[Label, int]) -> None:
        """Draw the same numbers next."""
        del numbers
        state.stream[:] = [int(one) for one in data["stream"]]


def _check_bits(key: str, owner: str, value: object, bits: int) -> None:
    digits = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 39
    if not digits or int(str(value)) >= 2**bits:
        raise invalid(key, owner, f"a whole number of at most {bits} bits, as text", value)


class RandomStream(Saved):
    """The state of a NumPy generator, ``rng``."""

    keys = tuple(_GENERATOR)

    def dump(self, state: Any, arms: Sequence[Label]) -> dict[str, Any]:
        """Return the numbers of the generator as text: they have more digits than JSON readers keep."""
        del arms
        now = state.rng.bit_generator.state
        known = {**now, **now["state"]}
        return {key: str(known[key]) for key in _GENERATOR}

    def check(self, data: Any, state: Any, numbers: Mapping[Label, int], rounds: int) -> None:
        """Refuse numbers that are too large, and streams of another seed."""
        del numbers, rounds
        for key, bits in _GENERATOR.items():
            _check_bits(key, data.owner, data[key], bits)
        stream = self.dump(state, ())["inc"]
        if data["inc"] != stream:
            raise invalid("inc", data.owner, f"{stream}, the stream that belongs to its seed", data["inc"])

    def load(self, data: Mapping[str, Any], state: Any, numbers: Mapping[Label, int]) -> None:
        """Draw the same numbers next."""
        del numbers
        number = {key: int(data[key]) for key in _GENERATOR}
        state.rng.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": number["state"], "inc": number["inc"]},
            "has_uint32": number["has_uint32"],
            "uinteger": number["uinteger"],
        }


class Attributes(Saved):
    """Attributes of a policy written in Python, and its random generator if it has one.

    Parameters
    ----------
    names
        The attributes; their values are plain data or NumPy arrays.
    random
        Whether the policy has a generator.
    """

    changes_with_rewards = True

    def __init__(self, names: Sequence[str], *, random: bool) -> None:
        self._names, self._stream = tuple(names), RandomStream() if random else Saved()
        self.keys = (*self._stream.keys, "attributes")

    def dump(self, state: Any, arms: Sequence[Label]) -> dict[str, Any]:
        """Return attributes as plain data; arrays as lists."""
        values = {name: _as_plain(name, getattr(state.learner, name)) for name in self._names}
        return {**self._stream.dump(state, arms), "attributes": values}

    def check(self, data: Any, state: Any, numbers: Mapping[Label, int], rounds: int) -> None:
        """Refuse other attributes than those that are declared."""
        check_keys(list(self._names), data.owner, data["attributes"])
        self._stream.check(data, state, numbers, rounds)

    def load(self, data: Mapping[str, Any], state: Any, numbers: Mapping[Label, int]) -> None:
        """Set attributes; where there was an array, it becomes one again."""
        self._stream.load(data, state, numbers)
        for name, value in data["attributes"].items():
            now = getattr(state.learner, name)
            is_array = isinstance(now, np.ndarray)
            setattr(
                state.learner, name, np.array(value, dtype=now.dtype) if is_array else copy.deepcopy(value)
            )

    def carry(self, source: Any, target: Any, numbers: Ints) -> None:
        """Copy attributes that a choice may have changed."""
        del numbers
        for name in self._names:
            setattr(target.learner, name, copy.deepcopy(getattr(source.learner, name)))


def _as_plain(name: str, value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [_as_plain(name, one) for one in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _as_plain(name, one) for key, one in value.items()}
    allowed = "numbers, texts, lists, dictionaries with text keys, or NumPy arrays"
    raise invalid(name, "to_json", allowed, Described(type(value).__name__))
