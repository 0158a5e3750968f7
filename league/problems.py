"""The problems of the league: those of the paper, a hard one, bundled tables, small rates, warm starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from clusterbandits import Instance
from clusterbandits.paper.figures import FIGURES
from clusterbandits.studies.history import TABLES, table_instance
from clusterbandits.validate import choice
from league.drawn import draw_history, draw_rates

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clusterbandits import Clusters
    from clusterbandits.studies.history import History

#: Whether all widths are true, some are too small but only in groups without a best arm, or in the best arm's
#: group.
Fit = Literal["true", "harmless", "misleading"]
Kind = Literal["true widths", "harmless widths", "misleading widths", "small rates", "warm start"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_KINDS_OF_WIDTHS: dict[Fit, Kind] = {
    "true": "true widths",
    "harmless": "harmless widths",
    "misleading": "misleading widths",
}
#: A problem has small rates if all are below this.
SMALL = 0.05
#: Trials per arm in the histories of warm starts.
TRIALS = {"ads": 200, "flights-by-origin": 50, "admissions": 20}
_AD_RATES, _RARE_RATES = (0.001, 0.03), (0.0004, 0.0025)
_DRAWN = "between {} and {}, drawn once at a fixed seed"
_ADS = f"ads in campaigns, with click rates {_DRAWN.format(*_AD_RATES)}"
_RARE = f"arms with success rates {_DRAWN.format(*_RARE_RATES)}"


@dataclass(frozen=True)
class Problem:
    """One problem: the true means, and the clusters, widths and history given to policies."""

    name: str
    #: A short name that fits above a column of the heat map.
    short: str
    shows: str
    instance: Instance
    clusters: Clusters
    #: The history that policies start from, if any.
    start: History | None = None

    @property
    def fit(self) -> Fit:
        """Whether the widths are true and, if not, whether the best arm is affected.

        Examples
        --------
        >>> [problem.fit for problem in choose(["figure 2", "figure 7", "figure 3"])]
        ['true', 'harmless', 'misleading']
        """
        violated = self.clusters.fits(self.instance.means).violated
        if not violated:
            return "true"
        return "misleading" if _best_groups(self.instance) & violated.keys() else "harmless"

    @property
    def kind(self) -> Kind:
        """The kind of the problem.

        Examples
        --------
        >>> chosen = choose(["figure 2", "ads (half the best span)", "ads (after 12,000 trials)"])
        >>> [problem.kind for problem in chosen]
        ['true widths', 'small rates', 'warm start']
        """
        if self.start is not None:
            return "warm start"
        return "small rates" if self.instance.best_mean < SMALL else _KINDS_OF_WIDTHS[self.fit]


def problems() -> tuple[Problem, ...]:
    """Return all problems in the order of the data file.

    Examples
    --------
    >>> len(problems())
    26
    """
    return (*_of_the_paper(), _low_arm(), *_of_tables(), *_small_rates(), *_warm_starts())


def choose(names: Iterable[str] = ()) -> tuple[Problem, ...]:
    """Return the named problems, or all if no names are given."""
    known = {problem.name: problem for problem in problems()}
    wanted = [choice("--problems", "league", name, known) for name in names]
    return tuple(known[name] for name in dict.fromkeys(wanted or known))


def _of_the_paper() -> Iterator[Problem]:
    for figure in FIGURES:
        for widths in figure.widths:
            name, short = f"figure {figure.number}", f"Fig {figure.number}"
            if len(figure.widths) > 1:
                declared = [f"{width:g}" for width in widths]
                name += f" ({' and '.join(declared)})"
                short += f" ({' '.join(declared)})".replace("0.", ".")
            yield Problem(name, short, figure.shows, figure.instance, figure.instance.clusters(widths))


def _low_arm() -> Problem:
    instance = Instance([[0.05, *[0.3] * 9], [0.5]])
    shows = "ten poor arms that the lowest of them alone proves poor"
    return Problem("low-arm", "low-arm", shows, instance, instance.clusters([0.26, 0.1]))


def _of_tables() -> Iterator[Problem]:
    for table, description in TABLES.items():
        instance = table_instance(table)
        short = table.removeprefix("flights-by-")
        yield _with_spans(table, short, description, instance)
        wide = instance.clusters([1.5 * span for span in instance.spans])
        yield Problem(f"{table} (1.5 × spans)", f"{short} (× 1.5)", description, instance, wide)
        yield _with_half_the_best_span(table, short, description, instance)


def _ads() -> Instance:
    campaigns = enumerate(draw_rates(6, 10, *_AD_RATES), 1)
    return Instance(
        {f"campaign {c}": {f"ad {c}-{k}": rate for k, rate in enumerate(rates, 1)} for c, rates in campaigns}
    )


def _small_rates() -> Iterator[Problem]:
    ads, rare = _ads(), Instance(draw_rates(4, 5, *_RARE_RATES))
    yield _with_spans("ads", "ads", _ADS, ads)
    yield _with_half_the_best_span("ads", "ads", _ADS, ads)
    yield _with_spans("rare", "rare", _RARE, rare)


def _warm_starts() -> Iterator[Problem]:
    instances = {"ads": _ads(), **{table: table_instance(table) for table in TRIALS if table in TABLES}}
    for name, trials in TRIALS.items():
        instance = instances[name]
        history = draw_history(instance, trials)
        yield Problem(
            f"{name} (after {trials * len(instance.arms):,} trials)",
            f"{name.removeprefix('flights-by-')} (warm)",
            f"{TABLES.get(name, _ADS)}; policies begin with {trials} trials per arm",
            instance,
            history.clusters(),
            history,
        )


def _with_spans(name: str, short: str, shows: str, instance: Instance) -> Problem:
    return Problem(f"{name} (spans)", f"{short} (spans)", shows, instance, instance.clusters(instance.spans))


def _with_half_the_best_span(name: str, short: str, shows: str, instance: Instance) -> Problem:
    best = _best_groups(instance)
    widths = [
        span / 2 if group in best else span
        for group, span in zip(instance.partition.clusters, instance.spans, strict=True)
    ]
    clusters = instance.clusters(widths)
    return Problem(f"{name} (half the best span)", f"{short} (½ best)", shows, instance, clusters)


def _best_groups(instance: Instance) -> set[str | int]:
    names = instance.partition.cluster_names
    return {names[arm] for arm in np.flatnonzero(instance.gaps == 0)}
