"""The league: all policies on all problems, and which one to use."""
