/* Means of windows of images, and of whole images.

   Compiled when first needed (compiled/averages.py), once per element type, with vectors.h in front. Images are
   (batch, row, column, channel), channels are neighbours in memory. The entry point is called by all threads that
   share a job, and takes units of work from it until none is left: some channels of a row of the output. */

enum { GROUP = 4 };             /* vectors of channels that are summed together */

typedef struct {
    const element *image;
    layout large;
    element *out;
    layout small;
    long images, channels;
    long kernel[2], stride[2], padding[2];
    long counts_padding;        /* whether zeros around an image are part of a mean */
    long divisor;               /* of all sums, or 0 for how many numbers they have */
    long relu;
    long at_once;               /* units that a thread takes together */
    long next;                  /* unit that nobody has taken */
} averages_job;

/* The numbers along one axis that count in the mean of the window at start, of which some lie within the image. */
INLINE long counted(const averages_job *job, int axis, long start, long size, long within) {
    return job->counts_padding ? least(start + job->kernel[axis], size + job->padding[axis]) - start : within;
}

/* One mean of so many vectors of channels. */
INLINE void average(const averages_job *job, const element *image, element *out, long rows, long columns, REAL factor,
                    int vectors, long lanes) {
    vector sums[GROUP];
    UNROLL(4)
    for (int v = 0; v < vectors; v++) sums[v] = (vector){0};
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < columns; j++) {
            const element *from = image + i * job->large.strides[1] + j * job->large.strides[2];
            UNROLL(4)
            for (int v = 0; v < vectors; v++) sums[v] += load_elements(from + v * LANES, lanes);
        }
    UNROLL(4)
    for (int v = 0; v < vectors; v++) {
        const vector mean = sums[v] * factor;
        store_elements(out + v * LANES, job->relu ? rectified(mean) : mean, lanes);
    }
}

void averages(averages_job *job) {
    const long groups = (job->channels + GROUP * LANES - 1) / (GROUP * LANES), rows = job->small.height;
    long unit, last;
    while (take(&job->next, job->at_once, job->images * rows * groups, &unit, &last)) {
        for (; unit < last; unit++) {
            const long n = unit / (rows * groups), row = unit / groups % rows, first = unit % groups * GROUP * LANES;
            const long end = least(job->channels, first + GROUP * LANES), y = row * job->stride[0] - job->padding[0];
            long top, bottom;
            within(y, job->kernel[0], 1, job->large.height, &top, &bottom);
            for (long column = 0; column < job->small.width; column++) {
                const long x = column * job->stride[1] - job->padding[1];
                long left, right;
                within(x, job->kernel[1], 1, job->large.width, &left, &right);
                const long count = job->divisor ? job->divisor
                                                : counted(job, 0, y, job->large.height, bottom - top)
                                                      * counted(job, 1, x, job->large.width, right - left);
                const element *image = job->image + n * job->large.strides[0] + (y + top) * job->large.strides[1]
                                    + (x + left) * job->large.strides[2];
                element *out = job->out + n * job->small.strides[0] + row * job->small.strides[1]
                            + column * job->small.strides[2];
                const long tall = bottom - top, wide = right - left;
                const REAL factor = (REAL)1 / count;
                if (end - first == GROUP * LANES) {
                    average(job, image + first, out + first, tall, wide, factor, GROUP, LANES);
                    continue;
                }
                for (long c = first; c < end; c += LANES)
                    average(job, image + c, out + c, tall, wide, factor, 1, least(LANES, end - c));
            }
        }
    }
}
