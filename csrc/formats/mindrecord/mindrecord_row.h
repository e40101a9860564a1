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

#include <stdint.h>

/* ---- A cursor that reads MessagePack in place ------------------------------------------------ */

/* A value is a scalar, a run of bytes, or the head of an array or map; `count` elements or pairs
 * follow a head.  Nothing is allocated, and the cursor does not track nesting: skip() counts the
 * values that remain.
 *
 * OWNERSHIP  The cursor borrows the bytes; a value's `data` points into them.
 * ERRORS     A function returns 0 if the bytes end too early or are not MessagePack; the cursor is
 *            then at the value that failed, and `problem` says what was expected. */

#define PFD_MSGPACK_NIL 0
#define PFD_MSGPACK_BOOL 1   /* integer: 0 or 1 */
#define PFD_MSGPACK_INT 2    /* integer: any that fits into int64 */
#define PFD_MSGPACK_UINT64 3 /* integer: the bits of a number above INT64_MAX */
#define PFD_MSGPACK_FLOAT 4  /* number: a float32 too */
#define PFD_MSGPACK_STRING 5 /* data, size */
#define PFD_MSGPACK_BINARY 6 /* data, size */
#define PFD_MSGPACK_EXTENSION 7 /* data, size; integer: its type */
#define PFD_MSGPACK_ARRAY 8     /* size: elements that follow */
#define PFD_MSGPACK_MAP 9       /* size: pairs that follow */

typedef struct pfd_msgpack {
    const uint8_t *data;
    int64_t size, at;
    const char *problem; /* static; NULL: no problem */
} pfd_msgpack;

typedef struct pfd_msgpack_value {
    int32_t kind; /* PFD_MSGPACK_* */
    int32_t reserved;
    int64_t integer;
    double number;
    const uint8_t *data;
    int64_t size;
} pfd_msgpack_value;

/* Reads the next value, or its head. */
int32_t pfd_msgpack_next(pfd_msgpack *cursor, pfd_msgpack_value *value);

/* Skips the next value with everything in it. */
int32_t pfd_msgpack_skip(pfd_msgpack *cursor);

/* ---- Rows ------------------------------------------------------------------------------------ */

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
