#include "findspot.h"
#include "processor.h"

/* Compares a query with passages, word by word and segment by segment. docs/ranking.md has the formulas. */

/* The query: `count` rows of the table, then its vector, all as numbers of 16 bits. */
struct query {
    const int16_t *rows;  /* count + 1 of them, with `dimension` numbers each */
    const float *weights; /* of each row; together 1 */
    const float *lengths; /* of each row */
    int64_t count;
    float vector_step; /* what the numbers of the vector are to be multiplied by */
};

struct table {
    const int8_t *rows;
    const float *scale;
    const float *lengths; /* of the rows, before they are scaled */
    int64_t dimension;
};

/* The rows of all passages, one after the other. */
struct passages {
    const int32_t *rows;
    const int32_t *counts;   /* of the rows of each segment */
    const float *lengths;    /* of the sum of each segment's rows */
    const int64_t *segments; /* of each passage: how many */
    int64_t count;
};

/* Memory for the comparison. */
struct scratch {
    int32_t *places; /* of each row of the table, 0 at first: 1 + where its products are */
    float *products; /* of each distinct row of the passages: count + 1 numbers */
    int16_t *wide;   /* a row of the table */
    float *best;     /* 2 * count numbers: how alike each word of the query is to a segment, and to a passage */
};

/* The sum of up to 512 numbers always fits, because one of the rows has numbers of 8 bits. */
INLINE int32_t dot(const int16_t *one, const int16_t *other, int64_t dimension) {
    int32_t sum = 0;
    for (int64_t at = 0; at < dimension; at++) sum += one[at] * other[at];
    return sum;
}

/* Write how alike a row of the table and each row of the query are, then its product with the query's vector. Products
 * are of integers: exact, and twice as fast as those of floats. */
INLINE void multiply(const struct table *table, const struct query *query, int32_t row, int16_t *wide,
                     float *products) {
    const int8_t *narrow = table->rows + row * table->dimension;
    for (int64_t at = 0; at < table->dimension; at++) wide[at] = narrow[at];
    for (int64_t word = 0; word <= query->count; word++) {
        float product = (float)dot(query->rows + word * table->dimension, wide, table->dimension);
        if (word == query->count) {
            products[word] = product * query->vector_step * table->scale[row];
        } else {
            float alike = product / (query->lengths[word] * table->lengths[row]);
            products[word] = alike > 0 ? alike : 0;
        }
    }
}

INLINE float weighted(const struct query *query, const float *alike) {
    float sum = 0;
    for (int64_t word = 0; word < query->count; word++) sum += query->weights[word] * alike[word];
    return sum;
}

INLINE void keep_largest(float *largest, const float *others, int64_t count) {
    for (int64_t at = 0; at < count; at++) largest[at] = others[at] > largest[at] ? others[at] : largest[at];
}

INLINE void compare_all(const struct table *table, const struct query *query, const struct passages *passages,
                        const struct scratch *scratch, float *likeness) {
    const int32_t *row = passages->rows;
    float *in_segment = scratch->best, *in_passage = scratch->best + query->count;
    int64_t width = query->count + 1, segment = 0;
    int32_t distinct = 0;
    for (int64_t passage = 0; passage < passages->count; passage++) {
        float best_cosine = -1, best_sum = 0;
        for (int64_t word = 0; word < query->count; word++) in_passage[word] = 0;
        for (int64_t left = passages->segments[passage]; left > 0; left--, segment++) {
            float cosine = 0;
            for (int64_t word = 0; word < query->count; word++) in_segment[word] = 0;
            for (const int32_t *end = row + passages->counts[segment]; row < end; row++) {
                int32_t *place = &scratch->places[*row];
                if (*place == 0) { /* most words are repeated: a fifth of the time */
                    *place = ++distinct;
                    multiply(table, query, *row, scratch->wide, scratch->products + (*place - 1) * width);
                }
                const float *products = scratch->products + (*place - 1) * width;
                keep_largest(in_segment, products, query->count);
                cosine += products[query->count];
            }
            keep_largest(in_passage, in_segment, query->count);
            cosine /= passages->lengths[segment];
            float sum = weighted(query, in_segment);
            best_cosine = cosine > best_cosine ? cosine : best_cosine;
            best_sum = sum > best_sum ? sum : best_sum;
        }
        float similarity = (best_sum + weighted(query, in_passage)) / 2;
        likeness[2 * passage] = best_cosine;
        likeness[2 * passage + 1] = similarity < 1 ? similarity : 1;
    }
}

/* It takes half of the time. */
WIDE static void compare_all_wide(const struct table *table, const struct query *query, const struct passages *passages,
                                  const struct scratch *scratch, float *likeness) {
    compare_all(table, query, passages, scratch, likeness);
}

/* Write two numbers for each passage: the cosine of its best segment, and its word similarity. A passage without rows
 * has -1 and 0. */
EXPORT void compare_words(const struct table *table, const struct query *query, const struct passages *passages,
                          const struct scratch *scratch, float *likeness, bool wide) {
    (wide ? compare_all_wide : compare_all)(table, query, passages, scratch, likeness);
}
