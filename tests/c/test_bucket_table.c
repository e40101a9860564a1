/* Batches of similar lengths: every record once in an epoch, within the budget, with little padding
 * and balanced over ranks. */
#include "check.h"

#include "core/cpu.h"
#include "core/error.h"
#include "core/random.h"
#include "views/bucket_dataset.h"

#include <math.h>
#include <string.h>

enum { most_records = 200000 };
static int64_t positions[most_records], records[most_records];
static int32_t seen[most_records];

static void draw_lengths(int64_t *lengths, int64_t n, double median, double sigma, uint64_t key)
{
    for (int64_t i = 0; i < n; i++) {
        double u = ((double)(pfd_random_bits(key, (uint64_t)(2 * i)) >> 11) + 0.5) * 0x1p-53;
        double v = (double)(pfd_random_bits(key, (uint64_t)(2 * i + 1)) >> 11) * 0x1p-53;
        lengths[i] = (int64_t)(median * exp(sigma * sqrt(-2 * log(u)) * cos(6.2831853 * v)));
    }
}

static pfd_bucket_table open_table(const pfd_bucket_rule *rule, const int64_t *lengths, int64_t n)
{
    pfd_bucket_table table;
    pfd_error err;
    pfd_error_init(&err);
    pfd_lengths all = {.wide = lengths, .count = n};
    pfd_status status = pfd_bucket_table_open(rule, &all, &table, &err);
    if (status != PFD_OK) printf("%s\n", err.message);
    REQUIRE(status == PFD_OK);
    return table;
}

/* The records of a batch, in the order of its rows. */
static int64_t read_batch(const pfd_bucket_table *table, int64_t batch, uint64_t key, int random)
{
    int64_t begin, end;
    pfd_bucket_table_batch(table, batch, &begin, &end);
    for (int64_t i = begin; i < end; i++) positions[i - begin] = i;
    pfd_bucket_table_records(table, key, random, positions, end - begin, records);
    return end - begin;
}

static int64_t longest_of(const int64_t *lengths, int64_t rows)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < rows; i++)
        if (lengths[records[i]] > longest) longest = lengths[records[i]];
    return longest;
}

static int64_t bucket_of(const pfd_bucket_rule *rule, int64_t length)
{
    int64_t bucket = 0;
    while (bucket < rule->num_boundaries && length >= rule->boundaries[bucket]) bucket++;
    return bucket;
}

/* What one epoch has: batches side by side without a gap, each within the rule, and each record at
 * most once.  Returns how many records there are. */
static int64_t check_epoch(const pfd_bucket_table *table, const pfd_bucket_rule *rule,
                           const int64_t *lengths, int64_t n, uint64_t key, int random)
{
    int64_t total = 0, begin, end, expected = 0, most = 0;
    memset(seen, 0, (size_t)n * sizeof *seen);
    int right = 1;
    for (int64_t b = 0; b < table->num_batches; b++) {
        pfd_bucket_table_batch(table, b, &begin, &end);
        right = right && begin == expected && end > begin;
        expected = end;
        int64_t rows = read_batch(table, b, key, random), longest = longest_of(lengths, rows);
        if (rows > most) most = rows;
        right = right && rows <= rule->batch_size;
        if (rule->max_tokens > 0) right = right && rows * longest <= rule->max_tokens;
        for (int64_t i = 0; i < rows; i++) {
            REQUIRE(records[i] >= 0 && records[i] < n);
            seen[records[i]]++;
            if (rule->num_boundaries == 0) continue;
            right = right && bucket_of(rule, lengths[records[i]]) == bucket_of(rule, longest);
        }
        if (rule->batch_sizes) {
            int64_t size = rule->batch_sizes[bucket_of(rule, longest)];
            right = right && (rows == size || (rows < size && !rule->drops_short));
        }
        total += rows;
    }
    for (int64_t i = 0; i < n; i++) right = right && seen[i] <= 1;
    CHECK(right && total == table->num_positions && most == table->most_rows);
    return total;
}

static void test_every_record_once(void)
{
    static int64_t lengths[5000];
    const int64_t boundaries[] = {20, 100, 400}, sizes[] = {64, 33, 8, 3};
    const int64_t counts[] = {0, 1, 2, 5, 16, 17, 100, 999, 5000};
    draw_lengths(lengths, 5000, 60, 1.2, 5);
    for (int c = 0; c < 9; c++) {
        for (int32_t drops = 0; drops < 2; drops++) {
            pfd_bucket_rule rules[] = {
                {.max_tokens = 8192, .multiple_of = 1, .batch_size = 1024},
                {.max_tokens = 65536, .multiple_of = 4, .batch_size = 64},
                {.max_tokens = 8192, .multiple_of = 1, .batch_size = 1024,
                 .boundaries = boundaries, .num_boundaries = 3},
                {.batch_size = 24, .multiple_of = 1},
                {.batch_size = 64, .multiple_of = 1, .boundaries = boundaries, .num_boundaries = 3,
                 .batch_sizes = sizes},
            };
            for (int r = 0; r < 5; r++) {
                rules[r].drops_short = drops;
                pfd_bucket_table table = open_table(&rules[r], lengths, counts[c]);
                for (uint64_t epoch = 0; epoch < 3; epoch++) {
                    int64_t total = check_epoch(&table, &rules[r], lengths, counts[c], 9 + epoch,
                                                epoch > 0);
                    if (!drops) CHECK(total == counts[c]);
                    /* with one batch size only one batch in all is short */
                    if (drops && r == 3) CHECK(counts[c] - total < 24);
                    if (drops && r < 2 && counts[c] == 5000) CHECK(total > 4800);
                }
                pfd_bucket_table_close(&table);
            }
        }
    }
}

