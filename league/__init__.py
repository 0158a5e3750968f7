"""The league: every policy on every problem, and what that says about which to use."""
