"""Metrics for Prometheus: requests, batches, and the counts of experiments."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

if TYPE_CHECKING:
    from clusterbandits.service.engine import Engine

#: The environment variable of the folder in which several workers share their metrics; set by ``server``.
SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


class Metrics:
    """The metrics of one worker. Threads may share it."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Histogram(
            "clusterbandits_request_seconds",
            "Time to answer a request.",
            ["route", "method", "status"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._batches = Histogram(
            "clusterbandits_batch_seconds",
            "Time to perform and commit a batch of requests.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._batched = Counter(
            "clusterbandits_batched_requests_total", "Requests performed in batches.", registry=registry
        )
        self._position = Gauge(
            "clusterbandits_log_position",
            "Position in the log up to which events were followed.",
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._counts = {
            name: Gauge(
                f"clusterbandits_{name}",
                sentence,
                ["experiment"],
                registry=registry,
                multiprocess_mode="livemax",
            )
            for name, sentence in (
                ("decisions", "Decisions so far."),
                ("rewards", "Rewards learned so far."),
                ("open_decisions", "Decisions that await a reward."),
                ("alarms", "Groups whose rewards contradict their declared width."),
            )
        }

        #: Cached histograms by route, method and status, because the lookup is slow.
        self._by_answer: dict[tuple[str, str, int], Histogram] = {}
        #: The position of each experiment when its metrics were last updated.
        self._noted: dict[str, int] = {}

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        answer = route, method, status
        known = self._by_answer.get(answer)
        if known is None:
            known = self._by_answer[answer] = self._requests.labels(route, method, str(status))
        known.observe(seconds)

    def batch(self, requests: int, seconds: float) -> None:
        """Count a batch."""
        self._batched.inc(requests)
        self._batches.observe(seconds)

    def observe(self, engine: Engine) -> None:
        """Update the metrics of the experiments."""
        self._position.set(engine.seq)
        for name, one in engine.experiments.items():
            if self._noted.get(name) == one.seq:
                continue
            self._noted[name] = one.seq
            values = (
                int(one.decisions.sum()),
                one.own_rewards()[0],
                sum(one.policy.awaited.values()),
                len(one.policy.alarms()),
            )
            for gauge, value in zip(self._counts.values(), values, strict=True):
                gauge.labels(name).set(value)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' format, those of the other workers included."""
        registry = self._registry
        folder = os.environ.get(SHARED_FOLDER)
        if folder:
            _forget_dead_workers(Path(folder))
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


def _forget_dead_workers(folder: Path) -> None:
    """Remove the gauges of killed workers; their counters are kept."""
    for file in folder.glob("gauge_live*_*.db"):
        process = int(file.stem.rpartition("_")[2])
        if not Path(f"/proc/{process}").exists():
            mark_process_dead(process)  # type: ignore[no-untyped-call]
