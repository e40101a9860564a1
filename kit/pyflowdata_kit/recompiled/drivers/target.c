/* Runs the kit over a file with other bytes, and tells how the op behaved. */
#include "target.h"
#include "job.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_path = 4096 };

static pfd_node *node;
static int file;
static int32_t limit_ms;
static uint64_t hashes[2][PFD_KIT_MOST_RECORDS];

void target_open(const char *job, const char *path, int32_t limit)
{
    static char folder[most_path];
    job_read(job);
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (!slash) job_fail("the file has no folder", path);
    *slash = '\0';
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) job_fail("the file cannot be opened", path);
    limit_ms = limit;
    node = job_make(folder);
}

static void add(uint64_t *hash, uint64_t number)
{
    *hash = (*hash ^ number) * 0x100000001B3;
    *hash ^= *hash >> 29;
}

/* Returns a small number as it is, and a larger number as its count of bits. */
static uint64_t magnitude(int64_t number)
{
    uint64_t bits = 0;
    if (number < 8) return (uint64_t)(number + 1);
    for (; number > 0; number /= 2) bits++;
    return 16 + bits;
}

/* Hashes a message without numbers and quoted texts, which differ from input to input. */
static void add_message(uint64_t *hash, const char *text)
{
    int quoted = 0;
    for (; *text; text++) {
        if (*text == '"' || *text == '\'') quoted = !quoted;
        if (!quoted && !isxdigit((unsigned char)*text)) add(hash, (unsigned char)*text);
    }
}

/* Whether a result is allowed: damaged data may be refused, and open() may call it an unknown
 * version. */
static int is_allowed(const pfd_kit_result *result)
{
    const char *function = result->function;
    return result->status == PFD_OK || result->status == PFD_CORRUPT_DATA || !function[0] ||
           (result->status == PFD_UNSUPPORTED && !strcmp(function, "open()"));
}

static target_outcome describe(const pfd_kit_result *result, int64_t num_findings)
{
    target_outcome out = {.refused = result->status != PFD_OK};
    add(&out.behaviour, (uint64_t)(int64_t)result->status);
    add(&out.behaviour, (uint64_t)result->function[0]);
    if (result->status != PFD_OK) add_message(&out.behaviour, result->error.message);
    add(&out.behaviour, magnitude(result->num_records));
    add(&out.behaviour, magnitude(result->num_failed));
    add(&out.behaviour, magnitude(result->num_reads));
    add(&out.behaviour, magnitude(result->num_allocs));
    for (int i = 0; i < PFD_KIT_MOST_RECORDS; i++) add(&out.rows, hashes[1][i]);
    out.has_findings = num_findings > 0;
    if (is_allowed(result)) return out;
    printf("damage-status\t%s gives status %d (%s) for damaged data, which must be "
           "PFD_CORRUPT_DATA: check sizes and counts from the file before they are used\n",
           result->function, result->status, result->error.message);
    fflush(stdout);
    out.has_findings = 1;
    return out;
}

target_outcome target_try(const uint8_t *data, size_t size)
{
    pfd_kit_result result;
    if (pwrite(file, data, size, 0) != (ssize_t)size || ftruncate(file, (off_t)size))
        job_fail("the sample cannot be written", "no room");
    pfd_kit_options options = {.order = PFD_KIT_FORWARD,
                               .range = 8,
                               .num_threads = 1,
                               .limit_ms = limit_ms,
                               .seen = {.records = hashes[0],
                                        .rows = hashes[1],
                                        .capacity = PFD_KIT_MOST_RECORDS}};
    int64_t num_findings = job_run(node, options, &result);
    return describe(&result, num_findings);
}
