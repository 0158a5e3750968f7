"""Every curve as a tidy table, for other tools: Parquet and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from clusterbandits.report.regret_panel import regret_view

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from clusterbandits.paper.branches import Setting
    from clusterbandits.simulation.results import Result


def curve_frame(figures: Iterable[tuple[Setting, Result]]) -> pd.DataFrame:
    """Return figure, widths, policy, round, regret, standard_error, low and high: a row for every point."""
    return pd.concat(
        [
            _named(
                setting,
                curve.label,
                {
                    "round": result.checkpoints,
                    "regret": curve.mean,
                    "standard_error": result.standard_error(curve.label),
                    "low": curve.low,
                    "high": curve.high,
                },
            )
            for setting, result in figures
            for curve in regret_view(result).policies
        ],
        ignore_index=True,
    )


def pull_frame(figures: Iterable[tuple[Setting, Result]]) -> pd.DataFrame:
    """Return how often every arm was pulled at the end, with the numbers of pulls that theory predicts."""
    return pd.concat(
        [
            _named(
                setting,
                label,
                {
                    "cluster": np.array(result.instance.partition.membership),
                    "mean": result.instance.means,
                    "pulls": result.pulls[place, :, -1].mean(axis=0),
                    "predicted_clus_ucb": _clus_ucb(setting) * np.log(result.horizon),
                    "predicted_classical": _classical(setting) * np.log(result.horizon),
                },
            )
            for setting, result in figures
            for place, label in enumerate(result.labels)
        ],
        ignore_index=True,
    )


def _named(setting: Setting, policy: str, columns: dict[str, Any]) -> pd.DataFrame:
    widths = " ".join(f"{width:g}" for width in setting.widths)
    return pd.DataFrame({"figure": setting.figure.number, "widths": widths, "policy": policy, **columns})


def _clus_ucb(setting: Setting) -> NDArray[np.float64]:
    """Return Clus-UCB's pulls per log n; nothing is known where a width misleads."""
    rates = setting.bound.clus_ucb_allocation
    return np.full_like(rates, np.nan) if setting.bound.misled else rates


def _classical(setting: Setting) -> NDArray[np.float64]:
    return np.concatenate([part.classical_allocation for part in setting.bound.clusters])
