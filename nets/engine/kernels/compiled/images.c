/* Copies of images, sums of two, the gradient of ReLUs, and sums over all pixels.

   Compiled when first needed (compiled/images.py), once per element type, with vectors.h in front. Images are (batch,
   row, column, channel); in the target channels are neighbours in memory. Every entry point is called by all threads
   that share a job, and takes units of work from it until none is left. */

typedef struct {
    const element *source;
    layout from_layout;
    long from_channel;          /* from a channel of the source to the next */
    element *target;
    layout to_layout;
    long images, channels;
    long at_once;               /* rows, or channels, that a thread takes together */
    long next;                  /* row or channel that nobody has taken */
} images_job;

/* A row whose channels lie apart in the source, and so do its columns; pixel: from one of the target to the next. */
INLINE void gather(const element *restrict from, element *restrict to, long width, long column, long channel,
                   long pixel, long channels) {
    for (long x = 0; x < width; x++)
        for (long c = 0; c < channels; c++) to[x * pixel + c] = from[x * column + c * channel];
}

static void copy_row(const images_job *job, const element *from, element *to) {
    const long size = job->channels * sizeof(element);
    const long column = job->from_layout.strides[2], pixel = job->to_layout.strides[2];
    const long width = job->from_layout.width, channel = job->from_channel;
    if (channel != 1) {
        /* Usual images: constants, with which the loop is turned into one over vectors. */
        if (job->channels == 3 && column == 1 && pixel == 3) gather(from, to, width, 1, channel, 3, 3);
        else gather(from, to, width, column, channel, pixel, job->channels);
    } else if (column == job->channels && pixel == job->channels) {
        memcpy(to, from, width * size);
    } else {
        for (long x = 0; x < width; x++) memcpy(to + x * pixel, from + x * column, size);
    }
}

/* What is done with an element of the target and the one in the same place of the source. */
enum { COPY, ADD, MASK };

INLINE void change_some(int how, const element *from, element *to, long lanes) {
    const vector there = load_elements(to, lanes), other = load_elements(from, lanes);
    store_elements(to, how == ADD ? there + other : where(~(mask)(other <= 0), there), lanes);
}

INLINE void change(int how, const element *from, element *to, long count) {
    long i = 0;
    for (; i + LANES <= count; i += LANES) change_some(how, from + i, to + i, LANES);
    if (i < count) change_some(how, from + i, to + i, count - i);
}

/* A row of images whose channels are neighbours in both. */
INLINE void change_row(const images_job *job, int how, const element *from, element *to) {
    const long column = job->from_layout.strides[2], pixel = job->to_layout.strides[2], width = job->from_layout.width;
    if (column == job->channels && pixel == job->channels) change(how, from, to, width * job->channels);
    else for (long x = 0; x < width; x++) change(how, from + x * column, to + x * pixel, job->channels);
}

/* Units are rows. */
INLINE void do_rows(images_job *own, int how) {
    const images_job job = *own;
    const long rows = job.from_layout.height;
    long unit, last;
    while (take(&own->next, job.at_once, job.images * rows, &unit, &last)) {
        for (; unit < last; unit++) {
            const element *from = job.source + unit / rows * job.from_layout.strides[0]
                + unit % rows * job.from_layout.strides[1];
            element *to = job.target + unit / rows * job.to_layout.strides[0] + unit % rows * job.to_layout.strides[1];
            if (how == COPY) copy_row(&job, from, to);
            else change_row(&job, how, from, to);
        }
    }
}

void copy_images(images_job *job) { do_rows(job, COPY); }

void add_images(images_job *job) { do_rows(job, ADD); }

/* Sets what of the target has no positive number in the source to 0. */
void mask_images(images_job *job) { do_rows(job, MASK); }

enum { TOGETHER = 64 };  /* pixels that are summed in REAL: few enough that nothing is lost */

/* Adds up to LANES channels of so many pixels to totals. */
INLINE void add_pixels(const element *from, long pixel, long pixels, long lanes, double *totals) {
    vector sum = {0};
    for (long x = 0; x < pixels; x++) sum += load_elements(from + x * pixel, lanes);
    for (long i = 0; i < lanes; i++) totals[i] += sum[i];
}

/* Adds the sums over all pixels of the source to the target's single one. Units are channels. */
void add_channel_sums(images_job *own) {
    const images_job job = *own;
    const long pixel = job.from_layout.strides[2], width = job.from_layout.width;
    const long rows = job.images * job.from_layout.height;
    long first, last;
    while (take(&own->next, job.at_once, job.channels, &first, &last)) {
        double totals[last - first];
        memset(totals, 0, sizeof totals);
        for (long row = 0; row < rows; row++) {
            const element *from = job.source + row / job.from_layout.height * job.from_layout.strides[0]
                + row % job.from_layout.height * job.from_layout.strides[1];
            for (long x = 0; x < width; x += TOGETHER)
                for (long c = first; c < last; c += LANES)
                    add_pixels(from + x * pixel + c, pixel, least(TOGETHER, width - x), least(LANES, last - c),
                               totals + c - first);
        }
        for (long c = first; c < last; c += LANES) {
            const long lanes = least(LANES, last - c);
            vector found = load_elements(job.target + c, lanes);
            for (long i = 0; i < lanes; i++) found[i] += totals[c - first + i];
            store_elements(job.target + c, found, lanes);
        }
    }
}
