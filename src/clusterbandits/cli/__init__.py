"""The front door: thin commands over the rooms behind it."""
