#include "findspot.h"

enum { FIRSTS = 4096 };

static bool is_run(const uint32_t *text, int64_t length, const uint8_t *in_runs) {
    for (int64_t at = 0; at < length; at++) {
        bool is_late_han = text[at] >= 0x20000 && text[at] < 0x40000;
        if (!(text[at] < PLANE ? in_runs[text[at]] : is_late_han)) return false;
    }
    return true;
}

static bool begins_with(const uint32_t *text, int64_t length, const uint32_t *needle, int64_t size) {
    int64_t at = 0;
    while (at < size && size <= length && text[at] == needle[at]) at++;
    return at == size;
}

/* Spans are written as start and end, until there is no more room. */
static void add_span(int64_t start, int64_t end, int64_t *spans, int64_t room, int64_t *found) {
    if (*found < room) {
        spans[2 * *found] = start;
        spans[2 * *found + 1] = end;
    }
    ++*found;
}

static bool is_break(uint32_t character) {
    return character == ' ' || character == '\n';
}

/* Find needles in a folded text. Needles stand one after the other; `ends` has the end of each, none is empty, and the
 * first `runs` of them are runs. Write the spans of runs that are runs in the text itself, at most `room`, and the
 * spans of the pieces between spaces or line ends that contain another needle or one of the `unknown` places, each
 * piece once. `pieces` has room for half of the characters, and one more. Write how many runs and pieces there are. */
EXPORT void find_needles(const uint32_t *text, const uint32_t *folded, int64_t length, const uint32_t *needles,
                         const int64_t *ends, int64_t count, int64_t runs, const uint8_t *in_runs,
                         const int64_t *unknown, int64_t unknowns, int64_t *run_spans, int64_t room, int64_t *pieces,
                         int64_t *found) {
    /* By bits of the first character: a look at all needles at each place would take three times as long. */
    bool begins_needle[FIRSTS] = {false};
    for (int64_t needle = 0, start = 0; needle < count; start = ends[needle++]) {
        begins_needle[needles[start] % FIRSTS] = true;
    }
    int64_t piece_end = 0, seen = 0, next_unknown = unknowns > 0 ? unknown[0] : length;
    found[0] = found[1] = 0;
    for (int64_t at = 0; at < length; at++) {
        bool is_in_piece = at == next_unknown;
        if (is_in_piece) {
            next_unknown = ++seen < unknowns ? unknown[seen] : length;
        } else if (!begins_needle[folded[at] % FIRSTS]) {
            continue;
        }
        for (int64_t needle = 0, start = 0; needle < count; start = ends[needle++]) {
            int64_t size = ends[needle] - start;
            if (!begins_with(folded + at, length - at, needles + start, size)) continue;
            if (needle >= runs) {
                is_in_piece = true;
            } else if (is_run(text + at, size, in_runs)) {
                add_span(at, at + size, run_spans, room, &found[0]);
            }
        }
        if (is_in_piece && at >= piece_end) {
            int64_t piece = at;
            for (; piece > 0 && !is_break(text[piece - 1]); piece--) {
            }
            for (piece_end = at; piece_end < length && !is_break(text[piece_end]); piece_end++) {
            }
            add_span(piece, piece_end, pieces, length / 2 + 1, &found[1]);
        }
    }
}
