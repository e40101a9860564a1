/* MindRecordReader: rows of MindRecord shards, MindSpore's own format, versions 2.0 and 3.0.
 *
 * A shard is a JSON header, raw pages (the scalar fields of the rows) and blob pages (all other
 * fields).  Its .db file, an SQLite index, is not needed. */
#include "core/bytes.h"
#include "core/error.h"
#include "core/op_parts.h"
#include "core/scratch.h"
#include "files/file_hint.h"
#include "files/file_read.h"
#include "formats/mindrecord/mindrecord_header.h"
#include "formats/mindrecord/mindrecord_row.h"
#include "index/record_index.h"
#include "sources/fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Pages: where the rows of a shard are ---------------------------------------------------- */

/* A row is a raw row (its scalar fields) in a raw page and a blob in a blob page.  Both kinds of
 * page are lists; an element is a length (uint64) and that many bytes.  Opening walks the lists
 * once and keeps 8 bytes per row: where its two parts begin.  If the lengths do not end at the
 * end of their page, it fails with PFD_CORRUPT_DATA. */

/* The rows of one blob page. */
typedef struct mindrecord_span {
    int64_t first_row;
    int64_t raw_begin, raw_end; /* in the file */
    int64_t blob_begin, blob_end;
} mindrecord_span;

typedef struct mindrecord_rows {
    mindrecord_span *spans;     /* owned; one more, for num_rows */
    uint32_t *raw, *blobs;      /* owned; relative to raw_begin and blob_begin of the span */
    int64_t num_spans, num_rows;
} mindrecord_rows;

/* A part of a file. */
typedef struct mindrecord_part {
    int64_t offset, size;
} mindrecord_part;

enum {
    LENGTH = 8,
    WINDOW = 16384,     /* bytes read at once of a file that is not mapped */
    ROWS_PER_LOOK = 4096 /* after so many rows, check whether the loader is closing */
};

/* The rows of a page, one after the other. */
typedef struct walk {
    const pfd_host *host;
    const pfd_file *file;
    const pfd_scratch *bounds;
    pfd_scratch *scratch;
    const uint8_t *window;
    int64_t begin, end; /* of the window, in the file */
} walk;

/* Brings LENGTH bytes at `offset` into the window. */
static pfd_status move_window(walk *w, int64_t offset, int64_t page_end, pfd_error *err)
{
    int64_t size = page_end - offset < WINDOW ? page_end - offset : WINDOW;
    if (pfd_file_data(w->file)) size = page_end - offset;
    pfd_scratch_reset(w->scratch);
    PFD_TRY(pfd_file_read(w->file, offset, size, w->scratch, &w->window, err));
    w->begin = offset;
    w->end = offset + size;
    return PFD_OK;
}

/* Finds where n rows begin; the first begins at `begin`, and the last must end at `end`. */
static pfd_status walk_rows(walk *w, int64_t begin, int64_t end, int64_t n, uint32_t *places,
                            const char *what, pfd_error *err)
{
    int64_t at = begin;
    w->begin = w->end = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i % ROWS_PER_LOOK == 0 && pfd_scratch_is_cancelled(w->bounds))
            return w->host->fail(err, PFD_CANCELLED, "the loader is closing");
        if (end - at < LENGTH)
            return w->host->fail_file(
                err, w->file, at, PFD_CORRUPT_DATA,
                "the page ends here, but %s %" PRId64 " of %" PRId64
                " is expected; its header and its rows do not belong together",
                what, i, n);
        if (at < w->begin || at + LENGTH > w->end) PFD_TRY(move_window(w, at, end, err));
        uint64_t length = pfd_load_le64(w->window + (at - w->begin));
        if (length > (uint64_t)(end - at - LENGTH))
            return w->host->fail_file(err, w->file, at, PFD_CORRUPT_DATA,
                                      "the length of %s %" PRId64 " is %" PRIu64 ", but its page "
                                      "has only %" PRId64 " more bytes",
                                      what, i, length, end - at - LENGTH);
        places[i] = (uint32_t)(at - begin);
        at += LENGTH + (int64_t)length;
    }
    if (at == end) return PFD_OK;
    return w->host->fail_file(err, w->file, at, PFD_CORRUPT_DATA,
                              "%" PRId64 " bytes follow the last %s in its page; the header and "
                              "the rows of the page do not belong together",
                              end - at, what);
}

