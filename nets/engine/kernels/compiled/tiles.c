/* Winograd's transforms of tiles, in one pass over memory each.

   Compiled when first needed (compiled/tiles.py), once per algorithm and element type, with vectors.h and
   these in front: the sizes TILE_ROWS x TILE_COLUMNS of an input tile, and so OUTPUT_ and KERNEL_; the matrices
   input_rows [TILE_ROWS][TILE_ROWS], output_rows [TILE_ROWS][OUTPUT_ROWS] and weight_rows [TILE_ROWS][KERNEL_ROWS],
   which map along the rows, and so input_columns, output_columns and weight_columns. With them constant, the
   compiler unrolls every product and leaves the zeros out.

   Images are (batch, row, column, channel). Transformed tiles are TILE planes of (tile, channel), the
   weight's (output channel, input channel). Every entry point is called by all threads that share a job, with
   the same job, and takes units of work from it until none is left. */

enum {
    TILE = TILE_ROWS * TILE_COLUMNS,
    OUTPUT = OUTPUT_ROWS * OUTPUT_COLUMNS,
    KERNEL = KERNEL_ROWS * KERNEL_COLUMNS,
};

/* What maps a tile of so many rows and columns. */
typedef struct {
    const REAL *by_rows, *by_columns;
    int rows, columns;
} map;

INLINE map of_input(void) { return (map){&input_rows[0][0], &input_columns[0][0], TILE_ROWS, TILE_COLUMNS}; }
INLINE map of_output(void) { return (map){&output_rows[0][0], &output_columns[0][0], OUTPUT_ROWS, OUTPUT_COLUMNS}; }
INLINE map of_weight(void) { return (map){&weight_rows[0][0], &weight_columns[0][0], KERNEL_ROWS, KERNEL_COLUMNS}; }

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
    long at_once;                   /* units that a thread takes together, or channels of a unit */
    long next;                      /* unit that nobody has taken */
} tiles_job;

typedef struct {
    const element *values;
    long plane, row;                /* elements from one plane, and one output channel, to the next */
    REAL *gradient;                 /* (output channel, input channel, KERNEL) */
    long gradient_row;
    long outputs, inputs;
    long at_once, next;
} weight_job;

/* Fetches the pixel of the next tile that lies where this one does: processors foresee none of these many short runs
   through memory. writes: whether it will be written to. */
#define FETCH_NEXT(JOB, PIXEL, WRITES) __builtin_prefetch((PIXEL) + OUTPUT_COLUMNS * (JOB)->strides[2], WRITES)

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

/* The transform of a tile, in place of its pixels that lie outside of the image zeros. */
INLINE void transform(const tiles_job *job, map by, const element *image, long y, long x, element *values, int whole,
                      long lanes) {
    vector mixed[TILE];  /* of constant size: else it would stay in memory */
    for (int j = 0; j < by.columns; j++) {
        vector column[TILE_ROWS];
        for (int i = 0; i < by.rows; i++) {
            int within = whole || (y + i >= 0 && y + i < job->height && x + j >= 0 && x + j < job->width);
            const element *pixel = image + (y + i) * job->strides[1] + (x + j) * job->strides[2];
            FETCH_NEXT(job, pixel, 0);
            column[i] = within ? load_elements(pixel, lanes) : (vector){0};
        }
        product(by.by_rows, TILE_ROWS, by.rows, by.rows, 1, column, 1, mixed + j, by.columns);
    }
    for (int a = 0; a < TILE_ROWS; a++) {
        vector found[TILE_COLUMNS];
        product(by.by_columns, TILE_COLUMNS, by.columns, by.columns, 1, mixed + a * by.columns, 1, found, 1);
        for (int b = 0; b < TILE_COLUMNS; b++)
            store_elements(values + (a * TILE_COLUMNS + b) * job->plane, found[b], lanes);
    }
}

