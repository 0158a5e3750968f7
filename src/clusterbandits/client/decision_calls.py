"""Calls about decisions, rewards, files and the service, one function per method, with its docstring."""

from __future__ import annotations

import math
import uuid
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from clusterbandits.client.answers import Decision, DecisionRecord, RewardResult, read, read_all, read_record
from clusterbandits.client.exchange import Link, Request, Steps, check_seconds, path_of, path_part
from clusterbandits.files import check_parent, whole_file
from clusterbandits.validate import as_float, choice, invalid, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: The largest number of decisions or rewards per request.
MOST_AT_ONCE = 1_000
#: A decision or its id, a value, and perhaps a key.
Reward: TypeAlias = tuple[Decision | str, float] | tuple[Decision | str, float, str | None]
_KINDS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


def decide(
    link: Link,
    name: str,
    *,
    available: Iterable[str] | None = None,
    count: int | None = None,
    key: str | None = None,
    note: Mapping[str, Any] | None = None,
) -> Steps[Decision | list[Decision]]:
    """Choose an arm, or a list of ``count`` arms.

    Parameters
    ----------
    name
        Name of the experiment.
    available
        Arms to choose from; by default, all that are not retired.
    count
        Number of decisions, 1 to 1,000; by default, a single decision is returned instead of a list.
    key
        Text that identifies the request, such as the id of a visit. The same key returns the same decisions.
        By default, a new random key, so that a retry does not decide twice.
    note
        Data to store with the decision, at most 4,000 bytes of JSON; by default none.

    Raises
    ------
    ServiceError
        With code 404 if there is no such experiment; with code 409 if it is paused or archived.
    """
    body: dict[str, Any] = {"key": str(uuid.uuid4()) if key is None else key}
    if count is not None:
        body["count"] = whole("count", "decide", count, 1, MOST_AT_ONCE)
    if available is not None:
        body["available"] = list(available)
    if note is not None:
        body["note"] = dict(note)
    found = yield from link.post(f"{path_of(name)}/decisions", body)
    decided = list(read_all(Decision, found, "decisions"))
    return decided[0] if count is None else decided


def reward(
    link: Link, decision: Decision | str, value: float, *, key: str | None = None
) -> Steps[RewardResult]:
    """Send the reward of a decision. Sending the same reward again counts it once.

    Parameters
    ----------
    decision
        Decision, or its id.
    value
        Reward.
    key
        Text that identifies the event that caused the reward, such as an order; by default none. It
        distinguishes equal rewards of one decision if the experiment combines rewards by ``"last"`` or
        ``"sum"``.

    Raises
    ------
    ServiceError
        With code 404 for an unknown decision, 409 if the decision already has another reward, 410 if its
        window has closed, 422 if the value is impossible for the experiment's reward family.
    """
    sent = _reward((decision, value, key))
    return read(
        RewardResult, (yield from link.post(f"/v1/decisions/{path_part(sent.pop('id'))}/reward", sent))
    )


def rewards(link: Link, rewards: Iterable[Reward]) -> Steps[list[RewardResult]]:
    """Send many rewards, 1,000 per request; return one result per reward, in the same order.

    A refused reward does not raise an error; its result explains why. If the call raises an error, the whole
    list can safely be sent again.

    Parameters
    ----------
    rewards
        Pairs of a decision (or its id) and a value, or triples with a key.
    """
    sent = [_reward(one) for one in rewards]
    results: list[RewardResult] = []
    for first in range(0, len(sent), MOST_AT_ONCE):
        part = {"rewards": sent[first : first + MOST_AT_ONCE]}
        found = yield from link.post("/v1/rewards", part)
        results += read_all(RewardResult, found, "results")
    return results


def decision(link: Link, decision: Decision | str) -> Steps[DecisionRecord]:
    """Return the record of a decision: its arm, note, status and rewards."""
    return read_record((yield from link.get(f"/v1/decisions/{path_part(_id(decision))}")))


def decisions(link: Link, name: str, *, limit: int = 50) -> Steps[list[DecisionRecord]]:
    """Return the last decisions of an experiment, newest first, at most ``limit`` of them."""
    query = {"limit": str(whole("limit", "decisions", limit, 1, MOST_AT_ONCE))}
    found = yield from link.get(f"{path_of(name)}/decisions", query)
    return list(read_all(DecisionRecord, found, "decisions"))


def export(  # noqa: PLR0913
    link: Link,
    name: str,
    path: str | Path,
    *,
    format: Literal["csv", "parquet"] = "csv",  # noqa: A002
    propensities: bool = False,
    unrewarded: bool = False,
    timeout: float = 3600.0,
) -> Steps[Path]:
    """Download decisions and rewards to a file, which is written completely or not at all; return its path.

    Parameters
    ----------
    name
        Name of the experiment.
    path
        File to write; an existing file is replaced.
    format
        ``"csv"`` (the default), which ``clusterbandits replay`` reads, or ``"parquet"``.
    propensities
        Whether to add the probability of each choice, which takes milliseconds per decision; by default not.
    unrewarded
        Whether to include decisions without a reward; by default not.
    timeout
        Seconds for this call, retries included; by default 3,600.

    Warns
    -----
    UserWarning
        If the propensities of some decisions cannot support inverse-propensity estimates, because a
        deterministic policy did not explore.
    """
    choice("format", "export", format, _KINDS)
    target = Path(path)
    check_parent(target)
    query = {
        "format": format,
        "propensities": "computed" if propensities else "none",
        "unrewarded": "true" if unrewarded else "false",
    }
    with whole_file(target) as unfinished:
        wanted = Request(
            "GET",
            f"{path_of(name)}/export",
            query=query,
            kind=_KINDS[format],
            into=unfinished,
            timeout=check_seconds(timeout, "export"),
        )
        warning = yield from link.ask(wanted)
    if warning is not None:
        warnings.warn(warning, stacklevel=2)
    return target


def health(link: Link) -> Steps[dict[str, Any]]:
    """Return the status and the version of the service; raise an error if its process does not answer."""
    found: dict[str, Any] = yield from link.get("/health")
    return found


def ready(link: Link) -> Steps[dict[str, Any]]:
    """Return the status of the service; raise an error if it cannot make decisions now."""
    found: dict[str, Any] = yield from link.get("/ready")
    return found


def _id(decision: Decision | str) -> str:
    return decision.id if isinstance(decision, Decision) else decision


def _reward(given: Reward) -> dict[str, Any]:
    """Return a reward in the format of the service."""
    decision, value, key = (*given, None) if len(given) == 2 else given
    number = float(value) if isinstance(value, bool) else as_float(value)
    if not math.isfinite(number):
        raise invalid("value", "reward", "a finite number", value)
    return {"id": _id(decision), "value": number} | ({} if key is None else {"key": key})
