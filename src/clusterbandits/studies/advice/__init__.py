"""Advice from a history: which widths are safe, what they save, and what to do."""
