/* Walks the pages of MindRecord shards. */
#include "formats/mindrecord/mindrecord_pages.h"

#include "core/bytes.h"
#include "core/scratch.h"
#include "files/input_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- Pages ----------------------------------------------------------------------------------- */
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
                              const pfd_mindrecord_header *header, pfd_mindrecord_rows *out,
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

static pfd_status walk_spans(walk *w, const pfd_mindrecord_header *header, pfd_mindrecord_rows *out,
                             pfd_error *err)
{
    for (int64_t i = 0; i < out->num_spans; i++) {
        pfd_mindrecord_span *span = &out->spans[i];
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

pfd_status pfd_mindrecord_rows_find(const pfd_host *host, const pfd_file *file,
                                    const pfd_mindrecord_header *header, const pfd_scratch *scratch,
                                    pfd_mindrecord_rows *out, pfd_error *err)
{
    *out = (pfd_mindrecord_rows){.num_spans = header->num_blob_pages, .num_rows = header->num_rows};
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

void pfd_mindrecord_rows_free(pfd_mindrecord_rows *rows)
{
    free(rows->spans);
    free(rows->raw);
    free(rows->blobs);
    *rows = (pfd_mindrecord_rows){.num_rows = 0};
}

void pfd_mindrecord_row_at(const pfd_mindrecord_rows *rows, int64_t row, pfd_mindrecord_part *raw,
                           pfd_mindrecord_part *blob)
{
    int64_t low = 0, high = rows->num_spans;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (rows->spans[middle].first_row <= row) low = middle;
        else high = middle;
    }
    const pfd_mindrecord_span *span = &rows->spans[low];
    int32_t is_last = row + 1 == span[1].first_row;
    raw->offset = span->raw_begin + rows->raw[row] + LENGTH;
    blob->offset = span->blob_begin + rows->blobs[row] + LENGTH;
    int64_t raw_end = is_last ? span->raw_end : span->raw_begin + rows->raw[row + 1];
    raw->size = raw_end - raw->offset;
    int64_t blob_end = is_last ? span->blob_end : span->blob_begin + rows->blobs[row + 1];
    blob->size = blob_end - blob->offset;
}
