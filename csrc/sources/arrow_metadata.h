/* sources/arrow_metadata.h -- the metadata of Apache Arrow IPC: messages, schemas, record
 * batches and footers, which are flatbuffers.
 *
 * Schema.fbs, Message.fbs and File.fbs of Arrow's columnar format define the formats.  A message is
 *
 *     uint32 0xFFFFFFFF; int32 size of the metadata; the metadata; the body
 *
 * or, as Arrow wrote it before 0.15, the same without the first word.  A stream is a schema, then
 * dictionaries and record batches, and an end: a size of 0, or the end of the file.  A file is
 * "ARROW1", two zeros, such messages, a footer with the schema again and the places of all other
 * messages, int32 size of the footer, "ARROW1".  Metadata of the versions V4 (Arrow 0.8 to 0.17)
 * and V5 (from 1.0) are read; bodies are little-endian.
 *
 * Every offset in a flatbuffer is checked before it is used.
 *
 * nanoarrow is the usual C library for this.  Its IPC reader (0.8, and 0.9 before its release)
 * reads streams from the front, and decodes footers only for callers that walk over the file
 * themselves; it refuses views, which polars writes, and until 0.9 dictionaries; it makes an array
 * of each column of each batch, where rows in any order need a few numbers of the chosen ones; and
 * it needs flatcc, 35,000 lines that are generated or copied, where arrow_metadata.c has 420.
 *
 * OWNERSHIP  A schema owns a copy of its metadata, into which its names point. All else points into
 *            the bytes from which it was read.
 * THREADS    Pure functions.
 */
#ifndef PFD_SOURCES_ARROW_METADATA_H
#define PFD_SOURCES_ARROW_METADATA_H
#include "pyflowdata/op.h"

/* ---- Flatbuffers ----------------------------------------------------------------------------- */

/* Metadata, and its problem: after a problem, functions return 0 or nothing. */
typedef struct pfd_flatbuffer {
    const uint8_t *data;
    int64_t size;
    const char *problem; /* NULL: none yet */
    int64_t at;          /* offset of the problem */
} pfd_flatbuffer;

/* ---- Schemas --------------------------------------------------------------------------------- */

/* The numbers of the union Type. */
enum {
    PFD_ARROW_NULL = 1,
    PFD_ARROW_INT = 2,
    PFD_ARROW_FLOAT = 3,
    PFD_ARROW_BINARY = 4,
    PFD_ARROW_UTF8 = 5,
    PFD_ARROW_BOOL = 6,
    PFD_ARROW_DECIMAL = 7,
    PFD_ARROW_DATE = 8,
    PFD_ARROW_TIME = 9,
    PFD_ARROW_TIMESTAMP = 10,
    PFD_ARROW_INTERVAL = 11,
    PFD_ARROW_LIST = 12,
    PFD_ARROW_STRUCT = 13,
    PFD_ARROW_UNION = 14,
    PFD_ARROW_FIXED_BINARY = 15,
    PFD_ARROW_FIXED_LIST = 16,
    PFD_ARROW_MAP = 17,
    PFD_ARROW_DURATION = 18,
    PFD_ARROW_LARGE_BINARY = 19,
    PFD_ARROW_LARGE_UTF8 = 20,
    PFD_ARROW_LARGE_LIST = 21,
    PFD_ARROW_RUN_END = 22,
    PFD_ARROW_BINARY_VIEW = 23,
    PFD_ARROW_UTF8_VIEW = 24,
    PFD_ARROW_LIST_VIEW = 25,
    PFD_ARROW_LARGE_LIST_VIEW = 26,
};

enum { PFD_ARROW_MOST_DEPTH = 64, PFD_ARROW_MOST_FIELDS = 65536 }; /* of a schema */

/* Whether a type is lists of any length with offsets; the entries of a map are such a list too. */
static inline int32_t pfd_arrow_is_list(int32_t type)
{
    return type == PFD_ARROW_LIST || type == PFD_ARROW_LARGE_LIST;
}

/* A field.  The fields of a schema are in depth-first order: the children of field i follow field
 * i, the first at i + 1, each next child at `end` of the child before. */
