/* Attention of one new token per sequence over keys and values in blocks, in bfloat16. The twin: paged_decode.py. */
#include <math.h>

#include "exponential.h"
#include "kernels.h"
#include "lanes.h"
#include "scratch.h"
#include "walk.h"

#define MAX_HEADS 4
#define COLUMNS 2 /* vectors of coordinates that are summed at once */
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

/* Scores of the context for the query heads of a key head: LANES keys at a time, each by a vector of partial sums. */
static void score(const Attention *a, int64_t sequence, int64_t kv_head, float *scores, int64_t stride) {
    const int64_t dim = a->dim, context = a->contexts[sequence], group = a->num_heads / a->num_kv_heads;
    const uint16_t *queries = a->query + sequence * a->query_stride + kv_head * group * dim;
    const floats scale = all_floats(1.0f / sqrtf((float)dim));
    Walk tokens = walk(a->pool + kv_head * dim, a->tables + sequence * a->table_width, a->block_size, token_stride(a), context);
    for (int64_t first = 0; first < context; first += LANES) {
        const uint16_t *keys[LANES];
        for (int64_t i = 0; i < LANES; i++) keys[i] = next_token(&tokens); /* scores behind the end are not read */
        for (int64_t head = 0; head < group; head++) {
            const uint16_t *query = queries + head * dim;
            floats parts[LANES];
#pragma GCC unroll 16
            for (int i = 0; i < LANES; i++) parts[i] = all_floats(0.0f);
            for (int64_t d = 0; d < dim; d += 2 * LANES) {
                ints pairs = load_pairs((const uint32_t *)(query + d));
#pragma GCC unroll 16
                for (int i = 0; i < LANES; i++) {
                    parts[i] = dot_pairs(parts[i], load_pairs((const uint32_t *)(keys[i] + d)), pairs);
                }
            }
            store_floats(scores + head * stride + first, multiply(sums_of(parts), scale));
        }
    }
}

static float largest_score(const float *scores, int64_t count) {
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
    float largest = largest_score(scores, count), parts[PARTS] = {0}, total = 0;
    int64_t whole = count / PARTS * PARTS;
    for (int64_t i = 0; i < count; i++) scores[i] = exponential(scores[i] - largest);
    for (int64_t i = 0; i < whole; i += PARTS) {
        for (int part = 0; part < PARTS; part++) parts[part] += scores[i + part];
    }
    for (int64_t i = whole; i < count; i++) parts[i - whole] += scores[i];
    for (int part = 0; part < PARTS; part++) total += parts[part];
    return total;
}

/* A vector of coordinates of the weighted sums of values; `heads` is a constant wherever it is inlined. */
static inline __attribute__((always_inline)) void weigh(const Attention *a, int64_t sequence, int64_t column,
                                                        const float *weights, int64_t stride, float *output,
                                                        const int heads) {
    floats sums[MAX_HEADS][COLUMNS];
#pragma GCC unroll 4
    for (int head = 0; head < heads; head++) {
#pragma GCC unroll 2
        for (int i = 0; i < COLUMNS; i++) sums[head][i] = all_floats(0.0f);
    }
    const int64_t to_next = token_stride(a);
    for (int64_t first = 0, index = 0; first < a->contexts[sequence]; first += a->block_size, index++) {
        const uint16_t *value = stored_block(a, sequence, index) + a->num_kv_heads * a->dim + column;
        int64_t count = tokens_in_block(a, sequence, first);
        for (int64_t token = 0; token < count; token++, value += to_next) {
            floats values[COLUMNS];
#pragma GCC unroll 2
            for (int i = 0; i < COLUMNS; i++) values[i] = load_bfloat16s(value + i * LANES);
#pragma GCC unroll 4
            for (int head = 0; head < heads; head++) {
                floats weight = all_floats(weights[head * stride + first + token]);
#pragma GCC unroll 2
                for (int i = 0; i < COLUMNS; i++) sums[head][i] = multiply_add(values[i], weight, sums[head][i]);
            }
        }
    }
#pragma GCC unroll 4
    for (int head = 0; head < heads; head++) {
#pragma GCC unroll 2
        for (int i = 0; i < COLUMNS; i++) store_floats(output + head * a->dim + i * LANES, sums[head][i]);
    }
}

