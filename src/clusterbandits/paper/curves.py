"""Every curve as a tidy table, for other tools: Parquet and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from clusterbandits.files import whole_file
from clusterbandits.report.regret_plot import policy_curves

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from clusterbandits.paper.branches import Setting
    from clusterbandits.simulation.results import Result


def curve_frame(figures: Iterable[tuple[Setting, Result]]) -> pd.DataFrame:
    """Return figure, widths, policy, round, regret, standard_error, low and high: a row for every point."""
    frames = []
    for setting, result in figures:
        for curve in policy_curves(result):
            frames.append(
                pd.DataFrame(
                    {
                        "figure": setting.figure.number,
                        "widths": " ".join(f"{width:g}" for width in setting.widths),
                        "policy": curve.label,
                        "round": result.checkpoints,
                        "regret": curve.mean,
                        "standard_error": result.standard_error(curve.label),
                        "low": curve.low,
                        "high": curve.high,
                    }
                )
            )
    return pd.concat(frames, ignore_index=True)


def pull_frame(figures: Iterable[tuple[Setting, Result]]) -> pd.DataFrame:
    """Return how often every arm was pulled at the end, with the numbers of pulls that theory predicts."""
    frames = []
    for setting, result in figures:
        bound = setting.bound
        logs = np.log(result.horizon)
        classical = np.concatenate([part.classical_allocation for part in bound.clusters])
        for place, label in enumerate(result.labels):
            frames.append(
                pd.DataFrame(
                    {
                        "figure": setting.figure.number,
                        "widths": " ".join(f"{width:g}" for width in setting.widths),
                        "policy": label,
                        "cluster": np.array(result.instance.partition.membership),
                        "mean": result.instance.means,
                        "pulls": result.pulls[place, :, -1].mean(axis=0),
                        "predicted_clus_ucb": bound.clus_ucb_allocation * logs,
                        "predicted_classical": classical * logs,
                    }
                )
            )
    return pd.concat(frames, ignore_index=True)


def save_frame(frame: pd.DataFrame, folder: Path, name: str) -> None:
    """Write a table as Parquet and as CSV, each whole or not at all."""
    with whole_file(folder / f"{name}.parquet") as unfinished:
        frame.to_parquet(unfinished, index=False)
    with whole_file(folder / f"{name}.csv") as unfinished:
        frame.to_csv(unfinished, index=False)