/* The transposed transform, from planes of values to a tile of pixels. */
INLINE void transform_back(map by, const element *values, long plane, vector *pixels, long lanes) {
    vector mixed[TILE];  /* of constant size: else it would stay in memory */
    for (int a = 0; a < TILE_ROWS; a++) {
        vector row[TILE_COLUMNS];
        for (int b = 0; b < TILE_COLUMNS; b++)
            row[b] = load_elements(values + (a * TILE_COLUMNS + b) * plane, lanes);
        product(by.by_columns, by.columns, 1, TILE_COLUMNS, by.columns, row, 1, mixed + a * by.columns, 1);
    }
    for (int j = 0; j < by.columns; j++)
        product(by.by_rows, by.rows, 1, TILE_ROWS, by.rows, mixed + j, by.columns, pixels + j, by.columns);
}

INLINE int take_tiles(tiles_job *job, long *first, long *last) {
    return take(&job->next, job->at_once, job->images * job->rows * job->columns, first, last);
}

/* The image that a tile is of, and where in it the tile starts. */
INLINE element *image_of(const tiles_job *job, long tile, long *y, long *x) {
    const long per_image = job->rows * job->columns;
    *y = job->top + (job->first_row + tile % per_image / job->columns) * OUTPUT_ROWS;
    *x = job->left + tile % job->columns * OUTPUT_COLUMNS;
    return job->image + tile / per_image * job->strides[0];
}

/* Units are tiles. */
INLINE void transform_tiles(tiles_job *job, map by) {
    long tile, last;
    while (take_tiles(job, &tile, &last)) {
        for (; tile < last; tile++) {
            long y, x;
            const element *image = image_of(job, tile, &y, &x);
            const int whole = y >= 0 && x >= 0 && y + by.rows <= job->height && x + by.columns <= job->width;
            element *values = job->values + tile * job->channels;
            for (long c = 0; c < job->channels; c += LANES) {
                const long lanes = least(LANES, job->channels - c);
                if (lanes < LANES) transform(job, by, image + c, y, x, values + c, 0, lanes);
                else if (whole) transform(job, by, image + c, y, x, values + c, 1, LANES);
                else transform(job, by, image + c, y, x, values + c, 0, LANES);
            }
        }
    }
}

void transform_input(tiles_job *job) { transform_tiles(job, of_input()); }

void transform_output_gradient(tiles_job *job) { transform_tiles(job, of_output()); }

