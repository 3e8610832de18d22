/* Batches of products of float matrices, out = a b or out += a b, on the processor's matrix unit (Intel's AMX), which
   multiplies bfloat16 and adds up in float.

   Every number is split into two parts, the bfloat16 next to it and the one next to what that leaves, and of the four
   products of parts all but the least is made: a b = a1 b0 + a0 b1 + a0 b0, to 3 * 2^-16 of |a b|. (XLA calls this
   BF16_BF16_F32_X3.) The sums are float's.

   Compiled when first needed (compiled/bf16x3.py), with vectors.h in front. A tile is 16 rows of 64 bytes: of a and b,
   pairs of neighbours along the inner index; of out, floats. The inner index goes through runs of neighbours, each
   filled up with zeros to whole steps of a tile. Every entry point is called by all threads that share a job, and
   takes units of work from it until none is left. */

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef unsigned short half;

enum {
    SIDE = 16,                      /* rows, pairs and columns of a tile */
    STEP = 2 * SIDE,                /* of the inner index, in a tile */
    PANEL = 2 * SIDE,               /* columns that are multiplied together, and the most rows */
    TILE = SIDE * STEP,             /* numbers of a tile of a or b */
    PARTS = 2,                      /* of a number */
    PAIR = 2 * TILE,                /* of tiles */
    BLOCK = PARTS * PAIR,           /* of a panel's step: a pair of each part */
    STEPS = 8,                      /* multiplied before the next part of the inner index */
    ROWS_PACKED = 256, COLUMNS_PACKED = 512, /* at a time, at most */
    AHEAD = 4,                      /* lines */
    OF_A = 1, OF_B = 2,
    PERMIT = 0x1023, TILE_DATA = 18 /* ARCH_REQ_XCOMP_PERM and its argument: Linux, asm/prctl.h */
};

typedef struct {
    const float *a;
    long a_product, a_row, a_inner; /* a_row or a_inner is 1 */
    const float *b;
    long b_product, b_inner, b_column; /* b_inner or b_column is 1 */
    float *out;
    long out_product, out_row;
    long products, rows, inner, columns;
    long rows_at_once, columns_at_once; /* of a unit: multiples of PANEL but where it has all */
    long add;                       /* whether to add to out */
    const float *bias;              /* one number per column to add, or NULL */
    long relu;                      /* whether negative results become 0 */
    half *panels;                   /* b packed: (product, panel, step, BLOCK); or NULL */
    long windows;                   /* whether the rows of a are made of runs of neighbours (OF_A), or those of b */
    const long *row_offsets;        /* of these rows, instead of their stride */
    const long *run_offsets;        /* of the runs that each is made of */
    long run;                       /* numbers of a run */
    long next;                      /* unit that nobody has taken */
} split_job;

/* Asks Linux for the matrix unit; 0 if this process may use it. */
int not_permitted(void) { return syscall(SYS_arch_prctl, PERMIT, TILE_DATA) != 0; }

/* Numbers of a packed panel's step. */
long block_size(void) { return BLOCK; }

/* Rows of a tile of out and of a, where so many rows are shared out evenly among pairs of tiles. */
INLINE long tile_rows(long rows) {
    const long pairs = (rows + PANEL - 1) / PANEL;
    return (rows + 2 * pairs - 1) / (2 * pairs);
}

static void set_tiles(long rows) {
    struct {
        unsigned char palette, start, none[14];
        unsigned short row_bytes[16];
        unsigned char rows[16];
    } tiles __attribute__((aligned(64))) = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        tiles.row_bytes[i] = 64;
        tiles.rows[i] = i < 6 ? rows : SIDE;  /* the last two hold b */
    }
    _tile_loadconfig(&tiles);
}

/* Splitting and packing ------------------------------------------------------------------------------------------- */

typedef __m512i pairs;  /* of bfloat16 */

/* The nearest bfloat16; of two the one farther from 0. What is not a number may get lost here: it is left in the rest. */
INLINE __m512 rounded(__m512 x) {
    const __m512i nearest = _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
    return _mm512_castsi512_ps(_mm512_and_si512(nearest, _mm512_set1_epi32(0xffff0000)));
}

