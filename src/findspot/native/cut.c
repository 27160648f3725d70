#include "cutter.h"

/* Cuts texts whose characters never join into grapheme clusters. chunking/cut.py has the rules, and cuts all others. */

enum { LOOKAHEAD = 32 };

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

/* Write the start and the end of each chunk. Return how many chunks there are; only the first `room` are written.
 * Return -1 for a text with a character that may join others. */
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
