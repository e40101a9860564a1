/* Resampling: which rows and columns, and when; the loops over pixels are in resample_plain.c
 * and resample_avx2.c. */
#include "images/pixels/resample.h"

#include "core/cpu.h"
#include "images/pixels/interpolation.h"
#include "images/pixels/resample_kernels.h"
#include "images/pixels/resample_taps.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Memory ---------------------------------------------------------------------------------- */

static int64_t round_up(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* At least this much is there for take(). */
static pfd_status reserve(pfd_resampler *resampler, int64_t bytes, pfd_error *err)
{
    resampler->used = 0;
    if (bytes <= resampler->capacity) return PFD_OK;
    int64_t capacity = bytes < 2 * resampler->capacity ? 2 * resampler->capacity : bytes;
    resampler->memory = resampler->host->alloc(resampler->scratch, capacity);
    resampler->capacity = resampler->memory ? capacity : 0;
    if (resampler->memory) return PFD_OK;
    return resampler->host->fail(err, PFD_OUT_OF_MEMORY,
                                 "no memory for the %" PRId64 " bytes of tables and rows that "
                                 "resampling an image needs", bytes);
}

static void *take(pfd_resampler *resampler, int64_t bytes)
{
    void *out = resampler->memory + resampler->used;
    resampler->used += round_up(bytes);
    return out;
}

/* ---- Nearest pixels -------------------------------------------------------------------------- */

/* Output pixels one after the other. Places are added up, as Pillow does it: on the edge between
 * two pixels the rounding decides, and it decides as there. */
typedef struct stepper {
    double place, step;
    int64_t last;
} stepper;

static stepper first_step(const pfd_axis *axis)
{
    double step = (axis->end - axis->begin) / (double)axis->out_size;
    return (stepper){axis->begin + step * 0.5, step, axis->in_size - 1};
}

static int64_t take_step(stepper *at)
{
    int64_t pixel = (int64_t)at->place;
    at->place += at->step;
    return pixel < at->last ? pixel : at->last;
}

PFD_INLINE void pick_pixels(const uint8_t *in, const int32_t *offsets, uint8_t *out, int64_t width,
                            int64_t channels)
{
    for (int64_t x = 0; x < width; x++)
        memcpy(out + x * channels, in + offsets[x], (size_t)channels);
}

static pfd_status take_nearest(pfd_resampler *resampler, const pfd_image_part *in,
                               const pfd_axis *rows, const pfd_axis *columns, uint8_t *out,
                               pfd_error *err)
{
    int64_t width = columns->out_size, channels = in->channels, before = -1;
    int64_t row_bytes = width * channels;
    PFD_TRY(reserve(resampler, round_up(width * (int64_t)sizeof(int32_t)), err));
    int32_t *offsets = take(resampler, width * (int64_t)sizeof *offsets);
    stepper column = first_step(columns), row_step = first_step(rows);
    for (int64_t x = 0; x < width; x++) offsets[x] = (int32_t)(take_step(&column) * channels);
    for (int64_t y = 0; y < rows->out_size; y++, out += row_bytes) {
        int64_t row = take_step(&row_step);
        const uint8_t *from = in->data + row * in->stride;
        if (row == before)
            memcpy(out, out - row_bytes, (size_t)row_bytes);
        else if (channels == 3)
            pick_pixels(from, offsets, out, width, 3);
        else if (channels == 1)
            pick_pixels(from, offsets, out, width, 1);
        else if (channels == 4)
            pick_pixels(from, offsets, out, width, 4);
        else
            pick_pixels(from, offsets, out, width, channels);
        before = row;
    }
    return PFD_OK;
}

/* ---- Two by two pixels ----------------------------------------------------------------------- */

/* Where output pixel i lies in the source. With whole numbers it is a whole number exactly where it
 * should be. */
static double place_of(const pfd_axis *axis, int64_t i)
{
    return axis->begin + ((double)i + 0.5) * (axis->end - axis->begin) / (double)axis->out_size;
}

/* Two neighbours and how much of the second one, in [0, 1]. */
typedef struct neighbours {
    int64_t first;
    double part;
} neighbours;

/* Beyond the edge is the pixel at the edge. Where there are two pixels, both are in the source. */
static neighbours neighbours_of(const pfd_axis *axis, int64_t i)
{
    double place = place_of(axis, i) - 0.5, first = floor(place);
    int64_t last = axis->in_size > 1 ? axis->in_size - 2 : 0;
    if (place <= 0 || axis->in_size == 1) return (neighbours){0, 0};
    if (first > (double)last) return (neighbours){last, 1};
    return (neighbours){(int64_t)first, place - first};
}

static void make_pairs(const pfd_axis *axis, int64_t channels, pfd_pixel_pair *out)
{
    int64_t origin = neighbours_of(axis, 0).first;
    for (int64_t i = 0; i < axis->out_size; i++) {
        neighbours at = neighbours_of(axis, i);
        int16_t second = (int16_t)rint(at.part * (1 << 14));
        out[i].first = (int32_t)((at.first - origin) * channels * (int64_t)sizeof(int16_t));
        out[i].weights[0] = (int16_t)((1 << 14) - second);
        out[i].weights[1] = second;
    }
}

/* Mixes two rows of the source, then the pixels of that row: only as many rows as the output has
 * then need the slower loop over pixels. */
static pfd_status mix_two_by_two(pfd_resampler *resampler, const pfd_image_part *in,
                                 const pfd_axis *rows, const pfd_axis *columns, uint8_t *out,
                                 pfd_error *err)
{
    const pfd_resample_kernels *kernels = pfd_resample_kernels_at(pfd_simd_level());
    int64_t width = columns->out_size, channels = in->channels;
    int64_t first = neighbours_of(columns, 0).first;
    int64_t end = neighbours_of(columns, width - 1).first + (in->width > 1 ? 2 : 1);
    int64_t n = (end - first) * channels;
    int64_t table_bytes = width * (int64_t)sizeof(pfd_pixel_pair);
    int64_t mixed_bytes = n * (int64_t)sizeof(int16_t) + PFD_ROW_SLACK;
    PFD_TRY(reserve(resampler, round_up(table_bytes) + round_up(mixed_bytes), err));
    pfd_pixel_pair *pairs = take(resampler, table_bytes);
    int16_t *mixed = take(resampler, mixed_bytes);
    make_pairs(columns, channels, pairs);
    memset(mixed + n, 0, PFD_ROW_SLACK);
    for (int64_t y = 0; y < rows->out_size; y++) {
        neighbours at = neighbours_of(rows, y);
        int64_t other = at.first + (in->height > 1);
        double weight = rint(at.part * (1 << 15));
        const uint8_t *one = in->data + at.first * in->stride + first * channels;
        const uint8_t *two = in->data + other * in->stride + first * channels;
        if (weight > INT16_MAX) { /* all of the second one */
            one = two;
            weight = 0;
        }
        kernels->mix_rows(one, two, (int32_t)weight, mixed, n);
        kernels->mix_pixels(mixed, pairs, out + y * width * channels, width, channels);
    }
    return PFD_OK;
}

/* ---- Sums of many pixels --------------------------------------------------------------------- */

/* Four rows and more of the source, resampled to the width of the output or waiting for it. */
typedef struct row_ring {
    const pfd_resample_kernels *kernels;
    const pfd_image_part *in;
    pfd_taps rows, columns;
    const uint8_t **sources; /* of one output row */
    int64_t reach;           /* bytes of a row that may be read */
    uint8_t *copies;         /* PFD_ROWS_AT_ONCE rows of `reach` bytes */
    uint8_t *ring;           /* `size` rows of row_bytes */
    int64_t size, row_bytes;
    int64_t next; /* source row that is resampled next; those before it were, or are not needed */
} row_ring;

/* A row of the source. Where reading beyond its end would leave the image, it is a copy. */
static const uint8_t *readable_row(const row_ring *work, int64_t row, uint8_t *copy)
{
    const pfd_image_part *in = work->in;
    int64_t last = in->height - 1, bytes = in->width * in->channels;
    if (row > last) row = last;
    const uint8_t *data = in->data + row * in->stride;
    if ((last - row) * in->stride + bytes >= work->reach) return data;
    memcpy(copy, data, (size_t)bytes);
    memset(copy + bytes, 0, (size_t)(work->reach - bytes));
    return copy;
}

static uint8_t *ring_row(const row_ring *work, int64_t row)
{
    return work->ring + row % work->size * work->row_bytes;
}

/* Resamples what is missing of rows [begin, end). */
static void fill_ring(row_ring *work, int64_t begin, int64_t end)
{
    begin -= begin % PFD_ROWS_AT_ONCE;
    if (work->next < begin) work->next = begin;
    for (; work->next < end; work->next += PFD_ROWS_AT_ONCE) {
        const uint8_t *in[PFD_ROWS_AT_ONCE];
        uint8_t *out[PFD_ROWS_AT_ONCE];
        for (int64_t k = 0; k < PFD_ROWS_AT_ONCE; k++) {
            in[k] = readable_row(work, work->next + k, work->copies + k * work->reach);
            out[k] = ring_row(work, work->next + k);
        }
        work->kernels->resample_rows(&work->columns, in, out, work->in->channels);
    }
}

/* Output row y of n bytes from rows of the source, or from those of the ring. */
static void sum_row(const row_ring *work, int64_t y, int32_t from_ring, uint8_t *out, int64_t n)
{
    const pfd_taps *taps = &work->rows;
    for (int64_t j = 0; j < taps->counts[y]; j++) {
        int64_t row = taps->starts[y] + j;
        work->sources[j] =
            from_ring ? ring_row(work, row) : work->in->data + row * work->in->stride;
    }
    work->kernels->sum_rows(work->sources, taps->weights + y * taps->stride, taps->counts[y], out,
                            n);
}

static void rows_only(const row_ring *work, uint8_t *out)
{
    int64_t n = work->in->width * work->in->channels;
    for (int64_t y = 0; y < work->rows.size; y++) sum_row(work, y, 0, out + y * n, n);
}

static void columns_only(row_ring *work, uint8_t *out)
{
    int64_t n = work->columns.size * work->in->channels;
    for (int64_t y = 0; y < work->in->height; y++) {
        fill_ring(work, y, y + 1);
        memcpy(out + y * n, ring_row(work, y), (size_t)n);
    }
}

static void columns_first(row_ring *work, uint8_t *out)
{
    int64_t n = work->columns.size * work->in->channels;
    for (int64_t y = 0; y < work->rows.size; y++) {
        fill_ring(work, work->rows.starts[y], work->rows.starts[y] + work->rows.counts[y]);
        sum_row(work, y, 1, out + y * n, n);
    }
}

static void rows_first(const row_ring *work, uint8_t *out)
{
    int64_t n = work->columns.size * work->in->channels;
    int64_t in_bytes = work->in->width * work->in->channels;
    const uint8_t *in[PFD_ROWS_AT_ONCE];
    uint8_t *resampled[PFD_ROWS_AT_ONCE];
    for (int64_t k = 0; k < PFD_ROWS_AT_ONCE; k++) {
        in[k] = work->copies + k * work->reach;
        resampled[k] = ring_row(work, k);
        memset(work->copies + k * work->reach, 0, (size_t)work->reach);
    }
    for (int64_t y = 0; y < work->rows.size; y += PFD_ROWS_AT_ONCE) {
        int64_t rows = work->rows.size - y;
        if (rows > PFD_ROWS_AT_ONCE) rows = PFD_ROWS_AT_ONCE;
        for (int64_t k = 0; k < rows; k++)
            sum_row(work, y + k, 0, work->copies + k * work->reach, in_bytes);
        work->kernels->resample_rows(&work->columns, in, resampled, work->in->channels);
        for (int64_t k = 0; k < rows; k++) memcpy(out + (y + k) * n, resampled[k], (size_t)n);
    }
}

/* Sets the sizes in *work, and what all of it needs; -1: beyond all memory. */
static int64_t plan_memory(int32_t filter, const pfd_axis *rows, const pfd_axis *columns,
                           row_ring *work)
{
    int64_t row_taps = pfd_taps_bytes(filter, rows), taps = pfd_taps_bytes(filter, columns);
    int64_t most_rows = pfd_most_taps(filter, rows), channels = work->in->channels, ring, sum;
    work->size = (most_rows / PFD_ROWS_AT_ONCE + 2) * PFD_ROWS_AT_ONCE;
    work->row_bytes = round_up(columns->out_size * channels + PFD_ROW_SLACK);
    work->reach = (work->in->width + pfd_most_taps(filter, columns)) * channels + PFD_ROW_SLACK;
    if (row_taps < 0 || taps < 0) return -1;
    if (__builtin_mul_overflow(work->size, work->row_bytes, &ring)) return -1;
    if (__builtin_add_overflow(row_taps, taps, &sum)) return -1;
    if (__builtin_add_overflow(sum, ring, &sum)) return -1;
    sum += PFD_ROWS_AT_ONCE * work->reach + most_rows * (int64_t)sizeof(uint8_t *);
    return sum + 5 * 64; /* each of the five is rounded up */
}

static int32_t is_whole(const pfd_axis *axis)
{
    return axis->begin <= 0 && axis->end >= (double)axis->in_size &&
           axis->in_size == axis->out_size;
}

static pfd_status sum_pixels(pfd_resampler *resampler, int32_t filter, const pfd_image_part *in,
                             const pfd_axis *rows, const pfd_axis *columns, uint8_t *out,
                             pfd_error *err)
{
    row_ring work = {.kernels = pfd_resample_kernels_at(pfd_simd_level()), .in = in};
    int64_t bytes = plan_memory(filter, rows, columns, &work);
    PFD_TRY(reserve(resampler, bytes < 0 ? INT64_MAX : bytes, err));
    pfd_make_taps(filter, rows, take(resampler, pfd_taps_bytes(filter, rows)), &work.rows);
    pfd_make_taps(filter, columns, take(resampler, pfd_taps_bytes(filter, columns)),
                  &work.columns);
    if (work.kernels->prepare) work.kernels->prepare(&work.columns, in->width);
    work.sources = take(resampler, work.rows.most * (int64_t)sizeof *work.sources);
    work.copies = take(resampler, PFD_ROWS_AT_ONCE * work.reach);
    work.ring = take(resampler, work.size * work.row_bytes);
    int64_t fewer_rows = rows->in_size - rows->out_size;
    int64_t fewer_columns = columns->in_size - columns->out_size;
    if (is_whole(columns))
        rows_only(&work, out);
    else if (is_whole(rows))
        columns_only(&work, out);
    else if (fewer_rows > 0 && fewer_rows > 2 * fewer_columns) /* as Pillow from version 13 on */
        rows_first(&work, out);
    else
        columns_first(&work, out);
    return PFD_OK;
}

/* ---- Any filter ------------------------------------------------------------------------------ */

pfd_status pfd_resample(pfd_resampler *resampler, int32_t filter, const pfd_image_part *in,
                        const pfd_box *box, uint8_t *out, int64_t height, int64_t width,
                        pfd_error *err)
{
    pfd_axis rows = {in->height, height, 0, (double)in->height};
    pfd_axis columns = {in->width, width, 0, (double)in->width};
    if (box) {
        rows.begin = box->top;
        rows.end = box->bottom;
        columns.begin = box->left;
        columns.end = box->right;
    }
    if (in->width > INT32_MAX / 16 || in->height > INT32_MAX / 16)
        return resampler->host->fail(err, PFD_UNSUPPORTED,
                                     "the image is %" PRId64 " x %" PRId64
                                     " pixels; at most %d on a side can be resampled",
                                     in->height, in->width, INT32_MAX / 16);
    if (is_whole(&rows) && is_whole(&columns)) {
        int64_t row_bytes = width * in->channels;
        for (int64_t y = 0; y < height; y++)
            memcpy(out + y * row_bytes, in->data + y * in->stride, (size_t)row_bytes);
        return PFD_OK;
    }
    if (filter == PFD_NEAREST) return take_nearest(resampler, in, &rows, &columns, out, err);
    if (filter == PFD_POINT_BILINEAR)
        return mix_two_by_two(resampler, in, &rows, &columns, out, err);
    return sum_pixels(resampler, filter, in, &rows, &columns, out, err);
}
