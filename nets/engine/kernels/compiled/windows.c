/* What products make of a strided convolution's input gradient, put into images: windows, added up where they overlap,
   or the phases of a stride-1 convolution (strided_input_gradient.py).

   Compiled when first needed (compiled/windows.py), once per element type, with vectors.h in front. Images are (batch,
   row, column, channel). Every entry point is called by all threads that share a job, and takes units of work from it
   until none is left. Asks for a definition of MOST_NUMBERS, the most numbers of a padded row of an image. */

typedef struct {
    const REAL *windows;        /* (batch, row, column) of (kernel row, kernel column, channel), some rows of them */
    long first_row, rows, columns;
    REAL *images;
    layout to;
    long count, channels;
    long kernel[2], stride[2], padding[2];
    long first, last;           /* rows of an image that the windows reach: the first, and the one behind the last */
    long at_once, next;
} windows_job;

/* Adds to a padded row what one row of the kernel gives it in one row of windows. Neighbouring windows overlap: those
   one after the other here are so far apart that none waits for the one before to be written. */
static void add_kernel_row(const windows_job *job, const REAL *windows, const REAL *end, REAL *row) {
    const long run = job->kernel[1] * job->channels, size = job->kernel[0] * run;
    const long step = job->stride[1] * job->channels;
    const long vectors = (run + LANES - 1) / LANES, apart = (vectors * LANES + step - 1) / step;
    mask kept;
    for (int lane = 0; lane < LANES; lane++) kept[lane] = (vectors - 1) * LANES + lane < run ? -1 : 0;
    for (long begin = 0; begin < least(apart, job->columns); begin++)
        for (long x = begin; x < job->columns; x += apart) {
            const REAL *from = windows + x * size;
            REAL *to = row + x * step;
            long c = 0;
            for (; c + LANES < run; c += LANES) store(to + c, load(to + c, LANES) + load(from + c, LANES), LANES);
            /* What follows the last numbers is not added; the very last window has nothing behind it. */
            const vector last = from + c + LANES <= end ? where(kept, load(from + c, LANES)) : load(from + c, run - c);
            store(to + c, load(to + c, LANES) + last, LANES);
        }
}

static void add_row(const windows_job *job, long image, long y) {
    const long run = job->kernel[1] * job->channels, size = job->kernel[0] * run;
    const long padded = (job->to.width + 2 * job->padding[1]) * job->channels;
    const long top = y + job->padding[0], stride = job->stride[0];
    const REAL *end = job->windows + job->count * job->rows * job->columns * size;
    REAL row[MOST_NUMBERS + LANES];
    memset(row, 0, (padded + LANES) * sizeof(REAL));
    long from = quotient(top - job->kernel[0] + 1, stride), to = top / stride + 1;
    if (from < job->first_row) from = job->first_row;
    to = least(to, job->first_row + job->rows);
    for (long i = from; i < to; i++) {
        const long place = (image * job->rows + i - job->first_row) * job->columns * job->kernel[0] + top - i * stride;
        add_kernel_row(job, job->windows + place * run, end, row);
    }
    REAL *pixel = job->images + image * job->to.strides[0] + y * job->to.strides[1];
    const REAL *found = row + job->padding[1] * job->channels;
    if (job->to.strides[2] == job->channels) {
        for (long i = 0; i < job->to.width * job->channels; i++) pixel[i] += found[i];
        return;
    }
    for (long x = 0; x < job->to.width; x++, pixel += job->to.strides[2], found += job->channels)
        for (long c = 0; c < job->channels; c++) pixel[c] += found[c];
}

/* Units are rows of the images. */
void add_windows(windows_job *own) {
    const windows_job job = *own;
    const long rows = job.last - job.first;
    long unit, last;
    while (take(&own->next, job.at_once, job.count * rows, &unit, &last))
        for (; unit < last; unit++) add_row(&job, unit / rows, job.first + unit % rows);
}

typedef struct {
    const REAL *phases;         /* (batch, row, column) of (row's phase, column's phase, channel) */
    long rows, columns;
    REAL *images;
    layout to;
    long count, channels;
    long stride[2], padding[2];
    long at_once, next;
} phases_job;

/* A row of an image whose pixels are neighbours, from those of so many columns that are in one row's phase: each has a
   run of pixels, of which the first begins skipped numbers before the row. Whole vectors are written, as long as what
   they hold beyond the run is written over by the next ones. */
static void place_runs(const REAL *from, const REAL *end, long size, long columns, long run, long skipped, REAL *row,
                       long numbers) {
    const long vectors = (run + LANES - 1) / LANES;
    const long reached = columns * run > skipped ? columns * run - skipped : 0;
    for (long column = skipped / run; column < columns; column++) {
        const long start = column * run - skipped;
        const REAL *pixels = from + column * size;
        if (start >= 0 && start + vectors * LANES <= numbers && pixels + vectors * LANES <= end) {
            for (long i = 0; i < vectors; i++) store(row + start + i * LANES, load(pixels + i * LANES, LANES), LANES);
        } else if (start < numbers) {
            const long before = start < 0 ? -start : 0, there = least(run, numbers - start);
            memcpy(row + start + before, pixels + before, (there - before) * sizeof(REAL));
        }
    }
    if (reached < numbers) memset(row + reached, 0, (numbers - reached) * sizeof(REAL));
}

static void place_row(const phases_job *job, long image, long y) {
    const long run = job->stride[1] * job->channels, size = job->stride[0] * run, pixel = job->to.strides[2];
    const long width = job->to.width, bytes = job->channels * sizeof(REAL), row = (y + job->padding[0]) / job->stride[0];
    const REAL *from = job->phases + (image * job->rows + row) * job->columns * size +
                       (y + job->padding[0]) % job->stride[0] * run;
    const REAL *end = job->phases + job->count * job->rows * job->columns * size;
    const long columns = row < job->rows ? job->columns : 0;  /* pixels that no window reaches are 0 */
    REAL *to = job->images + image * job->to.strides[0] + y * job->to.strides[1];
    if (pixel == job->channels) {
        place_runs(from, end, size, columns, run, job->padding[1] * job->channels, to, width * job->channels);
        return;
    }
    for (long x = 0; x < width; x++) {
        const long place = x + job->padding[1], column = place / job->stride[1];
        if (column < columns)
            memcpy(to + x * pixel, from + column * size + place % job->stride[1] * job->channels, bytes);
        else memset(to + x * pixel, 0, bytes);
    }
}

/* Units are rows of the images. */
void place_phases(phases_job *own) {
    const phases_job job = *own;
    long unit, last;
    while (take(&own->next, job.at_once, job.count * job.to.height, &unit, &last))
        for (; unit < last; unit++) place_row(&job, unit / job.to.height, unit % job.to.height);
}
