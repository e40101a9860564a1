/* The counts of a mix: against the definition in whole numbers, the bound, the inverse, changes of
 * weights, and stops. */
#include "check.h"

#include "core/error.h"
#include "core/random.h"
#include "views/mix_dataset.h"

#include <math.h>
#include <string.h>

__extension__ typedef unsigned __int128 uint128;

enum { most_sources = 300 };

static pfd_error err = {.struct_size = sizeof err};
static const int64_t no_base[most_sources];

static double uniform(uint64_t key, uint64_t i)
{
    return (double)(pfd_random_bits(key, i) >> 11) * 0x1p-53;
}

static int32_t log2_up(int64_t n)
{
    int32_t bits = 0;
    while (INT64_C(1) << bits < n) bits++;
    return bits;
}

/* Counts of the first n rows by whole weights, none of which is 0, of the sources [begin, end): the
 * second half has floor(n * L / T). */
static void count_exactly(const int64_t *weights, int64_t begin, int64_t end, int64_t n,
                          int64_t *counts)
{
    if (end - begin == 1) {
        counts[begin] = n;
        return;
    }
    int64_t middle = end - (end - begin) / 2;
    int64_t later = 0, total = 0;
    for (int64_t i = begin; i < end; i++) {
        total += weights[i];
        if (i >= middle) later += weights[i];
    }
    int64_t of_later = (int64_t)((uint128)n * (uint64_t)later / (uint64_t)total);
    count_exactly(weights, begin, middle, n - of_later, counts);
    count_exactly(weights, middle, end, of_later, counts);
}

static void test_counts_of_whole_weights(void)
{
    for (uint64_t round = 0; round < 60; round++) {
        int64_t sources = 1 + pfd_random_below(1, round, 40), whole[most_sources];
        double weights[most_sources];
        for (int64_t s = 0; s < sources; s++) {
            whole[s] = 1 + pfd_random_below(2, round * most_sources + (uint64_t)s, 1000);
            weights[s] = (double)whole[s];
        }
        pfd_mix_tree tree;
        REQUIRE(pfd_mix_tree_init(&tree, weights, sources, &err) == PFD_OK);
        for (uint64_t i = 0; i < 100; i++) {
            int64_t n = i < 50 ? (int64_t)i : pfd_random_below(3, round * 100 + i, 1000000000000);
            int64_t counts[most_sources];
            count_exactly(whole, 0, sources, n, counts);
            for (int64_t s = 0; s < sources; s++) CHECK(pfd_mix_count(&tree, s, n) == counts[s]);
        }
        pfd_mix_tree_free(&tree);
    }
}

/* Weights over six orders of magnitude; some are 0. */
static void random_weights(uint64_t key, int64_t sources, double *weights)
{
    for (int64_t s = 0; s < sources; s++) {
        double u = uniform(key, (uint64_t)s);
        weights[s] = u < 0.1 && s > 0 ? 0 : exp((uniform(key + 1, (uint64_t)s) - 0.5) * 14);
    }
}

static void test_bound_and_inverse_at_every_prefix(void)
{
    static const int64_t numbers[] = {1, 2, 3, 5, 10, 64, 65, 300};
    enum { rows = 6000 };
    static int64_t draws[rows];
    static int32_t found[rows];
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        int64_t sources = numbers[k], counts[most_sources] = {0}, used = 0;
        double weights[most_sources], total = 0, worst = 0;
        random_weights(10 * k, sources, weights);
        for (int64_t s = 0; s < sources; s++) total += weights[s], used += weights[s] > 0;
        pfd_mix_tree tree;
        REQUIRE(pfd_mix_tree_init(&tree, weights, sources, &err) == PFD_OK);
        for (int64_t i = 0; i < rows; i++) draws[i] = i;
        pfd_mix_find(&tree, 0, no_base, draws, rows, found);
        int32_t agrees = 1;
        for (int64_t n = 0; n < rows; n++) {
            int32_t s = found[n];
            agrees &= draws[n] == counts[s] && weights[s] > 0;
            counts[s]++;
            for (int64_t t = 0; t < sources; t++) {
                if (n % 97 == 0) agrees &= pfd_mix_count(&tree, t, n + 1) == counts[t];
                worst = fmax(worst, fabs((double)counts[t] -
                                         (double)(n + 1) * weights[t] / total));
            }
        }
        CHECK(agrees);
        CHECK(worst < fmax(log2_up(used), 1e-9));
        CHECK(used < 3 || worst > 0.4); /* a bound that is far off says nothing */
        pfd_mix_tree_free(&tree);
    }
}

