/* registry/attr_text.h -- attr values as text: for messages, and from default_value.
 *
 * OWNERSHIP  A pfd_text writes into the caller's buffer, and is always a terminated string.
 * ERRORS     Writing never fails: a text that does not fit is cut.
 */
#ifndef PFD_REGISTRY_ATTR_TEXT_H
#define PFD_REGISTRY_ATTR_TEXT_H
#include "pyflowdata/pyflowdata.h"

/* A text of limited length; the part that does not fit is replaced by "...". */
typedef struct pfd_text {
    char *data;
    size_t capacity; /* >= 8 */
    size_t used;     /* capacity: full */
} pfd_text;

/* An empty text in `data`. */
pfd_text pfd_text_in(char *data, size_t capacity);
void pfd_text_add(pfd_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The shortest decimal that reads back as the same double (or float), with "." in any locale. */
void pfd_text_add_float(pfd_text *text, double value, int32_t is_float32);

/* Bytes with control bytes as \xNN. */
void pfd_text_add_escaped(pfd_text *text, const char *string, const char *also_escaped);

/* 'string' as Python shows it, shortened to 100 bytes. */
void pfd_text_add_quoted(pfd_text *text, const char *string);

/* A value as Python shows it; long strings and lists are shortened. */
void pfd_text_add_value(pfd_text *text, const pfd_attr_value *value);

/* "a bool", "an integer" ... */
const char *pfd_value_kind_name(int32_t kind);

/* Converts default_value of a row to the value that a user would give.  Lists are in `memory`;
 * strings are in `memory` or in the row.  PFD_INVALID_ARGUMENT: the text is not a value of the
 * row's type. */
pfd_status pfd_attr_parse_default(const pfd_attr *row, pfd_scratch *memory, pfd_attr_value *out,
                                  pfd_error *err);
#endif
