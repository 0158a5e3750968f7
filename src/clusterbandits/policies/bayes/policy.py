"""What policies that choose at random share: a seed, and a source of chance that can be saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from clusterbandits.policies.policy import Policy
from clusterbandits.validate import check_keys, invalid

if TYPE_CHECKING:
    from numpy.random import Generator

#: What the state of a PCG64 generator consists of, with the bits of each number.
_KEYS = {"state": 128, "inc": 128, "has_uint32": 1, "uinteger": 32}


class RandomPolicy(Policy):
    """A policy that draws; online from a generator of its own seed, in a simulation from the run's."""

    randomised = True

    def _generator(self, rng: Generator | None) -> Generator:
        return np.random.default_rng(self.settings["seed"]) if rng is None else rng

    def _last_choice(self) -> dict[str, Any]:
        state = cast("Any", self._live).rng.bit_generator.state
        known = {**state, **state["state"]}
        return {key: str(known[key]) for key in _KEYS}

    def _check_choice(self, data: object, owner: str) -> None:
        check_keys(list(_KEYS), owner, data)
        data = cast("dict[str, Any]", data)
        for key, value in data.items():
            digits = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 39
            if not digits or int(value) >= 2 ** _KEYS[key]:
                raise invalid(key, owner, f"a whole number of at most {_KEYS[key]} bits, as text", value)
        stream = self._last_choice()["inc"]
        if data["inc"] != stream:
            raise invalid("inc", owner, f"{stream}, the stream that belongs to its seed", data["inc"])

    def _restore_choice(self, data: dict[str, Any]) -> None:
        if data:
            number = {key: int(data[key]) for key in _KEYS}
            cast("Any", self._live).rng.bit_generator.state = {
                "bit_generator": "PCG64",
                "state": {"state": number["state"], "inc": number["inc"]},
                "has_uint32": number["has_uint32"],
                "uinteger": number["uinteger"],
            }
