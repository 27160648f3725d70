"""Finds the rows of the offline model's table for texts. docs/offline-model.md defines them; this is a fast way.

The WordPiece tokenizer is slow and texts repeat their words, so the rows of a word are cached. That is exact, because
this tokenizer always splits at white space, at Han characters and on both sides of a punctuation mark, and because it
folds A to Z. Steps that work on single characters run for many texts at once, by array lookup.
"""

import json
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import sentencepiece
import tokenizers

Rows: TypeAlias = npt.NDArray[np.int64]
Points: TypeAlias = npt.NDArray[np.uint32]

HAN = slice(0x3400, 0xA000)

WORDS_KEPT = 100_000  # about 20 MB; the limit is for endless new words
_LONGEST_WORD = 100  # the tokenizer treats longer words as unknown
_MEANINGFUL_PIECE = 3  # letters on average: `ware ##house`, but not `z ##z ##q ##q ##xx`
_PLANE, _ALL_POINTS = 0x10000, sys.maxunicode + 1
_SPACE, _NEWLINE, _NOTHING = map(ord, " \n\0")  # the tokenizer drops U+0000
_GAP = "   "  # after each text; in the middle of it `_TEXT_END` is written
_TEXT_END = "A"  # as a word: those of texts are in lower case
_END_ROW = -1  # the row of that word
_FEW_RUNS = 8
_ROW_BYTES = np.dtype(np.int64).itemsize
_UTF32 = f"utf-32-{sys.byteorder[0]}e"


class RowFinder:
    """Finds the rows whose sum is the vector of a text."""

    def __init__(self, folder: Path) -> None:
        self.words = _Words(folder / "en_tokenizer.json")
        self._han = sentencepiece.SentencePieceProcessor(model_file=str(folder / "zh_words.spm"))
        self._first_han_row = self.words.size
        self._as_words, self._row_of_mark = _word_maps(self.words)
        self._as_han = _han_map(json.loads((folder / "t2s.json").read_text(encoding="utf-8")))

    def __call__(self, texts: Sequence[str]) -> list[Rows]:
        """Return the rows of every text, in no particular order."""
        rows, counts = self.joined(texts)
        return [rows[start:end] for start, end in pairwise(accumulate(counts.tolist(), initial=0))]

    def joined(self, texts: Sequence[str]) -> tuple[Rows, Rows]:
        """Return the rows of all texts, one text after the other, and how many each text has."""
        ends = np.cumsum([len(text) + len(_GAP) for text in texts], dtype=np.int64)
        points = np.frombuffer(_GAP.join((*texts, "")).encode(_UTF32, "surrogatepass"), np.uint32)
        parts = self._word_rows(points, ends), self._mark_rows(points, ends), self._han_rows(points, ends)
        rows, counts = np.concatenate([rows for rows, _ in parts]), np.stack([counts for _, counts in parts])
        text_of_row = np.repeat(np.tile(np.arange(len(texts), dtype=np.int32), len(parts)), counts.ravel())
        return rows[np.argsort(text_of_row, kind="stable")], counts.sum(axis=0)

    def knows(self, text: str, rows: Rows) -> bool:
        """Return whether a word of a text with these rows is known as such, and not only its letters."""
        if len(rows) and rows.max() >= self._first_han_row:
            return True
        points = np.frombuffer(text.encode(_UTF32, "surrogatepass"), np.uint32)
        (words,) = _cut(self._as_words[points], [len(text)])
        return any(map(self.words.knows, words.split()))

    def _word_rows(self, points: Points, ends: Rows) -> tuple[Rows, Rows]:
        """All texts are split at once: text by text takes 0.1 ms longer for the best hits of a search."""
        becomes = self._as_words.take(points)
        becomes[ends - 2] = ord(_TEXT_END)
        words = becomes.tobytes().decode(_UTF32).split()
        found = np.frombuffer(b"".join(map(self.words.__getitem__, words)), np.int64)
        is_end = found == _END_ROW
        return found[~is_end], np.diff(np.flatnonzero(is_end), prepend=-1) - 1

    def _mark_rows(self, points: Points, ends: Rows) -> tuple[Rows, Rows]:
        rows = self._row_of_mark.take(points)
        places = np.flatnonzero(rows)
        return rows[places], np.diff(np.searchsorted(places, ends), prepend=0)

    def _han_rows(self, points: Points, ends: Rows) -> tuple[Rows, Rows]:
        runs = ["\n".join(text.split()) for text in _cut(self._as_han.take(points), ends.tolist())]
        counts = np.zeros(len(runs), np.int64)
        filled = [place for place, run in enumerate(runs) if run]
        if not filled:
            return np.empty(0, np.int64), counts
        found = self._han_ids([runs[place] for place in filled])
        ids = np.concatenate(found)
        places = np.flatnonzero(ids)
        counts[filled] = np.diff(np.searchsorted(places, np.cumsum([len(each) for each in found])), prepend=0)
        return ids[places] + np.int64(self._first_han_row), counts

    def _han_ids(self, runs: list[str]) -> list[npt.NDArray[np.int32]]:
        """Return the words of each of these runs as arrays, because Python lists of numbers are slow.

        sentencepiece starts a thread for a list, which takes 0.1 ms. Many single calls would take turns with other
        threads, because each of them releases the interpreter's lock.
        """
        if len(runs) <= _FEW_RUNS:
            return [self._han.encode(run, return_type="numpy") for run in runs]
        # in one thread, because the caller has threads already
        found: list[npt.NDArray[np.int32]] = self._han.encode(runs, return_type="numpy", num_threads=1)
        return found


