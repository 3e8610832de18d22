/* Batch normalisation of rows of channels, and its gradient.

   Compiled when first needed (compiled/batch_norm.py), once per element type, with vectors.h in front. Channels
   are neighbours in memory. What reads or makes rows is called by all threads that share a job, and takes units of
   work from it until none is left: some rows each. Sums are kept by unit, so that they do not depend on which
   thread took it. What is found from them, channel by channel, is found by the thread that made the last. Asks for
   a definition of BLOCK, the rows that are summed in REAL. */

#include <math.h>

enum {
    GROUP = 4,      /* vectors that are summed together */
};

typedef struct {
    const element *x;
    long x_row;                     /* elements from one row to the next */
    element *grad_out;                 /* with output, the ReLU's gradient is applied to it in place */
    long grad_out_row;
    element *result;                   /* the output, or the input's gradient */
    long result_row;
    long add;                       /* whether to add the gradient to what result holds */
    long streams;                   /* whether the result is stored past the caches */
    long rows, channels;
    const element *addend;          /* what is added to the output, or NULL */
    long addend_row;
    const element *output;          /* of the forward pass, where the ReLU came after a sum; or NULL */
    long output_row;
    /* One number per channel: the result is (x - mean) scale + bias, plus the addend, then the ReLU, if any. */
    REAL *mean, *scale, *bias;
    long relu;
    /* The gradient is grad_out gain + (x - mean) slope + offset, or with by_batch 0 the first term alone. */
    REAL *gain, *slope, *offset;
    long by_batch;
    double *sums;                   /* (unit, 2, channel) */
    /* One number per channel, as all below. */
    double *exact_mean, *variance, *inverse_deviation;
    double eps;                     /* the deviation is the root of variance + eps */
    REAL *unbiased;                 /* the variance, divided by rows - 1 */
    REAL *of_weight, *of_bias;      /* the parameters' gradients */
    element *grad_weight, *grad_bias;  /* what these are added to, or NULL */
    const element *weight, *shift;  /* the normalisation's own weight and bias, or NULL */
    element *running_mean, *running_variance;  /* go towards what is found by a part of momentum; or NULL */
    long *batches;                  /* how many there were, or NULL */
    double momentum;                /* below 0: one over the number of batches */
    long at_once;                   /* rows of a unit: a multiple of BLOCK */
    long done;                      /* rows whose sums have been made */
    long next;                      /* row that nobody has taken */
} norm_job;

/* Into the second cache: a block of many channels would not fit in the first. */
INLINE void prefetch(const element *from) { __builtin_prefetch(from, 0, 2); }

INLINE vector normalised(const norm_job *job, vector x, long c, long lanes) {
    return (x - load(job->mean + c, lanes)) * load(job->scale + c, lanes) + load(job->bias + c, lanes);
}

/* The gradient before the ReLU. */
INLINE vector let_through(const norm_job *job, vector gradient, vector x, long c, long lanes) {
    return where(~(mask)(normalised(job, x, c, lanes) <= 0), gradient);
}

/* Sums of deviations from the first row and of their squares, of up to BLOCK rows. Within the block they are
   taken from its own first row: what is far from zero, or from the first row, is small there. */
INLINE void add_moments(const norm_job *job, long row, long rows, long c, int vectors, long lanes, double *sums) {
    const element *x = job->x + row * job->x_row + c;
    vector origin[GROUP], sum[GROUP], squares[GROUP];
    UNROLL(8)
    for (int v = 0; v < vectors; v++) {
        origin[v] = load_elements(x + v * LANES, lanes);
        sum[v] = squares[v] = (vector){0};
    }
    for (long i = 0; i < rows; i++)
        UNROLL(8)
        for (int v = 0; v < vectors; v++) {
            const element *from = x + i * job->x_row + v * LANES;
            prefetch(from + BLOCK * job->x_row);
            const vector deviation = load_elements(from, lanes) - origin[v];
            sum[v] += deviation;
            squares[v] += deviation * deviation;
        }
    UNROLL(8)
    for (int v = 0; v < vectors; v++) {
        const vector first = load_elements(job->x + c + v * LANES, lanes);
        double *totals = sums + c + v * LANES;
        for (long i = 0; i < lanes; i++) {
            const double moved = (double)origin[v][i] - (double)first[i], found = sum[v][i];
            totals[i] += found + rows * moved;
            totals[job->channels + i] += squares[v][i] + moved * (2 * found + rows * moved);
        }
    }
}

