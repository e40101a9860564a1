/* A fuzzer that needs nothing but a C compiler.
 *
 *   own_fuzz JOB FILE SECONDS LIMIT_MS SEED FOLDER...
 *
 * Runs the files of the folders in the place of FILE, and then, for so many seconds, changed copies
 * of these. Adds to the first folder each copy that makes the op behave in a new way, or run new
 * code. A finding, a leak or a crash ends the fuzzer; FILE then has the bytes that caused it.  A
 * run that takes LIMIT_MS of processor time, or far longer by the clock, counts as endless.  Exit
 * status 1: there is a finding on stdout, as in job.h. */
#include "job.h"
#include "target.h"

#include <dirent.h>
#include <inttypes.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- Which code of the plugin ran, and which numbers it compared ----------------------------- */

/* The compiler calls the functions of -fsanitize-coverage=trace-pc,trace-cmp in the plugin; without
 * this option nothing is recorded. */

typedef struct comparison {
    uint64_t left, right; /* two numbers that differed */
    int width;            /* bytes of each */
} comparison;

enum { most_comparisons = 256 };
enum { num_blocks = 1 << 16 };
static uint8_t counts[num_blocks], seen[num_blocks];
static comparison last[most_comparisons];
static unsigned num_compared;

static void coverage_reset(void)
{
    memset(counts, 0, sizeof counts);
    num_compared = 0;
}

/* Returns a bit for 1, 2, 3, 4 to 7, 8 to 15 times ... */
static uint8_t bit_of(uint8_t count)
{
    static const uint8_t limits[] = {1, 2, 3, 4, 8, 16, 32, 128};
    int bit = 7;
    while (bit > 0 && count < limits[bit]) bit--;
    return (uint8_t)(1 << bit);
}

/* Whether code ran since the reset for the first time, or more often than ever. */
static int coverage_is_new(void)
{
    int is_new = 0;
    for (int i = 0; i < num_blocks; i++) {
        if (!counts[i] || (seen[i] & bit_of(counts[i]))) continue;
        seen[i] = (uint8_t)(seen[i] | bit_of(counts[i]));
        is_new = 1;
    }
    return is_new;
}

/* The i-th last comparison since the reset; NULL: there were fewer, or i is most_comparisons. */
static const comparison *coverage_comparison(int i)
{
    if (i < 0 || i >= most_comparisons || (unsigned)i >= num_compared) return NULL;
    return &last[(num_compared - 1 - (unsigned)i) % most_comparisons];
}

static void record(uint64_t left, uint64_t right, int width)
{
    if (left != right) last[num_compared++ % most_comparisons] = (comparison){left, right, width};
}

/* ---- What the compiler calls ----------------------------------------------------------------- */
void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_cmp1(uint8_t left, uint8_t right);
void __sanitizer_cov_trace_cmp2(uint16_t left, uint16_t right);
void __sanitizer_cov_trace_cmp4(uint32_t left, uint32_t right);
void __sanitizer_cov_trace_cmp8(uint64_t left, uint64_t right);
void __sanitizer_cov_trace_const_cmp1(uint8_t left, uint8_t right);
void __sanitizer_cov_trace_const_cmp2(uint16_t left, uint16_t right);
void __sanitizer_cov_trace_const_cmp4(uint32_t left, uint32_t right);
void __sanitizer_cov_trace_const_cmp8(uint64_t left, uint64_t right);
void __sanitizer_cov_trace_cmpf(float left, float right);
void __sanitizer_cov_trace_cmpd(double left, double right);
void __sanitizer_cov_trace_switch(uint64_t number, void *table);

void __sanitizer_cov_trace_pc(void)
{
    uintptr_t place = (uintptr_t)__builtin_return_address(0);
    uint8_t *count = &counts[(place ^ place >> 16) % num_blocks];
    if (*count < 255) ++*count;
}

#define RECORD(name, type, width)                        \
    void __sanitizer_cov_trace_##name(type left, type right) \
    {                                                    \
        record(left, right, width);                      \
    }

RECORD(cmp1, uint8_t, 1)
RECORD(cmp2, uint16_t, 2)
RECORD(cmp4, uint32_t, 4)
RECORD(cmp8, uint64_t, 8)
RECORD(const_cmp1, uint8_t, 1)
RECORD(const_cmp2, uint16_t, 2)
RECORD(const_cmp4, uint32_t, 4)
RECORD(const_cmp8, uint64_t, 8)

