/* Tests of csrc/core and csrc/parse: prints "N passed, N failed". */
#include "check.h"

#include "core/cpu.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/multi_thread_loop.h"
#include "core/random.h"
#include "core/scratch.h"
#include "core/system_calls.h"
#include "parse/number_text.h"
#include "parse/words.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Random numbers -------------------------------------------------------------------------- */

static int64_t permute(const pfd_permutation *permutation, int64_t i)
{
    pfd_permute(permutation, &i, 1, &i);
    return i;
}

/* Whoever changes one of these numbers changes the order of every user's training. */
static void test_random_golden(void)
{
    uint64_t key = pfd_random_key(7, 0, "MiniReader_0");
    CHECK(key == UINT64_C(0xb3901f0146f24a38));
    CHECK(pfd_random_key(-1, INT64_MAX, "") == UINT64_C(0x92f249c82368b37a));
    CHECK(pfd_random_bits(0, 0) == UINT64_C(0x0));
    CHECK(pfd_random_bits(key, 0) == UINT64_C(0xd43587f04115418d));
    CHECK(pfd_random_bits(key, UINT64_MAX) == UINT64_C(0x3e7fe481b89292d1));
    CHECK(pfd_random_below(key, 3, 1000) == 442);
    CHECK(pfd_random_below(key, 3, INT64_MAX) == INT64_C(4081382118490434795));

    static const int64_t ten[] = {0, 6, 3, 5, 8, 7, 1, 2, 9, 4};
    pfd_permutation permutation;
    pfd_permutation_init(&permutation, key, 10);
    for (int i = 0; i < 10; i++) CHECK(permute(&permutation, i) == ten[i]);
    pfd_permutation_init(&permutation, key, 1000000007);
    CHECK(permute(&permutation, 0) == 562401000);
    CHECK(permute(&permutation, 1000000006) == 983408209);
    pfd_permutation_init(&permutation, key, INT64_C(1) << 62);
    CHECK(permute(&permutation, (INT64_C(1) << 62) - 1) == INT64_C(3674930003399557360));
}

static void test_hash(void)
{
    static const uint8_t bytes[24] = {1, 2, 3};
    uint64_t seen[24];
    for (int64_t size = 0; size < 24; size++) { /* zeros at the end count */
        seen[size] = pfd_hash_bytes(0, bytes, size);
        for (int64_t i = 0; i < size; i++) CHECK(seen[i] != seen[size]);
    }
    CHECK(pfd_hash_bytes(0, "abcdefghi", 9) !=
          pfd_hash_bytes(pfd_hash_bytes(0, "abcdefgh", 8), "i", 1));
    CHECK(pfd_hash_word(0, 1) != pfd_hash_word(1, 1) && pfd_hash_word(0, 0) != 0);

    /* Words are little-endian on every machine. */
    uint64_t hash = pfd_hash_word(pfd_hash_word(7, UINT64_C(0x6867666564636261)), 0x69);
    CHECK(pfd_hash_bytes(7, "abcdefghi", 9) == pfd_hash_word(hash, 9));
}

static void test_random_keys_differ(void)
{
    uint64_t key = pfd_random_key(1, 2, "reader");
    CHECK(key != pfd_random_key(2, 1, "reader"));
    CHECK(key != pfd_random_key(2, 2, "reader"));
    CHECK(key != pfd_random_key(1, 3, "reader"));
    CHECK(key != pfd_random_key(1, 2, "readeR"));
    CHECK(pfd_random_key(1, 2, "12345678") != pfd_random_key(1, 2, "123456781"));
    CHECK(pfd_random_entropy() != pfd_random_entropy());
}

/* Chi-square of a fair die, and of a range for which three draws in ten are rejected. */
static void test_random_below(void)
{
    enum { sides = 6, draws = 60000 };
    static const int64_t ranges[] = {sides, INT64_C(0x7000000000000000) / sides * sides};
    for (int r = 0; r < 2; r++) {
        int counts[sides] = {0};
        for (uint64_t i = 0; i < draws; i++) {
            int64_t drawn = pfd_random_below(42, i, ranges[r]);
            if (drawn >= 0 && drawn < ranges[r]) counts[drawn / (ranges[r] / sides)]++;
        }
        double chi_square = 0, expected = (double)draws / sides;
        for (int i = 0; i < sides; i++)
            chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
        CHECK(chi_square < 25); /* 5 degrees of freedom: exceeded once in 7000 keys */
    }
    CHECK(pfd_random_below(1, 1, 1) == 0);
}

