/* Linear layers on block-quantized weights: y = x W^T + bias. The twins and the layout: block_linear.py.
 *
 * A tile is 16 outputs by one block of 32 inputs, tiles of one 16 outputs follow each other. Lanes hold
 * outputs, four inputs of a row are broadcast to all lanes, and nothing is summed across lanes. A row of x is
 * quantized once, to 8 bits with a scale per block. The products of a block are summed exactly as integers,
 * the blocks of a row in order as float32: a row's result does not depend on the rows beside it.
 *
 * Where the CPU has a matrix unit it takes over many rows, as they are, in bfloat16: two tiles are unpacked to bfloat16
 * into the cache, and all rows pass by. There a row depends on no other either.
 */
#include "bfloat16.h"
#include "kernels.h"
#include "lanes.h"
#include "matrix_unit.h"
#include "rounding.h"
#include "scratch.h"

#define BLOCK 32
#define TILE 16
#define PREFETCH 2048
#define ALIGNMENT 64
#define NIBBLE_TILE (TILE * BLOCK / 2 + 2 * TILE * 2) /* values; scales and minima, float16 */
#define BYTE_TILE (TILE * BLOCK + TILE * 2)           /* values + 128; scales */
#define PAIR_TILE (TILE * BLOCK * 2)                   /* bfloat16, by pairs of inputs */
#define BYTE_ZERO 128

#define RING 4           /* blocks that are unpacked ahead */
#define UNIT_ROWS 16     /* the matrix unit multiplies so many at once */
#define MIN_UNIT_ROWS 17 /* fewer are as quick in lanes */
#define MIN_PAIR_ROWS 5  /* the same where nothing has to be unpacked */

enum form { NIBBLES, BYTES, PAIRS, CHANNELS };

/* Quantized rows: values [rows, blocks, 32]; of every block its scale, scale x sum, and sum. */
typedef struct {
    int8_t *values;
    float *scales, *scaled_sums;
    int32_t *sums;
} Rows;

typedef struct {
    const uint16_t *x; /* what pairs and the matrix unit take */
    const uint8_t *weight;
    const float *bias; /* or NULL */
    void *output;
    int x_is_bfloat16, output_is_bfloat16;
    int64_t num_rows, num_blocks, num_outputs;
    enum form form;
    int use_unit;
    Rows rows; /* what lanes take otherwise */
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
        int32_t value = nearest_integer(x[i] * inverse);
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
        if (job->x_is_bfloat16) {
            const uint16_t *narrow = (const uint16_t *)x + block * BLOCK;
            for (int i = 0; i < BLOCK; i++) wide[i] = from_bfloat16(narrow[i]);
        } else {
            memcpy(wide, (const float *)x + block * BLOCK, sizeof wide);
        }
        quantize_block(wide, rows->values + block * BLOCK, rows->scales + block, rows->scaled_sums + block,
                       rows->sums + block);
    }
}

static const int64_t TILE_BYTES[] = {NIBBLE_TILE, BYTE_TILE, PAIR_TILE};

static inline void store_values(const Job *job, int64_t start, const float *values, const int64_t count) {
    if (job->output_is_bfloat16) {
        uint16_t *output = (uint16_t *)job->output + start;
        for (int64_t i = 0; i < count; i++) output[i] = to_bfloat16(values[i]);
    } else {
        memcpy((float *)job->output + start, values, (size_t)count * sizeof *values);
    }
}

