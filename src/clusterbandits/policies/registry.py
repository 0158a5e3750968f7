"""Policies by name, with the same names in Python, on the command line and in files; the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterbandits.policies.policy import Policy
from clusterbandits.policies.settings import refuse_setting
from clusterbandits.tables import Table
from clusterbandits.validate import Described, invalid

if TYPE_CHECKING:
    from clusterbandits.clusters import Clusters
    from clusterbandits.families import Family


def policy(
    spec: str,
    clusters: Clusters,
    *,
    family: Family | str = "bernoulli",
    label: str | None = None,
    **settings: object,
) -> Policy:
    """Return the policy with a given name, with settings after a colon or as keywords.

    Parameters
    ----------
    spec
        Name and settings, such as ``"kl-ucb"`` or ``"clus-ucb:a=5,refresh=50,leader=plain"``; or
        ``"my_module:Greedy"`` to import a policy from outside the package.
    clusters
        Arms, clusters and widths.
    family
        Reward family, as a ``Family`` or its name; by default Bernoulli.
    label
        Display name; by default the name and the settings that differ from the defaults.
    **settings
        Settings as keywords; they override those in ``spec``.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy("clus-ucb:refresh=50", Clusters([2, 1], widths=0.1), a=5)
    ClusUCB(Clusters([2, 1], widths=[0.1, 0.1]), a=5.0, refresh=50)
    """
    kind, written = split_spec(spec)
    values = {} if written is None else _read(kind, written)
    return kind.make(clusters, values | settings, family=family, label=label)


def split_spec(spec: object, owner: str = "policy") -> tuple[type[Policy], str | None]:
    """Return the class that a specification names, and its settings as text.

    Examples
    --------
    >>> split_spec("clus-ucb:a=5")
    (<class 'clusterbandits.policies.clus_ucb.ClusUCB'>, 'a=5')
    """
    parts = spec.split(":", 2) if isinstance(spec, str) else [spec]
    outside = len(parts) > 1 and parts[0] not in Policy.kinds
    if outside and all(part.isidentifier() for part in str(parts[1]).split(".")):
        return Policy.kind_of(f"{parts[0]}:{parts[1]}", owner), str(parts[2]) if len(parts) > 2 else None
    written = ":".join(map(str, parts[1:]))
    return Policy.kind_of(parts[0], owner), written if len(parts) > 1 else None


def kind_of(spec: object, owner: str = "policy") -> type[Policy]:
    """Return the class that a specification such as ``"clus-ucb:a=5"`` or ``"my_module:Greedy"`` names."""
    return split_spec(spec, owner)[0]


def _read(kind: type[Policy], written: str) -> dict[str, object]:
    values: dict[str, object] = {}
    for setting in written.split(","):
        key, _, text = (part.strip() for part in setting.partition("="))
        if key not in kind.defaults:
            refuse_setting(kind.name, kind.defaults, key)
        if not text:
            raise invalid(key, kind.__name__, f"given with a value, as in {key}=1", Described("none"))
        if key in values:
            raise invalid(key, kind.__name__, "given once", Described(f"it twice in '{written}'"))
        values[key] = _value(text, kind.defaults[key])
    return values


def _value(text: str, default: object) -> object:
    """Return the value of a text: an integer of any length, a float, a boolean, or the text itself."""
    if isinstance(default, bool) and text.lower() in {"true", "false"}:
        return text.lower() == "true"
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def catalogue() -> list[dict[str, Any]]:
    """Return one row of plain data per policy in the registry.

    Examples
    --------
    >>> catalogue()[3]["policy"], catalogue()[3]["guarantee"]
    ('kl-ucb', 'meets the classical bound')
    """
    from clusterbandits.policies import POLICIES

    return [
        {
            "policy": name,
            "class": kind.__name__,
            "widths": kind.uses_widths,
            "horizon": kind.needs_horizon,
            "random": kind.randomised,
            "settings": dict(kind.defaults),
            "guarantee": kind.guarantee,
            "reference": kind.reference,
        }
        for name, kind in POLICIES.items()
    ]


def catalogue_table() -> Table:
    """Return the catalogue as a table for display."""
    needs = {"widths": "widths", "horizon": "horizon", "random": "chance"}
    rows = tuple(
        (
            row["policy"],
            ", ".join(word for key, word in needs.items() if row[key]),
            row["guarantee"],
        )
        for row in catalogue()
    )
    notes = ("horizon: must be given the number of rounds. --json also shows settings and references.",)
    return Table(("policy", "uses", "regret"), rows, notes=notes)