class _Words(dict[str, bytes]):
    """A cache of the rows of words without white space, punctuation or Han characters.

    They are kept as bytes of an array: joining these takes half the time of making an array of numbers.
    """

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._tokenizer = tokenizers.Tokenizer.from_file(str(file))
        self._tokenizer.encode_special_tokens = True  # "[MASK]" in a text is an ordinary word
        self._ids = self._tokenizer.get_vocab()
        self.size = len(self._ids)

    def __missing__(self, word: str) -> bytes:
        if len(self) >= WORDS_KEPT:
            self.clear()
        self[word] = found = np.array(self._rows(word), np.int64).tobytes()
        return found

    def knows(self, word: str) -> bool:
        rows = len(self[word]) // _ROW_BYTES
        return rows == 1 or len(word) >= _MEANINGFUL_PIECE * rows > 0

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the rows that the tokenizer finds for a text, without unknown pieces."""
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids
        return tuple(each for each in ids if each != self._ids["[UNK]"])

    def cuts(self, character: str) -> int:
        """Return the number of pieces that a word has with this character in its middle."""
        normal = self._tokenizer.normalizer.normalize_str(f"a{character}a")
        return len(self._tokenizer.pre_tokenizer.pre_tokenize_str(normal))

    def _rows(self, word: str) -> tuple[int, ...]:
        if word == _TEXT_END:
            return (_END_ROW,)
        return self._pieces(word) if word.isascii() and word.isalnum() else self.encode(word)

    def _pieces(self, word: str) -> tuple[int, ...]:
        """WordPiece for plain words: take the longest known prefix, then the rest. Faster than the tokenizer."""
        whole = self._ids.get(word)
        if whole is not None:
            return (whole,)
        found, start, length = [], 0, len(word)
        if length > _LONGEST_WORD:
            return ()
        while start < length:
            for end in range(length, start, -1):
                piece = self._ids.get(f"##{word[start:end]}" if start else word[:end])
                if piece is not None:
                    break
            else:
                return ()
            found.append(piece)
            start = end
        return tuple(found)


def _word_maps(words: _Words) -> tuple[Points, Rows]:
    """Return for each character its replacement before words are looked up, and its row if it is a punctuation mark."""
    becomes, rows = np.arange(_ALL_POINTS, dtype=np.uint32), np.zeros(_ALL_POINTS, np.int64)
    becomes[ord("A") : ord("Z") + 1] += ord("a") - ord("A")
    becomes[HAN] = becomes[0xD800:0xE000] = _SPACE  # lone surrogates are not text
    for mark in filter(_may_cut, map(chr, range(_PLANE))):
        pieces, found = words.cuts(mark), words.encode(mark)
        if pieces == 2 or (pieces == 3 and len(found) <= 1):
            becomes[ord(mark)] = _SPACE
            rows[ord(mark)] = found[0] if found else 0
        elif mark.isspace():
            becomes[ord(mark)] = _NOTHING
    return becomes, rows


def _may_cut(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "PZ" or category == "Cc" or (category[0] == "S" and character.isascii())


def _han_map(simplified: dict[str, str]) -> Points:
    """Return for each character its simplified form; a line break if it is not Han."""
    becomes = np.full(_ALL_POINTS, _NEWLINE, np.uint32)
    becomes[HAN] = np.arange(HAN.start, HAN.stop)
    for old, new in simplified.items():
        if HAN.start <= ord(old) < HAN.stop:
            becomes[ord(old)] = ord(new)
    return becomes


def _cut(points: Points, ends: Sequence[int]) -> Iterator[str]:
    text, start = points.tobytes().decode(_UTF32), 0
    for end in ends:
        yield text[start:end]
        start = end
