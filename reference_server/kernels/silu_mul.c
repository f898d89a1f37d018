/* silu(gate) x up, in bfloat16. The twin: silu_mul.py. */
#include "exponential.h"

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
