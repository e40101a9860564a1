/* sources/arrow_columns.h -- the columns of Arrow record batches: found by their paths, and
 * proposed where the user names none.  sources/arrow_rows.h reads them.
 *
 * A path is the names of structs and of their members with dots between them, as in meta.lang; a
 * name in single quotes may have dots, as in 'a.b'.c, and '' is a quote. A path also goes through
 * lists of structs.
 *
 * A field of the type json is the text of the values at the end of its path, whatever they are: in
 * compact JSON with null, true, NaN and Infinity as Python's json module reads them, structs as
 * objects, maps as arrays of pairs.
 *
 * A column in a batch is described by a few int64, its words: where buffers begin, and how many
 * items they have. A column says how many words it has, and which of them each of its levels has.
 *
 * OWNERSHIP  Columns own nothing; those of JSON borrow the schema's fields.
 * THREADS    Any.
 */
#ifndef PFD_SOURCES_ARROW_COLUMNS_H
#define PFD_SOURCES_ARROW_COLUMNS_H
#include "sources/arrow_metadata.h"
#include "sources/fields.h"

/* ---- Outputs, as the user writes them -------------------------------------------------------- */

typedef struct pfd_arrow_output {
    const char *element; /* of the attr */
    pfd_field_spec spec;
    pfd_row_type type;
    int32_t is_ragged;
    int32_t has_default; /* of a row that is null */
    int32_t is_json;
    int32_t has_item;    /* `item` is for numbers that are null, in rows and in lists */
    _Alignas(8) uint8_t item[8];
} pfd_arrow_output;

/* Parses an element of the attr `columns`; without a type it is bytes. */
pfd_status pfd_arrow_output_parse(const pfd_host *host, const char *element, pfd_arrow_output *out,
                                  pfd_error *err);

/* ---- Columns of a schema --------------------------------------------------------------------- */

enum { PFD_ARROW_MOST_LEVELS = 16 };

enum {
    /* Steps from a row to its values. */
    PFD_ARROW_MEMBERS,
    PFD_ARROW_FIXED,
    PFD_ARROW_LISTS,
    PFD_ARROW_LARGE_LISTS,
    /* What is at the end of the steps. */
    PFD_ARROW_NUMBERS,
    PFD_ARROW_BITS,
    PFD_ARROW_DECIMALS,
    PFD_ARROW_BYTES,
    PFD_ARROW_LARGE_BYTES,
    PFD_ARROW_VIEWS,
};

/* The words of a level.  It has those up to the last one that its kind needs. */
enum {
    PFD_WORD_VALIDITY, /* where its bits begin; 0: all items are valid */
    PFD_WORD_BUFFER,   /* where offsets, numbers, bits or views begin */
    PFD_WORD_SIZE,     /* of what offsets lead to: items, or bytes */
    PFD_WORD_COUNT,    /* lists, texts, or extra buffers of views */
    PFD_WORD_DATA,     /* where the bytes of texts begin */
    PFD_ARROW_VALUE_WORDS,
    PFD_WORD_EXTRAS = PFD_WORD_SIZE,     /* of views: the number of their first extra buffer */
    PFD_WORD_DICTIONARY = PFD_WORD_SIZE, /* of keys: the number of their dictionary */
};

typedef struct pfd_arrow_level {
    int32_t kind; /* one of those above */
    int32_t node, buffer, views;
    int32_t word; /* its first word in the words of a batch */
    int32_t bytes; /* of a number, or of a fixed value */
    int32_t scale; /* of PFD_ARROW_DECIMALS */
    int64_t size; /* items of PFD_ARROW_FIXED; stored bytes of PFD_ARROW_DECIMALS */
} pfd_arrow_level;

typedef struct pfd_arrow_column {
    pfd_arrow_level levels[PFD_ARROW_MOST_LEVELS];
    int32_t num_levels, num_outer; /* the outer ones are structs before the first list */
    pfd_arrow_level values;        /* with a dictionary: in the dictionary, from word 0 on */
    int32_t has_validity;          /* of the values; fixed binary has its level's */
    int32_t has_dictionary;
    int64_t dictionary;
    int32_t index;        /* dtype of the numbers of values */
    pfd_arrow_level keys; /* with a dictionary */
    const pfd_arrow_field *json; /* of JSON: the fields of the schema; NULL: another type */
    int32_t root;  /* of JSON: the field that its path begins with */
    int32_t field; /* that its path ends with */
    int32_t word;  /* of JSON: PFD_ARROW_VALUE_WORDS for each field from `root` on */
    int32_t has_nulls;    /* for callers: what pfd_arrow_column_nulls() returned */
    pfd_row_type type;    /* as stored */
} pfd_arrow_column;

/* Whether values are stored in another form than numbers of their dtype. */
static inline int32_t pfd_arrow_is_converted(const pfd_arrow_column *column)
{
    return column->values.kind == PFD_ARROW_BITS || column->values.kind == PFD_ARROW_DECIMALS;
}

/* Bytes of a stored number; 0: it is a bit. */
static inline int64_t pfd_arrow_stored_bytes(const pfd_arrow_level *level)
{
    if (level->kind == PFD_ARROW_BITS) return 0;
    return level->kind == PFD_ARROW_DECIMALS ? level->size : level->bytes;
}

/* Whether the values are bytes, and not numbers. */
static inline int32_t pfd_arrow_is_bytes(const pfd_arrow_column *column)
{
    return column->values.kind >= PFD_ARROW_BYTES;
}

/* What field i of a column of JSON has, with its words. */
pfd_arrow_level pfd_arrow_json_level(const pfd_arrow_column *column, int32_t i);

/* Finds the column of an output, and compares their types; *words grows by the column's words.
 * ERRORS  PFD_INVALID_ARGUMENT, PFD_UNSUPPORTED: there is no such column in `file`, or the output
 *         cannot be made of it. */
pfd_status pfd_arrow_column_find(const pfd_host *host, const pfd_file *file,
                                 const pfd_arrow_schema *schema, const pfd_arrow_output *output,
                                 int32_t *words, pfd_arrow_column *out, pfd_error *err);

/* ---- Columns, where the user left them out --------------------------------------------------- */

/* All columns that rows can have; the columns and fields are in the scratch of `args`. */
typedef struct pfd_arrow_proposal {
    const pfd_propose_args *args;
    pfd_arrow_column *columns; /* the caller sets their has_nulls */
    pfd_inferred_field *fields;
    int64_t size, capacity;
    char left_out[600];
    size_t left_out_bytes;
} pfd_arrow_proposal;

pfd_status pfd_arrow_proposal_begin(const pfd_propose_args *args, const pfd_arrow_schema *schema,
                                    pfd_arrow_proposal *out, pfd_error *err);

/* Sets the attr `columns`: those with nulls get a default that says that there is no value, or are
 * left out where no default does.  PFD_UNSUPPORTED: no column can be read as it is. */
pfd_status pfd_arrow_proposal_end(pfd_arrow_proposal *p, const pfd_file *file, pfd_error *err);
#endif
