/* Writes the values that a user gave into an op's struct, and settles those of every reader. */
#include "registry/attrs.h"

#include "core/error.h"
#include "core/scratch.h"
#include "dataset/dataset.h"
#include "registry/attr_value.h"

#include <inttypes.h>
#include <math.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pfd_attrs {
    pfd_scratch *memory; /* memory of strings and lists */
    alignas(max_align_t) unsigned char data[];
};

pfd_status pfd_attrs_fail_missing(const pfd_attr *row, const char *why, pfd_error *err)
{
    /* The doc follows the colon, so its first letter becomes lower case unless it is part of an
     * abbreviation. */
    char first = row->doc[0];
    int32_t is_word = first >= 'A' && first <= 'Z' && row->doc[1] >= 'a' && row->doc[1] <= 'z';
    return pfd_fail_attr(err, row->name, NULL, PFD_INVALID_ARGUMENT, " is required (%s)%s: %c%s",
                         pfd_attr_type_of(row->type).name, why, is_word ? first - 'A' + 'a' : first,
                         row->doc + 1);
}

/* The index of the value for a row; -1: none. */
static pfd_status find_value(const pfd_attr *row, const pfd_attr_value *values, int64_t num_values,
                             int64_t *found, pfd_error *err)
{
    *found = -1;
    for (int64_t i = 0; i < num_values; i++) {
        if (!values[i].name || strcmp(values[i].name, row->name) != 0) continue;
        if (*found >= 0)
            return pfd_fail_attr(err, row->name, NULL, PFD_INVALID_ARGUMENT, " is given twice");
        *found = i;
    }
    return PFD_OK;
}

static pfd_status fill(pfd_attrs *attrs, const pfd_attr *table, uint32_t count,
                       const pfd_attr_value *values, int64_t num_values, pfd_error *err)
{
    for (uint32_t row = 0; row < count; row++) {
        int64_t i;
        void *out = attrs->data + table[row].offset;
        PFD_TRY(find_value(&table[row], values, num_values, &i, err));
        if (i >= 0) {
            PFD_TRY(pfd_attr_store(&table[row], &values[i], attrs->memory, out, err));
        } else if (table[row].default_value) {
            PFD_TRY(pfd_attr_store_default(&table[row], attrs->memory, out, err));
        } else if (!(table[row].flags & PFD_ATTR_FOUND)) {
            return pfd_attrs_fail_missing(&table[row], "", err);
        } else if (table[row].type == PFD_ATTR_STRING) {
            *(const char **)out = "";
        }
    }
    return PFD_OK;
}

int32_t pfd_attrs_has_value(const char *attr, const pfd_attr_value *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!strcmp(values[i].name, attr)) return 1;
    return 0;
}

pfd_status pfd_attrs_set(pfd_attrs *attrs, const pfd_attr *row, const pfd_attr_value *value,
                         pfd_attr_value *kept, pfd_error *err)
{
    void *field = attrs->data + row->offset;
    PFD_TRY(pfd_attr_store(row, value, attrs->memory, field, err));
    *kept = *value;
    kept->name = row->name;
    if (value->kind == PFD_VALUE_STRING) {
        int64_t bytes = (int64_t)strlen(value->s) + 1;
        char *copy = pfd_scratch_alloc(attrs->memory, bytes);
        if (!copy) return pfd_fail_memory(err, bytes, "an attr");
        kept->s = memcpy(copy, value->s, (size_t)bytes);
    }
    /* The struct has a copy of the list, with the element type of the attr. */
    if (value->kind >= PFD_VALUE_LIST_INT) kept->list = ((const pfd_list_int64 *)field)->data;
    if (row->type == PFD_ATTR_LIST_FLOAT64) kept->kind = PFD_VALUE_LIST_FLOAT;
    return PFD_OK;
}

pfd_status pfd_attrs_create(const pfd_attr *table, uint32_t count, uint32_t struct_size,
                            const pfd_attr_value *values, int64_t num_values, pfd_attrs **out,
                            pfd_error *err)
{
    size_t bytes = sizeof(pfd_attrs) + struct_size;
    pfd_attrs *attrs = calloc(1, bytes);
    if (!attrs) return pfd_fail_memory(err, (int64_t)bytes, "attrs");
    attrs->memory = pfd_scratch_create();
    pfd_status status = attrs->memory ? fill(attrs, table, count, values, num_values, err)
                                      : pfd_fail_memory(err, 0, "attrs");
    if (status != PFD_OK) {
        pfd_attrs_free(attrs);
        return status;
    }
    *out = attrs;
    return PFD_OK;
}

