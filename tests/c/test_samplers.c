/* Samplers over a fake data set: distributions by chi-square, coverage exactly. */
#include "core/radix_sort.h"
#include "core/random.h"
#include "core/tables.h"
#include "fake_view.h"
#include "views/sampling.h"

#include <math.h>
#include <pthread.h>

extern const pfd_view_op pfd_view_weighted_sample_dataset, pfd_view_weighted_shuffle_dataset,
    pfd_view_class_sample_dataset, pfd_view_repeat_factor_dataset;

typedef struct weighted_attrs {
    pfd_list_string fields;
    int64_t weights, num_samples, seed;
} weighted_attrs;

typedef struct class_attrs {
    pfd_list_string fields;
    int64_t labels, classes, per_class, num_samples, seed;
    int32_t too_few;
} class_attrs;

/* Puts a table, and returns its number. */
static int64_t put(const void *data, int64_t count, int32_t dtype)
{
    static int64_t number;
    pfd_table table = {.data = data, .count = count, .dtype = dtype};
    pfd_error err;
    pfd_error_init(&err);
    REQUIRE(pfd_table_put(++number, &table, &err) == PFD_OK);
    return number;
}

/* The statistic of Pearson's test.  What is expected is above 5 everywhere. */
static double chi_square(const int64_t *found, const double *expected, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += ((double)found[i] - expected[i]) * ((double)found[i] - expected[i]) / expected[i];
    return sum;
}

/* ---- Radix sort ------------------------------------------------------------------------------ */

static void test_radix_sort(void)
{
    enum { most = 3000 };
    static uint64_t keys[most];
    static uint32_t order[most], work[most];
    for (uint64_t round = 0; round < 40; round++) {
        int64_t n = pfd_random_below(3, round, most);
        int shift = (int)(round * 7 % 64);
        uint64_t mask = round % 3 ? UINT64_MAX : 0xff;
        for (int64_t i = 0; i < n; i++)
            keys[i] = (pfd_random_bits(round, (uint64_t)i) & mask) << shift >> shift / 2;
        pfd_radix_sort(keys, n, order, work);
        int ordered = 1;
        for (int64_t i = 1; i < n; i++) {
            uint64_t a = keys[order[i - 1]], b = keys[order[i]];
            ordered &= a < b || (a == b && order[i - 1] < order[i]);
        }
        CHECK(ordered);
    }
    static const double ascending[] = {-INFINITY, -2.5, -2, -1e-300, 0, 1e-300, 1, 1.5, INFINITY};
    for (size_t i = 1; i < sizeof ascending / sizeof *ascending; i++)
        CHECK(pfd_double_key(ascending[i - 1]) < pfd_double_key(ascending[i]));
    CHECK(pfd_double_key(-0.0) == pfd_double_key(0.0));
    CHECK(pfd_int64_key(INT64_MIN) < pfd_int64_key(-1));
    CHECK(pfd_int64_key(-1) < pfd_int64_key(0) && pfd_int64_key(0) < pfd_int64_key(INT64_MAX));
}

/* ---- Weighted, with replacement -------------------------------------------------------------- */

/* The shares of the columns that a record is in add up to its weight. */
static void test_alias_table_is_exact(void)
{
    enum { most = 500 };
    static double weights[most], drawn[most];
    static pfd_alias_column columns[most];
    for (uint64_t round = 0; round < 200; round++) {
        int64_t n = 1 + pfd_random_below(5, round, most);
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
            double u = (double)(pfd_random_bits(round, (uint64_t)i) >> 11) * 0x1p-53;
            weights[i] = round % 4 == 0 ? 1 : round % 4 == 1 ? u : round % 4 == 2 ? pow(u, 20)
                                                                   : floor(3 * u);
            weights[i] = ldexp(weights[i], (int)round * 10 - 1000);
            drawn[i] = 0;
        }
        weights[0] = ldexp(1, (int)round * 10 - 1000);
        for (int64_t i = 0; i < n; i++) sum += weights[i];
        pfd_alias_table_make(weights, n, columns);
        for (int64_t i = 0; i < n; i++) {
            double share = columns[i].alias == i ? 1 : columns[i].share * 0x1p-32;
            drawn[i] += share / (double)n;
            drawn[columns[i].alias] += (1 - share) / (double)n;
        }
        double worst = 0;
        for (int64_t i = 0; i < n; i++) worst = fmax(worst, fabs(drawn[i] - weights[i] / sum));
        CHECK(worst < 0x1p-31);
    }
}

