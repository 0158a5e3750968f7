"""``clusterbandits warmup``: compile ahead of time, for a fast first use and for container images."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from clusterbandits.cli.common import Json, interruptible, show

if TYPE_CHECKING:
    from pathlib import Path

    from clusterbandits.kernel_cache import Cache


def warmup(
    policies: Annotated[
        list[str] | None, typer.Argument(metavar="POLICY", help="Names of policies. Default: all.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Processes that compile at a time. Default: one per core.")
    ] = None,
    json: Json = False,
) -> None:
    """Compile policies ahead of time, for all reward families.

    The environment variable CLUSTERBANDITS_CACHE names the folder for compiled
    code; by default, it is the cache folder of the user. Code that is there
    already is not compiled again.
    """
    from clusterbandits.cli.progress_bar import count_bar
    from clusterbandits.clusters import Clusters
    from clusterbandits.kernel_cache import announce_nothing, cache
    from clusterbandits.policies import POLICIES, policy
    from clusterbandits.serial import to_json
    from clusterbandits.simulation.executors import thread_count
    from clusterbandits.simulation.precompile import compile_ahead, kinds_to_compile
    from clusterbandits.wording import duration

    announce_nothing()
    clusters = Clusters([2, 2], widths=0.2)
    names = list(dict.fromkeys(policy(name, clusters).name for name in policies or POLICIES))
    threads = thread_count(workers, "warmup")
    folder, start = _writable_folder(cache()), time.monotonic()
    kinds = kinds_to_compile([policy(name, clusters) for name in names], 20)
    done = []
    with interruptible("policies compiled so far are kept."), count_bar("compiling", "policies") as listener:
        listener(0, len(kinds))
        for one in compile_ahead(kinds, threads):
            done.append(one)
            listener(len(done), len(kinds))
    kernels, seconds = sum(one.kernels for one in done), time.monotonic() - start
    size = _size(folder)
    if json:
        each = {one.policy: {"kernels": one.kernels, "seconds": one.seconds} for one in done}
        totals = {"policies": names, "kernels": kernels, "seconds": seconds, "compiled": each}
        show(to_json({"folder": str(folder), "bytes": size, **totals}, indent=2))
        return
    what = f"{len(names)} policies" if len(names) > 1 else names[0]
    if kernels:
        show(f"Compiled {kernels} functions for {what} in {duration(seconds)}.")
    else:
        show(f"Nothing to do: {what} had been compiled before.")
    show(f"Folder: {folder} ({size / 1e6:.0f} MB)")


def _writable_folder(found: "Cache") -> "Path":
    """Return the folder for compiled code, or refuse one that is removed when this process ends."""
    from clusterbandits.errors import UnwritableFileError
    from clusterbandits.kernel_cache import unwritable

    if found.chosen is None:
        raise UnwritableFileError("Nothing can be compiled ahead of time for a package in a zip file.")
    if not found.kept:
        raise UnwritableFileError(f"Compiled code cannot be kept: {unwritable(found.chosen.parent)}")
    return found.chosen


def _size(folder: "Path") -> int:
    return sum(file.stat().st_size for file in folder.rglob("*.nb[ci]"))
