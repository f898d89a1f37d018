/* Attention of the last tokens of one sequence over keys and values in blocks, in bfloat16. The twin: paged_chunk.py.
 *
 * A job is one KV head and up to ROWS queries of the heads that share it. It goes over the keys in tiles of KEYS
 * positions from 0 on, and keeps for each query the largest score, the sum of weights and the weighted sum so far.
 * Everything is turned so that lanes hold queries: scores are [key][query], results [coordinate][query], and nothing
 * is summed across lanes. A query's result depends on no other query, nor on where the chunk begins.
 *
 * Both products take pairs of bfloat16: two coordinates for scores, two keys for results. Weights are rounded to that.
 */
#include <math.h>

#include "kernels.h"
#include "lanes.h"
#include "matrix_unit.h"
#include "scratch.h"
#include "walk.h"

#define ROWS 96
#define KEYS 64
#define UNIT 16 /* rows are padded to it */
#define LOWEST -1e30f /* instead of minus infinity, whose difference to itself is none */
#define LOG2_E 1.44269504f
#define LINE 64

typedef struct {
    const uint16_t *query; /* [num_queries, num_heads, dim], a token every query_stride elements */
    const uint16_t *pool;  /* [blocks, block_size, 2, num_kv_heads, dim]: keys before values */
    const int64_t *table;
    uint16_t *output; /* [num_queries, num_heads, dim] */
    int64_t query_stride, num_queries, context, block_size, num_heads, num_kv_heads, dim;
    int use_unit; /* the matrix unit multiplies */
} Chunk;

/* What a job works on. Numbers of rows are rounded up to whole units of 16; those beyond the last query are zeros. */
typedef struct {
    Walk tokens;
    int64_t kv_head, first_row, num_rows; /* rows are queries by token, then by head of the group */
    uint16_t *keys;                       /* [KEYS][dim] */
    uint32_t *values;                     /* [KEYS / 2][dim] pairs of keys */
    uint32_t *values_turned;              /* [dim][KEYS / 2] the same */
    uint32_t *query;                      /* [dim / 2][num_rows] pairs of coordinates */
    uint32_t *weights;                    /* [KEYS / 2][num_rows] pairs of keys */
    float *scores;                        /* [KEYS][num_rows] */
    float *result;                        /* [dim][num_rows] */
    float *largest, *sum, *visible;       /* [num_rows]; visible: keys from position 0 on that a row may see */
} Work;

static int64_t group_of(const Chunk *c) { return c->num_heads / c->num_kv_heads; }

static int64_t offset_of(const Chunk *c, const Work *w, int64_t row, int64_t token_stride) {
    int64_t group = group_of(c), global = w->first_row + row;
    return global / group * token_stride + (w->kv_head * group + global % group) * c->dim;
}

static int64_t rows_left(const Chunk *c, const Work *w) { return c->num_queries * group_of(c) - w->first_row; }

static void load_queries(const Chunk *c, Work *w) {
    int64_t left = rows_left(c, w), first_position = c->context - c->num_queries;
    for (int64_t row = 0; row < w->num_rows; row++) {
        const uint16_t *query = row < left ? c->query + offset_of(c, w, row, c->query_stride) : NULL;
        for (int64_t pair = 0; pair < c->dim / 2; pair++) {
            uint32_t word = 0;
            if (query) memcpy(&word, query + 2 * pair, sizeof word);
            w->query[pair * w->num_rows + row] = word;
        }
        int64_t token = (w->first_row + (row < left ? row : left - 1)) / group_of(c);
        w->largest[row] = LOWEST;
        w->sum[row] = 0;
        w->visible[row] = (float)(first_position + token + 1);
    }
    memset(w->result, 0, (size_t)(c->dim * w->num_rows) * sizeof *w->result);
}

