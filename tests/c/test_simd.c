/* What wide vectors compute, on every level that this processor has, against the plain ways. */
#include "check.h"

#include "core/convert.h"
#include "core/cpu.h"
#include "core/hash.h"
#include "core/narrow_floats.h"
#include "core/random.h"
#include "formats/megatron/widen.h"
#include "formats/tfrecord/tfrecord_frame.h"
#include "index/line_scan.h"
#include "index/record_index.h"
#include "parse/number_pairs.h"
#include "parse/number_text.h"
#include "pyflowdata/pyflowdata.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Two pages, of which only the first can be read. */
static char *guarded_page(long size)
{
    char *pages = mmap(NULL, (size_t)(3 * size), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) abort();
    if (mprotect(pages + size, (size_t)size, PROT_READ | PROT_WRITE)) abort();
    return pages + size;
}

/* ---- Pairs of numbers ------------------------------------------------------------------------ */

static int write_random_bits(char *out)
{
    uint64_t bits = draw_bits() * UINT64_C(0x9e3779b97f4a7c15);
    double value;
    memcpy(&value, &bits, sizeof value);
    return sprintf(out, "%.17g", value);
}

/* A number as files have them, and now and then none. */
static int write_number(char *out)
{
    double sign = draw(4) ? 1 : -1;
    double unit = (double)draw(UINT64_C(1) << 53 >> 6) * 0x1p-47 + (double)draw(64) * 0x1p-53;
    switch (draw(12)) {
    case 0:
        return sprintf(out, "%.*f", (int)draw(4), sign * (double)draw(100000) / 1000);
    case 1:
        return sprintf(out, "%d", (int)draw(1000000) - 500000);
    case 2:
        return sprintf(out, "%.*f", (int)draw(24), sign * unit);
    case 3:
        return sprintf(out, "%.17g", sign * unit * 1e-3);
    case 4:
        return sprintf(out, "%.*f", (int)draw(30), sign * unit * 1e6);
    case 5:
        return write_random_bits(out);
    case 6:
        return sprintf(out, "%llu", (unsigned long long)(draw_bits() >> draw(30)));
    case 7:
        return sprintf(out, "%.*f", (int)draw(4), 9007199254740992.0 + (double)draw(99));
    case 8:
        return sprintf(out, "%s.%s", draw(2) ? "" : "-12", draw(2) ? "5" : "");
    case 9:
        return sprintf(out, "%s0%s", draw(2) ? "-" : "", draw(2) ? ".000" : "");
    default:
        return sprintf(out, "%.*g", (int)(1 + draw(17)), sign * unit * 10);
    }
}

static const char *random_record(char *out)
{
    static const char strange[] = "0123456789.,-+eE x\r\t\0/:";
    int size = write_number(out);
    out[size++] = ',';
    size += write_number(out + size);
    if (draw(10) == 0) { /* damaged, or unusual */
        int at = (int)draw((uint64_t)size);
        if (draw(2))
            out[at] = strange[draw(sizeof strange - 1)];
        else
            memmove(out + at, out + at + 1, (size_t)(size-- - at));
    }
    out[size] = '\0';
    return out + size;
}

/* Whether text is what the pairs may take, and its numbers. */
static int parse_plainly(const char *text, int64_t size, double *row)
{
    int64_t used = pfd_parse_double(text, size, &row[0]);
    if (used == 0 || used >= size || text[used] != ',') return 0;
    return used + 1 + pfd_parse_double(text + used + 1, size - used - 1, &row[1]) == size &&
           size > used + 1;
}

