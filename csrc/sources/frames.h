/* sources/frames.h -- files of framed records: host->open_frames(), and ops that write frames.
 *
 * OWNERSHIP  Files and framing are borrowed until close; records of a stream are copied into the
 *            scratch given to next().
 * THREADS    As of a pfd_source in op.h.
 * ERRORS     Those of the op's frame(), with their place.  PFD_INTERNAL: its result is impossible.
 *            PFD_CORRUPT_DATA: the frame goes past the end of the file.
 */
#ifndef PFD_SOURCES_FRAMES_H
#define PFD_SOURCES_FRAMES_H
#include "core/rows.h"

/* ---- Ops that write frames ------------------------------------------------------------------- */

/* They put the frame of a file format around records of bytes.  Writes a record with its frame to
 * `to`; returns the byte after it. */
typedef uint8_t *(*pfd_put_frame)(pfd_bytes record, uint8_t *to);

/* infer() of such an op: one input and one output, both of bytes. */
pfd_status pfd_record_frames_infer(const pfd_infer_args *args, pfd_error *err);
extern const pfd_port pfd_frame_inputs[1], pfd_frame_outputs[1];

/* The members of such an op with compute() of its file. */
#define PFD_FRAME_OP                                                                               \
    PFD_OP_SIZES, .flags = PFD_TAKES_RAGGED, PFD_OP_INPUTS(pfd_frame_inputs),                      \
                  PFD_OP_OUTPUTS(pfd_frame_outputs), .infer = pfd_record_frames_infer,             \
                  .compute = compute

/* compute() of it.  `frame_bytes`: those around each record. */
pfd_status pfd_record_frames_put(const pfd_compute_args *args, int64_t frame_bytes,
                                 pfd_put_frame put, pfd_error *err);

/* ---- Sources --------------------------------------------------------------------------------- */

/* A stream where some files are compressed, else a source for any order.  Opening scans the frames
 * once, with many threads, each on another file, and makes an index like that of lines.  at() calls
 * frame() for the wanted frame and reads its record. */
pfd_status pfd_frames_open(const pfd_open_args *args, const pfd_framing *framing, pfd_source *out,
                           pfd_error *err);
#endif
