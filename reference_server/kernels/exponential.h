/* e^x within 3e-7 of itself, in a form that compilers turn into vectors; libm's is none. */
#ifndef EXPONENTIAL_H
#define EXPONENTIAL_H

#include "rounding.h"

/* 2^n by the exponent's bits, the rest by Taylor's polynomial. Beyond 87 on either side the value at 87. */
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
    return sum * bits_float((float_bits(shifted) - ROUNDER_BITS + 127u) << 23);
}

#endif