/* ---- Walking pages --------------------------------------------------------------------------- */
static pfd_status check_file(const pfd_host *host, const pfd_file *file,
                             const pfd_mindrecord_header *header, pfd_error *err)
{
    for (int64_t i = 0; i < header->num_pages; i++) {
        const pfd_mindrecord_page *page = &header->pages[i];
        int64_t begin = header->header_size + page->number * header->page_size;
        if (begin + page->used > file->size)
            return host->fail_file(err, file, file->size, PFD_CORRUPT_DATA,
                                   "the file ends here, but page %" PRId64
                                   " is from byte %" PRId64 " to %" PRId64 "; is it truncated?",
                                   page->number, begin, begin + page->used);
    }
    int64_t most = header->header_size + header->num_pages * header->page_size;
    if (file->size <= most) return PFD_OK;
    return host->fail_file(err, file, most, PFD_CORRUPT_DATA,
                           "the last page ends here, but %" PRId64 " bytes follow; does the header "
                           "belong to this file?",
                           file->size - most);
}

/* Finds the raw rows of each blob page. */
static pfd_status find_groups(const pfd_host *host, const pfd_file *file,
                              const pfd_mindrecord_header *header, mindrecord_rows *out,
                              pfd_error *err)
{
    const char *problem = NULL;
    for (int64_t i = header->num_blob_pages; i < header->num_pages && !problem; i++) {
        const pfd_mindrecord_page *page = &header->pages[i];
        int64_t begin = header->header_size + page->number * header->page_size;
        for (int64_t k = 0; k < page->num_groups && !problem; k++) {
            const pfd_mindrecord_group *group = &header->groups[page->first_group + k];
            int64_t end = k + 1 < page->num_groups ? group[1].offset : page->used;
            if (group->blob_page >= header->num_blob_pages)
                problem = "a row group refers to a blob page that does not exist";
            else if (out->spans[group->blob_page].raw_begin)
                problem = "two row groups refer to the same blob page";
            else if (group->offset > end || end > page->used)
                problem = "the row groups of a page are not in order, or lie outside of it";
            if (problem) break;
            out->spans[group->blob_page].raw_begin = begin + group->offset;
            out->spans[group->blob_page].raw_end = begin + end;
        }
    }
    for (int64_t i = 0; i < header->num_blob_pages && !problem; i++)
        if (!out->spans[i].raw_begin && header->pages[i].end_row > header->pages[i].first_row)
            problem = "a blob page has no row group with its raw rows";
    return problem ? host->fail_file(err, file, 0, PFD_CORRUPT_DATA, "the header: %s", problem)
                   : PFD_OK;
}

static pfd_status walk_spans(walk *w, const pfd_mindrecord_header *header, mindrecord_rows *out,
                             pfd_error *err)
{
    for (int64_t i = 0; i < out->num_spans; i++) {
        mindrecord_span *span = &out->spans[i];
        const pfd_mindrecord_page *page = &header->pages[i];
        int64_t n = page->end_row - page->first_row;
        span->first_row = page->first_row;
        span->blob_begin = header->header_size + page->number * header->page_size;
        span->blob_end = span->blob_begin + page->used;
        PFD_TRY(walk_rows(w, span->raw_begin, span->raw_end, n, out->raw + page->first_row,
                          "raw row", err));
        PFD_TRY(walk_rows(w, span->blob_begin, span->blob_end, n, out->blobs + page->first_row,
                          "blob", err));
    }
    return PFD_OK;
}

