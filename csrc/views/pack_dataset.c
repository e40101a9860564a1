/* PackDataset: rows of one length, made of several records. */
#include "views/pack_dataset.h"

#include "core/convert.h"
#include "core/error.h"
#include "core/radix_sort.h"
#include "core/rows.h"
#include "core/scratch.h"
#include "parse/row_type.h"
#include "views/view_base.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct pack_dataset_attrs {
    pfd_list_string fields;
    int64_t length, lengths, window;
    int32_t rule, longer, last;
    pfd_list_float64 padding;
} pack_dataset_attrs;

/* ---- One window: packs that are listed by the room they have left -------------------------------
 *
 * A tree of bits says for which rooms there is a pack: bit r of the lowest level for room r, and a
 * bit of each higher level for a word of the one below that is not 0.  The next larger room is
 * found with one look at a word of each level. */

enum { levels = 4 }; /* of 64 bits a word: rooms up to 2^24 */

struct pfd_best_fit {
    int64_t length;
    uint64_t *bits[levels];
    int64_t words[levels];
    int32_t *newest;      /* by room: the pack that got this room last */
    int32_t *older;       /* by pack: the one with the same room before it; -1: none */
    uint64_t *rooms;      /* by record: the room after it in an empty pack */
    uint32_t *order;      /* the records, the longest first */
    uint32_t *work;       /* for sorting */
};

static int64_t words_of(int64_t last_bit)
{
    return last_bit / 64 + 1;
}

pfd_status pfd_best_fit_create(int64_t length, int64_t window, pfd_best_fit **out, pfd_error *err)
{
    pfd_best_fit *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "packing");
    self->length = length;
    int64_t words = words_of(length), bytes = 0;
    int32_t whole = 1;
    for (int32_t i = 0; i < levels; i++) {
        self->words[i] = words;
        self->bits[i] = calloc((size_t)words, sizeof *self->bits[i]);
        whole = whole && self->bits[i];
        words = words_of(words - 1);
    }
    bytes = (length + 1) * (int64_t)sizeof *self->newest + window * 20;
    self->newest = malloc((size_t)(length + 1) * sizeof *self->newest);
    self->older = malloc((size_t)window * sizeof *self->older);
    self->rooms = malloc((size_t)window * sizeof *self->rooms);
    self->order = malloc((size_t)window * sizeof *self->order);
    self->work = malloc((size_t)window * sizeof *self->work);
    if (!whole || !self->newest || !self->older || !self->rooms || !self->order || !self->work) {
        pfd_best_fit_free(self);
        return pfd_fail_memory(err, bytes, "packing");
    }
    *out = self;
    return PFD_OK;
}

void pfd_best_fit_free(pfd_best_fit *self)
{
    if (!self) return;
    for (int32_t i = 0; i < levels; i++) free(self->bits[i]);
    free(self->newest);
    free(self->older);
    free(self->rooms);
    free(self->order);
    free(self->work);
    free(self);
}

/* The smallest room >= `room` that a pack has; -1: none. */
static int64_t find_room(const pfd_best_fit *self, int64_t room)
{
    for (int32_t level = 0; level < levels; level++) {
        int64_t word = room >> 6;
        if (word >= self->words[level]) return -1;
        uint64_t found = self->bits[level][word] & (UINT64_MAX << (room & 63));
        if (found == 0) {
            room = word + 1;
            continue;
        }
        room = word << 6 | __builtin_ctzll(found);
        while (level-- > 0) room = room << 6 | __builtin_ctzll(self->bits[level][room]);
        return room;
    }
    return -1;
}

static void add_pack(pfd_best_fit *self, int64_t room, int32_t pack)
{
    int32_t is_first = !(self->bits[0][room >> 6] >> (room & 63) & 1);
    self->older[pack] = is_first ? -1 : self->newest[room];
    self->newest[room] = pack;
    for (int32_t level = 0; level < levels; level++, room >>= 6) {
        uint64_t *word = &self->bits[level][room >> 6], before = *word;
        *word |= UINT64_C(1) << (room & 63);
        if (before != 0) return;
    }
}

