/* Linear layers on weights in 8 bits with a scale for each output: y = scale (x W^T) + bias. The twin:
 * channel_linear.py, the layout: packed_blocks.py; block_linear.c hands over what has this form.
 *
 * A strip is 16 outputs by all inputs. A row of x is quantized once, to 16 bits with one scale, of which the high and the
 * low 8 are multiplied apart. Products are summed exactly as integers, in lanes and by the matrix unit alike: a row's
 * result depends neither on the rows beside it nor on their number.
 */
#include "bfloat16.h"
#include "kernels.h"
#include "lanes.h"
#include "matrix_unit.h"
#include "rounding.h"
#include "scratch.h"

#define STRIP 16
#define STEP 64 /* inputs that the matrix unit takes at once; there are zeros up to a whole step */
#define PREFETCH 2048
#define ALIGNMENT 64
#define ZERO 128            /* is added to the values of weights */
#define LARGEST 32639       /* 127 x 256 + 127 */
#define UNIT_ROWS 16

enum half { HIGH, LOW };

/* Quantized rows: 256 HIGH + LOW, values of each [rows, inputs]; of every row its scale, and for each half the sum of its
 * values x ZERO. */
typedef struct {
    int8_t *values[2];
    float *scales;
    int32_t *zeros[2];
} Rows;

typedef struct {
    const void *x;
    const uint8_t *weight;
    const float *bias; /* or NULL */
    void *output;
    int x_is_bfloat16, output_is_bfloat16;
    int64_t num_rows, num_inputs, padded_inputs, num_outputs, strip_bytes;
    Rows rows;
} Job;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* A step of a row from input `first` on; zeros behind the last input. */
static void widen(const Job *job, int64_t row, int64_t first, float *wide) {
    const int64_t there = least(STEP, job->num_inputs - first), place = row * job->num_inputs + first;
    if (job->x_is_bfloat16) {
        const uint16_t *narrow = (const uint16_t *)job->x + place;
        for (int64_t i = 0; i < there; i++) wide[i] = from_bfloat16(narrow[i]);
    } else {
        memcpy(wide, (const float *)job->x + place, (size_t)there * sizeof *wide);
    }
    for (int64_t i = there; i < STEP; i++) wide[i] = 0.0f;
}

static float largest_of(const Job *job, int64_t row) {
    int32_t largest = 0;
    for (int64_t first = 0; first < job->num_inputs; first += STEP) {
        float wide[STEP];
        widen(job, row, first, wide);
        for (int i = 0; i < STEP; i++) {
            int32_t magnitude = (int32_t)(float_bits(wide[i]) & 0x7fffffff); /* ordered as the floats; NaN on top */
            largest = magnitude > largest ? magnitude : largest;
        }
    }
    return bits_float((uint32_t)largest);
}

static void quantize_row(const Job *job, int64_t row) {
    const float bound = largest_of(job, row), inverse = bound < 1e-34f ? 0.0f : LARGEST / bound;
    int32_t high_sum = 0, low_sum = 0;
    for (int64_t first = 0; first < job->num_inputs; first += STEP) {
        int8_t *high = job->rows.values[HIGH] + row * job->padded_inputs + first;
        int8_t *low = job->rows.values[LOW] + row * job->padded_inputs + first;
        float wide[STEP];
        widen(job, row, first, wide);
        for (int i = 0; i < STEP; i++) {
            int32_t value = nearest_integer(wide[i] * inverse);
            low[i] = (int8_t)value;
            high[i] = (int8_t)((value - (int8_t)value) >> 8);
            low_sum += low[i];
            high_sum += high[i];
        }
    }
    job->rows.scales[row] = bound < 1e-34f ? 0.0f : bound / LARGEST;
    job->rows.zeros[HIGH][row] = ZERO * high_sum;
    job->rows.zeros[LOW][row] = ZERO * low_sum;
}