/* Both rounded, the first one's in front. */
INLINE pairs rounded_in_order(__m512 first, __m512 second) { return (pairs)_mm512_cvtne2ps_pbh(second, first); }

/* The parts of 32 neighbours. */
INLINE void split_neighbours(__m512 first, __m512 second, pairs *parts) {
    const __m512 upper[] = {rounded(first), rounded(second)};
    parts[0] = rounded_in_order(upper[0], upper[1]);
    parts[1] = rounded_in_order(_mm512_sub_ps(first, upper[0]), _mm512_sub_ps(second, upper[1]));
}

/* The parts of 16 pairs, each made of a number of either vector. */
INLINE void split_pairs(__m512 first, __m512 second, pairs *parts) {
    static const unsigned short in_turn[] = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23,
                                             8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const __m512 upper[] = {rounded(first), rounded(second)};
    const pairs rest = rounded_in_order(_mm512_sub_ps(first, upper[0]), _mm512_sub_ps(second, upper[1]));
    parts[0] = _mm512_or_si512(_mm512_srli_epi32(_mm512_castps_si512(upper[0]), 16), _mm512_castps_si512(upper[1]));
    parts[1] = _mm512_permutexvar_epi16(_mm512_loadu_si512(in_turn), rest);
}

/* A tile of pairs = its transpose: parts of 4 bytes, 8, 16 and 32 change places across the diagonal. */
INLINE void transpose(pairs *tile) {
    pairs other[SIDE];
    UNROLL(16)
    for (int i = 0; i < SIDE; i += 2) {
        other[i] = _mm512_unpacklo_epi32(tile[i], tile[i + 1]);
        other[i + 1] = _mm512_unpackhi_epi32(tile[i], tile[i + 1]);
    }
    UNROLL(16)
    for (int i = 0; i < SIDE; i += 4) {
        tile[i] = _mm512_unpacklo_epi64(other[i], other[i + 2]);
        tile[i + 1] = _mm512_unpackhi_epi64(other[i], other[i + 2]);
        tile[i + 2] = _mm512_unpacklo_epi64(other[i + 1], other[i + 3]);
        tile[i + 3] = _mm512_unpackhi_epi64(other[i + 1], other[i + 3]);
    }
    UNROLL(16)
    for (int i = 0; i < SIDE; i += 8)
        UNROLL(4)
        for (int j = i; j < i + 4; j++) {
            other[j] = _mm512_shuffle_i32x4(tile[j], tile[j + 4], 0x88);
            other[j + 4] = _mm512_shuffle_i32x4(tile[j], tile[j + 4], 0xdd);
        }
    UNROLL(16)
    for (int j = 0; j < 8; j++) {
        tile[j] = _mm512_shuffle_i32x4(other[j], other[j + 8], 0x88);
        tile[j + 8] = _mm512_shuffle_i32x4(other[j], other[j + 8], 0xdd);
    }
}

INLINE __mmask16 first_lanes(long count) { return count >= SIDE ? 0xffff : count > 0 ? (1 << count) - 1 : 0; }

INLINE __m512 some(const float *from, long count) { return _mm512_maskz_loadu_ps(first_lanes(count), from); }

INLINE void keep(half *tile, long row, const pairs *parts) {
    for (int i = 0; i < PARTS; i++) _mm512_store_si512(tile + i * PAIR + row * STEP, parts[i]);
}

/* A step of the inner index: where it begins in a line of memory, and how many numbers it has. */
typedef struct {
    long place, numbers;
} stretch;

/* Lines of neighbours in memory: each has an offset, or they are equally far apart. Within a line, its numbers are
   neighbours but for gaps between runs, if they have offsets. */
typedef struct {
    const float *from;
    const long *offsets;
    long apart;
    const long *runs, run;
} lines;

INLINE const float *line(const lines *where, long number) {
    return where->from + (where->offsets ? where->offsets[number] : number * where->apart);
}

INLINE long place_in_line(const lines *where, long number) {
    return where->runs ? where->runs[number / where->run] + number % where->run : number;
}

