#include "cutter.h"

/* Cuts excerpts of texts whose characters never join into grapheme clusters. chunking/excerpt.py has the rules, and
 * cuts those of all others. */

/* Return whether a word ends before `at`, or a part of a sentence whose comma is at `from` or later. */
static bool is_pause(const struct cutter *cutter, int64_t from, int64_t at) {
    return is(cutter, at, BLANK) || (at > from && is(cutter, at - 1, COMMA));
}

/* Return where the first sentence between two places ends, else the first word, or -1. */
static int64_t first_pause(const struct cutter *cutter, int64_t earliest, int64_t start) {
    int64_t end = sentence_end(cutter, earliest - 1, start);
    for (int64_t at = earliest; end < 0 && at < start; at++) {
        if (is_pause(cutter, earliest - 1, at)) end = at;
    }
    return end;
}

/* Return where the excerpt begins: at a sentence, else at a word, between `earliest` and `start`. */
static int64_t beginning(const struct cutter *cutter, int64_t first, int64_t earliest, int64_t start) {
    if (earliest <= first) return first;
    int64_t pause = first_pause(cutter, earliest, start);
    return pause < 0 ? earliest : first_visible(cutter, pause, start);
}

/* Return where the excerpt ends, at most at `limit`: after a sentence that ends past `least`, else after a word. */
static int64_t ending(const struct cutter *cutter, int64_t begin, int64_t least, int64_t limit, int64_t last) {
    if (limit >= last) return last;
    int64_t found = begin, next = greater(least - 1, 0);
    while ((next = sentence_end(cutter, next, limit)) >= 0) found = next;
    if (found > begin) return found;
    int64_t half = begin + (limit - begin) / 2;
    for (int64_t at = limit; at >= half; at--) {
        if (!is_pause(cutter, half, at)) continue;
        int64_t end = stripped(cutter, begin, at);
        return end > begin ? end : limit;
    }
    return limit;
}

/* Cut an excerpt of at most `size` characters around a match, and write its start and end in place of the match's. */
static void cut_excerpt(const struct cutter *cutter, int64_t *span) {
    int64_t first = first_visible(cutter, 0, cutter->length), last = stripped(cutter, 0, cutter->length);
    int64_t size = cutter->size, begin = first, stop = greater(first, last);
    if (last - first > size) {
        int64_t start = greater(first, lesser(span[0], last - 1)), end = lesser(span[1], last);
        int64_t earliest = greater(lesser(start, greater(end, start + 1) - size), start - size / 2);
        begin = beginning(cutter, first, earliest, start);
        stop = ending(cutter, begin, lesser(greater(end, begin + size / 2), begin + size), begin + size, last);
        if (stop == last && last - begin < size) { /* there is room before it */
            begin = lesser(begin, beginning(cutter, first, last - size, begin));
        }
        begin = first_visible(cutter, begin, stop); /* the match may be white space */
        stop = stripped(cutter, begin, stop);
    }
    span[0] = begin;
    span[1] = stop;
}

/* Cut an excerpt of each text around its match. `spans` has the start and the end of each match, and gets those of the
 * excerpts; -1 twice for a text with a character that may join others. `size` is at least 1. */
EXPORT void cut_excerpts(const uint32_t *texts, const int64_t *ends, int64_t count, const uint8_t *kinds, int64_t size,
                         int64_t *spans) {
    for (int64_t text = 0, start = 0; text < count; start = ends[text++]) {
        struct cutter cutter = {texts + start, kinds, ends[text] - start, size, 0};
        if (can_cut(&cutter)) {
            cut_excerpt(&cutter, spans + 2 * text);
        } else {
            spans[2 * text] = spans[2 * text + 1] = -1;
        }
    }
}