/* More rows than lengths that fit into the pages cannot be. */
static pfd_status check_rows(const pfd_host *host, const pfd_file *file,
                             const pfd_mindrecord_header *header, pfd_error *err)
{
    if (header->num_rows <= file->size / (2 * LENGTH)) return PFD_OK;
    return host->fail_file(err, file, 0, PFD_CORRUPT_DATA,
                           "the header counts %" PRId64 " rows, more than fit into %" PRId64
                           " bytes",
                           header->num_rows, file->size);
}

/* Finds the rows of a shard.  `scratch` is passed to is_cancelled().  The caller frees *out in any
 * case. */
static pfd_status mindrecord_rows_find(const pfd_host *host, const pfd_file *file,
                                       const pfd_mindrecord_header *header,
                                       const pfd_scratch *scratch, mindrecord_rows *out,
                                       pfd_error *err)
{
    *out = (mindrecord_rows){.num_spans = header->num_blob_pages, .num_rows = header->num_rows};
    PFD_TRY(check_file(host, file, header, err));
    PFD_TRY(check_rows(host, file, header, err));
    out->spans = calloc((size_t)out->num_spans + 1, sizeof *out->spans);
    out->raw = malloc(((size_t)out->num_rows + 1) * sizeof *out->raw);
    out->blobs = malloc(((size_t)out->num_rows + 1) * sizeof *out->blobs);
    if (!out->spans || !out->raw || !out->blobs)
        return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the places of rows");
    PFD_TRY(find_groups(host, file, header, out, err));
    walk w = {.host = host, .file = file, .bounds = scratch, .scratch = pfd_scratch_create()};
    if (!w.scratch) return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a window of a file");
    pfd_status status = walk_spans(&w, header, out, err);
    pfd_scratch_free(w.scratch);
    out->spans[out->num_spans].first_row = out->num_rows;
    return status;
}

static void mindrecord_rows_free(mindrecord_rows *rows)
{
    free(rows->spans);
    free(rows->raw);
    free(rows->blobs);
    *rows = (mindrecord_rows){.num_rows = 0};
}

/* Sets where the two parts of a row are, without their lengths. */
static void mindrecord_row_at(const mindrecord_rows *rows, int64_t row, mindrecord_part *raw,
                              mindrecord_part *blob)
{
    int64_t low = 0, high = rows->num_spans;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (rows->spans[middle].first_row <= row) low = middle;
        else high = middle;
    }
    const mindrecord_span *span = &rows->spans[low];
    int32_t is_last = row + 1 == span[1].first_row;
    raw->offset = span->raw_begin + rows->raw[row] + LENGTH;
    blob->offset = span->blob_begin + rows->blobs[row] + LENGTH;
    int64_t raw_end = is_last ? span->raw_end : span->raw_begin + rows->raw[row + 1];
    raw->size = raw_end - raw->offset;
    int64_t blob_end = is_last ? span->blob_end : span->blob_begin + rows->blobs[row + 1];
    blob->size = blob_end - blob->offset;
}

/* ---- Attrs ----------------------------------------------------------------------------------- */

typedef struct mindrecord_attrs {
    pfd_list_string columns;
    int32_t whole_set;
} mindrecord_attrs;

typedef struct shard {
    const pfd_file *file;
    pfd_mindrecord_header header;
    mindrecord_rows rows;
    pfd_mindrecord_choice *choices; /* of raw rows, then of blobs */
    int64_t num_raw;
} shard;

typedef struct mindrecord {
    const pfd_host *host;
    int64_t num_outputs, num_shards;
    pfd_field_spec *specs;
    pfd_row_type *types;
    shard *shards;
    pfd_shard_table table;
} mindrecord;

static void close_mindrecord(void *source)
{
    mindrecord *self = source;
    for (int64_t i = 0; self->shards && i < self->num_shards; i++) {
        pfd_mindrecord_header_free(&self->shards[i].header);
        mindrecord_rows_free(&self->shards[i].rows);
        free(self->shards[i].choices);
    }
    pfd_shard_table_free(&self->table);
    free(self->shards);
    free(self->specs);
    free(self->types);
    free(self);
}

static pfd_status fail_memory(const pfd_host *host, pfd_error *err)
{
    return host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the shards of a MindRecord dataset");
}

