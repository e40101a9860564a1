/* formats/mindrecord/mindrecord_row.h -- chooses fields of MindRecord shards, and reads them from
 * rows.
 *
 * The raw row is a MessagePack map of the scalar fields.  The blob is the bytes of its field if
 * there is one, or a length (uint64, big-endian) and the bytes of each of several.  An array is
 * its elements; integers are packed since version 3.0.
 */
#ifndef PFD_FORMATS_MINDRECORD_MINDRECORD_ROW_H
#define PFD_FORMATS_MINDRECORD_MINDRECORD_ROW_H
#include "formats/mindrecord/mindrecord_header.h"
#include "sources/fields.h"

/* A chosen field, and the output that it goes to. */
typedef struct pfd_mindrecord_choice {
    const pfd_mindrecord_field *field;
    int64_t output;
} pfd_mindrecord_choice;

/* Writes the type of a field as in a list of fields, "int64[?]" or "bytes".  Returns `out`,
 * which has at least 120 bytes. */
const char *pfd_mindrecord_field_type(const pfd_mindrecord_field *field, char *out,
                                      size_t capacity);

/* Finds the n fields, and compares their types with those of the outputs.  `out` has room for n
 * choices; the *num_raw fields of the raw row come first, the others are in the order of the
 * blob. */
pfd_status pfd_mindrecord_choose(const pfd_host *host, const char *attr,
                                 const pfd_field_spec *specs, const pfd_row_type *types, int64_t n,
                                 const pfd_mindrecord_header *header, pfd_mindrecord_choice *out,
                                 int64_t *num_raw, pfd_error *err);

/* The bytes of a part of a row, and where its values go: parts[i] is for output i, and points into
 * the bytes, the scratch, or itself. */
typedef struct pfd_mindrecord_bytes {
    const pfd_host *host;
    const pfd_mindrecord_header *header;
    const pfd_row_type *types;
    const uint8_t *data;
    int64_t size;
    pfd_scratch *scratch;
    pfd_field_part *parts;
} pfd_mindrecord_bytes;

/* PFD_CORRUPT_DATA: err->byte is an offset in the bytes. */
pfd_status pfd_mindrecord_read_raw(const pfd_mindrecord_bytes *from,
                                   const pfd_mindrecord_choice *choices, int64_t n,
                                   pfd_error *err);
pfd_status pfd_mindrecord_read_blob(const pfd_mindrecord_bytes *from,
                                    const pfd_mindrecord_choice *choices, int64_t n,
                                    pfd_error *err);
#endif
