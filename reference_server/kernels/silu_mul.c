/* silu(gate) x up, in bfloat16. The twin: silu_mul.py. */
#include "kernels.h"
#include "lanes.h"

#define LOG2_E 1.44269504f
#define BOUND 126.0f /* of exponents: beyond, silu is the gate or 0 to the last bit */

static inline floats gated(floats gate, floats up) {
    floats exponent = multiply(gate, all_floats(-LOG2_E));
    exponent = greater(lesser(exponent, all_floats(BOUND)), all_floats(-BOUND));
    return multiply(divide(gate, add(all_floats(1.0f), powers_of_two(exponent))), up);
}

/* gate_up [rows, 2 size]: gates, then ups; output [rows, size]. */
void silu_mul(const uint16_t *gate_up, uint16_t *output, int64_t num_rows, int64_t size) {
    for (int64_t row = 0; row < num_rows; row++, gate_up += 2 * size, output += size) {
        int64_t i = 0;
        for (; i + LANES <= size; i += LANES) {
            store_bfloat16s(output + i, gated(load_bfloat16s(gate_up + i), load_bfloat16s(gate_up + size + i)));
        }
        if (i < size) { /* the rest, among zeros */
            uint16_t gates[LANES] = {0}, ups[LANES] = {0}, outputs[LANES];
            memcpy(gates, gate_up + i, (size_t)(size - i) * sizeof *gates);
            memcpy(ups, gate_up + size + i, (size_t)(size - i) * sizeof *ups);
            store_bfloat16s(outputs, gated(load_bfloat16s(gates), load_bfloat16s(ups)));
            memcpy(output + i, outputs, (size_t)(size - i) * sizeof *outputs);
        }
    }
}