/* ---- Records --------------------------------------------------------------------------------- */
static int64_t num_records(void *source)
{
    const mindrecord *self = source;
    return pfd_shard_table_records(&self->table);
}

/* Finds the shard of a record, and the row of the shard. */
static const shard *find_row(const mindrecord *self, int64_t ordinal, int64_t *row)
{
    int64_t number = pfd_shard_of(&self->table, ordinal);
    *row = ordinal - self->table.first[number];
    return &self->shards[number];
}

/* Reads one of the two parts of a row.  Errors about the part count bytes from out->offset. */
static pfd_status read_part(const shard *from, const mindrecord_part *part, int32_t is_raw,
                            pfd_mindrecord_bytes *bytes, int64_t num_outputs, pfd_record *out,
                            pfd_error *err)
{
    int64_t n = is_raw ? from->num_raw : num_outputs - from->num_raw;
    if (n == 0) return PFD_OK;
    const pfd_host *host = bytes->host;
    PFD_TRY(host->read(from->file, part->offset, part->size, bytes->scratch, &bytes->data, err));
    bytes->size = part->size;
    out->offset = part->offset;
    return is_raw ? pfd_mindrecord_read_raw(bytes, from->choices, n, err)
                  : pfd_mindrecord_read_blob(bytes, from->choices + from->num_raw, n, err);
}

static pfd_status make_record(const mindrecord *self, int64_t ordinal, pfd_field_part *parts,
                              pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    int64_t row;
    const shard *from = find_row(self, ordinal, &row);
    mindrecord_part raw, blob;
    pfd_mindrecord_bytes bytes = {.host = self->host,
                                  .header = &from->header,
                                  .types = self->types,
                                  .scratch = scratch,
                                  .parts = parts};
    *out = (pfd_record){.ordinal = ordinal, .file = from->file->index};
    mindrecord_row_at(&from->rows, row, &raw, &blob);
    pfd_status status = read_part(from, &raw, 1, &bytes, self->num_outputs, out, err);
    if (status == PFD_OK)
        status = read_part(from, &blob, 0, &bytes, self->num_outputs, out, err);
    if (status == PFD_OK)
        return pfd_field_record_compose(self->host, self->types, parts, self->num_outputs, scratch,
                                        out, err);
    if (status != PFD_CORRUPT_DATA || err->row < 0) return status;
    pfd_error damage = *err; /* has the host's full struct size */
    pfd_error_clear(err);
    return pfd_field_record_damaged(self->host, &damage, scratch, out, err);
}

/* In shuffled order the place of a row and both of its parts are not in the cache: they are
 * prefetched some rows ahead. */
static void prefetch(const mindrecord *self, const int64_t *ordinals, int64_t i, int64_t n)
{
    enum { PLACES_AHEAD = 16, ROWS_AHEAD = 8 };
    int64_t row;
    if (i + PLACES_AHEAD < n) {
        const shard *from = find_row(self, ordinals[i + PLACES_AHEAD], &row);
        __builtin_prefetch(&from->rows.raw[row]);
        __builtin_prefetch(&from->rows.blobs[row]);
    }
    if (i + ROWS_AHEAD >= n) return;
    const shard *from = find_row(self, ordinals[i + ROWS_AHEAD], &row);
    if (!pfd_file_data(from->file)) return;
    mindrecord_part parts[2];
    mindrecord_row_at(&from->rows, row, &parts[0], &parts[1]);
    for (int part = from->num_raw == 0; part < (from->num_raw < self->num_outputs ? 2 : 1); part++)
        pfd_shard_prefetch(from->file, parts[part].offset, parts[part].size);
}

static pfd_status at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    const mindrecord *self = source;
    pfd_field_part *parts =
        self->host->alloc(scratch, self->num_outputs * (int64_t)sizeof *parts);
    if (!parts) return fail_memory(self->host, err);
    for (int64_t i = 0; i < n; i++) {
        prefetch(self, ordinals, i, n);
        PFD_TRY(make_record(self, ordinals[i], parts, scratch, &out[i], err));
    }
    return PFD_OK;
}

