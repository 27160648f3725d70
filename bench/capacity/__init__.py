"""Millions of chunks in one project: what it costs to build, keep and search them."""
