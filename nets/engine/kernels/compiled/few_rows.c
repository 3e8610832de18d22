/* Products of few rows with a large matrix, which is read once and as it lies in memory: Linear layers of small batches.

   Compiled when first needed (compiled/few_rows.py), once per element type, with vectors.h in front, and with ONE_ROW
   defined for a single row. The matrix is a weight (outputs, inputs), its rows lie in order in memory. Every entry point
   is called by all threads that share a job, and takes units of work from it until none is left. */

typedef struct {
    const REAL *rows;               /* (count, inputs), or of a gradient (count, outputs) */
    long count, row;
    const REAL *weight;
    long outputs, inputs, weight_row;
    REAL *out;
    long out_row;
    long add;                       /* whether to add to out */
    const REAL *bias;               /* one number per output to add, or NULL */
    long relu;                      /* whether negative results become 0 */
    long at_once;                   /* outputs, or of a gradient inputs, of a unit */
    long block;                     /* inputs of some rows that stay in the first cache */
    long next;                      /* unit that nobody has taken */
} few_rows_job;

/* Rows whose sums stay in registers, with two outputs or two vectors of the weight. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { ROWS = 8 };
#else
enum { ROWS = 4 };
#endif
enum {
    OUTPUTS = 2,                    /* of a weight that are multiplied together */
    DEEP = 16,                      /* rows of a weight that are added up before the sums are stored */
};

/* The sum of the numbers of so many bytes, by halves: as vectors, as long as there are any. */
#define SUM(BYTES, NEXT)                                                                                           \
    INLINE REAL sum_of_##BYTES(const REAL *of) {                                                                   \
        typedef REAL half __attribute__((vector_size(BYTES / 2)));                                                 \
        half low, high;                                                                                            \
        memcpy(&low, of, sizeof low);                                                                              \
        memcpy(&high, of + BYTES / 2 / sizeof(REAL), sizeof high);                                                 \
        low += high;                                                                                               \
        return NEXT((const REAL *)&low);                                                                           \
    }

INLINE REAL sum_of_few(const REAL *of) { return sizeof(REAL) == 8 ? of[0] : of[0] + of[1]; }
SUM(16, sum_of_few)
SUM(32, sum_of_16)
SUM(64, sum_of_32)
#undef SUM

INLINE REAL total(const vector *sum) {
    const REAL *of = (const REAL *)sum;
    return VECTOR_BYTES == 64 ? sum_of_64(of) : VECTOR_BYTES == 32 ? sum_of_32(of) : sum_of_16(of);
}

/* Adds to sums (rows, outputs), for up to a vector of inputs, so many outputs of the weight times so many rows. */
INLINE void add_dots(const few_rows_job *job, const REAL *weight, const vector *rows_there, int rows, int outputs,
                     long lanes, vector *sums) {
    vector left[OUTPUTS];
    UNROLL(2)
    for (int j = 0; j < outputs; j++) {
        left[j] = load(weight + j * job->weight_row, lanes);
        __builtin_prefetch(weight + (j + outputs) * job->weight_row);
    }
    UNROLL(8)
    for (int i = 0; i < rows; i++) {
        /* Once into a register: compilers would read it for every product. */
        const vector right = *(const volatile vector *)(rows_there + i);
        UNROLL(2)
        for (int j = 0; j < outputs; j++) sums[i * outputs + j] += left[j] * right;
    }
}

/* Some outputs of the weight with some rows, of which a block of inputs has been packed: (inputs / LANES, rows). */
INLINE void dots(const few_rows_job *job, const vector *packed, long row, long output, long from, long inputs, int rows,
                 int outputs) {
    vector sums[ROWS * OUTPUTS];
    const REAL *weight = job->weight + output * job->weight_row + from;
    UNROLL(16)
    for (int i = 0; i < rows * outputs; i++) sums[i] = (vector){0};
    long k = 0;
    for (; k + LANES <= inputs; k += LANES, packed += rows) add_dots(job, weight + k, packed, rows, outputs, LANES, sums);
    if (k < inputs) add_dots(job, weight + k, packed, rows, outputs, inputs - k, sums);
    const int first = from == 0, last = from + inputs == job->inputs;
    UNROLL(8)
    for (int i = 0; i < rows; i++)
        UNROLL(2)
        for (int j = 0; j < outputs; j++) {
            REAL *to = job->out + (row + i) * job->out_row + output + j;
            REAL sum = total(&sums[i * outputs + j]);
            if (!first || job->add) sum += *to;
            if (last && job->bias) sum += job->bias[output + j];
            *to = last && job->relu && sum < 0 ? 0 : sum;
        }
}

