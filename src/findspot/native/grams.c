#include "findspot.h"

static const uint32_t MULTIPLIERS[] = {0x9E3779B1, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1, 0xD6E8FEB9};
static const uint32_t MIXER = 0x85EBCA6B;
enum { GRAM = 5 };

/* Write a hash of each run of five characters, in order: length - 4 of them, none for a shorter text. */
EXPORT void hash_grams(const uint32_t *text, int64_t length, uint32_t *hashes) {
    for (int64_t at = 0; at + GRAM <= length; at++) {
        uint32_t hash = 0;
        for (int offset = 0; offset < GRAM; offset++) {
            hash += text[at + offset] * MULTIPLIERS[offset];
        }
        hash ^= hash >> 15;
        hash *= MIXER; /* spreads the low bits, so that a seed changes the order of hashes */
        hash ^= hash >> 16;
        hashes[at] = hash;
    }
}