/* Over many epochs a record meets all others that may be with it, and dropped ones change. */
static void test_epochs_differ(void)
{
    enum { n = 64, epochs = 4000 };
    static int32_t met[n][n];
    int64_t lengths[n];
    for (int i = 0; i < n; i++) lengths[i] = 1000 + i;
    pfd_bucket_rule rule = {.batch_size = 10, .multiple_of = 1, .drops_short = 1};
    pfd_bucket_table table = open_table(&rule, lengths, n);
    CHECK(table.num_batches == 6);
    int32_t drawn[n] = {0};
    for (uint64_t epoch = 0; epoch < epochs; epoch++)
        for (int64_t b = 0; b < table.num_batches; b++) {
            int64_t rows = read_batch(&table, b, pfd_random_bits(1, epoch), 1);
            for (int64_t i = 0; i < rows; i++) {
                drawn[records[i]]++;
                for (int64_t k = 0; k < rows; k++) met[records[i]][records[k]]++;
            }
        }
    int right = 1;
    for (int i = 0; i < n; i++) {
        right = right && drawn[i] > epochs * 0.80 && drawn[i] <= epochs;
        for (int k = 0; k < n; k++) { /* neighbours of a group never; others in 1 of 6.4 epochs */
            int far_apart = i - k > 7 || k - i > 7;
            right = right && (!far_apart || (met[i][k] > 400 && met[i][k] < 900));
        }
    }
    CHECK(right);
    pfd_bucket_table_close(&table);
}

/* Rows times squares of lengths, the heaviest rank beside the mean. */
static double imbalance(const int64_t *lengths, int64_t rows, int64_t world_size)
{
    double heaviest = 0, all = 0;
    for (int64_t rank = 0; rank < world_size; rank++) {
        double sum = 0;
        for (int64_t i = rank * rows / world_size; i < (rank + 1) * rows / world_size; i++)
            sum += (double)lengths[records[i]] * (double)lengths[records[i]];
        if (sum > heaviest) heaviest = sum;
        all += sum;
    }
    return heaviest / (all / (double)world_size) - 1;
}

static void sort_records(const int64_t *lengths, int64_t rows)
{
    for (int64_t i = 1; i < rows; i++)
        for (int64_t k = i; k > 0 && lengths[records[k]] < lengths[records[k - 1]]; k--) {
            int64_t other = records[k];
            records[k] = records[k - 1];
            records[k - 1] = other;
        }
}

static void shuffle_records(int64_t rows)
{
    for (int64_t i = rows - 1; i > 0; i--) {
        int64_t k = pfd_random_below(3, (uint64_t)(rows * 1000 + i), i + 1), other = records[i];
        records[i] = records[k];
        records[k] = other;
    }
}

/* Wide buckets, the hard case: at any number of ranks the heaviest has at most a few per cent more
 * than the mean, and much less more than with the rows in a random or in the sorted order. */
static void test_ranks_are_balanced(void)
{
    static int64_t lengths[96 * 200];
    const int64_t boundaries[] = {150, 600, 2400}, worlds[] = {2, 3, 4, 8};
    draw_lengths(lengths, 96 * 200, 300, 0.8, 11);
    pfd_bucket_rule rule = {.batch_size = 96, .multiple_of = 1, .boundaries = boundaries,
                            .num_boundaries = 3};
    pfd_bucket_table table = open_table(&rule, lengths, 96 * 200);
    for (int w = 0; w < 4; w++) {
        double spread = 0, random = 0, sorted = 0;
        int64_t counted = 0;
        for (int64_t b = 0; b < table.num_batches; b++) {
            int64_t rows = read_batch(&table, b, 77, 1);
            if (rows < 96) continue;
            counted++;
            spread += imbalance(lengths, rows, worlds[w]);
            shuffle_records(rows);
            random += imbalance(lengths, rows, worlds[w]);
            sort_records(lengths, rows);
            sorted += imbalance(lengths, rows, worlds[w]);
        }
        REQUIRE(counted > 0);
        printf("%d ranks: the heaviest has %.1f %% more than the mean; in a random order %.1f %%, "
               "sorted %.1f %%\n",
               (int)worlds[w], 100 * spread / (double)counted, 100 * random / (double)counted,
               100 * sorted / (double)counted);
        CHECK(spread < 0.06 * (double)counted && spread < random / 2 && random < sorted);
    }
    pfd_bucket_table_close(&table);
}

