"""Simulate policies on environments: independent runs, their results, and the folders that store them."""

from clusterbandits.simulation.campaign import Progress
from clusterbandits.simulation.results import Result
from clusterbandits.simulation.simulate import load_result, simulate
from clusterbandits.simulation.tape import play

__all__ = ["Progress", "Result", "load_result", "play", "simulate"]
