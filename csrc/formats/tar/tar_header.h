/* formats/tar/tar_header.h -- reads the members of a tar file: ustar headers, and the extended
 * headers of GNU tar and pax before them.
 *
 * THREADS  Pure functions.
 * ERRORS   PFD_CORRUPT_DATA and PFD_UNSUPPORTED, with err->byte counted like offsets, and the
 *          errors of get().
 */
#ifndef PFD_FORMATS_TAR_TAR_HEADER_H
#define PFD_FORMATS_TAR_TAR_HEADER_H
#include "pyflowdata/op.h"

enum { PFD_TAR_BLOCK = 512 };

/* The bytes in which the headers are; offsets count from the first byte. */
typedef struct pfd_tar_bytes {
    pfd_status (*get)(const struct pfd_tar_bytes *self, int64_t offset, int64_t size,
                      const uint8_t **data, pfd_error *err);
    const void *ctx;
    const pfd_host *host;
    pfd_scratch *scratch; /* for names that are stored in two pieces */
} pfd_tar_bytes;

/* A get() over a record.  ctx is the pfd_record; offsets count from its first byte. */
pfd_status pfd_tar_get_from_record(const pfd_tar_bytes *self, int64_t offset, int64_t size,
                                   const uint8_t **data, pfd_error *err);

typedef struct pfd_tar_member {
    int32_t is_end;  /* a block of zeros: there is no member, and the other fields are 0 */
    int32_t is_file; /* 0: a folder, link or other entry */
    const char *name; /* without a 0 at its end; in the bytes or in the scratch */
    int64_t name_size;
    int64_t data, size; /* of its content */
    int64_t next;       /* offset after the member */
} pfd_tar_member;

/* Reads the member whose headers begin at `offset`. */
pfd_status pfd_tar_member_at(const pfd_tar_bytes *bytes, int64_t offset, pfd_tar_member *out,
                             pfd_error *err);

/* Whether the checksum of a header of PFD_TAR_BLOCK bytes is right: the sum of all bytes, with
 * blanks in place of the checksum.  Some old programs used signed bytes. */
int32_t pfd_tar_has_checksum(const uint8_t *header);

/* A name in a WebDataset: the key is the path up to the first dot of its last part, the
 * extension the text after that dot. */
typedef struct pfd_tar_name {
    const char *key, *extension;
    int64_t key_size, extension_size;
} pfd_tar_name;

/* Splits the name of a member.  Returns 0 if the member does not belong to a sample: it is not a
 * file, its name begins with a dot or has none, or the name or its first folder is
 * __like_this__. */
int32_t pfd_tar_name_split(const pfd_tar_member *member, pfd_tar_name *out);
#endif
