/* A source of text records without the heads of the files. */
#include "sources/text_source.h"

#include "core/error.h"
#include "core/scratch.h"
#include "sources/line_numbers.h"
#include "sources/stream_lines.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct text_source {
    pfd_source inner; /* owned */
    const pfd_file *const *files;
    int64_t num_files;
    pfd_line_numbers *numbers; /* of mapped and read files; owned */
    pfd_stream_lines *lines;   /* of compressed ones; owned.  Both NULL: the inner source knows */
    void *kept;
    void (*free_kept)(void *kept);

    /* Random access, where there are heads: a record of file f with number i is the inner one with
     * number i + passed[f], first[f] <= i < first[f + 1]. */
    int64_t *first, *passed; /* owned */
    int64_t num_records;
} text_source;

/* ---- Records --------------------------------------------------------------------------------- */
static void cut_mark(pfd_record *record)
{
    int64_t mark = pfd_text_mark_bytes(record->data, record->size);
    record->data += mark;
    record->size -= mark;
    record->offset += mark;
}

static int64_t size_of(void *source)
{
    const text_source *self = source;
    return self->first ? self->num_records : self->inner.methods->size(self->inner.self);
}

/* The file of a record: the last one that does not begin behind it. */
static int64_t file_of(const text_source *self, int64_t ordinal)
{
    int64_t begin = 0, end = self->num_files;
    while (end - begin > 1) {
        int64_t middle = begin + (end - begin) / 2;
        if (self->first[middle] <= ordinal)
            begin = middle;
        else
            end = middle;
    }
    return begin;
}

static void to_inner(const text_source *self, const int64_t *ordinals, int64_t n, int64_t *out)
{
    int64_t file = 0;
    for (int64_t i = 0; i < n; i++) {
        if (ordinals[i] < self->first[file] || ordinals[i] >= self->first[file + 1])
            file = file_of(self, ordinals[i]);
        out[i] = ordinals[i] + self->passed[file];
    }
}

static pfd_status find_behind_heads(const text_source *self, const int64_t *ordinals, int64_t n,
                                    pfd_scratch *scratch, pfd_record *out, pfd_error *err)
{
    for (int64_t i = 0; i < n; i++)
        if (ordinals[i] < 0 || ordinals[i] >= self->num_records)
            return pfd_fail_row(err, i, -1, PFD_INTERNAL,
                                "position = %" PRId64 " of text; it must be in [0, %" PRId64 ")",
                                ordinals[i], self->num_records);
    int64_t *inner = pfd_scratch_alloc(scratch, n * (int64_t)sizeof *inner);
    if (!inner) return pfd_fail_memory(err, n * (int64_t)sizeof *inner, "positions");
    to_inner(self, ordinals, n, inner);
    PFD_TRY(self->inner.methods->at(self->inner.self, inner, n, scratch, out, err));
    for (int64_t i = 0; i < n; i++) out[i].ordinal = ordinals[i];
    return PFD_OK;
}

static pfd_status at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                     pfd_record *out, pfd_error *err)
{
    const text_source *self = source;
    pfd_status status =
        self->first ? find_behind_heads(self, ordinals, n, scratch, out, err)
                    : self->inner.methods->at(self->inner.self, ordinals, n, scratch, out, err);
    for (int64_t i = 0; i < n && status == PFD_OK; i++)
        if (out[i].offset == 0) cut_mark(&out[i]);
    return status;
}

static pfd_status next(void *source, int64_t max, pfd_scratch *scratch, pfd_record *out, int64_t *n,
                       pfd_error *err)
{
    const text_source *self = source;
    pfd_status status = self->inner.methods->next(self->inner.self, max, scratch, out, n, err);
    for (int64_t i = 0; i < *n && status == PFD_OK; i++)
        if (out[i].offset == 0) cut_mark(&out[i]);
    return status;
}

static pfd_status seek(void *source, int64_t epoch, int64_t position, pfd_scratch *scratch,
                       pfd_error *err)
{
    const text_source *self = source;
    return self->inner.methods->seek(self->inner.self, epoch, position, scratch, err);
}

static void places(void *source, const int64_t *ordinals, int64_t n, pfd_place *out)
{
    enum { at_once = 64 };
    const text_source *self = source;
    int64_t inner[at_once];
    for (int64_t i = 0; i < n; i += at_once) {
        int64_t some = n - i < at_once ? n - i : at_once;
        const int64_t *asked = ordinals + i;
        if (self->first) {
            to_inner(self, asked, some, inner);
            asked = inner;
        }
        self->inner.methods->places(self->inner.self, asked, some, out + i);
    }
}

/* The line of the byte that failed: a record may have several. */
static void describe(void *source, const pfd_record *record, pfd_error *err)
{
    const text_source *self = source;
    if (!self->numbers && !self->lines) {
        self->inner.methods->describe(self->inner.self, record, err);
        return;
    }
    if (record->file < 0 || record->file >= self->num_files) return;
    int64_t offset = err->byte > record->offset ? err->byte : record->offset;
    if (offset < 0) return;
    if (self->lines)
        err->line = pfd_stream_lines_of(self->lines, record->file, offset);
    else if (offset <= self->files[record->file]->size)
        err->line = pfd_line_numbers_of(self->numbers, record->file, offset);
}

static void close_source(void *source)
{
    text_source *self = source;
    if (self->inner.methods) self->inner.methods->close(self->inner.self);
    if (self->free_kept) self->free_kept(self->kept);
    pfd_line_numbers_free(self->numbers);
    pfd_stream_lines_free(self->lines);
    free(self->first);
    free(self->passed);
    free(self);
}

