"""The learners: one policy a file, each a handful of kernels on a small state of arrays."""

from clusterbandits.policies.clus_ucb import ClusUCB
from clusterbandits.policies.explanation import Explanation
from clusterbandits.policies.kl_ucb import KLUCB
from clusterbandits.policies.policy import Policy
from clusterbandits.policies.registry import POLICIES, policy

__all__ = ["KLUCB", "POLICIES", "ClusUCB", "Explanation", "Policy", "policy"]
