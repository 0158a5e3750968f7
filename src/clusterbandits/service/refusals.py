"""Errors that refuse a request, with an HTTP status and a message of one sentence."""

from __future__ import annotations

from clusterbandits.errors import ClusterBanditsError, InvalidInputError


class RefusedError(ClusterBanditsError):
    """A request is refused; nothing changes, except that a late reward is recorded.

    Parameters
    ----------
    code
        HTTP status.
    sentence
        Error message: what is wrong, and what is allowed.
    """

    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class UnavailableError(RefusedError):
    """The database cannot be reached, read or written at present."""

    def __init__(self, sentence: str) -> None:
        super().__init__(503, sentence)


def status_of(error: ClusterBanditsError) -> int:
    """Return the HTTP status of an error."""
    return error.code if isinstance(error, RefusedError) else 422


def sentence_of(error: ClusterBanditsError) -> str:
    """Return what an answer says of an error: it names the field of the request."""
    if isinstance(error, InvalidInputError) and error.requirement:
        return error.naming(f"The field '{error.parameter}'")
    return str(error)
