/* Tables of packs: every element once, how full packs are, and what becomes of long records. */
#include "check.h"

#include "core/cpu.h"
#include "core/error.h"
#include "core/random.h"
#include "views/pack_dataset.h"

#include <math.h>
#include <string.h>

/* Lengths of documents: log-normal, by Box and Muller. */
static void draw_lengths(int64_t *lengths, int64_t n, double median, double sigma, uint64_t key)
{
    for (int64_t i = 0; i < n; i++) {
        double u = ((double)(pfd_random_bits(key, (uint64_t)(2 * i)) >> 11) + 0.5) * 0x1p-53;
        double v = (double)(pfd_random_bits(key, (uint64_t)(2 * i + 1)) >> 11) * 0x1p-53;
        double normal = sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
        lengths[i] = (int64_t)(median * exp(sigma * normal));
    }
}

static pfd_pack_table open_table(pfd_pack_rule rule, const int64_t *lengths, int64_t n)
{
    pfd_pack_table table;
    pfd_error err;
    pfd_error_init(&err);
    pfd_lengths all = {.wide = lengths, .count = n};
    pfd_status status = pfd_pack_table_open(&rule, &all, &table, &err);
    if (status != PFD_OK) printf("%s\n", err.message);
    REQUIRE(status == PFD_OK);
    return table;
}

/* Elements of a record that must be in packs. */
static int64_t expected(const pfd_pack_rule *rule, int64_t length)
{
    if (rule->rule == PFD_PACK_CHUNK || length <= rule->length) return length;
    if (rule->longer == PFD_PACK_DROP) return 0;
    return rule->longer == PFD_PACK_TRUNCATE ? rule->length : length;
}

/* Every element of every record once, in pieces that stand one after another in their packs, each
 * at most as long as a pack; packs in the order of their first records. */
static void check_table(const pfd_pack_table *table, const int64_t *lengths, int64_t n)
{
    static int64_t records[1 << 16];
    static pfd_piece pieces[1 << 16];
    int64_t *seen = calloc((size_t)n + 1, sizeof *seen);
    uint64_t *found = calloc((size_t)n + 1, sizeof *found); /* best fit: which were seen */
    int64_t num_pieces = 0, num_elements = 0, first_before = 0;
    int right = 1;
    for (int64_t p = 0; p < table->num_packs; p++) {
        int64_t count = pfd_pack_table_count(table, p), at = 0;
        REQUIRE(count > 0 && count <= 1 << 16);
        pfd_pack_table_expand(table, p, records, pieces);
        right = right && records[0] >= first_before;
        first_before = table->rule.window == n ? records[0] : 0;
        for (int64_t i = 0; i < count; i++) {
            REQUIRE(records[i] >= 0 && records[i] < n);
            right = right && pieces[i].at == at && pieces[i].length > 0 &&
                    pieces[i].whole == lengths[records[i]] &&
                    (i == 0 || records[i] > records[i - 1]);
            if (table->rule.rule == PFD_PACK_CHUNK) {
                right = right && pieces[i].begin == seen[records[i]];
            } else { /* the last piece of a record may stand in an earlier pack than others */
                int64_t piece = pieces[i].begin / table->rule.length;
                right = right && pieces[i].begin % table->rule.length == 0 &&
                        (piece > 63 || !(found[records[i]] >> piece & 1));
                if (piece < 64) found[records[i]] |= UINT64_C(1) << piece;
            }
            seen[records[i]] += pieces[i].length;
            at += pieces[i].length;
        }
        right = right && at <= table->rule.length;
        num_pieces += count;
        num_elements += at;
    }
    CHECK(right);
    CHECK(num_pieces == table->num_pieces && num_elements == table->num_elements);
    int whole = 1;
    int64_t missing = 0;
    for (int64_t i = 0; i < n; i++) {
        missing += expected(&table->rule, lengths[i]) - seen[i];
        whole = whole && seen[i] <= expected(&table->rule, lengths[i]);
    }
    int drops = table->rule.rule == PFD_PACK_CHUNK && table->rule.drops_short;
    CHECK(whole && missing >= 0 && missing < (drops ? table->rule.length : 1));
    free(seen);
    free(found);
}

static double fill_of(const pfd_pack_table *table)
{
    return (double)table->num_elements / ((double)table->num_packs * (double)table->rule.length);
}

/* 99.5 % full at 2k, 8k and 32k; prints what it costs. */
static void test_fill(void)
{
    static int64_t lengths[300000];
    const int64_t n = 300000, sizes[] = {2048, 8192, 32768};
    draw_lengths(lengths, n, 450, 1.0, 1);
    for (int i = 0; i < 3; i++) {
        pfd_pack_rule rule = {.length = sizes[i]};
        int64_t since = pfd_clock_ns();
        pfd_pack_table table = open_table(rule, lengths, n), again = open_table(rule, lengths, n);
        double ns = (double)(pfd_clock_ns() - since) / 2 / (double)n;
        printf("best fit at %5d: %.2f %% full, %.0f ns a record\n", (int)sizes[i],
               100 * fill_of(&table), ns);
        CHECK(fill_of(&table) >= 0.995);
        check_table(&table, lengths, n);
        CHECK(table.num_packs == again.num_packs && table.num_pieces == again.num_pieces);
        CHECK(!memcmp(table.pieces, again.pieces, (size_t)table.num_pieces * sizeof *table.pieces));
        pfd_pack_table_close(&table);
        pfd_pack_table_close(&again);
    }
}

