/* Places where texts may be cut whose characters never join into grapheme clusters: cut.c and excerpt.c use them. */
#ifndef CUTTER_H
#define CUTTER_H

#include "findspot.h"

/* What a character is; chunking/cut.py makes the table. */
enum { OTHER = 1, BLANK = 2, END = 4, CLOSER = 8, FULL_WIDTH = 16, COMMA = 32 };

struct cutter {
    const uint32_t *text;
    const uint8_t *kinds; /* of each character of the first plane */
    int64_t length, size, overlap;
};

static inline bool is(const struct cutter *cutter, int64_t at, uint8_t kind) {
    return cutter->kinds[cutter->text[at]] & kind;
}

static inline int64_t lesser(int64_t one, int64_t other) {
    return one < other ? one : other;
}

static inline int64_t greater(int64_t one, int64_t other) {
    return one > other ? one : other;
}

static inline bool can_cut(const struct cutter *cutter) {
    for (int64_t at = 0; at < cutter->length; at++) {
        if (cutter->text[at] >= PLANE || is(cutter, at, OTHER)) return false;
    }
    return true;
}

static inline int64_t first_visible(const struct cutter *cutter, int64_t start, int64_t stop) {
    while (start < stop && is(cutter, start, BLANK)) start++;
    return start;
}

/* Return the end of the visible text before `end`, but at least `start`. */
static inline int64_t stripped(const struct cutter *cutter, int64_t start, int64_t end) {
    while (end > start && is(cutter, end - 1, BLANK)) end--;
    return end;
}

/* Return the end of the first sentence end that begins from `at` on, or -1; only text before `stop` is read. */
static inline int64_t sentence_end(const struct cutter *cutter, int64_t at, int64_t stop) {
    for (; at < stop; at++) {
        if (!is(cutter, at, END) || (at > 0 && is(cutter, at - 1, END))) continue;
        int64_t end = at + 1;
        while (end < stop && is(cutter, end, END)) end++;
        while (end < stop && is(cutter, end, CLOSER)) end++;
        if ((end < stop && is(cutter, end, BLANK)) || is(cutter, end - 1, FULL_WIDTH)) return end;
    }
    return -1;
}

#endif