static void test_weighted_sample(void)
{
    enum { n = 6, num_samples = 60000 };
    static const double weights[n] = {1, 0, 3, 0.5, 0.25, 5.25};
    weighted_attrs attrs = {
        .weights = put(weights, n, PFD_FLOAT64), .num_samples = num_samples, .seed = -1};
    pfd_view *view = fake_view_over(&pfd_view_weighted_sample_dataset, &attrs, fake_view_new(n));
    CHECK(view->size == num_samples);
    for (int64_t epoch = 0; epoch < 3; epoch++) {
        int64_t found[n] = {0}, pairs[n * n] = {0}, last = 0;
        double expected[n], expected_pairs[n * n];
        for (int64_t p = 0; p < num_samples; p++) {
            fake_place at = fake_view_at(view, epoch, p);
            CHECK(at.epoch == 0 && (at.draw > 0) == (p > 0));
            found[at.position]++;
            if (p % 2 == 1) pairs[last * n + at.position]++;
            last = at.position;
        }
        CHECK(found[1] == 0);
        found[1] = found[n - 1]; /* without the one that is not drawn: 4 degrees of freedom */
        for (int i = 0; i < n; i++) expected[i] = weights[i == 1 ? n - 1 : i] / 10 * num_samples;
        CHECK(chi_square(found, expected, n - 1) < 18.47); /* p = 0.001 */
        int64_t num_pairs = 0;
        for (int i = 0; i < n * n; i++) {
            double both = weights[i / n] * weights[i % n] / 100;
            if (both == 0) continue;
            pairs[num_pairs] = pairs[i];
            expected_pairs[num_pairs++] = both * (num_samples / 2);
        }
        CHECK(num_pairs == 25 && chi_square(pairs, expected_pairs, 25) < 51.18); /* of 24 degrees */
    }
    fake_place first = fake_view_at(view, 1, 5), again = fake_view_at(view, 1, 5);
    CHECK(first.position == again.position && first.draw == again.draw);
    pfd_view_close(view);
}

/* ---- Weighted, without replacement ----------------------------------------------------------- */

/* The first two of each epoch: P(i, j) = w_i / W * w_j / (W - w_i). */
static void test_weighted_shuffle(void)
{
    enum { n = 5, epochs = 40000 };
    static const double weights[n] = {1, 2, 0, 4, 3};
    weighted_attrs attrs = {.weights = put(weights, n, PFD_FLOAT64), .seed = 11};
    pfd_view *view = fake_view_over(&pfd_view_weighted_shuffle_dataset, &attrs, fake_view_new(n));
    CHECK(view->size == 4);
    int64_t found[n * n] = {0}, different = 0;
    for (int64_t epoch = 0; epoch < epochs; epoch++) {
        int64_t first = 0, seen = 0;
        for (int64_t p = 0; p < 4; p++) {
            fake_place at = fake_view_at(view, epoch, p);
            CHECK(at.epoch == 0 && at.draw == 0);
            seen |= 1 << at.position;
            if (p == 0) first = at.position;
            if (p == 1) found[first * n + at.position]++;
        }
        different += seen == (1 << n) - 1 - (1 << 2);
    }
    CHECK(different == epochs);
    double expected[n * n];
    int64_t pairs = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double chance = weights[i] / 10 * weights[j] / (10 - weights[i]);
            if (chance == 0 || i == j) continue;
            found[pairs] = found[i * n + j];
            expected[pairs++] = chance * epochs;
        }
    CHECK(pairs == 12 && chi_square(found, expected, 12) < 31.26); /* of 11 degrees, p = 0.001 */
    pfd_view_close(view);
}

typedef struct reading {
    const pfd_view *view;
    uint64_t number;
    const int64_t *expected;
    int64_t n, epochs, wrong;
} reading;

static void *read_epochs(void *arg)
{
    reading *self = arg;
    for (uint64_t i = 0; i < 400; i++) {
        int64_t epoch = pfd_random_below(self->number, i, self->epochs);
        int64_t position = pfd_random_below(self->number + 100, i, self->n);
        fake_place at = fake_view_at(self->view, epoch, position);
        self->wrong += at.position != self->expected[epoch * self->n + position];
    }
    return NULL;
}

