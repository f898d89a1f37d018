/* bfloat16 is the upper half of a float32. */
#ifndef BFLOAT16_H
#define BFLOAT16_H

#include <stdint.h>
#include <string.h>

static inline uint32_t float_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float bits_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float from_bfloat16(uint16_t x) { return bits_float((uint32_t)x << 16); }

/* To nearest, ties to even; NaN stays NaN. */
static inline uint16_t to_bfloat16(float x) {
    uint32_t bits = float_bits(x);
    uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : rounded);
}

#endif
