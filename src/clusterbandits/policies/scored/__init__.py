"""Policies that score every arm by itself: UCB1, MOSS, KL-UCB++."""
