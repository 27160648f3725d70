#include "findspot.h"
#include "processor.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* Signs are one bit for each number of a vector, eight numbers in a byte. Rows stand in blocks of 32: byte j of all
 * rows of a block, then byte j + 1 of them. A table has 16 numbers for each half byte, the one with the lower bits
 * first. The score of a row is the sum of the numbers that its half bytes select. */
enum { BLOCK = 32, TABLE = 16, SCORES = 65536 };

static void score_plainly(const uint8_t *signs, int64_t count, int64_t width, const uint8_t *tables, uint16_t *scores) {
    for (int64_t start = 0; start < count; start += BLOCK) {
        uint16_t sums[BLOCK] = {0};
        for (int64_t at = 0; at < width; at++, signs += BLOCK) {
            const uint8_t *low = tables + at * 2 * TABLE, *high = low + TABLE;
            for (int row = 0; row < BLOCK; row++) sums[row] += low[signs[row] & 15] + high[signs[row] >> 4];
        }
        for (int row = 0; row < BLOCK && start + row < count; row++) scores[start + row] = sums[row];
    }
}

#if defined(__x86_64__) || defined(__aarch64__)

typedef uint8_t Bytes __attribute__((vector_size(BLOCK), aligned(1)));
typedef uint16_t Sums __attribute__((vector_size(BLOCK), aligned(1)));

#if defined(__x86_64__)
/* Return the number of the table that each symbol selects. */
WIDE static inline Bytes selected(const uint8_t *table, Bytes symbols) {
    __m256i twice = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table));
    return (Bytes)_mm256_shuffle_epi8(twice, (__m256i)symbols);
}
#else
static inline Bytes selected(const uint8_t *table, Bytes symbols) {
    union {
        Bytes whole;
        uint8x16_t halves[2];
    } found = {symbols};
    for (int half = 0; half < 2; half++) found.halves[half] = vqtbl1q_u8(vld1q_u8(table), found.halves[half]);
    return found.whole;
}
#endif

/* Do the same with a register for the 32 rows of a block, in a tenth of the time. */
WIDE static void score_widely(const uint8_t *signs, int64_t count, int64_t width, const uint8_t *tables,
                              uint16_t *scores) {
    int64_t start = 0;
    for (; start + BLOCK <= count; start += BLOCK) {
        Sums both = {0}, odd = {0}; /* `both` has the sums of odd rows times 256 too, because it adds pairs of bytes */
        for (int64_t at = 0; at < width; at++, signs += BLOCK) {
            Bytes here = *(const Bytes *)signs;
            const uint8_t *low = tables + at * 2 * TABLE;
            Sums lower = (Sums)selected(low, here & 15), upper = (Sums)selected(low + TABLE, here >> 4);
            both += lower + upper;
            odd += (lower >> 8) + (upper >> 8);
        }
        Sums even = both - (odd << 8), *here = (Sums *)(scores + start);
        here[0] = __builtin_shufflevector(even, odd, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        here[1] = __builtin_shufflevector(even, odd, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
    score_plainly(signs, count - start, width, tables, scores + start);
}

#else
#define score_widely score_plainly
#endif

/* Write the scores of `count` rows with `width` bytes each. The last block is whole, even if it has fewer rows. */
EXPORT void score_signs(const uint8_t *signs, int64_t count, int64_t width, const uint8_t *tables, uint16_t *scores,
                        bool wide) {
    (wide ? score_widely : score_plainly)(signs, count, width, tables, scores);
}

static bool has_score(const uint16_t *scores, int64_t count, int64_t least) {
    uint16_t highest = 0;
    for (int64_t row = 0; row < count; row++) highest = scores[row] > highest ? scores[row] : highest;
    return highest >= least;
}

/* Write the `wanted` rows of the mask with the highest scores in ascending order, and return how many there are. Of
 * equal rows the first ones are taken. `counts` has room for the number of rows of each of the 65,536 scores. */
EXPORT int64_t pick_highest(const uint16_t *scores, const uint8_t *mask, int64_t count, int64_t wanted,
                            uint32_t *counts, int64_t *rows) {
    for (int64_t score = 0; score < SCORES; score++) counts[score] = 0;
    for (int64_t row = 0; row < count; row++) counts[scores[row]] += mask[row];
    int64_t least = SCORES, above = 0, picked = 0;
    while (least > 0 && above < wanted) {
        least--;
        above += counts[least];
    }
    int64_t surplus = above > wanted ? above - wanted : 0;
    int64_t equal = least < SCORES ? counts[least] - surplus : 0; /* of those with the least score that is picked */
    for (int64_t start = 0; start < count; start += BLOCK) {
        int64_t end = start + BLOCK < count ? start + BLOCK : count;
        if (!has_score(scores + start, end - start, least)) {
            continue; /* most blocks have none, and a look at 32 scores at once takes a third of the time */
        }
        for (int64_t row = start; row < end; row++) {
            if (mask[row] && scores[row] >= least && (scores[row] > least || equal-- > 0)) rows[picked++] = row;
        }
    }
    return picked;
}