static void clear_room(pfd_best_fit *self, int64_t room)
{
    for (int32_t level = 0; level < levels; level++, room >>= 6) {
        uint64_t *word = &self->bits[level][room >> 6];
        *word &= ~(UINT64_C(1) << (room & 63));
        if (*word != 0) return;
    }
}

static int32_t take_pack(pfd_best_fit *self, int64_t room)
{
    int32_t pack = self->newest[room];
    self->newest[room] = self->older[pack];
    if (self->older[pack] < 0) clear_room(self, room);
    return pack;
}

/* Sorts the records by length, the longest first; equally long ones stay in order.  Returns how
 * many are not empty: these are the first. */
static int64_t sort(pfd_best_fit *self, const int32_t *lengths, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        self->rooms[i] = (uint64_t)(self->length - lengths[i]);
        count += lengths[i] > 0;
    }
    pfd_radix_sort(self->rooms, n, self->order, self->work);
    return count;
}

int64_t pfd_best_fit_pack(pfd_best_fit *self, const int32_t *lengths, int64_t n, int32_t *pack_of)
{
    int64_t count = sort(self, lengths, n), num_packs = 0;
    for (int64_t i = 0; i < n; i++) pack_of[i] = -1;
    for (int64_t i = 0; i < count; i++) {
        int64_t record = self->order[i];
        int64_t room = find_room(self, lengths[record]), left;
        int32_t pack;
        if (room >= 0) {
            pack = take_pack(self, room);
            left = room - lengths[record];
        } else {
            pack = (int32_t)num_packs++;
            left = self->length - lengths[record];
        }
        pack_of[record] = pack;
        if (left > 0) add_pack(self, left, pack);
    }
    for (int64_t room; (room = find_room(self, 0)) >= 0;) clear_room(self, room);
    return num_packs;
}

/* ---- The table: what goes into packs --------------------------------------------------------- */

/* A piece is record << piece_bits | its number in the record; it begins at that number times the
 * length. */
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

/* Counts elements, and for best fit the pieces. */
static pfd_status count(pfd_pack_table *table, pfd_error *err)
{
    const int64_t length = table->rule.length;
    if (table->lengths.count > MOST_RECORDS) return fail_size(err);
    for (int64_t i = 0; i < table->lengths.count; i++) {
        int64_t packed = packed_length(table, i), pieces = packed > 0;
        if (packed > length && table->rule.rule == PFD_PACK_BEST_FIT) {
            if (table->rule.longer == PFD_PACK_RAISE) return fail_long(table, i, err);
            pieces = packed / length + (packed % length != 0);
            if (pieces > MOST_PIECES) return fail_size(err);
        }
        if (__builtin_add_overflow(table->num_elements, packed, &table->num_elements))
            return fail_size(err);
        table->num_pieces += pieces;
    }
    if (table->rule.rule == PFD_PACK_CHUNK) table->num_pieces = 0; /* counted where they are cut */
    return PFD_OK;
}

static void *allocate(int64_t n, pfd_error *err)
{
    int64_t bytes = (n > 0 ? n : 1) * (int64_t)sizeof(int64_t);
    void *memory = malloc((size_t)bytes);
    if (!memory) (void)pfd_fail_memory(err, bytes, "a table of packs");
    return memory;
}

/* ---- Best fit of all windows ----------------------------------------------------------------- */

/* A window: its records, the pack of the last piece of each, and numbers of packs. */
typedef struct window {
    int64_t first, n;
    int32_t *lengths; /* lengths of last pieces, which do not fill a pack */
    int32_t *pack_of;
    int32_t *number; /* by pack of best fit: its number in the window; -1: not seen */
} window;

static int64_t choose_window(const pfd_pack_table *table)
{
    int64_t records = table->lengths.count, wanted = table->rule.window;
    if (wanted > 0) return wanted;
    double mean = (double)table->num_elements / (double)(records > 0 ? records : 1);
    double held = (double)packs_per_window * (double)table->rule.length / (mean > 1 ? mean : 1);
    return held < (double)least_window ? least_window
           : held > (double)most_window ? most_window
                                        : (int64_t)held;
}

