"""Arms by name and group: numbers in order of appearance, and labels that distinguish equal names."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clusterbandits.studies.columns import Source

    Ints = NDArray[np.int64]

#: Pairs of an arm and a group in a batch that are counted in a table instead of sorted.
_FEW_PAIRS = 2**16


class ArmNumbers:
    """Numbers 0, 1, … for arms in the order in which they first appear.

    Arms of the same name in different groups are different arms. The label of an arm is its name, and
    ``"group / name"`` if several groups have an arm of this name.

    Examples
    --------
    >>> import pyarrow as pa
    >>> arms = ArmNumbers()
    >>> arms.numbers(pa.array(["a", "b", "a"]), pa.array(["red", "red", "blue"])).tolist()
    [0, 1, 2]
    >>> arms.groups, arms.labels()
    (('red', 'red', 'blue'), ('red / a', 'b', 'blue / a'))
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str | None], int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def groups(self) -> tuple[str, ...]:
        """The group of each arm, for tables that have groups."""
        return tuple(str(group) for _, group in self._numbers)

    def labels(self, source: Source | None = None) -> tuple[str, ...]:
        """Return the label of each arm; refuse labels that are not unique, with an error about ``source``."""
        often = Counter(name for name, _ in self._numbers)
        labels = tuple(name if often[name] == 1 else f"{group} / {name}" for name, group in self._numbers)
        if source is not None and len(set(labels)) < len(labels):
            ((label, _),) = Counter(labels).most_common(1)
            rule = (
                "arms must have different labels; those of the same name in several groups are 'group / arm'"
            )
            raise source.refuse(rule, f"Two arms are called {label!r}")
        return labels

    def numbers(self, arms: Any, groups: Any = None) -> Ints:
        """Return the number of the arm in each row, from columns of names and of groups."""
        encoded = arms.dictionary_encode()
        codes: Ints = encoded.indices.to_numpy().astype(np.int64)
        names = encoded.dictionary.to_pylist()
        if groups is None:
            alone: Ints = np.array([self._number((name, None)) for name in names], dtype=np.int64)
            return alone[codes]
        grouped = groups.dictionary_encode()
        called = grouped.dictionary.to_pylist()
        codes = codes * len(called) + grouped.indices.to_numpy()
        kinds, places = _distinct(codes, len(names) * len(called))
        pairs = {kind: (names[kind // len(called)], called[kind % len(called)]) for kind in kinds.tolist()}
        if not all(pair in self._numbers for pair in pairs.values()):
            firsts = np.unique(codes, return_index=True)[1]
            for code in codes[np.sort(firsts)].tolist():
                self._number(pairs[code])
        found: Ints = np.array([self._numbers[pair] for pair in pairs.values()], dtype=np.int64)
        return found[places]

    def _number(self, pair: tuple[str, str | None]) -> int:
        return self._numbers.setdefault(pair, len(self._numbers))


def _distinct(codes: Ints, size: int) -> tuple[Ints, Ints]:
    """Return the different codes, all below a size, and the place of every code among them."""
    if size > max(_FEW_PAIRS, codes.size):
        kinds, places = np.unique(codes, return_inverse=True)
        return kinds, places
    present = np.bincount(codes, minlength=size) > 0
    return np.flatnonzero(present), (np.cumsum(present) - 1)[codes]
