#include "findspot.h"
#include "processor.h"

enum { AHEAD = 4 }; /* rows that are fetched ahead, which halves the time */
enum { LINE = 64 }; /* bytes of a line of the cache */

/* A code has 8 bits and a number of the query is from -127 to 127, so the sum of up to 65,536 products fits. */
INLINE int32_t product_of(const uint8_t *code, const int16_t *query, int64_t dimension) {
    int32_t product = 0;
    for (int64_t at = 0; at < dimension; at++) product += code[at] * query[at];
    return product;
}

/* It takes half of the time. */
WIDE static int32_t wide_product_of(const uint8_t *code, const int16_t *query, int64_t dimension) {
    return product_of(code, query, dimension);
}

INLINE void fetch(const uint8_t *code, int64_t dimension) {
    for (int64_t at = 0; at < dimension; at += LINE) __builtin_prefetch(code + at);
}

/* The best rows so far are a heap: the worst of them is the first, so that a better row replaces it. */
typedef struct {
    int64_t *rows;
    int32_t *products;
    int64_t size;
} Best;

/* Of equal products, the one of the first row is better. */
static bool is_worse(const Best *best, int64_t one, int64_t other) {
    if (best->products[one] != best->products[other]) return best->products[one] < best->products[other];
    return best->rows[one] > best->rows[other];
}

static void swap(Best *best, int64_t one, int64_t other) {
    int64_t row = best->rows[one];
    int32_t product = best->products[one];
    best->rows[one] = best->rows[other];
    best->products[one] = best->products[other];
    best->rows[other] = row;
    best->products[other] = product;
}

/* Move an entry down the first `size` ones until no worse one is below it. */
static void sink(Best *best, int64_t at, int64_t size) {
    for (int64_t below = 2 * at + 1; below < size; below = 2 * at + 1) {
        if (below + 1 < size && is_worse(best, below + 1, below)) below++;
        if (!is_worse(best, below, at)) return;
        swap(best, at, below);
        at = below;
    }
}

static void rise(Best *best, int64_t at) {
    for (int64_t above = (at - 1) / 2; at > 0 && is_worse(best, at, above); above = (at - 1) / 2) {
        swap(best, at, above);
        at = above;
    }
}

static void add(Best *best, int64_t limit, int64_t row, int32_t product) {
    if (best->size < limit) {
        best->rows[best->size] = row;
        best->products[best->size] = product;
        rise(best, best->size++);
    } else if (product > best->products[0] || (product == best->products[0] && row < best->rows[0])) {
        best->rows[0] = row;
        best->products[0] = product;
        sink(best, 0, best->size);
    }
}

/* Compare the codes of rows with a query. 128 is the zero of a code, and `first` the row of the first code. Write the
 * `limit` rows with the highest products, best first and equal ones in order, and return how many there are. */
EXPORT int64_t best_products(const uint8_t *codes, int64_t dimension, int64_t first, const int64_t *rows, int64_t count,
                             const int16_t *query, int64_t limit, int64_t *best_rows, int32_t *products, bool wide) {
    Best best = {best_rows, products, 0};
    int32_t zero = 0;
    for (int64_t at = 0; at < dimension; at++) zero += 128 * query[at];
    for (int64_t place = 0; place < count && limit > 0; place++) {
        if (place + AHEAD < count) fetch(codes + (rows[place + AHEAD] - first) * dimension, dimension);
        const uint8_t *code = codes + (rows[place] - first) * dimension;
        int32_t product = wide ? wide_product_of(code, query, dimension) : product_of(code, query, dimension);
        add(&best, limit, rows[place], product - zero);
    }
    for (int64_t left = best.size - 1; left > 0; left--) {
        swap(&best, 0, left);
        sink(&best, 0, left);
    }
    return best.size;
}