pfd_attrs *pfd_attrs_with_fewer(const pfd_attrs *attrs, uint32_t struct_size, const pfd_attr *list,
                                const int32_t *kept, int32_t n)
{
    pfd_attrs *made = calloc(1, sizeof *made + struct_size);
    if (!made) return NULL;
    made->memory = pfd_scratch_create();
    const char **elements =
        made->memory ? pfd_scratch_alloc(made->memory, n * (int64_t)sizeof *elements) : NULL;
    if (!elements) {
        pfd_attrs_free(made);
        return NULL;
    }
    memcpy(made->data, attrs->data, struct_size);
    pfd_list_string *fewer = (void *)(made->data + list->offset);
    for (int32_t i = 0; i < n; i++) elements[i] = fewer->data[kept[i]];
    *fewer = (pfd_list_string){elements, n};
    return made;
}

void pfd_attrs_free(pfd_attrs *attrs)
{
    if (!attrs) return;
    pfd_scratch_free(attrs->memory);
    free(attrs);
}

const void *pfd_attrs_struct(const pfd_attrs *attrs)
{
    return attrs->data;
}

void *pfd_attrs_unsettled(pfd_attrs *attrs)
{
    return attrs->data;
}

/* ---- As text --------------------------------------------------------------------------------- */

static void add_list(pfd_text *text, int32_t type, const void *field)
{
    const pfd_list_int64 *ints = field;
    const pfd_list_float64 *floats = field;
    const pfd_list_string *strings = field;
    int64_t n = type == PFD_ATTR_LIST_FLOAT64    ? floats->size
                : type == PFD_ATTR_LIST_STRING ? strings->size
                                               : ints->size;
    for (int64_t i = 0; i < n; i++) {
        if (i > 0) pfd_text_add(text, ",");
        if (type == PFD_ATTR_LIST_FLOAT64) pfd_text_add_float(text, floats->data[i], 0);
        else if (type == PFD_ATTR_LIST_STRING) pfd_text_add_escaped(text, strings->data[i], "\\,");
        else pfd_text_add(text, "%" PRId64, ints->data[i]);
    }
}

static void add_choice(pfd_text *text, const pfd_attr *row, int32_t choice)
{
    char buffer[PFD_CHOICES_BYTES];
    const char *names[PFD_MAX_CHOICES];
    (void)pfd_split_choices(row->choices, buffer, names);
    pfd_text_add(text, "%s", names[choice]);
}

void pfd_attrs_format(const pfd_attrs *attrs, const pfd_attr *row, char *out, size_t capacity)
{
    const void *field = attrs->data + row->offset;
    pfd_text text = pfd_text_in(out, capacity);
    pfd_text_add(&text, "%s=", row->name);
    switch (row->type) {
    case PFD_ATTR_BOOL: pfd_text_add(&text, *(const int32_t *)field ? "true" : "false"); break;
    case PFD_ATTR_INT32: pfd_text_add(&text, "%" PRId32, *(const int32_t *)field); break;
    case PFD_ATTR_INT64: pfd_text_add(&text, "%" PRId64, *(const int64_t *)field); break;
    case PFD_ATTR_OBJECT: pfd_text_add(&text, "an object"); break;
    case PFD_ATTR_FLOAT32: pfd_text_add_float(&text, *(const float *)field, 1); break;
    case PFD_ATTR_FLOAT64: pfd_text_add_float(&text, *(const double *)field, 0); break;
    case PFD_ATTR_STRING: pfd_text_add_escaped(&text, *(const char *const *)field, "\\"); break;
    case PFD_ATTR_DTYPE: /* 0: the op infers it */
        if (*(const int32_t *)field)
            pfd_text_add(&text, "%s", pfd_dtype_name(*(const int32_t *)field));
        break;
    case PFD_ATTR_CHOICE: add_choice(&text, row, *(const int32_t *)field); break;
    default: add_list(&text, row->type, field);
    }
}

