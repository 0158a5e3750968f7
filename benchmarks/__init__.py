"""Benchmarks: the measured claims of the project."""
