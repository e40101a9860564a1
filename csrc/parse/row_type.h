/* parse/row_type.h -- the type of a row in a message, and of a field as a user writes it. */
#ifndef PFD_PARSE_ROW_TYPE_H
#define PFD_PARSE_ROW_TYPE_H
#include "pyflowdata/op.h"

/* ---- The type of a row in a message ---------------------------------------------------------- */

/* "float64 (2,)"; `out` holds `capacity` >= 256 bytes; returns out. */
const char *pfd_format_row_type(const pfd_row_type *type, char *out, size_t capacity);

/* Fails with "the rows of input 'in' are <type>; <expected>". */
pfd_status pfd_refuse_rows(const pfd_infer_args *args, int32_t input, const char *name,
                           const char *expected, pfd_error *err);
/* Fails unless the rows of input 'in', which is the only one, are bytes: uint8 (None,) or (n,). */
pfd_status pfd_expect_bytes(const pfd_infer_args *args, pfd_error *err);

/* The dimension that an attr names, from the end if it is negative. */
static inline int32_t pfd_axis(int32_t axis, int32_t ndim)
{
    return axis < 0 ? axis + ndim : axis;
}

/* ---- Fields, as a user writes them ----------------------------------------------------------- */

/* One output of an op, as a user writes it in a list of fields.
 *
 *     [NAME=]KEY[:TYPE][=DEFAULT]
 *
 *     "label"                            the field label, of the type that the op gives it
 *     "label:int64"                      a number
 *     "x:float32[28,28]"                 an array of this shape
 *     "ids:int64[?]", "boxes:float32[?,4]"  of as many as there are, which varies from row to row
 *     "image=image/encoded:bytes"        the bytes of the field image/encoded (uint8[?])
 *     "weight:float32=1"                 1 where there is none
 *
 * KEY is the field's name in the file, which may have a ':' where a type follows; NAME is the name
 * of the output, without a ':': the KEY, unless it is given.  So an '=' with no ':' before it ends
 * a NAME; a type begins after the last ':' before the next '=', which begins a default.
 *
 * Texts point into the element, and do not end with a 0. */
typedef struct pfd_field_spec {
    const char *name, *key, *default_text; /* NULL: no default */
    int64_t name_size, key_size, default_size;
    int32_t has_type, has_shape;
    pfd_row_type type; /* dtype 0 without a type, ndim 0 without a shape */
} pfd_field_spec;

/* How long the NAME is that begins an element: up to the first '=', and there up to the last ':',
 * as the host names the outputs of any op with outputs_attr.  0: there is none. */
int64_t pfd_field_name_size(const char *element);

/* PFD_INVALID_ARGUMENT names attr and element, the wrong part, and how a field is written. */
pfd_status pfd_field_spec_parse(const pfd_host *host, const char *attr, const char *element,
                                pfd_field_spec *out, pfd_error *err);

/* The same for an op with more names of types of bytes: "str|json". */
pfd_status pfd_field_spec_parse_with(const pfd_host *host, const char *attr, const char *element,
                                     const char *bytes_types, pfd_field_spec *out,
                                     pfd_error *err);

/* Whether the field was written with this type. */
int32_t pfd_field_has_type(const pfd_field_spec *field, const char *type);

/* The type as it is written in a field, "int64[2,?]"; returns out, of at least 256 bytes. */
const char *pfd_format_field_type(const pfd_row_type *type, char *out, size_t capacity);

/* Adds the name of a field to a list of them for a message, as long as there is room, and then
 * dots; `used` is what the last call returned, at first 0. */
size_t pfd_add_name(char *out, size_t capacity, size_t used, const char *name);
#endif
