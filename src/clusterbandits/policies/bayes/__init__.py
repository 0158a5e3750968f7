"""Policies that draw means from what they believe: Thompson, TSC, Clus-TS, Hier-TS."""
