"""The paper as data: its figures, and what its captions claim."""
