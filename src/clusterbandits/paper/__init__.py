"""The paper: its figures as data, its claims with their tests, and the report that reproduces it."""
