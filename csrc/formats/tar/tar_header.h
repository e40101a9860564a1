/* formats/tar/tar_header.h -- members of a tar file: ustar, and what GNU tar and pax put in front
 * of it.
 *
 * THREADS  Pure functions.
 * ERRORS   PFD_CORRUPT_DATA and PFD_UNSUPPORTED with err->byte counted as offsets are, and those of
 *          get().
 */
#ifndef PFD_FORMATS_TAR_TAR_HEADER_H
#define PFD_FORMATS_TAR_TAR_HEADER_H
#include "pyflowdata/op.h"

enum { PFD_TAR_BLOCK = 512 };

/* Where headers are got from; offsets are counted from wherever it begins. */
typedef struct pfd_tar_bytes {
    pfd_status (*get)(const struct pfd_tar_bytes *self, int64_t offset, int64_t size,
                      const uint8_t **data, pfd_error *err);
    const void *ctx;
    const pfd_host *host;
    pfd_scratch *scratch; /* for names that lie in two pieces */
} pfd_tar_bytes;

/* A get() over a record; ctx is the pfd_record, and offsets are those in it. */
pfd_status pfd_tar_get_from_record(const pfd_tar_bytes *self, int64_t offset, int64_t size,
                                   const uint8_t **data, pfd_error *err);

typedef struct pfd_tar_member {
    int32_t is_end;  /* a block of zeros: no member; all else is unset */
    int32_t is_file; /* no folder, link or other entry */
    const char *name; /* not ended by 0; in the bytes or in the scratch */
    int64_t name_size;
    int64_t data, size; /* of its content */
    int64_t next;       /* offset of what follows it */
} pfd_tar_member;

/* The member whose headers begin at `offset`. */
pfd_status pfd_tar_member_at(const pfd_tar_bytes *bytes, int64_t offset, pfd_tar_member *out,
                             pfd_error *err);

/* Whether a header of PFD_TAR_BLOCK bytes has its checksum: the sum of all bytes, its own as
 * blanks; some old programs took bytes as signed. */
int32_t pfd_tar_has_checksum(const uint8_t *header);

/* Of a WebDataset: the key is the path up to the first dot of its last part, the extension what
 * follows that dot. */
typedef struct pfd_tar_name {
    const char *key, *extension;
    int64_t key_size, extension_size;
} pfd_tar_name;

/* 0: the member belongs to no sample.  It is not a file, its name begins with a dot or has none, or
 * is __like_this__, or is in a first folder that is. */
int32_t pfd_tar_name_split(const pfd_tar_member *member, pfd_tar_name *out);
#endif
