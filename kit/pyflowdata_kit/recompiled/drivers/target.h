/* drivers/target.h -- one file of the sample gets other bytes, and the kit runs over it.
 *
 * OWNERSHIP  Bytes are borrowed for a call.
 * ERRORS     As in job.h.  An op may end the process; the file then has the bytes that caused this.
 * THREADS    One. */
#ifndef PFD_KIT_DRIVERS_TARGET_H
#define PFD_KIT_DRIVERS_TARGET_H
#include <stddef.h>
#include <stdint.h>

typedef struct target_outcome {
    uint64_t behaviour; /* hash of behaviour: status, message, magnitudes of counts */
    uint64_t rows;      /* hash of all outputs */
    int refused;        /* the op called the bytes damaged */
    int has_findings;   /* findings were printed, as in job.h */
} target_outcome;

/* Reads the job, for a file that lies beside copies of the sample's other files. limit_ms:
 * processor time of a run; 0: no limit. */
void target_open(const char *job, const char *file, int32_t limit_ms);
target_outcome target_try(const uint8_t *data, size_t size);
#endif
