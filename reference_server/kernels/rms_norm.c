/* Root mean square normalization of a sum, in bfloat16. The twin: rms_norm.py. */
#include <math.h>

#include "bfloat16.h"

#define LANES 32 /* partial sums, so that the compiler may use vectors without changing the order of additions */

/* residual [rows, size] += delta, if there is one; output = residual / rms(residual) x weight. */
void rms_norm(uint16_t *residual, const uint16_t *delta, const uint16_t *weight, uint16_t *output,
              int64_t num_rows, int64_t size, float epsilon) {
    for (int64_t row = 0; row < num_rows; row++, residual += size, output += size) {
        float squares[LANES] = {0}, total = 0;
        if (delta) {
            for (int64_t i = 0; i < size; i++) {
                residual[i] = to_bfloat16(from_bfloat16(residual[i]) + from_bfloat16(delta[i]));
            }
            delta += size;
        }
        int64_t whole = size / LANES * LANES;
        for (int64_t i = 0; i < whole; i += LANES) {
            for (int lane = 0; lane < LANES; lane++) {
                float value = from_bfloat16(residual[i + lane]);
                squares[lane] += value * value;
            }
        }
        for (int64_t i = whole; i < size; i++) squares[i - whole] += from_bfloat16(residual[i]) * from_bfloat16(residual[i]);
        for (int lane = 0; lane < LANES; lane++) total += squares[lane];
        float scale = 1.0f / sqrtf(total / (float)size + epsilon);
        for (int64_t i = 0; i < size; i++) {
            output[i] = to_bfloat16(from_bfloat16(residual[i]) * scale * from_bfloat16(weight[i]));
        }
    }
}
