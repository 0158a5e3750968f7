"""Exact draws of the means of a cluster that lie within its width of each other."""
