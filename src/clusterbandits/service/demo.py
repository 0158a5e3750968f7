"""The demonstration: a service with simulated visitors, whose rewards follow a bundled table of flights."""

from __future__ import annotations

import contextlib
import csv
import logging
import random
import tempfile
import threading
import time
from collections import defaultdict
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbandits.client import Client
from clusterbandits.errors import ClusterBanditsError
from clusterbandits.service.database import Database
from clusterbandits.service.server import serve
from clusterbandits.service.settings import ServiceSettings, database_in

if TYPE_CHECKING:
    from collections.abc import Callable

_TABLE = "data/flights_carrier_origin.csv"
_NAME = "flights"
#: The share of visitors whose reward never arrives, and the mean delay of the other rewards in seconds.
_LOST, _DELAY = 0.03, 2.0
_WINDOW = 60.0


def demonstrate(port: int, rate: float, say: Callable[[str], None]) -> None:
    """Run a service with visitors on loopback, without keys, in a temporary folder, until Ctrl-C.

    Parameters
    ----------
    port
        Port.
    rate
        Visitors per second.
    say
        Function that receives messages for the user.
    """
    over = threading.Event()
    with tempfile.TemporaryDirectory(prefix="clusterbandits-demo-") as folder:
        settings = ServiceSettings(database_in(Path(folder)), port=port, insecure=True)
        database = Database(settings.database)
        database.upgrade()
        database.dispose()
        address = f"http://127.0.0.1:{port}"
        say(f"Open {address} in a browser. Ctrl-C stops the demonstration.")
        say(f"Simulated travellers, {rate:g} per second, each take a flight. A decision chooses an")
        say("airline and an airport; the reward is 1 for a flight on time.")
        visitors = threading.Thread(target=_visit, args=[address, rate, over], daemon=True)
        visitors.start()
        try:
            serve(settings)
        finally:
            over.set()
            visitors.join(5)


def _visit(address: str, rate: float, over: threading.Event) -> None:
    """Create the experiment once the service answers, then request decisions and send rewards."""
    true = _true_means()
    means = {arm: mean for group in true.values() for arm, mean in group.items()}
    groups = {name: list(group) for name, group in true.items()}
    widths = {name: max(group.values()) - min(group.values()) for name, group in true.items()}
    chance, due = random.Random(1), list[tuple[float, str, float]]()
    # Without retries, so that nobody waits for this thread when the service stops.
    with Client(address, timeout=240, retries=0) as client:
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


def _true_means() -> dict[str, dict[str, float]]:
    """Return the means of the arms of the table, by group."""
    found: defaultdict[str, dict[str, float]] = defaultdict(dict)
    lines = (files("clusterbandits.studies") / _TABLE).read_text(encoding="utf-8").splitlines()
    for row in csv.DictReader(lines):
        found[row["group"]][row["arm"]] = int(row["successes"]) / int(row["trials"])
    return dict(found)