static void test_pairs(int32_t level, int rounds)
{
    enum { most = PFD_PAIRS_AT_ONCE };
    long page_size = sysconf(_SC_PAGESIZE);
    char *pages[] = {guarded_page(page_size), guarded_page(page_size)};
    char text[256];
    int64_t taken = 0, all = 0;
    for (int round = 0; round < rounds; round++) {
        pfd_record records[most];
        double rows[2 * most + 1], row[2] = {0, 0};
        int64_t n = 1 + (int64_t)draw(most), used = 0;
        for (int64_t i = 0; i < n; i++) {
            int64_t size = random_record(text) - text;
            if (used + size > page_size) used = 0; /* over records that are seldom looked at */
            char *at = pages[round % 2] + (round % 2 ? used : page_size - used - size);
            memcpy(at, text, (size_t)size);
            records[i] = (pfd_record){.data = (const uint8_t *)at, .size = size};
            used += size;
        }
        memset(rows, 0x55, sizeof rows);
        uint64_t left = pfd_pairs_at(level)(records, n, rows);
        CHECK(n == most || left >> n == 0);
        double untouched;
        memset(&untouched, 0x55, sizeof untouched);
        CHECK(!memcmp(&rows[2 * n], &untouched, sizeof untouched));
        for (int64_t i = 0; i < n; i++, all++) {
            if (left >> i & 1) continue;
            taken++;
            CHECK(parse_plainly((const char *)records[i].data, records[i].size, row));
            CHECK(!memcmp(&rows[2 * i], row, sizeof row));
        }
    }
    (void)printf("level %d took %.1f %% of the pairs\n", (int)level,
                 100.0 * (double)taken / (double)all);
    CHECK(level == PFD_SIMD_PLAIN ? taken == 0 : 2 * taken > all);
    munmap(pages[0] - page_size, (size_t)(3 * page_size));
    munmap(pages[1] - page_size, (size_t)(3 * page_size));
}

/* ---- Permutations ---------------------------------------------------------------------------- */