static void test_far_rows(void)
{
    double weights[most_sources], total = 0;
    random_weights(77, most_sources, weights);
    for (int64_t s = 0; s < most_sources; s++) total += weights[s];
    pfd_mix_tree tree;
    REQUIRE(pfd_mix_tree_init(&tree, weights, most_sources, &err) == PFD_OK);
    for (uint64_t i = 0; i < 500; i++) {
        int64_t row = pfd_random_below(5, i, INT64_C(1) << 60), draw = row;
        int32_t source;
        pfd_mix_find(&tree, 0, no_base, &draw, 1, &source);
        CHECK(pfd_mix_count(&tree, source, row) == draw);
        CHECK(pfd_mix_count(&tree, source, row + 1) == draw + 1);
        int64_t sum = 0;
        for (int64_t s = 0; s < most_sources; s++) sum += pfd_mix_count(&tree, s, row);
        CHECK(sum == row);
        int64_t near = row >> 20; /* where doubles tell whole numbers apart */
        double share = (double)near * (weights[source] / total);
        CHECK(fabs((double)pfd_mix_count(&tree, source, near) - share) < 9 + share * 1e-13);
    }
    pfd_mix_tree_free(&tree);
}

static void test_close_and_distant_weights(void)
{
    pfd_mix_tree tree;
    REQUIRE(pfd_mix_tree_init(&tree, (double[]){0.5, 0.503}, 2, &err) == PFD_OK);
    int64_t n = INT64_C(1003) << 40; /* 500 of 1003, to 2^-50 of that */
    CHECK(llabs(pfd_mix_count(&tree, 0, n) - (INT64_C(500) << 40)) < 2);
    pfd_mix_tree_free(&tree);
    REQUIRE(pfd_mix_tree_init(&tree, (double[]){1, 0, 0x1p-60}, 3, &err) == PFD_OK);
    CHECK(pfd_mix_count(&tree, 1, n) == 0);
    CHECK(llabs(pfd_mix_count(&tree, 2, INT64_C(5) << 60) - 5) < 2);
    pfd_mix_tree_free(&tree);
    REQUIRE(pfd_mix_tree_init(&tree, (double[]){1e300, 3e300, 0x1p-1074}, 2, &err) == PFD_OK);
    CHECK(pfd_mix_count(&tree, 0, 4000) == 1000);
    pfd_mix_tree_free(&tree);
    REQUIRE(pfd_mix_tree_init(&tree, (double[]){0x1p-1074, 0x1p-1074}, 2, &err) == PFD_OK);
    CHECK(pfd_mix_count(&tree, 0, 4000) == 2000);
    pfd_mix_tree_free(&tree);
}

static void test_wrong_weights(void)
{
    const double wrong[][2] = {{0, 0}, {1, -1}, {NAN, 1}, {1, INFINITY}, {1, 0x1p-70}};
    const char *words[] = {"are 0", "source 1 is -1", "source 0 is nan", "inf", "too small"};
    for (size_t i = 0; i < 5; i++) {
        pfd_mix_tree tree;
        CHECK(pfd_mix_tree_init(&tree, wrong[i], 2, &err) == PFD_INVALID_ARGUMENT);
        check(strstr(err.message, words[i]) != NULL, words[i], err.message, __FILE__, __LINE__);
    }
}

/* ---- Changes of weights ---------------------------------------------------------------------- */

static const double sets[] = {3, 1, 0, /**/ 1, 0, 1, /**/ 0, 0, 1, /**/ 1, 1, 1};
static const int64_t starts[] = {10, 25, 25}; /* the third set holds for no row */

static void test_changes_carry_counts_over(void)
{
    enum { rows = 200 };
    pfd_mix_schedule schedule;
    REQUIRE(pfd_mix_schedule_init(&schedule, sets, starts, 4, 3, &err) == PFD_OK);
    int64_t draws[rows], counts[3] = {0};
    int32_t sources[rows];
    for (int64_t i = 0; i < rows; i++) draws[i] = i;
    pfd_mix_schedule_find(&schedule, draws, rows, sources);
    for (int64_t i = 0; i < rows; i++) {
        for (int32_t s = 0; s < 3; s++)
            CHECK(pfd_mix_schedule_count(&schedule, s, i) == counts[s]);
        if (i == 10) CHECK(counts[0] == 8 && counts[1] == 2 && counts[2] == 0);
        if (i == 25) CHECK(counts[0] == 16 && counts[1] == 2 && counts[2] == 7);
        CHECK(draws[i] == counts[sources[i]]++);
    }
    int64_t last[] = {199, 3, 26, 12, 24, 25}, expected[6];
    int32_t of[6];
    memcpy(expected, (int64_t[]){draws[199], draws[3], draws[26], draws[12], draws[24], draws[25]},
           sizeof expected);
    pfd_mix_schedule_find(&schedule, last, 6, of);
    CHECK(!memcmp(last, expected, sizeof last));
    CHECK(of[0] == sources[199] && of[1] == sources[3] && of[4] == sources[24]);
    pfd_mix_schedule_free(&schedule);
}

