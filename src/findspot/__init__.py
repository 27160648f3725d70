"""Findspot: search large JSON and long documents; get the passage and its exact position."""

__version__ = "0.1.0"
