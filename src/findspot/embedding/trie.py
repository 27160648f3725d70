"""Builds the tables in which C looks up words character by character. native/trie.h reads them."""

from collections.abc import Iterable, Mapping
from ctypes import Structure, c_int64, c_void_p

import numpy as np
import numpy.typing as npt

from findspot.native import address

SYMBOL_BITS = 15
_NODE_BITS = 17  # node and symbol are one number of 32 bits
_SLOTS_PER_EDGE = 2
_NO_VALUE = -1
_MULTIPLIER = 0x9E3779B1


class TrieAddress(Structure):
    """A trie as C sees it."""

    _fields_ = (("slots", c_void_p), ("values", c_void_p), ("slot_bits", c_int64))


class Trie:
    """The words of a vocabulary as sequences of symbols, each with a number."""

    def __init__(self) -> None:
        self._edges: dict[int, int] = {}
        self._values = [_NO_VALUE]

    def add(self, word: Iterable[int], number: int, root: int = 0) -> None:
        """Add a word, given as symbols. `root` is 0 or what `branch` has returned."""
        node = root
        for symbol in word:
            if not 0 <= symbol < 1 << SYMBOL_BITS:
                raise ValueError(f"{symbol} is no symbol")
            node = self._edges.setdefault(node << SYMBOL_BITS | symbol, len(self._values))
            if node == len(self._values):
                self._values.append(_NO_VALUE)
        self._values[node] = number

    def branch(self) -> int:
        """Return a node that no word leads to: the root of a second vocabulary."""
        self._values.append(_NO_VALUE)
        return len(self._values) - 1

    def built(self) -> "BuiltTrie":
        return BuiltTrie(self._edges, self._values)


class BuiltTrie:
    """A trie in arrays."""

    def __init__(self, edges: Mapping[int, int], values: list[int]) -> None:
        if len(values) > 1 << _NODE_BITS:
            raise ValueError("too many words for a trie")
        self.slot_bits = max(2, (_SLOTS_PER_EDGE * len(edges)).bit_length())
        self.slots = np.zeros((1 << self.slot_bits, 2), np.uint32)
        self.values: npt.NDArray[np.int32] = np.array(values, np.int32)
        keys = np.fromiter(edges, np.uint32, len(edges))
        nodes = np.fromiter(edges.values(), np.uint32, len(edges))
        self._fill(keys, nodes)

    @property
    def address(self) -> TrieAddress:
        return TrieAddress(address(self.slots), address(self.values), self.slot_bits)

    def _fill(self, keys: npt.NDArray[np.uint32], nodes: npt.NDArray[np.uint32]) -> None:
        """Put each edge into the first free slot from that of its hash on. Each round fills a slot with one edge."""
        slots = (keys * np.uint32(_MULTIPLIER)) >> np.uint32(32 - self.slot_bits)
        while len(keys):
            free = np.flatnonzero(self.slots[slots, 1] == 0)
            _, first = np.unique(slots[free], return_index=True)
            placed = free[first]
            self.slots[slots[placed]] = np.stack([keys[placed], nodes[placed]], axis=1)
            keys, nodes, slots = (np.delete(each, placed) for each in (keys, nodes, slots))
            slots = (slots + np.uint32(1)) & np.uint32((1 << self.slot_bits) - 1)
