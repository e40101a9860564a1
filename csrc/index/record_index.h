/* index/record_index.h -- the dense index, for any order: where each record begins.
 *
 * Finding a record takes one access to the index: a group is one cache line, with the place of its
 * first record and the strides to the next ones.
 *
 * OWNERSHIP  Image and texts are borrowed.
 * THREADS    Any.
 */
#ifndef PFD_INDEX_RECORD_INDEX_H
#define PFD_INDEX_RECORD_INDEX_H
#include "index/index_image.h"

#include <string.h>

enum { PFD_GROUP_STRIDE_BYTES = 56 };

/* A group is irregular if its strides cannot be summed: its records are found by a linear scan from
 * the first one.  HAS_RETURNS: some line may end in CRLF, and its CR must be cut off. */
enum { PFD_GROUP_IS_IRREGULAR = 1, PFD_GROUP_HAS_RETURNS = 2 };

typedef struct pfd_index_group {
    uint64_t head; /* first byte, in all files together, * 2^18 + file * 4 + flags */
    uint8_t strides[PFD_GROUP_STRIDE_BYTES];
} pfd_index_group;

/* The largest number of a file in a head; larger ones are searched for. */
enum { PFD_GROUP_MOST_FILE = UINT16_MAX };

typedef struct pfd_record_index {
    const uint8_t *const *texts; /* of each file; NULL: it is not mapped */
    int64_t num_files, num_records, num_groups;
    int shift;                   /* a stride covers 2^shift records */
    int width;                   /* a stride has 2^width bytes */
    const pfd_index_file *files; /* places are bytes */
    const pfd_index_group *groups;
} pfd_record_index;

/* Where to find a record: `skip` records after a place in a file. */
typedef struct pfd_record_start {
    int64_t file, offset, skip;
} pfd_record_start;

/* Returns 0 if the numbers of the header contradict each other; the image is then unusable. */
int32_t pfd_record_index_init(pfd_record_index *index, const pfd_index_image *image,
                              const uint8_t *const *texts);

/* Positions are in [0, num_records). */
pfd_record_start pfd_record_index_find(const pfd_record_index *index, int64_t position);

/* The same for n positions.  It also prefetches up to most_fetched bytes of each record. */
void pfd_record_index_find_all(const pfd_record_index *index, const int64_t *positions, int64_t n,
                               int64_t most_fetched, pfd_record_start *out);

/* For lines: makes the records at n positions whose ends the index knows, and prefetches their text
 * without reading it.  The size of the other records is -1; returns how many these are. */
int64_t pfd_record_index_look_up(const pfd_record_index *index, const int64_t *positions, int64_t n,
                                 pfd_record *out);

/* The last file that begins at or before a record, which skips empty files. */
int64_t pfd_index_file_of(const pfd_index_file *files, int64_t num_files, int64_t position);

/* Number i of strides that are stored in 2^width bytes each. */
static inline int64_t pfd_get_stride(const uint8_t *strides, int width, int64_t i)
{
    uint16_t two;
    uint32_t four;
    if (width == 0) return strides[i];
    if (width == 1) return memcpy(&two, strides + 2 * i, sizeof two), two;
    return memcpy(&four, strides + 4 * i, sizeof four), four;
}
#endif
