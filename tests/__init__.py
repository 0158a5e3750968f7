"""The tests: a package, because some installed packages bring a package of the same name."""
