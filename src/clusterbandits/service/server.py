"""Start a service: one process or several on the same socket, with structured logs and a graceful stop."""

from __future__ import annotations

import json
import logging
import os
import shutil
import socket
import sys
import tempfile
import time
import traceback
from typing import Any

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from clusterbandits.service.metrics import SHARED_FOLDER
from clusterbandits.service.settings import VARIABLE, ServiceSettings

#: Seconds that requests have to end when the service stops.
_GRACE = 5


class JsonLines(logging.Formatter):
    """Log records as one JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = "".join(traceback.format_exception(*record.exc_info))
        return json.dumps(line)


_LOGS = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "clusterbandits.service.server.JsonLines"}},
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}
    },
    "root": {"level": "WARNING", "handlers": ["stderr"]},
    "loggers": {
        "clusterbandits": {"level": "INFO"},
        "uvicorn": {"level": "INFO"},
        "uvicorn.access": {"level": "WARNING"},
    },
}


class Address(socket.socket):
    """A bound address; a worker process to which it is sent listens there with a socket of its own.

    The kernel spreads connections evenly over such sockets. Workers that accept from one socket leave most
    connections to whichever of them is quickest.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how a worker process makes its socket."""
        return _listening_at, (int(self.family), self.getsockname())


def _listening_at(family: int, address: tuple[Any, ...]) -> Address:
    made = Address(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.bind(address)
    return made


def serve(settings: ServiceSettings) -> None:
    """Serve until the process is told to stop."""
    os.environ[VARIABLE] = settings.to_text()
    shared = tempfile.mkdtemp(prefix="clusterbandits-metrics-") if settings.workers > 1 else None
    if shared is not None:
        os.environ[SHARED_FOLDER] = shared
    try:
        _run(
            uvicorn.Config(
                "clusterbandits.service.app:create_app",
                factory=True,
                http="clusterbandits.service.protocol:Protocol",
                ws="none",
                host=settings.host,
                port=settings.port,
                workers=settings.workers,
                log_config=_LOGS,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=_GRACE,
            )
        )
    finally:
        if shared is not None:
            shutil.rmtree(shared, ignore_errors=True)


def _run(config: uvicorn.Config) -> None:
    """Run one worker in this process, or several in processes of their own."""
    if config.workers == 1:
        server = uvicorn.Server(config)
        server.run()
        if not server.started:
            sys.exit(STARTUP_FAILURE)
        return
    # Bound without sharing first: another service at this address is an error.
    bound = config.bind_socket()
    if sys.platform == "linux":
        family, address = bound.family, bound.getsockname()
        bound.close()
        bound = _listening_at(family, address)
    with bound:
        Multiprocess(config, sockets=[bound]).run()
