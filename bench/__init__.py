"""Benchmarks. `make bench` runs them and writes the results to docs/bench/."""