static void transpose_tiles(half *packed, long count, long steps, long high) {
    for (long i = 0; i < count; i += high)
        for (long s = 0; s < PARTS * steps; s++) {
            half *tile = packed + i / high / 2 * steps * BLOCK + s * PAIR + i / high % 2 * TILE;
            pairs rows[SIDE];
            UNROLL(16)
            for (int j = 0; j < SIDE; j++) rows[j] = _mm512_load_si512(tile + j * STEP);
            transpose(rows);
            UNROLL(16)
            for (int j = 0; j < SIDE; j++) _mm512_store_si512(tile + j * STEP, rows[j]);
        }
}

/* Packs so many lines of the outer index, from first on, in so many steps of the inner one that lie along them:
   (pair of tiles, step, BLOCK); tiles (outer, inner) of so many lines. */
static void pack_along(const lines *where, long first, long count, const stretch *parts, long steps, long high,
                       half *packed) {
    for (long i = 0; i < count; i++) {
        const float *from = line(where, first + i), *later = line(where, first + least(i + AHEAD, count - 1));
        half *tile = packed + i / high / 2 * steps * BLOCK + i / high % 2 * TILE;
        for (long s = 0; s < steps; s++, tile += BLOCK) {
            const float *start = from + parts[s].place;
            const long numbers = parts[s].numbers;
            pairs split[PARTS];
            __builtin_prefetch(later + parts[s].place);
            __builtin_prefetch(later + parts[s].place + SIDE);
            split_neighbours(some(start, numbers), some(start + SIDE, numbers - SIDE), split);
            keep(tile, i % high, split);
        }
    }
}

/* The same of lines of the inner index; tiles (inner, outer). */
static void pack_across(const lines *where, long first, long count, const stretch *parts, long steps, long high,
                        half *packed) {
    const __m512 zero = _mm512_setzero_ps();
    for (long s = 0; s < steps; s++)
        for (long pair = 0; pair < SIDE; pair++) {
            const long left = parts[s].numbers - 2 * pair, number = parts[s].place + 2 * pair;
            const float *even = left > 0 ? line(where, number) : NULL, *odd = left > 1 ? line(where, number + 1) : NULL;
            for (long i = 0; i < count; i += high) {
                half *tile = packed + (i / high / 2 * steps + s) * BLOCK + i / high % 2 * TILE;
                const long place = place_in_line(where, first + i), width = least(high, count - i);
                pairs split[PARTS];
                split_pairs(even ? some(even + place, width) : zero, odd ? some(odd + place, width) : zero, split);
                keep(tile, pair, split);
            }
        }
}

/* The runs of neighbours that the inner index goes through, and the steps that a run makes, and all. */
INLINE long run_of(const split_job *job) { return job->windows == OF_A ? job->run : job->inner; }

INLINE long steps_of_run(const split_job *job) { return (run_of(job) + STEP - 1) / STEP; }

INLINE long steps_of(const split_job *job) { return job->inner / run_of(job) * steps_of_run(job); }

/* Steps of the inner index, from number s on; windows: in memory. */
INLINE void find_stretches(const split_job *job, long s, long steps, int windows, stretch *parts) {
    for (long i = 0; i < steps; i++, s++) {
        const long run = s / steps_of_run(job), start = s % steps_of_run(job) * STEP;
        parts[i].place = (windows ? job->run_offsets[run] : run * run_of(job)) + start;
        parts[i].numbers = least(STEP, run_of(job) - start);
    }
}

/* So many rows of a, of so many a tile. */
static void pack_rows(const split_job *job, const float *a, long first, long rows, long high, long s, long steps,
                      half *packed) {
    const int windows = job->windows == OF_A;
    stretch parts[STEPS];
    find_stretches(job, s, steps, windows, parts);
    if (job->a_inner == 1) {
        const lines where = {.from = a, .offsets = windows ? job->row_offsets : NULL, .apart = job->a_row};
        pack_along(&where, first, rows, parts, steps, high, packed);
    } else {
        const lines where = {.from = a, .apart = job->a_inner};
        pack_across(&where, first, rows, parts, steps, high, packed);
        transpose_tiles(packed, rows, steps, high);
    }
}

