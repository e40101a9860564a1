/* The tables of packs, and the parts of a pack. */
#include "views/pack_table.h"

#include "core/error.h"
#include "views/best_fit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A part is record << piece_bits | piece; the piece begins at its number times the length. */
enum { piece_bits = 24 };
#define MOST_RECORDS (INT64_C(1) << (64 - piece_bits))
#define MOST_PIECES (INT64_C(1) << piece_bits)

/* A window of this many packs is at least 99.5 % full where documents are log-normal: larger ones
 * fill little more.  Below the least number of records too few lengths are there to choose from. */
enum { packs_per_window = 512, least_window = 8192, most_window = 1 << 20 };

/* Elements of a record that are packed. */
static int64_t packed_length(const pfd_pack_table *table, int64_t record)
{
    int64_t length = pfd_length_at(&table->lengths, record);
    if (table->rule.rule == PFD_PACK_CHUNK || length <= table->rule.length) return length;
    if (table->rule.longer == PFD_PACK_TRUNCATE) return table->rule.length;
    return table->rule.longer == PFD_PACK_DROP ? 0 : length;
}

static pfd_status fail_long(const pfd_pack_table *table, int64_t record, pfd_error *err)
{
    return pfd_fail_attr(err, "length", NULL, PFD_INVALID_ARGUMENT,
                         " = %" PRId64 ", but record %" PRId64 " has %" PRId64
                         " elements, and longer = 'raise'; use 'split', 'truncate' or 'drop'",
                         table->rule.length, record, pfd_length_at(&table->lengths, record));
}

static pfd_status fail_size(pfd_error *err)
{
    return pfd_fail(err, PFD_UNSUPPORTED,
                    "the lengths are too large to be packed: at most 2^%d records, of at most 2^%d "
                    "packs each",
                    64 - piece_bits, piece_bits);
}

/* Counts elements, and for best fit the parts. */
static pfd_status count(pfd_pack_table *table, pfd_error *err)
{
    const int64_t length = table->rule.length;
    if (table->lengths.count > MOST_RECORDS) return fail_size(err);
    for (int64_t i = 0; i < table->lengths.count; i++) {
        int64_t packed = packed_length(table, i), parts = packed > 0;
        if (packed > length && table->rule.rule == PFD_PACK_BEST_FIT) {
            if (table->rule.longer == PFD_PACK_RAISE) return fail_long(table, i, err);
            parts = packed / length + (packed % length != 0);
            if (parts > MOST_PIECES) return fail_size(err);
        }
        if (__builtin_add_overflow(table->num_elements, packed, &table->num_elements))
            return fail_size(err);
        table->num_parts += parts;
    }
    if (table->rule.rule == PFD_PACK_CHUNK) table->num_parts = 0; /* counted where they are cut */
    return PFD_OK;
}

static void *allocate(int64_t n, pfd_error *err)
{
    int64_t bytes = (n > 0 ? n : 1) * (int64_t)sizeof(int64_t);
    void *memory = malloc((size_t)bytes);
    if (!memory) (void)pfd_fail_memory(err, bytes, "a table of packs");
    return memory;
}

/* ---- Best fit -------------------------------------------------------------------------------- */

/* A window: its records, the pack of the last piece of each, and numbers of packs. */
typedef struct window {
    int64_t first, n;
    int32_t *lengths; /* of last pieces: those that do not fill a pack */
    int32_t *pack_of;
    int32_t *number; /* by pack of best fit: its number in the window; -1: not seen */
} window;

static int64_t choose_window(const pfd_pack_table *table)
{
    int64_t records = table->lengths.count, wanted = table->rule.window;
    if (wanted == 0) {
        double mean = (double)table->num_elements / (double)(records > 0 ? records : 1);
        double held = (double)packs_per_window * (double)table->rule.length / (mean > 1 ? mean : 1);
        wanted = held < (double)least_window ? least_window
                 : held > (double)most_window ? most_window
                                              : (int64_t)held;
    }
    return wanted;
}

