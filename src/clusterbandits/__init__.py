"""Bandits whose options come in groups.

Tell it which options belong together and how far apart they can be; it shows what that knowledge is worth.
"""

from __future__ import annotations

import importlib
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
    from clusterbandits.families import (
        Bernoulli,
        Exponential,
        Family,
        Gaussian,
        NegativeBinomial,
        Poisson,
        as_family,
    )
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
    from clusterbandits.simulation.machines import MachinesError, dask_executor
    from clusterbandits.studies.advice.advice import Advice, advise
    from clusterbandits.studies.advice.picture import save_arms_picture
    from clusterbandits.studies.history import History, read_history
    from clusterbandits.studies.replay import ReplayProgress, ReplayResult, replay
    from clusterbandits.studies.study.run import StudyReport, run_study

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
    "families": (
        "Bernoulli",
        "Exponential",
        "Family",
        "Gaussian",
        "NegativeBinomial",
        "Poisson",
        "as_family",
    ),
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
    "simulation.machines": ("MachinesError", "dask_executor"),
    "studies.advice.advice": ("Advice", "advise"),
    "studies.advice.picture": ("save_arms_picture",),
    "studies.history": ("History", "read_history"),
    "studies.replay": ("ReplayProgress", "ReplayResult", "replay"),
    "studies.study.run": ("StudyReport", "run_study"),
}
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
    "MachinesError",
    "NegativeBinomial",
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
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
