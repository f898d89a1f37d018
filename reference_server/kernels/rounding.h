/* Rounding by addition: quicker than the library's, for small numbers. */
#ifndef ROUNDING_H
#define ROUNDING_H

#include <stdint.h>

#include "bfloat16.h"

#define ROUNDER 12582912.0f /* 1.5 x 2^23: adding it rounds to an integer, found in the low bits */
#define ROUNDER_BITS 0x4b400000u

/* Of |x| below 2^22; ties to even. */
static inline int32_t nearest_integer(float x) { return (int32_t)(float_bits(x + ROUNDER) - ROUNDER_BITS); }

#endif