/* Pieces of a record that fill a pack each; *rest: elements of its last piece, if that does not. */
static int64_t full_pieces(const pfd_pack_table *table, int64_t record, int64_t *rest)
{
    int64_t packed = packed_length(table, record);
    if (packed < table->rule.length) {
        *rest = packed;
        return 0;
    }
    *rest = packed % table->rule.length;
    return packed / table->rule.length;
}

/* Numbers the packs of a window by their first records, and counts the parts of each in
 * starts[pack + 1]. */
static void number_packs(pfd_pack_table *table, const window *w, int64_t num_fitted)
{
    int64_t *starts = table->starts + table->num_packs, numbered = 0;
    for (int64_t i = 0; i < num_fitted; i++) w->number[i] = -1;
    for (int64_t i = 0; i < w->n; i++) {
        int64_t rest, full = full_pieces(table, w->first + i, &rest);
        for (; full > 0; full--) starts[++numbered] = 1;
        if (rest == 0) continue;
        int32_t *number = &w->number[w->pack_of[i]];
        if (*number < 0) {
            *number = (int32_t)numbered;
            starts[++numbered] = 0;
        }
        starts[*number + 1]++;
    }
    for (int64_t i = 0; i < numbered; i++) starts[i + 1] += starts[i];
    table->num_packs += numbered;
}

/* Writes the parts of a window in the order of records; `next` is where each pack's next part
 * goes.  Full pieces come in the order in which they were numbered. */
static void place_parts(pfd_pack_table *table, const window *w, const int64_t *starts)
{
    int64_t numbered = 0;
    for (int64_t i = 0; i < w->n; i++) {
        uint64_t part = (uint64_t)(w->first + i) << piece_bits;
        int64_t rest, full = full_pieces(table, w->first + i, &rest);
        for (; full > 0; full--) table->parts[starts[numbered++]] = part++;
        if (rest == 0) continue;
        int32_t number = w->number[w->pack_of[i]];
        if (number == numbered) numbered++;
        /* lengths[] is done with: it counts the parts placed in each pack of best fit */
        int32_t *placed = &w->lengths[w->pack_of[i]];
        table->parts[starts[number] + (*placed)++] = part;
    }
}

static void pack_window(pfd_pack_table *table, pfd_best_fit *fit, const window *w)
{
    const int64_t *starts = table->starts + table->num_packs;
    for (int64_t i = 0; i < w->n; i++) {
        int64_t rest;
        (void)full_pieces(table, w->first + i, &rest);
        w->lengths[i] = (int32_t)rest;
    }
    int64_t fitted = pfd_best_fit_pack(fit, w->lengths, w->n, w->pack_of);
    number_packs(table, w, fitted);
    memset(w->lengths, 0, (size_t)fitted * sizeof *w->lengths);
    place_parts(table, w, starts);
}

/* Windows of equal size, at least that of the rule: a last one with few records would be less
 * full. */
static void pack_windows(pfd_pack_table *table, pfd_best_fit *fit, int64_t num_windows,
                         int32_t *memory, int64_t most)
{
    int64_t each = table->lengths.count / num_windows, rest = table->lengths.count % num_windows;
    window w = {.lengths = memory, .pack_of = memory + most, .number = memory + 2 * most};
    for (int64_t i = 0; i < num_windows; i++, w.first += w.n) {
        w.n = each + (i < rest);
        pack_window(table, fit, &w);
    }
}

static pfd_status best_fit(pfd_pack_table *table, pfd_error *err)
{
    int64_t records = table->lengths.count, num_windows = records / choose_window(table);
    if (num_windows == 0) num_windows = 1;
    int64_t most = records / num_windows + 1, bytes = most * 3 * (int64_t)sizeof(int32_t);
    table->starts = allocate(table->num_parts + 1, err); /* most of it stays untouched */
    if (table->starts) table->parts = allocate(table->num_parts, err);
    if (!table->parts) return err->status;
    table->starts[0] = 0;
    int32_t *memory = malloc((size_t)bytes);
    if (!memory) return pfd_fail_memory(err, bytes, "a window of packs");
    pfd_best_fit *fit = NULL;
    pfd_status status = pfd_best_fit_create(table->rule.length, most, &fit, err);
    if (status == PFD_OK) pack_windows(table, fit, num_windows, memory, most);
    pfd_best_fit_free(fit);
    free(memory);
    if (status != PFD_OK) return status;
    int64_t *fitted =
        realloc(table->starts, (size_t)(table->num_packs + 1) * sizeof *table->starts);
    if (fitted) table->starts = fitted;
    return PFD_OK;
}

