/* Attention of one new token per sequence over keys and values in blocks, in bfloat16. The twin: paged_decode.py. */
#include <math.h>
#include <stdlib.h>

#include "exponential.h"
#include "lanes.h"

#define PARTS 16 /* partial sums, so that the compiler may use vectors without changing the order of additions */

typedef struct {
    const uint16_t *query; /* [sequences, num_heads, dim], a sequence every query_stride elements */
    const uint16_t *pool;  /* [blocks, block_size, 2, num_kv_heads, dim]: keys before values */
    const int64_t *tables; /* [sequences, table_width] */
    const int64_t *contexts;
    uint16_t *output; /* [sequences, num_heads, dim] */
    int64_t query_stride, num_sequences, table_width, block_size, num_heads, num_kv_heads, dim;
} Attention;

static int64_t token_stride(const Attention *a) { return 2 * a->num_kv_heads * a->dim; }

static const uint16_t *stored_block(const Attention *a, int64_t sequence, int64_t index) {
    return a->pool + a->tables[sequence * a->table_width + index] * a->block_size * token_stride(a);
}

/* Tokens of a sequence from `first` on that lie in one block. */
static int64_t tokens_in_block(const Attention *a, int64_t sequence, int64_t first) {
    int64_t left = a->contexts[sequence] - first;
    return left < a->block_size ? left : a->block_size;
}

/* Scores of the context for one query, which is scaled already. */
static void score(const Attention *a, int64_t sequence, int64_t kv_head, const float *query, float *scores) {
    const int64_t stride = token_stride(a), dim = a->dim;
    for (int64_t first = 0, index = 0; first < a->contexts[sequence]; first += a->block_size, index++) {
        const uint16_t *key = stored_block(a, sequence, index) + kv_head * dim;
        int64_t count = tokens_in_block(a, sequence, first);
        for (int64_t token = 0; token < count; token++, key += stride) {
            floats parts = all_floats(0.0f);
            for (int64_t i = 0; i < dim; i += LANES) {
                parts = multiply_add(load_floats(query + i), load_bfloat16s(key + i), parts);
            }
            scores[first + token] = sum_floats(parts);
        }
    }
}

static float largest_of(const float *scores, int64_t count) {
    float parts[PARTS], largest;
    int64_t whole = count / PARTS * PARTS;
    for (int part = 0; part < PARTS; part++) parts[part] = scores[0];
    for (int64_t i = 0; i < whole; i += PARTS) {
        for (int part = 0; part < PARTS; part++) {
            parts[part] = scores[i + part] > parts[part] ? scores[i + part] : parts[part];
        }
    }
    largest = parts[0];
    for (int part = 1; part < PARTS; part++) largest = parts[part] > largest ? parts[part] : largest;
    for (int64_t i = whole; i < count; i++) largest = scores[i] > largest ? scores[i] : largest;
    return largest;
}

/* Scores become weights that are not divided by their sum yet; returns the sum. */
static float exponentiate(float *scores, int64_t count) {
    float largest = largest_of(scores, count), parts[PARTS] = {0}, total = 0;
    int64_t whole = count / PARTS * PARTS;
    for (int64_t i = 0; i < count; i++) scores[i] = exponential(scores[i] - largest);
    for (int64_t i = 0; i < whole; i += PARTS) {
        for (int part = 0; part < PARTS; part++) parts[part] += scores[i + part];
    }
    for (int64_t i = whole; i < count; i++) parts[i - whole] += scores[i];
    for (int part = 0; part < PARTS; part++) total += parts[part];
    return total;
}

/* `columns` numbers of the weighted sum of values; a constant wherever it is inlined. */
static inline __attribute__((always_inline)) void weigh(const Attention *a, int64_t sequence, int64_t column,
                                                        const float *weights, float *sum, const int columns) {
    floats sums[64 / LANES];
#pragma GCC unroll 8
    for (int i = 0; i < columns / LANES; i++) sums[i] = all_floats(0.0f);
    const int64_t stride = token_stride(a);
    for (int64_t first = 0, index = 0; first < a->contexts[sequence]; first += a->block_size, index++) {
        const uint16_t *value = stored_block(a, sequence, index) + a->num_kv_heads * a->dim + column;
        int64_t count = tokens_in_block(a, sequence, first);
        for (int64_t token = 0; token < count; token++, value += stride) {
            floats weight = all_floats(weights[first + token]);
#pragma GCC unroll 8
            for (int i = 0; i < columns / LANES; i++) {
                sums[i] = multiply_add(load_bfloat16s(value + i * LANES), weight, sums[i]);
            }
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < columns / LANES; i++) store_floats(sum + i * LANES, sums[i]);
}

/* One query head of one sequence. scratch: [dim] the query, [context] scores. */
static void attend_head(const Attention *a, int64_t sequence, int64_t head, float *scratch) {
    int64_t kv_head = head / (a->num_heads / a->num_kv_heads), dim = a->dim, first = 0;
    const uint16_t *query = a->query + sequence * a->query_stride + head * dim;
    uint16_t *output = a->output + (sequence * a->num_heads + head) * dim;
    float *scores = scratch + dim, scale = 1.0f / sqrtf((float)dim);
    for (int64_t i = 0; i < dim; i++) scratch[i] = from_bfloat16(query[i]) * scale;
    score(a, sequence, kv_head, scratch, scores);
    float inverse = 1.0f / exponentiate(scores, a->contexts[sequence]);
    for (; first + 64 <= dim; first += 64) weigh(a, sequence, kv_head * dim + first, scores, scratch + first, 64);
    for (; first < dim; first += 16) weigh(a, sequence, kv_head * dim + first, scores, scratch + first, 16);
    for (int64_t i = 0; i < dim; i++) output[i] = to_bfloat16(scratch[i] * inverse);
}

/* dim must be a multiple of 16. Returns 0, or 1 if there is no memory for the scores. */
int paged_decode(const uint16_t *query, const uint16_t *pool, const int64_t *tables, const int64_t *contexts,
                 uint16_t *output, int64_t query_stride, int64_t num_sequences, int64_t table_width,
                 int64_t block_size, int64_t num_heads, int64_t num_kv_heads, int64_t dim, int num_threads) {
    Attention a = {query,       pool,       tables,    contexts,     output, query_stride, num_sequences,
                   table_width, block_size, num_heads, num_kv_heads, dim};
    int64_t num_jobs = num_sequences * num_heads, longest = 0;
    for (int64_t i = 0; i < num_sequences; i++) longest = contexts[i] > longest ? contexts[i] : longest;
    int64_t stride = dim + longest;
    if (num_threads < 1) num_threads = 1;
    float *scratch = malloc((size_t)(stride * num_threads) * sizeof *scratch);
    if (!scratch) return 1;
    if (num_threads > 1) {
#pragma omp parallel for num_threads(num_threads) schedule(static)
        for (int thread = 0; thread < num_threads; thread++) {
            for (int64_t job = thread; job < num_jobs; job += num_threads) {
                attend_head(&a, job / num_heads, job % num_heads, scratch + thread * stride);
            }
        }
    } else {
        for (int64_t job = 0; job < num_jobs; job++) attend_head(&a, job / num_heads, job % num_heads, scratch);
    }
    free(scratch);
    return 0;
}