/* What the inner source can. */
static const pfd_source_methods *methods_for(const pfd_source_methods *inner)
{
    static const pfd_source_methods random_access = {.struct_size = sizeof(pfd_source_methods),
                                                     .close = close_source,
                                                     .size = size_of,
                                                     .at = at,
                                                     .describe = describe,
                                                     .places = places};
    static const pfd_source_methods without_places = {.struct_size = sizeof(pfd_source_methods),
                                                      .close = close_source,
                                                      .size = size_of,
                                                      .at = at,
                                                      .describe = describe};
    static const pfd_source_methods stream = {.struct_size = sizeof(pfd_source_methods),
                                              .close = close_source,
                                              .next = next,
                                              .seek = seek,
                                              .describe = describe};
    if (inner->at) return inner->places ? &random_access : &without_places;
    return &stream;
}

/* ---- Open ------------------------------------------------------------------------------------ */
static pfd_status inner_record(const text_source *self, int64_t ordinal, pfd_scratch *scratch,
                               pfd_record *out, pfd_error *err)
{
    return self->inner.methods->at(self->inner.self, &ordinal, 1, scratch, out, err);
}

static pfd_status inner_file(const text_source *self, int64_t ordinal, pfd_scratch *scratch,
                             int64_t *file, pfd_error *err)
{
    if (self->inner.methods->places) {
        pfd_place place;
        self->inner.methods->places(self->inner.self, &ordinal, 1, &place);
        *file = place.file;
        return PFD_OK;
    }
    pfd_record record;
    PFD_TRY(inner_record(self, ordinal, scratch, &record, err));
    *file = record.file;
    return PFD_OK;
}

/* The first inner record from `begin` on that is in `file`, or behind it. */
static pfd_status first_of_file(const text_source *self, int64_t file, int64_t begin, int64_t end,
                                pfd_scratch *scratch, int64_t *out, pfd_error *err)
{
    while (begin < end) {
        int64_t middle = begin + (end - begin) / 2, found = 0;
        PFD_TRY(inner_file(self, middle, scratch, &found, err));
        if (found < file)
            begin = middle + 1;
        else
            end = middle;
    }
    *out = begin;
    return PFD_OK;
}

/* How many records of a file, from `begin` on, end within its head. */
static pfd_status count_head(const text_source *self, int64_t file, int64_t head, int64_t begin,
                             int64_t end, pfd_scratch *scratch, int64_t *out, pfd_error *err)
{
    *out = 0;
    for (int64_t i = begin; i < end && head > 0; i++, ++*out) {
        pfd_record record;
        PFD_TRY(inner_record(self, i, scratch, &record, err));
        if (record.file != file || record.offset + record.size > head) break;
    }
    return PFD_OK;
}

static pfd_status pass_heads(text_source *self, const int64_t *heads, pfd_scratch *scratch,
                             pfd_error *err)
{
    int64_t total = self->inner.methods->size(self->inner.self), begin = 0, passed = 0;
    self->first = calloc((size_t)self->num_files + 1, sizeof *self->first);
    self->passed = calloc((size_t)self->num_files + 1, sizeof *self->passed);
    if (!self->first || !self->passed)
        return pfd_fail_memory(err, self->num_files, "the table of heads");
    for (int64_t i = 0; i < self->num_files; i++) {
        int64_t more;
        PFD_TRY(first_of_file(self, i, begin, total, scratch, &begin, err));
        self->first[i] = begin - passed;
        PFD_TRY(count_head(self, i, heads[i], begin, total, scratch, &more, err));
        passed += more;
        self->passed[i] = passed;
        begin += more;
    }
    self->num_records = total - passed;
    self->first[self->num_files] = self->num_records;
    return PFD_OK;
}

static pfd_status open_source(text_source *self, const pfd_text_source_args *args, pfd_error *err)
{
    const pfd_source_methods *inner = self->inner.methods;
    if (!inner->describe) {
        if (inner->at)
            self->numbers =
                pfd_line_numbers_create(self->files, self->num_files, pfd_newline_scan_best());
        else
            self->lines = pfd_stream_lines_create(self->files);
        if (!self->numbers && !self->lines)
            return pfd_fail_memory(err, self->num_files, "line numbers");
    }
    int32_t any = 0;
    for (int64_t i = 0; args->heads && i < self->num_files; i++) any |= args->heads[i] > 0;
    if (!any) return PFD_OK;
    if (!inner->at)
        return pfd_fail(err, PFD_INTERNAL, "the heads of files can be left out of an index only");
    return pass_heads(self, args->heads, args->open->scratch, err);
}

pfd_status pfd_text_source_open(const pfd_text_source_args *args, const pfd_source *inner,
                                pfd_source *out, pfd_error *err)
{
    text_source *self = calloc(1, sizeof *self);
    if (!self) {
        inner->methods->close(inner->self);
        if (args->free_kept) args->free_kept(args->kept);
        return pfd_fail_memory(err, (int64_t)sizeof *self, "a source of text");
    }
    *self = (text_source){.inner = *inner,
                          .files = args->open->files,
                          .num_files = args->open->num_files,
                          .kept = args->kept,
                          .free_kept = args->free_kept};
    pfd_status status = open_source(self, args, err);
    if (status != PFD_OK) {
        close_source(self);
        return status;
    }
    out->methods = methods_for(inner->methods);
    out->self = self;
    return PFD_OK;
}

void *pfd_text_source_kept(const void *self)
{
    return ((const text_source *)self)->kept;
}
