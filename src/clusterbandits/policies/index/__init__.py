"""Policies that pull the arm with the largest index: KL-UCB, Clus-UCB and their variants."""
