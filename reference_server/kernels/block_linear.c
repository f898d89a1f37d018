/* Linear layers on block-quantized weights: y = x W^T + bias. The twin and the layout: block_linear.py.
 *
 * A tile is 16 outputs by one block of 32 inputs, tiles of one 16 outputs follow each other. Lanes hold
 * outputs, four inputs of a row are broadcast to all lanes, and nothing is summed across lanes. A row of x is
 * quantized once, to 8 bits with a scale per block. The products of a block are summed exactly as integers,
 * the blocks of a row in order as float32: a row's result does not depend on the rows beside it.
 */
#include <stdlib.h>

#include "bfloat16.h"
#include "lanes.h"

#define BLOCK 32
#define TILE 16
#define PREFETCH 2048
#define ALIGNMENT 64
#define NIBBLE_TILE (TILE * BLOCK / 2 + 2 * TILE * 2) /* values; scales and minima, float16 */
#define BYTE_TILE (TILE * BLOCK + TILE * 2)           /* values + 128; scales */
#define BYTE_ZERO 128
#define ROUNDER 12582912.0f /* 1.5 x 2^23: adding it rounds to an integer, found in the low bits */

enum form { NIBBLES, BYTES };

/* Quantized rows: values [rows, blocks, 32]; of every block its scale, scale x sum, and sum. */
typedef struct {
    int8_t *values;
    float *scales, *scaled_sums;
    int32_t *sums;
} Rows;

typedef struct {
    const uint8_t *weight;
    const float *bias; /* or NULL */
    void *output;
    int is_bfloat16;
    int64_t num_rows, num_blocks, num_outputs;
    enum form form;
    Rows rows;
} Job;

static void quantize_block(const float *x, int8_t *values, float *scale, float *scaled_sum, int32_t *sum) {
    int32_t largest = 0, total = 0;
    for (int i = 0; i < BLOCK; i++) {
        int32_t magnitude = (int32_t)(float_bits(x[i]) & 0x7fffffff); /* ordered as the floats; NaN on top */
        largest = magnitude > largest ? magnitude : largest;
    }
    float bound = bits_float((uint32_t)largest);
    float inverse = bound < 1e-36f ? 0.0f : 127.0f / bound;
    for (int i = 0; i < BLOCK; i++) {
        int32_t value = (int32_t)(float_bits(x[i] * inverse + ROUNDER) - 0x4b400000u);
        values[i] = (int8_t)value;
        total += (int8_t)value;
    }
    *scale = bound < 1e-36f ? 0.0f : bound / 127.0f;
    *scaled_sum = *scale * (float)total;
    *sum = total;
}

static void quantize_rows(const void *x, const Job *job) {
    const Rows *rows = &job->rows;
    for (int64_t block = 0; block < job->num_rows * job->num_blocks; block++) {
        float wide[BLOCK];
        if (job->is_bfloat16) {
            const uint16_t *narrow = (const uint16_t *)x + block * BLOCK;
            for (int i = 0; i < BLOCK; i++) wide[i] = from_bfloat16(narrow[i]);
        } else {
            memcpy(wide, (const float *)x + block * BLOCK, sizeof wide);
        }
        quantize_block(wide, rows->values + block * BLOCK, rows->scales + block, rows->scaled_sums + block,
                       rows->sums + block);
    }
}

static inline ints four_inputs(const int8_t *p) {
    int32_t word;
    memcpy(&word, p, sizeof word);
    return all_ints(word);
}

static void store(const Job *job, int64_t row, int64_t first, const float *values) {
    int64_t count = job->num_outputs - first < LANES ? job->num_outputs - first : LANES;
    int64_t start = row * job->num_outputs + first;
    for (int64_t i = 0; i < count; i++) {
        float value = job->bias ? values[i] + job->bias[first + i] : values[i];
        if (job->is_bfloat16) {
            ((uint16_t *)job->output)[start + i] = to_bfloat16(value);
        } else {
            ((float *)job->output)[start + i] = value;
        }
    }
}