/* Many places at once go where each goes by itself. */
static void test_permutations(void)
{
    for (int round = 0; round < 500; round++) {
        int64_t n = 1 + (int64_t)draw(UINT64_C(1) << draw(round % 2 ? 48 : 12)), in[50], out[50];
        if (round % 50 == 0) n = INT64_C(1) << 62;
        pfd_permutation permutation;
        pfd_permutation_init(&permutation, draw(UINT64_MAX), n);
        int64_t count = (int64_t)draw(50) + 1;
        for (int64_t i = 0; i < count; i++)
            in[i] = (int64_t)(draw(UINT64_MAX) * UINT64_C(0x9e3779b97f4a7c15) % (uint64_t)n);
        pfd_permute(&permutation, in, count, out);
        for (int64_t i = 0; i < count; i++) {
            int64_t place = in[i];
            pfd_permute(&permutation, &place, 1, &place);
            CHECK(out[i] == place && place >= 0 && place < n);
        }
        pfd_permute(&permutation, in, count, in);
        CHECK(!memcmp(in, out, (size_t)count * sizeof *in));
    }
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* mark() and split() of all variants, over pieces of a text; skip() and count(): test_files.c.
 */
static void test_lists(void)
{
    enum { most = 3000 };
    static const char letters[] = "\n\n\r \t1,x12345678";
    static uint32_t expected[most + PFD_SPLIT_SLACK], found[most + PFD_SPLIT_SLACK];
    const pfd_newline_scan *plain = pfd_newline_scan_at(0), *scan;
    for (int round = 0; round < 2000; round++) {
        int64_t size = (int64_t)draw(round % 2 ? most : 150), wanted = (int64_t)draw(200);
        char *text = malloc((size_t)size + 1);
        if (!text) abort();
        for (int64_t i = 0; i < size; i++)
            text[i] = letters[draw(round % 3 ? sizeof letters - 1 : 9)];
        const uint8_t *bytes = (const uint8_t *)text;
        uint64_t content = draw(2);
        int64_t n = plain->split(bytes, size, wanted, expected);
        for (int32_t i = 1; (scan = pfd_newline_scan_at(i)); i++) {
            CHECK(scan->split(bytes, size, wanted, found) == n);
            CHECK(!memcmp(found, expected, (size_t)n * sizeof *found));
        }
        pfd_line_marker before = {.content = content}, marker = before;
        n = plain->mark(bytes, size, &marker, expected);
        for (int32_t i = 1; (scan = pfd_newline_scan_at(i)); i++) {
            pfd_line_marker other = before;
            CHECK(scan->mark(bytes, size, &other, found) == n);
            CHECK(!memcmp(found, expected, (size_t)n * sizeof *found));
            CHECK(other.content == marker.content);
            CHECK(other.blank_lines == marker.blank_lines);
            CHECK((other.returns > 0) == (marker.returns > 0));
        }
        uint64_t open_before = content;
        CHECK(plain->count_records(bytes, size, &content) == n && content == marker.content);
        for (int32_t i = 1; (scan = pfd_newline_scan_at(i)); i++) {
            uint64_t open = open_before;
            CHECK(scan->count_records(bytes, size, &open) == n && open == content);
        }
        free(text);
    }
}

/* ---- Checksums ------------------------------------------------------------------------------- */
static void test_known_checksums(pfd_crc32c_fn crc32c)
{
    static const uint8_t zeros[32];
    CHECK(crc32c(0, (const uint8_t *)"123456789", 9) == 0xe3069283);
    CHECK(crc32c(0, zeros, 0) == 0);
    CHECK(crc32c(0, zeros, 32) == 0x8a9136aa); /* RFC 3720, B.4 */
}

/* All variants, at every alignment, whole and in two pieces, around the sizes where they change
 * their ways. */
static void test_checksums(void)
{
    enum { most = 3 * 3 * 4096 };
    uint8_t *bytes = malloc(most + 8);
    if (!bytes) abort();
    for (int64_t i = 0; i < most + 8; i++) bytes[i] = (uint8_t)draw(256);
    pfd_crc32c_fn plain = pfd_crc32c_at(0), crc32c;
    for (int32_t i = 0; (crc32c = pfd_crc32c_at(i)); i++) {
        test_known_checksums(crc32c);
        for (int round = 0; round < 3000; round++) {
            static const uint64_t sizes[] = {40, 400, 3 * 512 + 9, 2 * 3 * 512 + 9, most};
            int64_t size = (int64_t)draw(sizes[round % 5]);
            if (round % 50 == 0) size = most;
            const uint8_t *from = bytes + draw(8);
            int64_t cut = (int64_t)draw((uint64_t)size + 1);
            uint32_t expected = plain(0, from, size);
            CHECK(crc32c(0, from, size) == expected);
            CHECK(crc32c(crc32c(0, from, cut), from + cut, size - cut) == expected);
        }
    }
    CHECK(pfd_crc32c("123456789", 9) == 0xe3069283 && pfd_crc32c(NULL, 0) == 0);
    CHECK(pfd_tfrecord_mask(0) == 0xa282ead8 && pfd_tfrecord_mask(0xe3069283) == 0xc78ab0e5);
    free(bytes);
}

/* ---- Widening -------------------------------------------------------------------------------- */

/* All variants, of every pair of dtypes, at places that are not aligned; nothing is written beyond.
 */
static void test_widening(int32_t level)
{
    enum { most = 80 };
    for (int32_t from = PFD_BOOL; from <= PFD_FLOAT64; from++) {
        for (int32_t to = PFD_BOOL; to <= PFD_FLOAT64; to++) {
            pfd_widen_fn plain = pfd_widen_at(from, to, PFD_SIMD_PLAIN);
            pfd_widen_fn widen = pfd_widen_at(from, to, level);
            CHECK((plain != NULL) == (widen != NULL));
            for (int64_t n = 0; plain && n < most; n++) {
                uint8_t in[8 * most + 1], expected[8 * most + 2], out[8 * most + 2];
                for (size_t i = 0; i < sizeof in; i++) in[i] = (uint8_t)draw(256);
                memset(expected, 0x55, sizeof expected);
                memset(out, 0x55, sizeof out);
                plain(in + n % 2, expected + 1, n);
                widen(in + n % 2, out + 1, n);
                CHECK(!memcmp(out, expected, sizeof out));
                int64_t end = 1 + n * pfd_dtype_size(to);
                CHECK(out[0] == 0x55 && out[end] == 0x55);
            }
        }
    }
    CHECK(!pfd_widen_at(PFD_INT16, PFD_UINT16, level));
    CHECK(!pfd_widen_at(PFD_UINT64, PFD_INT64, level));
    CHECK(!pfd_widen_at(PFD_INT32, PFD_FLOAT64, level));
    uint16_t token = 65535;
    int64_t wide = 0;
    pfd_widen_at(PFD_UINT16, PFD_INT64, level)((const void *)&token, (void *)&wide, 1);
    CHECK(wide == 65535);
}

/* ---- Scaling --------------------------------------------------------------------------------- */

/* Few bytes and many, by factors for which float32 does and does not give the bits of float64. */
static void test_scaling(void)
{
    enum { most = 5000 };
    static const double scales[] = {1 / 255.0, 1 / 127.5, 0.1, 1, 1e-3, -3e30, 0};
    static uint8_t in[most];
    static float out[most + 1];
    static double each[most], shifts[most];
    for (int round = 0; round < 200; round++) {
        int64_t n = (int64_t)draw(round % 2 ? most : 40);
        double scale = scales[draw(7)], shift = draw(3) ? (double)draw(1000) / 777 - 0.5 : 0;
        for (int64_t i = 0; i < n; i++) {
            in[i] = (uint8_t)draw(256);
            each[i] = (double)draw(1000) / 999;
            shifts[i] = (double)draw(1000) / 777;
        }
        memset(out, 0x55, sizeof out);
        pfd_scale_uint8(in, out, n, scale, shift);
        for (int64_t i = 0; i < n; i++) {
            volatile double product = in[i] * scale;
            float expected = (float)(product + shift);
            CHECK(!memcmp(&out[i], &expected, sizeof expected));
        }
        pfd_scale_each_uint8(in, out, n, each, shifts);
        for (int64_t i = 0; i < n; i++) {
            volatile double product = in[i] * each[i];
            float expected = (float)(product + shifts[i]);
            CHECK(!memcmp(&out[i], &expected, sizeof expected));
        }
        CHECK(((const uint8_t *)out)[n * 4] == 0x55); /* nothing is written beyond */
    }
}

/* ---- Floats of 16 bits ----------------------------------------------------------------------- */

/* Whether `half` is what `value` is rounded to: the nearest, of two the even one. */
static int is_nearest(uint16_t half, float value)
{
    uint16_t around[3] = {(uint16_t)(half - 1), half, (uint16_t)(half + 1)};
    float wide[3];
    pfd_float16_to_float32(around, wide, 3);
    if (isinf(wide[1])) return fabsf(value) >= 65520 && signbit(wide[1]) == signbit(value);
    double below = (half & 0x7fff) == 0 ? INFINITY : fabs((double)wide[0] - value);
    double above = (half & 0x7fff) == 0x7bff ? fabs(65536 - fabs((double)value))
                                             : fabs((double)wide[2] - value);
    double error = fabs((double)wide[1] - value), next = below < above ? below : above;
    return signbit(wide[1]) == signbit(value) && (error < next || (error == next && !(half & 1)));
}

static void test_float16(void)
{
    static uint16_t halves[65536], back[65536];
    static float wide[65536];
    for (int i = 0; i < 65536; i++) halves[i] = (uint16_t)i;
    pfd_float16_to_float32(halves, wide, 65536);
    pfd_float16_from_float32(wide, back, 65536);
    for (int i = 0; i < 65536; i++) {
        int exponent = i >> 10 & 31, fraction = i & 1023;
        uint16_t quiet = (uint16_t)(exponent == 31 && fraction ? i | 0x200 : i);
        double value = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
        CHECK(back[i] == quiet);
        if (exponent < 31) CHECK(wide[i] == (float)(i >> 15 ? -value : value));
        if (exponent == 31) CHECK(fraction ? isnan(wide[i]) : isinf(wide[i]));
    }
    for (int round = 0; round < 3000; round++) {
        float values[20];
        uint16_t found[21];
        int64_t n = (int64_t)draw(20);
        for (int64_t i = 0; i < n; i++) /* some just between two halves, or beside that */
            values[i] = ldexpf((float)(draw(4) ? draw(1 << 24) : draw(4096) << 12 | 1),
                               (int)draw(42) - 49) * (draw(2) ? 1 : -1);
        found[n] = 0x5555;
        pfd_float16_from_float32(values, found, n);
        CHECK(found[n] == 0x5555);
        for (int64_t i = 0; i < n; i++) CHECK(is_nearest(found[i], values[i]));
    }
}

static void test_bfloat16(void)
{
    static uint16_t given[65536], back[65536];
    static float wide[65536];
    for (int i = 0; i < 65536; i++) given[i] = (uint16_t)i;
    pfd_bfloat16_to_float32(given, wide, 65536);
    pfd_bfloat16_from_float32(wide, back, 65536);
    for (int i = 0; i < 65536; i++) {
        int exponent = i >> 7 & 255, fraction = i & 127;
        double value = exponent ? ldexp(128 + fraction, exponent - 134) : ldexp(fraction, -133);
        CHECK(back[i] == (exponent == 255 && fraction ? i | 0x40 : i));
        if (exponent < 255) CHECK(wide[i] == (float)(i >> 15 ? -value : value));
        if (exponent == 255) CHECK(fraction ? isnan(wide[i]) : isinf(wide[i]));
    }
    for (int round = 0; round < 3000; round++) { /* beside and between two neighbours */
        float values[20];
        uint16_t found[21], expected[20];
        int64_t n = (int64_t)draw(20);
        for (int64_t i = 0; i < n; i++) {
            uint32_t upper = (uint32_t)draw(0x7f7f), lower = (uint32_t)draw(65536);
            if (draw(2)) lower = (uint32_t)(0x7fff + draw(3));
            uint32_t bits = upper << 16 | lower | (uint32_t)draw(2) << 31;
            memcpy(values + i, &bits, sizeof bits);
            int is_up = lower > 0x8000 || (lower == 0x8000 && upper & 1);
            expected[i] = (uint16_t)((bits >> 16) + (uint32_t)is_up);
        }
        found[n] = 0x5555;
        pfd_bfloat16_from_float32(values, found, n);
        CHECK(found[n] == 0x5555 && memcmp(found, expected, (size_t)n * 2) == 0);
    }
}

/* ---- The index of records -------------------------------------------------------------------- */

/* Strides that are packed into bytes, with some that do not fit. */
static void test_marks(void)
{
    enum { most = 300 };
    static const uint64_t longest[] = {20, 254, 300, 70000};
    for (int round = 0; round < 2000; round++) {
        uint32_t places[most];
        int64_t n = 1 + (int64_t)draw(round % 2 ? most : 40), num_large = 0;
        pfd_mark_list list = {0};
        pfd_mark_piece piece;
        pfd_error error = {.struct_size = sizeof error};
        places[0] = (uint32_t)draw(1000);
        for (int64_t i = 1; i < n; i++)
            places[i] = places[i - 1] + 1 + (uint32_t)draw(longest[draw(10) ? 0 : round % 4]);
        pfd_mark_piece_begin(&piece, &list, 0, 0);
        CHECK(pfd_mark_piece_add(&piece, &list, 5, places, n, &error) == PFD_OK);
        CHECK(list.used == n - 1 && piece.num_marks == n);
        CHECK(piece.first_mark == 5 + places[0] && piece.last_mark == 5 + places[n - 1]);
        for (int64_t i = 1; i < n; i++) {
            int64_t stride = (int64_t)places[i] - places[i - 1];
            CHECK(list.strides[i - 1] == (stride < 255 ? stride : 255));
            if (stride >= 255) CHECK(list.large[num_large++] == stride);
        }
        CHECK(list.num_large == num_large);
        pfd_mark_list_free(&list);
    }
}

/* Strides of one group of 1, 2 or 4 bytes, added up to each of its records. */
static void test_group_sums(int width)
{
    enum { most = PFD_GROUP_STRIDE_BYTES };
    const int64_t count = most >> width;
    const uint32_t largest = UINT32_MAX >> (32 - (8 << width));
    static const uint8_t *const no_text[1];
    for (int round = 0; round < 200; round++) {
        pfd_index_group group = {.head = UINT64_C(1000) << 18};
        pfd_index_file files[2] = {{0}, {.first_record = count}};
        pfd_record_index index = {.texts = no_text,
                                  .num_files = 1,
                                  .num_records = count,
                                  .num_groups = 1,
                                  .width = width,
                                  .files = files,
                                  .groups = &group};
        int64_t places[most + 1] = {1000}, positions[most];
        pfd_record_start found[most];
        for (int64_t i = 0; i < count; i++) {
            uint32_t stride = round ? (uint32_t)draw(largest) : largest;
            memcpy(group.strides + (i << width), &stride, (size_t)1 << width);
            places[i + 1] = places[i] + stride;
            positions[i] = i;
        }
        pfd_record_index_find_all(&index, positions, count, 0, found);
        for (int64_t i = 0; i < count; i++) {
            pfd_record_start single = pfd_record_index_find(&index, i);
            CHECK(single.offset == places[i] && single.skip == 0);
            CHECK(found[i].offset == places[i] && found[i].skip == 0);
        }
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 4000;
    for (int32_t level = 0; level <= pfd_simd_of_cpu(); level++) test_pairs(level, rounds);
    for (int32_t level = 0; level <= pfd_simd_of_cpu(); level++) test_widening(level);
    test_permutations();
    test_lists();
    test_checksums();
    test_scaling();
    test_float16();
    test_bfloat16();
    test_marks();
    for (int width = 0; width <= 2; width++) test_group_sums(width);
    return report();
}
