/* Batches of matrix products, out = a b or out += a b.

   Compiled when first needed (compiled/products.py), once per element type, with vectors.h in front. All
   matrices are given by strides, in elements; out's columns are neighbours. The columns of b are packed a panel
   at a time, so that the innermost loop reads it in order from the cache, whatever its layout is; or b comes
   packed. Every entry point is called by all threads that share a job, and takes units of work from it until none
   is left: blocks of rows of one panel of one product, or panels to be packed. Asks for a
   definition of ROWS, the rows of out that are summed together. */

#if defined(__AVX512F__) || defined(__aarch64__)
#define VECTORS 4               /* of a panel's row; with them ROWS x VECTORS sums fit the registers */
#else
#define VECTORS 2
#endif

enum { PANEL = VECTORS * LANES, INNER = 256, AHEAD = 8 };

_Static_assert(ROWS == 6, "SIZES has a function for every number of rows up to that");

typedef struct {
    const REAL *a;
    long a_product, a_row, a_inner;
    const REAL *b;
    long b_product, b_inner, b_column;
    REAL *out;
    long out_product, out_row;
    long products, rows, inner, columns;
    long rows_at_once;              /* of a unit */
    long columns_at_once;           /* of a unit, where both matrices are packed */
    long inner_at_once;             /* of the inner index, where b is packed */
    long add;                       /* whether to add to out */
    const REAL *bias;               /* one number per column to add, or NULL */
    long relu;                      /* whether negative results become 0 */
    REAL *panels;                   /* b packed: (product, panel, inner, PANEL); or NULL */
    const long *row_offsets;        /* of every row of a, instead of a_row; or NULL */
    const long *run_offsets;        /* of the runs of neighbours that each row of a is made of; or NULL */
    long run;                       /* numbers of a run */
    long next;                      /* unit that nobody has taken */
} products_job;

/* block (LANES, LANES) = its transpose. Step by step, parts of twice the size change places across the
   diagonal. */
INLINE void transpose(vector *block) {
    UNROLL(8)
    for (int size = 1; size < LANES; size *= 2) {
        mask low, high;  /* which lanes of two rows, one after the other, make their new values */
        UNROLL(16)
        for (int lane = 0; lane < LANES; lane++) {
            low[lane] = lane & size ? LANES + lane - size : lane;
            high[lane] = lane & size ? LANES + lane : lane + size;
        }
        UNROLL(16)
        for (int i = 0; i < LANES; i++) {
            if (i & size) continue;
            const vector upper = block[i], lower = block[i + size];
            block[i] = shuffle(upper, lower, low);
            block[i + size] = shuffle(upper, lower, high);
        }
    }
}

/* panel (inner, PANEL) = a part of b with so many columns, zeros beside them. Processors foresee none of these
   many short runs through memory. */
static void pack(const REAL *b, long b_inner, long b_column, long inner, long columns, REAL *panel) {
    if (columns < PANEL) memset(panel, 0, inner * PANEL * sizeof(REAL));
    if (b_column == 1) {
        for (long k = 0; k < inner; k++) {
            for (long j = 0; j < columns; j += LANES) __builtin_prefetch(b + (k + AHEAD) * b_inner + j);
            if (columns == PANEL) memcpy(panel + k * PANEL, b + k * b_inner, sizeof(vector) * VECTORS);
            else memcpy(panel + k * PANEL, b + k * b_inner, columns * sizeof(REAL));
        }
        return;
    }
    for (long column = 0; column < columns; column += LANES)
        for (long k = 0; k < inner; k += LANES) {
            const long deep = least(LANES, inner - k), wide = least(LANES, columns - column);
            if (SHUFFLES && b_inner == 1 && deep == LANES && wide == LANES) {
                vector block[LANES];
                for (int i = 0; i < LANES; i++) {
                    const REAL *from = b + k + (column + i) * b_column;
                    __builtin_prefetch(from + 2 * LANES);
                    block[i] = load(from, LANES);
                }
                transpose(block);
                for (int i = 0; i < LANES; i++) *(vector *)(panel + (k + i) * PANEL + column) = block[i];
            } else {
                for (long j = column; j < column + wide; j++)
                    for (long i = k; i < k + deep; i++) panel[i * PANEL + j] = b[i * b_inner + j * b_column];
            }
        }
}

