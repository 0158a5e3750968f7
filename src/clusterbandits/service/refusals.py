"""Why a request is not served, each with its HTTP status and one sentence."""

from __future__ import annotations

from clusterbandits.errors import ClusterBanditsError


class RefusedError(ClusterBanditsError):
    """A request that is refused and changes nothing, but for a late reward, which is recorded.

    Parameters
    ----------
    code
        The HTTP status.
    sentence
        What is wrong, and what is allowed.
    """

    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class UnavailableError(RefusedError):
    """The database cannot be reached, read or written at present."""

    def __init__(self, sentence: str) -> None:
        super().__init__(503, sentence)