static uint64_t past_of(const double *weights, const int64_t *changes, int64_t segments, int64_t n)
{
    pfd_mix_schedule schedule;
    REQUIRE(pfd_mix_schedule_init(&schedule, weights, changes, segments, 3, &err) == PFD_OK);
    uint64_t past = pfd_mix_schedule_past(&schedule, n);
    pfd_mix_schedule_free(&schedule);
    return past;
}

static void test_past_is_what_decided_former_rows(void)
{
    const double other[] = {3, 1, 0, /**/ 5, 0, 1}, scaled[] = {6, 2, 0};
    const int64_t later[] = {11, 25, 25};
    CHECK(past_of(sets, starts, 4, 10) == past_of(sets, starts, 1, 10));
    CHECK(past_of(sets, starts, 4, 10) == past_of(scaled, starts, 1, 10));
    CHECK(past_of(sets, starts, 4, 11) != past_of(sets, starts, 1, 11));
    CHECK(past_of(sets, starts, 2, 10) == past_of(other, starts, 2, 10));
    CHECK(past_of(sets, starts, 2, 11) != past_of(other, starts, 2, 11));
    CHECK(past_of(sets, starts, 4, 12) != past_of(sets, later, 4, 12));
    CHECK(past_of(sets, starts, 4, 25) == past_of(sets, starts, 2, 25));
    const double without_third[] = {3, 1, 0, /**/ 1, 0, 1, /**/ 1, 1, 1};
    CHECK(past_of(sets, starts, 4, 40) == past_of(without_third, starts, 3, 40));
    CHECK(past_of(sets, starts, 4, 40) != past_of(sets, starts, 3, 40));
    double swapped[] = {1, 3, 0}, moved[] = {3, 0, 1};
    CHECK(past_of(sets, starts, 1, 5) != past_of(swapped, starts, 1, 5));
    CHECK(past_of(sets, starts, 1, 5) != past_of(moved, starts, 1, 5));
}

/* ---- Stops ----------------------------------------------------------------------------------- */

static void test_stops_by_walking(void)
{
    for (uint64_t round = 0; round < 40; round++) {
        int64_t sources = 1 + pfd_random_below(20, round, 9), records[9], counts[9] = {0};
        double weights[18];
        for (int64_t s = 0; s < sources; s++)
            records[s] = 1 + pfd_random_below(21, round * 9 + (uint64_t)s, 50);
        for (int64_t s = 0; s < 2 * sources; s++) {
            double u = uniform(22, round * 18 + (uint64_t)s);
            weights[s] = u < 0.1 && s % sources > 0 ? 0 : u + 0.01;
        }
        int64_t change = 1 + pfd_random_below(23, round, 60), first = -1, all = -1;
        pfd_mix_schedule schedule;
        REQUIRE(pfd_mix_schedule_init(&schedule, weights, &change, 1 + round % 2, sources, &err) ==
                PFD_OK);
        const double *last = weights + sources * (int64_t)(round % 2);
        for (int64_t n = 0; first < 0 || all < 0; n++) {
            int32_t done = 1;
            for (int64_t s = 0; s < sources; s++) done &= last[s] == 0 || counts[s] >= records[s];
            if (done && all < 0) all = n;
            int64_t row = n;
            int32_t source;
            pfd_mix_schedule_find(&schedule, &row, 1, &source);
            if (++counts[source] > records[source] && first < 0) first = n;
        }
        CHECK(pfd_mix_schedule_first_exhausted(&schedule, records) == first);
        CHECK(pfd_mix_schedule_all_exhausted(&schedule, records) == all);
        pfd_mix_schedule_free(&schedule);
    }
    pfd_mix_schedule schedule;
    double weights[] = {1, 0x1p-50};
    REQUIRE(pfd_mix_schedule_init(&schedule, weights, NULL, 1, 2, &err) == PFD_OK);
    CHECK(pfd_mix_schedule_all_exhausted(&schedule, (int64_t[]){5, 1 << 20}) == -1);
    pfd_mix_schedule_free(&schedule);
}

int main(void)
{
    test_counts_of_whole_weights();
    test_bound_and_inverse_at_every_prefix();
    test_far_rows();
    test_close_and_distant_weights();
    test_wrong_weights();
    test_changes_carry_counts_over();
    test_past_is_what_decided_former_rows();
    test_stops_by_walking();
    return report();
}
