"""Figures, measured by anyone with `make bench` and kept in docs/bench/."""
