"""Recognises contents that cannot have a match, without extracting their text.

A text that is searched for literally needs each of its characters in the content. The characters need not stand
together there: marks and markup may come between them. A content that may spell characters in another way (escapes,
entities) is never ruled out.
"""

from findspot.replacing.rule import ReplaceRule

# Letters that differ from an ASCII letter only in case, by the rules of Unicode.
_FOLDED = {"i": "İı", "k": "\u212a", "s": "ſ"}
_ESCAPES = {"tiptap": b"\\", "markdown": b"&", "text": None}


class Prefilter:
    """Decides for one rule. A content that it rules out has no match; one that it lets through may have none either."""

    def __init__(self, rule: ReplaceRule) -> None:
        self._needed: list[tuple[bytes, ...]] = []
        if not rule.regex:
            spellings = {_spellings(each, rule.case_sensitive) for each in rule.search}
            self._needed = sorted(
                (tuple(each.encode() for each in sorted(some)) for some in spellings if some), key=_commonness
            )

    def may_match(self, content: bytes, form: str) -> bool:
        """Return False only if the text of this content cannot match."""
        escape = _ESCAPES[form]
        if not self._needed or (escape is not None and escape in content):
            return True
        return all(any(each in content for each in some) for some in self._needed)


def _spellings(character: str, case_sensitive: bool) -> frozenset[str]:
    """Return the characters that match this one; none if that is not certain."""
    if character.isspace():
        return frozenset()  # markup may show another kind of white space, or none
    lower, upper = character.lower(), character.upper()
    if case_sensitive or lower == upper == character.casefold():
        return frozenset(character)
    if character.isascii():
        return frozenset(lower + upper + _FOLDED.get(lower, ""))
    return frozenset()


def _commonness(spellings: tuple[bytes, ...]) -> tuple[int, int]:
    """Order by how early a missing character is likely to show: few spellings, and long ones, are rare."""
    return len(spellings), -max(map(len, spellings))
