"""Exact posterior draws of the means of a cluster, restricted to a range of at most its width."""
