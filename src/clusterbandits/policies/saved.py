"""The data that a policy stores besides pulls and totals, and how they are saved and restored."""

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

#: The numbers of a PCG64 state, with their bits.
_GENERATOR = {"state": 128, "inc": 128, "has_uint32": 1, "uinteger": 32}


class Saved:
    """Nothing besides pulls and totals; the base class of all other kinds of memory."""

    #: The keys in saved files.
    keys: tuple[str, ...] = ()
    #: Whether rewards change it too, and not only choices.
    changes_with_rewards: bool = False

    def dump(self, state: Any, arms: Sequence[Label]) -> dict[str, Any]:
        """Return the stored data as plain data."""
        del state, arms
        return {}

    def check(self, data: Mapping[str, Any], state: Any, numbers: Mapping[Label, int], rounds: int) -> None:
        """Refuse data that ``dump`` cannot have returned after ``rounds`` rounds; keys are checked before."""

    def load(self, data: Mapping[str, Any], state: Any, numbers: Mapping[Label, int]) -> None:
        """Restore the data that ``dump`` returned."""

    def carry(self, source: Any, target: Any, numbers: Ints) -> None:
        """Copy to another state what a choice determined for later rounds.

        ``numbers`` has the number in the target of each arm of the source, or ``NOBODY``.
        """

    def forget(self, state: Any, next_round: int) -> None:
        """Discard a choice made for a cancelled round."""

    def learn_again(self, state: Any, number: int) -> None:
        """Make the next ``learn`` use the corrected rewards of an arm."""

    def learn_all(self, state: Any) -> None:
        """Learn from all rewards."""

    def add(self, state: Any, data: Mapping[str, Any], before: Mapping[str, Any]) -> None:
        """Add the counts of another policy since ``before``."""

    def checked(
        self, data: object, state: Any, numbers: Mapping[Label, int], rounds: int, owner: str
    ) -> None:
        """Refuse data that do not belong to a policy in this state."""
        check_keys(list(self.keys), owner, data)
        self.check(_Named(data, owner), state, numbers, rounds)


class _Named(dict[str, Any]):
    """Data with the name of the function that reads them, for error messages."""

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
        """Restore the arm and the round."""
        if data["last"] in numbers:
            state.memory["last"][0], state.memory["until"][0] = numbers[data["last"]], int(data["until"])

    def carry(self, source: Any, target: Any, numbers: Ints) -> None:
        """Copy the arm and the round, unless the target lacks the arm."""
        last = int(source.memory["last"][0])
        number = NOBODY if last == NOBODY else int(numbers[last])
        target.memory["last"][0] = number
        target.memory["until"][0] = 0 if number == NOBODY else source.memory["until"][0]

    def forget(self, state: Any, next_round: int) -> None:
        """Choose again if the choice belongs to a cancelled round."""
        memory = state.memory
        if memory["last"][0] == NOBODY or memory["until"][0] - state.refresh >= next_round:
            memory["last"][0], memory["until"][0] = NOBODY, 0


class Counter(Saved):
    """A count of rounds that never decreases: one field of ``memory[0]``."""

    def __init__(self, name: str) -> None:
        self.keys = (name,)

    def dump(self, state: Any, arms: Sequence[Label]) -> dict[str, Any]:
        """Return the count."""
        del arms
        return {name: min(int(state.memory[name][0]), MOST_ROUNDS) for name in self.keys}

    def check(self, data: Any, state: Any, numbers: Mapping[Label, int], rounds: int) -> None:
        """Refuse data that are not a number of rounds."""
        del state, numbers, rounds
        for name in self.keys:
            whole(name, data.owner, data[name], least=0)

    def load(self, data: Mapping[str, Any], state: Any, numbers: Mapping[Label, int]) -> None:
        """Restore the count."""
        del numbers
        for name in self.keys:
            state.memory[name][0] = int(data[name])

    def carry(self, source: Any, target: Any, numbers: Ints) -> None:
        """Copy the count."""
        del numbers
        for name in self.keys:
            target.memory[name][0] = source.memory[name][0]

    def add(self, state: Any, data: Mapping[str, Any], before: Mapping[str, Any]) -> None:
        """Add the rounds that another policy has counted."""
        for name in self.keys:
            more = int(data.get(name, 0)) - int(before.get(name, 0))
            state.memory[name][0] = min(max(int(state.memory[name][0]) + more, 0), MOST_ROUNDS)


class StreamPlace(Saved):
    """The position in a policy's random stream: the numbers of ``state.stream``, which all views share."""

    keys: tuple[str, ...] = ("stream",)

    def dump(self, state: Any, arms: Sequence[Label]) -> dict[str, Any]:
        """Return the numbers as text, because they have more digits than JSON readers keep."""
        del arms
        return {"stream": [str(number) for number in state.stream]}

    def check(self, data: Any, state: Any, numbers: Mapping[Label, int], rounds: int) -> None:
        """Refuse data other than four numbers of 64 bits."""
        del numbers, rounds
        given = data["stream"]
        if not isinstance(given, list) or len(given) != state.stream.size:
            raise invalid("stream", data.owner, f"a list of {state.stream.size} numbers as text", given)
        for one in given:
            _check_bits("stream", data.owner, one, 64)

    def load(self, data: Mapping[str, Any], state: Any, numbers: Mapping[Label, int]) -> None:
        """Restore the position, so that the next draws are the same."""
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
        """Restore the position, so that the next draws are the same."""
        del numbers
        number = {key: int(data[key]) for key in _GENERATOR}
        state.rng.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": number["state"], "inc": number["inc"]},
            "has_uint32": number["has_uint32"],
            "uinteger": number["uinteger"],
        }


class Attributes(Saved):
    """Attributes of a policy in plain Python, and its random generator if it has one.

    Parameters
    ----------
    names
        Names of the attributes, whose values are plain data or NumPy arrays.
    random
        Whether the policy has a generator.
    """

    changes_with_rewards = True

    def __init__(self, names: Sequence[str], *, random: bool) -> None:
        self._names, self._stream = tuple(names), RandomStream() if random else Saved()
        self.keys = (*self._stream.keys, "attributes")

    def dump(self, state: Any, arms: Sequence[Label]) -> dict[str, Any]:
        """Return the attributes as plain data, arrays as lists."""
        values = {name: _as_plain(name, getattr(state.learner, name)) for name in self._names}
        return {**self._stream.dump(state, arms), "attributes": values}

    def check(self, data: Any, state: Any, numbers: Mapping[Label, int], rounds: int) -> None:
        """Refuse attributes that are not declared."""
        check_keys(list(self._names), data.owner, data["attributes"])
        self._stream.check(data, state, numbers, rounds)

    def load(self, data: Mapping[str, Any], state: Any, numbers: Mapping[Label, int]) -> None:
        """Restore the attributes, with lists converted to arrays where an array was."""
        self._stream.load(data, state, numbers)
        for name, value in data["attributes"].items():
            now = getattr(state.learner, name)
            is_array = isinstance(now, np.ndarray)
            setattr(
                state.learner, name, np.array(value, dtype=now.dtype) if is_array else copy.deepcopy(value)
            )

    def carry(self, source: Any, target: Any, numbers: Ints) -> None:
        """Copy the attributes that a choice may have changed."""
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
    allowed = "numbers, text, lists, dictionaries with text keys, or NumPy arrays"
    raise invalid(name, "to_json", allowed, Described(type(value).__name__))
