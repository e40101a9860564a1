/* Resampling reads and writes nothing beyond images, and is the same on every level. */
#include "check.h"

#include "core/cpu.h"
#include "core/scratch.h"
#include "images/pixels/affine_warp.h"
#include "images/pixels/resample.h"
#include "registry/registry.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int64_t below(int64_t n)
{
    return (int64_t)draw((uint64_t)n);
}

/* Memory between two pages that cannot be touched. */
typedef struct guarded {
    uint8_t *begin, *end;
} guarded;

static guarded guarded_memory(int64_t bytes)
{
    int64_t page = sysconf(_SC_PAGESIZE), size = (bytes + page - 1) / page * page;
    uint8_t *all = mmap(NULL, (size_t)(size + 2 * page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                        -1, 0);
    REQUIRE(all != MAP_FAILED);
    REQUIRE(!mprotect(all + page, (size_t)size, PROT_READ | PROT_WRITE));
    return (guarded){all + page, all + page + size};
}

enum { MOST_SIDE = 70, MOST_BYTES = MOST_SIDE * MOST_SIDE * 4 };

static int64_t draw_side(void)
{
    return 1 + below(below(3) ? MOST_SIDE : 6);
}

/* At the beginning of the memory, or at its end. */
static uint8_t *place(const guarded *memory, int64_t bytes, int32_t at_end)
{
    return at_end ? memory->end - bytes : memory->begin;
}

/* A byte after `bytes` at the beginning of the memory, which must stay. */
static void guard(const guarded *memory, int64_t bytes)
{
    memory->begin[bytes] = 0x55;
}

static void check_guard(const guarded *memory, int64_t bytes)
{
    CHECK(memory->begin[bytes] == 0x55);
}

/* A box in eighths of pixels. */
static pfd_box draw_box(int64_t height, int64_t width)
{
    pfd_box box = {.top = (double)below(8 * height) / 8, .left = (double)below(8 * width) / 8};
    box.bottom = box.top + (double)(1 + below((int64_t)(8 * ((double)height - box.top)))) / 8;
    box.right = box.left + (double)(1 + below((int64_t)(8 * ((double)width - box.left)))) / 8;
    return box;
}

/* All of the filters, from the whole image or a box, of an image that ends where memory does. */
static void test_edges(const guarded *source, const guarded *result)
{
    pfd_resampler resampler = {.host = pfd_host_table(), .scratch = pfd_scratch_create()};
    for (int round = 0; round < 3000; round++) {
        pfd_error err = {.struct_size = sizeof err};
        int64_t height = draw_side(), width = draw_side(), channels = 1 + below(4);
        int64_t out_height = draw_side(), out_width = draw_side();
        pfd_image_region in = {place(source, height * width * channels, round % 2), height, width,
                             channels, width * channels};
        int64_t out_bytes = out_height * out_width * channels;
        uint8_t *out = place(result, out_bytes, round % 2);
        if (round % 2 == 0) guard(result, out_bytes);
        pfd_box box = draw_box(height, width);
        CHECK(!pfd_resample(&resampler, (int32_t)below(PFD_POINT_BICUBIC + 1), &in,
                            round % 3 ? NULL : &box, out, out_height, out_width, &err));
        if (round % 2 == 0) check_guard(result, out_bytes);
    }
    pfd_scratch_free(resampler.scratch);
}

/* One image resampled by the loops of one level. */
static void resample_rows(int32_t level, int32_t filter, int64_t channels, const uint8_t *rows[4],
                          int64_t in_size, int64_t out_size, uint8_t *out)
{
    enum { row_bytes = 4 * MOST_SIDE + PFD_ROW_SLACK };
    const pfd_resample_kernels *kernels = pfd_resample_kernels_at(level);
    pfd_axis axis = {in_size, out_size, 0, (double)in_size};
    uint8_t *resampled[4];
    pfd_taps taps;
    void *memory = malloc((size_t)pfd_taps_bytes(filter, &axis));
    REQUIRE(memory);
    pfd_make_taps(filter, &axis, memory, &taps);
    if (kernels->prepare) kernels->prepare(&taps, in_size);
    for (int k = 0; k < 4; k++) resampled[k] = out + k * row_bytes;
    kernels->resample_rows(&taps, rows, resampled, channels);
    free(memory);
}

static void test_levels(const guarded *source)
{
    enum { row_bytes = 4 * MOST_SIDE + PFD_ROW_SLACK, most_rows = 9 };
    for (int round = 0; round < 3000; round++) {
        const uint8_t *rows[most_rows];
        uint8_t plain[most_rows * row_bytes] = {0}, other[most_rows * row_bytes] = {0};
        int64_t channels = 1 + below(4), in_size = 1 + below(30), out_size = 1 + below(MOST_SIDE);
        int32_t filter = PFD_BILINEAR + (int32_t)below(PFD_AREA), level = pfd_simd_of_cpu();
        for (int k = 0; k < most_rows; k++) rows[k] = source->begin + below(MOST_BYTES / 2);
        resample_rows(PFD_SIMD_PLAIN, filter, channels, rows, in_size, out_size, plain);
        resample_rows(level, filter, channels, rows, in_size, out_size, other);
        for (int k = 0; k < 4; k++)
            CHECK(!memcmp(plain + k * row_bytes, other + k * row_bytes,
                          (size_t)(out_size * channels)));
        int32_t weights[most_rows], left = 1 << PFD_WEIGHT_BITS;
        int64_t count = 1 + below(most_rows), n = 1 + below(4 * MOST_SIDE);
        for (int64_t k = 0; k < count; k++) {
            weights[k] = k + 1 < count ? (int32_t)below(1 << 19) - (1 << 17) : left;
            left -= weights[k];
        }
        pfd_resample_kernels_at(PFD_SIMD_PLAIN)->sum_rows(rows, weights, count, plain, n);
        pfd_resample_kernels_at(level)->sum_rows(rows, weights, count, other, n);
        CHECK(!memcmp(plain, other, (size_t)n));
    }
}

static void test_warps(const guarded *source, const guarded *result)
{
    static const uint8_t fill[4] = {1, 2, 3, 4};
    for (int round = 0; round < 3000; round++) {
        int64_t height = draw_side(), width = draw_side(), channels = 1 + below(4);
        int64_t out_height = draw_side(), out_width = draw_side();
        pfd_affine_motion motion = {
            .angle = (double)below(3600) / 10,
            .shear_x = below(2) ? 0 : (double)below(178) - 89,
            .shear_y = below(2) ? 0 : (double)below(178) - 89,
            .scale = below(2) ? 1 : below(2) ? 0.001 : (double)(1 + below(50)) / 10,
            .right = (double)below(20) - 10,
            .down = below(20) ? (double)below(20) - 10 : 1e300,
            .centre_x = (double)width / 2,
        };
        pfd_affine places = pfd_affine_of(&motion);
        pfd_image_region in = {place(source, height * width * channels, round % 2), height, width,
                             channels, width * channels};
        int64_t out_bytes = out_height * out_width * channels;
        uint8_t *out = place(result, out_bytes, round % 2);
        if (round % 2 == 0) guard(result, out_bytes);
        pfd_affine_warp(&in, &places, (int32_t)below(2), fill, out, out_height, out_width);
        if (round % 2 == 0) check_guard(result, out_bytes);
    }
}

int main(void)
{
    guarded source = guarded_memory(MOST_BYTES), result = guarded_memory(MOST_BYTES + 1);
    for (uint8_t *at = source.begin; at < source.end; at++)
        *at = (uint8_t)(below(3) ? below(256) : below(2) * 255);
    test_edges(&source, &result);
    test_levels(&source);
    test_warps(&source, &result);
    return report();
}