typedef struct pfd_arrow_field {
    const char *name; /* does not end with a 0 */
    int64_t name_size;
    int32_t type;       /* PFD_ARROW_* */
    int32_t dtype;      /* PFD_INT8 ...: of one number; 0: the type has none */
    int64_t size;       /* bytes of fixed binary and of a decimal, items of a fixed list */
    int32_t scale;      /* digits of a decimal after its point */
    int32_t end;        /* the field after its last child */
    int32_t num_children;
    int32_t node, buffer; /* its first node and buffer in a record batch */
    int32_t views;      /* fields before it whose number of buffers varies from batch to batch */
    int32_t has_dictionary;
    int64_t dictionary; /* number of the dictionary */
    int32_t index;      /* dtype of the numbers of its values */
    int32_t is_outside; /* a part of the values of a dictionary, and not of record batches */
} pfd_arrow_field;

typedef struct pfd_arrow_schema {
    pfd_arrow_field *fields; /* owned */
    int32_t num_fields;
    int32_t num_nodes, num_buffers, num_views; /* of a record batch */
    uint8_t *metadata; /* owned */
    int64_t metadata_bytes;
} pfd_arrow_schema;

/* The dtype of the numbers that decimals of `bytes` are read as; 0: there are none of this size. */
int32_t pfd_arrow_decimal_dtype(int64_t bytes, int32_t scale);

/* The name of a field's type as Arrow's documents have it: "list<item: utf8>" is "list". */
const char *pfd_arrow_type_name(const pfd_arrow_field *field);

void pfd_arrow_schema_free(pfd_arrow_schema *schema); /* accepts a zeroed one */

/* ---- Messages -------------------------------------------------------------------------------- */

enum { PFD_ARROW_NO_MESSAGE, PFD_ARROW_SCHEMA, PFD_ARROW_DICTIONARY, PFD_ARROW_BATCH };

/* A message.  Offsets are in the metadata. */
typedef struct pfd_arrow_message {
    int32_t kind;    /* PFD_ARROW_*; another number: a kind that this file does not know */
    int32_t version; /* of the metadata: 3 is V4, 4 is V5 */
    int64_t header;  /* offset of the table */
    int64_t body_bytes;
} pfd_arrow_message;

/* 0: fb->problem says why not. */
int32_t pfd_arrow_message_read(pfd_flatbuffer *fb, pfd_arrow_message *out);

/* Reads a schema, at the table `header` of a message or of a footer.  PFD_CORRUPT_DATA: see
 * fb->problem.  PFD_UNSUPPORTED: the schema is big-endian.  The caller frees *out in any case. */
pfd_status pfd_arrow_schema_read(const pfd_host *host, pfd_flatbuffer *fb, int64_t header,
                                 int32_t version, pfd_arrow_schema *out, pfd_error *err);

enum { PFD_ARROW_PLAIN = -1, PFD_ARROW_LZ4 = 0, PFD_ARROW_ZSTD = 1 };

/* A record batch, or the values of a dictionary. */
typedef struct pfd_arrow_batch {
    int64_t rows;
    int64_t num_nodes, num_buffers, num_views;
    const uint8_t *nodes, *buffers, *views; /* pairs of int64, pairs of int64, int64; unaligned */
    int32_t codec;                          /* PFD_ARROW_PLAIN ... */
    int32_t is_delta;                       /* of a dictionary */
    int64_t dictionary;                     /* its number */
} pfd_arrow_batch;

/* Reads the header of a dictionary or a record batch.  0: fb->problem says why not. */
int32_t pfd_arrow_batch_read(pfd_flatbuffer *fb, const pfd_arrow_message *message,
                             pfd_arrow_batch *out);

/* ---- Files ----------------------------------------------------------------------------------- */

enum {
    PFD_ARROW_MAGIC_BYTES = 6,
    PFD_ARROW_HEAD_BYTES = 8,  /* before the first message of a file */
    PFD_ARROW_TAIL_BYTES = 10, /* the size of the footer, and the magic number again */
    PFD_ARROW_BLOCK_BYTES = 24,
};
#define PFD_ARROW_MAGIC "ARROW1"

/* The places of messages. */
typedef struct pfd_arrow_blocks {
    const uint8_t *data; /* int64 offset, int32 size of all before the body, int32, int64 body */
    int64_t size;
} pfd_arrow_blocks;

typedef struct pfd_arrow_footer {
    int32_t version;
    int64_t schema; /* offset of the table */
    pfd_arrow_blocks dictionaries, batches;
} pfd_arrow_footer;

/* 0: fb->problem says why not. */
int32_t pfd_arrow_footer_read(pfd_flatbuffer *fb, pfd_arrow_footer *out);
#endif
