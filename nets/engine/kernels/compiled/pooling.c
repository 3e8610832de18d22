/* Max-pooling of images, and its gradient.

   Compiled when first needed (compiled/pooling.py), once per element type, with vectors.h in front. Images are
   (batch, row, column, channel), channels are neighbours in memory. The places of a window are numbered row by
   row; where its largest value is, is kept in a byte. Every entry point is called by all threads that share a
   job, and takes units of work from it until none is left: some rows of what it writes. Asks for a definition of
   NONE, the place where there is none: the window lies in the padding, or the ReLU let nothing through. */

#if defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>
#endif

enum {
    GROUP = 4,      /* vectors that are worked on together */
};

typedef unsigned char byte;
typedef byte bytes __attribute__((vector_size(LANES)));
typedef unsigned short halves __attribute__((vector_size(LANES * sizeof(short))));
typedef unsigned words __attribute__((vector_size(LANES * sizeof(unsigned))));

typedef struct {
    element *image;                            /* or its gradient; the smaller images are the pooled ones */
    layout large;
    element *pooled;
    layout small;
    byte *places;                           /* (batch, row, column, channel) of the pooled images */
    long images, channels;
    long kernel[2], stride[2], padding[2], dilation[2];
    long relu;
    long streams;                           /* whether the gradient is stored past the caches */
    long at_once;                           /* rows that a thread takes together */
    long next;                              /* row that nobody has taken */
} pooling_job;

/* What one result is made of. */
typedef struct {
    long count;
    long offsets[NONE];                     /* elements from where the image or the window starts */
    long place_offsets[NONE];
    integer places[NONE];
} terms;

INLINE void keep_places(byte *to, mask places, long lanes) {
    const bytes found = __builtin_convertvector(places, bytes);
    memcpy(to, &found, lanes);
}

/* Twice as wide at a time: in one step compilers convert number by number, through memory. */
INLINE mask load_places(const byte *from, long lanes) {
    bytes found = {0};
    memcpy(&found, from, lanes);
    const words wide = __builtin_convertvector(__builtin_convertvector(found, halves), words);
    return __builtin_convertvector(wide, mask);
}

/* The largest of the window's values and its place: the first of equal ones, the last that is not a number.
   Several vectors together, because each comparison has to wait for the one before. */
INLINE void take_largest(const pooling_job *job, const terms *window, const element *image, element *pooled,
                         byte *places, int vectors, long lanes) {
    const long ahead = job->stride[1] * job->large.strides[2];  /* to the next window */
    vector largest[GROUP];
    mask place[GROUP];
    UNROLL(8)
    for (int v = 0; v < vectors; v++) {
        largest[v] = load_elements(image + window->offsets[0] + v * LANES, lanes);
        place[v] = (mask){0} + window->places[0];
    }
    for (long i = 1; i < window->count; i++)
        UNROLL(8)
        for (int v = 0; v < vectors; v++) {
            const vector value = load_elements(image + window->offsets[i] + v * LANES, lanes);
            __builtin_prefetch(image + window->offsets[i] + ahead + v * LANES);
            const mask better = (mask)(value > largest[v]) | (mask)(value != value);
            largest[v] = (vector)(((mask)value & better) | ((mask)largest[v] & ~better));
            place[v] = (window->places[i] & better) | (place[v] & ~better);
        }
    UNROLL(8)
    for (int v = 0; v < vectors; v++) {
        if (job->relu) {
            place[v] |= (mask)(largest[v] <= 0) & NONE;
            largest[v] = rectified(largest[v]);
        }
        store_elements(pooled + v * LANES, largest[v], lanes);
        keep_places(places + v * LANES, place[v], lanes);
    }
}

static void pool_window(const pooling_job *job, const terms *window, const element *image, element *pooled,
                        byte *places) {
    long c = 0;
    if (window->count == 0) {
        const vector nothing = (vector){0} + (REAL)(job->relu ? 0 : -__builtin_inf());
        for (; c < job->channels; c++) store_elements(pooled + c, nothing, 1);
        memset(places, NONE, job->channels);
    }
    for (; c + GROUP * LANES <= job->channels; c += GROUP * LANES)
        take_largest(job, window, image + c, pooled + c, places + c, GROUP, LANES);
    for (; c + LANES <= job->channels; c += LANES)
        take_largest(job, window, image + c, pooled + c, places + c, 1, LANES);
    if (c < job->channels) take_largest(job, window, image + c, pooled + c, places + c, 1, job->channels - c);
}

static void pool_row(const pooling_job *job, long image, long row) {
    const long *in = job->large.strides, *out = job->small.strides;
    const long top = row * job->stride[0] - job->padding[0];
    const element *from = job->image + image * in[0] + top * in[1];
    element *to = job->pooled + image * out[0] + row * out[1];
    byte *places = job->places + (image * job->small.height + row) * job->small.width * job->channels;
    long i_from, i_to, known_from = 0, known_to = 0;
    terms window;
    window.count = 0;
    within(top, job->kernel[0], job->dilation[0], job->large.height, &i_from, &i_to);
    for (long column = 0; column < job->small.width; column++, to += out[2], places += job->channels) {
        const long left = column * job->stride[1] - job->padding[1];
        long j_from, j_to;
        within(left, job->kernel[1], job->dilation[1], job->large.width, &j_from, &j_to);
        if (j_from != known_from || j_to != known_to) {
            window.count = 0;
            for (long i = i_from; i < i_to; i++)
                for (long j = j_from; j < j_to; j++) {
                    window.offsets[window.count] = i * job->dilation[0] * in[1] + j * job->dilation[1] * in[2];
                    window.places[window.count++] = i * job->kernel[1] + j;
                }
            known_from = j_from, known_to = j_to;
        }
        pool_window(job, &window, from + left * in[2], to, places);
    }
}

