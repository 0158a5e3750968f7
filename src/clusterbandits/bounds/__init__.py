"""Lower bounds on regret, classical (Lai and Robbins) and clustered, and the regret rate of Clus-UCB."""

from clusterbandits.bounds.cluster import Branch, ClusterBound, Evidence
from clusterbandits.bounds.regret import RegretBound, regret_bound

__all__ = ["Branch", "ClusterBound", "Evidence", "RegretBound", "regret_bound"]
