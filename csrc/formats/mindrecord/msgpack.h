/* formats/mindrecord/msgpack.h -- a cursor that reads MessagePack in place.
 *
 * A value is a scalar, a run of bytes, or the head of an array or map; `count` elements or pairs
 * follow a head.  Nothing is allocated, and the cursor does not track nesting: skip() counts the
 * values that remain.
 *
 * OWNERSHIP  The cursor borrows the bytes; a value's `data` points into them.
 * ERRORS     A function returns 0 if the bytes end too early or are not MessagePack; the cursor is
 *            then at the value that failed, and `problem` says what was expected.
 */
#ifndef PFD_FORMATS_MINDRECORD_MSGPACK_H
#define PFD_FORMATS_MINDRECORD_MSGPACK_H
#include <stdint.h>

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

/* The name of a kind, such as "a map". */
const char *pfd_msgpack_kind_name(int32_t kind);
#endif
