"""The settings of a service, which all its workers share."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from clusterbandits.validate import invalid

if TYPE_CHECKING:
    from pathlib import Path

#: The environment variable through which workers receive their settings.
VARIABLE = "CLUSTERBANDITS_SERVE"
DATABASE_FILE = "clusterbandits.db"


@dataclass(frozen=True)
class ServiceSettings:
    """The settings of a service: database, address and limits."""

    database: str
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    #: Whether requests need no key; only for loopback addresses.
    insecure: bool = False
    #: The largest number of requests per second, key and worker.
    rate: float = 5_000.0
    most_bytes: int = 2_000_000

    def __post_init__(self) -> None:
        if self.insecure and not is_loopback(self.host):
            allowed = "a loopback address such as 127.0.0.1 together with --insecure"
            raise invalid("host", "serve", allowed, self.host)

    def to_text(self) -> str:
        """Return the settings as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> ServiceSettings:
        """Return the settings that ``to_text`` wrote."""
        return cls(**json.loads(text))


def is_loopback(host: str) -> bool:
    """Return whether an address is a loopback address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def database_in(folder: Path) -> str:
    """Return the address of the SQLite file in a folder, which is created if it is missing."""
    # Readable only for the owner, since notes may be private.
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return database_of(folder)


def database_of(folder: Path) -> str:
    """Return the address of the SQLite file in a folder."""
    return f"sqlite:///{folder.resolve() / DATABASE_FILE}"