/* So many columns of b. Tiles of columns are whole in the runs of windows. */
static void pack_columns(const split_job *job, const float *b, long first, long columns, long s, long steps,
                         half *packed) {
    stretch parts[STEPS];
    find_stretches(job, s, steps, 0, parts);
    if (job->windows == OF_B) {
        const lines where = {b, job->row_offsets, 0, job->run_offsets, job->run};
        pack_across(&where, first, columns, parts, steps, SIDE, packed);
    } else if (job->b_column == 1) {
        const lines where = {.from = b, .apart = job->b_inner};
        pack_across(&where, first, columns, parts, steps, SIDE, packed);
    } else {
        const lines where = {.from = b, .apart = job->b_column};
        pack_along(&where, first, columns, parts, steps, SIDE, packed);
        transpose_tiles(packed, columns, steps, SIDE);
    }
}

/* Multiplying ----------------------------------------------------------------------------------------------------- */

/* What the sums begin with, and what is done with them at the end. */
typedef struct {
    int add, relu;
    const float *bias;
} finish;

/* One tile of a, or two, of part number i; one of b, or two; and their products. */
#define LOAD_A(i)                                                                                                  \
    _tile_loadd(4, a + i * PAIR, 64);                                                                              \
    if (tall) _tile_loadd(5, a + i * PAIR + TILE, 64);
#define LOAD_B(i)                                                                                                  \
    _tile_loadd(6, b + i * PAIR, 64);                                                                              \
    if (wide) _tile_loadd(7, b + i * PAIR + TILE, 64);
#define MULTIPLY                                                                                                   \
    _tile_dpbf16ps(0, 4, 6);                                                                                       \
    if (wide) _tile_dpbf16ps(1, 4, 7);                                                                             \
    if (tall) _tile_dpbf16ps(2, 5, 6);                                                                             \
    if (tall && wide) _tile_dpbf16ps(3, 5, 7);

/* sums (2 high, PANEL) = so many steps of packed rows and columns; one tile or two of either. */
INLINE void multiply(const half *a, const half *b, long steps, float *sums, long row, long high, int tall, int wide,
                     int add) {
    float *below = sums + high * row;
    if (add) {
        _tile_loadd(0, sums, row * sizeof(float));
        if (wide) _tile_loadd(1, sums + SIDE, row * sizeof(float));
        if (tall) _tile_loadd(2, below, row * sizeof(float));
        if (tall && wide) _tile_loadd(3, below + SIDE, row * sizeof(float));
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (; steps > 0; steps--, a += BLOCK, b += BLOCK) {
        LOAD_A(0) LOAD_B(1) MULTIPLY
        LOAD_B(0) MULTIPLY
        LOAD_A(1) MULTIPLY
    }
    _tile_stored(0, sums, row * sizeof(float));
    if (wide) _tile_stored(1, sums + SIDE, row * sizeof(float));
    if (tall) _tile_stored(2, below, row * sizeof(float));
    if (tall && wide) _tile_stored(3, below + SIDE, row * sizeof(float));
}

static void multiply_some(const half *a, const half *b, long steps, float *sums, long row, long high, int tall,
                          int wide, int add) {
    if (tall && wide) multiply(a, b, steps, sums, row, high, 1, 1, add);
    else if (tall) multiply(a, b, steps, sums, row, high, 1, 0, add);
    else if (wide) multiply(a, b, steps, sums, row, high, 0, 1, add);
    else multiply(a, b, steps, sums, row, high, 0, 0, add);
}

/* out = or += sums, and the rest of what is done. */
static void put(const float *sums, float *out, long out_row, long rows, long columns, finish how) {
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < columns; j += SIDE) {
            const __mmask16 there = first_lanes(columns - j);
            float *to = out + i * out_row + j;
            __m512 value = _mm512_load_ps(sums + i * PANEL + j);
            if (how.add) value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(there, to));
            if (how.bias) value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(there, how.bias + j));
            if (how.relu) value = (__m512)rectified((vector)value);
            _mm512_mask_storeu_ps(to, there, value);
        }
}