/* What a block's sums are: moments, or those of the gradient, perhaps before a ReLU. Which gradients go through that is
   seen from x, or from the output, which is what it was before the ReLU or 0. */
enum { MOMENTS, GRADIENTS, RELU_GRADIENTS, MASKED_GRADIENTS };

/* Sums of grad_out, and of it times x - mean, of up to BLOCK rows. */
INLINE void add_gradients(const norm_job *job, int kind, long row, long rows, long c, int vectors, long lanes,
                          double *sums) {
    const element *x = job->x + row * job->x_row + c;
    const element *output = kind == MASKED_GRADIENTS ? job->output + row * job->output_row + c : NULL;
    element *grad_out = job->grad_out + row * job->grad_out_row + c;
    vector mean[GROUP], sum[GROUP], products[GROUP];
    UNROLL(8)
    for (int v = 0; v < vectors; v++) {
        mean[v] = load(job->mean + c + v * LANES, lanes);
        sum[v] = products[v] = (vector){0};
    }
    for (long i = 0; i < rows; i++)
        UNROLL(8)
        for (int v = 0; v < vectors; v++) {
            const element *from = x + i * job->x_row + v * LANES;
            element *gradient_from = grad_out + i * job->grad_out_row + v * LANES;
            prefetch(from + BLOCK * job->x_row);
            prefetch(gradient_from + BLOCK * job->grad_out_row);
            const vector value = load_elements(from, lanes);
            vector gradient = load_elements(gradient_from, lanes);
            if (kind == RELU_GRADIENTS) gradient = let_through(job, gradient, value, c + v * LANES, lanes);
            if (kind == MASKED_GRADIENTS) {
                const element *output_from = output + i * job->output_row + v * LANES;
                prefetch(output_from + BLOCK * job->output_row);
                gradient = where(~(mask)(load_elements(output_from, lanes) <= 0), gradient);
                store_elements(gradient_from, gradient, lanes);
            }
            sum[v] += gradient;
            products[v] += gradient * (value - mean[v]);
        }
    UNROLL(8)
    for (int v = 0; v < vectors; v++) {
        double *totals = sums + c + v * LANES;
        for (long i = 0; i < lanes; i++) {
            totals[i] += sum[v][i];
            totals[job->channels + i] += products[v][i];
        }
    }
}

/* Adds the sums of all units up, always in the same order, in place of the first's. */
INLINE void add_units(norm_job *job) {
    const long units = (job->rows + job->at_once - 1) / job->at_once, count = 2 * job->channels;
    for (long unit = 1; unit < units; unit++)
        for (long i = 0; i < count; i++) job->sums[i] += job->sums[unit * count + i];
}

INLINE vector parameter(const element *from, long c, long lanes, REAL otherwise) {
    return from ? load_elements(from + c, lanes) : (vector){0} + otherwise;
}

/* Moves what is kept a part of the way towards what was found, for some channels. */
INLINE void move_towards(element *kept, vector found, REAL part, long lanes) {
    const vector from = load_elements(kept, lanes), way = found - from;
    store_elements(kept, part < (REAL)0.5 ? from + part * way : found - (1 - part) * way, lanes);
}