/* Sums of a row's halves over all inputs, for LANES outputs from `first` on, become results. */
static void store(const Job *job, int64_t row, int64_t first, ints high, ints low) {
    const uint8_t *scales = job->weight + first / STRIP * job->strip_bytes + job->padded_inputs * STRIP;
    const int64_t left = least(LANES, job->num_outputs - first), start = row * job->num_outputs + first;
    floats sum = multiply_add(to_floats(high), all_floats(256.0f), to_floats(low));
    floats scale = multiply(load_floats((const float *)scales + first % STRIP), all_floats(job->rows.scales[row]));
    floats result = multiply(sum, scale);
    float values[LANES];
    if (left == LANES) {
        if (job->bias) result = add(result, load_floats(job->bias + first));
        if (job->output_is_bfloat16) {
            store_bfloat16s((uint16_t *)job->output + start, result);
        } else {
            store_floats((float *)job->output + start, result);
        }
        return;
    }
    store_floats(values, result);
    for (int64_t i = 0; i < left; i++) {
        float value = job->bias ? values[i] + job->bias[first + i] : values[i];
        if (job->output_is_bfloat16) {
            ((uint16_t *)job->output)[start + i] = to_bfloat16(value);
        } else {
            ((float *)job->output)[start + i] = value;
        }
    }
}