/* How many pieces of a record fill a pack; *rest: elements of its last piece if it fills none. */
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

/* Numbers the packs of a window by their first records, and counts the pieces of each in
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

/* Writes the pieces of a window in the order of records; `next` is where each pack's next piece
 * goes.  Full pieces come in the order in which they were numbered. */
static void place_pieces(pfd_pack_table *table, const window *w, const int64_t *starts)
{
    int64_t numbered = 0;
    for (int64_t i = 0; i < w->n; i++) {
        uint64_t piece = (uint64_t)(w->first + i) << piece_bits;
        int64_t rest, full = full_pieces(table, w->first + i, &rest);
        for (; full > 0; full--) table->pieces[starts[numbered++]] = piece++;
        if (rest == 0) continue;
        int32_t number = w->number[w->pack_of[i]];
        if (number == numbered) numbered++;
        /* lengths[] is done with: it counts the pieces placed in each pack of best fit */
        int32_t *placed = &w->lengths[w->pack_of[i]];
        table->pieces[starts[number] + (*placed)++] = piece;
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
    place_pieces(table, w, starts);
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
    table->starts = allocate(table->num_pieces + 1, err); /* most of it stays untouched */
    if (table->starts) table->pieces = allocate(table->num_pieces, err);
    if (!table->pieces) return err->status;
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

/* ---- Chunks ---------------------------------------------------------------------------------- */

/* Cuts a record where packs end.  Returns 0 when the last pack is full. */
static int32_t cut_record(pfd_pack_table *table, int64_t record, int64_t *num_begun, int64_t *room)
{
    int64_t elements = pfd_length_at(&table->lengths, record);
    for (int64_t begin = 0, piece; begin < elements; begin += piece, *room -= piece) {
        if (*room == 0) {
            if (*num_begun == table->num_packs) return 0;
            table->records[*num_begun] = record;
            table->begins[*num_begun] = begin;
            table->starts[(*num_begun)++] = table->num_pieces;
            *room = table->rule.length;
        }
        piece = elements - begin < *room ? elements - begin : *room;
        table->num_pieces++;
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
    table->starts[n] = table->num_pieces;
    return PFD_OK;
}

/* ---- Making the table, and the pieces of a pack ---------------------------------------------- */

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
    free(table->pieces);
    free(table->records);
    free(table->begins);
    *table = (pfd_pack_table){0};
}

static void expand_chunk(const pfd_pack_table *table, int64_t pack, int64_t *records,
                         pfd_piece *pieces)
{
    int64_t count = pfd_pack_table_count(table, pack), at = 0;
    int64_t record = table->records[pack], begin = table->begins[pack];
    for (int64_t i = 0; i < count; record++, begin = 0) {
        int64_t whole = pfd_length_at(&table->lengths, record);
        if (whole == begin) continue; /* empty */
        int64_t length = whole - begin;
        if (length > table->rule.length - at) length = table->rule.length - at;
        pieces[i] = (pfd_piece){.at = at, .begin = begin, .length = length, .whole = whole};
        records[i++] = record;
        at += length;
    }
}

void pfd_pack_table_expand(const pfd_pack_table *table, int64_t pack, int64_t *records,
                           pfd_piece *pieces)
{
    if (table->rule.rule == PFD_PACK_CHUNK) {
        expand_chunk(table, pack, records, pieces);
        return;
    }
    const uint64_t *from = table->pieces + table->starts[pack];
    int64_t count = pfd_pack_table_count(table, pack), at = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t record = (int64_t)(from[i] >> piece_bits);
        int64_t begin = (int64_t)(from[i] & (MOST_PIECES - 1)) * table->rule.length;
        int64_t length = packed_length(table, record) - begin;
        if (length > table->rule.length) length = table->rule.length;
        records[i] = record;
        pieces[i] = (pfd_piece){.at = at, .begin = begin, .length = length,
                              .whole = pfd_length_at(&table->lengths, record)};
        at += length;
    }
}

/* ---- Outputs that tell documents apart ------------------------------------------------------- */

/* A row on its way: its pieces, in order. */
typedef struct packed {
    int64_t row;
    const pfd_piece *pieces;
    int64_t num_pieces;
    int64_t used; /* elements before the padding */
    int64_t length;
} packed;

static pfd_status write_segment_ids(const pfd_compute_args *args, const packed *pack,
                                    int32_t output, pfd_error *err)
{
    int32_t *out = pfd_row_to_write(args, output, pack->row, NULL, err);
    if (!out) return err->status;
    for (int64_t p = 0; p < pack->num_pieces; p++) {
        const int32_t number = (int32_t)p + 1;
        pfd_fill(out + pack->pieces[p].at, pack->pieces[p].length, &number, sizeof number);
    }
    memset(out + pack->used, 0, (size_t)(pack->length - pack->used) * sizeof *out);
    return PFD_OK;
}

static void count_up(int32_t *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) out[i] = (int32_t)i;
}