enum { MOST_RECORDS = 5000 };

static int is_bijection(uint64_t key, int64_t n)
{
    static uint8_t seen[MOST_RECORDS];
    memset(seen, 0, sizeof seen);
    pfd_permutation permutation;
    pfd_permutation_init(&permutation, key, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t j = permute(&permutation, i);
        if (j < 0 || j >= n || seen[j]) return 0;
        seen[j] = 1;
    }
    return 1;
}

static void test_permutation_is_bijection(void)
{
    for (int64_t n = 0; n <= MOST_RECORDS; n += n < 500 ? 1 : 7)
        CHECK(is_bijection((uint64_t)n % 7, n));
    for (uint64_t key = 0; key < 5; key++) CHECK(is_bijection(key, MOST_RECORDS));
}

static int compare_places(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* Too large to try all: windows at the beginning, the middle and the end have no place twice. */
static void test_large_permutation_is_injective(void)
{
    enum { window = 20000 };
    static const int64_t sizes[] = {
        (INT64_C(1) << 20) + 7, (INT64_C(1) << 40) + 3, INT64_C(1) << 62};
    static int64_t places[3 * window];
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        int64_t n = sizes[s];
        const int64_t begins[3] = {0, n / 2, n - window};
        pfd_permutation permutation;
        pfd_permutation_init(&permutation, s, n);
        int ok = 1;
        for (int64_t i = 0; i < 3 * window; i++) {
            places[i] = permute(&permutation, begins[i / window] + i % window);
            ok &= places[i] >= 0 && places[i] < n;
        }
        qsort(places, 3 * window, sizeof places[0], compare_places);
        for (int64_t i = 1; i < 3 * window; i++) ok &= places[i - 1] != places[i];
        CHECK(ok);
    }
}

/* Each of the 24 orders of 4 records comes equally often. */
static void test_permutation_is_fair(void)
{
    enum { orders = 24, keys = 24000 };
    int counts[256] = {0};
    for (int64_t epoch = 0; epoch < keys; epoch++) {
        pfd_permutation permutation;
        pfd_permutation_init(&permutation, pfd_random_key(1, epoch, "fair"), 4);
        int order = 0;
        for (int i = 0; i < 4; i++) order = order * 4 + (int)permute(&permutation, i);
        counts[order]++;
    }
    double chi_square = 0, expected = (double)keys / orders;
    int seen = 0;
    for (int i = 0; i < 256; i++) {
        if (!counts[i]) continue;
        seen++;
        chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    CHECK(seen == orders);
    CHECK(chi_square < 56); /* 23 degrees of freedom: exceeded once in 7000 seeds */
}

/* ---- Machine --------------------------------------------------------------------------------- */

static void write_file(const char *root, const char *name, const char *text)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700); /* most exist already */
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    if (!file) return;
    (void)fputs(text, file);
    (void)fclose(file);
}

