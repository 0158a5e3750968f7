"""Policies by name: the same words in Python, on the command line and in files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterbandits.policies.ckl_ucb import CKLUCB
from clusterbandits.policies.clus_opt import ClusOPT
from clusterbandits.policies.clus_ts import ClusTS
from clusterbandits.policies.clus_ucb import ClusUCB
from clusterbandits.policies.clus_ucb_hedged import ClusUCBHedged
from clusterbandits.policies.epsilon_greedy import EpsilonGreedy
from clusterbandits.policies.hier_ts import HierTS
from clusterbandits.policies.imed_clus import IMEDClus
from clusterbandits.policies.imed_opt import IMEDOPT
from clusterbandits.policies.imed_plain import IMED
from clusterbandits.policies.kl_ucb import KLUCB
from clusterbandits.policies.kl_ucb_plus_plus import KLUCBPlusPlus
from clusterbandits.policies.moss import MOSS
from clusterbandits.policies.ossb import OSSB
from clusterbandits.policies.thompson import Thompson
from clusterbandits.policies.tlp_max import TLPMax
from clusterbandits.policies.tlp_mean import TLPMean
from clusterbandits.policies.tsc import TSC
from clusterbandits.policies.ucb1 import UCB1
from clusterbandits.policies.ucbc import UCBC
from clusterbandits.validate import choice, invalid

if TYPE_CHECKING:
    from clusterbandits.clusters import Clusters
    from clusterbandits.families import Family
    from clusterbandits.policies.policy import Policy

_CLASSICAL = (UCB1, MOSS, EpsilonGreedy, KLUCB, KLUCBPlusPlus, IMED, Thompson)
_CLUSTERED = (TLPMean, TLPMax, TSC, UCBC, CKLUCB, OSSB, ClusUCB)
_BEYOND = (ClusUCBHedged, ClusOPT, IMEDClus, IMEDOPT, ClusTS, HierTS)

POLICIES: dict[str, type[Policy]] = {kind.name: kind for kind in (*_CLASSICAL, *_CLUSTERED, *_BEYOND)}


def policy(
    spec: str,
    clusters: Clusters,
    *,
    family: Family | str = "bernoulli",
    label: str | None = None,
    **settings: object,
) -> Policy:
    """Return the policy a text names, with its settings behind a colon or as keywords.

    Parameters
    ----------
    spec
        ``"kl-ucb"``, ``"clus-ucb"``, ``"clus-ucb:a=5,refresh=50,leader=plain"``, …
    clusters
        What the policy knows.
    family
        The law of rewards.
    label
        What tables and pictures call it.
    **settings
        Settings as keywords; they win over those in the text.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy("clus-ucb:refresh=50", Clusters([2, 1], widths=0.1), a=5)
    ClusUCB(Clusters([2, 1], widths=[0.1, 0.1]), a=5.0, refresh=50)
    """
    kind = kind_of(spec)
    _, colon, written = spec.partition(":")
    values = _read(kind, written) if colon else {}
    return kind.make(clusters, values | settings, family=family, label=label)


def kind_of(spec: str) -> type[Policy]:
    """Return the class of the policy that a text names, with or without settings behind its name."""
    name = spec.partition(":")[0] if isinstance(spec, str) else spec
    return POLICIES[choice("policy", "policy", name, POLICIES)]


def _read(kind: type[Policy], written: str) -> dict[str, object]:
    values: dict[str, object] = {}
    for setting in written.split(","):
        key, _, text = (part.strip() for part in setting.partition("="))
        if key not in kind.defaults or key in values or not text:
            known = f"followed by {' and '.join(kind.defaults)}, once each" if kind.defaults else "by itself"
            raise invalid("policy", "policy", f"'{kind.name}' {known}", setting)
        values[key] = _value(text)
    return values


def _value(text: str) -> object:
    """Return a whole number, digits and all, a number, or the text."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text
