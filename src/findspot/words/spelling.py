"""Finds what a misspelt word may have been meant to be. Pure: the caller knows which terms occur.

English only. A set of Chinese typing errors (by pinyin or shape) to measure a gain on does not exist yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_lowercase

from findspot.words.stemming import stem
from findspot.words.vocabulary import is_word

ONE_ERROR_FROM = 4  # letters of a word that may have one error
TWO_ERRORS_FROM = 8
SURE_LETTERS = 3  # of a word with two errors: the first letters are right

_JOINERS = (".", "-", "_", "/")
_ENDINGS = (
    *("", "e", "s", "es", "ed", "d", "ing", "er", "or", "y", "ion", "ions", "ation", "al", "ally", "ly", "able"),
    *("ity", "ive", "ance", "ence", "ment", "ement", "ness"),
)


def may_be_misspelt(word: str) -> bool:
    return len(word) >= ONE_ERROR_FROM and word.isascii() and word.isalpha() and word.islower()


def joined_forms(word: str) -> Iterator[str]:
    """Yield the word with a joining character at every place: `nodejs` may be `node.js`."""
    for place in range(1, len(word)):
        yield from (f"{word[:place]}{joiner}{word[place:]}" for joiner in _JOINERS)


def unjoined_form(whole: str) -> str:
    """Return a word without its joining characters: `node.js` may be `nodejs`."""
    for joiner in _JOINERS:
        whole = whole.replace(joiner, "")
    return whole


def one_error(word: str) -> Iterator[str]:
    """Yield the words that differ by one error, the likelier errors first: two letters were swapped, one is missing,
    one is too many, or one is wrong."""
    halves = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    yield from (f"{before}{after[1]}{after[0]}{after[2:]}" for before, after in halves if len(after) > 1)
    yield from (f"{before}{letter}{after}" for before, after in halves for letter in ascii_lowercase)
    yield from (f"{before}{after[1:]}" for before, after in halves if after)
    yield from (f"{before}{letter}{after[1:]}" for before, after in halves if after for letter in ascii_lowercase)


def surface_near(word: str, term: str) -> str | None:
    """Return the word with this stem that differs least from another word, if that is by two errors at most."""
    if len(set(term) - set(word)) > 2:  # quick: two errors add two letters at most
        return None
    base = f"{term[:-1]}y" if term.endswith("i") else term
    forms = [form for form in (term, base, *(term + ending for ending in _ENDINGS)) if abs(len(form) - len(word)) <= 2]
    near = [
        (distance(form, word), form != term and not is_word(form), form[-1] != word[-1], form)
        for form in forms
        if stem(form) == term
    ]
    errors, _, _, best = min(near, default=(3, True, True, ""))
    return best if errors <= 2 else None


def distance(one: str, other: str) -> int:
    """Return how many errors two words differ by. Swapping two neighbours is one error."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, start=1):
        current = [row]
        for column, against in enumerate(other, start=1):
            cost = min(last[column] + 1, current[-1] + 1, last[column - 1] + (letter != against))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == against:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        before, last = last, current
    return last[-1]
