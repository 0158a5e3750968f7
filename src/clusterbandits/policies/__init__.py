"""The policies: one file per policy, which contains its algorithm.

One import in this file registers a policy: the registry, the exports of the package, the table in the
documentation and the line style of its curves follow from it.
"""

import inspect

# Tables list policies in this order: classical ones, those for clusters, those of this project.
# isort: off
from clusterbandits.policies.ucb1 import UCB1 as UCB1
from clusterbandits.policies.moss import MOSS as MOSS
from clusterbandits.policies.epsilon_greedy import EpsilonGreedy as EpsilonGreedy
from clusterbandits.policies.kl_ucb import KLUCB as KLUCB
from clusterbandits.policies.kl_ucb_plus_plus import KLUCBPlusPlus as KLUCBPlusPlus
from clusterbandits.policies.imed import IMED as IMED
from clusterbandits.policies.thompson import Thompson as Thompson
from clusterbandits.policies.tlp_mean import TLPMean as TLPMean
from clusterbandits.policies.tlp_max import TLPMax as TLPMax
from clusterbandits.policies.tsc import TSC as TSC
from clusterbandits.policies.ucbc import UCBC as UCBC
from clusterbandits.policies.ckl_ucb import CKLUCB as CKLUCB
from clusterbandits.policies.ossb import OSSB as OSSB
from clusterbandits.policies.clus_ucb import ClusUCB as ClusUCB
from clusterbandits.policies.clus_ucb_hedged import ClusUCBHedged as ClusUCBHedged
from clusterbandits.policies.clus_opt import ClusOPT as ClusOPT
from clusterbandits.policies.imed_clus import IMEDClus as IMEDClus
from clusterbandits.policies.imed_opt import IMEDOPT as IMEDOPT
from clusterbandits.policies.clus_ts import ClusTS as ClusTS
from clusterbandits.policies.hier_ts import HierTS as HierTS
from clusterbandits.policies.kindred import Kindred as Kindred

# isort: on
from clusterbandits.policies.alarms import WidthAlarm as WidthAlarm
from clusterbandits.policies.explanation import Explanation as Explanation
from clusterbandits.policies.policy import Policy as Policy
from clusterbandits.policies.protocol import Assumption as Assumption, Kernels as Kernels
from clusterbandits.policies.python_policy import PythonPolicy as PythonPolicy
from clusterbandits.policies.registry import policy as policy
from clusterbandits.policies.scores import MONOTONE as MONOTONE, ScorePolicy as ScorePolicy

POLICIES: dict[str, type[Policy]] = {
    kind.name: kind
    for kind in tuple(globals().values())
    if isinstance(kind, type) and issubclass(kind, Policy) and "name" in vars(kind)
}

#: The names that the package exports from this module.
PUBLIC = tuple(name for name, thing in globals().items() if name[0] != "_" and not inspect.ismodule(thing))
