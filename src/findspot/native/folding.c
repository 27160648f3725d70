#include "findspot.h"

#include <string.h>

static const uint32_t UNKNOWN = 0xFFFFFFFF; /* in a table: it does not fold this character */
static const uint64_t MIXERS[] = {0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93};

/* Return what a table of the first `known` characters has for a character. */
static inline uint32_t folded_to(uint32_t character, const uint32_t *table, uint32_t known) {
    return character < known ? table[character] : UNKNOWN;
}

/* Fold a text character by character: `table` has what each of the first `known` characters is folded to. Write the
 * places of characters that it does not know, which are not folded. Return how many there are. */
EXPORT int64_t fold_points(const uint32_t *text, int64_t length, const uint32_t *table, uint32_t known,
                           uint32_t *folded, int64_t *unknown) {
    int64_t found = 0;
    for (int64_t at = 0; at < length; at++) {
        folded[at] = folded_to(text[at], table, known);
        if (folded[at] == UNKNOWN) {
            folded[at] = text[at];
            unknown[found++] = at;
        }
    }
    return found;
}

/* Fold texts character by character: `table` has what each of the first `known` characters is folded to. Spaces at the
 * ends of a text, and those that follow another, are left out. `folded` has room for all characters of the texts. A
 * text with a character that the table does not know is marked irregular, and has no folded characters. */
EXPORT void fold_texts(const uint32_t *texts, const int64_t *ends, int64_t count, const uint32_t *table, uint32_t known,
                       uint32_t *folded, int64_t *folded_ends, uint8_t *is_irregular) {
    int64_t written = 0;
    for (int64_t number = 0, at = 0; number < count; number++) {
        int64_t start = written;
        uint32_t last = ' ';
        bool irregular = false;
        for (; at < ends[number]; at++) {
            uint32_t character = folded_to(texts[at], table, known);
            irregular |= character == UNKNOWN;
            if (character != ' ' || last != ' ') folded[written++] = character;
            last = character;
        }
        written -= written > start && last == ' ';
        written = irregular ? start : written;
        folded_ends[number] = written;
        is_irregular[number] = irregular;
    }
}

static uint64_t two_characters(const uint32_t *text, int64_t at, int64_t length) {
    uint64_t first = at < length ? text[at] : 0, second = at + 1 < length ? text[at + 1] : 0;
    return first | second << 32;
}

/* Return a hash of a text: the same in every process, equal for equal texts. It does not withstand forgery. */
static uint64_t hash_text(const uint32_t *text, int64_t length) {
    uint64_t hash = (uint64_t)length;
    /* Four characters at a time: two would take 1.4 times as long, because each step waits for the product before. */
    for (int64_t at = 0; at < length; at += 4) {
        uint64_t one = two_characters(text, at, length) ^ MIXERS[0]; /* never 0, because no character is that large */
        __uint128_t product = (__uint128_t)one * (two_characters(text, at + 2, length) ^ hash ^ MIXERS[1]);
        hash = (uint64_t)product ^ (uint64_t)(product >> 64);
    }
    hash = (hash ^ hash >> 32) * MIXERS[0];
    return hash ^ hash >> 32;
}

/* Write a hash of each text, and the number of the first text that it equals, or its own. The hashes are compared with
 * those of all texts before: this is meant for some hundreds of texts. */
EXPORT void first_equal(const uint32_t *texts, const int64_t *ends, int64_t count, uint64_t *hashes, int64_t *firsts) {
    for (int64_t number = 0, start = 0; number < count; start = ends[number++]) {
        int64_t length = ends[number] - start;
        hashes[number] = hash_text(texts + start, length);
        firsts[number] = number;
        for (int64_t other = 0, begin = 0; other < number; begin = ends[other++]) {
            if (hashes[other] == hashes[number] && ends[other] - begin == length &&
                memcmp(texts + begin, texts + start, (size_t)length * sizeof *texts) == 0) {
                firsts[number] = other;
                break;
            }
        }
    }
}
