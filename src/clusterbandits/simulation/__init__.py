"""A learner on trial: runs, results and the folder that keeps them."""

from clusterbandits.simulation.progress import Progress
from clusterbandits.simulation.results import Result
from clusterbandits.simulation.tape import play
from clusterbandits.simulation.trial import load_result, simulate

__all__ = ["Progress", "Result", "load_result", "play", "simulate"]
