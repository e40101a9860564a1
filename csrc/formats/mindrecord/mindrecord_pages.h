/* formats/mindrecord/mindrecord_pages.h -- finds the rows of a MindRecord shard.
 *
 * A row is a raw row (its scalar fields) in a raw page and a blob in a blob page.  Both kinds of
 * page are lists; an element is a length (uint64) and that many bytes.  Opening walks the lists
 * once and keeps 8 bytes per row: where its two parts begin.  If the lengths do not end at the
 * end of their page, it fails with PFD_CORRUPT_DATA.
 */
#ifndef PFD_FORMATS_MINDRECORD_MINDRECORD_PAGES_H
#define PFD_FORMATS_MINDRECORD_MINDRECORD_PAGES_H
#include "formats/mindrecord/mindrecord_header.h"

/* The rows of one blob page. */
typedef struct pfd_mindrecord_span {
    int64_t first_row;
    int64_t raw_begin, raw_end; /* in the file */
    int64_t blob_begin, blob_end;
} pfd_mindrecord_span;

typedef struct pfd_mindrecord_rows {
    pfd_mindrecord_span *spans; /* owned; one more, for num_rows */
    uint32_t *raw, *blobs;      /* owned; relative to raw_begin and blob_begin of the span */
    int64_t num_spans, num_rows;
} pfd_mindrecord_rows;

/* A part of a file. */
typedef struct pfd_mindrecord_part {
    int64_t offset, size;
} pfd_mindrecord_part;

/* Finds the rows of a shard.  `scratch` is passed to is_cancelled().  The caller frees *out in any
 * case. */
pfd_status pfd_mindrecord_rows_find(const pfd_host *host, const pfd_file *file,
                                    const pfd_mindrecord_header *header, const pfd_scratch *scratch,
                                    pfd_mindrecord_rows *out, pfd_error *err);
void pfd_mindrecord_rows_free(pfd_mindrecord_rows *rows);

/* Sets where the two parts of a row are, without their lengths. */
void pfd_mindrecord_row_at(const pfd_mindrecord_rows *rows, int64_t row, pfd_mindrecord_part *raw,
                           pfd_mindrecord_part *blob);
#endif
