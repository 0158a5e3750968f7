"""A service of the same framework that does nothing, as the baseline for rates."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from clusterbandits.service.messages import DecisionRequest, NewReward

app = FastAPI()
_DECISION = {"id": "1-00000000", "arm": "a", "group": "red", "expires_at": 1.0}


@app.post("/v1/experiments/{name}/decisions")
async def decide(name: str, body: DecisionRequest) -> dict[str, Any]:
    """Answer without deciding."""
    del name, body
    return {"decisions": [_DECISION]}


@app.post("/v1/decisions/{id}/reward")
async def reward(id: str, body: NewReward) -> dict[str, Any]:  # noqa: A002
    """Answer without counting."""
    return {"id": id, "status": "counted", "value": body.value}