/* What is done with sums besides storing them. */
typedef struct {
    int add, relu;
    const REAL *bias;
} finish;

INLINE void put(REAL *to, vector value, long column, long lanes, finish how) {
    if (how.add) value += load(to, lanes);
    if (how.bias) value += load(how.bias + column, lanes);
    if (how.relu) value = rectified(value);
    store(to, value, lanes);
}

/* A part of out whose last vector has fewer columns. A function of its own: what it calls would take the registers
   from the sums. */
__attribute__((noinline)) static void put_part(const vector *sums, long vectors, REAL *out, long out_row, long rows,
                                               long columns, finish how) {
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < columns; j += LANES)
            put(out + i * out_row + j, sums[i * vectors + j / LANES], j, least(LANES, columns - j), how);
}

enum {
    LINE = 64 / sizeof(REAL),   /* of a cache */
    TALL = 2 * ROWS,            /* rows that are summed together where there are few columns */
};

/* The numbers that will be needed next, for the caches: those of the next rows, as far from these; and some of the next
   panel, so many for each step of the inner index: what all blocks of rows fetch in equal shares does not keep the
   processor from reading this panel. */
typedef struct {
    long rows;
    const REAL *panel;
    long step;
} ahead;

/* The part of a row of a that is multiplied at once: so many runs of neighbours, each at an offset of its own. */
typedef struct {
    const long *offsets;
    long runs, length;
} stretch;

INLINE const REAL *row_of(const products_job *job, const REAL *a, long row) {
    return a + (job->row_offsets ? job->row_offsets[row] : row * job->a_row);
}

/* A tile of out, its rows from as many of a, from first on, and its columns from a panel. rows: those that are there. */
typedef struct {
    const products_job *job;
    const REAL *a;
    long first;
    const REAL *panel;
    stretch part;
    REAL *out;
    long rows, columns;
    finish how;
    ahead next;
} tile;

/* whole: whether all rows and vectors are. */
INLINE void multiply(const tile *which, int rows, int vectors, int whole) {
    const tile here = *which;
    const products_job *job = here.job;
    const long a_inner = job->a_inner;
    const REAL *panel = here.panel, *fetched = here.next.panel;
    vector sums[ROWS * VECTORS];
    const REAL *row[TALL];
    UNROLL(12)
    for (int i = 0; i < rows; i++) {
        /* Beyond the last row it once more, not stored. */
        row[i] = row_of(job, here.a, here.first + (whole ? i : least(i, here.rows - 1)));
        UNROLL(8)
        for (int j = 0; j < vectors; j++) {
            sums[i * vectors + j] = (vector){0};
            __builtin_prefetch(here.out + i * job->out_row + j * LANES, 1);
        }
    }
    for (long run = 0; run < here.part.runs; run++) {
        const long offset = here.part.offsets[run];
        long at = offset;
        for (long from = 0; from < here.part.length; from += LINE) {
            UNROLL(12)
            for (int i = 0; i < rows; i++) __builtin_prefetch(row[i] + here.next.rows + offset + from);
            UNROLL_BY(4)
            for (long steps = least(LINE, here.part.length - from); steps > 0; steps--) {
                vector right[VECTORS];
                __builtin_prefetch(fetched, 0, 2);
                UNROLL(8)
                for (int j = 0; j < vectors; j++) right[j] = *(const vector *)(panel + j * LANES);
                UNROLL(12)
                for (int i = 0; i < rows; i++) {
                    const REAL left = row[i][at];
                    UNROLL(8)
                    for (int j = 0; j < vectors; j++) sums[i * vectors + j] += left * right[j];
                }
                at += a_inner;
                panel += PANEL;
                fetched += here.next.step;
            }
        }
    }
    if (!whole) {
        put_part(sums, vectors, here.out, job->out_row, here.rows, here.columns, here.how);
        return;
    }
    UNROLL(12)
    for (int i = 0; i < rows; i++)
        UNROLL(8)
        for (int j = 0; j < vectors; j++)
            put(here.out + i * job->out_row + j * LANES, sums[i * vectors + j], j * LANES, LANES, here.how);
}

