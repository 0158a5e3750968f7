"""Start a service: one or several processes on the same address, with JSON logs and graceful shutdown."""

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

#: Seconds for requests to finish when the service stops.
_GRACE = 5


class JsonLines(logging.Formatter):
    """Log records as one JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a line of JSON."""
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
    """A bound address; each worker process that receives it listens there with its own socket.

    The kernel distributes connections evenly over such sockets. With a shared socket, the quickest worker
    would accept most connections.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the call with which a worker process creates its socket."""
        return _listening_at, (int(self.family), self.getsockname())


def _listening_at(family: int, address: tuple[Any, ...]) -> Address:
    made = Address(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.bind(address)
    return made


def serve(settings: ServiceSettings) -> None:
    """Serve until the process receives a stop signal."""
    os.environ[VARIABLE] = settings.to_text()
    shared = _shared_folder() if settings.workers > 1 else None
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


def _shared_folder() -> str:
    """Return a new folder for the metrics of all workers, in memory where possible.

    Workers map its files: on a disk that gets full, a write to them would kill the worker.
    """
    memory = "/dev/shm"
    place = memory if os.access(memory, os.W_OK | os.X_OK) else None
    return tempfile.mkdtemp(prefix="clusterbandits-metrics-", dir=place)


def _run(config: uvicorn.Config) -> None:
    """Run one worker in this process, or several workers in separate processes."""
    if config.workers == 1:
        server = uvicorn.Server(config)
        server.run()
        if not server.started:
            sys.exit(STARTUP_FAILURE)
        return
    # First bind without sharing, so that another service at this address is an error.
    bound = config.bind_socket()
    if sys.platform == "linux":
        family, address = bound.family, bound.getsockname()
        bound.close()
        bound = _listening_at(family, address)
    with bound:
        Multiprocess(config, sockets=[bound]).run()
