"""Bandits whose arms come in groups.

Declare which arms form a cluster and how far apart their means can be. The library computes what this
knowledge is worth, chooses arms, and simulates policies exactly at any horizon.
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING

from clusterbandits.extras import extras_explained as _extras_explained

__version__ = "0.1.0"

if TYPE_CHECKING:
    from clusterbandits import testing as testing
    from clusterbandits.bounds import RegretBound as RegretBound, regret_bound as regret_bound
    from clusterbandits.client import AsyncClient as AsyncClient, Client as Client
    from clusterbandits.clusters import Clusters as Clusters, WidthFit as WidthFit
    from clusterbandits.compiled import kernel as kernel
    from clusterbandits.distributions import (
        Beta as Beta,
        Distribution as Distribution,
        Empirical as Empirical,
        Mixture as Mixture,
        Sampled as Sampled,
        TruncatedGaussian as TruncatedGaussian,
    )
    from clusterbandits.errors import (
        ClusterBanditsError as ClusterBanditsError,
        InvalidInputError as InvalidInputError,
        ServiceError as ServiceError,
        SimulationInterrupted as SimulationInterrupted,
        UnreadableFileError as UnreadableFileError,
        UnwritableFileError as UnwritableFileError,
        WidthWarning as WidthWarning,
    )
    from clusterbandits.extras import MissingExtraError as MissingExtraError
    from clusterbandits.families import *  # noqa: F403
    from clusterbandits.generators import random_instance as random_instance
    from clusterbandits.instance import Instance as Instance
    from clusterbandits.policies import *  # noqa: F403
    from clusterbandits.report.regret_panel import save_regret_plot as save_regret_plot
    from clusterbandits.simulation import (
        Progress as Progress,
        Result as Result,
        load_result as load_result,
        play as play,
        simulate as simulate,
    )
    from clusterbandits.simulation.dask_workers import (
        WorkersError as WorkersError,
        dask_executor as dask_executor,
    )
    from clusterbandits.studies.advice_files import save_arms_picture as save_arms_picture
    from clusterbandits.studies.advise import Advice as Advice, advise as advise
    from clusterbandits.studies.history import History as History, read_history as read_history
    from clusterbandits.studies.log_survey import ReplayProgress as ReplayProgress
    from clusterbandits.studies.replay import replay as replay
    from clusterbandits.studies.replay_result import ReplayResult as ReplayResult
    from clusterbandits.studies.run_study import run_study as run_study
    from clusterbandits.studies.study_report import StudyReport as StudyReport
    from clusterbandits.studies.table_file import TableFile as TableFile

_HOMES = {
    "bounds": ("RegretBound", "regret_bound"),
    "client": ("AsyncClient", "Client"),
    "clusters": ("Clusters", "WidthFit"),
    "errors": (
        "ClusterBanditsError",
        "InvalidInputError",
        "ServiceError",
        "SimulationInterrupted",
        "UnreadableFileError",
        "UnwritableFileError",
        "WidthWarning",
    ),
    "compiled": ("kernel",),
    "distributions": ("Beta", "Distribution", "Empirical", "Mixture", "Sampled", "TruncatedGaussian"),
    "extras": ("MissingExtraError",),
    "generators": ("random_instance",),
    "instance": ("Instance",),
    "report.regret_panel": ("save_regret_plot",),
    "simulation": ("Progress", "Result", "load_result", "play", "simulate"),
    "simulation.dask_workers": ("WorkersError", "dask_executor"),
    "studies.advice_files": ("save_arms_picture",),
    "studies.advise": ("Advice", "advise"),
    "studies.history": ("History", "read_history"),
    "studies.log_survey": ("ReplayProgress",),
    "studies.replay": ("replay",),
    "studies.replay_result": ("ReplayResult",),
    "studies.run_study": ("run_study",),
    "studies.study_report": ("StudyReport",),
    "studies.table_file": ("TableFile",),
}
#: The packages with a registry, which export all its families or policies.
_OPEN = ("families", "policies")
#: Public names of earlier versions, with their present names.
_RENAMED = {"MachinesError": "WorkersError"}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that ``--help`` does not wait for Numba."""
    if name in {*_HOMES, *_OPEN, "testing"}:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _RENAMED:
        message = f"{__name__}.{name} is now called {__name__}.{_RENAMED[name]}."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return __getattr__(_RENAMED[name])
    if name == "__all__":
        return sorted([*filter(_installed, _HOME_OF), *_registered()])
    home = None if name.startswith("_") else _HOME_OF.get(name) or _registered().get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _extras_explained():
        globals()[name] = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    return globals()[name]


def _installed(name: str) -> bool:
    """Return whether a name can be imported without a missing extra; a star imports only those."""
    try:
        __getattr__(name)
    except ImportError:
        return False
    return True


def _registered() -> dict[str, str]:
    """Return the names that families and policies export, with their packages."""
    packages = {home: importlib.import_module(f"{__name__}.{home}") for home in _OPEN}
    return {name: home for home, package in packages.items() for name in package.PUBLIC}


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF, *_registered()})