/* LANES outputs from `first` on for `count` rows. `count` and `form` are constants wherever it is inlined. */
static inline __attribute__((always_inline)) void multiply_rows(const Job *job, int64_t row, int64_t first,
                                                                const int count, const enum form form) {
    const int64_t num_blocks = job->num_blocks, stride = num_blocks * BLOCK;
    const int64_t tile_bytes = form == NIBBLES ? NIBBLE_TILE : BYTE_TILE;
    const int64_t part = first % TILE;
    const uint8_t *tile = job->weight + first / TILE * num_blocks * tile_bytes;
    const int8_t *x = job->rows.values + row * stride;
    const float *scales = job->rows.scales + row * num_blocks;
    const float *scaled_sums = job->rows.scaled_sums + row * num_blocks;
    const int32_t *sums = job->rows.sums + row * num_blocks;
    floats total[MAX_ROWS];
#pragma GCC unroll 16
    for (int r = 0; r < count; r++) total[r] = all_floats(0.0f);
    for (int64_t block = 0; block < num_blocks; block++, tile += tile_bytes, x += BLOCK) {
        const uint8_t *values = tile + part * 4;
        const uint8_t *halves = tile + (form == NIBBLES ? TILE * BLOCK / 2 : TILE * BLOCK) + part * 2;
        ints sum[MAX_ROWS];
        for (int64_t ahead = 0; ahead < tile_bytes; ahead += 64) __builtin_prefetch(tile + PREFETCH + ahead);
#pragma GCC unroll 16
        for (int r = 0; r < count; r++) {
            sum[r] = all_ints(form == NIBBLES ? 0 : -BYTE_ZERO * sums[r * num_blocks + block]);
        }
#pragma GCC unroll 8
        for (int group = 0; group < (form == NIBBLES ? 4 : 8); group++) {
            ints packed = load_bytes(values + group * TILE * 4);
#pragma GCC unroll 16
            for (int r = 0; r < count; r++) {
                const int8_t *inputs = x + r * stride + group * 4;
                if (form == NIBBLES) {
                    sum[r] = dot_nibbles(sum[r], low_nibbles(packed), four_inputs(inputs));
                    sum[r] = dot_nibbles(sum[r], high_nibbles(packed), four_inputs(inputs + BLOCK / 2));
                } else {
                    sum[r] = dot_bytes(sum[r], packed, four_inputs(inputs));
                }
            }
        }
        floats scale = load_halves(halves);
#pragma GCC unroll 16
        for (int r = 0; r < count; r++) {
            floats both = multiply(scale, all_floats(scales[r * num_blocks + block]));
            total[r] = multiply_add(to_floats(sum[r]), both, total[r]);
            if (form == NIBBLES) {
                floats scaled_sum = all_floats(scaled_sums[r * num_blocks + block]);
                total[r] = multiply_add(load_halves(halves + TILE * 2), scaled_sum, total[r]);
            }
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < count; r++) {
        float values[LANES];
        store_floats(values, total[r]);
        store(job, row + r, first, values);
    }
}

/* All rows for the outputs of one tile. */
static inline __attribute__((always_inline)) void multiply_tile(const Job *job, int64_t tile, const enum form form) {
    int64_t end = (tile + 1) * TILE < job->num_outputs ? (tile + 1) * TILE : job->num_outputs;
    for (int64_t first = tile * TILE; first < end; first += LANES) {
        int64_t row = 0;
        for (; row + MAX_ROWS <= job->num_rows; row += MAX_ROWS) multiply_rows(job, row, first, MAX_ROWS, form);
#if MAX_ROWS > 4
        for (; row + 4 <= job->num_rows; row += 4) multiply_rows(job, row, first, 4, form);
#endif
#if MAX_ROWS > 2
        for (; row + 2 <= job->num_rows; row += 2) multiply_rows(job, row, first, 2, form);
#endif
        for (; row < job->num_rows; row++) multiply_rows(job, row, first, 1, form);
    }
}

static void multiply_nibbles(const Job *job, int64_t tile) { multiply_tile(job, tile, NIBBLES); }

static void multiply_bytes(const Job *job, int64_t tile) { multiply_tile(job, tile, BYTES); }

static void multiply_all(const Job *job, int num_threads) {
    void (*multiply_one)(const Job *, int64_t) = job->form == NIBBLES ? multiply_nibbles : multiply_bytes;
    int64_t num_tiles = (job->num_outputs + TILE - 1) / TILE;
    if (num_threads > 1) {
#pragma omp parallel for num_threads(num_threads) schedule(static)
        for (int64_t tile = 0; tile < num_tiles; tile++) multiply_one(job, tile);
    } else {
        for (int64_t tile = 0; tile < num_tiles; tile++) multiply_one(job, tile);
    }
}

static int64_t padded(int64_t num_bytes) { return (num_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* Returns 0, or 1 if there is no memory for the quantized rows. x and output are float32, or bfloat16. */
int block_linear(const void *x, const void *weight, const float *bias, void *output, int64_t num_rows,
                 int64_t num_inputs, int64_t num_outputs, int form, int is_bfloat16, int num_threads) {
    static _Thread_local char *scratch;
    static _Thread_local int64_t scratch_bytes;
    int64_t count = num_rows * num_inputs / BLOCK, side = padded(count * 4), needed = count * BLOCK + 3 * side;
    if (needed > scratch_bytes) {
        free(scratch);
        scratch_bytes = padded(needed);
        scratch = aligned_alloc(ALIGNMENT, (size_t)scratch_bytes);
        if (!scratch) {
            scratch_bytes = 0;
            return 1;
        }
    }
    char *behind = scratch + count * BLOCK;
    Job job = {weight, bias, output, is_bfloat16, num_rows, num_inputs / BLOCK, num_outputs, (enum form)form,
               {(int8_t *)scratch, (float *)behind, (float *)(behind + side), (int32_t *)(behind + 2 * side)}};
    quantize_rows(x, &job);
    multiply_all(&job, num_threads);
    return 0;
}

/* What the linear layers run on, or an empty text if this CPU can't run what was compiled. */
const char *kernel_isa(void) { return isa_runs_here() ? ISA : ""; }
