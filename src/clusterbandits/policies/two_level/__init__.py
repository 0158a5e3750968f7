"""Policies that choose a cluster, then an arm in it: TLP, UCBC."""
