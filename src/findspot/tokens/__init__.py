"""How many tokens does a text take? docs/tokens.md has the details."""

from findspot.tokens.counting import count

__all__ = ["count"]
