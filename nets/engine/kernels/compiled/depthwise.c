/* Depthwise convolution of images: every channel by a kernel of its own; and its weight's gradient.

   Compiled when first needed (compiled/depthwise.py), once per element type, with vectors.h in front. Images are
   (batch, row, column, channel), channels are neighbours in memory; weights are (tap, channel). Every
   entry point is called by all threads that share a job, and takes units of work from it until none is left: some
   rows of the output. */

enum {
    TOGETHER = 4,   /* neighbouring outputs that are summed together: they share weights and most inputs */
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

/* The kernel's extents, and the stride and dilation along a row: constants where the compiler is to unroll the
   loops over them, and to load once what several outputs are made from. */
typedef struct {
    long kernel[2], stride, dilation;
} geometry;

/* So many neighbouring outputs of some channels, the first of which has its first tap at image. Of the taps those
   from top to bottom and from left to right lie within the image. */
INLINE void sum_taps(const depthwise_job *job, geometry g, const element *image, long c, element *out, int count,
                     long top, long bottom, long left, long right, long lanes) {
    vector sums[TOGETHER];
    const vector start = job->bias ? load_elements(job->bias + c, lanes) : (vector){0};
    UNROLL(4)
    for (int n = 0; n < count; n++) sums[n] = start;
    UNROLL(3)
    for (long i = top; i < bottom; i++) {
        const element *row = image + c + i * job->dilation[0] * job->large.strides[1];
        UNROLL(3)
        for (long j = left; j < right; j++) {
            const vector tap = load(job->weight + (i * g.kernel[1] + j) * job->channels + c, lanes);
            UNROLL(4)
            for (int n = 0; n < count; n++)
                sums[n] += tap * load_elements(row + (j * g.dilation + n * g.stride) * job->large.strides[2], lanes);
        }
    }
    UNROLL(4)
    for (int n = 0; n < count; n++)
        store_elements(out + n * job->small.strides[2] + c, job->relu ? rectified(sums[n]) : sums[n], lanes);
}

/* The same for all channels. */
INLINE void sum_all(const depthwise_job *job, geometry g, const element *image, element *out, int count, long top,
                    long bottom, long left, long right) {
    long c = 0;
    for (; c + LANES <= job->channels; c += LANES)
        sum_taps(job, g, image, c, out, count, top, bottom, left, right, LANES);
    if (c < job->channels) sum_taps(job, g, image, c, out, count, top, bottom, left, right, job->channels - c);
}

/* In the order of memory, several pixels at a time. */
INLINE void convolve_row(const depthwise_job *job, geometry g, const element *image, element *out, long row) {
    const long rows = g.kernel[0], taps = g.kernel[1], reach = (taps - 1) * g.dilation;
    const long y = row * job->stride[0] - job->padding[0];
    long top, bottom;
    within(y, rows, job->dilation[0], job->large.height, &top, &bottom);
    const int whole = top == 0 && bottom == rows;
    for (long column = 0; column < job->small.width;) {
        const long x = column * g.stride - job->padding[1];
        const element *first = image + y * job->large.strides[1] + x * job->large.strides[2];
        element *to = out + column * job->small.strides[2];
        if (x >= 0 && column + TOGETHER <= job->small.width
            && x + (TOGETHER - 1) * g.stride + reach < job->large.width) {
            if (whole) sum_all(job, g, first, to, TOGETHER, 0, rows, 0, taps);
            else sum_all(job, g, first, to, TOGETHER, top, bottom, 0, taps);
            column += TOGETHER;
            continue;
        }
        long left, right;
        within(x, taps, g.dilation, job->large.width, &left, &right);
        /* The usual edges, with constants: loops over variable taps take far longer. */
        if (whole && left == 0 && right == taps) sum_all(job, g, first, to, 1, 0, rows, 0, taps);
        else if (whole && left == 1 && right == taps) sum_all(job, g, first, to, 1, 0, rows, 1, taps);
        else if (whole && left == 0 && right == taps - 1) sum_all(job, g, first, to, 1, 0, rows, 0, taps - 1);
        else sum_all(job, g, first, to, 1, top, bottom, left, right);
        column++;
    }
}

INLINE void convolve_all(depthwise_job *job, geometry g) {
    const depthwise_job own = *job;  /* which no store to the output can change: its fields stay in registers */
    const long rows = own.small.height, count = own.images * rows;
    long unit, last;
    while (take(&job->next, own.at_once, count, &unit, &last)) {
        for (; unit < last; unit++)
            convolve_row(&own, g, job->image + unit / rows * job->large.strides[0],
                         job->out + unit / rows * job->small.strides[0] + unit % rows * job->small.strides[1],
                         unit % rows);
    }
}

void depthwise(depthwise_job *job) {
    const int small = job->kernel[0] == 3 && job->kernel[1] == 3 && job->dilation[1] == 1;
    if (small && job->stride[1] == 1) convolve_all(job, (geometry){{3, 3}, 1, 1});
    else if (small && job->stride[1] == 2) convolve_all(job, (geometry){{3, 3}, 2, 1});
    else convolve_all(job, (geometry){{job->kernel[0], job->kernel[1]}, job->stride[1], job->dilation[1]});
}

/* Adds to the sums of some neighbouring taps, from first to last column of a row of the output. */
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
        for (int v = 0; v < vectors; v++) factor[v] = load_elements(from + v * LANES, lanes);
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
        for (; c + LANES <= job->channels; c += LANES) add_rows(job, sums, unit, last, c, 1, LANES);
        if (c < job->channels) add_rows(job, sums, unit, last, c, 1, job->channels - c);
        if (were_last(&job->done, taken, rows)) add_sums(job, (rows + job->at_once - 1) / job->at_once);
    }
}
