"""Finds the rows of the offline model's table for texts. docs/offline-model.md defines them; this is a fast way.

C looks up plain words, punctuation marks and Han characters (native/rows.c). Words with other letters go to the real
tokenizer, which takes thirty times as long, so their rows are cached. That is exact, because this tokenizer always
splits at white space, at Han characters and on both sides of a punctuation mark, and because it folds A to Z.
"""

import json
import sys
import unicodedata
from collections.abc import Sequence
from ctypes import Structure, byref, c_float, c_int64, c_void_p
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import sentencepiece
import tokenizers

from findspot.embedding.trie import SYMBOL_BITS, BuiltTrie, Trie, TrieAddress
from findspot.native import PLANE, address, first_plane, function, points, text_of

Rows: TypeAlias = npt.NDArray[np.int32]
Counts: TypeAlias = npt.NDArray[np.int64]
Points: TypeAlias = npt.NDArray[np.uint32]

HAN = range(0x3400, 0xA000)

WORDS_KEPT = 100_000  # about 20 MB; the limit is for endless new words
_MEANINGFUL_PIECE = 3  # letters on average: `ware ##house`, but not `z ##z ##q ##q ##xx`
_ALL_POINTS = sys.maxunicode + 1
_SPACE, _NOTHING = map(ord, " \0")  # the tokenizer drops U+0000
_NO_HAN_WORD = (1 << SYMBOL_BITS) - 1  # a symbol that is in no word
_UNKNOWN_PENALTY = 10  # sentencepiece: how much less an unknown character scores than the least of all words
_FEW_WORDS = 256  # other words of a call for which there is room at once
_SPLIT = np.dtype([("score", np.float32), ("start", np.int32), ("row", np.int32)])


class _Tables(Structure):
    """`struct row_tables` of native/rows.c."""

    _fields_ = (
        ("as_word", c_void_p),
        ("row_of_mark", c_void_p),
        ("as_han", c_void_p),
        ("words", TrieAddress),
        ("han", TrieAddress),
        ("han_scores", c_void_p),
        ("rest_node", c_int64),
        ("first_han_row", c_int64),
        ("unknown_score", c_float),
    )


_other_words = function("other_words", *(c_void_p,) * 3, c_int64, *(c_void_p,) * 2, c_int64, returns=c_int64)
_find_rows = function("find_rows", *(c_void_p,) * 4, c_int64, *(c_void_p,) * 5, returns=c_int64)


class RowFinder:
    """Finds the rows whose sum is the vector of a text."""

    def __init__(self, folder: Path) -> None:
        self.words = _Words(folder / "en_tokenizer.json")
        self._first_han_row = self.words.size
        self._as_word, self._row_of_mark = _word_maps(self.words)
        self._as_han = _han_map(json.loads((folder / "t2s.json").read_text(encoding="utf-8")))
        self._word_trie, rest_node = _word_trie(self.words.ids)
        self._han_trie, self._han_scores, unknown_score = _han_trie(folder / "zh_words.spm")
        self._tables = _Tables(
            address(self._as_word),
            address(self._row_of_mark),
            address(self._as_han),
            self._word_trie.address,
            self._han_trie.address,
            address(self._han_scores),
            rest_node,
            self._first_han_row,
            unknown_score,
        )

    def __call__(self, texts: Sequence[str]) -> list[Rows]:
        """Return the rows of every text, in no particular order."""
        rows, counts = self.joined(texts)
        return [rows[start:end] for start, end in pairwise(accumulate(counts.tolist(), initial=0))]

    def joined(self, texts: Sequence[str]) -> tuple[Rows, Counts]:
        """Return the rows of all texts, one text after the other, and how many each text has."""
        lengths = np.array([len(text) for text in texts], np.int64)
        characters, ends = points("".join(texts)), np.cumsum(lengths)
        folded, spans = self._folded(characters, ends)
        others = [self.words[text_of(folded[start:end])] for start, end in spans.tolist()]
        other_rows = np.concatenate(others) if others else np.empty(0, np.int32)
        other_counts = np.array([len(each) for each in others], np.int64)
        splits = np.empty(lengths.max(initial=0) + 1, _SPLIT)
        rows, counts = np.empty(len(characters) + len(other_rows), np.int32), np.empty(len(texts), np.int64)
        read = (address(array) for array in (characters, folded, ends))
        written = (address(array) for array in (other_rows, other_counts, splits, rows, counts))
        return rows[: _find_rows(byref(self._tables), *read, len(texts), *written)], counts

    def knows(self, text: str, rows: Rows) -> bool:
        """Return whether a word of a text with these rows is known as such, and not only its letters."""
        if len(rows) and rows.max() >= self._first_han_row:
            return True
        words = text_of(self._as_word[points(text)]).split()
        _, counts = self.joined(words)
        return any(
            count == 1 or len(word) >= _MEANINGFUL_PIECE * count > 0
            for word, count in zip(words, counts.tolist(), strict=True)
        )

    def _folded(self, characters: Points, ends: Counts) -> tuple[Points, Counts]:
        """Return the characters as they are in words, and the spans of words that are not only a-z and digits."""
        folded, room = np.empty(len(characters), np.uint32), _FEW_WORDS
        while True:
            spans = np.empty((room, 2), np.int64)
            arrays = byref(self._tables), address(characters), address(ends), len(ends), address(folded)
            count = _other_words(*arrays, address(spans), room)
            if count <= room:
                return folded, spans[:count]
            room = count


