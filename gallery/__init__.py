"""The gallery: real tables as worked studies. ``python -m gallery`` plays them and writes docs/gallery."""
