"""Lengths of the vectors that attention adds up, computed without ever building those vectors for all pairs."""
