"""Figures for publication, from named arrays. No state is shared: every function returns a `Figure` of its own."""
