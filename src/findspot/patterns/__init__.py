"""Where does a pattern occur in a text? In linear time. docs/patterns.md has the syntax."""

from findspot.patterns.pattern import MAX_SOURCE, Occurrence, Pattern, compile_pattern

__all__ = ["MAX_SOURCE", "Occurrence", "Pattern", "compile_pattern"]
