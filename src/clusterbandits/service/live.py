"""Server-sent events: readers see changes within half a second without polling."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any

from starlette.responses import StreamingResponse

from clusterbandits.service.experiment import ARCHIVED
from clusterbandits.service.operations import Read, experiment_called
from clusterbandits.service.refusals import RefusedError
from clusterbandits.service.views import as_json, describe, listed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from fastapi import Request

    from clusterbandits.service.engine import Engine
    from clusterbandits.service.experiment import Experiment
    from clusterbandits.service.keys import Caller

#: Seconds between two checks for changes, and between two pings.
_LOOK_SECONDS, _PING_SECONDS = 0.5, 15.0
#: Set when the process receives a stop signal.
stopping = threading.Event()


def listing(engine: Engine, caller: Caller, archived: bool) -> dict[str, Any]:
    """Return the experiments that a caller may see."""
    shown = (one for one in engine.experiments.values() if archived or one.state != ARCHIVED)
    return {"experiments": [_row(engine, one) for one in shown if caller.sees(one.name)]}


def _row(engine: Engine, one: Experiment) -> dict[str, Any]:
    """Return the list entry of an experiment, cached for all readers."""
    known = engine.listed.get(one.name)
    if known is None or known[0] != one.seq:
        known = engine.listed[one.name] = one.seq, listed(one)
    return known[1]


def list_of(engine: Engine, caller: Caller) -> tuple[int, bytes]:
    """Return the position in the log and the list of experiments as JSON."""
    return engine.seq, as_json(listing(engine, caller, False))


def state_of(engine: Engine, name: str) -> tuple[int, bytes]:
    """Return the position of an experiment's last event and its state as JSON, cached for all readers."""
    one = experiment_called(engine, name)
    known = engine.described.get(name)
    if known is None or known[0] != one.seq:
        known = engine.described[name] = one.seq, as_json(describe(one))
    return known


def stream(request: Request, view: Callable[[Engine], tuple[int, bytes]]) -> StreamingResponse:
    """Send the result of a view whenever its position has changed, while the key is valid."""
    writer, ring, caller = request.app.state.writer, request.app.state.ring, request.scope["caller"]

    async def updates() -> AsyncIterator[bytes]:
        seen, said = -1, time.monotonic()
        while not stopping.is_set() and ring.holds(caller):
            try:
                position, body = await writer.submit(Read(view))
            except RefusedError as refusal:
                yield b"event: unavailable\ndata: %b\n\n" % as_json({"detail": str(refusal)})
                return
            if position != seen:
                yield b"event: state\nid: %d\ndata: %b\n\n" % (position, body)
                seen, said = position, time.monotonic()
            elif time.monotonic() - said >= _PING_SECONDS:
                yield b"event: ping\ndata: {}\n\n"
                said = time.monotonic()
            await asyncio.sleep(_LOOK_SECONDS)

    return StreamingResponse(updates(), media_type="text/event-stream")
