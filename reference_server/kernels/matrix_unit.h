/* The CPU's matrix unit (AMX) where there is one, the system lets us use it, and it was compiled for. */
#ifndef MATRIX_UNIT_H
#define MATRIX_UNIT_H

#include <stdint.h>

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AMX_INT8__) && defined(__linux__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIDE 16 /* rows of a tile; 16 words each */
#define ASK_FOR_STATE 0x1023 /* ARCH_REQ_XCOMP_PERM */
#define TILE_DATA 18

/* What was stored before is in memory after: compilers don't know that the unit reads it. */
#define SETTLE() __asm__ volatile("" ::: "memory")

/* Virtual machines announce the unit and may yet refuse it, so the system is asked, once for the process. */
static inline int unit_is_there(void) {
    static int known = -1;
    if (known < 0) known = syscall(SYS_arch_prctl, ASK_FOR_STATE, TILE_DATA) == 0;
    return known;
}

/* All tiles become 16 rows of 16 words, but those of rows and results (0 to 5) have fewer if there are fewer rows. */
static inline void unit_open(int64_t num_rows) {
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } tiles = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        tiles.row_bytes[i] = 64;
        tiles.rows[i] = (uint8_t)(i < 6 && num_rows < SIDE ? num_rows : SIDE);
    }
    __asm__ volatile("" : : "r"(&tiles) : "memory");
    _tile_loadconfig(&tiles);
}

/* A corner is the products of 16 rows at `first` and, if there are more, 16 at `second` with two tiles of 16 outputs. */
static inline void unit_begin_corner(void) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
}

/* Adds 32 inputs: a row every row_bytes; left, right [16][16]: pairs of inputs by output. */
static inline void unit_add_to_corner(const uint16_t *first, const uint16_t *second, int64_t row_bytes,
                                      const uint32_t *left, const uint32_t *right) {
    SETTLE();
    _tile_loadd(4, first, row_bytes);
    _tile_loadd(6, left, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, right, 64);
    _tile_dpbf16ps(1, 4, 7);
    if (!second) return;
    _tile_loadd(5, second, row_bytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
}

/* Adds 64 inputs of 8 bits: both rows, signed; left, right [16][16]: four inputs by output, unsigned. */
static inline void unit_add_bytes_to_corner(const int8_t *first, const int8_t *second, int64_t row_bytes,
                                            const uint8_t *left, const uint8_t *right) {
    _tile_loadd(4, first, row_bytes);
    _tile_loadd(6, left, 64);
    _tile_dpbsud(0, 4, 6);
    _tile_loadd(7, right, 64);
    _tile_dpbsud(1, 4, 7);
    _tile_loadd(5, second, row_bytes);
    _tile_dpbsud(2, 5, 6);
    _tile_dpbsud(3, 5, 7);
}

/* products [2 of rows][2 of outputs][16][16] */
static inline void unit_store_corner(float *products) {
    _tile_stored(0, products, 64);
    _tile_stored(1, products + SIDE * SIDE, 64);
    _tile_stored(2, products + 2 * SIDE * SIDE, 64);
    _tile_stored(3, products + 3 * SIDE * SIDE, 64);
}

static inline void unit_close(void) { _tile_release(); }

/* c [num_rows][num_columns] = a [num_rows][a_stride] x b [num_pairs][num_columns], over pairs of bfloat16 in words;
 * added to what is there if `adds`. Columns and pairs are multiples of 16, rows of 32. */
static inline void unit_multiply(const uint32_t *a, int64_t a_stride, const uint32_t *b, float *c, int64_t num_rows,
                          int64_t num_pairs, int64_t num_columns, int adds) {
    SETTLE();
    const int64_t row_bytes = num_columns * 4, a_bytes = a_stride * 4;
    for (int64_t row = 0; row < num_rows; row += 2 * SIDE) {
        for (int64_t column = 0; column < num_columns; column += SIDE) {
            float *corner = c + row * num_columns + column;
            if (adds) {
                _tile_loadd(0, corner, row_bytes);
                _tile_loadd(1, corner + SIDE * num_columns, row_bytes);
            } else {
                _tile_zero(0);
                _tile_zero(1);
            }
            for (int64_t pair = 0; pair < num_pairs; pair += SIDE) {
                _tile_loadd(4, b + pair * num_columns + column, row_bytes);
                _tile_loadd(5, a + row * a_stride + pair, a_bytes);
                _tile_dpbf16ps(0, 5, 4);
                _tile_loadd(6, a + (row + SIDE) * a_stride + pair, a_bytes);
                _tile_dpbf16ps(1, 6, 4);
            }
            _tile_stored(0, corner, row_bytes);
            _tile_stored(1, corner + SIDE * num_columns, row_bytes);
        }
    }
}

/* to [16][to_stride] = from [16][from_stride], turned: words of a row become a column. */
static inline void turn_words(const uint32_t *from, int64_t from_stride, uint32_t *to, int64_t to_stride) {
    __m512i a[SIDE], b[SIDE];
    for (int i = 0; i < SIDE; i++) a[i] = _mm512_loadu_si512(from + i * from_stride);
    for (int i = 0; i < SIDE; i += 2) {
        b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
    }
    for (int i = 0; i < SIDE; i += 4) {
        for (int j = 0; j < 2; j++) {
            a[i + 2 * j] = _mm512_unpacklo_epi64(b[i + j], b[i + 2 + j]);
            a[i + 2 * j + 1] = _mm512_unpackhi_epi64(b[i + j], b[i + 2 + j]);
        }
    }
    for (int i = 0; i < SIDE; i += 8) {
        for (int j = 0; j < 4; j++) {
            b[i + j] = _mm512_shuffle_i32x4(a[i + j], a[i + 4 + j], 0x88);
            b[i + 4 + j] = _mm512_shuffle_i32x4(a[i + j], a[i + 4 + j], 0xdd);
        }
    }
    for (int i = 0; i < SIDE / 2; i++) {
        _mm512_storeu_si512(to + i * to_stride, _mm512_shuffle_i32x4(b[i], b[i + 8], 0x88));
        _mm512_storeu_si512(to + (i + 8) * to_stride, _mm512_shuffle_i32x4(b[i], b[i + 8], 0xdd));
    }
}

#else
static inline int unit_is_there(void) { return 0; }
static inline void unit_open(int64_t num_rows) { (void)num_rows; }
static inline void unit_begin_corner(void) {}
static inline void unit_add_to_corner(const uint16_t *first, const uint16_t *second, int64_t row_bytes,
                                      const uint32_t *left, const uint32_t *right) {
    (void)first, (void)second, (void)row_bytes, (void)left, (void)right;
}
static inline void unit_add_bytes_to_corner(const int8_t *first, const int8_t *second, int64_t row_bytes,
                                            const uint8_t *left, const uint8_t *right) {
    (void)first, (void)second, (void)row_bytes, (void)left, (void)right;
}
static inline void unit_store_corner(float *products) { (void)products; }
static inline void unit_close(void) {}
static inline void unit_multiply(const uint32_t *a, int64_t a_stride, const uint32_t *b, float *c, int64_t num_rows,
                                 int64_t num_pairs, int64_t num_columns, int adds) {
    (void)a, (void)a_stride, (void)b, (void)c, (void)num_rows, (void)num_pairs, (void)num_columns, (void)adds;
}
static inline void turn_words(const uint32_t *from, int64_t from_stride, uint32_t *to, int64_t to_stride) {
    (void)from, (void)from_stride, (void)to, (void)to_stride;
}
#endif

#endif
