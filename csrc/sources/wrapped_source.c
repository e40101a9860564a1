/* A wrapped source passes every call to its inner source, and omits the heads of text files.
 * Inflated files are decompressed as a whole, when a reader opens them. */
#include "sources/wrapped_source.h"

#include "core/cpu.h"
#include "core/error.h"
#include "core/op_shorthand.h"
#include "core/scratch.h"
#include "core/search.h"
#include "files/codecs.h"
#include "files/file_read.h"
#include "sources/lines.h"
#include "sources/text.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- Sources with state or text -------------------------------------------------------------- */

typedef struct wrapped_source {
    pfd_source inner; /* owned */
    void *state;      /* owned */
    void (*free_state)(void *state);

    /* For text. */
    int32_t is_text;
    const pfd_file *const *files;
    int64_t num_files;
    pfd_line_numbers *numbers; /* owned; NULL: the inner source knows the lines */

    /* For random access to files with heads: record i of file f is the inner record i + passed[f],
     * first[f] <= i < first[f + 1]. */
    int64_t *first, *passed; /* owned */
    int64_t num_records;
} wrapped_source;

/* ---- Sources with state or text: records ----------------------------------------------------- */

/* Cuts the byte order mark off the first record of each file among these. */
static void cut_marks(pfd_record *records, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        pfd_record *record = &records[i];
        if (record->offset != 0) continue;
        int64_t mark = pfd_text_mark_bytes(record->data, record->size);
        record->data += mark;
        record->size -= mark;
        record->offset += mark;
    }
}

static int64_t size_of(void *source)
{
    const wrapped_source *self = source;
    return self->first ? self->num_records : self->inner.methods->size(self->inner.self);
}

static void to_inner(const wrapped_source *self, const int64_t *ordinals, int64_t n, int64_t *out)
{
    int64_t file = 0;
    for (int64_t i = 0; i < n; i++) {
        if (ordinals[i] < self->first[file] || ordinals[i] >= self->first[file + 1])
            file = pfd_last_at_most(self->first, (int64_t)sizeof *self->first, 0, self->num_files,
                                    ordinals[i]);
        out[i] = ordinals[i] + self->passed[file];
    }
}

static pfd_status find_after_heads(const wrapped_source *self, const int64_t *ordinals, int64_t n,
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
    const wrapped_source *self = source;
    pfd_status status =
        self->first ? find_after_heads(self, ordinals, n, scratch, out, err)
                    : self->inner.methods->at(self->inner.self, ordinals, n, scratch, out, err);
    if (status == PFD_OK && self->is_text) cut_marks(out, n);
    return status;
}

static pfd_status next(void *source, int64_t max, pfd_scratch *scratch, pfd_record *out, int64_t *n,
                       pfd_error *err)
{
    const wrapped_source *self = source;
    pfd_status status = self->inner.methods->next(self->inner.self, max, scratch, out, n, err);
    if (status == PFD_OK && self->is_text) cut_marks(out, *n);
    return status;
}

static pfd_status seek(void *source, int64_t epoch, int64_t position, pfd_scratch *scratch,
                       pfd_error *err)
{
    const wrapped_source *self = source;
    return self->inner.methods->seek(self->inner.self, epoch, position, scratch, err);
}

static void places(void *source, const int64_t *ordinals, int64_t n, pfd_place *out)
{
    enum { at_once = 64 };
    const wrapped_source *self = source;
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

/* Adds the line of the byte that failed: a record may have several lines. */
static void describe(void *source, const pfd_record *record, pfd_error *err)
{
    const wrapped_source *self = source;
    if (!self->numbers) {
        if (self->inner.methods->describe)
            self->inner.methods->describe(self->inner.self, record, err);
        return;
    }
    if (record->file < 0 || record->file >= self->num_files) return;
    int64_t offset = err->byte > record->offset ? err->byte : record->offset;
    int32_t is_stream = !self->inner.methods->at; /* then file sizes may be compressed sizes */
    if (offset >= 0 && (is_stream || offset <= self->files[record->file]->size))
        err->line = pfd_line_numbers_of_byte(self->numbers, record->file, offset);
}

static void close_source(void *source)
{
    wrapped_source *self = source;
    self->inner.methods->close(self->inner.self);
    if (self->free_state) self->free_state(self->state);
    pfd_line_numbers_free(self->numbers);
    free(self->first);
    free(self->passed);
    free(self);
}

/* The methods that the inner source has too. */
static const pfd_source_methods *methods_for(const pfd_source_methods *inner, int32_t hides_places)
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
    if (!inner->at) return &stream;
    return inner->places && !hides_places ? &random_access : &without_places;
}

/* ---- Sources with state or text: the heads of files ------------------------------------------ */

static pfd_status inner_record(const wrapped_source *self, int64_t ordinal, pfd_scratch *scratch,
                               pfd_record *out, pfd_error *err)
{
    return self->inner.methods->at(self->inner.self, &ordinal, 1, scratch, out, err);
}