/* ---- The attrs of every reader --------------------------------------------------------------- */

#define ROW(field, type, default_value, min, max, choices, flags, doc)                             \
    PFD_ATTR_ROW_WITH(pfd_reader_attrs, field, type, default_value, min, max, choices, doc, flags)
#define FLAG(field, flags, doc) ROW(field, PFD_ATTR_BOOL, "false", 0, 0, NULL, flags, doc)

enum { LEFT_OPEN = -1 }; /* value of rank and world_size */

#define INT32_TOP 2147483647.0
#define INT64_TOP 9.2e18 /* a round number that a double and an int64_t both hold */

const pfd_attr pfd_reader_attr_table[] = {
    ROW(batch_size, PFD_ATTR_INT32, "1", 1, INT32_TOP, NULL, PFD_ORDER_ALWAYS,
        "The number of records in a batch, for all ranks together; it must be divisible by "
        "world_size."),
    ROW(last_batch, PFD_ATTR_CHOICE, "short", 0, 0, PFD_LAST_BATCH_CHOICES, PFD_ORDER_ALWAYS,
        "What to do if the last batch of an epoch has too few records: short delivers it smaller "
        "(a rank may get 0 rows), drop omits it, pad repeats the last record, wrap adds the first "
        "records of the next epoch, even leaves out the last records, fewer than world_size, so "
        "that all ranks have the same number of rows."),
    FLAG(random_shuffle, PFD_ORDER_ALWAYS,
         "Whether the order is random, with every record once in an epoch; the attr shuffle says "
         "which random order."),
    ROW(shuffle, PFD_ATTR_CHOICE, "auto", 0, 0, "auto|none|global|window|buffer|true|false",
        PFD_ORDER_WINDOW | PFD_ORDER_BUFFER,
        "Whether to shuffle, or which kind of shuffle. true: a new random order in every epoch. "
        "false, none: the order of the files. global: all records are shuffled. window: the "
        "records of some blocks of the files are mixed at a time. buffer: each record is drawn "
        "from the next shuffle_buffer_size records. auto: none without random_shuffle; with it, or "
        "with true, global, or buffer if the source can only be read in sequence."),
    FLAG(shuffle_after_epoch, PFD_ORDER_ALWAYS,
         "Whether a shuffle makes a new order for each epoch instead of the same one; shuffle=true "
         "sets it, and it has no effect without a shuffle."),
    ROW(shuffle_buffer_size, PFD_ATTR_INT32, "1024", 1, INT32_TOP, NULL, PFD_ORDER_ALWAYS,
        "For shuffle='buffer', which true and auto also mean where the source can only be read in "
        "sequence: how many records the buffer holds. Other orders have no buffer and ignore it."),
    ROW(shuffle_block_size, PFD_ATTR_INT32, "256", 1, INT32_TOP, NULL, PFD_ORDER_WINDOW,
        "For shuffle='window': the number of records in a block; the records of a block are read "
        "together. In files that have blocks of their own, such as row groups, a block is one row "
        "group, or several neighbouring ones that have this number of records together."),
    ROW(shuffle_window, PFD_ATTR_INT32, "1024", 1, INT32_TOP, NULL, PFD_ORDER_WINDOW,
        "For shuffle='window': the number of blocks that are mixed at a time; more blocks mix "
        "better and touch more memory."),
    ROW(shuffle_lanes, PFD_ATTR_INT32, "1", 1, INT32_TOP, NULL, PFD_ORDER_LANES,
        "For shuffle='window': the number of lanes into which the data are cut. Lanes are disjoint "
        "parts that are shuffled separately; each batch has equally many rows from each lane. If "
        "world_size divides the number of lanes, each rank reads blocks that no other rank reads."),
    ROW(seed, PFD_ATTR_INT64, "-1", -1, INT64_TOP, NULL, 0,
        "The seed of the random numbers; -1 draws a seed when the loader opens, or uses 0 if "
        "world_size is above 1, because all ranks need the same one."),
    ROW(order_key, PFD_ATTR_STRING, "", 0, 0, NULL, 0,
        "A text on which the random order depends besides the seed; readers that must stay paired "
        "need the same one. Empty means the reader's name."),
    ROW(group_buffer_size, PFD_ATTR_INT32, "65536", 1, INT32_TOP, NULL, PFD_ORDER_GROUPS,
        "For readers that make batches of one group each: the maximum number of records that wait "
        "for others of their group."),
    ROW(rank, PFD_ATTR_INT64, "-1", -1, INT32_TOP - 1, NULL, 0,
        "Which part of every batch this process gets, counted from 0. If rank and world_size are "
        "-1 or left out, both are inferred from the framework or launcher in use."),
    ROW(world_size, PFD_ATTR_INT64, "-1", -1, INT32_TOP, NULL, 0,
        "Number of ranks that share every batch; -1 infers it, together with rank."),
    ROW(on_error, PFD_ATTR_CHOICE, "raise", 0, 0, "raise|skip|pad", 0,
        "What to do with a damaged record: raise fails its batch, skip omits its row (a batch may "
        "then have 0 rows), pad delivers a row of zeros whose mask is False."),
    ROW(max_skipped, PFD_ATTR_FLOAT64, "0.01", -1, INT64_TOP, NULL, 0,
        "How many damaged records on_error=skip and pad may leave out of an epoch of this rank "
        "before they raise an error, too. A float up to 1.0 is a fraction of the epoch's records "
        "(of the records so far, if their number is unknown), which always allows 10; an int is a "
        "number of records, and -1 means no limit."),
    ROW(max_errors, PFD_ATTR_INT64, "-1", -1, INT64_TOP, NULL, 0,
        "The older form of max_skipped, only a number: how many damaged records an epoch of this "
        "rank may have before on_error=skip and pad raise an error, too; -1 means no limit. Give "
        "only one of the two attrs."),
    FLAG(with_mask, 0,
         "Whether to return the output mask too: bool, False for rows that only fill a batch."),
    FLAG(with_id, 0,
         "Whether to return the output id too: int64 (2,), the file's index and the record's "
         "number in the dataset."),
};
const uint32_t pfd_reader_attr_count = PFD_COUNT(pfd_reader_attr_table);