INLINE void make_output_tile(const tiles_job *job, element *image, long y, long x, const element *values, long c,
                             long lanes) {
    vector pixels[OUTPUT];
    transform_back(of_output(), values + c, job->plane, pixels, lanes);
    const vector bias = job->bias ? load_elements(job->bias + c, lanes) : (vector){0};
    const long height = least(OUTPUT_ROWS, job->height - y), width = least(OUTPUT_COLUMNS, job->width - x);
    for (long i = 0; i < height; i++)
        for (long j = 0; j < width; j++) {
            element *to = image + (y + i) * job->strides[1] + (x + j) * job->strides[2] + c;
            vector pixel = pixels[i * OUTPUT_COLUMNS + j] + bias;
            FETCH_NEXT(job, to, 1);
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

/* The pixels that no tile before this one has reached, with or without tiles above and to the left of it, are written;
   to the others its own are added. */
INLINE void add_input_tile(const tiles_job *job, element *image, long y, long x, const element *values, int above,
                           int beside, int whole, long lanes) {
    vector pixels[TILE];
    transform_back(of_input(), values, job->plane, pixels, lanes);
    for (long i = 0; i < TILE_ROWS; i++)
        for (long j = 0; j < TILE_COLUMNS; j++)
            if (whole || (y + i >= 0 && y + i < job->height && x + j >= 0 && x + j < job->width)) {
                element *to = image + (y + i) * job->strides[1] + (x + j) * job->strides[2];
                vector pixel = pixels[i * TILE_COLUMNS + j];
                FETCH_NEXT(job, to, 1);
                if ((above && i < KERNEL_ROWS - 1) || (beside && j < KERNEL_COLUMNS - 1))
                    pixel += load_elements(to, lanes);
                store_elements(to, pixel, lanes);
            }
}

/* Adds overlapping tiles up; together they reach every pixel. Units are some channels of one image: no two threads add
   to the same pixel. */
void add_input_gradient(tiles_job *job) {
    const long groups = (job->channels + job->at_once - 1) / job->at_once, count = job->images * groups;
    long unit, last;
    while (take(&job->next, 1, count, &unit, &last)) {
        element *image = job->image + unit / groups * job->strides[0];
        const long from = unit % groups * job->at_once, to = least(job->channels, from + job->at_once);
        for (long row = 0; row < job->rows; row++)
            for (long column = 0; column < job->columns; column++) {
                const long tile = (unit / groups * job->rows + row) * job->columns + column;
                const long y = job->top + (job->first_row + row) * OUTPUT_ROWS;
                const long x = job->left + column * OUTPUT_COLUMNS;
                const int above = job->first_row + row > 0, beside = column > 0;
                const int whole = above && beside && y >= 0 && x >= 0 && y + TILE_ROWS <= job->height &&
                                  x + TILE_COLUMNS <= job->width;
                for (long c = from; c < to; c += LANES) {
                    const element *values = job->values + tile * job->channels + c;
                    const long lanes = least(LANES, to - c);
                    if (lanes < LANES) add_input_tile(job, image + c, y, x, values, above, beside, 0, lanes);
                    else if (whole) add_input_tile(job, image + c, y, x, values, 1, 1, 1, LANES);
                    else add_input_tile(job, image + c, y, x, values, above, beside, 0, LANES);
                }
            }
    }
}

/* For each vector of the gradient, whose taps are neighbours, and each tap: the lanes that its weights fill, numbered
   from LANES on, and those that keep what they have. */
typedef mask placing[KERNEL][KERNEL];

static void place_taps(placing lanes_of) {
    for (long part = 0; part < KERNEL; part++)
        for (long tap = 0; tap < KERNEL; tap++)
            for (long lane = 0; lane < LANES; lane++) {
                const long place = part * LANES + lane;
                lanes_of[part][tap][lane] = place % KERNEL == tap ? LANES + place / KERNEL : lane;
            }
}

INLINE void add_weights(const weight_job *job, const element *values, REAL *gradient, long lanes, placing lanes_of) {
    vector weights[KERNEL];
    transform_back(of_weight(), values, job->plane, weights, lanes);
    if (SHUFFLES && lanes == LANES) {
        for (long part = 0; part < KERNEL; part++) {
            vector found = {0};
            for (long tap = 0; tap < KERNEL; tap++) found = shuffle(found, weights[tap], lanes_of[part][tap]);
            REAL *to = gradient + part * LANES;
            store(to, load(to, LANES) + found, LANES);
        }
        return;
    }
    for (long lane = 0; lane < lanes; lane++)
        UNROLL(32)
        for (int tap = 0; tap < KERNEL; tap++)
            gradient[lane * KERNEL + tap] += ((const REAL *)&weights[tap])[lane];
}

/* Units are output channels. */
void add_weight_gradient(weight_job *job) {
    placing lanes_of;
    long output, last;
    place_taps(lanes_of);
    while (take(&job->next, job->at_once, job->outputs, &output, &last)) {
        for (; output < last; output++)
            for (long input = 0; input < job->inputs; input += LANES) {
                const element *values = job->values + output * job->row + input;
                REAL *gradient = job->gradient + output * job->gradient_row + input * KERNEL;
                const long lanes = least(LANES, job->inputs - input);
                if (lanes == LANES) add_weights(job, values, gradient, LANES, lanes_of);
                else add_weights(job, values, gradient, lanes, lanes_of);
            }
    }
}
