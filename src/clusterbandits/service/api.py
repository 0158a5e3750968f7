"""The routes of the API: each converts a request to an operation, and the result to JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, StreamingResponse

from clusterbandits.service import export, live, log
from clusterbandits.service.experiment import Asked
from clusterbandits.service.messages import (
    Changes,
    Counted,
    DecisionRequest,
    Decisions,
    DecisionState,
    ExperimentChange,
    Experiments,
    ExperimentState,
    Explanation,
    History,
    KnownArm,
    NewArm,
    NewExperiment,
    NewReward,
    NewRewards,
    OwnKey,
    PastDecisions,
    Problem,
    RewardResults,
)
from clusterbandits.service.operations import (
    Change,
    Create,
    Decide,
    Read,
    experiment_called,
    warm_up,
)
from clusterbandits.service.plan import read_plan
from clusterbandits.service.recent import Record
from clusterbandits.service.refusals import RefusedError
from clusterbandits.service.rewards import Reward, Rewards
from clusterbandits.service.schema import Kind, events
from clusterbandits.service.views import as_json, explain, history

if TYPE_CHECKING:
    from clusterbandits.service.keys import Caller

PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"model": Problem, "description": sentence}
    for code, sentence in (
        (401, "No valid API key."),
        (403, "The key does not allow this."),
        (404, "There is no such experiment or decision."),
        (409, "The request conflicts with the present state."),
        (413, "The request is too large."),
        (422, "The request is not valid."),
        (429, "The key sends too many requests."),
        (503, "The database is not available; try again."),
    )
}
_REPEATED: dict[int | str, dict[str, Any]] = {
    200: {"model": ExperimentState, "description": "The experiment already exists, with the same settings."}
}
_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}
}
_FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}}
            for kind in ("text/csv", "application/vnd.apache.parquet")
        }
    }
}
_LATE: dict[int | str, dict[str, Any]] = {
    410: {"model": Problem, "description": "The window has closed; the reward is recorded but not learned."}
}
routes = APIRouter(prefix="/v1", responses=PROBLEMS)
_Name = Annotated[str, Path(max_length=64)]
_Id = Annotated[str, Path(max_length=40)]


def _json(data: object, status: int = 200) -> Response:
    return Response(as_json(data), status, media_type="application/json")


def _caller(request: Request, role: str, experiment: str | None = None) -> Caller:
    caller: Caller = request.scope["caller"]
    caller.check(role, experiment)
    return caller


async def _submit(request: Request, operation: Any) -> Any:
    return await request.app.state.writer.submit(operation)


def decisions_wanted(caller: Caller, name: str, body: DecisionRequest) -> Decide:
    """Return the operation of a request for decisions; refuse a caller without permission."""
    caller.check("decide", name)
    return Decide(name, body.available, body.count, body.key, body.note)


def reward_given(caller: Caller, decision: str, body: NewReward) -> Reward:
    """Return the operation that records a reward; refuse a caller without permission."""
    caller.check("reward")
    return Reward(decision, body.value, body.key or "", caller)


# Routes are matched in order, so the two most frequent ones come first.
@routes.post("/experiments/{name}/decisions", response_model=Decisions, tags=["decisions"])
async def decide(name: _Name, body: DecisionRequest, request: Request) -> Response:
    """Choose one or more arms. The same ``key`` returns the same decisions."""
    return _json(await _submit(request, decisions_wanted(request.scope["caller"], name, body)))


@routes.post("/decisions/{id}/reward", response_model=Counted, responses=_LATE, tags=["decisions"])
async def reward(id: _Id, body: NewReward, request: Request) -> Response:  # noqa: A002
    """Record the reward of a decision. Repeating the same reward is a success and counts once."""
    return _json(await _submit(request, reward_given(request.scope["caller"], id, body)))


@routes.post(
    "/experiments",
    status_code=201,
    response_model=ExperimentState,
    responses=_REPEATED,
    tags=["experiments"],
)
async def create_experiment(body: NewExperiment, request: Request) -> Response:
    """Create an experiment. Repeating the same request is a success (200)."""
    caller = _caller(request, "admin", body.name)
    await run_in_threadpool(lambda: warm_up(read_plan(body.model_dump())))
    new, state = await _submit(request, Create(body.model_dump(), caller))
    return _json(state, 201 if new else 200)


@routes.get("/experiments", response_model=Experiments, tags=["experiments"])
async def list_experiments(request: Request, archived: bool = False) -> Response:
    """List experiments; archived ones only with ``archived=true``."""
    caller = _caller(request, "read")
    return _json(await _submit(request, Read(lambda engine: live.listing(engine, caller, archived))))


@routes.get("/experiments/{name}", response_model=ExperimentState, tags=["experiments"])
async def read_experiment(name: _Name, request: Request) -> Response:
    """Read the state of an experiment: settings, counts, groups, arms, alarms."""
    _caller(request, "read", name)
    _, body = await _submit(request, Read(lambda engine: live.state_of(engine, name)))
    return Response(body, media_type="application/json")


@routes.patch("/experiments/{name}", response_model=ExperimentState, tags=["experiments"])
async def change_experiment(name: _Name, body: ExperimentChange, request: Request) -> Response:
    """Change settings; all observations are kept."""
    caller = _caller(request, "admin", name)
    settings = body.model_dump(exclude_unset=True)
    one = await _submit(request, Read(lambda engine: experiment_called(engine, name)))
    await run_in_threadpool(lambda: warm_up(one.plan.changed(settings)))
    return _json(await _submit(request, Change(name, "changed", {"settings": settings}, caller)))


def _state_route(path: str, change: str, sentence: str) -> None:
    async def change_state(name: _Name, request: Request) -> Response:
        caller = _caller(request, "admin", name)
        return _json(await _submit(request, Change(name, change, {}, caller)))

    change_state.__name__ = f"{path}_experiment"
    change_state.__doc__ = sentence
    routes.post(f"/experiments/{{name}}/{path}", response_model=ExperimentState, tags=["experiments"])(
        change_state
    )


_state_route("pause", "paused", "Stop making decisions; rewards are still accepted.")
_state_route("resume", "resumed", "Make decisions again.")
_state_route("archive", "archived", "End the experiment permanently; rewards are still accepted.")


@routes.post("/experiments/{name}/arms", response_model=ExperimentState, tags=["arms"])
async def add_arm(name: _Name, body: NewArm, request: Request) -> Response:
    """Add an arm to a group."""
    caller = _caller(request, "admin", name)
    return _json(await _submit(request, Change(name, "arm added", body.model_dump(), caller)))


@routes.post("/experiments/{name}/arms/retire", response_model=ExperimentState, tags=["arms"])
async def retire_arm(name: _Name, body: KnownArm, request: Request) -> Response:
    """Stop choosing an arm; rewards of earlier decisions still count."""
    caller = _caller(request, "admin", name)
    return _json(await _submit(request, Change(name, "arm retired", body.model_dump(), caller)))


@routes.post("/experiments/{name}/arms/restore", response_model=ExperimentState, tags=["arms"])
async def restore_arm(name: _Name, body: KnownArm, request: Request) -> Response:
    """Allow a retired arm to be chosen again."""
    caller = _caller(request, "admin", name)
    return _json(await _submit(request, Change(name, "arm restored", body.model_dump(), caller)))


@routes.post("/rewards", response_model=RewardResults, tags=["decisions"])
async def reward_many(body: NewRewards, request: Request) -> Response:
    """Record up to 1,000 rewards; each succeeds or fails independently."""
    caller = _caller(request, "reward")
    rewards = [Reward(one.id, one.value, one.key or "", caller) for one in body.rewards]
    return _json({"results": await _submit(request, Rewards(rewards))})


@routes.get("/decisions/{id}", response_model=DecisionState, tags=["decisions"])
async def read_decision(id: _Id, request: Request) -> Response:  # noqa: A002
    """Read a decision and its rewards."""
    caller, place = _caller(request, "read"), log.read_id(id)
    if place is None:
        raise RefusedError(404, f"There is no decision {id!r}.")
    found = await _rows(request, lambda connection: log.of_decisions(connection, [place[0]]))
    names = await _submit(request, Read(lambda engine: dict(engine.by_number)))
    record = _records(found).get(place[0])
    if record is None or record.decision.token != place[1]:
        raise RefusedError(404, f"There is no decision {id!r}.")
    one = names[record.decision.experiment]
    caller.check_scope(one.name)
    rewards = [
        {
            "at": event.at,
            "value": event.value,
            "key": event.key,
            "status": "late" if event.kind == Kind.LATE else "counted",
        }
        for event in record.rewards
    ]
    return _json({**_shown(one, record), "experiment": one.name, "rewards": rewards})


@routes.get("/experiments/{name}/decisions", response_model=PastDecisions, tags=["decisions"])
async def recent_decisions(
    name: _Name, request: Request, limit: Annotated[int, Query(ge=1, le=1000)] = 50
) -> Response:
    """Read the last decisions, newest first."""
    _caller(request, "read", name)
    one = await _submit(request, Read(lambda engine: experiment_called(engine, name)))

    def find(connection: Any) -> list[log.Event]:
        newest = log.newest_decisions(connection, one.number, limit)
        return log.of_decisions(connection, [event.seq for event in newest])

    records = _records(await _rows(request, find))
    # Arms may have been added since the experiment was read.
    one = await _submit(request, Read(lambda engine: experiment_called(engine, name)))
    return _json({"decisions": [_shown(one, records[seq]) for seq in sorted(records, reverse=True)]})


@routes.get("/experiments/{name}/changes", response_model=Changes, tags=["experiments"])
async def read_changes(name: _Name, request: Request) -> Response:
    """Read the recorded changes of an experiment: who changed what, and when."""
    _caller(request, "read", name)
    one = await _submit(request, Read(lambda engine: experiment_called(engine, name)))
    kinds = [int(Kind.CREATED), int(Kind.CHANGED)]
    where = (events.c.experiment == one.number) & events.c.kind.in_(kinds)
    found = await _rows(request, lambda connection: log.find(connection, where))
    return _json({"changes": [_changed(event) for event in found]})


@routes.get("/experiments/{name}/history", response_model=History, tags=["experiments"])
async def read_history(name: _Name, request: Request) -> Response:
    """Read counts over time."""
    _caller(request, "read", name)
    return _json(await _submit(request, Read(lambda engine: history(experiment_called(engine, name)))))


@routes.get("/experiments/{name}/explain", response_model=Explanation, tags=["experiments"])
async def explain_experiment(name: _Name, request: Request) -> Response:
    """Explain the next choice: the statistics and scores that the policy compares."""
    _caller(request, "read", name)
    return _json(await _submit(request, Read(lambda engine: explain(experiment_called(engine, name)))))


@routes.get("/experiments/{name}/export", response_class=FileResponse, responses=_FILES, tags=["experiments"])
async def export_experiment(
    name: _Name,
    request: Request,
    format: Annotated[str, Query(pattern="^(csv|parquet)$")] = "csv",  # noqa: A002
    propensities: Annotated[str, Query(pattern="^(none|computed)$")] = "none",
    unrewarded: bool = False,
) -> Response:
    """Download decisions and rewards; ``clusterbandits replay`` reads the CSV file.

    ``unrewarded=true`` adds decisions without a reward. ``propensities=computed`` adds the probability of
    each chosen arm, computed from the log; that takes milliseconds per decision. If some of them cannot
    support inverse-propensity estimates, because a deterministic policy did not explore, the header
    ``Clusterbandits-Warning`` says so.
    """
    _caller(request, "read", name)
    one = await _submit(request, Read(lambda engine: experiment_called(engine, name)))
    wanted = export.Wanted(one.number, format, propensities == "computed", unrewarded)
    path, warning = await request.app.state.exports.make(wanted, request.is_disconnected)
    kind = "text/csv; charset=utf-8" if format == "csv" else "application/vnd.apache.parquet"
    return FileResponse(
        path,
        headers={} if warning is None else {"Clusterbandits-Warning": warning},
        media_type=kind,
        filename=f"{name}.{format}",
        background=BackgroundTask(path.unlink, missing_ok=True),
    )


@routes.get("/experiments/{name}/live", response_class=StreamingResponse, responses=_EVENTS, tags=["live"])
async def follow_experiment(name: _Name, request: Request) -> StreamingResponse:
    """Follow the state of an experiment as server-sent events."""
    _caller(request, "read", name)
    await _submit(request, Read(lambda engine: experiment_called(engine, name)))
    return live.stream(request, lambda engine: live.state_of(engine, name))


@routes.get("/live", response_class=StreamingResponse, responses=_EVENTS, tags=["live"])
async def follow_experiments(request: Request) -> StreamingResponse:
    """Follow the list of experiments as server-sent events."""
    caller = _caller(request, "read")
    return live.stream(request, lambda engine: live.list_of(engine, caller))


@routes.get("/me", response_model=OwnKey, tags=["keys"])
async def read_own_key(request: Request) -> Response:
    """Read the name, the roles and the scope of the API key of the request."""
    caller: Caller = request.scope["caller"]
    scope = None if caller.experiments is None else sorted(caller.experiments)
    insecure = request.app.state.settings.insecure
    return _json(
        {"name": caller.name, "roles": sorted(caller.roles), "experiments": scope, "insecure": insecure}
    )


async def _rows(request: Request, find: Any) -> list[log.Event]:
    """Return the rows of a query, read in another thread."""

    def read() -> list[log.Event]:
        with request.app.state.database.connected() as connection:
            found: list[log.Event] = find(connection)
            return found

    return await run_in_threadpool(read)


def _records(found: list[log.Event]) -> dict[int, Record]:
    records = {event.seq: Record(event) for event in found if event.kind == Kind.DECISION}
    for event in found:
        if event.decision in records:
            records[event.decision].add(event)
    return records


def _shown(one: Any, record: Record) -> dict[str, Any]:
    decision = record.decision
    asked = Asked.of(decision)
    return {
        "id": decision.id,
        "arm": one.arms[decision.arm],
        "group": one.group_of(decision.arm),
        "at": decision.at,
        "expires_at": decision.expires_at,
        "status": record.status,
        "value": record.value(one.plan.combine),
        "explored": asked.explored,
        "note": asked.note,
    }


def _changed(event: log.Event) -> dict[str, Any]:
    body = json.loads(event.body or "{}")
    if event.kind == Kind.CREATED:
        return {"seq": event.seq, "at": event.at, "who": event.who, "change": "created", "body": body["plan"]}
    change = body.pop("change")
    return {"seq": event.seq, "at": event.at, "who": event.who, "change": change, "body": body}