static void weigh_heads(const Attention *a, int64_t sequence, int64_t column, const float *weights, int64_t stride,
                        float *output, int64_t heads) {
    switch (heads) {
    case 1: weigh(a, sequence, column, weights, stride, output, 1); break;
    case 2: weigh(a, sequence, column, weights, stride, output, 2); break;
    case 3: weigh(a, sequence, column, weights, stride, output, 3); break;
    default: weigh(a, sequence, column, weights, stride, output, MAX_HEADS);
    }
}

static int64_t padded_context(const Attention *a, int64_t sequence) {
    return (a->contexts[sequence] + PARTS - 1) / PARTS * PARTS;
}

/* The query heads of one key head of one sequence. scratch: [group, padded context] scores, [group, dim] results. */
static void attend_group(const Attention *a, int64_t sequence, int64_t kv_head, float *scratch) {
    const int64_t group = a->num_heads / a->num_kv_heads, dim = a->dim, stride = padded_context(a, sequence);
    float *results = scratch + group * stride;
    uint16_t *output = a->output + (sequence * a->num_heads + kv_head * group) * dim;
    score(a, sequence, kv_head, scratch, stride);
    for (int64_t head = 0; head < group; head++) {
        float *weights = scratch + head * stride, inverse = 1.0f / exponentiate(weights, a->contexts[sequence]);
        for (int64_t i = 0; i < a->contexts[sequence]; i++) weights[i] *= inverse;
    }
    for (int64_t first = 0; first < group; first += MAX_HEADS) {
        int64_t heads = group - first < MAX_HEADS ? group - first : MAX_HEADS;
        for (int64_t i = 0; i < dim; i += COLUMNS * LANES) {
            weigh_heads(a, sequence, kv_head * dim + i, scratch + first * stride, stride, results + first * dim + i, heads);
        }
    }
    for (int64_t i = 0; i < group * dim; i++) output[i] = to_bfloat16(results[i]);
}

/* What one of so many threads does of paged_decode. */
int paged_decode_part(const uint16_t *query, const uint16_t *pool, const int64_t *tables, const int64_t *contexts,
                      uint16_t *output, int64_t query_stride, int64_t num_sequences, int64_t table_width,
                      int64_t block_size, int64_t num_heads, int64_t num_kv_heads, int64_t dim, int part,
                      int num_parts) {
    Attention a = {query,       pool,       tables,    contexts,     output, query_stride, num_sequences,
                   table_width, block_size, num_heads, num_kv_heads, dim};
    for (int64_t job = part; job < num_sequences * num_kv_heads; job += num_parts) {
        int64_t sequence = job / num_kv_heads, size = num_heads / num_kv_heads * (dim + padded_context(&a, sequence));
        float *scratch = (float *)scratch_of(size * (int64_t)sizeof *scratch);
        if (!scratch) return 1;
        attend_group(&a, sequence, job % num_kv_heads, scratch);
    }
    return 0;
}

/* dim must be a multiple of 32. Returns 0, or 1 if there is no memory for the scores. */
int paged_decode(const uint16_t *query, const uint16_t *pool, const int64_t *tables, const int64_t *contexts,
                 uint16_t *output, int64_t query_stride, int64_t num_sequences, int64_t table_width,
                 int64_t block_size, int64_t num_heads, int64_t num_kv_heads, int64_t dim, int num_threads) {
    int failed = 0;
    if (num_threads < 1) num_threads = 1;
#pragma omp parallel for num_threads(num_threads) schedule(static) reduction(| : failed) if (num_threads > 1)
    for (int part = 0; part < num_threads; part++) {
        failed |= paged_decode_part(query, pool, tables, contexts, output, query_stride, num_sequences, table_width,
                                    block_size, num_heads, num_kv_heads, dim, part, num_threads);
    }
    return failed;
}
