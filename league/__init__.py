"""The league: every policy on every problem, and which one to use."""