/* The batch size is not a multiple of `divisor`; `rule` says why it must be. */
static pfd_status fail_indivisible(const pfd_reader_attrs *attrs, int64_t divisor, const char *rule,
                                   pfd_error *err)
{
    int64_t below = attrs->batch_size / divisor * divisor, above = below + divisor;
    char sizes[80];
    if (below == 0 && above > INT32_MAX)
        snprintf(sizes, sizeof sizes, "no size is");
    else if (below == 0)
        snprintf(sizes, sizeof sizes, "the smallest size is %" PRId64, above);
    else if (above > INT32_MAX)
        snprintf(sizes, sizeof sizes, "the nearest size is %" PRId64, below);
    else
        snprintf(sizes, sizeof sizes, "the nearest sizes are %" PRId64 " and %" PRId64, below,
                 above);
    return pfd_fail_attr(err, "batch_size", NULL, PFD_INVALID_ARGUMENT, " = %" PRId32 "; %s: %s",
                         attrs->batch_size, rule, sizes);
}

static pfd_status check_world_size(const pfd_reader_attrs *attrs, pfd_error *err)
{
    char rule[128];
    if (attrs->batch_size % attrs->world_size == 0) return PFD_OK;
    snprintf(rule, sizeof rule,
             "it counts the records of all ranks and must be divisible by world_size = %" PRId64,
             attrs->world_size);
    return fail_indivisible(attrs, attrs->world_size, rule, err);
}

/* Both are below 2^31, so the result is below 2^62. */
static int64_t least_common_multiple(int64_t a, int64_t b)
{
    int64_t left = a, right = b;
    while (right != 0) {
        int64_t rest = left % right;
        left = right;
        right = rest;
    }
    return a / left * b;
}

static pfd_status check_lanes(const pfd_reader_attrs *attrs, pfd_error *err)
{
    char rule[192], and_ranks[64] = "";
    if (attrs->shuffle != PFD_SHUFFLE_WINDOW || attrs->batch_size % attrs->shuffle_lanes == 0)
        return PFD_OK;
    if (attrs->world_size > 1)
        snprintf(and_ranks, sizeof and_ranks, " and by world_size = %" PRId64, attrs->world_size);
    snprintf(rule, sizeof rule,
             "each batch has equally many rows from each lane, so it must be divisible by "
             "shuffle_lanes = %" PRId32 "%s", attrs->shuffle_lanes, and_ranks);
    return fail_indivisible(attrs, least_common_multiple(attrs->shuffle_lanes, attrs->world_size),
                            rule, err);
}

