/* formats/mindrecord/mindrecord_header.h -- the header of a MindRecord shard, which is JSON.
 *
 * It has the fields of the rows, the pages of the file with the rows in each, and the names of all
 * shards of the set.  This module checks that the pages agree with each other;
 * mindrecord_reader.c compares them with the file.
 */
#ifndef PFD_FORMATS_MINDRECORD_MINDRECORD_HEADER_H
#define PFD_FORMATS_MINDRECORD_MINDRECORD_HEADER_H
#include "parse/json.h"
#include "pyflowdata/op.h"

#define PFD_MINDRECORD_MOST_HEADER_BYTES (128ll << 20)

#define PFD_MINDRECORD_STRING 101 /* types of fields besides the dtypes */
#define PFD_MINDRECORD_BYTES 102

typedef struct pfd_mindrecord_field {
    const char *name;  /* ends with a 0 */
    int64_t name_size;
    int32_t type;      /* PFD_INT32, INT64, FLOAT32, FLOAT64, or one of the two above */
    int32_t blob;      /* which part of the blob it is; -1: it is in the raw row */
    int32_t is_array;
    int32_t ndim;
    int64_t shape[PFD_MAX_DIMS]; /* -1: varies; one of them at most */
} pfd_mindrecord_field;

typedef struct pfd_mindrecord_page {
    int64_t number, type_number; /* of the slot in the file; among the pages of its type */
    int64_t first_row, end_row;  /* of blob pages */
    int64_t used;                /* bytes of the slot */
    int64_t first_group, num_groups; /* of raw pages, in pfd_mindrecord_header.groups */
    int32_t is_raw;
    int32_t reserved;
} pfd_mindrecord_page;

/* The raw rows for the rows of one blob page. */
typedef struct pfd_mindrecord_group {
    int64_t blob_page; /* type_number */
    int64_t offset;    /* in the raw page */
} pfd_mindrecord_group;

typedef struct pfd_mindrecord_header {
    int64_t header_size, page_size, shard, num_shards, num_rows;
    int32_t packs_integers; /* version 3.0 */
    int32_t reserved;
    pfd_mindrecord_field *fields; /* owned, as all below */
    int64_t num_fields, num_blobs;
    pfd_mindrecord_page *pages; /* blob pages by type_number, then raw pages by type_number */
    int64_t num_pages, num_blob_pages;
    pfd_mindrecord_group *groups;
    int64_t num_groups;
    char *text;         /* names of fields */
    pfd_json addresses; /* a cursor before the array with the names of all shards */
} pfd_mindrecord_header;

/* Parses a header.  PFD_CORRUPT_DATA, PFD_UNSUPPORTED: err->byte is an offset in the JSON.  The
 * caller frees *out in any case. */
pfd_status pfd_mindrecord_header_parse(const pfd_host *host, const uint8_t *text, int64_t size,
                                       pfd_mindrecord_header *out, pfd_error *err);
void pfd_mindrecord_header_free(pfd_mindrecord_header *header);

/* Whether the rows of two shards have the same fields, in the same form. */
int32_t pfd_mindrecord_same_fields(const pfd_mindrecord_header *a, const pfd_mindrecord_header *b);
#endif