/* The rule itself, by a search through all packs: the one with the least room that is enough. */
static void test_is_best_fit(void)
{
    enum { n = 500 };
    const int64_t sizes[] = {1, 2, 63, 64, 65, 1000, 4096, 300000};
    for (int s = 0; s < 8; s++) {
        int32_t lengths[n], pack_of[n], room[n];
        int64_t length = sizes[s], packs = 0;
        for (int i = 0; i < n; i++)
            lengths[i] = (int32_t)pfd_random_below(7, (uint64_t)(s * n + i), length + 1);
        pfd_best_fit *fit;
        pfd_error err;
        pfd_error_init(&err);
        REQUIRE(pfd_best_fit_create(length, n, &fit, &err) == PFD_OK);
        int64_t found = pfd_best_fit_pack(fit, lengths, n, pack_of);
        int right = 1;
        for (int64_t longest = length; longest > 0; longest--) /* longest first, then in order */
            for (int i = 0; i < n; i++) {
                if (lengths[i] != longest) continue;
                int32_t best = INT32_MAX;
                for (int64_t p = 0; p < packs; p++)
                    if (room[p] >= longest && room[p] < best) best = room[p];
                int32_t pack = pack_of[i];
                if (best == INT32_MAX) {
                    right = right && pack == packs;
                    room[packs++] = (int32_t)length;
                } else {
                    right = right && pack >= 0 && pack < packs && room[pack] == best;
                }
                if (right) room[pack] -= (int32_t)longest;
            }
        for (int i = 0; i < n; i++) right = right && (lengths[i] > 0 || pack_of[i] == -1);
        CHECK(right && found == packs);
        CHECK(pfd_best_fit_pack(fit, lengths, n, pack_of) == packs); /* empty again */
        pfd_best_fit_free(fit);
    }
}

static void test_rules(void)
{
    static int64_t lengths[4000];
    const int64_t n = 4000;
    draw_lengths(lengths, n, 20, 1.3, 3); /* empty ones, and some longer than many packs */
    for (int64_t length = 1; length < 200; length += 1 + length / 3) {
        for (int32_t longer = PFD_PACK_SPLIT; longer < PFD_PACK_RAISE; longer++) {
            const int64_t windows[] = {0, 1, 7, n, 100000};
            for (int w = 0; w < 5; w++) {
                pfd_pack_rule rule = {.length = length, .longer = longer, .window = windows[w]};
                pfd_pack_table table = open_table(rule, lengths, n);
                check_table(&table, lengths, n);
                pfd_pack_table_close(&table);
            }
        }
        for (int32_t drops = 0; drops < 2; drops++) {
            pfd_pack_rule rule = {
                .length = length, .rule = PFD_PACK_CHUNK, .drops_short = drops, .window = n};
            pfd_pack_table table = open_table(rule, lengths, n);
            check_table(&table, lengths, n);
            int64_t total = 0;
            for (int64_t i = 0; i < n; i++) total += lengths[i];
            CHECK(table.num_packs == total / length + (!drops && total % length != 0));
            pfd_pack_table_close(&table);
        }
    }
}

static void test_ends(void)
{
    pfd_error err;
    pfd_error_init(&err);
    const int64_t lengths[] = {3, 9, 8, 0};
    pfd_pack_table table;
    pfd_pack_rule rule = {.length = 8, .longer = PFD_PACK_RAISE};
    pfd_lengths all = {.wide = lengths, .count = 4};
    CHECK(pfd_pack_table_open(&rule, &all, &table, &err) == PFD_INVALID_ARGUMENT);
    CHECK(strstr(err.message, "record 1 has 9 elements"));
    all.count = 1;
    CHECK(pfd_pack_table_open(&rule, &all, &table, &err) == PFD_OK && table.num_packs == 1);
    pfd_pack_table_close(&table);
    for (int32_t kind = PFD_PACK_BEST_FIT; kind <= PFD_PACK_CHUNK; kind++) {
        rule.rule = kind;
        for (int64_t i = 0; i < 2; i++) { /* no record, and only an empty one */
            pfd_lengths none = {.wide = lengths + 3, .count = i};
            CHECK(pfd_pack_table_open(&rule, &none, &table, &err) == PFD_OK);
            CHECK(table.num_packs == 0 && table.num_pieces == 0);
            pfd_pack_table_close(&table);
        }
    }
    const int32_t narrow[] = {5, 3, 8};
    pfd_lengths small = {.narrow = narrow, .count = 3};
    rule = (pfd_pack_rule){.length = 8};
    CHECK(pfd_pack_table_open(&rule, &small, &table, &err) == PFD_OK && table.num_packs == 2);
    pfd_pack_table_close(&table);
    int64_t huge = INT64_MAX;
    pfd_lengths large = {.wide = &huge, .count = 1};
    CHECK(pfd_pack_table_open(&rule, &large, &table, &err) == PFD_UNSUPPORTED);
}

int main(void)
{
    test_is_best_fit();
    test_rules();
    test_ends();
    test_fill();
    return report();
}