/* The next keys and values; beyond the context the last ones again, which no row sees. */
static void load_tile(const Chunk *c, Work *w) {
    const int64_t dim = c->dim, to_value = c->num_kv_heads * dim;
    for (int64_t pair = 0; pair < KEYS / 2; pair++) {
        const uint16_t *key[2];
        for (int i = 0; i < 2; i++) {
            key[i] = next_token(&w->tokens);
            memcpy(w->keys + (2 * pair + i) * dim, key[i], (size_t)dim * sizeof *w->keys);
        }
        uint32_t *values = w->values + pair * dim;
        for (int64_t i = 0; i < dim; i++) {
            values[i] = (uint32_t)key[0][to_value + i] | (uint32_t)key[1][to_value + i] << 16;
        }
    }
    if (!c->use_unit) return;
    for (int64_t i = 0; i < dim; i += UNIT) {
        for (int64_t pair = 0; pair < KEYS / 2; pair += UNIT) {
            turn_words(w->values + pair * dim + i, dim, w->values_turned + i * (KEYS / 2) + pair, KEYS / 2);
        }
    }
}

/* MAX_ROWS rows of `a` by `vectors` vectors of columns; `vectors` is a constant wherever it is inlined. */
static inline __attribute__((always_inline)) void multiply_corner(const uint32_t *a, int64_t row_stride,
                                                                  int64_t pair_stride, const uint32_t *b, float *c,
                                                                  int64_t num_pairs, int64_t num_columns,
                                                                  const int vectors) {
    floats sums[MAX_ROWS][2];
#pragma GCC unroll 8
    for (int row = 0; row < MAX_ROWS; row++) {
#pragma GCC unroll 2
        for (int i = 0; i < vectors; i++) sums[row][i] = load_floats(c + row * num_columns + i * LANES);
    }
    for (int64_t pair = 0; pair < num_pairs; pair++, b += num_columns, a += pair_stride) {
#pragma GCC unroll 8
        for (int row = 0; row < MAX_ROWS; row++) {
            ints broadcast = all_ints((int32_t)a[row * row_stride]);
#pragma GCC unroll 2
            for (int i = 0; i < vectors; i++) {
                sums[row][i] = dot_pairs(sums[row][i], broadcast, load_pairs(b + i * LANES));
            }
        }
    }
#pragma GCC unroll 8
    for (int row = 0; row < MAX_ROWS; row++) {
#pragma GCC unroll 2
        for (int i = 0; i < vectors; i++) store_floats(c + row * num_columns + i * LANES, sums[row][i]);
    }
}

/* c [num_rows][num_columns] += a x b, over pairs: a by strides, b [num_pairs][num_columns]. */
static void multiply_pairs(const uint32_t *a, int64_t row_stride, int64_t pair_stride, const uint32_t *b, float *c,
                           int64_t num_rows, int64_t num_pairs, int64_t num_columns) {
    for (int64_t row = 0; row < num_rows; row += MAX_ROWS, a += MAX_ROWS * row_stride, c += MAX_ROWS * num_columns) {
        int64_t column = 0;
        for (; column + 2 * LANES <= num_columns; column += 2 * LANES) {
            multiply_corner(a, row_stride, pair_stride, b + column, c + column, num_pairs, num_columns, 2);
        }
        for (; column < num_columns; column += LANES) {
            multiply_corner(a, row_stride, pair_stride, b + column, c + column, num_pairs, num_columns, 1);
        }
    }
}

static void score(const Chunk *c, const Work *w) {
    const uint32_t *keys = (const uint32_t *)w->keys;
    if (c->use_unit) {
        unit_multiply(keys, c->dim / 2, w->query, w->scores, KEYS, c->dim / 2, w->num_rows, 0);
    } else {
        memset(w->scores, 0, (size_t)(KEYS * w->num_rows) * sizeof *w->scores);
        multiply_pairs(keys, c->dim / 2, 1, w->query, w->scores, KEYS, c->dim / 2, w->num_rows);
    }
}