/* From the sums: mean and variances. */
static void find_statistics(norm_job *job) {
    add_units(job);
    double part = job->momentum;
    if (job->batches) {
        ++*job->batches;
        if (job->momentum < 0) part = 1.0 / *job->batches;
    }
    for (long start = 0; start < job->channels; start += LANES) {
        const long lanes = least(LANES, job->channels - start);
        const vector first = load_elements(job->x + start, lanes);
        for (long i = 0; i < lanes; i++) {
            const long c = start + i;
            const double from_first = job->sums[c] / job->rows;
            const double variance = job->sums[job->channels + c] / job->rows - from_first * from_first;
            job->mean[c] = job->exact_mean[c] = first[i] + from_first;
            job->variance[c] = variance < 0 ? 0 : variance;
            job->unbiased[c] = job->variance[c] * job->rows / (job->rows - 1);
        }
        if (!job->running_mean) continue;
        move_towards(job->running_mean + start, load(job->mean + start, lanes), part, lanes);
        move_towards(job->running_variance + start, load(job->unbiased + start, lanes), part, lanes);
    }
}

/* The part of a mean that REAL cannot hold: more than a deviation, perhaps, where the mean is large. */
INLINE double rounded_off(const norm_job *job, long c) { return job->exact_mean[c] - job->mean[c]; }

/* From the statistics: what normalise needs. */
void prepare_result(norm_job *job) {
    for (long start = 0; start < job->channels; start += LANES) {
        const long lanes = least(LANES, job->channels - start);
        const vector weight = parameter(job->weight, start, lanes, 1), shift = parameter(job->shift, start, lanes, 0);
        for (long i = 0; i < lanes; i++) {
            const long c = start + i;
            const double inverse = 1 / sqrt(job->variance[c] + job->eps), scale = inverse * weight[i];
            job->inverse_deviation[c] = inverse;
            job->mean[c] = job->exact_mean[c];
            job->scale[c] = scale;
            job->bias[c] = shift[i] - scale * rounded_off(job, c);
        }
    }
}

/* From the sums: the parameters' gradients, and what input_gradient needs. */
static void prepare_gradient(norm_job *job) {
    add_units(job);
    for (long start = 0; start < job->channels; start += LANES) {
        const long lanes = least(LANES, job->channels - start);
        const vector weight = parameter(job->weight, start, lanes, 1);
        for (long i = 0; i < lanes; i++) {
            const long c = start + i;
            const double inverse = job->inverse_deviation[c], gain = inverse * weight[i];
            const double of_bias = job->sums[c];
            const double of_weight = (job->sums[job->channels + c] - rounded_off(job, c) * of_bias) * inverse;
            const double slope = -of_weight * inverse * gain / job->rows;
            job->of_weight[c] = of_weight;
            job->of_bias[c] = of_bias;
            job->gain[c] = gain;
            job->slope[c] = slope;
            job->offset[c] = -of_bias * gain / job->rows - rounded_off(job, c) * slope;
        }
    }
}

INLINE void add_some(const norm_job *job, int kind, long row, long rows, long c, int vectors, long lanes,
                     double *sums) {
    if (kind == MOMENTS) add_moments(job, row, rows, c, vectors, lanes, sums);
    else add_gradients(job, kind, row, rows, c, vectors, lanes, sums);
}

INLINE void add_all(norm_job *job, int kind) {
    long first, last;
    while (take(&job->next, job->at_once, job->rows, &first, &last)) {
        double *sums = job->sums + first / job->at_once * 2 * job->channels;
        memset(sums, 0, 2 * job->channels * sizeof(double));
        for (long row = first; row < last; row += BLOCK) {
            const long rows = least(BLOCK, last - row);
            long c = 0;
            for (; c + GROUP * LANES <= job->channels; c += GROUP * LANES)
                add_some(job, kind, row, rows, c, GROUP, LANES, sums);
            for (; c + LANES <= job->channels; c += LANES) add_some(job, kind, row, rows, c, 1, LANES, sums);
            if (c < job->channels) add_some(job, kind, row, rows, c, 1, job->channels - c, sums);
        }
        if (!were_last(&job->done, last - first, job->rows)) continue;
        if (kind == MOMENTS) {
            find_statistics(job);
            prepare_result(job);
        } else {
            prepare_gradient(job);
        }
    }
}

