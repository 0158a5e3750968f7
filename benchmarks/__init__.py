"""The measured claims of the project."""
