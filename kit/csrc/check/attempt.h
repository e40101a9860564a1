/* check/attempt.h -- one call of compute() with all of its arguments in guarded memory.
 *
 * OWNERSHIP  An attempt owns copies of records and inputs, and the outputs, until it is closed;
 *            ragged rows of the outputs may point into its copies and its scratch.
 * THREADS    An attempt belongs to its thread.
 */
#ifndef PFD_KIT_CHECK_ATTEMPT_H
#define PFD_KIT_CHECK_ATTEMPT_H
#include "check/calls.h"

typedef struct pfd_kit_attempt {
    const pfd_node *node;
    int64_t n; /* rows */
    /* The rows repeat: row i has the record and the inputs of row i - period, and shares their
     * copies. 0: each row has copies of its own. */
    int64_t period;
    int32_t second;   /* the second of two equal calls: guards in front, other fill */
    int32_t *regions; /* all that was copied for the call; the outputs come first */
    int64_t num_regions, capacity;
    pfd_record *records;    /* const to the op */
    pfd_tensor *outputs;    /* one per output */
    pfd_tensor *inputs;     /* one per input; const to the op */
    pfd_tensor **ports;     /* to the outputs, then to the inputs */
    pfd_kit_scratch scratch;
} pfd_kit_attempt;

/* Makes the copies; node, n, period and second are set.  0: out of memory; close() all the same. */
int32_t pfd_kit_attempt_open(pfd_kit_call *call, pfd_kit_attempt *a, const pfd_record *records,
                             const pfd_tensor *const *inputs);

/* Calls compute(); err->row is the row that failed. */
pfd_status pfd_kit_attempt_run(pfd_kit_call *call, pfd_kit_attempt *a, pfd_error *err);

void pfd_kit_attempt_close(pfd_kit_call *call, pfd_kit_attempt *a);

/* Makes an equal call in other memory, and compares the rows of both calls. */
pfd_status pfd_kit_attempt_repeat(pfd_kit_call *call, const pfd_kit_attempt *first,
                                  const pfd_record *records, const pfd_tensor *const *inputs,
                                  pfd_error *err);

/* Returns 1 if a row of a dense output seems not to be written: all of its bytes are the fill. */
int32_t pfd_kit_looks_unwritten(const pfd_kit_attempt *a);

/* Where two rows of equal records first differ. */
typedef struct pfd_kit_difference {
    uint32_t output;
    int64_t byte; /* offset in the row; -1: the rows differ in size */
    uint8_t one, two;
} pfd_kit_difference;

/* Returns 1 if the rows of an output differ, and fills in where. */
int32_t pfd_kit_rows_differ(const pfd_kit_attempt *a, int64_t row_a, const pfd_kit_attempt *b,
                            int64_t row_b, pfd_kit_difference *out);

/* Says what a row was computed from: "record 5", or a made-up row. */
#define PFD_KIT_ROW_WORDS 80

const char *pfd_kit_row_words(const pfd_kit_call *call, const pfd_kit_attempt *a, int64_t row,
                              char out[PFD_KIT_ROW_WORDS]);

#endif
