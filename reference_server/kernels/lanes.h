/* Lanes of a vector in the widest form this compilation allows.
 *
 * Every form computes the same numbers in the same order: exact integer products, then one fused or plain
 * multiply-add per block. What differs between forms is only whether the multiply-add rounds once or twice.
 */
#ifndef LANES_H
#define LANES_H

#include <stdint.h>
#include <string.h>

#include "bfloat16.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VNNI__)
#include <immintrin.h>
#define ISA "avx512vnni"
#define LANES 16
#define MAX_ROWS 8
typedef __m512 floats;
typedef __m512i ints;

static inline int isa_runs_here(void) {
#ifdef __AVX512BF16__
    if (!__builtin_cpu_supports("avx512bf16")) return 0;
#endif
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vnni");
}
static inline ints load_bytes(const uint8_t *p) { return _mm512_loadu_si512(p); }
static inline ints low_nibbles(ints v) { return _mm512_and_si512(v, _mm512_set1_epi8(15)); }
static inline ints high_nibbles(ints v) { return low_nibbles(_mm512_srli_epi16(v, 4)); }
static inline ints all_ints(int32_t x) { return _mm512_set1_epi32(x); }
static inline ints add_ints(ints a, ints b) { return _mm512_add_epi32(a, b); }
static inline ints dot_nibbles(ints sum, ints w, ints x) { return _mm512_dpbusd_epi32(sum, w, x); }
static inline ints dot_bytes(ints sum, ints w, ints x) { return _mm512_dpbusd_epi32(sum, w, x); }
static inline floats load_halves(const uint8_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
static inline floats all_floats(float x) { return _mm512_set1_ps(x); }
static inline floats to_floats(ints v) { return _mm512_cvtepi32_ps(v); }
static inline floats multiply(floats a, floats b) { return _mm512_mul_ps(a, b); }
static inline floats multiply_add(floats a, floats b, floats c) { return _mm512_fmadd_ps(a, b, c); }
static inline void store_floats(float *p, floats v) { _mm512_storeu_ps(p, v); }
static inline floats load_floats(const float *p) { return _mm512_loadu_ps(p); }
static inline floats load_bfloat16s(const uint16_t *p) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)), 16));
}
static inline float sum_floats(floats v) { return _mm512_reduce_add_ps(v); }
static inline floats add(floats a, floats b) { return _mm512_add_ps(a, b); }
/* Lane i becomes the sum of v[i]. */
static inline floats sums_of(const floats *v) {
    floats four[4];
    for (int i = 0; i < 4; i++) {
        floats a = _mm512_add_ps(_mm512_unpacklo_ps(v[4 * i], v[4 * i + 1]), _mm512_unpackhi_ps(v[4 * i], v[4 * i + 1]));
        floats b = _mm512_add_ps(_mm512_unpacklo_ps(v[4 * i + 2], v[4 * i + 3]),
                                 _mm512_unpackhi_ps(v[4 * i + 2], v[4 * i + 3]));
        __m512d x = _mm512_castps_pd(a), y = _mm512_castps_pd(b);
        four[i] = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)), _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
    }
    floats c = _mm512_add_ps(_mm512_shuffle_f32x4(four[0], four[1], 0x88), _mm512_shuffle_f32x4(four[0], four[1], 0xdd));
    floats d = _mm512_add_ps(_mm512_shuffle_f32x4(four[2], four[3], 0x88), _mm512_shuffle_f32x4(four[2], four[3], 0xdd));
    return _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x88), _mm512_shuffle_f32x4(c, d, 0xdd));
}
static inline floats divide(floats a, floats b) { return _mm512_div_ps(a, b); }
static inline floats subtract(floats a, floats b) { return _mm512_sub_ps(a, b); }
static inline floats lesser(floats a, floats b) { return _mm512_min_ps(a, b); }
static inline floats greater(floats a, floats b) { return _mm512_max_ps(a, b); }
static inline floats whole_part(floats v) { return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
static inline floats scale_by_power(floats v, floats whole) { return _mm512_scalef_ps(v, whole); }
static inline ints load_pairs(const uint32_t *p) { return _mm512_loadu_si512(p); }
static inline void store_pairs(uint32_t *p, ints v) { _mm512_storeu_si512(p, v); }
static inline ints pair_up(floats low, floats high) {
    const __m512i half = _mm512_set1_epi32(0x8000);
    __m512i l = _mm512_add_epi32(_mm512_castps_si512(low), half), h = _mm512_add_epi32(_mm512_castps_si512(high), half);
    return _mm512_mask_blend_epi16(0xaaaaaaaau, _mm512_srli_epi32(l, 16), h);
}
/* `bits` bits from `first` on become the highest of the mantissa of a number from 1 to 2. */
static inline floats as_mantissas(ints v, int first, int bits) {
    const int up = 23 - bits - first, mask = ((1 << bits) - 1) << (23 - bits);
    v = up >= 0 ? _mm512_slli_epi32(v, (unsigned)up) : _mm512_srli_epi32(v, (unsigned)-up);
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(v, _mm512_set1_epi32(mask), _mm512_set1_epi32(0x3f800000), 0xea));
}
static inline floats low_of_pairs(ints v) { return _mm512_castsi512_ps(_mm512_slli_epi32(v, 16)); }
static inline floats high_of_pairs(ints v) {
    return _mm512_castsi512_ps(_mm512_and_si512(v, _mm512_set1_epi32((int)0xffff0000)));
}
#ifdef __AVX512BF16__
#define HAS_PAIR_PRODUCTS
static inline void store_bfloat16s(uint16_t *p, floats v) {
    _mm256_storeu_si256((__m256i *)p, (__m256i)_mm512_cvtneps_pbh(v));
}
static inline floats dot_pairs(floats sum, ints a, ints b) { return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b); }
#endif

