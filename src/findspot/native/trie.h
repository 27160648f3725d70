/* A trie of words: an open-addressing table from a node and a symbol to the next node. embedding/trie.py builds it.
 *
 * A slot is two numbers: the key, which is node << SYMBOL_BITS | symbol, and the next node; 0 in an empty slot, because
 * no edge leads to the root. Half of the slots at most are filled, so that most look-ups read one or two. */
#ifndef TRIE_H
#define TRIE_H

#include "findspot.h"

enum { SYMBOL_BITS = 15, NO_VALUE = -1 };

struct trie {
    const uint32_t *slots;
    const int32_t *values; /* of each node: the number of the word that ends there, or NO_VALUE */
    int64_t slot_bits;     /* there are 1 << slot_bits slots */
};

/* Return the node that a symbol leads to, or 0. */
static inline uint32_t next_node(const struct trie *trie, uint32_t node, uint32_t symbol) {
    uint32_t key = node << SYMBOL_BITS | symbol;
    uint32_t last = (1u << trie->slot_bits) - 1;
    uint32_t slot = (key * 0x9E3779B1u) >> (32 - trie->slot_bits);
    while (trie->slots[2 * slot + 1] != 0 && trie->slots[2 * slot] != key) slot = (slot + 1) & last;
    return trie->slots[2 * slot + 1];
}

#endif
