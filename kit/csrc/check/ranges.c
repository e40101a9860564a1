/* Computes the same rows alone and in ranges of many lengths: loops over blocks of rows, counters
 * of a byte and branches for one row show only at some of them. */
#include "check/attempt.h"
#include "check/guard.h"
#include "check/visit_records.h"
#include "core/error.h"
#include "core/scratch.h"
#include "pyflowdata_kit/kit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- The lengths of ranges, and what the lengths that show a fault have in common ------------ */
#define LENGTH_WORDS 240

static const int64_t row_counts[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                  11, 12, 13, 14, 15, 16, 17, 65, 257, PFD_KIT_MOST_LENGTH};
enum { NUM_LENGTHS = sizeof row_counts / sizeof *row_counts };

/* The index of a length; the last one for a length that is not in the table. */
static int32_t length_number(int64_t rows)
{
    for (int32_t i = 0; i < NUM_LENGTHS; i++)
        if (row_counts[i] == rows) return i;
    return NUM_LENGTHS - 1;
}

/* The longest length that showed no fault, if every length with a fault is longer; 0 otherwise. */
static int64_t threshold(uint32_t found, uint32_t tried)
{
    int64_t most = 0;
    for (int32_t i = 0; i < NUM_LENGTHS; i++) {
        uint32_t bit = 1u << i;
        if (tried & ~found & bit) most = row_counts[i];
        if (tried & ~found & bit && found & (bit - 1)) return 0;
    }
    return most;
}

/* Enough lengths to see a rule. */
static int32_t is_many(uint32_t tried)
{
    return __builtin_popcount(tried) >= 8;
}

/* Whether `found` are all tried lengths that leave this rest, or (negated) all that do not. */
static int32_t is_rest(uint32_t found, uint32_t tried, int64_t divisor, int64_t rest,
                       int32_t negated)
{
    uint32_t expected = 0;
    for (int32_t i = 0; i < NUM_LENGTHS; i++)
        if ((row_counts[i] % divisor == rest) != negated) expected |= 1u << i;
    return (expected & tried) == found;
}

static int32_t rest_words(uint32_t found, uint32_t tried, char *out, size_t size)
{
    for (int64_t divisor = 2; divisor <= 16; divisor *= 2) {
        if (is_rest(found, tried, divisor, 0, 1)) {
            snprintf(out, size, "Where rows %% %" PRId64 " is not 0: ", divisor);
            return 1;
        }
        for (int64_t rest = 0; rest < divisor; rest++) {
            if (!is_rest(found, tried, divisor, rest, 0)) continue;
            snprintf(out, size, "Where rows %% %" PRId64 " is %" PRId64 ": ", divisor, rest);
            return 1;
        }
    }
    return 0;
}

/* "In ranges of 2, 6 and 10 rows (rows % 4 == 2): " for lengths with a bit in `found`, among those
 * tried; "" if a fault shows at all lengths.  Returns PFD_KIT_NO_PATTERN ... */
static int32_t length_words(uint32_t found, uint32_t tried, char out[LENGTH_WORDS])
{
    const size_t size = LENGTH_WORDS;
    size_t used;
    int64_t most = threshold(found, tried);
    out[0] = 0;
    if ((found & tried) == tried) return PFD_KIT_NO_PATTERN;
    if (found == 1) {
        snprintf(out, size, "In a range of one row, and in no longer one: ");
        return PFD_KIT_PATTERN_ONE;
    }
    if (most > 1 && is_many(tried)) {
        snprintf(out, size, "In ranges of more than %" PRId64 " rows: ", most);
        return PFD_KIT_PATTERN_MANY;
    }
    if (is_many(tried) && rest_words(found, tried, out, size)) return PFD_KIT_PATTERN_BLOCKS;
    used = (size_t)snprintf(out, size, "In ranges of");
    for (int32_t i = 0; i < NUM_LENGTHS && used < size; i++)
        if (found & (1u << i))
            used += (size_t)snprintf(out + used, size - used, " %" PRId64 ",", row_counts[i]);
    if (used < size)
        snprintf(out + used - 1, size - used + 1, " rows, and not in others%s: ",
                 is_many(tried) ? " of 1 to 17, 65, 257 and 4097" : "");
    return PFD_KIT_NO_PATTERN;
}