/* A block of inputs of some outputs with so many rows, from row on. */
INLINE void multiply_block(const few_rows_job *job, long row, long output, long end, long from, long inputs, int rows) {
    vector packed[rows * ((inputs + LANES - 1) / LANES)], *to = packed;
    for (long k = 0; k < inputs; k += LANES)
        for (long i = 0; i < rows; i++)
            *to++ = load(job->rows + (row + i) * job->row + from + k, least(LANES, inputs - k));
    for (; output + OUTPUTS <= end; output += OUTPUTS) dots(job, packed, row, output, from, inputs, rows, OUTPUTS);
    if (output < end) dots(job, packed, row, output, from, inputs, rows, 1);
}

/* DO for all rows, up to MOST_ROWS of them together. */
#ifdef ONE_ROW
#define BY_ROWS(MOST_ROWS, DO, ...) DO(&job, 0, __VA_ARGS__, 1);
#else
#define BY_ROWS(MOST_ROWS, DO, ...)                                                                                \
    for (long row = 0; row < job.count;) {                                                                         \
        const long left = job.count - row;                                                                         \
        if (left >= MOST_ROWS) DO(&job, row, __VA_ARGS__, MOST_ROWS), row += MOST_ROWS;                            \
        else if (left >= ROWS) DO(&job, row, __VA_ARGS__, ROWS), row += ROWS;                                      \
        else if (left >= 4) DO(&job, row, __VA_ARGS__, 4), row += 4;                                               \
        else if (left >= 2) DO(&job, row, __VA_ARGS__, 2), row += 2;                                               \
        else DO(&job, row, __VA_ARGS__, 1), row += 1;                                                              \
    }
#endif

/* out (count, outputs) = rows times the transposed weight. Units are outputs. */
void multiply_transposed(few_rows_job *own) {
    const few_rows_job job = *own;
    long first, end;
    while (take(&own->next, job.at_once, job.outputs, &first, &end))
        for (long from = 0; from < job.inputs; from += job.block)
            BY_ROWS(ROWS, multiply_block, first, end, from, least(job.block, job.inputs - from))
}

/* Adds so many rows of the weight, each times a number of every row, up in so many vectors: sums (vectors, rows). */
INLINE void combine(const few_rows_job *job, const REAL *factors, const REAL *weight, long deep, vector *sums, int rows,
                    int vectors, long lanes) {
    vector here[2 * ROWS];
    UNROLL(16)
    for (int i = 0; i < rows * vectors; i++) here[i] = sums[i];
    for (long k = 0; k < deep; k++, weight += job->weight_row, factors += rows)
        UNROLL(4)
        for (int v = 0; v < vectors; v++) {
            const vector right = load(weight + v * LANES, lanes);
            __builtin_prefetch(weight + DEEP * job->weight_row + v * LANES, 0, 2);
            UNROLL(16)
            for (int i = 0; i < rows; i++) here[v * rows + i] += factors[i] * right;
        }
    UNROLL(16)
    for (int i = 0; i < rows * vectors; i++) sums[i] = here[i];
}

/* The same for all of a unit's inputs and so many rows, from row on: of sums (rows, vectors) their part. */
INLINE void combine_rows(const few_rows_job *job, long row, long output, long deep, long first, long inputs,
                         vector *all_sums, int rows) {
    const int vectors = rows > ROWS ? 1 : rows == ROWS ? 2 : 4;  /* no sum has to wait for the one before */
    const REAL *weight = job->weight + output * job->weight_row + first;
    vector *sums = all_sums + row * ((inputs + LANES - 1) / LANES);
    REAL factors[DEEP * rows];
    for (long k = 0; k < deep; k++)
        for (long i = 0; i < rows; i++) factors[k * rows + i] = job->rows[(row + i) * job->row + output + k];
    long k = 0;
    for (; k + vectors * LANES <= inputs; k += vectors * LANES, sums += rows * vectors)
        combine(job, factors, weight + k, deep, sums, rows, vectors, LANES);
    for (; k < inputs; k += LANES, sums += rows)
        combine(job, factors, weight + k, deep, sums, rows, 1, least(LANES, inputs - k));
}

INLINE void store_rows(const few_rows_job *job, long row, long first, long inputs, const vector *all_sums, int rows) {
    const vector *sum = all_sums + row * ((inputs + LANES - 1) / LANES);
    for (long k = 0; k < inputs; k += LANES)
        for (long i = 0; i < rows; i++, sum++) {
            const long lanes = least(LANES, inputs - k);
            REAL *to = job->out + (row + i) * job->out_row + first + k;
            store(to, job->add ? load(to, lanes) + *sum : *sum, lanes);
        }
}

/* out (count, inputs) = rows times the weight. Units are inputs. */
void multiply_plain(few_rows_job *own) {
    const few_rows_job job = *own;
    vector sums[job.count * ((job.at_once + LANES - 1) / LANES)];
    long first, end;
    while (take(&own->next, job.at_once, job.inputs, &first, &end)) {
        memset(sums, 0, sizeof sums);
        for (long output = 0; output < job.outputs; output += DEEP)
            BY_ROWS(2 * ROWS, combine_rows, output, least(DEEP, job.outputs - output), first, end - first, sums)
        BY_ROWS(2 * ROWS, store_rows, first, end - first, sums)
    }
}