/* Threads in more epochs than are kept get the same orders as one that goes from front to back. */
static void test_weighted_shuffle_in_threads(void)
{
    enum { n = 300, epochs = 5, threads = 4 };
    static double weights[n];
    static int64_t expected[epochs * n];
    for (int i = 0; i < n; i++) weights[i] = 1 + i % 7;
    weighted_attrs attrs = {.weights = put(weights, n, PFD_FLOAT64), .seed = -1};
    pfd_view *view = fake_view_over(&pfd_view_weighted_shuffle_dataset, &attrs, fake_view_new(n));
    for (int64_t i = 0; i < epochs * n; i++)
        expected[i] = fake_view_at(view, i / n, i % n).position;
    reading readings[threads];
    pthread_t running[threads];
    for (int t = 0; t < threads; t++) {
        readings[t] = (reading){view, (uint64_t)t, expected, n, epochs, 0};
        REQUIRE(pthread_create(&running[t], NULL, read_epochs, &readings[t]) == 0);
    }
    for (int t = 0; t < threads; t++) {
        CHECK(pthread_join(running[t], NULL) == 0);
        CHECK(readings[t].wrong == 0);
    }
    pfd_view_close(view);
}

/* ---- Dealing --------------------------------------------------------------------------------- */

static void deal_in_pieces(pfd_deal *deal, int64_t piece, int64_t *out)
{
    for (int64_t i = 0; i < deal->n; i += piece)
        pfd_deal_items(deal, i, deal->n - i < piece ? deal->n - i : piece, out + i);
}

/* Each round has every item once, and each group has no item twice. */
static void test_dealing(void)
{
    enum { most = 40, rounds = 24 };
    static int64_t items[most * rounds];
    for (int64_t n = 1; n <= most; n++)
        for (int64_t group = 1; group <= n; group += 1 + (n > 12 && group > 6)) {
            int64_t complete = 0, twice = 0;
            for (int64_t round = 0; round < rounds; round++) {
                pfd_deal deal;
                uint64_t seen = 0;
                pfd_deal_init(&deal, 5, n, group, round);
                deal_in_pieces(&deal, 1 + round % 5, items + round * n);
                for (int64_t i = 0; i < n; i++) seen |= UINT64_C(1) << items[round * n + i];
                complete += seen == (UINT64_C(1) << n) - 1;
            }
            for (int64_t d = 0; d < n * rounds; d++)
                for (int64_t e = d + 1; e < n * rounds && e / group == d / group; e++)
                    twice += items[d] == items[e];
            CHECK(complete == rounds);
            CHECK(twice == 0);
        }
}

/* All orders of few items come equally often. */
static void test_orders_of_few_items(void)
{
    enum { n = 4, keys = 24000 };
    int64_t found[n * n * n * n] = {0}, num_orders = 0;
    double expected[n * n * n * n];
    for (uint64_t key = 0; key < keys; key++) {
        pfd_item_order order;
        int64_t items[n] = {0, 1, 2, 3};
        pfd_item_order_init(&order, key, n);
        pfd_item_order_map(&order, n, items);
        found[((items[0] * n + items[1]) * n + items[2]) * n + items[3]]++;
    }
    for (int64_t i = 0; i < n * n * n * n; i++) {
        if (found[i] == 0) continue;
        found[num_orders] = found[i];
        expected[num_orders++] = keys / 24.0;
    }
    CHECK(num_orders == 24 && chi_square(found, expected, 24) < 49.73); /* of 23, p = 0.001 */
}

/* Every pair of items shares a group equally often, over many keys. */
static void test_groups_are_random(void)
{
    enum { n = 7, group = 3, rounds = 3, keys = 20000 };
    int64_t found[n * n] = {0}, pairs = 0;
    for (uint64_t key = 0; key < keys; key++) {
        int64_t items[n * rounds];
        for (int64_t round = 0; round < rounds; round++) {
            pfd_deal deal;
            pfd_deal_init(&deal, key, n, group, round);
            pfd_deal_items(&deal, 0, n, items + round * n);
        }
        /* one group of each key, so that the counts of pairs are independent: its first two */
        int64_t first = items[key % 7 * group], second = items[key % 7 * group + 1];
        found[first * n + second]++;
    }
    double expected[n * (n - 1)];
    for (int64_t i = 0; i < n * n; i++) {
        if (i / n == i % n) continue;
        found[pairs] = found[i];
        expected[pairs++] = (double)keys / (n * (n - 1));
    }
    CHECK(pairs == 42 && chi_square(found, expected, 42) < 74.74); /* of 41 degrees, p = 0.001 */
}

