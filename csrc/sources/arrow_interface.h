/* sources/arrow_interface.h -- schemas and arrays of the Arrow C data interface, as the columns of
 * arrow_columns.h have them.
 *
 * The structs come from a program in the same process.  They have no sizes of buffers: the sizes
 * follow from the lengths.  Counts are checked at import, values for each row.
 *
 * OWNERSHIP  As each function says.
 * THREADS    Any.
 */
#ifndef PFD_SOURCES_ARROW_INTERFACE_H
#define PFD_SOURCES_ARROW_INTERFACE_H
#include "pyflowdata/pyflowdata.h"
#include "sources/arrow_rows.h"

/* Fields of a struct's schema.  Names point into `from`.  The caller frees *out in any case.
 * Dictionaries are numbered by their fields.  PFD_INVALID_ARGUMENT: it is no schema. */
pfd_status pfd_arrow_schema_import(const pfd_host *host, const pfd_exported_schema *from,
                                   pfd_arrow_schema *out, pfd_error *err);

/* A struct's array, one child for each column. */
typedef struct pfd_arrow_imported {
    pfd_arrow_batch batch;
    pfd_arrow_extent *extents; /* owned: of all buffers, from `base` on */
    const uint8_t *base;
    int64_t bytes;         /* of all buffers together */
    uint8_t *nodes;        /* owned */
    uint8_t *views;        /* owned */
    uint8_t **bitmaps;     /* owned: those that did not begin with a whole byte */
    int64_t num_bitmaps;
    struct pfd_arrow_imported *dictionaries; /* owned: by number, the values as one column */
    int64_t num_dictionaries;
} pfd_arrow_imported;

/* Finds the buffers of an array, which lives longer than *out.  The caller frees *out in any case.
 * PFD_CORRUPT_DATA: the array does not have the form of the schema. */
pfd_status pfd_arrow_array_import(const pfd_host *host, const pfd_arrow_schema *schema,
                                  const pfd_exported_array *array, pfd_arrow_imported *out,
                                  pfd_error *err);

/* A digest of the names and types of a schema, and one of the buffers of its columns. */
uint64_t pfd_arrow_schema_digest(const pfd_arrow_schema *schema);
uint64_t pfd_arrow_imported_digest(const pfd_arrow_schema *schema,
                                   const pfd_arrow_imported *imported);

void pfd_arrow_imported_free(pfd_arrow_imported *imported);
#endif