static void add_values(const Chunk *c, const Work *w) {
    if (c->use_unit) {
        unit_multiply(w->values_turned, KEYS / 2, w->weights, w->result, c->dim, KEYS / 2, w->num_rows, 1);
    } else {
        multiply_pairs(w->values, 1, c->dim, w->weights, w->result, c->dim, KEYS / 2, w->num_rows);
    }
}

/* 1 for a key that is among the first `visible`, else 0. */
static inline floats seen(floats visible, int64_t position) {
    floats left = subtract(visible, all_floats((float)position));
    return greater(lesser(left, all_floats(1.0f)), all_floats(0.0f));
}

/* Scores that are not seen become lowest. Only tiles that reach beyond a row's own position need it. */
static void hide(const Work *w, int64_t column, int64_t first) {
    floats visible = load_floats(w->visible + column);
    for (int64_t key = 0; key < KEYS; key++) {
        float *scores = w->scores + key * w->num_rows + column;
        floats mask = seen(visible, first + key), hidden = subtract(all_floats(1.0f), mask);
        store_floats(scores, multiply_add(hidden, all_floats(LOWEST), multiply(mask, load_floats(scores))));
    }
}

/* The largest score of each of LANES rows. Four partial ones, as each waits for the one before. */
static inline floats largest_of(const float *scores, int64_t stride) {
    floats parts[4];
    for (int part = 0; part < 4; part++) parts[part] = load_floats(scores + part * stride);
    for (int64_t key = 4; key < KEYS; key += 4) {
#pragma GCC unroll 4
        for (int part = 0; part < 4; part++) parts[part] = greater(parts[part], load_floats(scores + (key + part) * stride));
    }
    return greater(greater(parts[0], parts[1]), greater(parts[2], parts[3]));
}

/* What was summed so far is brought to a new largest score of LANES rows. */
static void rescale(const Chunk *c, const Work *w, int64_t column, floats largest) {
    floats factor = powers_of_two(subtract(load_floats(w->largest + column), largest));
    store_floats(w->largest + column, largest);
    store_floats(w->sum + column, multiply(load_floats(w->sum + column), factor));
    for (int64_t i = 0; i < c->dim; i++) {
        float *result = w->result + i * w->num_rows + column;
        store_floats(result, multiply(load_floats(result), factor));
    }
}

/* Scores of LANES rows become weights. */
static void weigh(const Chunk *c, const Work *w, int64_t column) {
    const float *scores = w->scores + column;
    const int64_t stride = w->num_rows;
    floats scale = all_floats(LOG2_E / sqrtf((float)c->dim)), before = load_floats(w->largest + column);
    floats largest = greater(multiply(largest_of(scores, stride), scale), before);
    if (sum_floats(subtract(largest, before)) > 0.0f) rescale(c, w, column, largest);
    floats shift = multiply(largest, all_floats(-1.0f)), even = load_floats(w->sum + column), odd = all_floats(0.0f);
    for (int64_t key = 0; key < KEYS; key += 2) {
        floats first = powers_of_two(multiply_add(load_floats(scores + key * stride), scale, shift));
        floats second = powers_of_two(multiply_add(load_floats(scores + (key + 1) * stride), scale, shift));
        even = add(even, first);
        odd = add(odd, second);
        store_pairs(w->weights + key / 2 * stride + column, pair_up(first, second));
    }
    store_floats(w->sum + column, add(even, odd));
}

static void store_results(const Chunk *c, const Work *w) {
    int64_t left = rows_left(c, w);
    for (int64_t row = 0; row < w->num_rows && row < left; row++) {
        uint16_t *output = c->output + offset_of(c, w, row, c->num_heads * c->dim);
        float inverse = 1.0f / w->sum[row];
        for (int64_t i = 0; i < c->dim; i++) output[i] = to_bfloat16(w->result[i * w->num_rows + row] * inverse);
    }
}

