/* formats/onerec/flatbuffer.h -- reads a FlatBuffer and checks each step.
 *
 * A buffer is tables, vectors and strings that refer to each other by offsets; a table's fields are
 * found by its vtable.  All numbers are little-endian.  Places are offsets in the buffer.
 *
 * OWNERSHIP  The bytes are borrowed.
 * THREADS    Pure functions.
 * ERRORS     0: a place is outside the buffer, and `damage` of the buffer is where that was read.
 */
#ifndef PFD_FORMATS_ONEREC_FLATBUFFER_H
#define PFD_FORMATS_ONEREC_FLATBUFFER_H
#include <stdint.h>

typedef struct pfd_flatbuffer {
    const uint8_t *data;
    int64_t size;
    int64_t damage; /* the place of the damage that was found; -1: none */
} pfd_flatbuffer;

typedef struct pfd_flat_table {
    int64_t at, bytes;            /* of the table */
    int64_t vtable, vtable_bytes; /* 2 bytes for each field, after two sizes */
} pfd_flat_table;

typedef struct pfd_flat_vector {
    int64_t at; /* of its first item */
    int64_t count;
} pfd_flat_vector;

/* Finds the root table.  `identifier` is the four letters that the file must have. */
int32_t pfd_flat_root(pfd_flatbuffer *buffer, const char *identifier, pfd_flat_table *out);

/* Finds field `id`, of `bytes` bytes, in a table.  *place is 0 if the table does not have it. */
int32_t pfd_flat_field(pfd_flatbuffer *buffer, const pfd_flat_table *table, int32_t id,
                       int64_t bytes, int64_t *place);

/* Finds the table that the offset at a place refers to. */
int32_t pfd_flat_table_at(pfd_flatbuffer *buffer, int64_t place, pfd_flat_table *out);
int32_t pfd_flat_vector_at(pfd_flatbuffer *buffer, int64_t place, int64_t item_bytes,
                           pfd_flat_vector *out);

/* Finds the vector that a field refers to.  A missing field gives an empty vector, at 0. */
int32_t pfd_flat_vector_field(pfd_flatbuffer *buffer, const pfd_flat_table *table, int32_t id,
                              int64_t item_bytes, pfd_flat_vector *out);
#endif