static void places(void *source, const int64_t *ordinals, int64_t n, pfd_place *out)
{
    const mindrecord *self = source;
    for (int64_t i = 0; i < n; i++) {
        int64_t row;
        const shard *from = find_row(self, ordinals[i], &row);
        mindrecord_part raw, blob;
        mindrecord_row_at(&from->rows, row, &raw, &blob);
        int32_t has_blob = from->num_raw < self->num_outputs;
        out[i] = (pfd_place){.offset = has_blob ? blob.offset : raw.offset,
                             .file = from->file->index};
    }
}

static const pfd_source_methods methods = {
    .struct_size = sizeof(pfd_source_methods),
    .close = close_mindrecord,
    .size = num_records,
    .at = at,
    .places = places,
};

/* ---- Opening shards -------------------------------------------------------------------------- */

/* Explains a header whose length is impossible. */
static pfd_status fail_length(const pfd_host *host, const pfd_file *file, uint64_t length,
                              pfd_scratch *scratch, pfd_error *err)
{
    static const char trailer[] = "ENCRYPT";
    int64_t size = (int64_t)sizeof trailer - 1;
    const uint8_t *data;
    if (file->size >= 2 * size) {
        PFD_TRY(host->read(file, file->size - size, size, scratch, &data, err));
        if (memcmp(data, trailer, (size_t)size) == 0)
            return host->fail_file(err, file, -1, PFD_UNSUPPORTED,
                                         "this MindRecord file is encrypted; decrypt it with "
                                         "MindSpore (set_dec_mode, set_enc_key), and write it "
                                         "again without encryption");
    }
    char seems[100];
    return host->fail_file(
        err, file, 0, PFD_CORRUPT_DATA,
        "the length of the header is %" PRIu64 ", but the file has %" PRId64 " bytes%s",
        length, file->size,
        pfd_looks_like_hint(pfd_file_looks_like(host, file, scratch, "mindrecord"),
                            "; is this a MindRecord file?", seems, sizeof seems));
}

static pfd_status read_header(const pfd_host *host, const pfd_file *file, pfd_scratch *scratch,
                              pfd_mindrecord_header *out, pfd_error *err)
{
    const uint8_t *data;
    PFD_TRY(host->read(file, 0, LENGTH, scratch, &data, err));
    uint64_t length = pfd_load_le64(data);
    if (length > (uint64_t)(file->size - LENGTH) || length > PFD_MINDRECORD_MOST_HEADER_BYTES)
        return fail_length(host, file, length, scratch, err);
    PFD_TRY(host->read(file, LENGTH, (int64_t)length, scratch, &data, err));
    pfd_status status = pfd_mindrecord_header_parse(host, data, (int64_t)length, out, err);
    if (status == PFD_OK || status == PFD_OUT_OF_MEMORY) return status;
    pfd_error inner = *err;
    return host->fail_file(err, file, LENGTH + inner.byte, status, "%s", inner.message);
}

static pfd_status open_shard(mindrecord *self, const pfd_open_args *args, const pfd_file *file,
                             shard *out, pfd_error *err)
{
    out->file = file;
    PFD_TRY(read_header(args->host, file, args->scratch, &out->header, err));
    if (!pfd_mindrecord_same_fields(&out->header, &self->shards[0].header))
        return self->host->fail_file(err, file, LENGTH, PFD_CORRUPT_DATA,
                                     "the shard has other fields, or another version, than %s",
                                     self->shards[0].file->path);
    out->choices = calloc((size_t)self->num_outputs, sizeof *out->choices);
    if (!out->choices) return fail_memory(self->host, err);
    PFD_TRY(pfd_mindrecord_choose(self->host, "columns", self->specs, self->types,
                                  self->num_outputs, &out->header, out->choices, &out->num_raw,
                                  err));
    return mindrecord_rows_find(self->host, file, &out->header, args->scratch, &out->rows, err);
}

static int by_number(const void *a, const void *b)
{
    const shard *x = a, *y = b;
    return (x->header.shard > y->header.shard) - (x->header.shard < y->header.shard);
}

