/* Depthwise convolution of images: every channel by a kernel of its own; and its weight's gradient.

   Compiled when first needed (compiled/depthwise.py), once per element type, with vectors.h in front. Images are
   (batch, row, column, channel), channels are neighbours in memory; weights are (tap, channel). Every
   entry point is called by all threads that share a job, and takes units of work from it until none is left: some
   rows of the output. Asks for a definition of HIGH, the rows of outputs that are summed together. */

enum {
    TOGETHER = 4,   /* neighbouring outputs of a row that are summed together: they share weights and most inputs */
    SIDE = 3,       /* of the kernel by which HIGH rows of such outputs are */
    TAPS = 3,       /* of a kernel's row, whose gradients are summed together: they share gradients of outputs */
    GROUP = 4,      /* vectors of channels that are summed together */
};

typedef struct {
    const element *image;
    layout large;
    element *out;                           /* or its gradient */
    layout small;
    const REAL *weight;
    const element *bias;                    /* or NULL */
    long images, channels;
    long kernel[2], stride[2], padding[2], dilation[2];
    long relu;
    REAL *sums;                             /* the weight's gradient: (unit, tap, channel) */
    element *gradient;                      /* what that is added to: (channel, tap) */
    long done;                              /* rows whose sums have been made */
    long at_once;                           /* rows that a thread takes together */
    long next;                              /* row that nobody has taken */
} depthwise_job;

/* Neighbouring outputs, and the inputs under them: those from top to bottom and from left to right lie within the image.
   In image and out the first of each. */
typedef struct {
    const element *image;
    element *out;
    long top, bottom, left, right;
} block;

INLINE void finish(const depthwise_job *job, element *out, vector sum, long lanes) {
    store_elements(out, job->relu ? rectified(sum) : sum, lanes);
}

/* So many rows and columns of outputs, of some channels, by a kernel of SIDE x SIDE: every input is loaded once.
   whole: whether all inputs lie within the image. */
INLINE void sum_block(const depthwise_job *job, block here, int stride, int rows, int columns, int whole, long c,
                      long lanes) {
    vector sums[HIGH * TOGETHER], taps[SIDE * SIDE];
    const vector start = job->bias ? load_elements(job->bias + c, lanes) : (vector){0};
    UNROLL(8)
    for (int n = 0; n < rows * columns; n++) sums[n] = start;
    UNROLL(9)
    for (int tap = 0; tap < SIDE * SIDE; tap++) taps[tap] = load(job->weight + tap * job->channels + c, lanes);
    UNROLL(5)
    for (int i = 0; i < (rows - 1) * stride + SIDE; i++) {
        if (!whole && (i < here.top || i >= here.bottom)) continue;
        const element *row = here.image + c + i * job->large.strides[1];
        UNROLL(9)
        for (int j = 0; j < (columns - 1) * stride + SIDE; j++) {
            if (!whole && (j < here.left || j >= here.right)) continue;
            const vector input = load_elements(row + j * job->large.strides[2], lanes);
            UNROLL(2)
            for (int m = 0; m < rows; m++)
                UNROLL(4)
                for (int n = 0; n < columns; n++) {
                    const int down = i - m * stride, across = j - n * stride;
                    if (0 <= down && down < SIDE && 0 <= across && across < SIDE)
                        sums[m * columns + n] += taps[down * SIDE + across] * input;
                }
        }
    }
    UNROLL(2)
    for (int m = 0; m < rows; m++)
        UNROLL(4)
        for (int n = 0; n < columns; n++)
            finish(job, here.out + m * job->small.strides[1] + n * job->small.strides[2] + c, sums[m * columns + n],
                   lanes);
}

/* The same for all channels. Blocks of each size have a function: compilers take six times as long for a single one with
   all of them. */
