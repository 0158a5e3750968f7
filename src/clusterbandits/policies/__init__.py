"""The learners: one policy a file, each a handful of kernels on a small state of arrays."""

from clusterbandits.policies.ckl_ucb import CKLUCB
from clusterbandits.policies.clus_opt import ClusOPT
from clusterbandits.policies.clus_ts import ClusTS
from clusterbandits.policies.clus_ucb import ClusUCB
from clusterbandits.policies.clus_ucb_hedged import ClusUCBHedged
from clusterbandits.policies.epsilon_greedy import EpsilonGreedy
from clusterbandits.policies.explanation import Explanation
from clusterbandits.policies.hier_ts import HierTS
from clusterbandits.policies.imed_clus import IMEDClus
from clusterbandits.policies.imed_opt import IMEDOPT
from clusterbandits.policies.imed_plain import IMED
from clusterbandits.policies.kl_ucb import KLUCB
from clusterbandits.policies.kl_ucb_plus_plus import KLUCBPlusPlus
from clusterbandits.policies.moss import MOSS
from clusterbandits.policies.ossb import OSSB
from clusterbandits.policies.policy import Policy
from clusterbandits.policies.registry import POLICIES, policy
from clusterbandits.policies.thompson import Thompson
from clusterbandits.policies.tlp_max import TLPMax
from clusterbandits.policies.tlp_mean import TLPMean
from clusterbandits.policies.tsc import TSC
from clusterbandits.policies.ucb1 import UCB1
from clusterbandits.policies.ucbc import UCBC
from clusterbandits.policies.watchful import WidthAlarm

__all__ = [
    "CKLUCB",
    "IMED",
    "IMEDOPT",
    "KLUCB",
    "MOSS",
    "OSSB",
    "POLICIES",
    "TSC",
    "UCB1",
    "UCBC",
    "ClusOPT",
    "ClusTS",
    "ClusUCB",
    "ClusUCBHedged",
    "EpsilonGreedy",
    "Explanation",
    "HierTS",
    "IMEDClus",
    "KLUCBPlusPlus",
    "Policy",
    "TLPMax",
    "TLPMean",
    "Thompson",
    "WidthAlarm",
    "policy",
]
