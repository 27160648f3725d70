#include "trie.h"

/* Finds the rows of the offline model's table for texts. docs/offline-model.md defines them. */

enum { SPACE = ' ', LONGEST_WORD = 100, FIRST_HAN = 0x3400, AFTER_HAN = 0xA000, HAN_COUNT = AFTER_HAN - FIRST_HAN };
enum { WORD_ROOT = 0, LAST_POINT = 0x10FFFF };

/* What embedding/rows.py makes of the model's files. */
struct row_tables {
    const uint32_t *as_word;    /* of each code point: its replacement in words; a space where words are split */
    const int32_t *row_of_mark; /* of each character of the first plane: its row if it is a punctuation mark, else 0 */
    const uint16_t *as_han;     /* of each Han character: the symbol of its simplified form */
    struct trie words;          /* pieces of a-z and 0-9 */
    struct trie han;            /* words of Han characters */
    const float *han_scores;    /* of each node of that trie */
    int64_t rest_node;          /* of the trie of words: where pieces begin that continue a word */
    int64_t first_han_row;
    float unknown_score; /* of a Han character that is no word */
};

static const float LOWEST_SCORE = -100000;

/* The best way to split a run of Han characters up to some place: its last word starts at `start`, and has this row. */
struct split {
    float score;
    int32_t start;
    int32_t row; /* NO_VALUE for an unknown character */
};

static bool is_plain(uint32_t point) {
    return (point >= 'a' && point <= 'z') || (point >= '0' && point <= '9');
}

/* Write each code point as it is in words, and the spans of words that have more than letters a-z and digits. Return
 * the number of these words; only the first `room` spans are written. */
EXPORT int64_t other_words(const struct row_tables *tables, const uint32_t *points, const int64_t *ends, int64_t texts,
                           uint32_t *folded, int64_t *spans, int64_t room) {
    int64_t found = 0, at = 0;
    for (int64_t text = 0; text < texts; text++) {
        while (at < ends[text]) {
            int64_t start = at;
            bool plain = true;
            for (; at < ends[text]; at++) {
                folded[at] = points[at] <= LAST_POINT ? tables->as_word[points[at]] : SPACE;
                if (folded[at] == SPACE) break;
                plain &= is_plain(folded[at]);
            }
            if (!plain && found++ < room) {
                spans[2 * found - 2] = start;
                spans[2 * found - 1] = at;
            }
            at += at < ends[text]; /* the space */
        }
    }
    return found;
}

/* Write the rows of a word: the longest known prefix, then the longest of the rest, and so on. Return how many; none if
 * a part of the word is unknown. */
static int64_t word_rows(const struct row_tables *tables, const uint32_t *word, int64_t length, int32_t *rows) {
    int64_t found = 0;
    if (length > LONGEST_WORD) return 0;
    for (int64_t start = 0; start < length;) {
        uint32_t node = start ? (uint32_t)tables->rest_node : WORD_ROOT;
        int64_t end = start;
        for (int64_t at = start; at < length; at++) {
            node = next_node(&tables->words, node, word[at]);
            if (node == 0) break;
            if (tables->words.values[node] != NO_VALUE) {
                rows[found] = tables->words.values[node];
                end = at + 1;
            }
        }
        if (end == start) return 0;
        found++;
        start = end;
    }
    return found;
}

static int64_t mark_rows(const struct row_tables *tables, const uint32_t *text, int64_t length, int32_t *rows) {
    int64_t found = 0;
    for (int64_t at = 0; at < length; at++) {
        int32_t row = text[at] < PLANE ? tables->row_of_mark[text[at]] : 0;
        if (row != 0) rows[found++] = row;
    }
    return found;
}

/* Take a word as the last one up to a place if it is better than what is known. Of equal ones, the first stays. */
static void offer(struct split *split, float before, float score, int64_t start, int32_t row) {
    float offered = score + before;
    if (split->start < 0 || offered > split->score) *split = (struct split){offered, (int32_t)start, row};
}