/* Rows of out from packed ones and a packed panel. */
static void multiply_panel(const half *a, const half *b, long steps, float *out, long out_row, long rows, long high,
                           long columns, finish how) {
    float sums[PANEL * PANEL] __attribute__((aligned(64)));
    const int wide = columns > SIDE, direct = !how.bias && !how.relu && columns == (wide ? PANEL : SIDE);
    for (long i = 0; i < rows; i += 2 * high, a += steps * BLOCK) {
        const long there = least(2 * high, rows - i);
        float *to = out + i * out_row;
        const int tall = there > high;
        if (direct && there % high == 0) {
            multiply_some(a, b, steps, to, out_row, high, tall, wide, how.add);
        } else {
            for (long row = 0; row < there; row++)
                for (long j = 0; j < columns; j += SIDE) __builtin_prefetch(to + row * out_row + j, 1);
            multiply_some(a, b, steps, sums, PANEL, high, tall, wide, 0);
            put(sums, to, out_row, there, columns, how);
        }
    }
}

void multiply_all(split_job *job) {
    half packed_rows[ROWS_PACKED / PANEL * STEPS * BLOCK] __attribute__((aligned(64)));
    half packed_columns[COLUMNS_PACKED / PANEL * STEPS * BLOCK] __attribute__((aligned(64)));
    const long down = (job->rows + job->rows_at_once - 1) / job->rows_at_once;
    const long across = (job->columns + job->columns_at_once - 1) / job->columns_at_once;
    const long all_steps = steps_of(job), panels = (job->columns + PANEL - 1) / PANEL;
    long unit, end, set = 0;
    while (take(&job->next, 1, job->products * down * across, &unit, &end)) {
        const long product = unit / (down * across);
        const long top = unit / across % down * job->rows_at_once, left = unit % across * job->columns_at_once;
        const long rows = least(job->rows_at_once, job->rows - top);
        const long columns = least(job->columns_at_once, job->columns - left);
        const float *a = job->a + product * job->a_product, *b = job->b + product * job->b_product;
        const long high = tile_rows(rows), together = ROWS_PACKED / PANEL * 2 * high;
        if (high != set) set_tiles(set = high);
        for (long s = 0; s < all_steps; s += STEPS) {
            const long steps = least(STEPS, all_steps - s);
            const int last = s + steps == all_steps;
            if (!job->panels) pack_columns(job, b, left, columns, s, steps, packed_columns);
            for (long first = 0; first < rows; first += together) {
                const long some_rows = least(together, rows - first);
                float *out = job->out + product * job->out_product + (top + first) * job->out_row + left;
                pack_rows(job, a, top + first, some_rows, high, s, steps, packed_rows);
                for (long j = 0; j < columns; j += PANEL) {
                    const half *panel = packed_columns + j / PANEL * steps * BLOCK;
                    if (job->panels)
                        panel = job->panels + ((product * panels + (left + j) / PANEL) * all_steps + s) * BLOCK;
                    const finish how = {
                        .add = job->add || s > 0,
                        .relu = last && job->relu,
                        .bias = last && job->bias ? job->bias + left + j : NULL,
                    };
                    multiply_panel(packed_rows, panel, steps, out + j, job->out_row, some_rows, high,
                                   least(PANEL, columns - j), how);
                }
            }
        }
    }
    if (set) _tile_release();
}

/* Fills panels from b. */
void pack_all(split_job *job) {
    const long panels = (job->columns + PANEL - 1) / PANEL, steps = steps_of(job);
    long unit, end;
    while (take(&job->next, 1, job->products * panels, &unit, &end)) {
        const long first = unit % panels * PANEL;
        const float *b = job->b + unit / panels * job->b_product;
        for (long s = 0; s < steps; s += STEPS)
            pack_columns(job, b, first, least(PANEL, job->columns - first), s, least(STEPS, steps - s),
                         job->panels + (unit * steps + s) * BLOCK);
    }
}