/* The tiles of each size have a function: compilers take more than twice as long for a single one with all of them. */
typedef void micro_kernel(const tile *);

#define SIZE(NAME, ROWS_THERE, COLUMN_VECTORS, WHOLE)                                                              \
    static void NAME##COLUMN_VECTORS(const tile *which) { multiply(which, ROWS_THERE, COLUMN_VECTORS, WHOLE); }
#define SIZES(COLUMN_VECTORS)                                                                                      \
    SIZE(one_by_, 1, COLUMN_VECTORS, 1)                                                                            \
    SIZE(two_by_, 2, COLUMN_VECTORS, 1)                                                                            \
    SIZE(three_by_, 3, COLUMN_VECTORS, 1)                                                                          \
    SIZE(four_by_, 4, COLUMN_VECTORS, 1)                                                                           \
    SIZE(five_by_, 5, COLUMN_VECTORS, 1)                                                                           \
    SIZE(six_by_, 6, COLUMN_VECTORS, 1)                                                                            \
    SIZE(some_by_, ROWS, COLUMN_VECTORS, 0)
#define NAMES(COLUMN_VECTORS)                                                                                      \
    {                                                                                                              \
        some_by_##COLUMN_VECTORS, one_by_##COLUMN_VECTORS, two_by_##COLUMN_VECTORS, three_by_##COLUMN_VECTORS,     \
        four_by_##COLUMN_VECTORS, five_by_##COLUMN_VECTORS, six_by_##COLUMN_VECTORS,                               \
    }
#define TALL_SIZES(COLUMN_VECTORS)                                                                                 \
    SIZE(tall_by_, TALL, COLUMN_VECTORS, 1)                                                                        \
    SIZE(part_of_tall_by_, TALL, COLUMN_VECTORS, 0)
#define TALL_NAMES(COLUMN_VECTORS) { part_of_tall_by_##COLUMN_VECTORS, tall_by_##COLUMN_VECTORS }

SIZES(1)
SIZES(2)
TALL_SIZES(1)
#if VECTORS == 4
SIZES(3)
SIZES(4)
TALL_SIZES(2)
/* For so many vectors of columns, less 1, and so many rows, 0 where the vectors are not whole. */
static micro_kernel *const sizes[VECTORS][ROWS + 1] = {NAMES(1), NAMES(2), NAMES(3), NAMES(4)};
/* For so many vectors of columns, less 1, and whether they are whole. */
static micro_kernel *const tall_sizes[VECTORS / 2][2] = {TALL_NAMES(1), TALL_NAMES(2)};
#else
static micro_kernel *const sizes[VECTORS][ROWS + 1] = {NAMES(1), NAMES(2)};
static micro_kernel *const tall_sizes[VECTORS / 2][2] = {TALL_NAMES(1)};
#endif

/* What will be needed after the block of rows that starts at row i: the rows behind it, and a part of the panel at
   next, or nothing if that is NULL. */
INLINE ahead after(const products_job *job, long i, long block, long rows, long inner, const REAL *panel,
                   const REAL *next) {
    const long blocks = (rows + block - 1) / block, step = next ? least(LINE, (PANEL + blocks - 1) / blocks) : 0;
    return (ahead){
        job->a_inner == 1 && i + block < rows ? block * job->a_row : 0,
        next ? next + i / block * step * inner : panel,
        step,
    };
}

static void multiply_panel(const products_job *job, const REAL *a, long first, const REAL *panel, stretch part,
                           REAL *out, long rows, long columns, finish how, const REAL *next) {
    const int whole = columns % LANES == 0;
    const long vectors = (columns + LANES - 1) / LANES, inner = part.runs * part.length, end = first + rows;
    tile here = {job, a, first, panel, part, out, TALL, columns, how, (ahead){0}};
    if (2 * vectors <= VECTORS)
        for (; here.first + TALL <= end; here.first += TALL, here.out += TALL * job->out_row) {
            here.next = after(job, here.first - first, TALL, rows, inner, panel, next);
            tall_sizes[vectors - 1][whole](&here);
        }
    for (long blocks = (end - here.first + ROWS - 1) / ROWS; blocks > 0; blocks--) {
        here.rows = (end - here.first + blocks - 1) / blocks;  /* equal shares: one row takes as long as some */
        here.next = after(job, here.first - first, ROWS, rows, inner, panel, next);
        sizes[vectors - 1][whole ? here.rows : 0](&here);
        here.first += here.rows;
        here.out += here.rows * job->out_row;
    }
}