void __sanitizer_cov_trace_cmpf(float left, float right)
{
    uint32_t bits[2];
    memcpy(bits, (float[]){left, right}, sizeof bits);
    record(bits[0], bits[1], 4);
}

void __sanitizer_cov_trace_cmpd(double left, double right)
{
    uint64_t bits[2];
    memcpy(bits, (double[]){left, right}, sizeof bits);
    record(bits[0], bits[1], 8);
}

/* `table` has the number of cases, the bits of the number, and the cases. */
void __sanitizer_cov_trace_switch(uint64_t number, void *table)
{
    const uint64_t *cases = table;
    for (uint64_t i = 0; i < cases[0] && i < 16; i++)
        record(number, cases[2 + i], (int)(cases[1] / 8));
}

/* ---- Changes of an input: bits, numbers, blocks, words of other inputs ----------------------- */
typedef struct fuzz_input {
    uint8_t *data;
    size_t size;
} fuzz_input;

enum { most_input = 1 << 20 }; /* bytes of an input, and of the room that mutate() works in */
static uint64_t state;

/* Seeds pseudo-random numbers, which are the same for the same seed. */
static void mutate_seed(uint64_t seed)
{
    state = seed * 0x9E3779B97F4A7C15 + 1;
}

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545F4914F6CDD1D >> 11;
}

/* 0 if n is 0 */
static size_t mutate_below(size_t n)
{
    return n ? (size_t)(draw() % n) : 0;
}

static void write_number(uint8_t *at, uint64_t number, int width, int is_big)
{
    for (int i = 0; i < width; i++)
        at[is_big ? width - 1 - i : i] = (uint8_t)(number >> 8 * i);
}

static int width_within(size_t size)
{
    int width = 1 << mutate_below(4);
    while ((size_t)width > size) width /= 2;
    return width;
}

/* ---- Bytes in their place -------------------------------------------------------------------- */
static void flip_bit(fuzz_input *input)
{
    input->data[mutate_below(input->size)] ^= (uint8_t)(1 << mutate_below(8));
}

static void set_byte(fuzz_input *input)
{
    input->data[mutate_below(input->size)] = (uint8_t)draw();
}

static void add_to_number(fuzz_input *input)
{
    int width = width_within(input->size), is_big = (int)mutate_below(2);
    uint8_t *at = input->data + mutate_below(input->size - (size_t)width + 1);
    uint64_t number = 0;
    for (int i = 0; i < width; i++)
        number |= (uint64_t)at[is_big ? width - 1 - i : i] << 8 * i;
    write_number(at, number + mutate_below(33) - 16, width, is_big);
}

static void set_length(fuzz_input *input)
{
    int width = width_within(input->size), is_big = (int)mutate_below(2);
    uint64_t size = input->size;
    const uint64_t lengths[] = {0,          1,         (uint64_t)-1, UINT64_MAX >> (65 - 8 * width),
                                size,       size + 1,  size - 1,     (uint64_t)1 << (8 * width - 1),
                                255,        256,       65535,        65536,
                                0x7FFFFFFF, 1u << 31,  size * 2,     16};
    uint64_t length = lengths[mutate_below(sizeof lengths / sizeof *lengths)];
    write_number(input->data + mutate_below(input->size - (size_t)width + 1), length, width,
                 is_big);
}

static void fill(fuzz_input *input)
{
    size_t from = mutate_below(input->size), size = 1 + mutate_below(input->size - from);
    memset(input->data + from, mutate_below(2) ? 0 : (int)(draw() & 255), size < 32 ? size : 32);
}

static void copy_within(fuzz_input *input)
{
    size_t size = 1 + mutate_below(input->size < 64 ? input->size : 64);
    size_t from = mutate_below(input->size - size + 1), to = mutate_below(input->size - size + 1);
    memmove(input->data + to, input->data + from, size);
}

static void copy_word(fuzz_input *input, const fuzz_input *other)
{
    size_t size = 1 + mutate_below(8);
    if (size > other->size || size > input->size) return;
    memcpy(input->data + mutate_below(input->size - size + 1),
           other->data + mutate_below(other->size - size + 1), size);
}