/* LANES results of a row from output `first` on, which are changed. */
static void store(const Job *job, int64_t row, int64_t first, float *values) {
    int64_t left = job->num_outputs - first, start = row * job->num_outputs + first;
    if (job->bias) {
        for (int64_t i = 0; i < LANES && i < left; i++) values[i] += job->bias[first + i];
    }
    if (left >= LANES && job->output_is_bfloat16) {
        store_bfloat16s((uint16_t *)job->output + start, load_floats(values));
    } else if (left >= LANES) {
        store_values(job, start, values, LANES);
    } else {
        store_values(job, start, values, left);
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
/* Weights of a block of a tile in bfloat16, by pairs of inputs: pairs [16][16 outputs]. A value is put into the mantissa
 * of a number from 1 to 2, which the multiplication by its scale takes out again. */
static inline __attribute__((always_inline)) void unpack_block(const uint8_t *tile, const enum form form,
                                                               uint32_t *pairs) {
    const int bits = form == NIBBLES ? 4 : 8;
    const uint8_t *halves = tile + TILE * BLOCK * bits / 8;
    floats scale = multiply(load_halves(halves), all_floats((float)(1 << bits))), offset;
    if (form == NIBBLES) {
        offset = subtract(load_halves(halves + TILE * 2), scale);
    } else {
        offset = multiply(scale, all_floats(-1.5f)); /* the 1, and the zero at 128 */
    }
#pragma GCC unroll 8
    for (int group = 0; group < BLOCK / 4; group++) {
        ints packed = load_bytes(tile + group % bits * TILE * 4);
        int first = bits == 4 && group >= 4 ? 4 : 0;
        floats values[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            values[i] = multiply_add(as_mantissas(packed, first + 8 * i, bits), scale, offset);
        }
        store_pairs(pairs + 2 * group * TILE, pair_up(values[0], values[1]));
        store_pairs(pairs + (2 * group + 1) * TILE, pair_up(values[2], values[3]));
    }
}

/* Two tiles of outputs; the last one may be alone, then it is its own neighbour. */
typedef struct {
    int64_t first_output;
    const uint8_t *left, *right;
} Strip;

/* Block by block: [2][16][16] */
static void unpack_pair(const Job *job, const Strip *strip, int64_t block, uint32_t *pairs) {
    const int64_t bytes = TILE_BYTES[job->form], place = block * bytes;
    const uint8_t *packed[2] = {strip->left + place, strip->right + place};
    for (int column = 0; column < 2; column++, pairs += TILE * TILE) {
        for (int64_t ahead = 0; ahead < bytes; ahead += 64) __builtin_prefetch(packed[column] + PREFETCH + ahead);
        if (job->form == NIBBLES) {
            unpack_block(packed[column], NIBBLES, pairs);
        } else {
            unpack_block(packed[column], BYTES, pairs);
        }
    }
}

/* Rows of a corner from `row` on. Those at the end are the last 16, some of them twice: they come out the same. */
typedef struct {
    int64_t rows[2];
    const uint16_t *first, *second; /* second may be NULL */
} Corner;

static Corner corner_at(const Job *job, int64_t row) {
    const int64_t last = job->num_rows > UNIT_ROWS ? job->num_rows - UNIT_ROWS : 0, size = job->num_blocks * BLOCK;
    Corner corner = {{row < last ? row : last, row + UNIT_ROWS < last ? row + UNIT_ROWS : last}, NULL, NULL};
    corner.first = job->x + corner.rows[0] * size;
    if (row + UNIT_ROWS < job->num_rows) corner.second = job->x + corner.rows[1] * size;
    return corner;
}

static void finish_corner(const Job *job, const Strip *strip, const Corner *corner) {
    float products[4 * TILE * TILE] __attribute__((aligned(ALIGNMENT)));
    int64_t count = job->num_rows < UNIT_ROWS ? job->num_rows : UNIT_ROWS;
    unit_store_corner(products);
    for (int i = 0; i < (corner->second ? 4 : 2); i++) {
        int64_t output = strip->first_output + i % 2 * TILE;
        for (int64_t r = 0; r < count && output < job->num_outputs; r++) {
            store(job, corner->rows[i / 2] + r, output, products + (i * TILE + r) * TILE);
        }
    }
}

static void add_block(const Job *job, const Corner *corner, int64_t block, const uint32_t *left, const uint32_t *right) {
    const int64_t place = block * BLOCK, row_bytes = job->num_blocks * BLOCK * 2;
    unit_add_to_corner(corner->first + place, corner->second ? corner->second + place : NULL, row_bytes, left, right);
}

/* All rows are one corner: blocks are unpacked a little ahead, as what was just written can't be loaded at once. */
static void multiply_one_corner(const Job *job, const Strip *strip) {
    uint32_t ring[RING][2 * TILE * TILE] __attribute__((aligned(ALIGNMENT)));
    const Corner corner = corner_at(job, 0);
    unit_begin_corner();
    for (int64_t ahead = 0; ahead < job->num_blocks + RING - 1; ahead++) {
        int64_t block = ahead - (RING - 1);
        if (ahead < job->num_blocks) unpack_pair(job, strip, ahead, ring[ahead % RING]);
        if (block >= 0) add_block(job, &corner, block, ring[block % RING], ring[block % RING] + TILE * TILE);
    }
    finish_corner(job, strip, &corner);
}

/* Corner by corner, from blocks that are unpacked or need not be: [blocks], left and right block_words apart each. */
static void multiply_corners(const Job *job, const Strip *strip, const uint32_t *left, const uint32_t *right,
                             int64_t block_words) {
    for (int64_t row = 0; row < job->num_rows; row += 2 * UNIT_ROWS) {
        const Corner corner = corner_at(job, row);
        unit_begin_corner();
        for (int64_t block = 0; block < job->num_blocks; block++) {
            add_block(job, &corner, block, left + block * block_words, right + block * block_words);
        }
        finish_corner(job, strip, &corner);
    }
}

/* pairs: room for the strip's blocks. */
static void multiply_strip(const Job *job, int64_t tile, uint32_t *pairs) {
    const int64_t tile_bytes = job->num_blocks * TILE_BYTES[job->form], words = TILE * TILE;
    Strip strip = {tile * TILE, job->weight + tile * tile_bytes, job->weight + tile * tile_bytes};
    if ((tile + 1) * TILE < job->num_outputs) strip.right += tile_bytes;
    if (job->form == PAIRS) {
        multiply_corners(job, &strip, (const uint32_t *)strip.left, (const uint32_t *)strip.right, words);
    } else if (job->num_rows <= 2 * UNIT_ROWS) {
        multiply_one_corner(job, &strip);
    } else {
        for (int64_t block = 0; block < job->num_blocks; block++) {
            unpack_pair(job, &strip, block, pairs + 2 * words * block);
        }
        multiply_corners(job, &strip, pairs, pairs + words, 2 * words);
    }
}

/* The same for weights in bfloat16. */
static inline __attribute__((always_inline)) void multiply_pair_rows(const Job *job, int64_t row, int64_t first,
                                                                     const int count) {
    const int64_t stride = job->num_blocks * BLOCK;
    const uint8_t *weights = job->weight + first / TILE * job->num_blocks * PAIR_TILE + first % TILE * 4;
    const uint16_t *x = job->x + row * stride;
    floats total[MAX_ROWS];
#pragma GCC unroll 16
    for (int r = 0; r < count; r++) total[r] = all_floats(0.0f);
    for (int64_t pair = 0; pair < stride / 2; pair++, weights += TILE * 4) {
        ints packed = load_bytes(weights);
        __builtin_prefetch(weights + PREFETCH);
#pragma GCC unroll 16
        for (int r = 0; r < count; r++) {
            total[r] = dot_pairs(total[r], packed, four_inputs((const int8_t *)(x + r * stride + 2 * pair)));
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < count; r++) {
        float values[LANES];
        store_floats(values, total[r]);
        store(job, row + r, first, values);
    }
}

static inline __attribute__((always_inline)) void multiply_some(const Job *job, int64_t row, int64_t first,
                                                                const int count, const enum form form) {
    if (form == PAIRS) {
        multiply_pair_rows(job, row, first, count);
    } else {
        multiply_rows(job, row, first, count, form);
    }
}

static inline __attribute__((always_inline)) void multiply_tile(const Job *job, int64_t tile, const enum form form) {
    int64_t end = (tile + 1) * TILE < job->num_outputs ? (tile + 1) * TILE : job->num_outputs;
    for (int64_t first = tile * TILE; first < end; first += LANES) {
        int64_t row = 0;
        for (; row + MAX_ROWS <= job->num_rows; row += MAX_ROWS) multiply_some(job, row, first, MAX_ROWS, form);
#if MAX_ROWS > 4
        for (; row + 4 <= job->num_rows; row += 4) multiply_some(job, row, first, 4, form);
#endif
#if MAX_ROWS > 2
        for (; row + 2 <= job->num_rows; row += 2) multiply_some(job, row, first, 2, form);
#endif
        for (; row < job->num_rows; row++) multiply_some(job, row, first, 1, form);
    }
}

static void multiply_nibbles(const Job *job, int64_t tile) { multiply_tile(job, tile, NIBBLES); }

static void multiply_bytes(const Job *job, int64_t tile) { multiply_tile(job, tile, BYTES); }

static void multiply_pairs(const Job *job, int64_t tile) { multiply_tile(job, tile, PAIRS); }

static void (*const MULTIPLY[])(const Job *, int64_t) = {multiply_nibbles, multiply_bytes, multiply_pairs};

static int64_t padded(int64_t num_bytes) { return (num_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* Tiles by lanes. Each thread quantizes the few rows for itself, which is quicker than to wait for another. */
static int multiply_in_lanes(Job *job, const void *x, int64_t part, int64_t num_parts) {
    int64_t num_tiles = (job->num_outputs + TILE - 1) / TILE, end = share(num_tiles, part + 1, num_parts);
    if (job->form != PAIRS) {
        int64_t count = job->num_rows * job->num_blocks, side = padded(count * 4);
        char *scratch = scratch_of(count * BLOCK + 3 * side), *behind = scratch + count * BLOCK;
        if (!scratch) return 1;
        job->rows = (Rows){(int8_t *)scratch, (float *)behind, (float *)(behind + side), (int32_t *)(behind + 2 * side)};
        quantize_rows(x, job);
    }
    for (int64_t tile = share(num_tiles, part, num_parts); tile < end; tile++) MULTIPLY[job->form](job, tile);
    return 0;
}

static int multiply_by_unit(const Job *job, int64_t part, int64_t num_parts) {
    int64_t num_strips = (job->num_outputs + 2 * TILE - 1) / (2 * TILE), end = share(num_strips, part + 1, num_parts);
    uint32_t *pairs = (uint32_t *)scratch_of(job->num_blocks * 2 * TILE * TILE * 4);
    if (!pairs) return 1;
    unit_open(job->num_rows);
    for (int64_t strip = share(num_strips, part, num_parts); strip < end; strip++) multiply_strip(job, 2 * strip, pairs);
    unit_close();
    return 0;
}

static int prefers_unit(int64_t num_rows, enum form form) {
    return num_rows >= (form == PAIRS ? MIN_PAIR_ROWS : MIN_UNIT_ROWS) && unit_is_there();
}

/* What one of so many threads does of block_linear. */
int block_linear_part(const void *x, const void *weight, const float *bias, void *output, int64_t num_rows,
                      int64_t num_inputs, int64_t num_outputs, int form, int x_is_bfloat16, int output_is_bfloat16,
                      int allow_unit, int part, int num_parts) {
    if (form == CHANNELS) {
        return channel_linear(x, weight, bias, output, num_rows, num_inputs, num_outputs, x_is_bfloat16,
                              output_is_bfloat16, allow_unit, part, num_parts);
    }
    Job job = {x, weight, bias, output, x_is_bfloat16, output_is_bfloat16, num_rows, num_inputs / BLOCK, num_outputs,
               (enum form)form, allow_unit && x_is_bfloat16 && prefers_unit(num_rows, (enum form)form), {0}};
    return job.use_unit ? multiply_by_unit(&job, part, num_parts) : multiply_in_lanes(&job, x, part, num_parts);
}

/* Returns 0, or 1 if there is no memory to work in. x and output are float32, or bfloat16; pairs and the matrix unit
 * take x in bfloat16 alone, and multiply it as it is with weights in bfloat16. */
int block_linear(const void *x, const void *weight, const float *bias, void *output, int64_t num_rows,
                 int64_t num_inputs, int64_t num_outputs, int form, int x_is_bfloat16, int output_is_bfloat16,
                 int allow_unit, int num_threads) {
    int failed = 0;
    if (num_threads < 1) num_threads = 1;
#pragma omp parallel for num_threads(num_threads) schedule(static) reduction(| : failed) if (num_threads > 1)
    for (int part = 0; part < num_threads; part++) {
        failed |= block_linear_part(x, weight, bias, output, num_rows, num_inputs, num_outputs, form, x_is_bfloat16,
                                    output_is_bfloat16, allow_unit, part, num_threads);
    }
    return failed;
}

/* What the linear layers run on, or an empty text if this CPU can't run what was compiled. */
const char *kernel_isa(void) { return isa_runs_here() ? ISA : ""; }

/* Whether there is a matrix unit, which takes over many rows. */
int has_matrix_unit(void) { return unit_is_there(); }
