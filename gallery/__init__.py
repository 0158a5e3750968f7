"""The gallery: real tables as worked studies. ``python -m gallery`` runs them and writes docs/gallery."""