/* Sorts the shards into the order of their set: companions() added the others after the first. */
static void sort_set(mindrecord *self)
{
    int64_t first = self->shards[0].header.shard, expected = 0;
    if (self->num_shards != self->shards[0].header.num_shards) return;
    for (int64_t i = 1; i < self->num_shards; i++, expected++) {
        expected += expected == first;
        if (self->shards[i].header.shard != expected) return;
    }
    qsort(self->shards, (size_t)self->num_shards, sizeof *self->shards, by_number);
}

static pfd_status open_all(mindrecord *self, const pfd_open_args *args, pfd_error *err)
{
    const mindrecord_attrs *attrs = args->attrs;
    PFD_TRY(pfd_field_record_types(args->host, "columns", &attrs->columns, self->specs,
                                   self->types, err));
    for (int64_t i = 0; i < args->num_files; i++) {
        self->num_shards = i + 1; /* counted first: it is freed even if open_shard() fails */
        PFD_TRY(open_shard(self, args, args->files[i], &self->shards[i], err));
    }
    if (attrs->whole_set && self->num_shards > 1) sort_set(self);
    for (int64_t i = 0; i < self->num_shards; i++)
        PFD_TRY(pfd_shard_table_add(&self->table, self->shards[i].rows.num_rows, err));
    return PFD_OK;
}

/* ---- The op ---------------------------------------------------------------------------------- */

/* Adds the other shards of a set, if the user gave one of them. */
static pfd_status add_set(const pfd_companion_args *args, const pfd_mindrecord_header *header,
                          pfd_error *err)
{
    pfd_json addresses = header->addresses;
    pfd_json_text name;
    pfd_json_enter(&addresses, '[');
    for (int64_t i = 0; pfd_json_element(&addresses) && pfd_json_string(&addresses, &name); i++) {
        if (i == header->shard) continue;
        char *text = malloc((size_t)name.size + 1), *path = NULL;
        int64_t size = text ? pfd_json_decode(&name, text) : 0;
        int32_t is_below = text && pfd_path_is_below(text, size);
        if (is_below) path = pfd_path_beside(args->paths[0], text, size);
        free(text);
        pfd_status status;
        if (text && !is_below)
            status = args->host->fail(err, PFD_CORRUPT_DATA,
                                      "%s lists a shard of its set that is not in its folder",
                                      args->paths[0]);
        else if (!path)
            status = fail_memory(args->host, err);
        else if (!pfd_file_is_there(path))
            status = args->host->fail(err, PFD_IO,
                                      "%s is one of %" PRId64 " shards, but %s does not exist; "
                                      "give the shards to be read, or set whole_set=False to read "
                                      "only this one",
                                      args->paths[0], header->num_shards, path);
        else
            status = args->add(args->list, path, err);
        free(path);
        if (status != PFD_OK) return status;
    }
    return PFD_OK;
}

/* A damaged header is reported when the file is opened, with its place. */
static pfd_status companions(const pfd_companion_args *args, pfd_error *err)
{
    const mindrecord_attrs *attrs = args->attrs;
    uint8_t *data;
    uint64_t length = UINT64_MAX;
    int64_t size, file_size;
    if (args->num_paths != 1 || !attrs->whole_set || !pfd_file_is_there(args->paths[0]))
        return PFD_OK;
    PFD_TRY(pfd_file_start_read(args->paths[0], LENGTH, &data, &size, &file_size, err));
    if (size == LENGTH) length = pfd_load_le64(data);
    free(data);
    if (size < LENGTH || length > (uint64_t)(file_size - LENGTH) ||
        length > PFD_MINDRECORD_MOST_HEADER_BYTES)
        return PFD_OK;
    PFD_TRY(pfd_file_start_read(args->paths[0], LENGTH + (int64_t)length, &data, &size, &file_size,
                                err));
    pfd_mindrecord_header header;
    pfd_status status =
        pfd_mindrecord_header_parse(args->host, data + LENGTH, size - LENGTH, &header, err);
    if (status == PFD_OK) {
        status = add_set(args, &header, err);
    } else if (status != PFD_OUT_OF_MEMORY) {
        pfd_error_clear(err);
        status = PFD_OK;
    }
    pfd_mindrecord_header_free(&header);
    free(data);
    return status;
}

