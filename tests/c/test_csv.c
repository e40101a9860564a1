/* The fast ways through rows of CSV files, on every level that this processor has, against plain
 * ones; texts end where memory does. */
#include "check.h"

#include "core/cpu.h"
#include "formats/csv/csv_rows.h"
#include "parse/number_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A copy without a byte behind it. */
static uint8_t *exact_copy(const char *text, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) abort();
    memcpy(copy, text, size);
    return copy;
}

/* ---- Delimiters ------------------------------------------------------------------------------ */
static void split_plainly(const uint8_t *text, int64_t size, uint8_t quote, int64_t most,
                          uint32_t *ends, int64_t *n, int32_t *has_quote)
{
    *n = *has_quote = 0;
    for (int64_t i = 0; i < size; i++) {
        if (text[i] == ',' && *n < most) ends[(*n)++] = (uint32_t)i;
        if (text[i] == quote && quote != ',') *has_quote = 1;
    }
}

static void test_split(void)
{
    enum { most_bytes = 300 };
    char text[most_bytes];
    uint32_t ends[most_bytes + PFD_CSV_SPLIT_SLACK], expected[most_bytes];
    for (int round = 0; round < 3000; round++) {
        int64_t size = (int64_t)draw(most_bytes), most = (int64_t)draw(40);
        uint64_t kinds = 2 + draw(40);
        for (int64_t i = 0; i < size; i++) text[i] = ",1\"x234567890abcdefghijklmnopqrstuvwxyzABC"
                                                      [draw(kinds)];
        uint8_t *copy = exact_copy(text, (size_t)size), quote = draw(3) ? '"' : ',';
        int64_t wanted;
        int32_t quoted, has_quote;
        split_plainly(copy, size, quote, most, expected, &wanted, &quoted);
        for (int32_t level = 0; level <= pfd_simd_of_cpu(); level++) {
            int64_t n = pfd_csv_split_at(level)(copy, size, ',', quote, most, ends, &has_quote);
            CHECK(n == wanted && has_quote == quoted);
            CHECK(!memcmp(ends, expected, (size_t)wanted * sizeof *ends));
        }
        free(copy);
    }
}

/* ---- Numbers --------------------------------------------------------------------------------- */
static int write_field(char *out)
{
    double value = ((double)draw(1000000) - 500000) / (double)(1 + draw(1000));
    switch (draw(16)) {
    case 0: return sprintf(out, "%d", (int)draw(100) - 50);
    case 1: return sprintf(out, "%.17g", value);
    case 2: return sprintf(out, "%.3e", value);
    case 3: return sprintf(out, "%llu", (unsigned long long)(draw(1u << 31) * draw(1u << 31)));
    case 4: return sprintf(out, "%s", draw(2) ? ".5" : "-7.");
    case 5: return sprintf(out, "-%llu.%llu", (unsigned long long)draw(10),
                           (unsigned long long)(draw(1u << 31) * draw(100000)));
    case 12: return sprintf(out, "%.*f", (int)draw(22), value / 977);
    case 13: return sprintf(out, "%.*g", 15 + (int)draw(4), value * 1e5 / 7);
    case 14: return sprintf(out, "0.%0*d%llu", (int)draw(6), 0,
                            (unsigned long long)(draw(1u << 31) * draw(1u << 30)));
    case 15: return sprintf(out, "%llu.%05u", (unsigned long long)(draw(1u << 31) * draw(1u << 30)),
                            (unsigned)draw(100000));
    case 6: {
        static const char *const odd[] = {"", "-", ".", "-.", "1.2.3", "nan", "inf", "1e", "+1",
                                          " 1", "1 ", "--1", "1-", "0x1", "1e999", "12a", "\x80"};
        return sprintf(out, "%s", odd[draw(sizeof odd / sizeof *odd)]);
    }
    default: return sprintf(out, "%.6f", value);
    }
}

static int64_t doubles_plainly(const uint8_t *text, const uint32_t *ends, int64_t n, double *out)
{
    int64_t begin = 0;
    for (int64_t i = 0; i < n; begin = (int64_t)ends[i++] + 1) {
        int64_t size = ends[i] - begin;
        if (size == 0 || pfd_parse_double((const char *)text + begin, size, &out[i]) != size ||
            !isfinite(out[i]))
            return i;
    }
    return n;
}

static void test_doubles(void)
{
    enum { most_fields = 9 };
    for (int round = 0; round < 100000; round++) {
        char text[most_fields * 64];
        uint32_t ends[most_fields];
        double found[most_fields], expected[most_fields];
        int64_t n = 1 + (int64_t)draw(most_fields);
        size_t size = 0;
        for (int64_t i = 0; i < n; i++) {
            if (i > 0) text[size++] = ',';
            size += (size_t)write_field(text + size);
            ends[i] = (uint32_t)size;
        }
        uint8_t *copy = exact_copy(text, size);
        int64_t wanted = doubles_plainly(copy, ends, n, expected);
        for (int32_t level = 0; level <= pfd_simd_of_cpu(); level++) {
            int64_t got = pfd_csv_doubles_at(level)(copy, (int64_t)size, 0, ends, n, found);
            CHECK(got == wanted);
            CHECK(!memcmp(found, expected, (size_t)wanted * sizeof *found));
        }
        free(copy);
    }
}

/* ---- Records --------------------------------------------------------------------------------- */

/* What is found in a part of a text is what is found in the whole, or more is asked for. */
static void test_scan(void)
{
    const pfd_csv_format format = {
        .delimiter = ',', .quote = '"', .multiline = 1, .comment = "#"};
    for (int round = 0; round < 20000; round++) {
        char text[24];
        size_t size = 1 + draw(sizeof text - 1);
        for (size_t i = 0; i < size; i++) text[i] = "a\"\",\n\r# "[draw(8)];
        uint8_t *whole = exact_copy(text, size);
        pfd_csv_extent all, part;
        CHECK(pfd_csv_scan(&format, whole, (int64_t)size, 1, &all) == 1);
        CHECK(all.next > 0 && all.next <= (int64_t)size && all.size >= 0 && all.size <= all.next);
        for (size_t some = 1; some <= size; some++) {
            uint8_t *copy = exact_copy(text, some);
            if (pfd_csv_scan(&format, copy, (int64_t)some, 0, &part))
                CHECK(part.next == all.next && part.size == all.size &&
                      part.is_record == all.is_record && part.open_quote < 0);
            free(copy);
        }
        int64_t at = 0;
        pfd_csv_field field;
        while (pfd_csv_next_field(&format, whole, all.size, &at, &field) == PFD_CSV_FIELD)
            CHECK(field.begin >= 0 && field.begin <= field.end && field.end < at);
        free(whole);
    }
}

int main(void)
{
    test_split();
    test_doubles();
    test_scan();
    return report();
}