INLINE long panels_of(const products_job *job) { return (job->columns + PANEL - 1) / PANEL; }

/* The columns of a panel. Equal shares: a narrow panel is slow. */
INLINE long width_of(const products_job *job) {
    const long vectors = (job->columns + LANES - 1) / LANES, panels = panels_of(job);
    return (vectors + panels - 1) / panels * LANES;
}

/* The first part of what is left of the rows, from number k on: so many numbers that their panel stays in a cache. */
INLINE stretch next_stretch(const products_job *job, long k) {
    static const long none[] = {0};
    const long most = job->panels ? job->inner_at_once : INNER;
    if (!job->run_offsets) return (stretch){none, 1, least(most, job->inner - k)};
    const long run = k / job->run, start = k % job->run, left = job->inner / job->run - run;
    if (job->run > most) return (stretch){job->run_offsets + run, 1, least(most, job->run - start)};
    return (stretch){job->run_offsets + run, least(most / job->run, left), job->run};
}

/* The packed panel of a unit. Neighbouring units have neighbouring panels of a product, once for each block of rows. */
INLINE const REAL *packed_panel(const products_job *job, long unit, long panels, long blocks) {
    return job->panels + (unit / (panels * blocks) * panels + unit % panels) * job->inner * PANEL;
}

void multiply_all(products_job *job) {
    const long panels = panels_of(job), width = width_of(job);
    const long blocks = (job->rows + job->rows_at_once - 1) / job->rows_at_once;
    const long units = job->products * panels * blocks, onward = takes_from_back() ? -1 : 1;
    vector buffer[INNER * VECTORS];
    REAL *panel = (REAL *)buffer;
    long unit, end;
    while (take(&job->next, 1, units, &unit, &end)) {
        /* Neighbouring units share a panel that must be packed, or else the rows. */
        const long product = unit / (panels * blocks), place = unit % (panels * blocks);
        const long which = job->panels ? place % panels : place / blocks;
        const long first = (job->panels ? place / panels : place % blocks) * job->rows_at_once;
        const long rows = least(job->rows_at_once, job->rows - first);
        const long from = which * width, columns = least(width, job->columns - from);
        const REAL *a = job->a + product * job->a_product;
        const REAL *b = job->b + product * job->b_product + from * job->b_column;
        REAL *out = job->out + product * job->out_product + first * job->out_row + from;
        stretch part;
        for (long k = 0; k < job->inner; k += part.runs * part.length) {
            part = next_stretch(job, k);
            const long inner = part.runs * part.length;
            const int last = k + inner == job->inner;
            const finish how = {
                .add = job->add || k > 0,
                .relu = last && job->relu,
                .bias = last && job->bias ? job->bias + from : NULL,
            };
            const REAL *packed = panel, *next = NULL;
            if (job->panels) {
                packed = packed_panel(job, unit, panels, blocks) + k * PANEL;
                const long other = unit + onward;
                if (!last) next = packed + inner * PANEL;
                else if (other >= 0 && other < units) next = packed_panel(job, other, panels, blocks);
            } else {
                pack(b + k * job->b_inner, job->b_inner, job->b_column, inner, columns, panel);
            }
            const long start = job->run_offsets ? k % job->run : k * job->a_inner;
            multiply_panel(job, a + start, first, packed, part, out, rows, columns, how, next);
        }
    }
}

/* Products whose inner index is the rows of both matrices as they lie in memory, as in a weight's gradient. Lines
   of LINE_OF_A rows of out and of WIDE_TILE columns are packed from a and b, a part of the inner index at a time. */

enum { WIDE = 2 };              /* vectors of a tile */
/* With them TALL_TILE x WIDE sums fit the registers. Lines of a are one or two tiles wide: whole vectors are packed in
   fewer instructions than parts. */
