"""What any learner must pay: Lai and Robbins, the clustered bound, and Clus-UCB's own rate."""

from clusterbandits.bounds.cluster import Branch, ClusterBound, Evidence
from clusterbandits.bounds.regret import RegretBound, regret_bound

__all__ = ["Branch", "ClusterBound", "Evidence", "RegretBound", "regret_bound"]