static void attend(const Chunk *c, Work *w) {
    load_queries(c, w);
    w->tokens = walk(c->pool + w->kv_head * c->dim, c->table, c->block_size, 2 * c->num_kv_heads * c->dim, c->context);
    const int64_t end = (int64_t)w->visible[w->num_rows - 1], all_see = (int64_t)w->visible[0];
    for (int64_t first = 0; first < end; first += KEYS) {
        load_tile(c, w);
        score(c, w);
        for (int64_t column = 0; column < w->num_rows; column += LANES) {
            if (first + KEYS > all_see) hide(w, column, first);
            weigh(c, w, column);
        }
        add_values(c, w);
    }
    store_results(c, w);
}

static char *take(char **free, int64_t num_words) {
    char *taken = *free;
    *free += (num_words * 4 + LINE - 1) / LINE * LINE;
    return taken;
}

/* Lays out a job's memory from `memory` on, or, without any, only counts; returns its end. */
static char *lay_out(Work *w, char *memory, int64_t dim) {
    w->keys = (uint16_t *)take(&memory, KEYS * dim / 2);
    w->values = (uint32_t *)take(&memory, KEYS / 2 * dim);
    w->values_turned = (uint32_t *)take(&memory, KEYS / 2 * dim);
    w->query = (uint32_t *)take(&memory, dim / 2 * ROWS);
    w->weights = (uint32_t *)take(&memory, KEYS / 2 * ROWS);
    w->scores = (float *)take(&memory, KEYS * ROWS);
    w->result = (float *)take(&memory, dim * ROWS);
    w->largest = (float *)take(&memory, ROWS);
    w->sum = (float *)take(&memory, ROWS);
    w->visible = (float *)take(&memory, ROWS);
    return memory;
}

static void run_job(const Chunk *c, Work *w, int64_t job) {
    int64_t tile = job / c->num_kv_heads, left;
    w->kv_head = job % c->num_kv_heads;
    w->first_row = tile * ROWS;
    left = rows_left(c, w);
    w->num_rows = left < ROWS ? (left + UNIT - 1) / UNIT * UNIT : ROWS;
    attend(c, w);
}

/* What one of so many threads does of paged_chunk. */
int paged_chunk_part(const uint16_t *query, const uint16_t *pool, const int64_t *table, uint16_t *output,
                     int64_t query_stride, int64_t num_queries, int64_t context, int64_t block_size,
                     int64_t num_heads, int64_t num_kv_heads, int64_t dim, int allow_unit, int part, int num_parts) {
    Chunk c = {query,      pool,      table,        output, query_stride, num_queries, context,
               block_size, num_heads, num_kv_heads, dim,    allow_unit && unit_is_there()};
    int64_t num_jobs = (num_queries * group_of(&c) + ROWS - 1) / ROWS * num_kv_heads;
    Work w;
    char *memory = scratch_of(lay_out(&w, NULL, dim) - (char *)NULL);
    if (!memory) return 1;
    lay_out(&w, memory, dim);
    if (c.use_unit) unit_open(UNIT);
    for (int64_t job = num_jobs - 1 - part; job >= 0; job -= num_parts) run_job(&c, &w, job);
    if (c.use_unit) unit_close();
    return 0;
}

/* dim must be a multiple of 32. Returns 0, or 1 if there is no memory to work in. */
int paged_chunk(const uint16_t *query, const uint16_t *pool, const int64_t *table, uint16_t *output,
                int64_t query_stride, int64_t num_queries, int64_t context, int64_t block_size, int64_t num_heads,
                int64_t num_kv_heads, int64_t dim, int allow_unit, int num_threads) {
    int failed = 0;
    if (num_threads < 1) num_threads = 1;
#pragma omp parallel for num_threads(num_threads) schedule(static) reduction(| : failed) if (num_threads > 1)
    for (int part = 0; part < num_threads; part++) {
        failed |= paged_chunk_part(query, pool, table, output, query_stride, num_queries, context, block_size,
                                   num_heads, num_kv_heads, dim, allow_unit, part, num_threads);
    }
    return failed;
}