typedef void block_sum(const depthwise_job *, const block *);
typedef struct {
    block_sum *one, *part, *whole;          /* of a single column, of TOGETHER columns, and of those if all inputs are there */
} block_sums;
#define SUM_BLOCK(NAME, STRIDE, ROWS, COLUMNS, WHOLE)                                                                  \
    static void NAME(const depthwise_job *job, const block *here) {                                                    \
        long c = 0;                                                                                                    \
        for (; c + LANES <= job->channels; c += LANES) sum_block(job, *here, STRIDE, ROWS, COLUMNS, WHOLE, c, LANES);  \
        if (c < job->channels) sum_block(job, *here, STRIDE, ROWS, COLUMNS, WHOLE, c, job->channels - c);              \
    }
#define SUM_BLOCKS(NAME, STRIDE, ROWS)                                                                                 \
    SUM_BLOCK(NAME##_one, STRIDE, ROWS, 1, 0)                                                                          \
    SUM_BLOCK(NAME##_part, STRIDE, ROWS, TOGETHER, 0)                                                                  \
    SUM_BLOCK(NAME##_whole, STRIDE, ROWS, TOGETHER, 1)                                                                 \
    static const block_sums NAME = {NAME##_one, NAME##_part, NAME##_whole};
SUM_BLOCKS(dense_row, 1, 1)
SUM_BLOCKS(dense_rows, 1, HIGH)
SUM_BLOCKS(strided_row, 2, 1)
SUM_BLOCKS(strided_rows, 2, HIGH)

/* So many outputs of a row, of some channels, by any kernel. */
INLINE void sum_taps(const depthwise_job *job, block here, int columns, long c, long lanes) {
    const long step = job->stride[1] * job->large.strides[2], apart = job->dilation[1] * job->large.strides[2];
    vector sums[TOGETHER];
    const vector start = job->bias ? load_elements(job->bias + c, lanes) : (vector){0};
    UNROLL(4)
    for (int n = 0; n < columns; n++) sums[n] = start;
    for (long i = here.top; i < here.bottom; i++) {
        const element *row = here.image + c + i * job->dilation[0] * job->large.strides[1];
        for (long j = here.left; j < here.right; j++) {
            const vector tap = load(job->weight + (i * job->kernel[1] + j) * job->channels + c, lanes);
            UNROLL(4)
            for (int n = 0; n < columns; n++) sums[n] += tap * load_elements(row + j * apart + n * step, lanes);
        }
    }
    UNROLL(4)
    for (int n = 0; n < columns; n++) finish(job, here.out + n * job->small.strides[2] + c, sums[n], lanes);
}

INLINE void sum_all_taps(const depthwise_job *job, block here, int columns) {
    long c = 0;
    for (; c + LANES <= job->channels; c += LANES) sum_taps(job, here, columns, c, LANES);
    if (c < job->channels) sum_taps(job, here, columns, c, job->channels - c);
}

/* So many rows of outputs, TOGETHER columns at a time: the last ones once more where the width is no multiple. */
INLINE void convolve_blocks(const depthwise_job *job, int stride, int rows, const block_sums *sums, const element *image,
                            element *out, long row) {
    const long width = job->small.width, columns = width < TOGETHER ? 1 : TOGETHER;
    const long high = (rows - 1) * stride + SIDE, wide = (columns - 1) * stride + SIDE;
    const long y = row * stride - job->padding[0];
    for (long next = 0; next < width; next += columns) {
        const long column = least(next, width - columns), x = column * stride - job->padding[1];
        const block here = {
            .image = image + y * job->large.strides[1] + x * job->large.strides[2],
            .out = out + column * job->small.strides[2],
            .top = -y,
            .bottom = job->large.height - y,
            .left = -x,
            .right = job->large.width - x,
        };
        const int whole = y >= 0 && here.bottom >= high && x >= 0 && here.right >= wide;
        (columns == 1 ? sums->one : whole ? sums->whole : sums->part)(job, &here);
    }
}

/* A row of outputs, several at a time where all taps of a kernel's row lie within the image. */
static void convolve_row(const depthwise_job *job, const element *image, element *out, long row) {
    const long stride = job->stride[1], reach = (job->kernel[1] - 1) * job->dilation[1];
    const long y = row * job->stride[0] - job->padding[0];
    block here;
    within(y, job->kernel[0], job->dilation[0], job->large.height, &here.top, &here.bottom);
    for (long column = 0; column < job->small.width;) {
        const long x = column * stride - job->padding[1];
        const int several = x >= 0 && column + TOGETHER <= job->small.width
            && x + (TOGETHER - 1) * stride + reach < job->large.width;
        here.image = image + y * job->large.strides[1] + x * job->large.strides[2];
        here.out = out + column * job->small.strides[2];
        within(x, job->kernel[1], job->dilation[1], job->large.width, &here.left, &here.right);
        if (several) sum_all_taps(job, here, TOGETHER);
        else sum_all_taps(job, here, 1);
        column += several ? TOGETHER : 1;
    }
}

/* stride: that of a kernel of SIDE x SIDE, whose sums are made for one row and for HIGH, or 0 for any kernel. */
INLINE void convolve_all(depthwise_job *job, int stride, const block_sums *of_row, const block_sums *of_rows) {
    const depthwise_job own = *job;  /* which no store to the output can change: its fields stay in registers */
    const long height = own.small.height;
    long unit, last;
    while (take(&job->next, own.at_once, own.images * height, &unit, &last)) {
        for (long rows = 1; unit < last; unit += rows) {
            const long row = unit % height;
            const element *image = own.image + unit / height * own.large.strides[0];
            element *out = own.out + unit / height * own.small.strides[0] + row * own.small.strides[1];
            rows = stride && unit + HIGH <= last && row + HIGH <= height ? HIGH : 1;
            if (!stride) convolve_row(&own, image, out, row);
            else convolve_blocks(&own, stride, rows, rows == HIGH ? of_rows : of_row, image, out, row);
        }
    }
}

void depthwise(depthwise_job *job) {
    const int small = job->kernel[0] == SIDE && job->kernel[1] == SIDE && job->dilation[0] == 1
        && job->dilation[1] == 1 && job->stride[0] == job->stride[1];
    if (small && job->stride[0] == 1) convolve_all(job, 1, &dense_row, &dense_rows);
    else if (small && job->stride[0] == 2) convolve_all(job, 2, &strided_row, &strided_rows);
    else convolve_all(job, 0, 0, 0);
}

/* Adds to the sums of some neighbouring taps, from first to last column of a row of the output. The next rows are
   fetched: processors do not foresee so many short runs through memory. */
INLINE void add_products(const depthwise_job *job, const element *image, const element *gradient, REAL *sums,
                         long first, long last, int taps, int vectors, long lanes) {
    const long step = job->stride[1] * job->large.strides[2], apart = job->dilation[1] * job->large.strides[2];
    vector found[TAPS * GROUP];
    if (first >= last) return;
    UNROLL(3)
    for (int j = 0; j < taps; j++)
        UNROLL(4)
        for (int v = 0; v < vectors; v++)
            found[j * GROUP + v] = load(sums + j * job->channels + v * LANES, lanes);
    for (long column = first; column < last; column++) {
        const element *from = gradient + column * job->small.strides[2], *x = image + column * step;
        vector factor[GROUP];
        UNROLL(4)
        for (int v = 0; v < vectors; v++) {
            factor[v] = load_elements(from + v * LANES, lanes);
            __builtin_prefetch(from + job->small.strides[1] + v * LANES);
            __builtin_prefetch(x + job->stride[0] * job->large.strides[1] + v * LANES);
        }
        UNROLL(3)
        for (int j = 0; j < taps; j++)
            UNROLL(4)
            for (int v = 0; v < vectors; v++)
                found[j * GROUP + v] += factor[v] * load_elements(x + j * apart + v * LANES, lanes);
    }
    UNROLL(3)
    for (int j = 0; j < taps; j++)
        UNROLL(4)
        for (int v = 0; v < vectors; v++)
            store(sums + j * job->channels + v * LANES, found[j * GROUP + v], lanes);
}

/* The columns of the output whose tap lies within the image, from first to the one before last. */
INLINE void reached(const depthwise_job *job, long tap, long *first, long *last) {
    const long start = tap * job->dilation[1] - job->padding[1];
    *first = quotient(-start, job->stride[1]);
    *last = least(job->small.width, quotient(job->large.width - start, job->stride[1]));
}

/* What a row of the output adds to the gradients of a row of taps: image is where its first tap lies in column 0 of
   the output, which may be in the padding. */
INLINE void add_row(const depthwise_job *job, const element *image, const element *gradient, REAL *sums, int vectors,
                    long lanes) {
    const long apart = job->dilation[1] * job->large.strides[2];
    for (long j = 0; j < job->kernel[1];) {
        const int taps = j + TAPS <= job->kernel[1] ? TAPS : 1;
        long all_first, all_last, first, last;
        reached(job, j, &all_first, &last);
        reached(job, j + taps - 1, &first, &all_last);
        if (taps == TAPS && all_first < all_last)
            add_products(job, image + j * apart, gradient, sums + j * job->channels, all_first, all_last, TAPS,
                         vectors, lanes);
        else all_last = all_first;
        for (const long end = j + taps; j < end; j++) {
            REAL *to = sums + j * job->channels;
            reached(job, j, &first, &last);
            add_products(job, image + j * apart, gradient, to, first, least(last, all_first), 1, vectors, lanes);
            add_products(job, image + j * apart, gradient, to, first > all_last ? first : all_last, last, 1, vectors,
                         lanes);
        }
    }
}

INLINE void add_rows(const depthwise_job *job, REAL *sums, long unit, long last, long c, int vectors, long lanes) {
    for (; unit < last; unit++) {
        const long row = unit % job->small.height, y = row * job->stride[0] - job->padding[0];
        const long image = unit / job->small.height;
        const element *gradient = job->out + image * job->small.strides[0] + row * job->small.strides[1] + c;
        long top, bottom;
        within(y, job->kernel[0], job->dilation[0], job->large.height, &top, &bottom);
        for (long i = top; i < bottom; i++) {
            const element *from = job->image + image * job->large.strides[0] + c
                + (y + i * job->dilation[0]) * job->large.strides[1] - job->padding[1] * job->large.strides[2];
            add_row(job, from, gradient, sums + i * job->kernel[1] * job->channels + c, vectors, lanes);
        }
    }
}

/* Adds the sums of all units to the gradient, always in the same order. */
static void add_sums(const depthwise_job *job, long units) {
    const long taps = job->kernel[0] * job->kernel[1], channels = job->channels;
    for (long tap = 0; tap < taps; tap++)
        for (long c = 0; c < channels; c++) {
            element *to = job->gradient + c * taps + tap;
            REAL sum = 0;
            for (long unit = 0; unit < units; unit++) sum += job->sums[(unit * taps + tap) * channels + c];
            store_elements(to, load_elements(to, 1) + sum, 1);
        }
}

/* A unit's sums are its own, so that they do not depend on which thread took it. Who makes the last ones adds them up. */
void weight_gradient(depthwise_job *job) {
    const long count = job->kernel[0] * job->kernel[1] * job->channels, rows = job->images * job->small.height;
    long unit, last;
    while (take(&job->next, job->at_once, rows, &unit, &last)) {
        const long taken = last - unit;
        REAL *sums = job->sums + unit / job->at_once * count;
        long c = 0;
        memset(sums, 0, count * sizeof(REAL));
        for (; c + GROUP * LANES <= job->channels; c += GROUP * LANES)
            add_rows(job, sums, unit, last, c, GROUP, LANES);
        for (; c + 2 * LANES <= job->channels; c += 2 * LANES) add_rows(job, sums, unit, last, c, 2, LANES);
        for (; c + LANES <= job->channels; c += LANES) add_rows(job, sums, unit, last, c, 1, LANES);
        if (c < job->channels) add_rows(job, sums, unit, last, c, 1, job->channels - c);
        if (were_last(&job->done, taken, rows)) add_sums(job, (rows + job->at_once - 1) / job->at_once);
    }
}
