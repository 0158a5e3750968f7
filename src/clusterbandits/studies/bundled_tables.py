"""Bundled tables of real successes and failures, as histories and as instances to play against."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from clusterbandits.studies.history import read_history
from clusterbandits.validate import choice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterbandits.instance import Instance
    from clusterbandits.studies.history import History

#: The name of every bundled table, and what it holds; sources and licences are in ``data/README.md``.
TABLES: Mapping[str, str] = {
    "flights-by-origin": "punctual flights from New York in 2013: airline and airport, grouped by airline",
    "flights-by-destination": "the same flights: airline and destination, grouped by airline",
    "admissions": "graduate admissions at Berkeley in 1973: department and sex, grouped by department",
}
_FILES = {
    "flights-by-origin": "flights_carrier_origin.csv",
    "flights-by-destination": "flights_carrier_dest.csv",
    "admissions": "ucb_admissions.csv",
}


def table_instance(name: str) -> Instance:
    """Return a bundled table as a Bernoulli instance: the mean of an arm is successes / trials.

    Parameters
    ----------
    name
        A name in ``TABLES``.

    Examples
    --------
    >>> instance = table_instance("admissions")
    >>> instance
    Instance({'A': {'A-Female': 0.824..., 'A-Male': 0.620...}, 'B': {'B-Female': 0.68, ...})
    >>> instance.best_arms, [round(span, 2) for span in instance.spans]
    (('A-Female',), [0.2, 0.05, 0.03, 0.02, 0.04, 0.01])
    >>> for name, description in TABLES.items():
    ...     print(f"{name}, {len(table_instance(name).arms)} arms: {description}")
    flights-by-origin, 28 arms: punctual flights from New York in 2013: airline and airport, ...
    flights-by-destination, 183 arms: the same flights: airline and destination, ...
    admissions, 12 arms: graduate admissions at Berkeley in 1973: department and sex, ...
    """
    return _read(name, "table_instance").instance()


def table_history(name: str) -> History:
    """Return a bundled table as what was tried: trials and successes of every arm.

    Parameters
    ----------
    name
        A name in ``TABLES``.

    Examples
    --------
    >>> table_history("admissions")
    <History: 12 arms in 6 groups, 4526 trials>
    """
    return _read(name, "table_history")


def table_file(name: str) -> str:
    """Return the name of the file that holds a bundled table."""
    return _FILES[choice("name", "table_file", name, TABLES)]


def _read(name: str, owner: str) -> History:
    choice("name", owner, name, TABLES)
    place = resources.files("clusterbandits.studies").joinpath("data", table_file(name))
    with resources.as_file(place) as path:
        return read_history(path, owner)