#if defined(__AVX512F__)
enum { TALL_TILE = 8, LINE_OF_A = 16 };
#elif defined(__aarch64__)
enum { TALL_TILE = 12, LINE_OF_A = 12 };
#else
enum { TALL_TILE = 6, LINE_OF_A = 6 };
#endif

enum { WIDE_TILE = WIDE * LANES, ROWS_PACKED = 96, COLUMNS_PACKED = 512 };

/* lines (count / width, INNER, width) = rows of neighbours, zeros beside them. */
INLINE void pack_lines(const REAL *from, long row, long inner, long count, int width, REAL *lines) {
    for (long k = 0; k < inner; k++, from += row)
        for (long i = 0; i < count; i += width) {
            REAL *line = lines + i * INNER + k * width;
            __builtin_prefetch(from + AHEAD * row + i);
            if (i + width <= count) {
                memcpy(line, from + i, width * sizeof(REAL));
            } else {
                memset(line, 0, width * sizeof(REAL));
                memcpy(line, from + i, (count - i) * sizeof(REAL));
            }
        }
}

/* Rows of neighbours that will be packed next, fetched into the second cache while others are multiplied: as many
   numbers for each step of the inner index, so that memory is always busy and the processor never waits for it. */
typedef struct {
    const REAL *at, *end;           /* in a row, and behind it */
    const REAL *last;               /* the last row's end */
    long row, width, step;
} fetching;

INLINE fetching fetch_rows(const REAL *from, long row, long rows, long width, long step) {
    if (rows == 0) return (fetching){from, from, from, 0, 0, 0};
    return (fetching){from, from + width, from + (rows - 1) * row + width, row, width, step};
}

INLINE void fetch_some(fetching *next) {
    __builtin_prefetch(next->at, 0, 2);
    next->at += next->step;
    if (next->at >= next->end) {
        next->end += next->row;
        next->at = next->end - next->width;
    }
}

/* A tile of out of so many vectors, whole or not, from a line of a and one of b. */
INLINE void multiply_lines(const REAL *a, const REAL *b, long inner, REAL *out, long out_row, long rows, int vectors,
                           long columns, int add, fetching *next) {
    fetching here = *next;
    vector sums[TALL_TILE * WIDE];
    UNROLL(12)
    for (int i = 0; i < TALL_TILE; i++)
        UNROLL(2)
        for (int j = 0; j < vectors; j++) {
            sums[i * WIDE + j] = (vector){0};
            __builtin_prefetch(out + least(i, rows - 1) * out_row + j * LANES, 1);
        }
    UNROLL_BY(4)
    for (long k = 0; k < inner; k++, a += LINE_OF_A, b += WIDE_TILE) {
        vector right[WIDE];
        fetch_some(&here);
        UNROLL(2)
        for (int j = 0; j < vectors; j++) right[j] = *(const vector *)(b + j * LANES);
        UNROLL(12)
        for (int i = 0; i < TALL_TILE; i++)
            UNROLL(2)
            for (int j = 0; j < vectors; j++) sums[i * WIDE + j] += a[i] * right[j];
    }
    *next = here;
    UNROLL(12)
    for (int i = 0; i < TALL_TILE; i++)
        UNROLL(2)
        for (int j = 0; j < vectors; j++)
            if (i < rows)
                put(out + i * out_row + j * LANES, sums[i * WIDE + j], 0, least(LANES, columns - j * LANES),
                    (finish){.add = add});
}

INLINE void multiply_packed(const products_job *job, const REAL *a, const REAL *b, long inner, REAL *out, long rows,
                            long columns, int add, fetching *next, fetching *then) {
    for (long j = 0; j < columns; j += WIDE_TILE)
        for (long i = 0; i < rows; i += TALL_TILE) {
            const REAL *lines = a + i / LINE_OF_A * LINE_OF_A * INNER + i % LINE_OF_A, *line = b + j * INNER;
            REAL *to = out + i * job->out_row + j;
            const long high = rows - i, wide = least(WIDE_TILE, columns - j);
            if (next->at >= next->last) next = then;
            if (high >= TALL_TILE && wide == WIDE_TILE)
                multiply_lines(lines, line, inner, to, job->out_row, TALL_TILE, WIDE, WIDE_TILE, add, next);
            else if (wide > LANES) multiply_lines(lines, line, inner, to, job->out_row, high, WIDE, wide, add, next);
            else multiply_lines(lines, line, inner, to, job->out_row, high, 1, wide, add, next);
        }
}

