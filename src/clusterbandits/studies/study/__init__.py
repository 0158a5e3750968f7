"""A study as a file: which problems, which policies, what they are told, and how long they play."""
