"""A user's own questions: problems and studies as files."""
