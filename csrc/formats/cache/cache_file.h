/* formats/cache/cache_file.h -- a file of records with the fields of a data set, as
 * pyflowdata/datasets/cache_file.py writes it.
 *
 *     header     pfd_cache_header, then a pfd_row_type for each field
 *     records    from `first_record` on, as sources/fields.h says, one after the other
 *     table      int64: where each record begins, and where the last one ends; not where all
 *                records have record_bytes
 *
 * Numbers are those of the machine: a cache is not moved to others.
 */
#ifndef PFD_FORMATS_CACHE_CACHE_FILE_H
#define PFD_FORMATS_CACHE_CACHE_FILE_H
#include "pyflowdata/op.h"

#define PFD_CACHE_MAGIC "PFDCACHE"
#define PFD_CACHE_VERSION 1

typedef struct pfd_cache_header {
    char magic[8];
    uint32_t version, num_fields;
    int64_t num_records;
    int64_t record_bytes; /* of each record; 0: there is a table */
    int64_t first_record; /* offsets in the file, multiples of 8 */
    int64_t table;        /* or the end of the records */
    int64_t file_bytes;
    int64_t reserved;
} pfd_cache_header;

/* Reads and checks the header of a file: its fields are `types`, and all it speaks of is in the
 * file.  PFD_CORRUPT_DATA. */
pfd_status pfd_cache_header_read(const pfd_host *host, const pfd_file *file,
                                 const pfd_row_type *types, int64_t num_types,
                                 pfd_scratch *scratch, pfd_cache_header *out, pfd_error *err);
#endif