static size_t find(const fuzz_input *input, const uint8_t *word, size_t width)
{
    size_t places = input->size >= width ? input->size - width + 1 : 0;
    size_t from = mutate_below(places);
    for (size_t i = 0; i < places; i++) {
        size_t place = (from + i) % places;
        if (!memcmp(input->data + place, word, width)) return place;
    }
    return input->size;
}

/* Finds one side of a comparison in the input, by its bytes in either order, and puts the other
 * side there. Returns whether it found one. */
static int mutate_to_equal(fuzz_input *input, const comparison *differed)
{
    for (int way = 0; way < 4; way++) {
        uint64_t old = way & 1 ? differed->left : differed->right;
        uint64_t wanted = way & 1 ? differed->right : differed->left;
        uint8_t word[8];
        write_number(word, old, differed->width, way & 2);
        size_t place = find(input, word, (size_t)differed->width);
        if (place == input->size) continue;
        write_number(input->data + place, wanted, differed->width, way & 2);
        return 1;
    }
    return 0;
}

static void set_compared(fuzz_input *input)
{
    const comparison *one = coverage_comparison((int)mutate_below(most_comparisons));
    if (one) (void)mutate_to_equal(input, one);
}

/* ---- Another size ---------------------------------------------------------------------------- */
static void truncate_it(fuzz_input *input)
{
    input->size = mutate_below(input->size);
}

static void remove_block(fuzz_input *input)
{
    size_t from = mutate_below(input->size), size = 1 + mutate_below(input->size - from);
    if (mutate_below(2) && size > 8) size = 1 + mutate_below(8);
    memmove(input->data + from, input->data + from + size, input->size - from - size);
    input->size -= size;
}

static void insert(fuzz_input *input, size_t most, const fuzz_input *other)
{
    size_t from = mutate_below(other->size), size = 1 + mutate_below(other->size - from);
    size_t to = mutate_below(input->size + 1);
    if (!other->size || input->size + size > most) return;
    memmove(input->data + to + size, input->data + to, input->size - to);
    memcpy(input->data + to, other->data + from, size);
    input->size += size;
}

static void end_as(fuzz_input *input, size_t most, const fuzz_input *other)
{
    size_t from = mutate_below(other->size), size = other->size - from;
    size_t to = mutate_below(input->size + 1);
    if (to + size > most) return;
    memcpy(input->data + to, other->data + from, size);
    input->size = to + size;
}

/* Changes the input in a few ways at random, within `most` bytes.
 *   room    has most_input bytes
 *   others  of whose bytes some may be copied; there is at least one */
static void mutate(fuzz_input *room, size_t most, const fuzz_input *others, size_t num_others)
{
    size_t changes = (size_t)1 << mutate_below(4);
    for (size_t i = 0; i < changes; i++) {
        const fuzz_input *other = &others[mutate_below(num_others)];
        size_t way = room->size ? mutate_below(14) : 13;
        switch (way) {
        case 0: flip_bit(room); break;
        case 1: set_byte(room); break;
        case 2: add_to_number(room); break;
        case 3: case 4: set_length(room); break;
        case 5: fill(room); break;
        case 6: copy_within(room); break;
        case 7: copy_word(room, other); break;
        case 8: case 9: case 10: set_compared(room); break;
        case 11: mutate_below(2) ? truncate_it(room) : remove_block(room); break;
        case 12: end_as(room, most, other); break;
        default: insert(room, most, other); break;
        }
    }
}


enum { most_kept = 1 << 14, num_slots = 1 << 16, most_of_a_kind = 4, recent = 8, wait_factor = 10 };
static fuzz_input kept[most_kept], room;
static size_t num_kept;
static uint8_t behaviours[num_slots], rows[num_slots];
static const char *corpus;

static unsigned patience; /* seconds */
static int64_t num_runs;

/* AddressSanitizer's function; NULL in a program without it. */
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
    (void)alarm(patience); /* it ends a process whose op waits */
    target_outcome outcome = target_try(room.data, room.size);
    (void)alarm(0);
    num_runs++;
    *grown = bytes_in_use() - before;
    return outcome;
}

/* Memory that is kept once is a cache; a leak grows each time by the same. */
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

/* Repairs a checksum or a size: the last number that it is compared with is the right one. */
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
