"""Decisions over HTTP: an API, an append-only log in a database, and a live page. Needs the extra [serve]."""
