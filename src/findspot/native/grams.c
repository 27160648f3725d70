#include "findspot.h"

#include <string.h>

static const uint32_t MULTIPLIERS[] = {0x9E3779B1, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1, 0xD6E8FEB9};
static const uint32_t MIXER = 0x85EBCA6B;
static const uint32_t SEEDS[] = {0xED558CCD, 0x1A85EC53, 0x1E98DF25, 0xA0B428DB, 0x9C88C6E3, 0x75374CC3};
enum { GRAM = 5, ORDERS = 6 };

static uint32_t hash_gram(const uint32_t *text) {
    uint32_t hash = 0;
    for (int offset = 0; offset < GRAM; offset++) hash += text[offset] * MULTIPLIERS[offset];
    hash ^= hash >> 15;
    hash *= MIXER; /* spreads the low bits, so that a seed changes the order of hashes */
    return hash ^ hash >> 16;
}

/* Write a hash of each run of five characters, in order: length - 4 of them, none for a shorter text. */
EXPORT void hash_grams(const uint32_t *text, int64_t length, uint32_t *hashes) {
    for (int64_t at = 0; at + GRAM <= length; at++) hashes[at] = hash_gram(text + at);
}

/* Write the least hash of a text's grams in several orders: a seed for each changes their bits. */
static void least_hashes(const uint32_t *text, int64_t length, uint32_t *least) {
    for (int order = 0; order < ORDERS; order++) least[order] = UINT32_MAX;
    for (int64_t at = 0; at + GRAM <= length; at++) {
        uint32_t gram = hash_gram(text + at);
        for (int order = 0; order < ORDERS; order++) {
            uint32_t hash = gram ^ SEEDS[order];
            least[order] = hash < least[order] ? hash : least[order];
        }
    }
}

static int32_t equal_hashes(const uint32_t *one, const uint32_t *other) {
    int32_t equal = 0;
    for (int order = 0; order < ORDERS; order++) equal += one[order] == other[order];
    return equal;
}

/* Write the pairs of texts that may be near: both have at least `shortest` characters, equal no earlier text (`firsts`
 * has the first text that each equals), and have at least `needed` of their six least hashes in common. A pair is the
 * later text, then the earlier one; pairs are in order. Return how many there are. `least` has room for six hashes of
 * each text, `pairs` for all pairs of texts. */
EXPORT int64_t likely_pairs(const uint32_t *texts, const int64_t *ends, const int64_t *firsts, int64_t count,
                            int64_t shortest, int32_t needed, uint32_t *least, int64_t *pairs) {
    int64_t found = 0;
    for (int64_t later = 0, start = 0; later < count; start = ends[later++]) {
        uint32_t *own = least + later * ORDERS;
        if (firsts[later] != later || ends[later] - start < shortest) continue;
        least_hashes(texts + start, ends[later] - start, own);
        for (int64_t earlier = 0, begin = 0; earlier < later; begin = ends[earlier++]) {
            if (firsts[earlier] == earlier && ends[earlier] - begin >= shortest &&
                equal_hashes(own, least + earlier * ORDERS) >= needed) {
                pairs[2 * found] = later;
                pairs[2 * found + 1] = earlier;
                found++;
            }
        }
    }
    return found;
}

/* Mark a hash in a table of `size` slots, a power of two, as one of a text: 1 or 2. Return the marks it had before. */
static int mark_hash(uint64_t *slots, uint64_t size, uint32_t hash, int text) {
    uint64_t at = (hash * (uint64_t)0x9E3779B97F4A7C15) >> 20 & (size - 1);
    while (slots[at] != 0 && slots[at] >> 2 != hash) at = (at + 1) & (size - 1);
    int before = slots[at] & 3;
    slots[at] = (uint64_t)hash << 2 | before | text;
    return before;
}

/* Count the different grams of two texts, and those that both have, in that order. Only grams whose hash is a multiple
 * of `every`, a power of two, are counted. `slots` has room for `size` grams, a power of two, more than both texts have
 * characters. */
EXPORT void count_grams(const uint32_t *one, int64_t length, const uint32_t *other, int64_t other_length,
                        uint32_t every, uint64_t *slots, int64_t size, int64_t *counts) {
    memset(slots, 0, (size_t)size * sizeof *slots);
    memset(counts, 0, 3 * sizeof *counts);
    for (int64_t at = 0; at + GRAM <= length; at++) {
        uint32_t hash = hash_gram(one + at);
        if ((hash & (every - 1)) == 0) counts[0] += mark_hash(slots, (uint64_t)size, hash, 1) == 0;
    }
    for (int64_t at = 0; at + GRAM <= other_length; at++) {
        uint32_t hash = hash_gram(other + at);
        if ((hash & (every - 1)) == 0) {
            int before = mark_hash(slots, (uint64_t)size, hash, 2);
            counts[1] += (before & 2) == 0;
            counts[2] += before == 1;
        }
    }
}
