/* Winograd's transforms of tiles, in one pass over memory each.

   Compiled when first needed (compiled/tiles.py), once per algorithm and element type, with vectors.h and
   these in front: TILE, OUTPUT and KERNEL, the widths of an input tile, of an output tile and of the kernel; the
   matrices input_matrix [TILE][TILE], output_matrix [TILE][OUTPUT] and weight_matrix [TILE][KERNEL], each of
   which maps along one axis. With them constant, the compiler unrolls every product and leaves the zeros out.

   Images are (batch, row, column, channel). Transformed tiles are TILE * TILE planes of (tile, channel), the
   weight's (output channel, input channel). Every entry point is called by all threads that share a job, with
   the same job, and takes units of work from it until none is left. */

typedef struct {
    element *image;                    /* the first image's first element */
    long strides[3];                /* of image, row and column */
    long height, width;
    long top, left;                 /* where in the image the first tile starts; negative: in the padding */
    long first_row, rows, columns;  /* of tiles */
    long images, channels;
    element *values;
    long plane;                     /* elements from one plane of values to the next */
    const element *bias;               /* or NULL */
    long relu;
    long add;                       /* whether the output is added to what is there, before the ReLU */
    long at_once;                   /* units that a thread takes together */
    long next;                      /* unit that nobody has taken */
} tiles_job;

typedef struct {
    const element *values;
    long plane, row;                /* elements from one plane, and one output channel, to the next */
    REAL *gradient;                 /* (output channel, input channel, KERNEL * KERNEL) */
    long gradient_row;
    long outputs, inputs;
    long at_once, next;
} weight_job;

/* out (rows) = a matrix times in (columns). Entries of the matrix lie row_step and column_step apart: with the two
   exchanged it is the transpose. */
INLINE void product(const REAL *matrix, int rows, int row_step, int columns, int column_step, const vector *in,
                    int in_step, vector *out, int out_step) {
    UNROLL(16)
    for (int a = 0; a < rows; a++) {
        vector sum = {0};
        UNROLL(16)
        for (int j = 0; j < columns; j++) {
            const REAL entry = matrix[a * row_step + j * column_step];
            if (entry != 0) sum += entry * in[j * in_step];
        }
        out[a * out_step] = sum;
    }
}

/* The transform of a size x size tile, in place of its pixels that lie outside of the image zeros. */
INLINE void transform(const tiles_job *job, const REAL *matrix, int size, const element *image, long y, long x,
                      element *values, int whole, long lanes) {
    vector mixed[TILE * TILE];  /* of constant size: else it would stay in memory */
    for (int j = 0; j < size; j++) {
        vector column[TILE];
        for (int i = 0; i < size; i++) {
            int within = whole || (y + i >= 0 && y + i < job->height && x + j >= 0 && x + j < job->width);
            column[i] = within ? load_elements(image + (y + i) * job->strides[1] + (x + j) * job->strides[2], lanes)
                               : (vector){0};
        }
        product(matrix, TILE, size, size, 1, column, 1, mixed + j, size);
    }
    for (int a = 0; a < TILE; a++) {
        vector found[TILE];
        product(matrix, TILE, size, size, 1, mixed + a * size, 1, found, 1);
        for (int b = 0; b < TILE; b++) store_elements(values + (a * TILE + b) * job->plane, found[b], lanes);
    }
}

/* The transposed transform, from planes of values to a size x size tile of pixels. */
INLINE void transform_back(const REAL *matrix, int size, const element *values, long plane, vector *pixels,
                           long lanes) {
    vector mixed[TILE * TILE];  /* of constant size: else it would stay in memory */
    for (int a = 0; a < TILE; a++) {
        vector row[TILE];
        for (int b = 0; b < TILE; b++) row[b] = load_elements(values + (a * TILE + b) * plane, lanes);
        product(matrix, size, 1, TILE, size, row, 1, mixed + a * size, 1);
    }
    for (int j = 0; j < size; j++) product(matrix, size, 1, TILE, size, mixed + j, size, pixels + j, size);
}

INLINE int take_tiles(tiles_job *job, long *first, long *last) {
    return take(&job->next, job->at_once, job->images * job->rows * job->columns, first, last);
}

/* The image that a tile is of, and where in it the tile starts. */
INLINE element *image_of(const tiles_job *job, long tile, long *y, long *x) {
    const long per_image = job->rows * job->columns;
    *y = job->top + (job->first_row + tile % per_image / job->columns) * OUTPUT;
    *x = job->left + tile % job->columns * OUTPUT;
    return job->image + tile / per_image * job->strides[0];
}

/* Units are tiles. */
INLINE void transform_tiles(tiles_job *job, const REAL *matrix, int size) {
    long tile, last;
    while (take_tiles(job, &tile, &last)) {
        for (; tile < last; tile++) {
            long y, x;
            const element *image = image_of(job, tile, &y, &x);
            const int whole = y >= 0 && x >= 0 && y + size <= job->height && x + size <= job->width;
            element *values = job->values + tile * job->channels;
            for (long c = 0; c < job->channels; c += LANES) {
                const long lanes = least(LANES, job->channels - c);
                if (lanes < LANES) transform(job, matrix, size, image + c, y, x, values + c, 0, lanes);
                else if (whole) transform(job, matrix, size, image + c, y, x, values + c, 1, LANES);
                else transform(job, matrix, size, image + c, y, x, values + c, 0, LANES);
            }
        }
    }
}

