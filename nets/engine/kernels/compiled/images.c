/* Copies of images.

   Compiled when first needed (compiled/images.py), once per element type, with vectors.h in front. Images are (batch,
   row, column, channel); in the target channels are neighbours in memory. Every entry point is called by all threads
   that share a job, and takes units of work from it until none is left. */

typedef struct {
    const element *source;
    layout from;
    long from_channel;          /* from a channel of the source to the next */
    element *target;
    layout to;
    long images, channels;
    long at_once;               /* rows that a thread takes together */
    long next;                  /* row that nobody has taken */
} copy_job;

/* A row whose channels lie apart in the source, and so do its columns; pixel: from one of the target to the next. */
INLINE void gather(const element *restrict from, element *restrict to, long width, long column, long channel,
                   long pixel, long channels) {
    for (long x = 0; x < width; x++)
        for (long c = 0; c < channels; c++) to[x * pixel + c] = from[x * column + c * channel];
}

static void copy_row(const copy_job *job, const element *from, element *to) {
    const long size = job->channels * sizeof(element), column = job->from.strides[2], pixel = job->to.strides[2];
    const long width = job->from.width, channel = job->from_channel;
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

/* Units are rows. */
void copy_images(copy_job *own) {
    const copy_job job = *own;
    const long rows = job.from.height;
    long unit, last;
    while (take(&own->next, job.at_once, job.images * rows, &unit, &last)) {
        for (; unit < last; unit++)
            copy_row(&job, job.source + unit / rows * job.from.strides[0] + unit % rows * job.from.strides[1],
                     job.target + unit / rows * job.to.strides[0] + unit % rows * job.to.strides[1]);
    }
}
