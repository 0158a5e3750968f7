"""Start a service: one process or several on the same socket, with structured logs and a graceful stop."""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
import time
import traceback

import uvicorn

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


def serve(settings: ServiceSettings) -> None:
    """Serve until the process is told to stop."""
    os.environ[VARIABLE] = settings.to_text()
    shared = tempfile.mkdtemp(prefix="clusterbandits-metrics-") if settings.workers > 1 else None
    if shared is not None:
        os.environ[SHARED_FOLDER] = shared
    try:
        uvicorn.run(
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
            timeout_graceful_shutdown=_GRACE,
        )
    finally:
        if shared is not None:
            shutil.rmtree(shared, ignore_errors=True)
