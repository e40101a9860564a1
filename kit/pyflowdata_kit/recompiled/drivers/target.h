/* drivers/target.h -- one file of the sample gets other bytes, and the kit runs over it.
 *
 * OWNERSHIP  Bytes are borrowed for a call.
 * ERRORS     As in job.h.  An op may end the process; the file then holds the bytes that did it.
 * THREADS    One. */
#ifndef TARGET_H
#define TARGET_H
#include <stddef.h>
#include <stdint.h>

typedef struct target_outcome {
    uint64_t behaviour; /* differs where the op behaved in another way: by its status and message,
                           and the magnitudes of its counts */
    uint64_t rows;      /* hash of all outputs */
    int refused;        /* the bytes were called damaged */
    int has_findings;   /* printed as in job.h */
} target_outcome;

/* Reads the job, for a file that lies beside copies of the other ones of the sample.  limit_ms: of
 * processor time for a run, 0: none. */
void target_open(const char *job, const char *file, int32_t limit_ms);
target_outcome target_try(const uint8_t *data, size_t size);
#endif
