/* formats/mindrecord/msgpack.h -- MessagePack, read in place by a cursor.
 *
 * A value is a scalar, a run of bytes, or the head of an array or map, whose 1 or 2 * count values
 * follow.  Nothing is allocated, and nothing nests in the cursor: skip() counts what is left.
 *
 * OWNERSHIP  The cursor borrows the bytes; a value's `data` points into them.
 * ERRORS     A function returns 0 where the bytes end too early, or are none of the format; the
 *            cursor then stands at the value in question, and `problem` says what was expected.
 */
#ifndef PFD_FORMATS_MINDRECORD_MSGPACK_H
#define PFD_FORMATS_MINDRECORD_MSGPACK_H
#include <stdint.h>

#define PFD_MSGPACK_NIL 0
#define PFD_MSGPACK_BOOL 1   /* integer: 0 or 1 */
#define PFD_MSGPACK_INT 2    /* integer: any that fits into int64 */
#define PFD_MSGPACK_UINT64 3 /* integer holds the bits of one above INT64_MAX */
#define PFD_MSGPACK_FLOAT 4  /* number: also of a float32 */
#define PFD_MSGPACK_STRING 5 /* data, size */
#define PFD_MSGPACK_BINARY 6 /* data, size */
#define PFD_MSGPACK_EXTENSION 7 /* data, size; integer: its type */
#define PFD_MSGPACK_ARRAY 8     /* size: elements that follow */
#define PFD_MSGPACK_MAP 9       /* size: pairs that follow */

typedef struct pfd_msgpack {
    const uint8_t *data;
    int64_t size, at;
    const char *problem; /* static; NULL: none so far */
} pfd_msgpack;

typedef struct pfd_msgpack_value {
    int32_t kind; /* PFD_MSGPACK_* */
    int32_t reserved;
    int64_t integer;
    double number;
    const uint8_t *data;
    int64_t size;
} pfd_msgpack_value;

/* The next value, or the head of one. */
int32_t pfd_msgpack_next(pfd_msgpack *cursor, pfd_msgpack_value *value);

/* The next value with all that is in it. */
int32_t pfd_msgpack_skip(pfd_msgpack *cursor);

/* The name of a kind, "a map". */
const char *pfd_msgpack_kind_name(int32_t kind);
#endif
