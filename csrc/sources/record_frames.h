/* sources/record_frames.h -- ops that put the frame of a file format around records of bytes.
 *
 * THREADS  Pure functions of their arguments.
 */
#ifndef PFD_SOURCES_RECORD_FRAMES_H
#define PFD_SOURCES_RECORD_FRAMES_H
#include "core/rows.h"

/* Writes a record with its frame to `to`; returns the byte after it. */
typedef uint8_t *(*pfd_put_frame)(pfd_bytes record, uint8_t *to);

/* infer() of such an op: one input and one output, both of bytes. */
pfd_status pfd_record_frames_infer(const pfd_infer_args *args, pfd_error *err);

/* compute() of it.  `frame_bytes`: those around each record. */
pfd_status pfd_record_frames_put(const pfd_compute_args *args, int64_t frame_bytes,
                                 pfd_put_frame put, pfd_error *err);
#endif
