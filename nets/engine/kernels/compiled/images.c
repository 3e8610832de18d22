/* Copies of images.

   Compiled when first needed (compiled/images.py), once per element type, with vectors.h in front. Images are (batch,
   row, column, channel), channels are neighbours in memory. Every entry point is called by all threads that share a
   job, and takes units of work from it until none is left. */

typedef struct {
    const element *source;
    layout from;
    element *target;
    layout to;
    long images, channels;
    long at_once;               /* rows that a thread takes together */
    long next;                  /* row that nobody has taken */
} copy_job;

/* Units are rows. */
void copy_images(copy_job *job) {
    const long rows = job->from.height, pixel = job->channels * sizeof(element);
    const int joined = job->from.strides[2] == job->channels && job->to.strides[2] == job->channels;
    long unit, last;
    while (take(&job->next, job->at_once, job->images * rows, &unit, &last)) {
        for (; unit < last; unit++) {
            const element *from = job->source + unit / rows * job->from.strides[0] + unit % rows * job->from.strides[1];
            element *to = job->target + unit / rows * job->to.strides[0] + unit % rows * job->to.strides[1];
            if (joined) {
                memcpy(to, from, job->from.width * pixel);
                continue;
            }
            for (long x = 0; x < job->from.width; x++)
                memcpy(to + x * job->to.strides[2], from + x * job->from.strides[2], pixel);
        }
    }
}