/* ---- Classes --------------------------------------------------------------------------------- */

/* Labels of classes with 1, 2, 3 ... records, in a mixed order; returns how many. */
static int64_t make_labels(int64_t *labels, int64_t num_classes)
{
    int64_t n = 0;
    for (int64_t c = 0; c < num_classes; c++)
        for (int64_t k = 0; k <= c; k++) labels[n++] = 1000 * (c % 3) - c;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = pfd_random_below(9, (uint64_t)i, i + 1), label = labels[i];
        labels[i] = labels[j];
        labels[j] = label;
    }
    return n;
}

enum { num_classes = 9, most_labels = 45 };

static int64_t class_of(int64_t label)
{
    for (int64_t c = 0; c < num_classes; c++)
        if (label == 1000 * (c % 3) - c) return c;
    return -1;
}

/* Runs of one class, `classes` runs of different ones, no record twice in a run; over all epochs,
 * at every prefix: classes that differ by one run at most, and records of a class by one draw. */
static void check_classes(int64_t classes, int64_t per_class, int32_t too_few)
{
    int64_t labels[most_labels], n = make_labels(labels, num_classes);
    class_attrs attrs = {.labels = put(labels, n, PFD_INT64), .classes = classes,
                         .per_class = per_class, .seed = -1, .too_few = too_few};
    pfd_view *view = fake_view_over(&pfd_view_class_sample_dataset, &attrs, fake_view_new(n));
    int64_t size = view->size, drawn[most_labels] = {0}, runs[num_classes] = {0};
    int64_t left = too_few ? num_classes - per_class + 1 : num_classes;
    int64_t unit = (classes > 0 ? classes : left) * per_class;
    CHECK(size > 0 && size % unit == 0 && (size <= n || size == unit));
    for (int64_t epoch = 0; epoch < 7; epoch++) {
        uint64_t draws[most_labels];
        for (int64_t i = 0; i < n; i++) draws[i] = UINT64_MAX; /* not drawn in this epoch */
        for (int64_t p = 0; p < size; p += unit) {
            int64_t used = 0;
            for (int64_t r = 0; r < unit; r += per_class) {
                uint64_t members = 0;
                int64_t c = class_of(labels[fake_view_at(view, epoch, p + r).position]);
                for (int64_t k = 0; k < per_class; k++) {
                    fake_place at = fake_view_at(view, epoch, p + r + k);
                    CHECK(at.epoch == 0 && labels[at.position] == 1000 * (c % 3) - c);
                    CHECK(c + 1 < per_class || !(members >> at.position & 1));
                    CHECK(at.draw != draws[at.position]);
                    drawn[at.position]++;
                    members |= UINT64_C(1) << at.position;
                    draws[at.position] = at.draw;
                }
                CHECK(!(used >> c & 1));
                used |= INT64_C(1) << c;
                runs[c]++;
                for (int64_t i = 0; i < n; i++) /* c + 1 records have been dealt evenly */
                    if (class_of(labels[i]) == c)
                        CHECK(llabs(drawn[i] * (c + 1) - runs[c] * per_class) < c + 1);
            }
        }
        for (int64_t c = 0; c < num_classes; c++)
            for (int64_t other = num_classes - left; other < num_classes; other++)
                CHECK(c < num_classes - left ? runs[c] == 0 : llabs(runs[c] - runs[other]) <= 1);
    }
    pfd_view_close(view);
}

static void test_classes(void)
{
    check_classes(0, 1, 0);
    check_classes(1, 1, 0);
    check_classes(0, 4, 0);
    check_classes(4, 1, 0);
    check_classes(4, 3, 0);
    check_classes(5, 4, 1);
    check_classes(2, 3, 1);
    check_classes(0, 2, 1);
}

/* ---- Repeat factors -------------------------------------------------------------------------- */

typedef struct factor_attrs {
    pfd_list_string fields;
    int64_t factors, seed;
} factor_attrs;

