/* silu(gate) x up, in bfloat16. The twin: silu_mul.py. */
#include "bfloat16.h"

#define ROUNDER 12582912.0f /* 1.5 x 2^23: adding it rounds to an integer, found in the low bits */

/* e^x within 2e-7 of itself: 2^n by the exponent's bits, the rest by Taylor's polynomial. libm's is no vector. */
static inline float exponential(float x) {
    x = x > 87.0f ? 87.0f : x;
    x = x < -87.0f ? -87.0f : x;
    float shifted = x * 1.44269504f + ROUNDER, n = shifted - ROUNDER;
    float r = x - n * 0.693145752f - n * 1.42860677e-6f; /* ln 2 in two parts */
    float sum = 1.0f / 720;
    sum = sum * r + 1.0f / 120;
    sum = sum * r + 1.0f / 24;
    sum = sum * r + 1.0f / 6;
    sum = sum * r + 0.5f;
    sum = sum * r + 1.0f;
    sum = sum * r + 1.0f;
    return sum * bits_float((float_bits(shifted) - 0x4b400000u + 127u) << 23);
}

/* gate_up [rows, 2 size]: gates, then ups; output [rows, size]. */
void silu_mul(const uint16_t *gate_up, uint16_t *output, int64_t num_rows, int64_t size) {
    for (int64_t row = 0; row < num_rows; row++) {
        const uint16_t *gates = gate_up + row * 2 * size, *ups = gates + size;
        uint16_t *outputs = output + row * size;
        for (int64_t i = 0; i < size; i++) {
            float gate = from_bfloat16(gates[i]);
            outputs[i] = to_bfloat16(gate / (1.0f + exponential(-gate)) * from_bfloat16(ups[i]));
        }
    }
}
