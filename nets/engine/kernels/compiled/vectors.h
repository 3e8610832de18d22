/* Vectors as wide as the processor's registers, and windows of images: put in front of the C files, with REAL, what
   they compute with, and perhaps BFLOAT16 defined (library.py). */

#include <string.h>

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

#define INLINE static inline __attribute__((always_inline))

/* Before a loop of up to so many rounds: arrays that are to stay in registers need it without the loop. And before one of
   any number of rounds: so many of them together, where the counting would take time from the processor's arithmetic. */
#define PRAGMA(WORDS) _Pragma(#WORDS)
#ifdef __clang__
#define UNROLL(ROUNDS) PRAGMA(clang loop unroll(full))
#define UNROLL_BY(ROUNDS) PRAGMA(clang loop unroll_count(ROUNDS))
#else
#define UNROLL(ROUNDS) PRAGMA(GCC unroll ROUNDS)
#define UNROLL_BY(ROUNDS) PRAGMA(GCC unroll ROUNDS)
#endif

typedef REAL vector __attribute__((vector_size(VECTOR_BYTES)));
typedef REAL unaligned __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));

/* Integers of an element's size; of a mask all bits are the same. */
typedef __typeof__(__builtin_choose_expr(sizeof(REAL) == sizeof(int), 0, 0L)) integer;
typedef integer mask __attribute__((vector_size(VECTOR_BYTES)));

enum { LANES = VECTOR_BYTES / sizeof(REAL) };

/* A vector of lanes of two, numbered one after the other. */
#if defined(__clang__)  /* has no __builtin_shuffle */
enum { SHUFFLES = 0 };
INLINE vector shuffle(vector one, vector other, mask lanes) { return (void)other, (void)lanes, one; }
#else
enum { SHUFFLES = 1 };
INLINE vector shuffle(vector one, vector other, mask lanes) { return __builtin_shuffle(one, other, lanes); }
#endif

INLINE long least(long a, long b) { return a < b ? a : b; }

INLINE vector load(const REAL *from, long lanes) {
    if (lanes == LANES) return *(const unaligned *)from;
    vector found = {0};
    memcpy(&found, from, lanes * sizeof(REAL));
    return found;
}

INLINE void store(REAL *to, vector value, long lanes) {
    if (lanes == LANES) *(unaligned *)to = value;
    else memcpy(to, &value, lanes * sizeof(REAL));
}

/* How the elements of images and rows lie in memory: as REAL, or with BFLOAT16 as its upper half. */
#ifdef BFLOAT16
typedef unsigned short element;
typedef element elements __attribute__((vector_size(LANES * sizeof(element))));
typedef unsigned bits __attribute__((vector_size(VECTOR_BYTES)));

INLINE vector load_elements(const element *from, long lanes) {
    elements found = {0};
    memcpy(&found, from, lanes == LANES ? sizeof found : lanes * sizeof(element));
    return (vector)(__builtin_convertvector(found, bits) << 16);
}

/* Rounded to the nearest, and to the even one of two; what is not a number stays so. */
INLINE void store_elements(element *to, vector value, long lanes) {
    const bits plain = (bits)value, is_number = (bits)(value == value);
    const bits rounded = plain + 0x7fff + (plain >> 16 & 1);
    const elements found = __builtin_convertvector(((rounded & is_number) | (0x7fc00000 & ~is_number)) >> 16, elements);
    memcpy(to, &found, lanes == LANES ? sizeof found : lanes * sizeof(element));
}
#else
typedef REAL element;

INLINE vector load_elements(const element *from, long lanes) { return load(from, lanes); }

INLINE void store_elements(element *to, vector value, long lanes) { store(to, value, lanes); }
#endif

/* Stores a whole vector past the caches, where the processor can: for what would push everything else out of them, and
   would first be read from memory only to be overwritten. to is a multiple of VECTOR_BYTES. After such stores, and before
   others may read, comes wait_for_streams. */
INLINE void stream(REAL *to, vector value) {
#if defined(__clang__)
    __builtin_nontemporal_store(value, (vector *)to);
#elif defined(__SSE2__)
    typedef long long whole __attribute__((vector_size(VECTOR_BYTES), may_alias));
#if VECTOR_BYTES == 64
    __builtin_ia32_movntdq512((whole *)to, (whole)value);
#elif VECTOR_BYTES == 32
    __builtin_ia32_movntdq256((whole *)to, (whole)value);
#else
    __builtin_ia32_movntdq((whole *)to, (whole)value);
#endif
#else
    *(vector *)to = value;
#endif
}

INLINE void wait_for_streams(void) {
#if defined(__SSE2__)
    __builtin_ia32_sfence();
#endif
}

/* Stores up to a vector, past the caches or not. */
INLINE void store_result(element *to, vector value, long lanes, int streams) {
#ifndef BFLOAT16
    if (streams) {
        stream(to, value);
        return;
    }
#endif
    store_elements(to, value, lanes);
}

/* Zeros where not. */
INLINE vector where(mask these, vector value) { return (vector)((mask)value & these); }

/* Negative values become 0; what is not a number stays. */
INLINE vector rectified(vector value) { return where(~(mask)(value < 0), value); }

static int no_number(void) { return 0; }

static int (*number_of_thread)(void) = no_number;

/* Before all else: function numbers the threads that work together, from 0. */
void number_threads_by(int (*function)(void)) { number_of_thread = function; }

/* Whether the thread is one of those that take their work from the back. */
INLINE int takes_from_back(void) { return number_of_thread() & 1; }

enum { BACK = 8 * sizeof(long) / 2 };  /* the bits of a counter where what is taken from the back begins */

/* Takes units of work, up to at_once of count, that no thread has taken yet: the first, and the one behind the last.
   0 when none is left. Every other thread begins at the back: in one call after the other, the same part of the data is
   near the same core. taken counts the pieces of at_once units that are gone from the front, and from the back. */
INLINE int take(long *taken, long at_once, long count, long *first, long *last) {
    const long pieces = (count + at_once - 1) / at_once, back = takes_from_back();
    const long before = __atomic_fetch_add(taken, back ? 1L << BACK : 1, __ATOMIC_RELAXED);
    const long from_front = before & ((1L << BACK) - 1), from_back = before >> BACK;
    *first = (back ? pieces - 1 - from_back : from_front) * at_once;
    *last = least(count, *first + at_once);
    return from_front + from_back < pieces;
}

/* Counts units that are done; whether they were the last of count: then this thread sees what was done for all. */
INLINE int were_last(long *done, long units, long count) {
    if (__atomic_add_fetch(done, units, __ATOMIC_ACQ_REL) < count) return 0;
    *done = 0;
    return 1;
}

/* Where the elements of images (batch, row, column, channel) lie. */
typedef struct {
    long height, width;
    long strides[3];                        /* of image, row and column */
} layout;

/* The quotient rounded up, or 0 if that is more. */
INLINE long quotient(long numerator, long denominator) {
    return numerator <= 0 ? 0 : (numerator + denominator - 1) / denominator;
}

/* Along one axis, the part of the window at start that lies within the image: its first place and the one
   behind its last. */
INLINE void within(long start, long kernel, long dilation, long size, long *from, long *to) {
    *from = quotient(-start, dilation);
    *to = start + (kernel - 1) * dilation < size ? kernel : quotient(size - start, dilation);
}
