/* formats/json/json_fields.h -- the fields that are read from JSON objects: parses their paths into
 * a tree, and writes their values into rows of the outputs.
 *
 * A field is written [NAME=]KEY[:TYPE][=DEFAULT], see parse/row_type.h, where KEY is a path:
 *
 *     meta.lang      the member lang of the member meta
 *     tags[0].name   the member name of the first element of the member tags
 *     'a.b'.c        a name in single quotes may have dots, brackets and colons; '' is a quote
 *
 * OWNERSHIP  Fields own their tree; texts of the elements are borrowed until they are freed.
 * THREADS    pfd_json_rows() only reads the fields: any thread.
 */
#ifndef PFD_FORMATS_JSON_JSON_FIELDS_H
#define PFD_FORMATS_JSON_JSON_FIELDS_H
#include "parse/json.h"
#include "parse/row_type.h"

/* ---- A field --------------------------------------------------------------------------------- */

#define PFD_JSON_NUMBERS 0 /* bools, integers, floats, or arrays of these */
#define PFD_JSON_STRING 1  /* the bytes of a string, as UTF-8 */
#define PFD_JSON_ANY 2     /* the text of a value of any kind */

typedef struct pfd_json_field {
    const char *element; /* of the attr */
    pfd_field_spec spec;
    int32_t kind; /* PFD_JSON_* */
    int32_t is_ragged;
    int64_t item_bytes;
    uint8_t fill[8]; /* the default of an item, where there is one and rows are not ragged */
    int32_t next;    /* the next field with the same path; -1: none */
} pfd_json_field;

/* PFD_INVALID_ARGUMENT names the element, and what is wrong with its path, type or default. */
pfd_status pfd_json_field_parse(const pfd_host *host, const char *element, pfd_json_field *out,
                                pfd_error *err);

/* ---- All fields ------------------------------------------------------------------------------ */

/* A place in the objects: a member or an element on the path of a field. */
typedef struct pfd_json_node {
    const char *name; /* of a member, ends with a 0; NULL: an element */
    int64_t size;     /* of the name, or the number of the element */
    int32_t child, sibling; /* the first child, and the next sibling; -1: none */
    int32_t field;          /* the first field that ends here; -1: none */
    int32_t first, end;     /* fields that end here or below: order[first, end) */
    uint64_t names;         /* pfd_json_name_bit() of the names of members below */
} pfd_json_node;

#define PFD_JSON_REFUSES_BYTES 0 /* that are not UTF-8, in strings */
#define PFD_JSON_REPLACES_BYTES 1
#define PFD_JSON_KEEPS_BYTES 2

typedef struct pfd_json_fields {
    pfd_json_field *fields;
    int64_t num_fields;
    pfd_json_node *nodes; /* the first one is the object of the line */
    int32_t num_nodes;
    int32_t invalid_utf8; /* PFD_JSON_*_BYTES */
    int32_t is_array;     /* records are elements of an array, and not lines */
    int32_t *order;
    char *names;
} pfd_json_fields;

/* If it fails, *out is NULL. */
pfd_status pfd_json_fields_make(const pfd_host *host, pfd_list_string elements,
                                pfd_json_fields **out, pfd_error *err);
void pfd_json_fields_free(void *fields); /* accepts NULL */

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Parses the record of each row, and writes one output for each field. */
pfd_status pfd_json_rows(const pfd_json_fields *fields, const pfd_compute_args *args,
                         pfd_error *err);

/* One item of a dtype, from the text of a JSON number.  Returns what parse/number_text.h says of
 * it: PFD_NOT_PARSED for an integer dtype and a number with a fraction or an exponent. */
int32_t pfd_json_number(int32_t dtype, const uint8_t *text, int64_t size, uint8_t *out);
#endif