/* What multiply_columns packs behind the rows of out from first on: the next of a, which may be those of the next part
   of the inner index, and of that part of b a share. */
INLINE void fetch_behind(const products_job *job, const REAL *a, const REAL *b, long k, long first, long together,
                         long rows, long columns, fetching *of_a, fetching *of_b) {
    const long inner = least(INNER, job->inner - k), next = k + inner, next_inner = least(INNER, job->inner - next);
    const long some = least(together, rows - first), behind = first + some, more = behind < rows;
    const long wide = least(together, more ? rows - behind : rows), high = more ? inner : next_inner;
    const long from = next_inner * first / rows, share = next_inner * behind / rows - from;
    const long tiles = (some + TALL_TILE - 1) / TALL_TILE * ((columns + WIDE_TILE - 1) / WIDE_TILE);
    const long step = least(LINE, (high * wide + share * columns) / (tiles * inner) + 1);
    *of_a = fetch_rows(a + (more ? k : next) * job->a_inner + (more ? behind : 0), job->a_inner, high, wide, step);
    *of_b = fetch_rows(b + (next + from) * job->b_inner, job->b_inner, share, columns, step);
}

/* out = a b or out += a b, where the rows of out are neighbours in a and its columns in b. */
void multiply_columns(products_job *job) {
    vector lines_of_a[ROWS_PACKED * INNER / LANES], lines_of_b[COLUMNS_PACKED * INNER / LANES];
    REAL *packed_a = (REAL *)lines_of_a, *packed_b = (REAL *)lines_of_b;
    const long down = (job->rows + job->rows_at_once - 1) / job->rows_at_once;
    const long across = (job->columns + job->columns_at_once - 1) / job->columns_at_once;
    long unit, end;
    while (take(&job->next, 1, job->products * down * across, &unit, &end)) {
        const long product = unit / (down * across);
        const long top = unit / across % down * job->rows_at_once, left = unit % across * job->columns_at_once;
        const long rows = least(job->rows_at_once, job->rows - top);
        const long columns = least(job->columns_at_once, job->columns - left);
        const REAL *a = job->a + product * job->a_product + top, *b = job->b + product * job->b_product + left;
        REAL *out = job->out + product * job->out_product + top * job->out_row + left;
        /* Equal shares of the rows, of whole tiles. */
        const long shares = (rows + ROWS_PACKED - 1) / ROWS_PACKED;
        const long together = ((rows + shares - 1) / shares + LINE_OF_A - 1) / LINE_OF_A * LINE_OF_A;
        for (long k = 0; k < job->inner; k += INNER) {
            const long inner = least(INNER, job->inner - k);
            const int add = job->add || k > 0;
            pack_lines(b + k * job->b_inner, job->b_inner, inner, columns, WIDE_TILE, packed_b);
            for (long first = 0; first < rows; first += together) {
                const long some = least(together, rows - first);
                fetching of_a, of_b;
                pack_lines(a + k * job->a_inner + first, job->a_inner, inner, some, LINE_OF_A, packed_a);
                fetch_behind(job, a, b, k, first, together, rows, columns, &of_a, &of_b);
                multiply_packed(job, packed_a, packed_b, inner, out + first * job->out_row, some, columns, add,
                                &of_a, &of_b);
            }
        }
    }
}

/* Fills panels from b. */
void pack_all(products_job *job) {
    const long panels = panels_of(job), width = width_of(job);
    long unit, end;
    while (take(&job->next, 1, job->products * panels, &unit, &end)) {
        const long from = unit % panels * width;
        const REAL *b = job->b + unit / panels * job->b_product + from * job->b_column;
        pack(b, job->b_inner, job->b_column, job->inner, least(width, job->columns - from),
             job->panels + unit * job->inner * PANEL);
    }
}

long panel_columns(void) { return PANEL; }

/* The rows and columns of out that multiply_columns packs lines for. */
long line_rows(void) { return LINE_OF_A; }

long line_columns(void) { return WIDE_TILE; }
