"""The wheel and the sdist, built, compared with the sources, and tried in clean environments."""