/* ---- A trial --------------------------------------------------------------------------------- */
enum { most_rows = 16, most_faults = 6 };

static const int64_t MOST_REGIONS = 8000; /* regions that are guarded at once */

static const int64_t MOST_BYTES = 8 << 20; /* inputs and outputs of a range */

static const int64_t MOST_NS = 40 * 1000 * 1000; /* expected time of a range */

/* What was found at some lengths. */
typedef struct range_fault {
    char id[32], text[640]; /* from the shortest range that shows it */
    uint32_t lengths;       /* one bit per length */
} range_fault;

typedef struct range_trial {
    pfd_kit_call *call;
    const pfd_tensor *const *inputs; /* have the rows that are given */
    pfd_record records[most_rows];   /* records that can be computed alone */
    int64_t from[most_rows];         /* their indexes in the given rows */
    pfd_kit_attempt alone[most_rows];
    int64_t n, num_given;
    const char *words[most_rows]; /* what each made-up row is */
    pfd_kit_attempt together;     /* all of them in one range */
    int32_t has_together;
    int64_t row_ns, row_regions; /* of a row in the last call */
    pfd_kit_run_state *run;      /* gets the faults at the end */
    pfd_kit_run_state held;      /* the same run with its own result */
    pfd_kit_result result;
    range_fault faults[most_faults];
    int32_t num_faults;
    uint32_t tried, apart; /* a bit per length; apart: rows differ from `together` */
    pfd_tensor *tensors;   /* of the current range */
    const pfd_tensor **ports;
    pfd_scratch *memory; /* holds the tensors */
    pfd_error err;
} range_trial;

/* ---- What is found --------------------------------------------------------------------------- */
static range_fault *fault_of(range_trial *t, const char *id)
{
    for (int32_t i = 0; i < t->num_faults; i++)
        if (!strcmp(t->faults[i].id, id)) return &t->faults[i];
    if (t->num_faults == most_faults) return NULL;
    range_fault *fault = &t->faults[t->num_faults++];
    size_t size = strnlen(id, sizeof fault->id - 1);
    memmove(fault->id, id, size); /* the compiler thinks that they may overlap */
    fault->id[size] = '\0';
    return fault;
}

static void note(range_trial *t, const char *id, const char *text, int32_t length)
{
    range_fault *fault = fault_of(t, id);
    if (!fault) return;
    if (!fault->lengths) snprintf(fault->text, sizeof fault->text, "%s", text);
    fault->lengths |= 1u << length;
}