void transform_input(tiles_job *job) { transform_tiles(job, &input_matrix[0][0], TILE); }

void transform_output_gradient(tiles_job *job) { transform_tiles(job, &output_matrix[0][0], OUTPUT); }

INLINE void make_output_tile(const tiles_job *job, element *image, long y, long x, const element *values, long c,
                             long lanes) {
    vector pixels[OUTPUT * OUTPUT];
    transform_back(&output_matrix[0][0], OUTPUT, values + c, job->plane, pixels, lanes);
    const vector bias = job->bias ? load_elements(job->bias + c, lanes) : (vector){0};
    const long height = least(OUTPUT, job->height - y), width = least(OUTPUT, job->width - x);
    for (long i = 0; i < height; i++)
        for (long j = 0; j < width; j++) {
            element *to = image + (y + i) * job->strides[1] + (x + j) * job->strides[2] + c;
            vector pixel = pixels[i * OUTPUT + j] + bias;
            if (job->add) pixel += load_elements(to, lanes);
            if (job->relu) pixel = rectified(pixel);
            store_elements(to, pixel, lanes);
        }
}

/* Units are tiles. */
void make_output(tiles_job *job) {
    long tile, last;
    while (take_tiles(job, &tile, &last)) {
        for (; tile < last; tile++) {
            long y, x;
            element *image = image_of(job, tile, &y, &x);
            const element *values = job->values + tile * job->channels;
            for (long c = 0; c < job->channels; c += LANES) {
                const long lanes = least(LANES, job->channels - c);
                if (lanes == LANES) make_output_tile(job, image, y, x, values, c, LANES);
                else make_output_tile(job, image, y, x, values, c, lanes);
            }
        }
    }
}

INLINE void add_input_tile(const tiles_job *job, element *image, long y, long x, const element *values, long lanes) {
    vector pixels[TILE * TILE];
    transform_back(&input_matrix[0][0], TILE, values, job->plane, pixels, lanes);
    for (long i = 0; i < TILE; i++)
        for (long j = 0; j < TILE; j++)
            if (y + i >= 0 && y + i < job->height && x + j >= 0 && x + j < job->width) {
                element *pixel = image + (y + i) * job->strides[1] + (x + j) * job->strides[2];
                store_elements(pixel, load_elements(pixel, lanes) + pixels[i * TILE + j], lanes);
            }
}

/* Adds overlapping tiles up; the image must hold zeros before its first row of tiles. Units are some channels
   of one image: no two threads add to the same pixel. */
void add_input_gradient(tiles_job *job) {
    const long group = 2 * LANES, groups = (job->channels + group - 1) / group, count = job->images * groups;
    long unit, last;
    while (take(&job->next, 1, count, &unit, &last)) {
        element *image = job->image + unit / groups * job->strides[0];
        const long from = unit % groups * group, to = least(job->channels, from + group);
        if (job->first_row == 0)
            for (long y = 0; y < job->height; y++)
                for (long x = 0; x < job->width; x++)
                    memset(image + y * job->strides[1] + x * job->strides[2] + from, 0,
                           (to - from) * sizeof(element));
        for (long row = 0; row < job->rows; row++)
            for (long column = 0; column < job->columns; column++) {
                const long tile = (unit / groups * job->rows + row) * job->columns + column;
                const long y = job->top + (job->first_row + row) * OUTPUT, x = job->left + column * OUTPUT;
                for (long c = from; c < to; c += LANES) {
                    const element *values = job->values + tile * job->channels + c;
                    const long lanes = least(LANES, to - c);
                    if (lanes == LANES) add_input_tile(job, image + c, y, x, values, LANES);
                    else add_input_tile(job, image + c, y, x, values, lanes);
                }
            }
    }
}

INLINE void add_weights(const weight_job *job, const element *values, REAL *gradient, long lanes) {
    vector weights[KERNEL * KERNEL];
    transform_back(&weight_matrix[0][0], KERNEL, values, job->plane, weights, lanes);
    for (long lane = 0; lane < lanes; lane++)
UNROLL(32)
        for (int tap = 0; tap < KERNEL * KERNEL; tap++)
            gradient[lane * KERNEL * KERNEL + tap] += ((const REAL *)&weights[tap])[lane];
}

/* Units are output channels. */
void add_weight_gradient(weight_job *job) {
    long output, last;
    while (take(&job->next, job->at_once, job->outputs, &output, &last)) {
        for (; output < last; output++)
            for (long input = 0; input < job->inputs; input += LANES) {
                const element *values = job->values + output * job->row + input;
                REAL *gradient = job->gradient + output * job->gradient_row + input * KERNEL * KERNEL;
                const long lanes = least(LANES, job->inputs - input);
                if (lanes == LANES) add_weights(job, values, gradient, LANES);
                else add_weights(job, values, gradient, lanes);
            }
    }
}
