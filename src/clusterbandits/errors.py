"""The exceptions people may want to catch."""

from typing import Any

from clusterbandits.wording import escaped, without_middle

#: Letters of the longest message.
LONGEST_MESSAGE = 480


class ClusterBanditsError(Exception):
    """Anything this package refuses to do; its message is one sentence fit to show a person.

    Whatever the sentence quotes, it has printable characters alone and at most 480 of them.
    """

    def __init__(self, message: str) -> None:
        super().__init__(without_middle(escaped(message), LONGEST_MESSAGE))


class InvalidInputError(ClusterBanditsError, ValueError):
    """A value outside what a parameter allows; the message says which, what is allowed and what came."""


class UnreadableFileError(ClusterBanditsError):
    """A file that is missing, not readable, or not in the format its reader expects."""


class UnwritableFileError(ClusterBanditsError):
    """A file or folder that cannot be written."""


class ServiceError(ClusterBanditsError):
    """The decision service refuses a request or does not answer; the message is its sentence.

    ``code`` is the HTTP status, such as 404 or 409; None if there was no answer.
    """

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class WidthWarning(UserWarning):
    """The rewards of a cluster contradict the width that was declared for it."""


class SimulationInterrupted(KeyboardInterrupt):
    """Ctrl-C during a simulation; ``result`` holds the runs that every policy had finished, None if none."""

    def __init__(self, result: Any = None) -> None:
        super().__init__("interrupted")
        self.result = result
