"""``python -m tests.fuzz.checked``: the short run of tapes, with kernels that check every index."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clusterbandits.compiled import CHECKED, kernel
from fuzz.batch import attempt
from fuzz.tapes import SHORT


@kernel
def read(numbers: NDArray[np.float64], place: int) -> float:
    """Return a number, where there is one."""
    return float(numbers[place])


def main(seed: int) -> None:
    """Show that checks are on, then make the attempts."""
    assert CHECKED
    try:
        read(np.zeros(3), 3)
    except IndexError:
        pass
    else:
        raise AssertionError("a kernel read beyond its array unnoticed")
    for case in range(SHORT):
        attempt("tapes", seed, case)


if __name__ == "__main__":
    main(2026)
