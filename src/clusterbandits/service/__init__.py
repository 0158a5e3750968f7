"""The decision service: an HTTP API, an append-only log in a database, and a live page; extra [serve]."""
