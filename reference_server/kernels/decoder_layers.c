/* All layers of a decoder over one batch, by the kernels beside this one. The twin: decoder_layers.py.
 *
 * A step of one token is 300 small operations; between them Python and torch took as long as the operations.
 */
#include <stdlib.h>
#include <string.h>

#include "bfloat16.h"
#include "kernels.h"

#define LINE 64

typedef struct {
    const void *weight;
    const float *bias; /* or NULL */
    int64_t num_inputs, num_outputs, form;
} Linear;

typedef struct {
    const uint16_t *input_norm, *post_attention_norm;
    Linear qkv, output, gate_up, down;
    uint16_t *pool; /* [blocks, block_size, 2, num_kv_heads, dim] */
} Layer;

typedef struct {
    const Layer *layers;
    int64_t num_layers, hidden, intermediate, num_heads, num_kv_heads, dim, block_size;
    double epsilon;
} Decoder;

typedef struct {
    int64_t num_tokens, num_sequences, num_decodes, table_width, angle_stride;
    const int64_t *slots, *tables, *contexts, *starts;
    const uint16_t *cos, *sin;
} Batch;

/* What lies between the operations of a layer, a row for each token. */
typedef struct {
    uint16_t *normed, *qkv, *attended, *gate_up, *gated, *delta;
} Rows;

static int64_t row_of_qkv(const Decoder *d) { return (d->num_heads + 2 * d->num_kv_heads) * d->dim; }

static int multiply(const Linear *linear, const uint16_t *x, uint16_t *output, int64_t num_rows, int num_threads) {
    return block_linear(x, linear->weight, linear->bias, output, num_rows, linear->num_inputs, linear->num_outputs,
                        (int)linear->form, 1, 1, num_threads);
}

/* Keys and values, which follow the queries of a row, go to their slots. */
static void store_tokens(const Decoder *d, const Batch *b, const uint16_t *qkv, uint16_t *pool) {
    int64_t size = 2 * d->num_kv_heads * d->dim;
    for (int64_t token = 0; token < b->num_tokens; token++) {
        const uint16_t *key = qkv + token * row_of_qkv(d) + d->num_heads * d->dim;
        memcpy(pool + b->slots[token] * size, key, (size_t)size * sizeof *key);
    }
}

static int attend(const Decoder *d, const Batch *b, const Layer *layer, const Rows *rows, int num_threads) {
    int failed = paged_decode(rows->qkv, layer->pool, b->tables, b->contexts, rows->attended, row_of_qkv(d),
                              b->num_decodes, b->table_width, d->block_size, d->num_heads, d->num_kv_heads, d->dim,
                              num_threads);
    for (int64_t i = b->num_decodes; i < b->num_sequences; i++) {
        int64_t first = b->starts[i];
        failed |= paged_chunk(rows->qkv + first * row_of_qkv(d), layer->pool, b->tables + i * b->table_width,
                              rows->attended + first * d->num_heads * d->dim, row_of_qkv(d), b->starts[i + 1] - first,
                              b->contexts[i], d->block_size, d->num_heads, d->num_kv_heads, d->dim, 1, num_threads);
    }
    return failed;
}

static int run_layer(const Decoder *d, const Batch *b, const Layer *layer, const Rows *rows, uint16_t *residual,
                     int is_first, int num_threads) {
    const int64_t n = b->num_tokens;
    int failed = 0;
    rms_norm(residual, is_first ? NULL : rows->delta, layer->input_norm, rows->normed, n, d->hidden, (float)d->epsilon);
    failed |= multiply(&layer->qkv, rows->normed, rows->qkv, n, num_threads);
    rope(rows->qkv, b->cos, b->sin, n, d->num_heads + 2 * d->num_kv_heads, d->num_heads + d->num_kv_heads, d->dim,
         b->angle_stride);
    store_tokens(d, b, rows->qkv, layer->pool);
    failed |= attend(d, b, layer, rows, num_threads);
    failed |= multiply(&layer->output, rows->attended, rows->delta, n, num_threads);
    rms_norm(residual, rows->delta, layer->post_attention_norm, rows->normed, n, d->hidden, (float)d->epsilon);
    failed |= multiply(&layer->gate_up, rows->normed, rows->gate_up, n, num_threads);
    silu_mul(rows->gate_up, rows->gated, n, d->intermediate);
    failed |= multiply(&layer->down, rows->gated, rows->delta, n, num_threads);
    return failed;
}

static uint16_t *take(uint16_t **free, int64_t num_elements) {
    uint16_t *taken = *free;
    *free += (num_elements * 2 + LINE - 1) / LINE * LINE / 2;
    return taken;
}

/* Lays out rows from `memory` on, or, without any, only counts; returns their end. */
static uint16_t *lay_out(const Decoder *d, int64_t num_tokens, Rows *rows, uint16_t *memory) {
    rows->normed = take(&memory, num_tokens * d->hidden);
    rows->qkv = take(&memory, num_tokens * row_of_qkv(d));
    rows->attended = take(&memory, num_tokens * d->num_heads * d->dim);
    rows->gate_up = take(&memory, num_tokens * 2 * d->intermediate);
    rows->gated = take(&memory, num_tokens * d->intermediate);
    rows->delta = take(&memory, num_tokens * d->hidden);
    return memory;
}

/* residual [num_tokens, hidden]: embeddings become hidden states. Returns 0, or 1 if there is no memory to work in. */
int decoder_layers(const Decoder *d, const Batch *b, uint16_t *residual, int num_threads) {
    Rows rows;
    int64_t size = (lay_out(d, b->num_tokens, &rows, NULL) - (uint16_t *)NULL) * (int64_t)sizeof(uint16_t);
    uint16_t *memory = aligned_alloc(LINE, (size_t)size);
    int failed = 0;
    if (!memory) return 1;
    lay_out(d, b->num_tokens, &rows, memory);
    for (int64_t i = 0; i < d->num_layers && !failed; i++) {
        failed = run_layer(d, b, d->layers + i, &rows, residual, i == 0, num_threads);
    }
    for (int64_t i = 0; i < b->num_tokens * d->hidden; i++) {
        residual[i] = to_bfloat16(from_bfloat16(residual[i]) + from_bfloat16(rows.delta[i]));
    }
    free(memory);
    return failed;
}