/* Units are rows of the pooled images. */
void pool(pooling_job *job) {
    const long rows = job->small.height, count = job->images * rows;
    long row, last;
    while (take(&job->next, job->at_once, count, &row, &last)) {
        for (; row < last; row++)
            pool_row(job, row / rows, row % rows);
    }
}

/* The sum, and the gradients of those results whose place is this one. */
INLINE vector add_where(vector sum, const byte *places, integer place, vector gradient, long lanes) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    if (sizeof(REAL) == sizeof(float) && lanes == LANES) {  /* bytes are compared as such, and not made wider first */
        const __m128i found = _mm_loadu_si128((const __m128i *)places);
        const __mmask16 these = _mm_cmpeq_epi8_mask(found, _mm_set1_epi8((char)place));
        return (vector)_mm512_mask_add_ps((__m512)sum, these, (__m512)sum, (__m512)gradient);
    }
#endif
    return sum + where((mask)(load_places(places, lanes) == place), gradient);
}

/* The sum of the gradients of those results that one pixel was the largest for. */
INLINE void add_up(const terms *windows, const element *pooled, const byte *places, element *pixel, int vectors,
                   long lanes, int streams) {
    vector sums[GROUP];
    UNROLL(8)
    for (int v = 0; v < vectors; v++) sums[v] = (vector){0};
    for (long i = 0; i < windows->count; i++)
        UNROLL(8)
        for (int v = 0; v < vectors; v++) {
            const vector gradient = load_elements(pooled + windows->offsets[i] + v * LANES, lanes);
            sums[v] = add_where(sums[v], places + windows->place_offsets[i] + v * LANES, windows->places[i], gradient,
                                lanes);
        }
    UNROLL(8)
    for (int v = 0; v < vectors; v++) store_result(pixel + v * LANES, sums[v], lanes, streams);
}

/* Along one axis, the windows that a pixel may be in: the first and the one behind the last. */
INLINE void windows_of(long pixel, const pooling_job *job, int axis, long windows, long *from, long *to) {
    const long padded = pixel + job->padding[axis];
    *from = quotient(padded - (job->kernel[axis] - 1) * job->dilation[axis], job->stride[axis]);
    *to = least(windows, padded / job->stride[axis] + 1);
}

/* A pixel's place in a window along one axis; -1 where the dilated kernel leaves it out. */
INLINE long place_in(long pixel, const pooling_job *job, int axis, long window) {
    const long distance = pixel + job->padding[axis] - window * job->stride[axis];
    if (job->dilation[axis] == 1) return distance;
    return distance % job->dilation[axis] ? -1 : distance / job->dilation[axis];
}

static void gradient_of_row(const pooling_job *job, long image, long row) {
    const long *in = job->large.strides, *out = job->small.strides;
    const element *from = job->pooled + image * out[0];
    const byte *places = job->places + image * job->small.height * job->small.width * job->channels;
    element *to = job->image + image * in[0] + row * in[1];
    long y_from, y_to;
    windows_of(row, job, 0, job->small.height, &y_from, &y_to);
    for (long column = 0; column < job->large.width; column++, to += in[2]) {
        long x_from, x_to, c = 0;
        windows_of(column, job, 1, job->small.width, &x_from, &x_to);
        terms windows;
        windows.count = 0;
        for (long y = y_from; y < y_to; y++)
            for (long x = x_from; x < x_to; x++) {
                const long i = place_in(row, job, 0, y), j = place_in(column, job, 1, x);
                if (i < 0 || j < 0) continue;
                windows.offsets[windows.count] = y * out[1] + x * out[2];
                windows.place_offsets[windows.count] = (y * job->small.width + x) * job->channels;
                windows.places[windows.count++] = i * job->kernel[1] + j;
            }
        for (; c + GROUP * LANES <= job->channels; c += GROUP * LANES)
            add_up(&windows, from + c, places + c, to + c, GROUP, LANES, job->streams);
        for (; c + LANES <= job->channels; c += LANES)
            add_up(&windows, from + c, places + c, to + c, 1, LANES, job->streams);
        if (c < job->channels) add_up(&windows, from + c, places + c, to + c, 1, job->channels - c, 0);
    }
}

/* Units are rows of the large images: each pixel asks the windows that it is in, so that no two threads write to
   the same one, and overlapping windows are added in one order. */
void pool_gradient(pooling_job *job) {
    const long rows = job->large.height, count = job->images * rows;
    long row, last;
    while (take(&job->next, job->at_once, count, &row, &last)) {
        for (; row < last; row++)
            gradient_of_row(job, row / rows, row % rows);
    }
    if (job->streams) wait_for_streams();
}
