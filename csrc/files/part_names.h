/* files/part_names.h -- the paths of parts: the text before the number, and the number.
 *
 * OWNERSHIP  Digits are views into the name they were found in.
 * THREADS    Everything here may be called from any thread.
 */
#ifndef PFD_FILES_PART_NAMES_H
#define PFD_FILES_PART_NAMES_H
#include "files/file_attrs.h"

/* A path up to the number, and its two sides: what is before and after its last slash. */
typedef struct pfd_path_stem {
    char *text;       /* data_dir/prefix; owned */
    char *folder;     /* owned */
    const char *base; /* in text */
} pfd_path_stem;

pfd_status pfd_path_stem_make(const pfd_file_attrs *attrs, pfd_path_stem *out, pfd_error *err);
void pfd_path_stem_free(pfd_path_stem *stem);

/* A number in a name; leading zeros are not significant digits; 0 has none. */
typedef struct pfd_digits {
    const char *all, *significant;
    size_t size, significant_size;
} pfd_digits;

/* `all` is `size` digits. */
pfd_digits pfd_digits_of(const char *all, size_t size);
/* The digits at the end of a name, possibly none. */
pfd_digits pfd_last_digits(const char *name);
/* By value, also of numbers that no integer holds. */
int32_t pfd_compare_digits(const pfd_digits *a, const pfd_digits *b);

/* Whether `name` is base + number, written with suffix_length digits. */
int32_t pfd_is_part_name(const char *name, const char *base, int32_t suffix_length,
                         pfd_digits *number);
#endif
