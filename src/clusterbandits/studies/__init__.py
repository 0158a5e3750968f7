"""Work with users' data: studies, problems and tables as files, advice and replay."""
