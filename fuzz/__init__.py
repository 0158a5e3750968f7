"""Random attempts to break the package: ``python -m fuzz``, ``make fuzz``, and a few of each in the tests."""
