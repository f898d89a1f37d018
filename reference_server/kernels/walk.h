/* The stored tokens of a sequence one after the other, through its block table. */
#ifndef WALK_H
#define WALK_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint16_t *pool; /* a head's part of the first token of the first block */
    const int64_t *table;
    int64_t block_size, token_stride, left_in_block, left;
    const uint16_t *token, *next;
} Walk;

/* Begins before the first of `num_tokens` tokens, at least one; strides are in elements. */
static inline Walk walk(const uint16_t *pool, const int64_t *table, int64_t block_size, int64_t token_stride,
                        int64_t num_tokens) {
    return (Walk){pool, table, block_size, token_stride, 0, num_tokens, NULL, NULL};
}

/* The next token; behind the last one, that one again. */
static inline const uint16_t *next_token(Walk *w) {
    if (!w->left) return w->token;
    if (!w->left_in_block) {
        w->next = w->pool + *w->table++ * w->block_size * w->token_stride;
        w->left_in_block = w->block_size;
    }
    w->token = w->next;
    w->next += w->token_stride;
    w->left_in_block--;
    w->left--;
    return w->token;
}

#endif