/* Subtract a low score at a place from those at and after it: in large numbers, small differences are lost. */
static void raise_scores(struct split *splits, int64_t at, int64_t length) {
    float low = splits[at].score;
    if (low >= LOWEST_SCORE) return;
    splits[at].score = 0;
    for (int64_t end = at + 1; end <= length; end++) {
        if (splits[end].start >= 0) splits[end].score -= low;
    }
}

/* Find the best way to split a run of Han characters into words, which is the one with the highest sum of scores. */
static void split_run(const struct row_tables *tables, const uint32_t *run, int64_t length, struct split *splits) {
    for (int64_t at = 1; at <= length; at++) splits[at].start = -1;
    for (int64_t start = 0; start < length; start++) {
        raise_scores(splits, start, length);
        float before = splits[start].score;
        bool is_known = false;
        uint32_t node = 0;
        for (int64_t at = start; at < length; at++) {
            node = next_node(&tables->han, node, tables->as_han[run[at] - FIRST_HAN]);
            if (node == 0) break;
            if (tables->han.values[node] == NO_VALUE) continue;
            is_known |= at == start;
            offer(&splits[at + 1], before, tables->han_scores[node], start, tables->han.values[node]);
        }
        if (!is_known) offer(&splits[start + 1], before, tables->unknown_score, start, NO_VALUE);
    }
}

/* Write the rows of the words of a split run, in order. Return how many. */
static int64_t split_rows(const struct row_tables *tables, const struct split *splits, int64_t length, int32_t *rows) {
    int64_t found = 0;
    for (int64_t end = length; end > 0; end = splits[end].start) {
        if (splits[end].row != NO_VALUE) rows[found++] = (int32_t)tables->first_han_row + splits[end].row;
    }
    for (int64_t left = 0, right = found - 1; left < right; left++, right--) {
        int32_t row = rows[left];
        rows[left] = rows[right];
        rows[right] = row;
    }
    return found;
}

static bool is_han(uint32_t point) {
    return point - FIRST_HAN < HAN_COUNT;
}

/* The score goes on from run to run, as if they were one string with an unknown character between them: rounding, and
 * with it ties, depends on it. */
static int64_t han_rows(const struct row_tables *tables, const uint32_t *text, int64_t length, struct split *splits,
                        int32_t *rows) {
    int64_t found = 0;
    splits[0].score = 0;
    for (int64_t at = 0; at < length; at++) {
        int64_t start = at;
        while (at < length && is_han(text[at])) at++;
        if (at == start) continue;
        split_run(tables, text + start, at - start, splits);
        found += split_rows(tables, splits, at - start, rows + found);
        raise_scores(splits, at - start, at - start);
        splits[0].score = splits[at - start].score + tables->unknown_score;
    }
    return found;
}

/* Write the rows of each text, in the order of its words, marks and Han characters, and how many each text has. Return
 * how many there are together: at most one per code point, and those of other words, given in the order of
 * `other_words`. `splits` has room for one more than the longest text has code points. */
EXPORT int64_t find_rows(const struct row_tables *tables, const uint32_t *points, const uint32_t *folded,
                         const int64_t *ends, int64_t texts, const int32_t *other_rows, const int64_t *other_counts,
                         struct split *splits, int32_t *rows, int64_t *counts) {
    int64_t total = 0, start = 0;
    for (int64_t text = 0; text < texts; text++) {
        int64_t before = total;
        for (int64_t at = start; at < ends[text]; at++) {
            int64_t word = at;
            bool plain = true;
            for (; at < ends[text] && folded[at] != SPACE; at++) plain &= is_plain(folded[at]);
            if (plain) {
                total += word_rows(tables, folded + word, at - word, rows + total);
                continue;
            }
            for (int64_t left = *other_counts++; left > 0; left--) rows[total++] = *other_rows++;
        }
        total += mark_rows(tables, points + start, ends[text] - start, rows + total);
        total += han_rows(tables, points + start, ends[text] - start, splits, rows + total);
        counts[text] = total - before;
        start = ends[text];
    }
    return total;
}
