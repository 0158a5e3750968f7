"""The application of a worker: routes, error responses, the live page, start and shutdown."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import FileResponse, JSONResponse
from starlette.routing import compile_path
from starlette.staticfiles import StaticFiles

from clusterbandits import __version__
from clusterbandits.errors import ClusterBanditsError
from clusterbandits.service.api import PROBLEMS, routes
from clusterbandits.service.database import Database
from clusterbandits.service.engine import Engine
from clusterbandits.service.export import Exports
from clusterbandits.service.guard import Guard
from clusterbandits.service.keys import KeyRing
from clusterbandits.service.live import stopping
from clusterbandits.service.messages import FORMS
from clusterbandits.service.metrics import Metrics
from clusterbandits.service.operations import Read
from clusterbandits.service.refusals import RefusedError, UnavailableError, sentence_of, status_of
from clusterbandits.service.settings import VARIABLE, ServiceSettings
from clusterbandits.service.writer import Writer
from clusterbandits.wording import escaped, shortened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from clusterbandits.service.keys import Caller

_PAGE = str(files("clusterbandits.service") / "page")
_SENTENCE = 300
_SWITCH_SECONDS = 0.001
#: Replacements for error messages of Pydantic.
_REASONS = {
    "missing": "it is missing",
    "extra_forbidden": "there is no such field",
    "string_pattern_mismatch": "it is too long, or has characters that are not allowed there",
    "json_invalid": "it is not JSON",
    "model_attributes_type": "it must be a JSON object, sent with 'Content-Type: application/json'",
}
#: Replacements for error messages of FastAPI, which answers 400 to a body that is not JSON.
_FAILURES = {
    400: "The body is not valid JSON: wrong encoding, nested too deeply, or numbers with too many digits.",
    404: "There is nothing at this address.",
    405: "This address does not allow that method.",
}


def create_app(settings: ServiceSettings | None = None) -> FastAPI:
    """Return the application with the given settings, by default those in the environment of the worker."""
    if settings is None:
        settings = ServiceSettings.from_text(os.environ[VARIABLE])
    ring, metrics = KeyRing(), Metrics()
    database = Database(settings.database)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # Requests and the writer share a process: frequent thread switches keep both waits short.
        sys.setswitchinterval(_SWITCH_SECONDS)
        app.state.writer = Writer(Engine(database, ring), metrics)
        app.state.writer.start()
        _note_signals()
        _end_with_parent()
        app.state.exports = Exports(database)
        try:
            yield
        finally:
            await app.state.writer.stop()
            app.state.exports.close()
            database.dispose()

    app = FastAPI(
        title="clusterbandits",
        version=__version__,
        summary="Decisions among options that come in groups.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        # A redirect would name the scheme and the host of the request: behind a proxy with TLS, it would
        # lead clients to send their key without TLS.
        redirect_slashes=False,
        middleware=[Middleware(Guard, ring=ring, metrics=metrics, settings=settings)],
    )
    app.state.settings, app.state.metrics, app.state.database = settings, metrics, database
    app.state.ring = ring
    app.include_router(routes)
    _add_errors(app)
    _add_operations(app)
    _add_pages(app)
    _describe_keys(app)
    return app


def _note_signals() -> None:
    """End streams and exports when the process receives a stop signal; the server would wait for them."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        before = signal.getsignal(number)

        def stop(received: int, frame: Any, before: Any = before) -> None:
            stopping.set()
            if callable(before):
                before(received, frame)

        signal.signal(number, stop)