static pfd_status write_position_ids(const pfd_compute_args *args, const packed *pack,
                                     int32_t output, pfd_error *err)
{
    int32_t *out = pfd_row_to_write(args, output, pack->row, NULL, err);
    if (!out) return err->status;
    for (int64_t p = 0; p < pack->num_pieces; p++)
        count_up(out + pack->pieces[p].at, pack->pieces[p].length);
    count_up(out + pack->used, pack->length - pack->used);
    return PFD_OK;
}

static pfd_status write_loss_mask(const pfd_compute_args *args, const packed *pack, int32_t output,
                                  pfd_error *err)
{
    uint8_t *out = pfd_row_to_write(args, output, pack->row, NULL, err);
    if (!out) return err->status;
    memset(out, 1, (size_t)pack->used);
    memset(out + pack->used, 0, (size_t)(pack->length - pack->used));
    return PFD_OK;
}

/* Where segments begin, then the end of the last one: padding is a separate segment. */
static pfd_status write_cu_seqlens(const pfd_compute_args *args, const packed *pack, int32_t output,
                                   pfd_error *err)
{
    int64_t ends = pack->num_pieces + (pack->used < pack->length), count = ends + 1;
    int32_t *out = pfd_row_to_write(args, output, pack->row, &count, err);
    if (!out) return err->status;
    for (int64_t p = 0; p < pack->num_pieces; p++) out[p] = (int32_t)pack->pieces[p].at;
    out[pack->num_pieces] = (int32_t)pack->used;
    out[ends] = (int32_t)pack->length;
    return PFD_OK;
}

static pfd_status write_max_seqlen(const pfd_compute_args *args, const packed *pack, int32_t output,
                                   pfd_error *err)
{
    int32_t *out = pfd_row_to_write(args, output, pack->row, NULL, err);
    if (!out) return err->status;
    int64_t longest = pack->length - pack->used;
    for (int64_t p = 0; p < pack->num_pieces; p++)
        if (pack->pieces[p].length > longest) longest = pack->pieces[p].length;
    *out = (int32_t)longest;
    return PFD_OK;
}

typedef struct description {
    const char *kind;
    int32_t dtype, ndim;
    int32_t varies; /* one size per row; else the length of the pack */
    pfd_status (*write)(const pfd_compute_args *args, const packed *pack, int32_t output,
                        pfd_error *err);
} description;

static const description descriptions[] = {
    {"segment_ids", PFD_INT32, 1, 0, write_segment_ids},
    {"position_ids", PFD_INT32, 1, 0, write_position_ids},
    {"loss_mask", PFD_BOOL, 1, 0, write_loss_mask},
    {"cu_seqlens", PFD_INT32, 1, 1, write_cu_seqlens},
    {"max_seqlen", PFD_INT32, 0, 0, write_max_seqlen},
};

/* The description that an element "segment_ids" or "NAME=segment_ids" names; NULL: none. */
static const description *find_description(const char *element)
{
    const char *kind = strchr(element, '=');
    kind = kind ? kind + 1 : element;
    for (uint32_t i = 0; i < PFD_COUNT(descriptions); i++)
        if (!strcmp(kind, descriptions[i].kind)) return &descriptions[i];
    return NULL;
}

