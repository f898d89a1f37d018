/* The kernels, for those that are made of others. What they do stands in the file of each. */
#ifndef KERNELS_H
#define KERNELS_H

#include <stdint.h>

/* Where the part of one of so many threads begins; the next part's beginning is its end. */
static inline int64_t share(int64_t count, int64_t part, int64_t num_parts) { return count * part / num_parts; }

void rms_norm(uint16_t *residual, const uint16_t *delta, const uint16_t *weight, uint16_t *output,
              int64_t num_rows, int64_t size, float epsilon);
void rope(uint16_t *heads, const uint16_t *cos, const uint16_t *sin, int64_t num_rows, int64_t num_heads,
          int64_t num_rotated, int64_t dim, int64_t stride);
void silu_mul(const uint16_t *gate_up, uint16_t *output, int64_t num_rows, int64_t size);
int block_linear_part(const void *x, const void *weight, const float *bias, void *output, int64_t num_rows,
                      int64_t num_inputs, int64_t num_outputs, int form, int x_is_bfloat16, int output_is_bfloat16,
                      int allow_unit, int part, int num_parts);
int channel_linear(const void *x, const void *weight, const float *bias, void *output, int64_t num_rows,
                   int64_t num_inputs, int64_t num_outputs, int x_is_bfloat16, int output_is_bfloat16,
                   int allow_unit, int part, int num_parts);
int paged_decode_part(const uint16_t *query, const uint16_t *pool, const int64_t *tables, const int64_t *contexts,
                      uint16_t *output, int64_t query_stride, int64_t num_sequences, int64_t table_width,
                      int64_t block_size, int64_t num_heads, int64_t num_kv_heads, int64_t dim, int part,
                      int num_parts);
int paged_chunk_part(const uint16_t *query, const uint16_t *pool, const int64_t *table, uint16_t *output,
                     int64_t query_stride, int64_t num_queries, int64_t context, int64_t block_size,
                     int64_t num_heads, int64_t num_kv_heads, int64_t dim, int allow_unit, int part, int num_parts);

#endif
