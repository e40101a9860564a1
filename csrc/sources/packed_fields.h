/* sources/packed_fields.h -- the fields of a row in one piece of memory, which is read in place.
 *
 *     for each field, at a multiple of 8 bytes:
 *     dense    its elements
 *     ragged   its shape, an int64 for each dimension, then its elements at a multiple of 8
 *
 * Its size is a multiple of 8.
 * OWNERSHIP  Ragged rows that were read point into the packed bytes.
 */
#ifndef PFD_SOURCES_PACKED_FIELDS_H
#define PFD_SOURCES_PACKED_FIELDS_H
#include "pyflowdata/op.h"

/* How many bytes a row of a field takes. */
int64_t pfd_packed_field_bytes(const pfd_tensor *field, int64_t row);

/* Writes a row of a field, and returns where the next field begins. */
uint8_t *pfd_packed_field_write(const pfd_tensor *field, int64_t row, uint8_t *to);

/* Takes the next field of packed bytes, at a multiple of 8 in memory, and writes it to a row of
 * an output.  0: they do not have one of its type. */
int32_t pfd_packed_field_read(pfd_tensor *out, int64_t row, const uint8_t **data, int64_t *left);
#endif
