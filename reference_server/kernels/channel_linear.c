/* Linear layers on weights in 8 bits with a scale for each output: y = scale (x W^T) + bias. The layout:
 * packed_blocks.py; block_linear.c hands over what has this form.
 *
 * A strip is 16 outputs by all inputs. A row of x is quantized once, to 8 bits with a scale for each group of inputs.
 * The products of a group are summed exactly as integers, the groups of a row in order as float32, in lanes and by the
 * matrix unit alike: a row's result depends neither on the rows beside it nor on their number.
 */
#include "bfloat16.h"
#include "kernels.h"
#include "lanes.h"
#include "matrix_unit.h"
#include "scratch.h"

#define STRIP 16
#define GROUP 64 /* inputs with one scale, which the matrix unit takes at once; there are zeros up to a whole group */
#define PREFETCH 2048
#define ALIGNMENT 64
#define ZERO 128             /* is added to the values of weights */
#define ROUNDER 12582912.0f  /* 1.5 x 2^23: adding it rounds to an integer, found in the low bits */
#define UNIT_ROWS 16
#define MIN_UNIT_ROWS 3

/* Quantized rows: values [rows, inputs]; of every group its scale, and the sum of its values x ZERO. */
typedef struct {
    int8_t *values;
    float *scales;
    int32_t *zeros;
} Rows;

typedef struct {
    const void *x;
    const uint8_t *weight;
    const float *bias; /* or NULL */
    void *output;
    int x_is_bfloat16, output_is_bfloat16;
    int64_t num_rows, num_inputs, num_groups, num_outputs, strip_bytes;
    Rows rows;
} Job;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* A group of a row from input `first` on; zeros behind the last input. */
static void widen(const Job *job, int64_t row, int64_t first, float *wide) {
    const int64_t there = least(GROUP, job->num_inputs - first), place = row * job->num_inputs + first;
    if (job->x_is_bfloat16) {
        const uint16_t *narrow = (const uint16_t *)job->x + place;
        for (int64_t i = 0; i < there; i++) wide[i] = from_bfloat16(narrow[i]);
    } else {
        memcpy(wide, (const float *)job->x + place, (size_t)there * sizeof *wide);
    }
    for (int64_t i = there; i < GROUP; i++) wide[i] = 0.0f;
}

/* Returns the scale. */
static float quantize_group(const float *x, int8_t *values, int32_t *zero) {
    int32_t largest = 0, total = 0;
    for (int i = 0; i < GROUP; i++) {
        int32_t magnitude = (int32_t)(float_bits(x[i]) & 0x7fffffff); /* ordered as the floats; NaN on top */
        largest = magnitude > largest ? magnitude : largest;
    }
    float bound = bits_float((uint32_t)largest), inverse = bound < 1e-36f ? 0.0f : 127.0f / bound;
    for (int i = 0; i < GROUP; i++) {
        int32_t value = (int32_t)(float_bits(x[i] * inverse + ROUNDER) - 0x4b400000u);
        values[i] = (int8_t)value;
        total += (int8_t)value;
    }
    *zero = ZERO * total;
    return bound < 1e-36f ? 0.0f : bound / 127.0f;
}

static void quantize_rows(const Job *job) {
    for (int64_t row = 0; row < job->num_rows; row++) {
        for (int64_t group = 0; group < job->num_groups; group++) {
            float wide[GROUP];
            const int64_t place = row * job->num_groups + group;
            widen(job, row, group * GROUP, wide);
            job->rows.scales[place] = quantize_group(wide, job->rows.values + place * GROUP, job->rows.zeros + place);
        }
    }
}

static inline ints four_inputs(const int8_t *p) {
    int32_t word;
    memcpy(&word, p, sizeof word);
    return all_ints(word);
}