/* ---- Chunk ----------------------------------------------------------------------------------- */

/* Cuts a record where packs end.  Returns 0 when the last pack is full. */
static int32_t cut_record(pfd_pack_table *table, int64_t record, int64_t *num_begun, int64_t *room)
{
    int64_t elements = pfd_length_at(&table->lengths, record);
    for (int64_t begin = 0, part; begin < elements; begin += part, *room -= part) {
        if (*room == 0) {
            if (*num_begun == table->num_packs) return 0;
            table->records[*num_begun] = record;
            table->begins[*num_begun] = begin;
            table->starts[(*num_begun)++] = table->num_parts;
            *room = table->rule.length;
        }
        part = elements - begin < *room ? elements - begin : *room;
        table->num_parts++;
    }
    return 1;
}

static pfd_status chunk(pfd_pack_table *table, pfd_error *err)
{
    int64_t length = table->rule.length, n = table->num_elements / length;
    if (table->rule.drops_short)
        table->num_elements = n * length;
    else
        n += table->num_elements % length != 0;
    table->starts = allocate(n + 1, err);
    if (table->starts) table->records = allocate(n, err);
    if (table->records) table->begins = allocate(n, err);
    if (!table->begins) return err->status;
    table->num_packs = n;
    int64_t num_begun = 0, room = 0;
    for (int64_t i = 0; i < table->lengths.count; i++)
        if (!cut_record(table, i, &num_begun, &room)) break;
    table->starts[n] = table->num_parts;
    return PFD_OK;
}

/* ---- Both ------------------------------------------------------------------------------------ */

pfd_status pfd_pack_table_open(const pfd_pack_rule *rule, const pfd_lengths *lengths,
                               pfd_pack_table *out, pfd_error *err)
{
    *out = (pfd_pack_table){.rule = *rule, .lengths = *lengths};
    pfd_status status = count(out, err);
    if (status == PFD_OK)
        status = rule->rule == PFD_PACK_CHUNK ? chunk(out, err) : best_fit(out, err);
    if (status != PFD_OK) pfd_pack_table_close(out);
    return status;
}

void pfd_pack_table_close(pfd_pack_table *table)
{
    free(table->starts);
    free(table->parts);
    free(table->records);
    free(table->begins);
    *table = (pfd_pack_table){0};
}

static void expand_chunk(const pfd_pack_table *table, int64_t pack, int64_t *records,
                         pfd_part *parts)
{
    int64_t count = pfd_pack_table_count(table, pack), at = 0;
    int64_t record = table->records[pack], begin = table->begins[pack];
    for (int64_t i = 0; i < count; record++, begin = 0) {
        int64_t whole = pfd_length_at(&table->lengths, record);
        if (whole == begin) continue; /* empty */
        int64_t length = whole - begin;
        if (length > table->rule.length - at) length = table->rule.length - at;
        parts[i] = (pfd_part){.at = at, .begin = begin, .length = length, .whole = whole};
        records[i++] = record;
        at += length;
    }
}

void pfd_pack_table_expand(const pfd_pack_table *table, int64_t pack, int64_t *records,
                           pfd_part *parts)
{
    if (table->rule.rule == PFD_PACK_CHUNK) {
        expand_chunk(table, pack, records, parts);
        return;
    }
    const uint64_t *from = table->parts + table->starts[pack];
    int64_t count = pfd_pack_table_count(table, pack), at = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t record = (int64_t)(from[i] >> piece_bits);
        int64_t begin = (int64_t)(from[i] & (MOST_PIECES - 1)) * table->rule.length;
        int64_t length = packed_length(table, record) - begin;
        if (length > table->rule.length) length = table->rule.length;
        records[i] = record;
        parts[i] = (pfd_part){.at = at, .begin = begin, .length = length,
                              .whole = pfd_length_at(&table->lengths, record)};
        at += length;
    }
}