/* How often epochs [0, epochs) have each record; low and high of one epoch.  Checks the draws. */
static pfd_view *count_rows(const double *factors, int64_t n, int64_t epochs, int64_t *found,
                            int64_t *low, int64_t *high)
{
    factor_attrs attrs = {.factors = put(factors, n, PFD_FLOAT64), .seed = -1};
    pfd_view *view = fake_view_over(&pfd_view_repeat_factor_dataset, &attrs, fake_view_new(n));
    int64_t rows = view->size, *counts = calloc((size_t)n, sizeof *counts);
    for (int64_t i = 0; i < n; i++) found[i] = high[i] = 0, low[i] = INT64_MAX;
    for (int64_t epoch = 0; epoch < epochs; epoch++) {
        int64_t epochs_of[64], positions[64];
        uint64_t draws[64];
        for (int64_t i = 0; i < n; i++) counts[i] = 0;
        for (int64_t p = 0; p < rows; p += 64) {
            int64_t count = rows - p < 64 ? rows - p : 64;
            pfd_places places = {count, epochs_of, positions, draws, NULL};
            for (int64_t k = 0; k < count; k++)
                epochs_of[k] = epoch, positions[k] = p + k, draws[k] = 0;
            view->methods->map(view, &places);
            for (int64_t k = 0; k < count; k++) {
                CHECK(epochs_of[k] == 0 && (draws[k] == 0) == (p + k == 0));
                counts[positions[k]]++;
            }
        }
        for (int64_t i = 0; i < n; i++) {
            found[i] += counts[i];
            if (counts[i] < low[i]) low[i] = counts[i];
            if (counts[i] > high[i]) high[i] = counts[i];
        }
    }
    free(counts);
    return view;
}

/* Classes of equal factors: whole ones are exact, others have the whole number below or above, and
 * the factor on average. */
static void test_equal_factors(void)
{
    enum { n = 200, epochs = 4000 };
    static const double of_class[] = {1, 2.25, 0.4, 3, 1.7, 0};
    static double factors[n];
    static int64_t found[n], low[n], high[n];
    double sum = 0, fractions = 0, statistic = 0;
    for (int i = 0; i < n; i++) sum += factors[i] = of_class[i * 7 % 6];
    for (int i = 0; i < n; i++) fractions += factors[i] - floor(factors[i]);
    pfd_view *view = count_rows(factors, n, epochs, found, low, high);
    CHECK(view->size == (int64_t)floor(sum + 0.5));
    for (int i = 0; i < n; i++) {
        double fraction = factors[i] - floor(factors[i]);
        CHECK(low[i] == (int64_t)floor(factors[i]) && high[i] == (int64_t)ceil(factors[i]));
        if (fraction == 0) continue;
        fraction *= floor(fractions + 0.5) / fractions;
        double mean = epochs * (floor(factors[i]) + fraction);
        double variance = epochs * fraction * (1 - fraction);
        statistic += ((double)found[i] - mean) * ((double)found[i] - mean) / variance;
    }
    CHECK(statistic < 149.4); /* of 100 degrees, p = 0.001 */
    pfd_view_close(view);
}

/* Factors that all differ have the right mean and leave no record out, and sizes are rounded. */
static void test_different_factors(void)
{
    enum { most = 300 };
    static double factors[most];
    static int64_t found[most], low[most], high[most];
    for (uint64_t round = 0; round < 20; round++) {
        int64_t n = 1 + pfd_random_below(21, round, most), epochs = round == 0 ? 3000 : 30;
        double sum = 0, fractions = 0, statistic = 0;
        for (int64_t i = 0; i < n; i++) {
            factors[i] = (double)(pfd_random_bits(round, (uint64_t)i) >> 40) * 0x1p-23;
            sum += factors[i];
            fractions += factors[i] - floor(factors[i]);
        }
        pfd_view *view = count_rows(factors, n, epochs, found, low, high);
        CHECK(view->size == (int64_t)floor(sum + 0.5));
        double scale = floor(fractions + 0.5) / fractions;
        for (int64_t i = 0; i < n; i++) {
            double whole = floor(factors[i]), fraction = (factors[i] - whole) * scale;
            double off = (double)found[i] - (double)epochs * (whole + fraction);
            CHECK(low[i] >= (int64_t)whole && high[i] <= (int64_t)whole + 2);
            statistic += off * off / ((double)epochs * (fraction * (1 - fraction) + 1.0 / 64));
        }
        CHECK(statistic < (double)n + 3.1 * sqrt(2 * (double)n) + 6);
        pfd_view_close(view);
    }
}

