"""Segments Chinese into words: what counts in a query, what is highlighted, what is a whole word. An index knows pairs.

The words are those of the offline model: 60,000 from jieba's dictionary with their frequencies, 1 MB, which the package
has anyway. sentencepiece finds the most probable sequence of them. It is loaded with the first query that has two
Chinese characters in a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from findspot.words.stopwords import CHINESE_STOP_WORDS

if TYPE_CHECKING:
    import sentencepiece

_SPACE = "\u2581"  # sentencepiece writes it before the first word


def segment(run: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the words of a folded run, without stop words.

    Neighbouring characters that are no words belong together: names such as 林远, and rare words such as 葬花.
    """
    first = end = 0
    for start, word in _words(run):
        is_single = len(word) == 1 and word not in CHINESE_STOP_WORDS
        if is_single and end == start and end > first:
            end = start + 1
            continue
        if end > first:
            yield first, end
        first = end = start
        if is_single:
            end = start + 1
        elif word not in CHINESE_STOP_WORDS:
            yield start, start + len(word)
    if end > first:
        yield first, end


def word_starts(run: str) -> list[int]:
    """Return where the words of a folded run begin, stop words included. Unknown characters are words of their own."""
    starts: list[int] = []
    for start, word in _words(run):
        is_unknown = len(word) > 1 and not is_word(word)
        starts += range(start, start + len(word)) if is_unknown else [start]
    return starts


def is_word(text: str) -> bool:
    """Return whether a folded text is one word of the dictionary."""
    processor = _processor()
    return bool(processor.piece_to_id(text) != processor.unk_id())


def _words(run: str) -> Iterator[tuple[int, str]]:
    words = [piece.removeprefix(_SPACE) for piece in _processor().encode(run, out_type=str)]
    if "".join(words) != run:  # it replaced a character, so that the places of words are unknown
        words = list(run)
    start = 0
    for word in filter(None, words):
        yield start, word
        start += len(word)


@cache
def _processor() -> sentencepiece.SentencePieceProcessor:
    import sentencepiece

    model = resources.files("findspot.embedding").joinpath("model", "zh_words.spm")
    return sentencepiece.SentencePieceProcessor(model_proto=model.read_bytes())