/* ---- Types of the outputs -------------------------------------------------------------------- */

static double padding_of(const pack_dataset_attrs *attrs, int64_t input)
{
    if (attrs->padding.size == 0) return 0;
    return attrs->padding.data[attrs->padding.size > 1 ? input : 0];
}

static pfd_status infer_field(const pfd_infer_args *args, int64_t i, pfd_error *err)
{
    const pack_dataset_attrs *attrs = args->attrs;
    const pfd_row_type *in = &args->inputs[i];
    char found[256];
    if (in->ndim != 1)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "the rows of input number %" PRId64
                        " are %s; packs are made of rows with one dimension",
                        i, pfd_format_row_type(in, found, sizeof found));
    if (!pfd_is_exact(padding_of(attrs, i), in->dtype) && !pfd_dtype_is_float(in->dtype))
        return pfd_fail_attr(err, "padding", NULL, PFD_INVALID_ARGUMENT,
                             " = %g; input number %" PRId64 " is %s, which holds %s",
                             padding_of(attrs, i), i, pfd_dtype_name(in->dtype),
                             pfd_dtype_limits(in->dtype));
    args->outputs[i] = *in;
    args->outputs[i].shape[0] = attrs->length;
    return PFD_OK;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const pack_dataset_attrs *attrs = args->attrs;
    if (attrs->padding.size > 1 && attrs->padding.size != args->num_inputs)
        return pfd_fail_attr(err, "padding", NULL, PFD_INVALID_ARGUMENT,
                             " has %" PRId64 " values; give one, or one for each of the %" PRId64
                             " inputs",
                             attrs->padding.size, args->num_inputs);
    if (args->num_outputs < args->num_inputs)
        return pfd_fail_attr(err, "fields", NULL, PFD_INVALID_ARGUMENT,
                             " has %" PRId64 " names; it begins with a name for each of the "
                             "%" PRId64 " inputs",
                             args->num_outputs, args->num_inputs);
    for (int64_t i = 0; i < args->num_inputs; i++) PFD_TRY(infer_field(args, i, err));
    for (int64_t i = args->num_inputs; i < args->num_outputs; i++) {
        const char *element = attrs->fields.data[i];
        const description *of = find_description(element);
        if (!of)
            return pfd_fail_attr(err, "fields", NULL, PFD_INVALID_ARGUMENT,
                                 ": element '%s'; after the inputs' names come segment_ids, "
                                 "position_ids, loss_mask, cu_seqlens and max_seqlen, or "
                                 "NAME=segment_ids and so on",
                                 element);
        args->outputs[i] = (pfd_row_type){.dtype = of->dtype, .ndim = of->ndim};
        args->outputs[i].shape[0] = of->varies ? -1 : attrs->length;
    }
    return PFD_OK;
}

/* ---- Rows: records one after another --------------------------------------------------------- */

static pfd_status fail_length(const pfd_compute_args *args, const packed *pack, int32_t input,
                              int64_t piece, int64_t found, pfd_error *err)
{
    const pack_dataset_attrs *attrs = args->attrs;
    int64_t name = pfd_field_name_size(attrs->fields.size > input ? attrs->fields.data[input] : "");
    return args->host->fail_row(
        err, pack->row, -1, PFD_CORRUPT_DATA,
        "record %" PRId64 " of the %" PRId64 " in this pack has %" PRId64 " elements in field "
        "number %d (%.*s), but attr 'lengths' says %" PRId64 ": the lengths belong to other data, "
        "or the data has changed",
        piece + 1, pack->num_pieces, found, input, (int)name,
        name > 0 ? attrs->fields.data[input] : "", pack->pieces[piece].whole);
}

/* Copies the pieces of a row; `first_piece`: the number of the first one among those of all rows.
 */