void sum_moments(norm_job *job) { add_all(job, MOMENTS); }

void sum_gradients(norm_job *job) {
    if (job->output) add_all(job, MASKED_GRADIENTS);
    else if (job->relu) add_all(job, RELU_GRADIENTS);
    else add_all(job, GRADIENTS);
}

/* A vector of a row. Some rows on, it is fetched for what comes next: of three streams through memory at once, processors
   foresee too little. */
INLINE vector load_ahead(const element *rows, long row, long row_step, long c, long lanes) {
    const element *from = rows + row * row_step + c;
    prefetch(from + BLOCK * row_step);
    return load_elements(from, lanes);
}

INLINE void normalise_some(const norm_job *job, long row, long c, long lanes, int streams) {
    vector value = normalised(job, load_ahead(job->x, row, job->x_row, c, lanes), c, lanes);
    if (job->addend) value += load_ahead(job->addend, row, job->addend_row, c, lanes);
    if (job->relu) value = rectified(value);
    store_result(job->result + row * job->result_row + c, value, lanes, streams);
}

INLINE void differentiate_some(const norm_job *job, long row, long c, long lanes, int relu, int by_batch,
                               int streams) {
    vector gradient = load_ahead(job->grad_out, row, job->grad_out_row, c, lanes), x = {0};
    if (relu || by_batch) x = load_ahead(job->x, row, job->x_row, c, lanes);
    if (relu) gradient = let_through(job, gradient, x, c, lanes);
    gradient *= load(job->gain + c, lanes);
    if (by_batch)
        gradient += (x - load(job->mean + c, lanes)) * load(job->slope + c, lanes) + load(job->offset + c, lanes);
    if (job->add) gradient += load_ahead(job->result, row, job->result_row, c, lanes);
    store_result(job->result + row * job->result_row + c, gradient, lanes, streams);
}

INLINE void make_some(const norm_job *job, int backward, long row, long c, long lanes, int relu, int by_batch,
                      int streams) {
    if (backward) differentiate_some(job, row, c, lanes, relu, by_batch, streams);
    else normalise_some(job, row, c, lanes, streams);
}

/* Row by row, as the numbers lie in memory. */
INLINE void make_rows(norm_job *job, int backward, int relu, int by_batch, int streams) {
    long first, last;
    while (take(&job->next, job->at_once, job->rows, &first, &last)) {
        for (long row = first; row < last; row++) {
            long c = 0;
            for (; c + LANES <= job->channels; c += LANES)
                make_some(job, backward, row, c, LANES, relu, by_batch, streams);
            if (c < job->channels) make_some(job, backward, row, c, job->channels - c, relu, by_batch, 0);
        }
    }
}

INLINE void make_all(norm_job *job, int backward, int relu, int by_batch) {
    if (!job->streams) {
        make_rows(job, backward, relu, by_batch, 0);
        return;
    }
    make_rows(job, backward, relu, by_batch, 1);
    wait_for_streams();
}

void normalise(norm_job *job) { make_all(job, 0, 0, 0); }

void input_gradient(norm_job *job) {
    if (job->relu && job->by_batch) make_all(job, 1, 1, 1);
    else if (job->relu) make_all(job, 1, 1, 0);
    else if (job->by_batch) make_all(job, 1, 0, 1);
    else make_all(job, 1, 0, 0);
}

/* Adds the parameters' gradients to what has been added up of them. */
void add_parameter_gradients(norm_job *job) {
    const REAL *found[] = {job->of_weight, job->of_bias};
    element *sums[] = {job->grad_weight, job->grad_bias};
    long first, last;
    while (take(&job->next, job->channels, job->channels, &first, &last))
        for (int i = 0; i < 2; i++)
            for (long c = 0; sums[i] && c < last; c += LANES) {
                const long lanes = least(LANES, last - c);
                store_elements(sums[i] + c, load_elements(sums[i] + c, lanes) + load(found[i] + c, lanes), lanes);
            }
}
