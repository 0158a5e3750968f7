"""The exceptions people may want to catch."""


class ClusterBanditsError(Exception):
    """Anything this package refuses to do; its message is one sentence fit to show a person."""


class InvalidInputError(ClusterBanditsError, ValueError):
    """A value outside what a parameter allows; the message says which, what is allowed and what came."""


class UnreadableFileError(ClusterBanditsError):
    """A file that is missing, not readable, or not in the format its reader expects."""