class _Words(dict[str, Rows]):
    """A cache of the rows of words without white space, punctuation or Han characters."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._tokenizer = tokenizers.Tokenizer.from_file(str(file))
        self._tokenizer.encode_special_tokens = True  # "[MASK]" in a text is an ordinary word
        self.ids = self._tokenizer.get_vocab()
        self.size = len(self.ids)

    def __missing__(self, word: str) -> Rows:
        if len(self) >= WORDS_KEPT:
            self.clear()
        self[word] = found = np.array(self.encode(word), np.int32)
        return found

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the rows that the tokenizer finds for a text, without unknown pieces."""
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids
        return tuple(each for each in ids if each != self.ids["[UNK]"])

    def cuts(self, character: str) -> int:
        """Return the number of pieces that a word has with this character in its middle."""
        normal = self._tokenizer.normalizer.normalize_str(f"a{character}a")
        return len(self._tokenizer.pre_tokenizer.pre_tokenize_str(normal))


def _word_maps(words: _Words) -> tuple[Points, Rows]:
    """Return for each character its replacement before words are looked up, and its row if it is a punctuation mark."""
    becomes, rows = np.arange(_ALL_POINTS, dtype=np.uint32), np.zeros(PLANE, np.int32)
    becomes[ord("A") : ord("Z") + 1] += ord("a") - ord("A")
    becomes[HAN.start : HAN.stop] = becomes[0xD800:0xE000] = _SPACE  # lone surrogates are not text
    for mark in filter(_may_cut, first_plane()):
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


def _word_trie(ids: dict[str, int]) -> tuple[BuiltTrie, int]:
    """Return the plain pieces of the vocabulary, and the node where those begin that continue a word."""
    trie = Trie()
    rest_node = trie.branch()
    for piece, number in ids.items():
        letters = piece.removeprefix("##")
        if letters.isascii() and letters.isalnum():
            trie.add(letters.encode(), number, 0 if letters == piece else rest_node)
    return trie.built(), rest_node


def _han_trie(file: Path) -> tuple[BuiltTrie, npt.NDArray[np.float32], float]:
    """Return the Chinese words by number, the score of each node that ends one, and the score of other characters."""
    model = sentencepiece.SentencePieceProcessor(model_file=str(file))
    numbers = [number for number in range(model.get_piece_size()) if not model.is_unknown(number)]
    scores = np.zeros(model.get_piece_size(), np.float32)
    scores[numbers] = model.get_score(numbers)
    trie = Trie()
    for number, word in zip(numbers, model.id_to_piece(numbers), strict=True):
        trie.add((ord(character) - HAN.start for character in word), number)
    built = trie.built()
    return built, scores.take(built.values, mode="clip"), float(scores[numbers].min() - np.float32(_UNKNOWN_PENALTY))


def _han_map(simplified: dict[str, str]) -> npt.NDArray[np.uint16]:
    """Return for each Han character the symbol of its simplified form."""
    symbols = np.arange(len(HAN), dtype=np.uint16)
    for old, new in simplified.items():
        if ord(old) in HAN:
            symbols[ord(old) - HAN.start] = ord(new) - HAN.start if ord(new) in HAN else _NO_HAN_WORD
    return symbols