static double sum_of(const double *weights, const int32_t *order, int64_t begin, int64_t end)
{
    double sum = 0;
    for (int64_t i = begin; i < end; i++) sum += weights[order[i]];
    return sum;
}

/* The order itself: a permutation whose halves, quarters and so on weigh nearly the same, whether
 * weights rise evenly or few of them are much larger than the others. */
static void test_order(void)
{
    static double weights[1024];
    int right = 1;
    for (int power = 1; power < 5; power++) {
        for (int i = 0; i < 1024; i++) weights[i] = pow(2000.0 - i, power);
        for (int64_t n = 1; n <= 1024; n = n < 70 ? n + 1 : n * 2 - n % 64) {
            int32_t *order = pfd_spread_order(weights, n);
            REQUIRE(order);
            memset(seen, 0, sizeof weights);
            for (int64_t i = 0; i < n; i++) seen[order[i]]++;
            for (int64_t i = 0; i < n; i++) right = right && seen[i] == 1;
            double all = sum_of(weights, order, 0, n);
            for (int64_t runs = 2; n % runs == 0 && n / runs >= 4; runs *= 2)
                for (int64_t i = 0; i < runs; i++) {
                    double sum = sum_of(weights, order, i * n / runs, (i + 1) * n / runs);
                    right = right && sum * (double)runs < 1.02 * all;
                }
            free(order);
        }
    }
    CHECK(right);
}

/* Real tokens of padded ones. */
static double efficiency(const pfd_bucket_table *table, const int64_t *lengths)
{
    double real = 0, padded = 0;
    for (int64_t b = 0; b < table->num_batches; b++) {
        int64_t rows = read_batch(table, b, 4, 1);
        for (int64_t i = 0; i < rows; i++) real += (double)lengths[records[i]];
        padded += (double)rows * (double)longest_of(lengths, rows);
    }
    return real / padded;
}

static double efficiency_at_random(const int64_t *lengths, int64_t n, int64_t batch_size)
{
    double real = 0, padded = 0;
    for (int64_t i = 0; i < n; i++) real += (double)lengths[i];
    for (int64_t i = 0; i + batch_size <= n; i += batch_size) {
        int64_t longest = 0;
        for (int64_t k = i; k < i + batch_size; k++)
            if (lengths[k] > longest) longest = lengths[k];
        padded += (double)longest * (double)batch_size;
    }
    return real / padded;
}

static void test_padding(void)
{
    static int64_t lengths[most_records];
    const double sigmas[] = {0.4, 0.6, 1.0};
    for (int i = 0; i < 3; i++) {
        draw_lengths(lengths, most_records, 450, sigmas[i], 2);
        for (int64_t k = 0; k < most_records; k++) /* truncated */
            if (lengths[k] > 8192) lengths[k] = 8192;
        pfd_bucket_rule tokens = {.max_tokens = 65536, .multiple_of = 8, .batch_size = 4096};
        pfd_bucket_rule rows = {.batch_size = 32, .multiple_of = 1};
        int64_t since = pfd_clock_ns();
        pfd_bucket_table by_tokens = open_table(&tokens, lengths, most_records);
        double open_ns = (double)(pfd_clock_ns() - since) / most_records;
        pfd_bucket_table by_rows = open_table(&rows, lengths, most_records);
        since = pfd_clock_ns();
        double found = efficiency(&by_tokens, lengths);
        double row_ns = (double)(pfd_clock_ns() - since) / most_records;
        double random = efficiency_at_random(lengths, most_records, 32);
        printf("sigma %.1f: real tokens by tokens %.1f %%, by rows %.1f %%, at random %.1f %%; "
               "%.0f ns a record to open, %.0f a row\n",
               sigmas[i], 100 * found, 100 * efficiency(&by_rows, lengths), 100 * random, open_ns,
               row_ns);
        CHECK(found > 0.96 && found > 1.5 * random && efficiency(&by_rows, lengths) > 0.95);
        pfd_bucket_table_close(&by_tokens);
        pfd_bucket_table_close(&by_rows);
    }
}

static void test_budget(void)
{
    pfd_error err;
    pfd_error_init(&err);
    const int64_t lengths[] = {3, 0, 9, 8};
    pfd_lengths all = {.wide = lengths, .count = 4};
    pfd_bucket_table table;
    pfd_bucket_rule rule = {.max_tokens = 17, .multiple_of = 2, .batch_size = 100};
    CHECK(pfd_bucket_table_open(&rule, &all, &table, &err) == PFD_INVALID_ARGUMENT);
    CHECK(strstr(err.message, "record 2 has length 9"));
    rule.max_tokens = 18;
    CHECK(pfd_bucket_table_open(&rule, &all, &table, &err) == PFD_OK && table.num_batches == 2);
    pfd_bucket_table_close(&table);
}

int main(void)
{
    test_order();
    test_every_record_once();
    test_epochs_differ();
    test_ranks_are_balanced();
    test_budget();
    test_padding();
    return report();
}
