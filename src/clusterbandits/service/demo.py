"""A demonstration: a service with simulated visitors, whose rewards follow a bundled table of flights."""

from __future__ import annotations

import contextlib
import logging
import random
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbandits.client import Client
from clusterbandits.errors import ClusterBanditsError
from clusterbandits.service.database import Database
from clusterbandits.service.server import serve
from clusterbandits.service.settings import ServiceSettings, database_in
from clusterbandits.studies.history import table_instance

if TYPE_CHECKING:
    from collections.abc import Callable

_TABLE = "flights-by-origin"
_NAME = "flights"
#: The share of visitors whose reward never arrives, and the mean seconds until the others' do.
_LOST, _DELAY = 0.03, 2.0
_WINDOW = 60.0


def demonstrate(port: int, rate: float, say: Callable[[str], None]) -> None:
    """Serve on loopback, without keys, in a temporary folder, until Ctrl-C.

    Parameters
    ----------
    port
        The port.
    rate
        Visitors per second.
    say
        Called with sentences for the user.
    """
    over = threading.Event()
    with tempfile.TemporaryDirectory(prefix="clusterbandits-demo-") as folder:
        settings = ServiceSettings(database_in(Path(folder)), port=port, insecure=True)
        database = Database(settings.database)
        database.upgrade()
        database.dispose()
        address = f"http://127.0.0.1:{port}"
        say(f"Open {address} in a browser. Each of {rate:g} simulated travellers per second takes a flight:")
        say("a decision is an airline and an airport, the reward is 1 for a flight on time. Ctrl-C ends it.")
        visitors = threading.Thread(target=_visit, args=[address, rate, over], daemon=True)
        visitors.start()
        try:
            serve(settings)
        finally:
            over.set()
            visitors.join(5)


def _visit(address: str, rate: float, over: threading.Event) -> None:
    """Create the experiment when the service answers; then send visitors and their rewards."""
    instance = table_instance(_TABLE)
    labels = [str(label) for label in instance.arms]
    means = dict(zip(labels, instance.means, strict=True))
    groups = {
        str(name): [labels[k] for k in part]
        for name, part in zip(instance.partition.clusters, instance.partition.members, strict=True)
    }
    widths = dict(zip(groups, instance.spans, strict=True))
    chance, due = random.Random(1), list[tuple[float, str, float]]()
    with Client(address) as client:
        while not over.wait(0.2):
            with contextlib.suppress(ClusterBanditsError):
                client.create_experiment(_NAME, groups, widths=widths, window=_WINDOW)
                break
        while not over.wait(chance.expovariate(rate)):
            try:
                decision = client.decide(_NAME, note={"traveller": chance.randrange(10**6)})
                if chance.random() >= _LOST:
                    value = float(chance.random() < means[decision.arm])
                    due.append((time.monotonic() + chance.expovariate(1 / _DELAY), decision.id, value))
                due.sort()
                while due and due[0][0] <= time.monotonic():
                    _, identity, value = due.pop(0)
                    client.reward(identity, value)
            except ClusterBanditsError as error:
                logging.getLogger("clusterbandits.service").warning("the demonstration waits: %s", error)
