/* A fuzzer that needs nothing but a C compiler.
 *
 *   own_fuzz JOB FILE SECONDS LIMIT_MS SEED FOLDER...
 *
 * The files of the folders are run in the place of FILE, and then, for so many seconds, changed
 * copies of them.  What makes the op behave in a new way, or run new code, is added to the first
 * folder.  A finding, a leak or a crash ends it: FILE then has the bytes that did it.  A run that
 * takes LIMIT_MS of processor time, or far longer by the clock, counts as endless.  Exit status 1:
 * there is a finding on stdout, as in job.h. */
#include "job.h"
#include "mutate.h"
#include "target.h"

#include <dirent.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { most_kept = 1 << 14, num_slots = 1 << 16, most_of_a_kind = 4, recent = 8, wait_factor = 10 };

static fuzz_input kept[most_kept], room;
static size_t num_kept;
static uint8_t behaviours[num_slots], rows[num_slots];
static const char *corpus;
static unsigned patience; /* seconds */
static int64_t num_runs;

/* Of AddressSanitizer, where it is there. */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static _Noreturn void end(int status)
{
    printf("runs\t%" PRId64 "\n", num_runs);
    fflush(stdout);
    _exit(status);
}

/* ---- The corpus ------------------------------------------------------------------------------ */
static fuzz_input *keep(const uint8_t *data, size_t size)
{
    size_t place = num_kept < most_kept ? num_kept++ : mutate_below(most_kept);
    fuzz_input *input = &kept[place];
    free(input->data);
    *input = (fuzz_input){malloc(size + 1), size};
    if (!input->data) job_fail("no memory", "for an input");
    memcpy(input->data, data, size);
    return input;
}

static uint64_t hash_of(const fuzz_input *input)
{
    uint64_t hash = 0xCBF29CE484222325;
    for (size_t i = 0; i < input->size; i++) hash = (hash ^ input->data[i]) * 0x100000001B3;
    return hash;
}

static void save(const fuzz_input *input)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%016" PRIx64, corpus, hash_of(input));
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(input->data, 1, input->size, file) != input->size || fclose(file))
        job_fail("an input cannot be written", path);
}

static void load(const char *folder, const char *name)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) job_fail("an input cannot be read", path);
    size_t size = fread(room.data, 1, most_input, file);
    if (!ferror(file)) (void)keep(room.data, size);
    fclose(file);
}

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && entry->d_type != DT_DIR;
}

static void load_all(const char *folder)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, is_input, alphasort);
    if (n < 0) job_fail("the folder cannot be read", folder);
    for (int i = 0; i < n; i++) {
        load(folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

/* ---- Runs ------------------------------------------------------------------------------------ */
static int64_t bytes_in_use(void)
{
    if (__sanitizer_get_current_allocated_bytes)
        return (int64_t)__sanitizer_get_current_allocated_bytes();
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    struct mallinfo2 info = mallinfo2();
    return (int64_t)(info.uordblks + info.hblkhd);
#else
    return 0;
#endif
}

static target_outcome measure(int64_t *grown)
{
    int64_t before = bytes_in_use();
    (void)alarm(patience); /* which ends the process: the op waits */
    target_outcome outcome = target_try(room.data, room.size);
    (void)alarm(0);
    num_runs++;
    *grown = bytes_in_use() - before;
    return outcome;
}

/* Memory that is kept once is a cache; a leak grows by the same again and again. */
static void look_for_leak(void)
{
    int64_t grown, again;
    (void)measure(&grown);
    for (int i = 0; i < 2; i++) {
        (void)measure(&again);
        if (grown <= 0 || again != grown) return;
    }
    printf("leaks-memory\tone pass over the file leaves %" PRId64 " bytes of malloc() memory: free "
           "it in close(), and where a function fails\n", grown);
    fflush(stdout);
    if (__lsan_do_recoverable_leak_check) (void)__lsan_do_recoverable_leak_check();
    end(1);
}

static int is_new(const target_outcome *outcome)
{
    uint8_t *of_kind = &behaviours[outcome->behaviour % num_slots];
    uint8_t *same = &rows[(outcome->behaviour ^ outcome->rows) % num_slots];
    int differs = *of_kind == 0 || (*of_kind < most_of_a_kind && !*same);
    if (differs) ++*of_kind;
    *same = 1;
    return coverage_is_new() || differs;
}

static target_outcome try_room(int is_of_corpus)
{
    int64_t grown;
    coverage_reset();
    target_outcome outcome = measure(&grown);
    if (outcome.has_findings) end(1);
    if (is_new(&outcome) && !is_of_corpus) save(keep(room.data, room.size));
    if (grown > 0) look_for_leak();
    return outcome;
}

/* What a checksum or a size is compared with last is what it should be. */
static void repair(void)
{
    for (int i = 0; i < recent; i++) {
        const comparison *differed = coverage_comparison(i);
        if (!differed || !mutate_to_equal(&room, differed)) continue;
        if (try_room(0).refused && mutate_below(2)) continue;
        return;
    }
}

static void take(const fuzz_input *input)
{
    room.size = input->size;
    memcpy(room.data, input->data, input->size);
}

static void fuzz(time_t until, size_t most)
{
    while (time(NULL) < until) {
        size_t among = mutate_below(2) && num_kept > recent ? recent : num_kept;
        take(&kept[num_kept - 1 - mutate_below(among)]);
        mutate(&room, most, kept, num_kept);
        if (try_room(0).refused && mutate_below(2)) repair();
    }
}

int main(int argc, char **argv)
{
    if (argc < 7) job_fail("usage", "own_fuzz JOB FILE SECONDS LIMIT_MS SEED FOLDER...");
    corpus = argv[6];
    int32_t limit_ms = (int32_t)strtol(argv[4], NULL, 10);
    patience = (unsigned)(limit_ms / 1000 + 1) * wait_factor;
    time_t until = time(NULL) + strtol(argv[3], NULL, 10);
    mutate_seed(strtoull(argv[5], NULL, 10));
    room.data = malloc(most_input);
    if (!room.data) job_fail("no memory", "for an input");
    target_open(argv[1], argv[2], limit_ms);
    for (int i = 6; i < argc; i++) load_all(argv[i]);
    size_t most = 0, given = num_kept;
    for (size_t i = 0; i < given; i++) {
        take(&kept[i]);
        (void)try_room(1);
        if (room.size > most) most = room.size;
    }
    most = 4 * most + 4096;
    if (given > 0) fuzz(until, most < most_input ? most : most_input);
    end(0);
}
