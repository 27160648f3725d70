"""Phone numbers: `phonenumbers` confirms what the patterns of the table propose. It is loaded on first use."""

from __future__ import annotations

import re
from collections.abc import Iterable

from findspot.retrieval.redaction_checks import Check, Span

_EXTENSION = re.compile(
    r"(?i) ?(?:ext\.?|extension|x|转|轉|分机|分機|#) ?[0-9]{1,6}$|(?<=[0-9]{7})(?:-[0-9]{1,5}|/[0-9]{7,8})$"
)
_DATE = re.compile(r"(?:1[89]|20)[0-9]{2}-[01][0-9]-[0-3][0-9]")
_AROUND = 2  # characters of context; the matcher looks at the neighbours of a number


def international(text: str, start: int, end: int) -> Iterable[Span]:
    """Redact a valid number with a country code, or each of them in the range if it is no number as a whole."""
    import phonenumbers

    long = text.startswith("00", start)
    if long and text[start - 1 : start].isalnum():  # inside a longer number
        return []
    number = f"+{text[start + 2 : end]}" if long else text[start:end]
    if _is_valid(number, None):
        return [(start, end)]
    before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    window = f"{before}{' ' if long else ''}{number}{after}"  # as long as the original: 0044 is written as ␠+44
    found = phonenumbers.PhoneNumberMatcher(window, None, leniency=phonenumbers.Leniency.VALID)
    first = start - len(before)
    return [(first + match.start - (1 if long else 0), first + match.end) for match in found]


def national(*regions: str) -> Check:
    """Return a check that redacts a number that is valid in one of the regions, with its extension."""

    def check(text: str, start: int, end: int) -> Iterable[Span]:
        number = _EXTENSION.sub("", text[start:end])
        if _continues(text, start, end) or number.endswith("00000"):  # a round number
            return []
        return [(start, end)] if any(_is_valid(number, region) for region in regions) else []

    return check


def stated(text: str, start: int, end: int) -> Iterable[Span]:
    """Redact a number that the text calls a phone number, whatever its country."""
    digits = sum(character.isdigit() for character in text[start:end])
    if not 7 <= digits <= 15 or _DATE.match(text, start, end) or _continues(text, start, end):
        return []
    return [(start, end)]


def _is_valid(number: str, region: str | None) -> bool:
    import phonenumbers

    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(number, region))
    except phonenumbers.NumberParseException:  # it does not even have the form of a number
        return False


def _continues(text: str, start: int, end: int) -> bool:
    """Return whether the number is a part of a longer one, such as a decimal fraction or a serial number."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    return bool(re.fullmatch(r"[0-9][-.]", before) or re.fullmatch(r"[-.][0-9]", after))
