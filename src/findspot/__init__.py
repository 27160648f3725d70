"""Findspot: search huge JSON and long documents, and get the passage with the place where it stands."""

__version__ = "0.1.0"
