"""Policies that pull the arm with the largest index: found by tangents, held by certificates."""
