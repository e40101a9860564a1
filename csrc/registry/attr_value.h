/* registry/attr_value.h -- the value of one attr: in messages, as default_value, and in the op's
 * struct.
 *
 * OWNERSHIP  A pfd_text writes into the caller's buffer, and is always a terminated string.
 *            Pointers in an op's struct point into `memory`, never into the given value.
 * ERRORS     Writing a text never fails: one that does not fit is cut.  PFD_INVALID_ARGUMENT for a
 *            value that the user gave.
 */
#ifndef PFD_REGISTRY_ATTR_VALUE_H
#define PFD_REGISTRY_ATTR_VALUE_H
#include "pyflowdata/pyflowdata.h"

/* A text of limited length: "..." replaces the part that does not fit. */
typedef struct pfd_text {
    char *data;
    size_t capacity; /* >= 8 */
    size_t used;     /* capacity: full */
} pfd_text;

pfd_text pfd_text_in(char *data, size_t capacity); /* an empty text in `data` */
void pfd_text_add(pfd_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The shortest decimal that reads back as the same double (or float), with "." in any locale. */
void pfd_text_add_float(pfd_text *text, double value, int32_t is_float32);

/* Bytes with control bytes as \xNN. */
void pfd_text_add_escaped(pfd_text *text, const char *string, const char *also_escaped);

/* 'string' as Python shows it, shortened to 100 bytes. */
void pfd_text_add_quoted(pfd_text *text, const char *string);

/* ---- Values ---------------------------------------------------------------------------------- */

/* Bytes and alignment of a value in the struct, and its name for messages; 0, 0 and NULL if `type`
 * is not one of PFD_ATTR_*. */
typedef struct pfd_attr_type {
    int64_t bytes, alignment;
    const char *name;
} pfd_attr_type;
pfd_attr_type pfd_attr_type_of(int32_t type);

/* Converts default_value of a row to the value that a user would give, with lists in `memory`, and
 * strings in `memory` or the row.  PFD_INVALID_ARGUMENT: the text is no value of the row's type. */
pfd_status pfd_attr_parse_default(const pfd_attr *row, pfd_scratch *memory, pfd_attr_value *out,
                                  pfd_error *err);

/* Checks `value` against the row and writes it at `out`; strings and lists are copied to `memory`.
 * PFD_INVALID_ARGUMENT: the value is not allowed. */
pfd_status pfd_attr_store(const pfd_attr *row, const pfd_attr_value *value, pfd_scratch *memory,
                          void *out, pfd_error *err);

/* The same with the row's default, which is not NULL. */
pfd_status pfd_attr_store_default(const pfd_attr *row, pfd_scratch *memory, void *out,
                                  pfd_error *err);

/* Splits "a|b|c" into names in `buffer`; returns how many there are, or -1 if a name is empty or
 * there are too many. */
#define PFD_MAX_CHOICES 64
#define PFD_CHOICES_BYTES 1024
int64_t pfd_split_choices(const char *choices, char buffer[PFD_CHOICES_BYTES],
                          const char *names[PFD_MAX_CHOICES]);
#endif