static int32_t depends_on_length(const char *id)
{
    static const char *const ids[] = {"row-unwritten", "bytes-unwritten", "infer-differs",
                                      "not-repeatable", "range-dependent"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (!strcmp(ids[i], id)) return 1;
    return 0;
}

/* Takes what the last calls found; reports at once what does not depend on the length. */
static void collect(range_trial *t, int32_t length)
{
    for (int64_t i = 0; i < t->result.num_findings; i++) {
        const pfd_kit_finding *found = &t->result.findings[i];
        if (depends_on_length(found->id))
            note(t, found->id, found->text, length);
        else
            pfd_kit_report(t->run, found->id, "%s", found->text);
    }
    t->result.num_findings = 0;
}

static void report_all(range_trial *t)
{
    for (int32_t i = 0; i < t->num_faults; i++) {
        const range_fault *fault = &t->faults[i];
        char words[LENGTH_WORDS];
        int32_t differs = !strcmp(fault->id, "range-dependent");
        uint32_t compared = t->tried & ~1u;
        if (differs && !t->apart && fault->lengths == compared)
            pfd_kit_report_pattern(t->run, fault->id, PFD_KIT_PATTERN_ONE,
                           "a range of one row is computed otherwise than longer ones, which agree "
                           "with each other: %s; a row must depend on its own record alone, also "
                           "where it is the only one of a batch",
                                   fault->text);
        else {
            int32_t pattern =
                length_words(fault->lengths, differs ? compared : t->tried, words);
            pfd_kit_report_pattern(t->run, fault->id, pattern, "%s%s", words, fault->text);
        }
    }
}

/* ---- Rows alone ------------------------------------------------------------------------------ */
static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Makes the inputs of a range of n rows; the rows `from` repeat in it. 0: out of memory. */
static int32_t make_inputs(range_trial *t, const int64_t *from, int64_t num_from, int64_t n)
{
    uint32_t count = t->held.node->op->op->num_inputs;
    pfd_scratch_reset(t->memory);
    for (uint32_t i = 0; i < count; i++) {
        const pfd_tensor *in = t->inputs[i];
        int64_t row = in->is_ragged ? (int64_t)sizeof *in->rows : in->row_bytes;
        const uint8_t *data = in->is_ragged ? (const void *)in->rows : in->data;
        uint8_t *copy = pfd_scratch_alloc(t->memory, n * row + 1);
        if (!copy) return 0;
        for (int64_t k = 0; k < n; k++)
            memcpy(copy + k * row, data + from[k % num_from] * row, (size_t)row);
        t->tensors[i] = *in;
        t->tensors[i].data = in->is_ragged ? NULL : copy;
        t->tensors[i].rows = in->is_ragged ? (void *)copy : NULL;
        t->ports[i] = &t->tensors[i];
    }
    return 1;
}

static int64_t regions_used(range_trial *t)
{
    return atomic_load(&t->held.num_allocs) + atomic_load(&t->held.num_reads);
}

/* Runs twice, in other memory, to see what is not written. A made-up row alone runs twice only if
 * it seems not to be written, because all rows follow together. */
static pfd_status run_twice(range_trial *t, pfd_kit_attempt *a, const pfd_record *records)
{
    int32_t is_short = a->n == 1 && t->call->row_words && t->num_given > 1;
    pfd_error_clear(&t->err);
    if (!pfd_kit_attempt_open(t->call, a, records, t->ports)) return PFD_OUT_OF_MEMORY;
    int64_t begin = now_ns(), regions = regions_used(t);
    PFD_TRY(pfd_kit_attempt_run(t->call, a, &t->err));
    t->row_ns = (now_ns() - begin) / a->n;
    t->row_regions = (regions_used(t) - regions) / a->n;
    if (is_short && t->n > 0 && !pfd_kit_looks_unwritten(a)) return PFD_OK;
    return pfd_kit_attempt_repeat(t->call, a, records, t->ports, &t->err);
}

/* Keeps the rows that can be computed. */
static void compute_alone(range_trial *t, const pfd_record *records, int64_t n)
{
    const char *const *words = t->call->row_words;
    for (int64_t i = 0; i < n; i++) {
        pfd_kit_attempt *a = &t->alone[t->n];
        *a = (pfd_kit_attempt){.node = t->held.node, .n = 1, .period = 1};
        if (words) t->call->row_words = words + i;
        if (make_inputs(t, &i, 1, 1) && run_twice(t, a, &records[i]) == PFD_OK) {
            if (words) t->words[t->n] = words[i];
            t->from[t->n] = i;
            t->records[t->n++] = records[i];
        } else {
            pfd_kit_attempt_close(t->call, a);
        }
    }
    if (words) t->call->row_words = t->words;
    t->tried |= 1;
    collect(t, 0);
}

/* ---- Ranges ---------------------------------------------------------------------------------- */
static void compare_with_alone(range_trial *t, const pfd_kit_attempt *a, int32_t length)
{
    pfd_kit_difference found;
    char words[PFD_KIT_ROW_WORDS], bytes[80] = "its size";
    for (int64_t row = 0; row < a->n; row++) {
        if (!pfd_kit_rows_differ(a, row, &t->alone[row % t->n], 0, &found)) continue;
        if (found.byte >= 0)
            snprintf(bytes, sizeof bytes, "byte %" PRId64 " is 0x%02x in place of 0x%02x",
                     found.byte, found.one, found.two);
        pfd_kit_report(t->call->run, "range-dependent",
                       "row %" PRId64 " of a range of %" PRId64
                       " rows (%s) is not the row that compute() gives for it alone: in output "
                       "'%s' %s%s; a row must depend on its own record alone, not on how many "
                       "rows a call has",
                       row, a->n, pfd_kit_row_words(t->call, a, row, words),
                       a->node->op->op->outputs[found.output].name, bytes,
                       found.byte >= 0 ? "" : " is another one");
        break;
    }
    for (int64_t row = 0; t->has_together && row < a->n; row++) {
        if (!pfd_kit_rows_differ(a, row, &t->together, row % t->n, &found)) continue;
        t->apart |= 1u << length;
        break;
    }
}

static void report_failure(range_trial *t, int64_t n, pfd_status status)
{
    if (status == PFD_OUT_OF_MEMORY) return;
    pfd_kit_report(t->call->run, "range-dependent",
                   "compute() fails for a range of %" PRId64
                   " rows with status %d (%.200s), each of which it computes alone: a row must "
                   "depend on its own record alone, not on how many rows a call has",
                   n, status, t->err.message);
}

/* Computes one range; the caller closes `a`. */
static pfd_status compute_range(range_trial *t, pfd_kit_attempt *a, int64_t n, int32_t length)
{
    pfd_record *records = calloc((size_t)n, sizeof *records);
    *a = (pfd_kit_attempt){.node = t->held.node, .n = n, .period = t->n};
    if (!records || !make_inputs(t, t->from, t->n, n)) {
        free(records);
        return PFD_OUT_OF_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) records[i] = t->records[i % t->n];
    int32_t whole = (a->node->op->op->flags & PFD_WHOLE_BATCH) != 0;
    pfd_status status = run_twice(t, a, records);
    free(records);
    t->tried |= 1u << length;
    if (status == PFD_OK && !whole && t->result.num_findings == 0)
        compare_with_alone(t, a, length);
    else if (status != PFD_OK && !whole)
        report_failure(t, n, status);
    collect(t, length);
    return status;
}

static int64_t row_bytes(const range_trial *t)
{
    int64_t bytes = 0;
    const pfd_op *op = t->held.node->op->op;
    for (uint32_t i = 0; i < op->num_outputs; i++) bytes += t->alone[0].outputs[i].row_bytes;
    for (uint32_t i = 0; i < op->num_inputs; i++) bytes += t->inputs[i]->row_bytes;
    return bytes;
}

/* Returns the length of the longest range. */
static int64_t compute_ranges(range_trial *t, int64_t most)
{
    int64_t bytes = row_bytes(t), longest = t->n > 2 ? t->n : 2;
    if (t->num_given == 1 && most < 2) return 1;
    t->has_together =
        compute_range(t, &t->together, longest, length_number(longest)) == PFD_OK;
    int64_t row_ns = t->row_ns, row_regions = t->row_regions;
    for (int32_t i = 1; i < NUM_LENGTHS && row_counts[i] <= most; i++) {
        int64_t n = row_counts[i];
        pfd_kit_attempt a;
        if (n == t->together.n || n * bytes > MOST_BYTES || 2 * n * row_ns > MOST_NS ||
            2 * n * row_regions > MOST_REGIONS)
            continue;
        (void)compute_range(t, &a, n, i);
        pfd_kit_attempt_close(t->call, &a);
        if (n > longest) longest = n;
    }
    return longest;
}

int64_t pfd_kit_try_ranges(pfd_kit_call *call, const pfd_tensor *const *inputs,
                           const pfd_record *records, int64_t n, int64_t most)
{
    range_trial *t = calloc(1, sizeof *t);
    uint32_t count = call->run->node->op->op->num_inputs;
    const char *const *words = call->row_words;
    int64_t longest = 0;
    if (!t) return 0;
    t->tensors = calloc(count + 1, sizeof *t->tensors);
    t->ports = calloc(count + 1, sizeof(pfd_tensor *));
    t->memory = pfd_scratch_create();
    t->call = call;
    t->inputs = inputs;
    t->num_given = n;
    t->run = call->run;
    t->held = *call->run;
    t->held.result = &t->result;
    pfd_error_init(&t->err);
    if (t->tensors && t->ports && t->memory) {
        call->run = &t->held;
        compute_alone(t, records, n < most_rows ? n : most_rows);
        if (t->n > 0) longest = compute_ranges(t, most);
        pfd_kit_attempt_close(call, &t->together);
        for (int64_t i = 0; i < t->n; i++) pfd_kit_attempt_close(call, &t->alone[i]);
        call->run = t->run;
        call->row_words = words;
        report_all(t);
    }
    pfd_scratch_free(t->memory);
    free(t->tensors);
    free(t->ports);
    free(t);
    return longest;
}

/* ---- Records of the sample, asked for and computed in ranges --------------------------------- */
enum { most_records = 16, most_asked = 257 };

static pfd_status read_records(pfd_kit_call *call, const pfd_kit_source *source,
                               pfd_kit_scratch *scratch, pfd_record *records, int64_t *n,
                               pfd_error *err)
{
    if (source->size >= 0) {
        int64_t ordinals[most_records];
        *n = source->size < most_records ? source->size : most_records;
        for (int64_t i = 0; i < *n; i++) ordinals[i] = pfd_kit_ordinal(i, *n, source->size);
        return *n ? pfd_kit_source_at(call, source, ordinals, *n, scratch, records, err) : PFD_OK;
    }
    PFD_TRY(pfd_kit_source_seek(call, source, 0, err));
    for (*n = 0; *n < most_records;) {
        int64_t got;
        pfd_status status = pfd_kit_source_next(call, source, most_records - *n, scratch,
                                                records + *n, &got, err);
        if (status == PFD_END) return PFD_OK;
        PFD_TRY(status);
        *n += got;
    }
    return PFD_OK;
}

static pfd_status compare_asked(pfd_kit_call *call, const pfd_kit_source *source,
                                const pfd_record *known, int64_t n, int64_t asked,
                                const int64_t *ordinals, pfd_record *records, pfd_error *err)
{
    pfd_kit_scratch scratch;
    if (!pfd_kit_scratch_open(&scratch)) return pfd_fail_memory(err, 0, "a scratch");
    pfd_status status = pfd_kit_source_at(call, source, ordinals, asked, &scratch, records, err);
    for (int64_t i = 0; status == PFD_OK && i < asked; i++) {
        if (pfd_kit_hash_record(call, &records[i]) == pfd_kit_hash_record(call, &known[i % n]))
            continue;
        pfd_kit_report(call->run, "at-not-pure",
                       "record %" PRId64 " is another one when %" PRId64
                       " ordinals are asked for at once, of which it is number %" PRId64
                       ": at() must describe each as if it were alone, for any number of them",
                       ordinals[i], asked, i);
        break;
    }
    pfd_kit_scratch_reset(&scratch, call->run, "at()");
    pfd_kit_scratch_close(&scratch);
    return status;
}

static pfd_status ask(pfd_kit_call *call, const pfd_kit_source *source, const pfd_record *known,
                      int64_t n, pfd_error *err)
{
    int64_t *ordinals = calloc(most_asked, sizeof *ordinals);
    pfd_record *records = calloc(most_asked, sizeof *records);
    pfd_status status =
        ordinals && records ? PFD_OK : pfd_fail_memory(err, most_asked, "records");
    for (int64_t i = 0; status == PFD_OK && i < most_asked; i++)
        ordinals[i] = known[i % n].ordinal;
    for (int32_t i = 0; status == PFD_OK && i < NUM_LENGTHS; i++)
        if (row_counts[i] <= most_asked)
            status = compare_asked(call, source, known, n, row_counts[i], ordinals, records,
                                   err);
    free(ordinals);
    free(records);
    return status;
}

pfd_status pfd_kit_try_sample_ranges(pfd_kit_call *call, const pfd_kit_source *source,
                                     int64_t *longest, pfd_error *err)
{
    const pfd_node *node = call->run->node;
    pfd_record records[most_records];
    int64_t n = 0;
    pfd_kit_scratch scratch = {NULL, -1};
    pfd_scratch *plain = pfd_scratch_create();
    const pfd_tensor **inputs = calloc(node->op->op->num_inputs + 1, sizeof *inputs);
    pfd_status status = plain && inputs && pfd_kit_scratch_open(&scratch)
                            ? read_records(call, source, &scratch, records, &n, err)
                            : pfd_fail_memory(err, most_records, "records");
    *longest = 0;
    if (status == PFD_OK && n > 0) {
        if (source->is_checked && source->size >= 0) status = ask(call, source, records, n, err);
        if (status == PFD_OK)
            status = pfd_kit_inputs_make(node, records, n, 0, source->self, plain, inputs, err);
        if (status == PFD_OK)
            *longest = pfd_kit_try_ranges(call, inputs, records, n, PFD_KIT_MOST_LENGTH);
    }
    pfd_kit_scratch_reset(&scratch, call->run, "at()");
    pfd_kit_scratch_close(&scratch);
    pfd_scratch_free(plain);
    free(inputs);
    return status;
}