static void test_cgroup(void)
{
    char root[] = "/tmp/test_core_XXXXXX";
    CHECK(mkdtemp(root) != NULL);
    CHECK(pfd_cgroup_cpus(root) == INT64_MAX);
    CHECK(pfd_cgroup_memory(root) == INT64_MAX);

    write_file(root, "proc/self/cgroup", "0::/outer/inner\n");
    CHECK(pfd_cgroup_cpus(root) == INT64_MAX);
    write_file(root, "sys/fs/cgroup/outer/cpu.max", "250000 100000\n");
    write_file(root, "sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
    write_file(root, "sys/fs/cgroup/outer/inner/memory.max", "max\n");
    CHECK(pfd_cgroup_cpus(root) == 3);
    CHECK(pfd_cgroup_memory(root) == INT64_MAX);
    write_file(root, "sys/fs/cgroup/outer/inner/cpu.max", "50000 100000\n");
    write_file(root, "sys/fs/cgroup/memory.max", "1048576\n");
    CHECK(pfd_cgroup_cpus(root) == 1);
    CHECK(pfd_cgroup_memory(root) == 1048576);
    CHECK(pfd_cgroup_throttled_ns(root) == 0);
    write_file(root, "sys/fs/cgroup/outer/inner/cpu.stat",
               "usage_usec 9\nnr_throttled 3\nthrottled_usec 41\nnr_bursts 5\n");
    write_file(root, "sys/fs/cgroup/outer/cpu.stat", "throttled_usec 7\n");
    CHECK(pfd_cgroup_throttled_ns(root) == 41000);

    /* Version 1, in a container that does not see the path of its own group. */
    write_file(root, "proc/self/cgroup", "4:memory:/machine/box\n2:cpu,cpuacct:/machine/box\n");
    write_file(root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");
    write_file(root, "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    write_file(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "2097152\n");
    CHECK(pfd_cgroup_cpus(root) == 4);
    write_file(root, "sys/fs/cgroup/cpu/cpu.stat", "nr_throttled 3\nthrottled_time 43\n");
    CHECK(pfd_cgroup_throttled_ns(root) == 43);
    CHECK(pfd_cgroup_memory(root) == 2097152);
    write_file(root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    CHECK(pfd_cgroup_cpus(root) == INT64_MAX);

    char command[64];
    (void)snprintf(command, sizeof command, "rm -r %s", root);
    CHECK(system(command) == 0);
}

static void test_cpu(void)
{
    CHECK(pfd_cpu_count() >= 1);
    CHECK(pfd_cpu_count() <= sysconf(_SC_NPROCESSORS_CONF));
    CHECK(pfd_memory_limit() > 1024 * 1024);
    int64_t before = pfd_clock_ns();
    CHECK(pfd_clock_ns() >= before);

    int32_t generation = pfd_fork_generation();
    pid_t child = fork();
    if (child == 0) _exit(pfd_fork_generation() == generation + 1 ? 0 : 1);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(pfd_fork_generation() == generation);
}

/* ---- Memory and errors ----------------------------------------------------------------------- */

static void test_scratch(void)
{
    pfd_scratch *scratch = pfd_scratch_create();
    CHECK(scratch != NULL);
    if (!scratch) return;
    for (int load = 0; load < 3; load++) {
        uint8_t *last = NULL;
        for (int64_t bytes = 0; bytes < 4000; bytes += 37) {
            uint8_t *memory = pfd_scratch_alloc(scratch, bytes);
            CHECK(memory && memory != last && (uintptr_t)memory % 64 == 0);
            if (memory) memset(memory, load, (size_t)bytes);
            last = memory;
        }
        pfd_scratch_reset(scratch);
    }
    int64_t held = pfd_scratch_bytes(scratch);
    CHECK(pfd_scratch_alloc(scratch, held) != NULL);
    CHECK(pfd_scratch_bytes(scratch) == held);
    CHECK(pfd_scratch_alloc(scratch, -1) == NULL);
    CHECK(pfd_scratch_alloc(scratch, INT64_MAX) == NULL);
    pfd_scratch_free(scratch);
    pfd_scratch_free(NULL);
}

static void count_back(void *lent)
{
    ++*(int32_t *)lent;
}

/* What is lent, and what is stated of rows, belongs to the call in which that is done. */
static void test_loans(void)
{
    int32_t back = 0;
    pfd_scratch *scratch = pfd_scratch_create(), *lasting = pfd_scratch_create();
    pfd_call_memory first = {.lasting = lasting}, second = {0};
    CHECK(scratch && lasting);
    if (!scratch || !lasting) return;
    pfd_scratch_set_call(scratch, &first);
    CHECK(pfd_scratch_lend(scratch, count_back, &back));
    CHECK(first.rows_last == 0);
    pfd_scratch_rows_last(scratch);
    pfd_scratch_set_call(scratch, &second);
    CHECK(pfd_scratch_lend(scratch, count_back, &back));
    pfd_scratch_set_call(scratch, NULL);
    CHECK(pfd_scratch_lend(scratch, count_back, &back));
    pfd_scratch_rows_last(scratch);
    CHECK(first.rows_last == 1 && second.rows_last == 0);
    pfd_scratch_reset(scratch);
    CHECK(back == 2);
    pfd_scratch_reset(lasting);
    CHECK(back == 3);
    pfd_scratch_free(scratch);
    pfd_scratch_free(lasting);
}

/* A plugin that was compiled with the header of 1.0 has less memory than today's struct. */
static void test_error_of_an_older_plugin(void)
{
    enum { bytes_of_1_0 = 1640 };
    const uint32_t sizes[] = {bytes_of_1_0, 0, UINT32_MAX}; /* set, zeroed, left to chance */
    union {
        pfd_error err;
        uint8_t bytes[sizeof(pfd_error)];
    } old;
    pfd_error ours = {.struct_size = sizeof ours};
    const pfd_file file = {.path = "a"};
    CHECK(offsetof(pfd_error, reason) == bytes_of_1_0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memset(&old, 0xaa, sizeof old);
        old.err.struct_size = sizes[i];
        CHECK(pfd_fail(&old.err, PFD_IO, "x") == PFD_IO && !strcmp(old.err.message, "x"));
        CHECK(old.err.struct_size == bytes_of_1_0);
        CHECK(pfd_fail_row(&old.err, 1, 2, PFD_IO, "x") == PFD_IO && old.err.row == 1);
        CHECK(pfd_fail_at(&old.err, &file, 2, PFD_IO, "x") == PFD_IO);
        CHECK(pfd_fail_attr(&old.err, "a", &file, PFD_IO, ": x") == PFD_IO);
        CHECK(pfd_error_set_reason(&old.err, PFD_REASON_NO_RECORDS) == PFD_IO);
        CHECK(pfd_error_set_records(&old.err, 7) == PFD_IO);
        CHECK(pfd_error_can_pass(PFD_CORRUPT_DATA, &old.err)); /* no reason is read beyond it */
        (void)pfd_fail_attr(&ours, "b", NULL, PFD_CORRUPT_DATA, ": y");
        pfd_error_copy(&old.err, &ours);
        CHECK(old.err.status == PFD_CORRUPT_DATA && !strcmp(old.err.message, "attr 'b': y"));
        pfd_error_copy(&ours, &old.err);
        CHECK(ours.struct_size == sizeof ours && ours.records == -1 && !ours.attr[0]);
        for (size_t b = bytes_of_1_0; b < sizeof old; b++) CHECK(old.bytes[b] == 0xaa);
    }
}

static void test_error(void)
{
    pfd_error err = {.struct_size = sizeof err};
    CHECK(pfd_fail_file(&err, "a/b", "%s = %d", "x", 3) == PFD_IO && err.status == PFD_IO);
    CHECK(!strcmp(err.file, "a/b") && !strcmp(err.message, "x = 3") && err.row == -1);
    CHECK(pfd_fail(&err, PFD_IO, "%s = %d", "x", 3) == PFD_IO);
    CHECK(err.status == PFD_IO && !strcmp(err.message, "x = 3"));
    CHECK(err.row == -1 && err.byte == -1 && err.line == -1 && err.ordinal == -1);
    CHECK(pfd_fail(&err, PFD_IO, "%2000d", 1) == PFD_IO);
    CHECK(strlen(err.message) == sizeof err.message - 1);
    CHECK(pfd_fail_memory(&err, 12, "a thing") == PFD_OUT_OF_MEMORY);
    CHECK(strstr(err.message, "12") && strstr(err.message, "a thing"));

    char path[1000];
    memset(path, 'm', sizeof path);
    memcpy(path, "/start", 6);
    memcpy(path + sizeof path - 5, "/end", 5);
    pfd_error_set_file(&err, path);
    CHECK(strlen(err.file) == sizeof err.file - 1 && !strncmp(err.file, "/start", 6));
    CHECK(strstr(err.file, "...") && !strcmp(err.file + strlen(err.file) - 4, "/end"));
    pfd_error_set_file(&err, "short");
    CHECK(!strcmp(err.file, "short"));

    CHECK(pfd_fail_attr(&err, "columns", NULL, PFD_IO, ": %d", 3) == PFD_IO);
    CHECK(!strcmp(err.message, "attr 'columns': 3") && !strcmp(err.attr, "columns"));
    CHECK(pfd_error_set_reason(&err, PFD_REASON_NO_RECORDS) == PFD_IO);
    CHECK(pfd_error_set_records(&err, 7) == PFD_IO);
    err.cause = 9;
    pfd_error copy = {.struct_size = sizeof copy};
    pfd_error_copy(&copy, &err);
    CHECK(copy.records == 7 && copy.cause == 9 && copy.reason == PFD_REASON_NO_RECORDS);
    CHECK(pfd_fail(&err, PFD_IO, "x") == PFD_IO); /* empties them */
    CHECK(err.reason == 0 && err.records == -1 && err.cause == 0 && !err.attr[0]);

    char quoted[200];
    CHECK(!strcmp(pfd_quote_bytes((const uint8_t *)"a\0\xc3'", 4, quoted, sizeof quoted),
                  "'a\\x00\\xc3\\x27'"));
    CHECK(!strcmp(pfd_quote_bytes((const uint8_t *)"", 0, quoted, sizeof quoted), "''"));
    uint8_t many[100] = {0};
    pfd_quote_bytes(many, sizeof many, quoted, sizeof quoted);
    CHECK(strlen(quoted) == 40 * 4 + 5 && !strcmp(quoted + 161, "'..."));
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* The text is copied to memory of its own size, so that a checker sees any read past it. */
static int64_t parse(const char *text, double *value)
{
    size_t size = strlen(text);
    char *copy = malloc(size ? size : 1);
    if (!copy) return -1;
    memcpy(copy, text, size);
    int64_t used = pfd_parse_double(copy, (int64_t)size, value);
    free(copy);
    return used;
}

/* The hash of the rows that Python's integers give: 5**q for q >= 0, and for n = -q > 0, with the
 * `bits` of 5**n, 2**(127 + bits) // 5**n + (q >= -27); scaled into [2**127, 2**128). */
static void test_powers_of_five(void)
{
    const uint64_t *numbers = pfd_powers_of_five[0];
    const uint64_t *one = pfd_powers_of_five[-PFD_LEAST_POWER], *fifth = one - 2;
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof pfd_powers_of_five / sizeof *numbers; i++)
        hash = pfd_hash_word(hash, numbers[i]);
    CHECK(one[0] == UINT64_C(1) << 63 && one[1] == 0);
    CHECK(fifth[0] == UINT64_C(0xcccccccccccccccc) && fifth[1] == fifth[0] + 1);
    CHECK(hash == UINT64_C(0xed2c23a1f8d6b161));
}

static void test_parse_double(void)
{
    static const struct {
        const char *text;
        int64_t used;
        double value;
    } cases[] = {
        {"1.5", 3, 1.5},
        {"-0.25e2x", 7, -25.0},
        {"+7,8", 2, 7.0},
        {".5", 2, 0.5},
        {"5.", 2, 5.0},
        {"1e", 1, 1.0},
        {"1e+", 1, 1.0},
        {"1e5", 3, 1e5},
        {"1_000", 1, 1.0},
        {"0x10", 1, 0.0},
        {"9007199254740993", 16, 9007199254740992.0},
        {"9007199254740993.000000000000000000001", 38, 9007199254740994.0},
        {"2.2250738585072011e-308", 23, 0x0.fffffffffffffp-1022},
        {"2.4703282292062327e-324", 23, 0.0},
        {"2.4703282292062328e-324", 23, 0x1p-1074},
        {"1.7976931348623159e308", 22, (double)INFINITY},
        {"1e99999999999999999999999", 25, (double)INFINITY},
        {"1e-99999999999999999999999", 26, 0.0},
        {"-iNfInItY!", 9, -(double)INFINITY},
        {"infinite", 3, (double)INFINITY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double value = -1;
        CHECK(parse(cases[i].text, &value) == cases[i].used);
        CHECK(memcmp(&value, &cases[i].value, sizeof value) == 0);
    }
    static const char *const none[] = {"",    "+",   "-",  ".",  "-.", "e5",
                                       ".e5", "--1", " 1", "in", "x"};
    double value;
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) CHECK(parse(none[i], &value) == 0);
    CHECK(parse("nan", &value) == 3 && isnan(value) && !signbit(value));
    CHECK(parse("-NaN", &value) == 4 && isnan(value) && signbit(value));
}

/* ---- Loops ----------------------------------------------------------------------------------- */

static _Atomic int is_released, num_begun, num_done;
static char order[8];

/* Notes who began; "a" holds the only thread until it is released. */
static pfd_status note_loop(void *ctx, int64_t begin, int64_t end, int32_t worker, pfd_error *err)
{
    (void)end, (void)worker, (void)err;
    const char *name = ctx;
    if (begin == 0) order[strlen(order)] = *name;
    atomic_fetch_add(&num_begun, 1);
    while (*name == 'a' && !atomic_load(&is_released)) (void)usleep(100);
    return PFD_OK;
}

static void count_loop(void *ctx)
{
    (void)ctx;
    atomic_fetch_add(&num_done, 1);
}

static void test_order_of_loops(void)
{
    pfd_thread_pool *pool = NULL;
    pfd_error err = {.struct_size = sizeof err};
    CHECK(pfd_thread_pool_create(1, 1, NULL, &pool, &err) == PFD_OK);
    static char names[] = "abcde";
    pfd_loop loops[5];
    for (int i = 0; i < 5; i++)
        loops[i] =
            (pfd_loop){.n = 3, .chunk = 1, .fn = note_loop, .done = count_loop, .ctx = &names[i]};
    pfd_multi_thread_loop_first(pool, &loops[0]); /* of none */
    while (!atomic_load(&num_begun)) (void)usleep(100);
    pfd_multi_thread_loop(pool, &loops[1]);
    pfd_multi_thread_loop_first(pool, &loops[2]);
    pfd_multi_thread_loop_first(pool, &loops[3]);
    pfd_multi_thread_loop(pool, &loops[4]);
    atomic_store(&is_released, 1);
    while (atomic_load(&num_done) < 5) (void)usleep(100);
    pfd_thread_pool_free(pool);
    CHECK(strcmp(order, "adcbe") == 0);
}

/* ---- A pool that changes its size ------------------------------------------------------------ */

static _Atomic int most_at_once, at_once;
static _Atomic int ran_on[5]; /* by worker */

static pfd_status note_worker(void *ctx, int64_t begin, int64_t end, int32_t worker,
                              pfd_error *err)
{
    (void)ctx, (void)begin, (void)end, (void)err;
    int now = atomic_fetch_add(&at_once, 1) + 1, most = atomic_load(&most_at_once);
    while (now > most && !atomic_compare_exchange_weak(&most_at_once, &most, now)) continue;
    atomic_fetch_add(&ran_on[worker], 1);
    (void)usleep(200);
    atomic_fetch_sub(&at_once, 1);
    return PFD_OK;
}

/* Returns how many workers took part. */
static int run_loop(pfd_thread_pool *pool, int32_t helps)
{
    pfd_loop loop = {.n = 16, .chunk = 1, .fn = note_worker, .done = count_loop};
    atomic_store(&num_done, 0);
    atomic_store(&most_at_once, 0);
    for (int i = 0; i < 5; i++) atomic_store(&ran_on[i], 0);
    pfd_multi_thread_loop(pool, &loop);
    while (helps && pfd_thread_pool_help(pool, &loop)) continue;
    while (!atomic_load(&num_done)) (void)usleep(100);
    int workers = 0;
    for (int i = 0; i < 5; i++) workers += atomic_load(&ran_on[i]) > 0;
    return workers;
}

static void test_pool_changes_its_size(void)
{
    pfd_thread_pool *pool = NULL;
    pfd_error err = {.struct_size = sizeof err};
    REQUIRE(pfd_thread_pool_create(1, 4, NULL, &pool, &err) == PFD_OK);
    CHECK(run_loop(pool, 0) == 1 && atomic_load(&ran_on[0]) == 16);
    CHECK(run_loop(pool, 1) <= 2 && atomic_load(&ran_on[4]) > 0); /* a caller is the last worker */
    CHECK(pfd_thread_pool_system_id(pool, 3) == 0);
    for (int round = 0; round < 50; round++) { /* in all orders of more and fewer */
        int32_t n = round * 7 % 4 + 1;
        CHECK(pfd_thread_pool_set_threads(pool, n) == n);
        if (round % 3) (void)run_loop(pool, round % 2);
        (void)run_loop(pool, 0);
        CHECK(atomic_load(&most_at_once) <= n);
        for (int i = n; i < 5; i++) CHECK(atomic_load(&ran_on[i]) == 0);
    }
    CHECK(pfd_thread_pool_set_threads(pool, 4) == 4);
    for (int tries = 0; tries < 1000 && run_loop(pool, 0) < 4; tries++) continue;
    CHECK(atomic_load(&most_at_once) == 4);
    pfd_pool_counts before = pfd_thread_pool_counts(pool);
    (void)usleep(2000);
    pfd_pool_counts after = pfd_thread_pool_counts(pool);
    int64_t thread_ns = after.thread_ns - before.thread_ns;
    CHECK(thread_ns >= INT64_C(4) * 2000 * 1000);
    CHECK(after.idle_ns - before.idle_ns <= thread_ns && after.idle_ns > before.idle_ns);
    CHECK(after.num_chunks == before.num_chunks && after.num_chunks % 16 == 0);
    pfd_thread_pool_free(pool);
}

/* ---- Calls of the system --------------------------------------------------------------------- */

static void test_what_an_errno_means(void)
{
    CHECK(pfd_errno_class(EINTR, 0) == PFD_REASON_TRANSIENT);
    CHECK(pfd_errno_class(ESTALE, 0) == PFD_REASON_TRANSIENT);
    CHECK(pfd_errno_class(EIO, 1) == PFD_REASON_TRANSIENT);
    CHECK(pfd_errno_class(EIO, 0) == PFD_REASON_ENVIRONMENT);
    CHECK(pfd_errno_class(EACCES, 1) == PFD_REASON_ENVIRONMENT);
    CHECK(pfd_errno_class(EMFILE, 0) == PFD_REASON_ENVIRONMENT);
    CHECK(pfd_errno_class(12345, 0) == PFD_REASON_ENVIRONMENT);
    CHECK(pfd_errno_class(ENOENT, 0) == PFD_REASON_NONE);
    CHECK(pfd_status_of_errno(ENOENT) == PFD_CORRUPT_DATA);
    CHECK(pfd_status_of_errno(ENOMEM) == PFD_OUT_OF_MEMORY);
    CHECK(pfd_status_of_errno(EACCES) == PFD_IO);
}

static void test_calls_that_are_not_tried_again(void)
{
    _Atomic int64_t retries = 0;
    pfd_bounds bounds = {.retries = &retries};
    uint8_t byte;
    int reason, ends[2];
    CHECK(pfd_sys_open(&bounds, AT_FDCWD, "/nowhere/at/all", 0) == -1 && errno == ENOENT);
    CHECK(retries == 0); /* damage stays damage */
    REQUIRE(pipe(ends) == 0);
    CHECK(pfd_sys_read(&bounds, ends[0], 0, 1, &byte, &reason) == 0 && reason == ESPIPE);
    CHECK(retries == 0);
    close(ends[0]);
    close(ends[1]);
}

static void test_looks_at_a_file(void)
{
    struct stat before = {.st_size = 5, .st_nlink = 1, .st_mode = 0644}, now = before;
    CHECK(pfd_is_unchanged(&before, &now));
    now.st_ctim.tv_nsec = 1;
    CHECK(!pfd_is_unchanged(&before, &now)); /* written, and its time set back */
    now.st_nlink = 2;
    CHECK(pfd_is_unchanged(&before, &now)); /* a hard link */
    now.st_mtim.tv_nsec = 1;
    CHECK(!pfd_is_unchanged(&before, &now));
    now = before;
    now.st_size = 6;
    CHECK(!pfd_is_unchanged(&before, &now));
}

int main(void)
{
    test_what_an_errno_means();
    test_calls_that_are_not_tried_again();
    test_looks_at_a_file();
    test_hash();
    test_random_golden();
    test_random_keys_differ();
    test_random_below();
    test_permutation_is_bijection();
    test_large_permutation_is_injective();
    test_permutation_is_fair();
    test_cgroup();
    test_cpu();
    test_scratch();
    test_loans();
    test_error();
    test_error_of_an_older_plugin();
    test_powers_of_five();
    test_parse_double();
    test_order_of_loops();
    test_pool_changes_its_size();
    return report();
}
