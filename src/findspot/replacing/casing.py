"""Gives a replacement the case of the text that it replaces, as editors do."""

from __future__ import annotations

_JOINERS = ("-", "_")


def with_case_of(matched: str, replacement: str) -> str:
    """Return the replacement in capitals, in small letters or with a capital first letter, as the matched text is.

    Text without letters that have case, such as Chinese, changes nothing. `foo-bar` is compared part by part if both
    texts have the same number of parts.
    """
    for joiner in _JOINERS:
        old, new = matched.split(joiner), replacement.split(joiner)
        if len(old) == len(new) > 1 and all(old):
            return joiner.join(_cased(one, other) for one, other in zip(old, new, strict=True))
    return _cased(matched, replacement)


def _cased(matched: str, replacement: str) -> str:
    letters = [character for character in matched if character.lower() != character.upper()]
    if not letters:
        return replacement
    capitals = [letter for letter in letters if letter.lower() != letter]
    if not capitals:
        return replacement.lower()
    if len(capitals) == len(letters) > 1:
        return replacement.upper()
    return _first_letter(replacement, capital=letters[0] in capitals)


def _first_letter(text: str, *, capital: bool) -> str:
    """Change the case of the first letter that has case, and nothing else."""
    for index, character in enumerate(text):
        if character.lower() != character.upper():
            changed = character.title() if capital else character.lower()
            return text[:index] + changed + text[index + 1 :]
    return text
