/* Rotary position embedding in place, in bfloat16. The twin: rope.py. */
#include "bfloat16.h"

/* Rotates the first num_rotated of num_heads heads of each row of heads [rows, num_heads, dim].
 * cos and signed sin have a vector [dim] every `stride` elements. The halves of a head are its coordinates. */
void rope(uint16_t *heads, const uint16_t *cos, const uint16_t *sin, int64_t num_rows, int64_t num_heads,
          int64_t num_rotated, int64_t dim, int64_t stride) {
    int64_t half = dim / 2;
    for (int64_t row = 0; row < num_rows; row++, cos += stride, sin += stride) {
        for (int64_t head = 0; head < num_rotated; head++) {
            uint16_t *first = heads + (row * num_heads + head) * dim, *second = first + half;
#pragma GCC ivdep
            for (int64_t i = 0; i < half; i++) {
                float x = from_bfloat16(first[i]), y = from_bfloat16(second[i]);
                first[i] = to_bfloat16(x * from_bfloat16(cos[i]) + y * from_bfloat16(sin[i]));
                second[i] = to_bfloat16(y * from_bfloat16(cos[half + i]) + x * from_bfloat16(sin[half + i]));
            }
        }
    }
}
