"""Pictures of estimates with confidence intervals: one row per setting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clusterbandits.paper.summary import BOUND_NAMES, MEETS, called, growth_rates
from clusterbandits.report.estimates_panel import estimates_panel
from clusterbandits.report.views import Estimates, EstimatesView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterbandits.paper.audit.claim import Estimate
    from clusterbandits.paper.figures import Setting
    from clusterbandits.report.picture import Picture
    from clusterbandits.simulation.results import Result

#: The intervals in the legend.
INTERVAL = "95 % confidence interval"


def rate_picture(settings: Sequence[Setting], results: Sequence[Result]) -> Picture:
    """Return the regret per log n of three policies, divided by each policy's bound if it applies."""
    rates = [growth_rates(result) for result in results]
    groups = []
    for name, kind in MEETS.items():
        ratios = {
            one.name: rate[name].times(1 / getattr(one.bound, kind))
            for one, rate in zip(settings, rates, strict=True)
            if kind == "classical" or not one.bound.misled
        }
        heading = f"{called(name)} divided by {BOUND_NAMES[kind]}"
        groups += [estimate_rows(heading, list(ratios), list(ratios.values()), name)] if ratios else []
    view = EstimatesView(
        tuple(groups),
        "regret per log n divided by the bound",
        mean="mean",
        interval=INTERVAL,
        reference=(1.0, "the bound"),
        reach=1.0,
    )
    parts = [
        f"{group.heading[0]}: {', '.join(map(' '.join, zip(group.names, group.remarks, strict=True)))}"
        for group in groups
    ]
    return estimates_panel(view, name="beyond", alt=f"{'; '.join(parts)}.", title="Growth of regret")


def estimate_rows(
    heading: str,
    names: Sequence[str],
    estimates: Sequence[Estimate],
    policy: str,
    marks: Sequence[float] | None = None,
    unit: str = "",
) -> Estimates:
    """Return a group of estimates with 95 % confidence intervals; ``marks`` are predicted values."""
    means = np.array([one.value for one in estimates])
    reach = np.array([one.reach() for one in estimates])
    reach[~np.isfinite(reach)] = np.nan
    return Estimates(
        heading=(heading, ""),
        names=tuple(names),
        means=means,
        lows=means - reach,
        highs=means + reach,
        marks=None if marks is None else np.array(marks),
        remarks=tuple(f"{one}{unit}".replace("-", "−") for one in estimates),
        policies=(policy,) * len(names),
    )