/* LANES sums of a row from output `first` on become results. */
static void store(const Job *job, int64_t row, int64_t first, floats sums) {
    const uint8_t *scales = job->weight + first / STRIP * job->strip_bytes + job->num_groups * GROUP * STRIP;
    const int64_t left = least(LANES, job->num_outputs - first), start = row * job->num_outputs + first;
    float values[LANES];
    store_floats(values, multiply(sums, load_floats((const float *)scales + first % STRIP)));
    for (int64_t i = 0; job->bias && i < left; i++) values[i] += job->bias[first + i];
    if (!job->output_is_bfloat16) {
        memcpy((float *)job->output + start, values, (size_t)left * sizeof *values);
    } else if (left == LANES) {
        store_bfloat16s((uint16_t *)job->output + start, load_floats(values));
    } else {
        for (int64_t i = 0; i < left; i++) ((uint16_t *)job->output)[start + i] = to_bfloat16(values[i]);
    }
}

/* LANES outputs from `first` on for `count` rows. `count` is a constant wherever it is inlined. */
static inline __attribute__((always_inline)) void multiply_rows(const Job *job, int64_t row, int64_t first,
                                                                const int count) {
    const uint8_t *weights = job->weight + first / STRIP * job->strip_bytes + first % STRIP * 4;
    const int64_t num_groups = job->num_groups, stride = num_groups * GROUP;
    const int8_t *x = job->rows.values + row * stride;
    floats total[MAX_ROWS];
#pragma GCC unroll 16
    for (int r = 0; r < count; r++) total[r] = all_floats(0.0f);
    for (int64_t group = 0; group < num_groups; group++) {
        const int64_t place = row * num_groups + group;
        ints sum[MAX_ROWS];
#pragma GCC unroll 16
        for (int r = 0; r < count; r++) sum[r] = all_ints(-job->rows.zeros[place + r * num_groups]);
        for (int input = 0; input < GROUP; input += 4, x += 4, weights += STRIP * 4) {
            ints packed = load_bytes(weights);
            __builtin_prefetch(weights + PREFETCH);
#pragma GCC unroll 16
            for (int r = 0; r < count; r++) sum[r] = dot_bytes(sum[r], packed, four_inputs(x + r * stride));
        }
#pragma GCC unroll 16
        for (int r = 0; r < count; r++) {
            total[r] = multiply_add(to_floats(sum[r]), all_floats(job->rows.scales[place + r * num_groups]), total[r]);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < count; r++) store(job, row + r, first, total[r]);
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

/* 32 rows, the first and the second 16, by two strips of outputs. At the end some rows come twice, and come out the
 * same; so does the last strip where it is alone. */
typedef struct {
    int64_t rows[2], outputs[2];
    const uint8_t *weights[2];
    int num_halves;
} Corner;

static Corner corner_at(const Job *job, int64_t row, int64_t strip) {
    const int64_t last_row = job->num_rows > UNIT_ROWS ? job->num_rows - UNIT_ROWS : 0;
    const int64_t right = (strip + 1) * STRIP < job->num_outputs ? strip + 1 : strip;
    return (Corner){{least(row, last_row), least(row + UNIT_ROWS, last_row)},
                    {strip * STRIP, right * STRIP},
                    {job->weight + strip * job->strip_bytes, job->weight + right * job->strip_bytes},
                    row + UNIT_ROWS < job->num_rows ? 2 : 1};
}

/* Sums of a group, from the matrix unit, go to the totals [2 of rows][2 of outputs][16][16]. */
static void take_group(const Job *job, const Corner *corner, int64_t group, float *totals) {
    int32_t products[4 * STRIP * STRIP] __attribute__((aligned(ALIGNMENT)));
    const int64_t count = least(job->num_rows, UNIT_ROWS);
    unit_store_corner((float *)products);
    for (int half = 0; half < corner->num_halves; half++) {
        for (int64_t r = 0; r < count; r++) {
            const int64_t place = (corner->rows[half] + r) * job->num_groups + group;
            const floats scale = all_floats(job->rows.scales[place]);
            for (int side = 0; side < 2; side++) {
                const int64_t at = ((2 * half + side) * STRIP + r) * STRIP;
                const ints sum = add_ints(load_bytes((const uint8_t *)(products + at)), all_ints(-job->rows.zeros[place]));
                store_floats(totals + at, multiply_add(to_floats(sum), scale, load_floats(totals + at)));
            }
        }
    }
}

static void multiply_corner(const Job *job, const Corner *corner) {
    float totals[4 * STRIP * STRIP] __attribute__((aligned(ALIGNMENT))) = {0};
    const int64_t stride = job->num_groups * GROUP, count = least(job->num_rows, UNIT_ROWS);
    const int8_t *first = job->rows.values + corner->rows[0] * stride;
    const int8_t *second = corner->num_halves > 1 ? job->rows.values + corner->rows[1] * stride : NULL;
    const uint8_t *left = corner->weights[0], *right = corner->weights[1];
    for (int64_t group = 0; group < job->num_groups; group++, left += GROUP * STRIP, right += GROUP * STRIP) {
        for (int64_t ahead = PREFETCH; ahead < PREFETCH + GROUP * STRIP; ahead += ALIGNMENT) {
            __builtin_prefetch(left + ahead);
            __builtin_prefetch(right + ahead);
        }
        unit_begin_corner();
        unit_add_bytes_to_corner(first + group * GROUP, second ? second + group * GROUP : NULL, stride, left, right);
        take_group(job, corner, group, totals);
    }
    for (int i = 0; i < 2 * corner->num_halves; i++) {
        for (int64_t r = 0; r < count; r++) {
            store(job, corner->rows[i / 2] + r, corner->outputs[i % 2], load_floats(totals + (i * STRIP + r) * STRIP));
        }
    }
}

static int64_t share(int64_t count, int64_t part, int64_t num_parts) { return count * part / num_parts; }

static void multiply_by_unit(const Job *job, int64_t num_strips, int64_t part, int64_t num_parts) {
    const int64_t num_pairs = (num_strips + 1) / 2, end = share(num_pairs, part + 1, num_parts);
    unit_open(job->num_rows);
    for (int64_t pair = share(num_pairs, part, num_parts); pair < end; pair++) {
        for (int64_t row = 0; row < job->num_rows; row += 2 * UNIT_ROWS) {
            const Corner corner = corner_at(job, row, 2 * pair);
            multiply_corner(job, &corner);
        }
    }
    unit_close();
}

/* Room for quantized rows; NULL values if there is no memory. */
static Rows rows_of(const Job *job) {
    const int64_t values = job->num_rows * job->num_groups * GROUP;
    const int64_t side = (job->num_rows * job->num_groups * 4 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    char *scratch = scratch_of(values + 2 * side);
    if (!scratch) return (Rows){0};
    return (Rows){(int8_t *)scratch, (float *)(scratch + values), (int32_t *)(scratch + values + side)};
}

/* What one of so many threads does of block_linear for weights of this form. */
int channel_linear_part(const void *x, const void *weight, const float *bias, void *output, int64_t num_rows,
                        int64_t num_inputs, int64_t num_outputs, int x_is_bfloat16, int output_is_bfloat16,
                        int allow_unit, int part, int num_parts) {
    const int64_t num_groups = (num_inputs + GROUP - 1) / GROUP, num_strips = (num_outputs + STRIP - 1) / STRIP;
    Job job = {x, weight, bias, output, x_is_bfloat16, output_is_bfloat16, num_rows, num_inputs, num_groups, num_outputs,
               (num_groups * GROUP + 4) * STRIP, {0}};
    job.rows = rows_of(&job);
    if (!job.rows.values) return 1;
    quantize_rows(&job);
    if (allow_unit && num_rows >= MIN_UNIT_ROWS && unit_is_there()) {
        multiply_by_unit(&job, num_strips, part, num_parts);
        return 0;
    }
    for (int64_t strip = share(num_strips, part, num_parts); strip < share(num_strips, part + 1, num_parts); strip++) {
        multiply_strip_in_lanes(&job, strip);
    }
    return 0;
}