static pfd_status inner_file(const wrapped_source *self, int64_t ordinal, pfd_scratch *scratch,
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

/* Finds the first inner record from `begin` on that is in `file` or in a later one. */
static pfd_status first_of_file(const wrapped_source *self, int64_t file, int64_t begin,
                                int64_t end, pfd_scratch *scratch, int64_t *out, pfd_error *err)
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

/* Counts the records of a file, from `begin` on, that end within its head. */
static pfd_status count_head(const wrapped_source *self, int64_t file, int64_t head, int64_t begin,
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

static pfd_status pass_heads(wrapped_source *self, const int64_t *heads, pfd_scratch *scratch,
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

/* ---- Sources with state or text: open -------------------------------------------------------- */

static pfd_status open_text(wrapped_source *self, const pfd_source_wrap *wrap, pfd_error *err)
{
    const pfd_source_methods *inner = self->inner.methods;
    self->is_text = 1;
    self->files = wrap->text->files;
    self->num_files = wrap->text->num_files;
    if (!inner->describe) {
        self->numbers = pfd_line_numbers_create(self->files, self->num_files);
        if (!self->numbers) return pfd_fail_memory(err, self->num_files, "line numbers");
    }
    int32_t any = 0;
    for (int64_t i = 0; wrap->heads && i < self->num_files; i++) any |= wrap->heads[i] > 0;
    return any ? pass_heads(self, wrap->heads, wrap->text->scratch, err) : PFD_OK;
}

pfd_status pfd_source_wrap_open(const pfd_source_wrap *wrap, pfd_source *source, pfd_error *err)
{
    wrapped_source *self = calloc(1, sizeof *self);
    if (!self) {
        source->methods->close(source->self);
        if (wrap->free_state) wrap->free_state(wrap->state);
        return pfd_fail_memory(err, (int64_t)sizeof *self, "a source");
    }
    *self = (wrapped_source){
        .inner = *source, .state = wrap->state, .free_state = wrap->free_state};
    pfd_status status = wrap->text ? open_text(self, wrap, err) : PFD_OK;
    const pfd_source_methods *methods = methods_for(source->methods, wrap->hides_places);
    return pfd_source_opened(status, methods, self, source);
}

void *pfd_wrapped_source_state(const void *self)
{
    return ((const wrapped_source *)self)->state;
}

/* ---- Files decompressed as a whole ----------------------------------------------------------- */

typedef struct inflated_files {
    int64_t num_inflated;
    pfd_input_file *copies; /* owned, with the bytes of the decompressed ones */
    const pfd_file **files;
    int64_t n;
} inflated_files;

/* Bytes that the compressed files of a reader may take together. */
static int64_t most_bytes(const pfd_scratch *bounds)
{
    int64_t quarter = pfd_memory_limit() / 4, bound = pfd_scratch_most_bytes(bounds);
    return quarter < bound ? quarter : bound;
}

/* Makes a file in memory, which has only a size and bytes, at most so many. */
static pfd_status inflate(inflated_files *self, int64_t i, int32_t compression, int64_t most,
                          const pfd_scratch *bounds, pfd_error *err)
{
    const pfd_file *file = self->files[i];
    pfd_input_file *copy = &self->copies[i];
    pfd_inflated inflated = {0};
    copy->file = *file;
    pfd_status status = pfd_inflate_file(file, compression, most, bounds, &inflated, err);
    copy->data = inflated.data;
    copy->file.size = inflated.size;
    if (status == PFD_CORRUPT_DATA && inflated.size == most)
        return pfd_fail_at(err, file, -1, PFD_OUT_OF_MEMORY,
                           "it is decompressed as a whole, and the compressed files of a reader "
                           "may take %" PRId64 " bytes in memory, a quarter of what this process "
                           "may use, or memory_budget; raise memory_budget or decompress the files",
                           most_bytes(bounds));
    if (status != PFD_OK) return status;
    copy->methods = &pfd_mapped_file;
    copy->fd = -1;
    copy->compression = PFD_COMPRESSION_NONE;
    self->files[i] = &copy->file;
    self->num_inflated++;
    return PFD_OK;
}

static void close_inflated(void *inflated)
{
    inflated_files *self = inflated;
    for (int64_t i = 0; self->copies && i < self->n; i++)
        free((uint8_t *)(uintptr_t)self->copies[i].data);
    free(self->copies);
    free(self->files);
    free(self);
}

static pfd_status inflate_all(inflated_files *self, const pfd_open_args *args, pfd_error *err)
{
    self->copies = calloc((size_t)self->n + 1, sizeof *self->copies);
    self->files = calloc((size_t)self->n + 1, sizeof *self->files);
    if (!self->copies || !self->files) return pfd_fail_memory(err, self->n, "the table of files");
    int64_t most = most_bytes(args->scratch);
    for (int64_t i = 0; i < self->n; i++) {
        int32_t compression = pfd_file_compression(args->files[i]);
        self->files[i] = args->files[i];
        if (compression <= PFD_COMPRESSION_NONE) continue;
        PFD_TRY(inflate(self, i, compression, most, args->scratch, err));
        most -= self->copies[i].file.size;
    }
    return PFD_OK;
}

pfd_status pfd_open_inflated(const pfd_open_args *args,
                             pfd_status (*open)(const pfd_open_args *args, pfd_source *out,
                                                pfd_error *err),
                             pfd_source *out, pfd_error *err)
{
    inflated_files *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "decompressed files");
    self->n = args->num_files;
    pfd_status status = inflate_all(self, args, err);
    pfd_open_args inflated = *args;
    inflated.files = self->files;
    if (status == PFD_OK) status = open(&inflated, out, err);
    if (status != PFD_OK) {
        close_inflated(self);
        return status;
    }
    const pfd_source_wrap wrap = {
        .state = self, .free_state = close_inflated, .hides_places = self->num_inflated > 0};
    return pfd_source_wrap_open(&wrap, out, err);
}
