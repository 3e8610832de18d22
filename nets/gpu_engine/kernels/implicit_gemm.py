"""Convolutions as matrix products over the padded input itself, in Triton.

There are two ways to multiply float32 on tensor cores. *Halves*: each factor is scaled by a power of two, one
per tensor, and split into two float16 numbers, the second being the remainder of the first, 22 bits together;
three of the four products are summed. *tf32x3*: Triton splits each factor into two TF32 numbers in the same
way.

Tensor cores round sums towards zero, which adds up over thousands of terms: each block of a sum is added to
the total by the ordinary units.
"""

import triton
import triton.language as tl


@triton.jit
def power_of_two(largest):
    """Returns the factor that scales ``largest`` to between 2**14 and 2**15, and its inverse; 1 if it is not
    finite."""
    exponent = (largest.to(tl.int32, bitcast=True) >> 23) & 0xFF
    biased = tl.minimum(tl.maximum(268 - exponent, 27), 227)
    biased = tl.where(exponent == 255, 127, biased)
    scale = (biased << 23).to(tl.float32, bitcast=True)
    inverse = ((254 - biased) << 23).to(tl.float32, bitcast=True)
    return scale, inverse


@triton.jit(
    do_not_specialize=["positions", "height", "width", "top", "left", "of_height", "of_width", "of_channels"]
)
def pad(
    source, largest, high, low,
    positions, height, width, CHANNELS: tl.constexpr, image_pitch,
    top, left, of_height, of_width, of_channels,
    stride_n, stride_h, stride_w, stride_c,
    HALVES: tl.constexpr, POSITIONS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Copies images with zeros around them to (n, h, w, channel), split into halves or unchanged.

    ``image_pitch``: the elements from one image to the next.
    """
    at = tl.program_id(0) * POSITIONS + tl.arange(0, POSITIONS)
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    image = at // (height * width)
    rest = at - image * (height * width)
    line = rest // width
    column = rest - line * width - left
    line -= top
    there = (at < positions) & (line >= 0) & (line < of_height) & (column >= 0) & (column < of_width)
    place = image * stride_n + line * stride_h + column * stride_w
    inside = there[:, None] & (channel < of_channels)[None, :]
    x = tl.load(source + place[:, None] + (channel * stride_c)[None, :], mask=inside, other=0.0)
    to = (image * image_pitch + rest * CHANNELS)[:, None] + channel[None, :]
    written = (at < positions)[:, None] & (channel < CHANNELS)[None, :]
    if HALVES:
        scale, _ = power_of_two(tl.load(largest))
        x = x * scale
        first = x.to(tl.float16)
        tl.store(high + to, first, mask=written)
        tl.store(low + to, (x - first.to(tl.float32)).to(tl.float16), mask=written)
    else:
        tl.store(high + to, x, mask=written)


@triton.jit
def product(a_high, a_low, b_high, b_low, HALVES: tl.constexpr):
    """Returns a block's product, small terms first."""
    if HALVES:
        sums = tl.dot(a_low, b_high)
        sums = tl.dot(a_high, b_low, sums)
        return tl.dot(a_high, b_high, sums)
    return tl.dot(a_high, b_high, input_precision="tf32x3")


@triton.jit(
    do_not_specialize=[
        "rows", "terms", "pitch", "lines", "columns", "image_units", "line_step", "column_step",
        "line_units", "run_units", "steps", "out_image", "out_line", "out_column", "out_height", "out_width",
        "block_h", "block_w", "top", "left",
    ]
)  # fmt: skip
def convolve(
    a_high, a_low, b_high, b_low, a_largest, b_largest, bias, out,
    rows, outputs, terms, pitch,
    lines, columns, image_units, line_step, column_step, line_units, run_units,
    steps,
    out_image, out_line, out_column, out_height, out_width, block_h, block_w, top, left,
    HALVES: tl.constexpr, UNIT: tl.constexpr, PARTS: tl.constexpr, BLOCKS: tl.constexpr,
    BIAS: tl.constexpr, RELU: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Computes ``out[pixel, output] = sum of a[pixel + offset(term)] * b[output, term]``.

    A row is an output pixel (n, line, column); its window begins at ``n * image + line * line_step + column *
    column_step`` (in units of UNIT elements) of ``a``, and consists of runs of ``run`` elements, one in each
    line of the padded input. ``b`` has ``pitch`` times BK elements for each output, zeros after the terms.
    With PARTS, program axis 1 sums a part of the terms, each into its own matrix. With BLOCKS, an output is a
    pixel of a block of ``block_h`` by ``block_w`` and a channel.
    """
    tiles_n = tl.cdiv(outputs, BN)
    tile = tl.program_id(0)
    m = (tile // tiles_n) * BM + tl.arange(0, BM)
    n = (tile % tiles_n) * BN + tl.arange(0, BN)
    pixel = tl.minimum(m, rows - 1)
    image = pixel // (lines * columns)
    rest = pixel - image * (lines * columns)
    line = rest // columns
    column = rest - line * columns
    begin = (image * image_units + line * line_step + column * column_step) * UNIT
    of_output = tl.minimum(n, outputs - 1) * (pitch * BK)
    run = run_units * UNIT
    line_pitch = line_units * UNIT
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    first = tl.program_id(1) * steps
    for step in range(first, tl.minimum(first + steps, pitch)):
        k = step * BK + tl.arange(0, BK)
        # Beyond the terms b is zero, so that any element of a will do.
        of_term = tl.minimum(k, terms - UNIT + k % UNIT)
        of_run = of_term // run
        offset = of_run * line_pitch + (of_term - of_run * run)
        offset = tl.max_contiguous(tl.multiple_of(offset, UNIT), UNIT)
        a_at = begin[:, None] + offset[None, :]
        b_at = of_output[None, :] + k[:, None]
        a1 = tl.load(a_high + a_at)
        b1 = tl.load(b_high + b_at)
        a2 = tl.load(a_low + a_at) if HALVES else a1
        b2 = tl.load(b_low + b_at) if HALVES else b1
        sums += product(a1, a2, b1, b2, HALVES)
    if HALVES:
        _, a_inverse = power_of_two(tl.load(a_largest))
        _, b_inverse = power_of_two(tl.load(b_largest))
        sums = sums * a_inverse * b_inverse
    if BIAS:
        sums += tl.load(bias + n, mask=n < outputs, other=0.0)[None, :]
    if RELU:
        sums = tl.where(sums < 0, 0.0, sums)
    if BLOCKS:
        channels = outputs // (block_h * block_w)
        down = n // (block_w * channels)
        across = n // channels - down * block_w
        h = (line * block_h - top)[:, None] + down[None, :]
        w = (column * block_w - left)[:, None] + across[None, :]
        to = (image * out_image)[:, None] + h * out_line + w * out_column + (n % channels)[None, :]
        inside = (h >= 0) & (h < out_height) & (w >= 0) & (w < out_width)
        tl.store(out + to, sums, mask=inside & (m < rows)[:, None] & (n < outputs)[None, :])
    else:
        to = m[:, None] * outputs + n[None, :]
        if PARTS:
            to += tl.program_id(1).to(tl.int64) * rows * outputs
        tl.store(out + to, sums, mask=(m < rows)[:, None] & (n < outputs)[None, :])


@triton.jit(
    do_not_specialize=[
        "outputs", "pixels", "lines", "columns", "g_image", "g_line", "g_start", "g_units", "a_image",
        "a_line_step", "a_column_step", "a_line", "run_units", "steps",
    ]
)  # fmt: skip
def correlate(
    g_high, g_low, a_high, a_low, g_largest, a_largest, out,
    outputs, terms, pixels,
    lines, columns, g_image, g_line, g_start, g_units, a_image, a_line_step, a_column_step, a_line, run_units,
    steps,
    HALVES: tl.constexpr, UNIT: tl.constexpr, GUNIT: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Computes ``out[part, output, term] = sum over pixels of g[pixel, output] * a[pixel + offset(term)]``.

    ``g``: the padded gradient of the output, whose pixel (n, line, column) is at ``g_start + n * g_image +
    line * g_line + column`` in units of ``g_units * GUNIT`` elements; ``a``, its offsets: as in ``convolve``.
    """
    tiles_n = tl.cdiv(terms, BN)
    tile = tl.program_id(0)
    m = (tile // tiles_n) * BM + tl.arange(0, BM)
    n = (tile % tiles_n) * BN + tl.arange(0, BN)
    run = run_units * UNIT
    of_term = tl.minimum(n, terms - UNIT + n % UNIT)
    of_run = of_term // run
    offset = of_run * (a_line * UNIT) + (of_term - of_run * run)
    offset = tl.max_contiguous(tl.multiple_of(offset, UNIT), UNIT)
    channels = g_units * GUNIT
    output = tl.minimum(m, channels - GUNIT + m % GUNIT)
    output = tl.max_contiguous(tl.multiple_of(output, GUNIT), GUNIT)
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    first = tl.program_id(1) * steps * BK
    last = tl.minimum(first + steps * BK, pixels)
    for start in range(first, last, BK):
        pixel = start + tl.arange(0, BK)
        there = (pixel < last)[:, None]
        pixel = tl.minimum(pixel, pixels - 1)
        image = pixel // (lines * columns)
        rest = pixel - image * (lines * columns)
        line = rest // columns
        column = rest - line * columns
        g_at = ((g_start + image * g_image + line * g_line + column) * channels)[:, None] + output[None, :]
        a_at = ((image * a_image + line * a_line_step + column * a_column_step) * UNIT)[:, None] + offset[
            None, :
        ]
        g1 = tl.load(g_high + g_at, mask=there, other=0.0)
        a1 = tl.load(a_high + a_at)
        g2 = tl.load(g_low + g_at, mask=there, other=0.0) if HALVES else g1
        a2 = tl.load(a_low + a_at) if HALVES else a1
        sums += product(tl.trans(g1), tl.trans(g2), a1, a2, HALVES)
    if HALVES:
        _, g_inverse = power_of_two(tl.load(g_largest))
        _, a_inverse = power_of_two(tl.load(a_largest))
        sums = sums * g_inverse * a_inverse
    to = tl.program_id(1).to(tl.int64) * outputs * terms + m[:, None] * terms + n[None, :]
    tl.store(out + to, sums, mask=(m < outputs)[:, None] & (n < terms)[None, :])
