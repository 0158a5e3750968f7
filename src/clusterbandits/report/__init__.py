"""Pictures of results, and HTML reports."""
