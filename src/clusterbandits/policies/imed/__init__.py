"""Policies that pull the arm whose being best is hardest to rule out: IMED, IMED-Clus, IMED-OPT."""
