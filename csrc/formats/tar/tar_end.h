/* formats/tar/tar_end.h -- checks what follows the members of a tar file.
 *
 * Two blocks of zeros mark the end.  A writer fills its last record of 20 blocks.  Some (Ant,
 * Plexus, AIX tar) fill it with the previous content of their buffer, which GNU tar ignores.
 * After that record only zeros may follow.  A second archive is an error, because it would be
 * lost.
 *
 * THREADS  Pure functions.
 */
#ifndef PFD_FORMATS_TAR_TAR_END_H
#define PFD_FORMATS_TAR_TAR_END_H
#include "formats/tar/tar_header.h"

/* A get() over a file.  ctx is the pfd_frame_args; offsets are counted from the frame's offset. */
pfd_status pfd_tar_get_from_file(const pfd_tar_bytes *self, int64_t offset, int64_t size,
                                 const uint8_t **data, pfd_error *err);

/* Reads the member at `offset` of the frame; bytes->ctx is the pfd_frame_args.  out->is_end is also
 * set if the file ends there, or has less than a block there and only zeros. */
pfd_status pfd_tar_look(const pfd_tar_bytes *bytes, int64_t offset, pfd_tar_member *out,
                        pfd_error *err);

/* Makes the frame of an end that pfd_tar_look() found at the frame's offset.  PFD_CORRUPT_DATA:
 * what follows is not allowed there. */
pfd_status pfd_tar_pass_end(const pfd_tar_bytes *bytes, pfd_frame *out, pfd_error *err);
#endif
