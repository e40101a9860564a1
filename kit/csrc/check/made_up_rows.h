/* check/made_up_rows.h -- rows made up for the inputs of an op: numbers at which loops go wrong.
 *
 * OWNERSHIP  The tensors lie in the scratch that is given.
 * THREADS    Any thread.
 */
#ifndef PFD_KIT_MADE_UP_ROWS_H
#define PFD_KIT_MADE_UP_ROWS_H
#include "core/scratch.h"
#include "pyflowdata/op.h"

#define PFD_KIT_MADE_ROWS 13

/* What each row is, in words: "all NaN (or -1)". */
extern const char *const pfd_kit_made_words[PFD_KIT_MADE_ROWS];

/* A tensor of n rows of this type, 1 to PFD_KIT_MADE_ROWS.  Where dimensions vary, row i has
 * another size than those before: from none to a few thousand elements, or `large` ones.
 * NULL: out of memory, or the rows would be larger than `most_bytes`. */
const pfd_tensor *pfd_kit_make_up(const pfd_row_type *type, int64_t n, int64_t large,
                                  int64_t most_bytes, pfd_scratch *scratch);
#endif