/* Replaces shuffle = true and false by the attrs that they stand for. */
static void settle_shuffle(pfd_reader_attrs *attrs, const pfd_attr_value *values, int64_t n)
{
    if (attrs->shuffle == PFD_SHUFFLE_FALSE) attrs->shuffle = PFD_SHUFFLE_NONE;
    if (attrs->shuffle != PFD_SHUFFLE_TRUE) return;
    attrs->shuffle = PFD_SHUFFLE_AUTO;
    attrs->random_shuffle = 1;
    if (!pfd_attrs_has_value("shuffle_after_epoch", values, n)) attrs->shuffle_after_epoch = 1;
}

static pfd_status check_shuffle(const pfd_reader_attrs *attrs, pfd_error *err)
{
    if (attrs->random_shuffle && attrs->shuffle == PFD_SHUFFLE_NONE)
        return pfd_fail_attr(err, "shuffle", NULL, PFD_INVALID_ARGUMENT,
                             " asks for the order of the files, and random_shuffle = true for a "
                             "random one; leave one of the two out");
    int64_t records = (int64_t)attrs->shuffle_block_size * attrs->shuffle_window;
    if (attrs->shuffle == PFD_SHUFFLE_WINDOW && records > PFD_MOST_WINDOW_RECORDS)
        return pfd_fail_attr(err, "shuffle_window", NULL, PFD_INVALID_ARGUMENT,
                             " = %" PRId32 " blocks of shuffle_block_size = %" PRId32
                             " are windows of %" PRId64 " records; the most is %" PRId64
                             ": lower one of the two, or use shuffle='global'",
                             attrs->shuffle_window, attrs->shuffle_block_size, records,
                             PFD_MOST_WINDOW_RECORDS);
    return PFD_OK;
}

/* Requires both or neither; without them the reader is rank 0 of 1. */
static pfd_status settle_world(pfd_reader_attrs *attrs, pfd_error *err)
{
    int32_t has_rank = attrs->rank != LEFT_OPEN, has_size = attrs->world_size != LEFT_OPEN;
    if (has_rank != has_size)
        return pfd_fail_attr(err, has_rank ? "rank" : "world_size", NULL, PFD_INVALID_ARGUMENT,
                             " = %" PRId64 " is given, but '%s' is not; give both, or neither to "
                             "have them inferred", has_rank ? attrs->rank : attrs->world_size,
                             has_rank ? "world_size" : "rank");
    if (!has_rank) {
        attrs->rank = 0;
        attrs->world_size = 1;
    }
    if (attrs->world_size == 0)
        return pfd_fail_attr(err, "world_size", NULL, PFD_INVALID_ARGUMENT,
                             " = 0; it must be at least 1, or -1 to be inferred");
    if (attrs->rank >= attrs->world_size)
        return pfd_fail_attr(err, "rank", NULL, PFD_INVALID_ARGUMENT,
                             " = %" PRId64 "; it must be in [0, %" PRId64
                             "], below world_size = %" PRId64, attrs->rank, attrs->world_size - 1,
                             attrs->world_size);
    return PFD_OK;
}

/* Whether an attr was given as a float, 1.0, and not as an int, 1. */
static int32_t is_given_as_float(const char *attr, const pfd_attr_value *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!strcmp(values[i].name, attr)) return values[i].kind == PFD_VALUE_FLOAT;
    return 0;
}

/* Of the two limits only the one that is given counts.  The share 1.0 is no limit. */
static pfd_status settle_max_skipped(pfd_reader_attrs *attrs, const pfd_attr_value *values,
                                     int64_t n, pfd_error *err)
{
    double most = attrs->max_skipped;
    if (pfd_attrs_has_value("max_errors", values, n)) {
        if (pfd_attrs_has_value("max_skipped", values, n))
            return pfd_fail_attr(err, "max_errors", NULL, PFD_INVALID_ARGUMENT,
                                 " and max_skipped are given; they are two forms of one limit: "
                                 "leave out max_errors");
        attrs->max_skipped = -1;
        return PFD_OK;
    }
    int32_t is_float = is_given_as_float("max_skipped", values, n);
    if (most == 1 && is_float) attrs->max_skipped = -1;
    if (most > 1 ? !is_float && most == floor(most) : most >= 0 || most == -1) return PFD_OK;
    return pfd_fail_attr(err, "max_skipped", NULL, PFD_INVALID_ARGUMENT,
                         " = %g; it must be a share up to 1.0, a whole number of records, or -1 "
                         "for no limit", most);
}

