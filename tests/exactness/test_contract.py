"""The contract of all policies and settings, which ``check_policy`` tries to refute."""

from __future__ import annotations

import pytest

import clusterbandits as cb
from clusterbandits.families import FAMILIES

CLUSTERS = cb.Clusters([2, 1], widths=0.1)
#: Settings that change how a policy chooses, besides the defaults of all.
SETTINGS = [
    "kl-ucb:a=5,refresh=7",
    "clus-ucb:a=5,leader=plain",
    "clus-ucb:refresh=7,alarm=widen,alarm_level=1",
    "clus-ucb-hedged:leader=plain,refresh=3",
    "ckl-ucb:hedge=0.5,refresh=7",
    "clus-opt:hedge=0.5,alarm=widen,alarm_level=1",
    "tlp-mean:clock=round,refresh=7",
    "tlp-max:a=5,clock=round",
    "ucbc:refresh=7",
    "moss:alpha=0",
    "imed-clus:hedge=0.5,alarm=widen,alarm_level=1",
    "imed-opt:hedge=0.5",
    "ossb:epsilon=0,gamma=0.5",
    "epsilon-greedy:c=1,gap=1",
    "hier-ts:widths=respected",
    "thompson:prior=0.3@20",
    "kindred:prior=0.3@20",
    "kindred:alarm=widen,alarm_level=1",
]


@pytest.mark.filterwarnings("ignore::clusterbandits.WidthWarning")
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("spec", [*cb.POLICIES, *SETTINGS])
def test_a_policy_keeps_its_promises(spec: str, family: str) -> None:
    cb.testing.check_policy(cb.policy(spec, CLUSTERS, family=family), examples=6, families=[family])


def test_policies_that_skip_say_what_they_rely_on() -> None:
    for name, kind in cb.POLICIES.items():
        policy = cb.policy(name, CLUSTERS)
        assert policy.skips_ahead == bool(kind.relies_on), name
        assert policy.skips_ahead != kind.randomised, name


def test_what_is_no_policy_is_refused() -> None:
    with pytest.raises(cb.InvalidInputError, match="check_policy: policy must be a policy"):
        cb.testing.check_policy("ucb1")  # type: ignore[arg-type]
