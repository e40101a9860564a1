/* formats/tar/tar_end.h -- what may follow the members of a tar file.
 *
 * Two blocks of zeros mark the end.  A writer fills its last record of 20 blocks, and some leave in
 * it what their buffer held before (Ant, Plexus, AIX tar): GNU tar does not look at it.  After that
 * record only zeros may follow, and no second archive anywhere, which would be lost.
 *
 * THREADS  Pure functions.
 */
#ifndef PFD_FORMATS_TAR_TAR_END_H
#define PFD_FORMATS_TAR_TAR_END_H
#include "formats/tar/tar_header.h"

/* A get() over a file; ctx is the pfd_frame_args, and offsets are counted from its frame's. */
pfd_status pfd_tar_get_from_file(const pfd_tar_bytes *self, int64_t offset, int64_t size,
                                 const uint8_t **data, pfd_error *err);

/* The member at `offset` of the frame, whose bytes->ctx is the pfd_frame_args.  It is_end also
 * where the file ends, or has less than a block, of zeros. */
pfd_status pfd_tar_look(const pfd_tar_bytes *bytes, int64_t offset, pfd_tar_member *out,
                        pfd_error *err);

/* The frame of an end that pfd_tar_look() has found at the frame's offset.  PFD_CORRUPT_DATA: more
 * follows than may. */
pfd_status pfd_tar_pass_end(const pfd_tar_bytes *bytes, pfd_frame *out, pfd_error *err);
#endif