static pfd_status write_field(const pfd_compute_args *args, const packed *pack, int32_t i,
                              int64_t first_piece, pfd_error *err)
{
    const pfd_tensor *in = args->inputs[i];
    int64_t bytes = pfd_dtype_size(in->type.dtype);
    uint8_t *out = pfd_row_to_write(args, i, pack->row, NULL, err);
    if (!out) return err->status;
    for (int64_t p = 0; p < pack->num_pieces; p++) {
        const pfd_piece *piece = &pack->pieces[p];
        pfd_row row;
        pfd_row_at(in, first_piece + p, &row);
        if (row.num_elements != piece->whole)
            return fail_length(args, pack, i, p, row.num_elements, err);
        memcpy(out + piece->at * bytes, row.data + piece->begin * bytes,
               (size_t)(piece->length * bytes));
    }
    _Alignas(8) uint8_t element[8];
    double padding = padding_of(args->attrs, i);
    (void)pfd_convert(PFD_FLOAT64, &padding, in->type.dtype, element, 1, PFD_OVERFLOW_WRAP);
    pfd_fill(out + pack->used * bytes, pack->length - pack->used, element, bytes);
    return PFD_OK;
}

static pfd_status write_row(const pfd_compute_args *args, const packed *pack, int64_t first_piece,
                            pfd_error *err)
{
    const pack_dataset_attrs *attrs = args->attrs;
    for (int32_t i = 0; i < args->num_inputs; i++)
        PFD_TRY(write_field(args, pack, i, first_piece, err));
    for (int32_t i = (int32_t)args->num_inputs; i < args->num_outputs; i++)
        PFD_TRY(find_description(attrs->fields.data[i])->write(args, pack, i, err));
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const pfd_join_args *join = args->source;
    const pack_dataset_attrs *attrs = args->attrs;
    for (int64_t first = 0, end; first < join->num_pieces; first = end) {
        const pfd_piece *pieces = join->pieces + first, *last = pieces;
        for (end = first + 1; end < join->num_pieces && join->pieces[end].row == pieces->row; end++)
            last = &join->pieces[end];
        packed pack = {.row = pieces->row, .pieces = pieces, .num_pieces = end - first,
                     .used = last->at + last->length, .length = attrs->length};
        PFD_TRY(write_row(args, &pack, first, err));
        pfd_scratch_note_padding(args->scratch, pack.length, pack.length - pack.used);
    }
    return PFD_OK;
}

/* ---- View ------------------------------------------------------------------------------------ */

typedef struct packs {
    pfd_view base;
    pfd_pack_table table;
} packs;

static void close_view(pfd_view *view)
{
    pfd_pack_table_close(&((packs *)view)->table);
    pfd_view_free(view);
}

static int64_t num_pieces(const pfd_view *view, const pfd_places *places)
{
    const pfd_pack_table *table = &((const packs *)view)->table;
    int64_t n = 0;
    for (int64_t i = 0; i < places->n; i++) n += pfd_pack_table_count(table, places->positions[i]);
    return n;
}

/* The lengths belong to the records of the first epoch, so every epoch has these records. */
static void expand(const pfd_view *view, const pfd_places *places, const pfd_places *inner,
                   pfd_piece *pieces)
{
    const pfd_pack_table *table = &((const packs *)view)->table;
    int64_t k = 0;
    for (int64_t i = 0; i < places->n; i++) {
        int64_t end = k + pfd_pack_table_count(table, places->positions[i]);
        pfd_pack_table_expand(table, places->positions[i], inner->positions + k, pieces + k);
        for (; k < end; k++) {
            pieces[k].row = i;
            inner->epochs[k] = 0;
            inner->draws[k] = places->draws[i];
        }
    }
}

static const pfd_view_methods methods = {
    .name = "PackDataset", .close = close_view, .num_pieces = num_pieces, .expand = expand};

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    const pack_dataset_attrs *attrs = args->attrs;
    pfd_lengths lengths;
    PFD_TRY(pfd_lengths_find("lengths", attrs->lengths, args->inner[0]->size, &lengths, err));
    packs *self;
    PFD_TRY(pfd_view_create(sizeof *self, &methods, &self, err));
    pfd_pack_rule rule = {.length = attrs->length,
                          .rule = attrs->rule,
                          .longer = attrs->longer,
                          .window = attrs->window,
                          .drops_short = attrs->last};
    pfd_status status = pfd_pack_table_open(&rule, &lengths, &self->table, err);
    self->base.size = self->table.num_packs;
    return pfd_view_opened(status, self, out);
}

