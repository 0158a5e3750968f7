"""Bandits whose options come in groups.

Tell it which options belong together and how far apart they can be; it shows what that knowledge is worth.
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from clusterbandits.bounds import RegretBound, regret_bound
    from clusterbandits.clusters import Clusters, WidthFit
    from clusterbandits.errors import (
        ClusterBanditsError,
        InvalidInputError,
        SimulationInterrupted,
        UnreadableFileError,
        UnwritableFileError,
        WidthWarning,
    )
    from clusterbandits.families import Bernoulli, Exponential, Family, Gaussian, Poisson, as_family
    from clusterbandits.generators import random_instance
    from clusterbandits.instance import Instance
    from clusterbandits.policies import (
        CKLUCB,
        IMED,
        IMEDOPT,
        KLUCB,
        MOSS,
        OSSB,
        POLICIES,
        TSC,
        UCB1,
        UCBC,
        ClusOPT,
        ClusTS,
        ClusUCB,
        ClusUCBHedged,
        EpsilonGreedy,
        Explanation,
        HierTS,
        IMEDClus,
        KLUCBPlusPlus,
        Policy,
        Thompson,
        TLPMax,
        TLPMean,
        WidthAlarm,
        policy,
    )
    from clusterbandits.report.regret_plot import save_regret_plot
    from clusterbandits.simulation import Progress, Result, load_result, play, simulate
    from clusterbandits.simulation.dask_workers import WorkersError, dask_executor
    from clusterbandits.studies.advice_files import save_arms_picture
    from clusterbandits.studies.advise import Advice, advise
    from clusterbandits.studies.history import History, read_history
    from clusterbandits.studies.log_survey import ReplayProgress
    from clusterbandits.studies.replay import replay
    from clusterbandits.studies.replay_result import ReplayResult
    from clusterbandits.studies.run_study import run_study
    from clusterbandits.studies.study_report import StudyReport

_HOMES = {
    "bounds": ("RegretBound", "regret_bound"),
    "clusters": ("Clusters", "WidthFit"),
    "errors": (
        "ClusterBanditsError",
        "InvalidInputError",
        "SimulationInterrupted",
        "UnreadableFileError",
        "UnwritableFileError",
        "WidthWarning",
    ),
    "families": ("Bernoulli", "Exponential", "Family", "Gaussian", "Poisson", "as_family"),
    "generators": ("random_instance",),
    "instance": ("Instance",),
    "policies": (
        "CKLUCB",
        "ClusOPT",
        "ClusTS",
        "ClusUCB",
        "ClusUCBHedged",
        "EpsilonGreedy",
        "Explanation",
        "HierTS",
        "IMED",
        "IMEDClus",
        "IMEDOPT",
        "KLUCB",
        "KLUCBPlusPlus",
        "MOSS",
        "OSSB",
        "POLICIES",
        "Policy",
        "TLPMax",
        "TLPMean",
        "TSC",
        "Thompson",
        "UCB1",
        "UCBC",
        "WidthAlarm",
        "policy",
    ),
    "report.regret_plot": ("save_regret_plot",),
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
}
#: Public names of earlier versions, and what they are called now.
_RENAMED = {"MachinesError": "WorkersError"}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "CKLUCB",
    "IMED",
    "IMEDOPT",
    "KLUCB",
    "MOSS",
    "OSSB",
    "POLICIES",
    "TSC",
    "UCB1",
    "UCBC",
    "Advice",
    "Bernoulli",
    "ClusOPT",
    "ClusTS",
    "ClusUCB",
    "ClusUCBHedged",
    "ClusterBanditsError",
    "Clusters",
    "EpsilonGreedy",
    "Explanation",
    "Exponential",
    "Family",
    "Gaussian",
    "HierTS",
    "History",
    "IMEDClus",
    "Instance",
    "InvalidInputError",
    "KLUCBPlusPlus",
    "Poisson",
    "Policy",
    "Progress",
    "RegretBound",
    "ReplayProgress",
    "ReplayResult",
    "Result",
    "SimulationInterrupted",
    "StudyReport",
    "TLPMax",
    "TLPMean",
    "Thompson",
    "UnreadableFileError",
    "UnwritableFileError",
    "WidthAlarm",
    "WidthFit",
    "WidthWarning",
    "WorkersError",
    "advise",
    "as_family",
    "dask_executor",
    "load_result",
    "play",
    "policy",
    "random_instance",
    "read_history",
    "regret_bound",
    "replay",
    "run_study",
    "save_arms_picture",
    "save_regret_plot",
    "simulate",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for, so that ``--help`` never waits for Numba."""
    if name in _HOMES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _RENAMED:
        message = f"{__name__}.{name} is now called {__name__}.{_RENAMED[name]}."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return __getattr__(_RENAMED[name])
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
