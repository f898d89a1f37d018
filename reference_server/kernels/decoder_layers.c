/* All layers of a decoder over one batch, by the kernels beside this one. The twin: decoder_layers.py.
 *
 * A step of one token is 300 small operations; between them Python and torch took as long as the operations, and
 * waking a second thread for each took longer. So threads are woken once and go through all layers together.
 */
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "bfloat16.h"
#include "kernels.h"
#include "scratch.h"
#include "team.h"

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

static int multiply(const Linear *linear, const uint16_t *x, uint16_t *output, int64_t num_rows, const Team *team) {
    return block_linear_part(x, linear->weight, linear->bias, output, num_rows, linear->num_inputs,
                             linear->num_outputs, (int)linear->form, 1, 1, 1, team->part, team->num_parts);
}

/* Queries and keys of a thread's rows are rotated; keys and values, which follow the queries, go to their slots. */
static void rotate_and_store(const Decoder *d, const Batch *b, uint16_t *qkv, uint16_t *pool, const Team *team) {
    const int64_t first = first_of(b->num_tokens, team), end = end_of(b->num_tokens, team);
    const int64_t row = row_of_qkv(d), size = 2 * d->num_kv_heads * d->dim, angle = first * b->angle_stride;
    rope(qkv + first * row, b->cos + angle, b->sin + angle, end - first, d->num_heads + 2 * d->num_kv_heads,
         d->num_heads + d->num_kv_heads, d->dim, b->angle_stride);
    for (int64_t token = first; token < end; token++) {
        const uint16_t *key = qkv + token * row + d->num_heads * d->dim;
        memcpy(pool + b->slots[token] * size, key, (size_t)size * sizeof *key);
    }
}

static int attend(const Decoder *d, const Batch *b, const Layer *layer, const Rows *rows, const Team *team) {
    int failed = paged_decode_part(rows->qkv, layer->pool, b->tables, b->contexts, rows->attended, row_of_qkv(d),
                                   b->num_decodes, b->table_width, d->block_size, d->num_heads, d->num_kv_heads,
                                   d->dim, team->part, team->num_parts);
    for (int64_t i = b->num_decodes; i < b->num_sequences; i++) {
        int64_t first = b->starts[i];
        failed |= paged_chunk_part(rows->qkv + first * row_of_qkv(d), layer->pool, b->tables + i * b->table_width,
                                   rows->attended + first * d->num_heads * d->dim, row_of_qkv(d),
                                   b->starts[i + 1] - first, b->contexts[i], d->block_size, d->num_heads,
                                   d->num_kv_heads, d->dim, 1, team->part, team->num_parts);
    }
    return failed;
}

/* A thread's rows of residual += delta, if there is one, and normed. */
static void normalize(const Decoder *d, const Batch *b, uint16_t *residual, const uint16_t *delta,
                      const uint16_t *weight, uint16_t *normed, const Team *team) {
    const int64_t first = first_of(b->num_tokens, team), place = first * d->hidden;
    rms_norm(residual + place, delta ? delta + place : NULL, weight, normed + place, end_of(b->num_tokens, team) - first,
             d->hidden, (float)d->epsilon);
}

static void gate(const Decoder *d, const Batch *b, const Rows *rows, const Team *team) {
    const int64_t first = first_of(b->num_tokens, team), size = d->intermediate;
    silu_mul(rows->gate_up + first * 2 * size, rows->gated + first * size, end_of(b->num_tokens, team) - first, size);
}

static int run_layer(const Decoder *d, const Batch *b, const Layer *layer, const Rows *rows, uint16_t *residual,
                     int is_first, const Team *team) {
    int failed = 0;
    normalize(d, b, residual, is_first ? NULL : rows->delta, layer->input_norm, rows->normed, team);
    wait_for_all(team);
    failed |= multiply(&layer->qkv, rows->normed, rows->qkv, b->num_tokens, team);
    wait_for_all(team);
    rotate_and_store(d, b, rows->qkv, layer->pool, team);
    wait_for_all(team);
    failed |= attend(d, b, layer, rows, team);
    wait_for_all(team);
    failed |= multiply(&layer->output, rows->attended, rows->delta, b->num_tokens, team);
    wait_for_all(team);
    normalize(d, b, residual, rows->delta, layer->post_attention_norm, rows->normed, team);
    wait_for_all(team);
    failed |= multiply(&layer->gate_up, rows->normed, rows->gate_up, b->num_tokens, team);
    wait_for_all(team);
    gate(d, b, rows, team);
    wait_for_all(team);
    failed |= multiply(&layer->down, rows->gated, rows->delta, b->num_tokens, team);
    wait_for_all(team);
    return failed;
}

/* What one thread does. */
static int run_layers(const Decoder *d, const Batch *b, const Rows *rows, uint16_t *residual, const Team *team) {
    int failed = 0;
    for (int64_t i = 0; i < d->num_layers; i++) failed |= run_layer(d, b, d->layers + i, rows, residual, i == 0, team);
    for (int64_t i = first_of(b->num_tokens, team) * d->hidden; i < end_of(b->num_tokens, team) * d->hidden; i++) {
        residual[i] = to_bfloat16(from_bfloat16(residual[i]) + from_bfloat16(rows->delta[i]));
    }
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
    uint16_t *memory = (uint16_t *)scratch_of((lay_out(d, b->num_tokens, &rows, NULL) - (uint16_t *)NULL) * 2);
    int arrived = 0, round = 0;
    if (!memory) return 1;
    lay_out(d, b->num_tokens, &rows, memory);
#ifdef _OPENMP
    if (num_threads > 1) {
        int failed = 0;
#pragma omp parallel num_threads(num_threads) reduction(| : failed)
        {
            Team team = {omp_get_thread_num(), omp_get_num_threads(), &arrived, &round};
            failed |= run_layers(d, b, &rows, residual, &team);
        }
        return failed;
    }
#endif
    (void)num_threads;
    return run_layers(d, b, &rows, residual, &(Team){0, 1, &arrived, &round});
}
