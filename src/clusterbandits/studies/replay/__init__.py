"""Replay of logs: what a policy would have earned, from rows that somebody else's choices left behind."""

from clusterbandits.studies.replay.evaluate import replay
from clusterbandits.studies.replay.progress import ReplayProgress
from clusterbandits.studies.replay.result import ReplayResult

__all__ = ["ReplayProgress", "ReplayResult", "replay"]