def _end_with_parent() -> None:
    """Stop this worker when the process that supervises it is killed.

    Otherwise its workers would keep the address, and the service could not be started again.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="parent", daemon=True).start()


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(ClusterBanditsError)
    async def refused(_request: Request, error: ClusterBanditsError) -> Response:
        code = status_of(error)
        extra = {"Retry-After": "1"} if code in {429, 503} else None
        return JSONResponse({"detail": sentence_of(error)}, code, headers=extra)

    @app.exception_handler(RequestValidationError)
    async def invalid(_request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        inside = () if first["type"] == "json_invalid" else first["loc"]
        place = ".".join(str(part) for part in inside if part not in {"body", *FORMS}) or "body"
        reason = _REASONS.get(first["type"], first["msg"].removeprefix("Value error, "))
        sentence = shortened(escaped(f"The field '{place}' is not valid: {reason}"), _SENTENCE)
        return JSONResponse({"detail": f"{sentence}."}, 422)

    @app.exception_handler(HTTPException)
    async def failed(request: Request, error: HTTPException) -> Response:
        sentence = _FAILURES.get(error.status_code, str(error.detail))
        status = 422 if error.status_code == 400 else error.status_code
        headers = _allowed(app, request.url.path) if status == 405 else None
        return JSONResponse({"detail": sentence}, status, headers=headers or error.headers)


def _allowed(app: FastAPI, path: str) -> dict[str, str] | None:
    """Return the header with all methods of an address; Starlette only lists those of one route."""
    for template, methods in app.openapi()["paths"].items():
        if compile_path(template)[0].match(path):
            return {"Allow": ", ".join(sorted(method.upper() for method in methods))}
    return None


def _add_operations(app: FastAPI) -> None:
    unprotected: dict[str, Any] = {"security": []}

    @app.get("/health", tags=["operations"], openapi_extra=unprotected)
    async def health(request: Request) -> dict[str, str]:
        """Report that the process is running; the database is not checked."""
        if not request.app.state.writer.alive:
            raise UnavailableError("The thread that performs requests has ended; restart the service.")
        return {"status": "ok", "version": __version__}

    @app.get("/ready", tags=["operations"], openapi_extra=unprotected, responses={503: PROBLEMS[503]})
    async def ready(request: Request) -> dict[str, Any]:
        """Report whether decisions can be made: the database answers, and the log has been read."""
        try:
            return {"status": "ready", "seq": await request.app.state.writer.submit(Read(_position))}
        except UnavailableError:
            if request.scope["caller"] is not None:
                raise
            # The reason can name hosts, users and files, and the address needs no key.
            sentence = "The service cannot make decisions at present; its log says why."
            raise UnavailableError(sentence) from None

    answers: dict[int | str, dict[str, Any]] = {code: PROBLEMS[code] for code in (401, 403, 429, 503)}
    answers[200] = {"content": {"text/plain": {"schema": {"type": "string"}}}}

    @app.get("/metrics", tags=["operations"], response_class=Response, responses=answers)
    def metrics(request: Request) -> Response:
        """Return metrics for Prometheus."""
        caller: Caller = request.scope["caller"]
        caller.check("read")
        if caller.experiments is not None:
            raise RefusedError(403, "Metrics cover all experiments, but this key is limited to some of them.")
        return Response(app.state.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _position(engine: Engine) -> int:
    """Return the position in the log; refuse if the database accepts no writes."""
    if engine.unwritable is not None:
        raise UnavailableError(engine.unwritable)
    return engine.seq


def _add_pages(app: FastAPI) -> None:
    swagger = str(files("fastapi_offline") / "static")

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(f"{_PAGE}/index.html")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return FileResponse(f"{_PAGE}/docs.html")

    @app.get("/favicon.ico", include_in_schema=False)
    async def icon() -> Response:
        return FileResponse(f"{_PAGE}/icon.svg", media_type="image/svg+xml")

    app.mount("/page", StaticFiles(directory=_PAGE), name="page")
    app.mount("/docs", StaticFiles(directory=swagger), name="docs")


def _describe_keys(app: FastAPI) -> None:
    """Add to the OpenAPI description how keys are sent."""

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
            schema.setdefault("components", {})["securitySchemes"] = {
                "key": {"type": "http", "scheme": "bearer"}
            }
            schema["security"] = [{"key": []}]
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]
