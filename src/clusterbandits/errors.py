"""The exceptions of the package."""

from typing import Any

from clusterbandits.wording import escaped, without_middle

#: Characters of the longest message.
LONGEST_MESSAGE = 480


class ClusterBanditsError(Exception):
    """Base class of all errors of this package; the message can be shown to users as it is.

    It consists of printable characters only, and of at most 480.
    """

    def __init__(self, message: str) -> None:
        super().__init__(without_middle(escaped(message), LONGEST_MESSAGE))


class InvalidInputError(ClusterBanditsError, ValueError):
    """A value that a parameter does not allow; the message names both, and what is allowed.

    ``error.naming("--widths")`` returns the message with another name of the parameter, such as that of a
    command-line option.

    Attributes
    ----------
    parameter
        Name of the parameter in Python; empty if the message concerns no single parameter.
    owner
        Function or class of the parameter.
    requirement
        The message after the name of the parameter, such as "must be at least 0, but got -1."; empty if the
        message does not name the parameter.
    """

    def __init__(self, message: str, *, parameter: str = "", owner: str = "", requirement: str = "") -> None:
        super().__init__(message)
        self.parameter, self.owner, self.requirement = parameter, owner, requirement

    def naming(self, subject: str) -> str:
        """Return the message with another name of the parameter, and without its owner.

        Examples
        --------
        >>> from clusterbandits.validate import invalid
        >>> print(invalid("widths", "Clusters", "at least 0", -1).naming("--widths"))
        --widths must be at least 0, but got -1.
        """
        if not self.requirement:
            return str(self)
        return without_middle(escaped(f"{subject} {self.requirement}"), LONGEST_MESSAGE)


class UnreadableFileError(ClusterBanditsError):
    """A file that is missing, not readable, or not in the format its reader expects."""


class UnwritableFileError(ClusterBanditsError):
    """A file or folder that cannot be written."""


class ServiceError(ClusterBanditsError):
    """The decision service refused a request or did not answer.

    ``code`` is the HTTP status, such as 404 or 409; None if there was no answer.
    """

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class WidthWarning(UserWarning):
    """The rewards of a cluster contradict the width that was declared for it."""


class SimulationInterrupted(KeyboardInterrupt):
    """Ctrl-C during a simulation; ``result`` has the runs that all policies finished, or is None if none."""

    def __init__(self, result: Any = None) -> None:
        super().__init__("interrupted")
        self.result = result
