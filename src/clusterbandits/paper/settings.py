"""Settings of a reproduction of the paper, and the file in the report's folder that stores them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterbandits.files import claimed_folder
from clusterbandits.fingerprint import differing, fingerprint
from clusterbandits.limits import LARGEST_SEED, MOST_RUNS
from clusterbandits.paper.figures import NUMBERS, figure_numbers
from clusterbandits.serial import number_text, to_json
from clusterbandits.validate import between, invalid, shown, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MANIFEST = "settings.json"
_FORMAT = "clusterbandits paper 2"
#: Format of an earlier version, with a hash of the kernels alone.
_EARLIER = "clusterbandits paper 1"
_MOST_A = 1000.0
_MOST_REFRESH = 10**6


@dataclass(frozen=True)
class PaperSettings:
    """Figures to reproduce and their settings; by default those of the paper, with exact indices.

    Parameters
    ----------
    figures
        Numbers of figures from 1 to 8; all by default.
    runs, horizon, seed
        As in ``simulate``.
    a
        Weight of log log n in the threshold of every policy; 5 in the paper.
    refresh
        Rounds between two computations of the indices; 50 in the paper.
    beyond
        Whether to simulate 10,000 times the horizon too, with all policies that can skip ahead.

    Examples
    --------
    >>> PaperSettings(figures=[8, 2]).figures
    (2, 8)
    """

    figures: Sequence[int] = ()
    runs: int = 48
    horizon: int = 10**6
    a: float = 0.0
    refresh: int = 1
    seed: int = 0
    beyond: bool = False

    def __post_init__(self) -> None:
        kept = {
            "figures": figure_numbers(tuple(self.figures)),
            "runs": whole("runs", "paper", self.runs, least=2, most=MOST_RUNS),
            "horizon": whole("horizon", "paper", self.horizon, least=100, most=10**11),
            "a": between("a", "paper", self.a, 0, _MOST_A),
            "refresh": whole("refresh", "paper", self.refresh, least=1, most=_MOST_REFRESH),
            "seed": whole("seed", "paper", self.seed, least=0, most=LARGEST_SEED),
        }
        for name, value in kept.items():
            object.__setattr__(self, name, value)

    @property
    def far_horizon(self) -> int:
        """The horizon at which rates are measured: 10,000 times the horizon of the figures."""
        return 10_000 * self.horizon

    @property
    def far_runs(self) -> int:
        """The number of runs with this horizon."""
        return min(24, self.runs)

    @property
    def whole_paper(self) -> bool:
        """Whether all figures are reproduced."""
        return self.figures == NUMBERS

    def command(self) -> str:
        """Return the command line that produces this report."""
        chosen = [] if self.whole_paper else [f"--figure {number}" for number in self.figures]
        default = PaperSettings()
        for name in ("runs", "horizon", "a", "refresh", "seed"):
            value = getattr(self, name)
            if value != getattr(default, name):
                chosen.append(f"--{name} {number_text(value) if name in {'a', 'horizon'} else value}")
        return " ".join(["clusterbandits paper", *chosen, *(["--beyond"] if self.beyond else [])])

    def remembered(self) -> dict[str, Any]:
        """Return the settings that must not change within a folder; figures may be added."""
        return {name: getattr(self, name) for name in ("runs", "horizon", "a", "refresh", "seed")}


def claim_folder(folder: Path, settings: PaperSettings) -> Mapping[str, object]:
    """Reserve a folder for a report: it must be new, empty, or of a report with the same settings.

    Return the fingerprint with which its runs were started.
    """
    wanted = settings.remembered()
    data = {"format": _FORMAT, **wanted, "fingerprint": fingerprint()}
    names = claimed_folder(folder, MANIFEST, to_json(data, indent=2) + "\n")
    if not names:
        return fingerprint()
    if MANIFEST not in names:
        allowed = "a new or empty folder, or the folder of a report"
        raise invalid("out", "paper", allowed, str(folder), f"It has other files, such as {shown(names[0])}.")
    known = _read(folder / MANIFEST)
    different = differing(wanted, {name: known.get(name) for name in wanted})
    if different:
        allowed = "a new or empty folder, or the folder of a report with the same settings"
        hint = f"Its report has other {', '.join(different)}."
        raise invalid("out", "paper", allowed, str(folder), hint)
    begun: Mapping[str, object] = known["fingerprint"]
    return begun


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        data = None
    if isinstance(data, dict):
        if data.get("format") == _EARLIER:
            data |= {"format": _FORMAT, "fingerprint": {}}
        if data.get("format") == _FORMAT and isinstance(data.get("fingerprint"), dict):
            return data
    raise invalid("out", "paper", f"a folder with a valid '{MANIFEST}'", str(path.parent))
