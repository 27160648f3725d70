"""The tables in which C looks up words."""

import pytest

from findspot.embedding.trie import SYMBOL_BITS, BuiltTrie, Trie


def looked_up(trie: BuiltTrie, word: bytes, root: int = 0) -> int:
    """Return the number of a word as native/trie.h finds it, or -1."""
    slots, bits = trie.slots.tolist(), trie.slot_bits
    node = root
    for symbol in word:
        key = node << SYMBOL_BITS | symbol
        slot = (key * 0x9E3779B1 & 0xFFFFFFFF) >> (32 - bits)
        while slots[slot][1] and slots[slot][0] != key:
            slot = (slot + 1) % len(slots)
        node = slots[slot][1]
        if not node:
            return -1
    return int(trie.values[node])


def test_words_are_found_below_their_root_and_nothing_else_is() -> None:
    trie = Trie()
    rest = trie.branch()
    words = [f"{number:x}".encode() for number in range(3, 2000, 3)]
    for number, word in enumerate(words):
        trie.add(word, number)
        trie.add(word + b"!", number, rest)
    built = trie.built()
    assert [looked_up(built, word) for word in words] == list(range(len(words)))
    assert [looked_up(built, word + b"!", rest) for word in words] == list(range(len(words)))
    assert {looked_up(built, word + b"!") for word in words} == {-1}
    assert looked_up(built, b"zz") == -1


def test_an_empty_trie_has_no_word() -> None:
    assert looked_up(Trie().built(), b"a") == -1


def test_a_symbol_beyond_the_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="symbol"):
        Trie().add([1 << SYMBOL_BITS], 1)