pfd_status pfd_reader_attrs_settle(pfd_reader_attrs *attrs, const pfd_attr_value *values, int64_t n,
                                   int32_t sizes_differ, pfd_error *err)
{
    pfd_status status = settle_world(attrs, err);
    if (status == PFD_OK && !sizes_differ) status = check_world_size(attrs, err);
    if (status != PFD_OK) return pfd_error_set_reason(err, PFD_REASON_WORLD_SIZE);
    settle_shuffle(attrs, values, n);
    PFD_TRY(check_shuffle(attrs, err));
    PFD_TRY(check_lanes(attrs, err));
    PFD_TRY(settle_max_skipped(attrs, values, n, err));
    if (attrs->shuffle > PFD_SHUFFLE_NONE) attrs->random_shuffle = 1;
    return PFD_OK;
}

pfd_status pfd_reader_attrs_check_window(const pfd_reader_attrs *attrs,
                                         const pfd_attr_value *given, int64_t n, pfd_error *err)
{
    if (attrs->shuffle == PFD_SHUFFLE_WINDOW) return PFD_OK;
    for (uint32_t i = 0; i < pfd_reader_attr_count; i++) {
        const pfd_attr *row = &pfd_reader_attr_table[i];
        int32_t is_of_window = row->flags == PFD_ORDER_WINDOW || row->flags == PFD_ORDER_LANES;
        if (is_of_window && pfd_attrs_has_value(row->name, given, n))
            return pfd_fail_attr(err, row->name, NULL, PFD_INVALID_ARGUMENT,
                                 " has an effect only with shuffle='window': give both, or leave "
                                 "it out");
    }
    return PFD_OK;
}

pfd_status pfd_reader_attrs_shuffle(const pfd_reader_attrs *attrs, int32_t random_access,
                                    int32_t *shuffle, pfd_error *err)
{
    *shuffle = attrs->shuffle;
    if (*shuffle == PFD_SHUFFLE_AUTO)
        *shuffle = !attrs->random_shuffle ? PFD_SHUFFLE_NONE
                   : random_access        ? PFD_SHUFFLE_GLOBAL
                                          : PFD_SHUFFLE_BUFFER;
    int32_t needs_index = *shuffle == PFD_SHUFFLE_GLOBAL || *shuffle == PFD_SHUFFLE_WINDOW;
    if (random_access || !needs_index) return PFD_OK;
    return pfd_fail_attr(err, "shuffle", NULL, PFD_UNSUPPORTED,
                         " = '%s'; this source can only be read in sequence, which only a buffer "
                         "can shuffle: use 'buffer' or 'auto'",
                         *shuffle == PFD_SHUFFLE_GLOBAL ? "global" : "window");
}

int32_t pfd_reader_attrs_access(const pfd_reader_attrs *attrs)
{
    int32_t shuffle;
    pfd_error err = {.struct_size = sizeof err};
    if (pfd_reader_attrs_shuffle(attrs, 1, &shuffle, &err) != PFD_OK) return PFD_ACCESS_RANDOM;
    int32_t in_order = shuffle == PFD_SHUFFLE_NONE || shuffle == PFD_SHUFFLE_BUFFER;
    return in_order ? PFD_ACCESS_SEQUENTIAL : PFD_ACCESS_RANDOM;
}

void pfd_reader_ports_fill(const pfd_record *records, int64_t n, uint8_t *mask, int64_t *ids)
{
    for (int64_t i = 0; mask && i < n; i++) mask[i] = !records[i].filler;
    for (int64_t i = 0; ids && i < n; i++) {
        ids[2 * i] = records[i].file;
        ids[2 * i + 1] = records[i].ordinal;
    }
}
