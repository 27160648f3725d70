#include "findspot.h"

/* Cuts texts whose characters never join into grapheme clusters. chunking/cut.py has the rules, and cuts all others. */

/* What a character is; chunking/cut.py makes the table. */
enum { OTHER = 1, BLANK = 2, END = 4, CLOSER = 8, WIDE = 16, LAST_BMP = 0xFFFF, LOOKAHEAD = 32 };

struct cutter {
    const uint32_t *text;
    const uint8_t *kinds; /* of each code point up to LAST_BMP */
    int64_t length, size, overlap;
};

static bool is(const struct cutter *cutter, int64_t at, uint8_t kind) {
    return cutter->kinds[cutter->text[at]] & kind;
}

static int64_t lesser(int64_t one, int64_t other) {
    return one < other ? one : other;
}

static int64_t greater(int64_t one, int64_t other) {
    return one > other ? one : other;
}

static bool can_cut(const struct cutter *cutter) {
    for (int64_t at = 0; at < cutter->length; at++) {
        if (cutter->text[at] > LAST_BMP || is(cutter, at, OTHER)) return false;
    }
    return true;
}

static int64_t first_visible(const struct cutter *cutter, int64_t start, int64_t stop) {
    while (start < stop && is(cutter, start, BLANK)) start++;
    return start;
}

/* Return the end of the visible text before `end`, but at least `start`. */
static int64_t stripped(const struct cutter *cutter, int64_t start, int64_t end) {
    while (end > start && is(cutter, end - 1, BLANK)) end--;
    return end;
}

/* Return the end of the first sentence end that begins from `at` on, or -1; only text before `stop` is read. */
static int64_t sentence_end(const struct cutter *cutter, int64_t at, int64_t stop) {
    for (; at < stop; at++) {
        if (!is(cutter, at, END) || (at > 0 && is(cutter, at - 1, END))) continue;
        int64_t end = at + 1;
        while (end < stop && is(cutter, end, END)) end++;
        while (end < stop && is(cutter, end, CLOSER)) end++;
        if ((end < stop && is(cutter, end, BLANK)) || is(cutter, end - 1, WIDE)) return end;
    }
    return -1;
}

/* Return where the last blank line between two places begins, or -1. */
static int64_t blank_line(const struct cutter *cutter, int64_t start, int64_t stop) {
    for (int64_t end = stop - 1; end > start; end--) {
        if (cutter->text[end] != '\n') continue;
        int64_t at = end - 1;
        while (at > start && cutter->text[at] != '\n' && is(cutter, at, BLANK)) at--;
        if (cutter->text[at] == '\n') return at;
    }
    return -1;
}

static int64_t line_end(const struct cutter *cutter, int64_t start, int64_t stop) {
    for (int64_t at = stop - 1; at >= start; at--) {
        if (cutter->text[at] == '\n') return at;
    }
    return -1;
}

static int64_t word_end(const struct cutter *cutter, int64_t start, int64_t stop) {
    for (int64_t at = stop - 1; at >= start; at--) {
        if (is(cutter, at, BLANK)) return at;
    }
    return -1;
}

static int64_t last_sentence_end(const struct cutter *cutter, int64_t late, int64_t limit) {
    int64_t stop = lesser(limit + LOOKAHEAD, cutter->length), last = -1;
    for (int64_t end = sentence_end(cutter, late - 1, stop); end >= 0; end = sentence_end(cutter, end, stop)) {
        if (end >= late && end <= limit) last = end;
    }
    return last;
}

/* Return the end of the chunk that begins at `start`. It includes the character at `uncovered`. */
static int64_t chunk_end(const struct cutter *cutter, int64_t start, int64_t uncovered) {
    int64_t limit = start + cutter->size, late = greater(start + cutter->size / 2, uncovered + 1);
    int64_t end = stripped(cutter, late - 1, blank_line(cutter, late, lesser(limit + 2, cutter->length)));
    if (end >= late) return end;
    end = last_sentence_end(cutter, late, limit);
    if (end >= late) return end;
    end = stripped(cutter, late - 1, line_end(cutter, late, lesser(limit + 1, cutter->length)));
    if (end >= late) return end;
    end = stripped(cutter, late - 1, word_end(cutter, late, lesser(limit + 1, cutter->length)));
    if (end >= late) return end;
    return stripped(cutter, start, limit);
}

static int64_t next_start(const struct cutter *cutter, int64_t start, int64_t end, int64_t uncovered) {
    int64_t earliest = greater(end - cutter->overlap, start + 1);
    if (cutter->overlap == 0 || earliest >= end || uncovered - earliest > cutter->size / 2) return uncovered;
    int64_t half = end - (end - earliest) / 2, from = greater(start, earliest - LOOKAHEAD);
    for (int64_t at = sentence_end(cutter, from, half); at >= 0; at = sentence_end(cutter, at, half)) {
        int64_t begin = first_visible(cutter, at, end);
        if (begin >= earliest && begin <= half && begin < end) return begin;
    }
    for (int64_t at = earliest; at < end; at++) {
        if (is(cutter, at - 1, BLANK) && !is(cutter, at, BLANK)) return at;
    }
    return earliest;
}

/* Write the start and the end of each chunk. Return how many chunks there are; only the first `room` are written. Return
 * -1 for a text with a character that may join others. */
EXPORT int64_t cut_text(const uint32_t *text, int64_t length, const uint8_t *kinds, int64_t size, int64_t overlap,
                        int64_t *spans, int64_t room) {
    struct cutter cutter = {text, kinds, length, size, overlap};
    if (!can_cut(&cutter)) return -1;
    int64_t stop = stripped(&cutter, 0, length), found = 0;
    int64_t start = first_visible(&cutter, 0, stop), uncovered = start;
    while (uncovered < stop) {
        int64_t end = stop - start <= size ? stop : chunk_end(&cutter, start, uncovered);
        if (found < room) {
            spans[2 * found] = start;
            spans[2 * found + 1] = end;
        }
        found++;
        if (stop - start <= size) break;
        uncovered = first_visible(&cutter, end, stop);
        start = next_start(&cutter, start, end, uncovered);
    }
    return found;
}