/* LANES outputs from `first` on for `count` rows. `count` is a constant wherever it is inlined. */
static inline __attribute__((always_inline)) void multiply_rows(const Job *job, int64_t row, int64_t first,
                                                                const int count) {
    const uint8_t *weights = job->weight + first / STRIP * job->strip_bytes + first % STRIP * 4;
    const int64_t stride = job->padded_inputs;
    const int8_t *high = job->rows.values[HIGH] + row * stride, *low = job->rows.values[LOW] + row * stride;
    ints high_sums[MAX_ROWS], low_sums[MAX_ROWS];
#pragma GCC unroll 16
    for (int r = 0; r < count; r++) {
        high_sums[r] = all_ints(-job->rows.zeros[HIGH][row + r]);
        low_sums[r] = all_ints(-job->rows.zeros[LOW][row + r]);
    }
    for (int64_t input = 0; input < stride; input += 4, weights += STRIP * 4) {
        ints packed = load_bytes(weights);
        __builtin_prefetch(weights + PREFETCH);
#pragma GCC unroll 16
        for (int r = 0; r < count; r++) {
            high_sums[r] = dot_bytes(high_sums[r], packed, four_inputs(high + r * stride + input));
            low_sums[r] = dot_bytes(low_sums[r], packed, four_inputs(low + r * stride + input));
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < count; r++) store(job, row + r, first, high_sums[r], low_sums[r]);
}

static void multiply_strip_in_lanes(const Job *job, int64_t strip) {
    const int64_t end = least((strip + 1) * STRIP, job->num_outputs);
    for (int64_t first = strip * STRIP; first < end; first += LANES) {
        int64_t row = 0;
        for (; row + MAX_ROWS <= job->num_rows; row += MAX_ROWS) multiply_rows(job, row, first, MAX_ROWS);
#if MAX_ROWS > 4
        for (; row + 4 <= job->num_rows; row += 4) multiply_rows(job, row, first, 4);
#endif
#if MAX_ROWS > 2
        for (; row + 2 <= job->num_rows; row += 2) multiply_rows(job, row, first, 2);
#endif
        for (; row < job->num_rows; row++) multiply_rows(job, row, first, 1);
    }
}

/* 16 rows, whose halves are the two of a corner, by two strips of outputs; the last strip may be alone, then it is its
 * own neighbour. At the end come the last 16 rows, some of them twice: they come out the same. */
static void multiply_corner(const Job *job, int64_t row, int64_t strip) {
    uint8_t products[2][2][UNIT_ROWS][STRIP * 4] __attribute__((aligned(ALIGNMENT))); /* of halves and strips, int32 */
    const int64_t count = least(job->num_rows, UNIT_ROWS), begin = least(row, job->num_rows - count);
    const int64_t strips[2] = {strip, (strip + 1) * STRIP < job->num_outputs ? strip + 1 : strip};
    const int64_t place = begin * job->padded_inputs;
    const int8_t *high = job->rows.values[HIGH] + place, *low = job->rows.values[LOW] + place;
    const uint8_t *left = job->weight + strips[0] * job->strip_bytes, *right = job->weight + strips[1] * job->strip_bytes;
    unit_begin_corner();
    for (int64_t input = 0; input < job->padded_inputs; input += STEP, left += STEP * STRIP, right += STEP * STRIP) {
        for (int64_t ahead = PREFETCH; row == 0 && ahead < PREFETCH + STEP * STRIP; ahead += ALIGNMENT) {
            __builtin_prefetch(left + ahead);
            __builtin_prefetch(right + ahead);
        }
        unit_add_bytes_to_corner(high + input, low + input, job->padded_inputs, left, right);
    }
    unit_store_corner((float *)products);
    for (int side = 0; side < 2; side++) {
        for (int64_t r = 0; r < count; r++) {
            const ints high_zero = all_ints(-job->rows.zeros[HIGH][begin + r]);
            const ints low_zero = all_ints(-job->rows.zeros[LOW][begin + r]);
            store(job, begin + r, strips[side] * STRIP, add_ints(load_bytes(products[HIGH][side][r]), high_zero),
                  add_ints(load_bytes(products[LOW][side][r]), low_zero));
        }
    }
}

static void multiply_by_unit(const Job *job, int64_t num_strips, int64_t part, int64_t num_parts) {
    const int64_t num_pairs = (num_strips + 1) / 2, end = share(num_pairs, part + 1, num_parts);
    unit_open(job->num_rows);
    for (int64_t pair = share(num_pairs, part, num_parts); pair < end; pair++) {
        for (int64_t row = 0; row < job->num_rows; row += UNIT_ROWS) multiply_corner(job, row, 2 * pair);
    }
    unit_close();
}

static int64_t padded(int64_t count, int64_t whole) { return (count + whole - 1) / whole * whole; }

/* Room for quantized rows; NULL values if there is no memory. */
static Rows rows_of(const Job *job) {
    const int64_t values = job->num_rows * job->padded_inputs, side = padded(job->num_rows * 4, ALIGNMENT);
    char *scratch = scratch_of(2 * values + 3 * side), *behind = scratch + 2 * values;
    if (!scratch) return (Rows){0};
    return (Rows){{(int8_t *)scratch, (int8_t *)scratch + values},
                  (float *)behind,
                  {(int32_t *)(behind + side), (int32_t *)(behind + 2 * side)}};
}

/* What one of so many threads does of block_linear for weights of this form; returns as it does. */
int channel_linear(const void *x, const void *weight, const float *bias, void *output, int64_t num_rows,
                   int64_t num_inputs, int64_t num_outputs, int x_is_bfloat16, int output_is_bfloat16,
                   int allow_unit, int part, int num_parts) {
    const int64_t padded_inputs = padded(num_inputs, STEP), num_strips = (num_outputs + STRIP - 1) / STRIP;
    Job job = {x, weight, bias, output, x_is_bfloat16, output_is_bfloat16, num_rows, num_inputs, padded_inputs, num_outputs,
               (padded_inputs + 4) * STRIP, {0}};
    job.rows = rows_of(&job);
    if (!job.rows.scales) return 1;
    for (int64_t row = 0; row < num_rows; row++) quantize_row(&job, row);
    if (allow_unit && num_rows > 0 && unit_is_there()) {
        multiply_by_unit(&job, num_strips, part, num_parts);
        return 0;
    }
    for (int64_t strip = share(num_strips, part, num_parts); strip < share(num_strips, part + 1, num_parts); strip++) {
        multiply_strip_in_lanes(&job, strip);
    }
    return 0;
}