/* Of 6 records with factor 1.5, each 3 have the odd rows of an epoch together equally often. */
static void test_odd_rows_are_random(void)
{
    enum { n = 6, epochs = 20000 };
    static const double factors[n] = {1.5, 1.5, 1.5, 1.5, 1.5, 1.5};
    factor_attrs attrs = {.factors = put(factors, n, PFD_FLOAT64), .seed = -1};
    pfd_view *view = fake_view_over(&pfd_view_repeat_factor_dataset, &attrs, fake_view_new(n));
    int64_t sets[1 << n] = {0}, num_sets = 0;
    double expected[1 << n];
    for (int64_t epoch = 0; epoch < epochs; epoch++) {
        int64_t counts[n] = {0}, twice = 0;
        for (int64_t p = 0; p < 9; p++) counts[fake_view_at(view, epoch, p).position]++;
        for (int i = 0; i < n; i++) twice |= (int64_t)(counts[i] == 2) << i;
        sets[twice]++;
    }
    for (int i = 0; i < 1 << n; i++)
        if (__builtin_popcount((unsigned)i) == 3) {
            sets[num_sets] = sets[i];
            expected[num_sets++] = epochs / 20.0;
        }
    CHECK(num_sets == 20 && chi_square(sets, expected, 20) < 43.82); /* of 19, p = 0.001 */
    pfd_view_close(view);
}

static void fails(const pfd_view_op *op, const void *attrs, int64_t records, const char *attr)
{
    pfd_view *inner = fake_view_new(records), *view = NULL;
    pfd_error err;
    CHECK(fake_view_try(op, attrs, inner, &view, &err) == PFD_INVALID_ARGUMENT);
    CHECK(!strcmp(err.attr, attr));
    pfd_view_close(inner);
}

static void test_refusals(void)
{
    static const double weights[] = {1, 2, 3}, none[] = {0, 0}, odd[] = {1, NAN}, less[] = {1, -1};
    static const int64_t labels[] = {4, 4, 5};
    weighted_attrs by = {.weights = put(weights, 3, PFD_FLOAT64), .num_samples = 4};
    fails(&pfd_view_weighted_sample_dataset, &by, 4, "weights");
    fails(&pfd_view_weighted_shuffle_dataset, &by, 3, "num_samples");
    by.weights = put(none, 2, PFD_FLOAT64);
    fails(&pfd_view_weighted_sample_dataset, &by, 2, "weights");
    by.weights = put(odd, 2, PFD_FLOAT64);
    fails(&pfd_view_weighted_sample_dataset, &by, 2, "weights");
    by.weights = put(less, 2, PFD_FLOAT64);
    fails(&pfd_view_weighted_shuffle_dataset, &by, 2, "weights");
    by.weights = put(labels, 3, PFD_INT64);
    fails(&pfd_view_weighted_shuffle_dataset, &by, 3, "weights");
    class_attrs of = {.labels = by.weights, .classes = 3, .per_class = 1};
    fails(&pfd_view_class_sample_dataset, &of, 3, "classes");
    of = (class_attrs){.labels = by.weights, .classes = 2, .per_class = 2, .too_few = 1};
    fails(&pfd_view_class_sample_dataset, &of, 3, "classes");
    of = (class_attrs){.labels = by.weights, .classes = 2, .per_class = 2, .num_samples = 6};
    fails(&pfd_view_class_sample_dataset, &of, 3, "num_samples");
}

#ifdef __SANITIZE_THREAD__ /* what has no threads takes seconds, and would show nothing */
enum { only_threads = 1 };
#else
enum { only_threads = 0 };
#endif

int main(void)
{
    test_weighted_shuffle_in_threads();
    if (only_threads) return report();
    test_radix_sort();
    test_alias_table_is_exact();
    test_weighted_sample();
    test_weighted_shuffle();
    test_dealing();
    test_orders_of_few_items();
    test_groups_are_random();
    test_classes();
    test_equal_factors();
    test_different_factors();
    test_odd_rows_are_random();
    test_refusals();
    return report();
}
