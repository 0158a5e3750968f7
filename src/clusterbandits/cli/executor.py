"""Where commands play: here, or on a cluster that ``--dask`` names."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from clusterbandits.cli.show import show

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor


@contextlib.contextmanager
def chosen_executor(dask: str | None, workers: int | None = None) -> Iterator[Executor | None]:
    """Provide an executor that simulates on the cluster at an address, or None without an address.

    Threads of this machine, ``workers``, are refused where a cluster simulates.
    """
    if dask is None:
        yield None
        return
    from clusterbandits.simulation.dask_workers import dask_executor
    from clusterbandits.validate import invalid

    if workers is not None:
        raise invalid("workers", "the command", "left out where a Dask cluster plays", workers)

    def tell() -> None:
        show(f"No worker has joined the Dask cluster at {dask} yet: waiting for the first.", err=True)

    with dask_executor(dask, waiting=tell) as executor:
        yield executor