/* ---- Descriptor ------------------------------------------------------------------------------ */

static const pfd_attr attr_table[] = {
    PFD_ATTR_ROW(pack_dataset_attrs, fields, PFD_ATTR_LIST_STRING, "", 0, 0, NULL,
                 "Names of the outputs: one for each input, then any of segment_ids, position_ids, "
                 "loss_mask, cu_seqlens and max_seqlen, or NAME=segment_ids and so on; if left "
                 "out, the names of the inputs."),
    PFD_ATTR_ROW(pack_dataset_attrs, length, PFD_ATTR_INT64, NULL, 1, PFD_BEST_FIT_MOST_LENGTH,
                 NULL, "The number of elements in a pack."),
    PFD_ATTR_ROW(pack_dataset_attrs, lengths, PFD_ATTR_OBJECT, NULL, 0, 0, NULL,
                 "An array with the length of each record of the data set, in the order of its "
                 "first epoch."),
    PFD_CHOICE_ATTR(pack_dataset_attrs, rule, "best_fit", PFD_PACK_RULES,
                    "best_fit: each record goes undivided into the pack that it fills best; the "
                    "longest records of a window come first. chunk: the records one after another "
                    "are cut at the end of each pack."),
    PFD_INT_ATTR(pack_dataset_attrs, window, "0", 0, 1073741824.0,
                 "For best_fit: about how many consecutive records are packed together; 0 chooses "
                 "enough to fill several hundred packs, at least 8192."),
    PFD_CHOICE_ATTR(pack_dataset_attrs, longer, "split", PFD_PACK_LONGER,
                    "For best_fit: what to do with a record that is longer than a pack. split: "
                    "into full packs and a rest, which is packed like a record. truncate: the rest "
                    "is left out. drop: the record is left out. raise: it is an error."),
    PFD_CHOICE_ATTR(pack_dataset_attrs, last, "pad", "pad|drop",
                    "For chunk: what to do with the last pack if it is not full."),
    PFD_FLOATS_ATTR(pack_dataset_attrs, padding, "", 0, 0,
                    "The value after the last record of a pack: one for all inputs, or one for "
                    "each; if left out, 0."),
};

static const pfd_port inputs[] = {
    {"in", "Fields of a data set whose rows have one dimension, such as tokens, labels and weights "
           "of a loss; all fields of a record have the same length."},
};
static const pfd_port outputs[] = {
    {"out", "The inputs packed, (length,); segment_ids, int32 (length,): 1 for the first record of "
            "the pack, 2 for the next, 0 for padding; position_ids, int32 (length,): from 0 in "
            "each segment; loss_mask, bool (length,): false for padding; cu_seqlens, int32 "
            "(None,): where each segment begins, then length; max_seqlen, int32: the longest "
            "segment."},
};

static const pfd_op pack_dataset = {
    PFD_VIEW_OP_WITH(pack_dataset_attrs, attr_table, inputs, outputs, infer),
    .name = "PackDataset",
    .doc = "Packs several records into each row; a pack is a row of exactly `length` elements. The "
           "place of each record is decided once, from the lengths, so the number of packs is "
           "known and each pack can be read directly. Packs of best_fit are made of consecutive "
           "records of a window; shuffle them after packing. A shuffle before packing keeps the "
           "order of its first epoch. Empty records are left out. A piece of a record that was "
           "split is a segment like a record, and its position_ids begin at 0. In cu_seqlens and "
           "max_seqlen the padding is a separate segment. Labels that are shifted by one must "
           "leave out the first element of each segment, whose position_ids is 0.",
    .compute = compute,
};

const pfd_view_op pfd_view_pack_dataset = {&pack_dataset, PFD_VIEW_JOIN, open_view, "pack"};