static pfd_status propose_fields(const pfd_propose_args *args, const pfd_file *file,
                                 const pfd_mindrecord_header *header, pfd_error *err)
{
    int64_t n = header->num_fields, bytes = n * (int64_t)sizeof(pfd_inferred_field);
    pfd_inferred_field *found = args->host->alloc(args->scratch, bytes);
    if (!found) return fail_memory(args->host, err);
    for (int64_t i = 0; i < n; i++) {
        const pfd_mindrecord_field *field = &header->fields[i];
        found[i].key = field->name;
        found[i].key_size = field->name_size;
        (void)pfd_mindrecord_field_type(field, found[i].type, sizeof found[i].type);
    }
    return pfd_inferred_fields_set(args, "columns", file, found, n, err);
}

static pfd_status propose(const pfd_propose_args *args, pfd_error *err)
{
    const pfd_file *file;
    pfd_mindrecord_header header = {0}; /* freed even if it is not read */
    PFD_TRY(args->open(args->found, 0, &file, err));
    if (file->size == INT64_MAX)
        return args->host->fail_file(err, file, 0, PFD_UNSUPPORTED,
                                     "compressed MindRecord files cannot be read: decompress it");
    pfd_status status = read_header(args->host, file, args->scratch, &header, err);
    if (status == PFD_OK) status = propose_fields(args, file, &header, err);
    pfd_mindrecord_header_free(&header);
    return status;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const mindrecord_attrs *attrs = args->attrs;
    return pfd_field_record_types(args->host, "columns", &attrs->columns, NULL, args->outputs, err);
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const mindrecord_attrs *attrs = args->attrs;
    mindrecord *self = calloc(1, sizeof *self);
    if (!self) return fail_memory(args->host, err);
    self->host = args->host;
    self->num_outputs = attrs->columns.size;
    self->specs = calloc((size_t)self->num_outputs, sizeof *self->specs);
    self->types = calloc((size_t)self->num_outputs, sizeof *self->types);
    self->shards = calloc((size_t)args->num_files + 1, sizeof *self->shards);
    pfd_status status = self->specs && self->types && self->shards ? open_all(self, args, err)
                                                                   : fail_memory(args->host, err);
    return pfd_source_opened(status, &methods, self, out);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    return pfd_field_records_compute(args, args->num_outputs, err);
}

static const pfd_attr attrs[] = {
    PFD_FOUND_ATTR_ROW(mindrecord_attrs, columns, PFD_ATTR_LIST_STRING, NULL, 0, 0, NULL,
                       "Fields to read, each [NAME=]FIELD[:TYPE]: 'label:int32', 'image' "
                       "(bytes), 'x:float32[?,3]'; if left out, all fields of the header."),
    PFD_BOOL_ATTR(mindrecord_attrs, whole_set, "true",
                  "Whether to read all shards of its set, in the order of the set, if only one "
                  "shard is given."),
};

static const pfd_port outputs[] = {
    {"out", "A field: numbers and arrays with the type of the field, strings and bytes as "
            "ragged uint8."},
};

const pfd_op pfd_op_mindrecord_reader = {
    PFD_READER(PFD_READS_FILES, outputs),
    .name = "MindRecordReader",
    .aliases = "MindDataset",
    .doc = "Reads MindRecord files, MindSpore's format, of version 2.0 and 3.0. Name one shard of "
           "a set, or those to be read; their .db files are not needed. Scalars are exact, even if "
           "the field is indexed. Numbers and arrays need their type in the field "
           "('ids:int64[?]'); string and bytes are ragged uint8. Encrypted files are refused.",
    PFD_OP_ATTRS(mindrecord_attrs, attrs),
    .outputs_attr = "columns",
    .companions = companions,
    .propose = propose,
};
