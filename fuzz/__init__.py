"""Fuzzers: random tests of the package, run by ``python -m fuzz``, ``make fuzz`` and briefly by the tests."""
