"""The two most frequent requests, handled without the framework's routing and validation.

Routing and validation take longer than all other work for a decision. Unusual or invalid requests are passed
to the framework, which validates them completely and reports errors.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from clusterbandits.service.api import decisions_wanted, reward_given
from clusterbandits.service.messages import DecisionRequest, NewReward

if TYPE_CHECKING:
    from starlette.types import Scope

    from clusterbandits.service.operations import Operation

_DECIDE, _REWARD = "/v1/experiments/{name}/decisions", "/v1/decisions/{id}/reward"
_PATH = re.compile(r"/v1/(?:experiments/([^/]{1,64})/decisions|decisions/([^/]{1,40})/reward)")


def direct_operation(scope: Scope, headers: dict[bytes, bytes], body: bytes) -> tuple[str, Operation] | None:
    """Return the route and the operation of a request; None if the framework must handle it."""
    found = _PATH.fullmatch(scope["path"])
    if found is None or scope["method"] != "POST" or headers.get(b"content-type") != b"application/json":
        return None
    experiment, decision = found.groups()
    try:
        data = json.loads(body)
        wanted = DecisionRequest.model_validate(data) if experiment else NewReward.model_validate(data)
    except (ValueError, RecursionError):
        return None
    if isinstance(wanted, DecisionRequest):
        return _DECIDE, decisions_wanted(scope["caller"], experiment, wanted)
    return _REWARD, reward_given(scope["caller"], decision, wanted)