#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include <immintrin.h>
#define ISA "avx2"
#define LANES 8
#define MAX_ROWS 4
typedef __m256 floats;
typedef __m256i ints;

static inline int isa_runs_here(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
static inline ints load_bytes(const uint8_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
static inline ints low_nibbles(ints v) { return _mm256_and_si256(v, _mm256_set1_epi8(15)); }
static inline ints high_nibbles(ints v) { return low_nibbles(_mm256_srli_epi16(v, 4)); }
static inline ints all_ints(int32_t x) { return _mm256_set1_epi32(x); }
static inline ints add_ints(ints a, ints b) { return _mm256_add_epi32(a, b); }
static inline ints pairs(ints w, ints x) {
    return _mm256_madd_epi16(_mm256_maddubs_epi16(w, x), _mm256_set1_epi16(1));
}
static inline ints dot_nibbles(ints sum, ints w, ints x) { return _mm256_add_epi32(sum, pairs(w, x)); }
/* Sums of two products of whole bytes would saturate; those of nibbles don't. */
static inline ints dot_bytes(ints sum, ints w, ints x) {
    ints high = _mm256_slli_epi32(pairs(high_nibbles(w), x), 4);
    return _mm256_add_epi32(sum, _mm256_add_epi32(high, pairs(low_nibbles(w), x)));
}
static inline floats load_halves(const uint8_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
static inline floats all_floats(float x) { return _mm256_set1_ps(x); }
static inline floats to_floats(ints v) { return _mm256_cvtepi32_ps(v); }
static inline floats multiply(floats a, floats b) { return _mm256_mul_ps(a, b); }
static inline floats multiply_add(floats a, floats b, floats c) { return _mm256_fmadd_ps(a, b, c); }
static inline void store_floats(float *p, floats v) { _mm256_storeu_ps(p, v); }
static inline floats load_floats(const float *p) { return _mm256_loadu_ps(p); }
static inline floats load_bfloat16s(const uint16_t *p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)), 16));
}
static inline float sum_floats(floats v) {
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
static inline floats add(floats a, floats b) { return _mm256_add_ps(a, b); }
static inline floats sums_of(const floats *v) {
    floats a = _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
    floats b = _mm256_hadd_ps(_mm256_hadd_ps(v[4], v[5]), _mm256_hadd_ps(v[6], v[7]));
    return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
}
static inline floats divide(floats a, floats b) { return _mm256_div_ps(a, b); }
static inline floats subtract(floats a, floats b) { return _mm256_sub_ps(a, b); }
static inline floats lesser(floats a, floats b) { return _mm256_min_ps(a, b); }
static inline floats greater(floats a, floats b) { return _mm256_max_ps(a, b); }
static inline floats whole_part(floats v) { return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
static inline floats scale_by_power(floats v, floats whole) {
    __m256i power = _mm256_cvtps_epi32(greater(lesser(whole, all_floats(127.0f)), all_floats(-127.0f)));
    return multiply(v, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(power, _mm256_set1_epi32(127)), 23)));
}
static inline ints load_pairs(const uint32_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
static inline void store_pairs(uint32_t *p, ints v) { _mm256_storeu_si256((__m256i *)p, v); }
static inline ints pair_up(floats low, floats high) {
    const __m256i half = _mm256_set1_epi32(0x8000);
    __m256i l = _mm256_add_epi32(_mm256_castps_si256(low), half), h = _mm256_add_epi32(_mm256_castps_si256(high), half);
    return _mm256_blend_epi16(_mm256_srli_epi32(l, 16), h, 0xaa);
}
static inline floats as_mantissas(ints v, int first, int bits) {
    const int up = 23 - bits - first, mask = ((1 << bits) - 1) << (23 - bits);
    v = up >= 0 ? _mm256_slli_epi32(v, up) : _mm256_srli_epi32(v, -up);
    v = _mm256_or_si256(_mm256_and_si256(v, _mm256_set1_epi32(mask)), _mm256_set1_epi32(0x3f800000));
    return _mm256_castsi256_ps(v);
}
static inline floats low_of_pairs(ints v) { return _mm256_castsi256_ps(_mm256_slli_epi32(v, 16)); }
static inline floats high_of_pairs(ints v) {
    return _mm256_castsi256_ps(_mm256_and_si256(v, _mm256_set1_epi32((int)0xffff0000)));
}

#else
#define ISA "portable"
#define LANES 16
#define MAX_ROWS 1
#define EACH for (int lane = 0; lane < LANES; lane++)
typedef struct { float at[LANES]; } floats;
typedef struct { int32_t at[LANES]; } ints; /* of bytes: four in each */

static inline int isa_runs_here(void) { return 1; }
static inline ints load_bytes(const uint8_t *p) {
    ints v;
    memcpy(v.at, p, sizeof v.at);
    return v;
}
static inline ints low_nibbles(ints v) {
    EACH v.at[lane] &= 0x0f0f0f0f;
    return v;
}
static inline ints high_nibbles(ints v) {
    EACH v.at[lane] = (int32_t)((uint32_t)v.at[lane] >> 4);
    return low_nibbles(v);
}
static inline ints all_ints(int32_t x) {
    ints v;
    EACH v.at[lane] = x;
    return v;
}
static inline ints add_ints(ints a, ints b) {
    EACH a.at[lane] += b.at[lane];
    return a;
}
static inline ints dot_bytes(ints sum, ints w, ints x) {
    for (int shift = 0; shift < 32; shift += 8) {
        EACH sum.at[lane] += (int32_t)(uint8_t)((uint32_t)w.at[lane] >> shift) * (int8_t)((uint32_t)x.at[lane] >> shift);
    }
    return sum;
}
static inline ints dot_nibbles(ints sum, ints w, ints x) { return dot_bytes(sum, w, x); }
static inline float half_to_float(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = (half >> 10) & 31, fraction = half & 1023, bits;
    float value;
    if (exponent == 0) {
        value = (float)fraction * 0x1p-24f;
        return sign ? -value : value;
    }
    bits = sign | (exponent == 31 ? 0x7f800000 : (exponent + 112) << 23) | fraction << 13;
    memcpy(&value, &bits, sizeof value);
    return value;
}
static inline floats load_halves(const uint8_t *p) {
    floats v;
    EACH {
        uint16_t half;
        memcpy(&half, p + 2 * lane, sizeof half);
        v.at[lane] = half_to_float(half);
    }
    return v;
}
static inline floats all_floats(float x) {
    floats v;
    EACH v.at[lane] = x;
    return v;
}
static inline floats to_floats(ints v) {
    floats f;
    EACH f.at[lane] = (float)v.at[lane];
    return f;
}
static inline floats multiply(floats a, floats b) {
    EACH a.at[lane] *= b.at[lane];
    return a;
}
static inline floats multiply_add(floats a, floats b, floats c) {
    EACH c.at[lane] += a.at[lane] * b.at[lane];
    return c;
}
static inline void store_floats(float *p, floats v) { memcpy(p, v.at, sizeof v.at); }
static inline floats load_floats(const float *p) {
    floats v;
    memcpy(v.at, p, sizeof v.at);
    return v;
}
static inline floats load_bfloat16s(const uint16_t *p) {
    floats v;
    EACH v.at[lane] = from_bfloat16(p[lane]);
    return v;
}
static inline float sum_floats(floats v) {
    float sum = 0;
    EACH sum += v.at[lane];
    return sum;
}
static inline floats sums_of(const floats *v) {
    floats sums;
    EACH sums.at[lane] = sum_floats(v[lane]);
    return sums;
}
static inline floats add(floats a, floats b) {
    EACH a.at[lane] += b.at[lane];
    return a;
}
static inline floats divide(floats a, floats b) {
    EACH a.at[lane] /= b.at[lane];
    return a;
}
static inline floats subtract(floats a, floats b) {
    EACH a.at[lane] -= b.at[lane];
    return a;
}
static inline floats lesser(floats a, floats b) {
    EACH a.at[lane] = a.at[lane] < b.at[lane] ? a.at[lane] : b.at[lane];
    return a;
}
static inline floats greater(floats a, floats b) {
    EACH a.at[lane] = a.at[lane] > b.at[lane] ? a.at[lane] : b.at[lane];
    return a;
}
static inline floats whole_part(floats v) { /* of numbers within 2^22; others are as good as whole */
    EACH v.at[lane] = v.at[lane] < -4194304.0f ? v.at[lane] : v.at[lane] + 12582912.0f - 12582912.0f;
    return v;
}
static inline floats scale_by_power(floats v, floats whole) {
    whole = greater(lesser(whole, all_floats(127.0f)), all_floats(-127.0f));
    EACH v.at[lane] *= bits_float((uint32_t)((int32_t)whole.at[lane] + 127) << 23);
    return v;
}
static inline ints load_pairs(const uint32_t *p) { return load_bytes((const uint8_t *)p); }
static inline void store_pairs(uint32_t *p, ints v) { memcpy(p, v.at, sizeof v.at); }
static inline ints pair_up(floats low, floats high) {
    ints v;
    EACH {
        uint32_t l = float_bits(low.at[lane]) + 0x8000, h = float_bits(high.at[lane]) + 0x8000;
        v.at[lane] = (int32_t)(l >> 16 | (h & 0xffff0000));
    }
    return v;
}
static inline floats as_mantissas(ints v, int first, int bits) {
    floats f;
    EACH {
        uint32_t value = (uint32_t)v.at[lane] >> first & ((1u << bits) - 1);
        f.at[lane] = bits_float(value << (23 - bits) | 0x3f800000);
    }
    return f;
}
static inline floats low_of_pairs(ints v) {
    floats f;
    EACH f.at[lane] = bits_float((uint32_t)v.at[lane] << 16);
    return f;
}
static inline floats high_of_pairs(ints v) {
    floats f;
    EACH f.at[lane] = bits_float((uint32_t)v.at[lane] & 0xffff0000);
    return f;
}
#endif

/* The same four bytes in all lanes. */
static inline ints four_inputs(const int8_t *p) {
    int32_t word;
    memcpy(&word, p, sizeof word);
    return all_ints(word);
}

#ifndef HAS_PAIR_PRODUCTS
static inline void store_bfloat16s(uint16_t *p, floats v) {
    float values[LANES];
    store_floats(values, v);
    for (int lane = 0; lane < LANES; lane++) p[lane] = to_bfloat16(values[lane]);
}
#endif

/* Pairs are two bfloat16 in a lane, the first in the low half. pair_up rounds to nearest, ties upwards. */
#ifndef HAS_PAIR_PRODUCTS
static inline floats dot_pairs(floats sum, ints a, ints b) {
    sum = multiply_add(low_of_pairs(a), low_of_pairs(b), sum);
    return multiply_add(high_of_pairs(a), high_of_pairs(b), sum);
}
#endif

/* 2^v within 2e-7 of itself; 0, or as good as 0, far below. */
static inline floats powers_of_two(floats v) {
    floats whole = whole_part(v), r = subtract(v, whole), sum = all_floats(1.5403530e-4f);
    sum = multiply_add(sum, r, all_floats(1.3333558e-3f));
    sum = multiply_add(sum, r, all_floats(9.6181291e-3f));
    sum = multiply_add(sum, r, all_floats(5.5504109e-2f));
    sum = multiply_add(sum, r, all_floats(2.4022651e-1f));
    sum = multiply_add(sum, r, all_floats(6.9314718e-1f));
    sum = multiply_add(sum, r, all_floats(1.0f));
    return scale_by_power(sum, whole);
}

#endif
