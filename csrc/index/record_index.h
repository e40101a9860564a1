/* index/record_index.h -- where each record begins: the dense index, for any order.
 *
 * A record's place is one access to the index: a group of one cache line has the place of its first
 * record and the strides from there on.
 *
 * OWNERSHIP  Image and texts are borrowed.
 * THREADS    Any.
 */
#ifndef PFD_INDEX_RECORD_INDEX_H
#define PFD_INDEX_RECORD_INDEX_H
#include "index/index_image.h"

#include <string.h>

enum { PFD_GROUP_STRIDE_BYTES = 56 };

/* A group is irregular when places cannot be summed up in it: its records are found by a linear
 * scan from its first one.  HAS_RETURNS: some line may end in CRLF; its CR is to be cut off. */
enum { PFD_GROUP_IS_IRREGULAR = 1, PFD_GROUP_HAS_RETURNS = 2 };

typedef struct pfd_index_group {
    uint64_t head; /* first byte, in all files together, * 2^18 + file * 4 + flags */
    uint8_t strides[PFD_GROUP_STRIDE_BYTES];
} pfd_index_group;

/* Where a file's number is too large for a head. */
enum { PFD_GROUP_MOST_FILE = UINT16_MAX };

typedef struct pfd_record_index {
    const uint8_t *const *texts; /* of each file; NULL where it is not mapped */
    int64_t num_files, num_records, num_groups;
    int shift;                   /* a stride is that of 2^shift records */
    int width;                   /* and is stored in 2^width bytes */
    const pfd_index_file *files; /* places are bytes */
    const pfd_index_group *groups;
} pfd_record_index;

/* Where to look for a record: `skip` records after a place in a file. */
typedef struct pfd_record_start {
    int64_t file, offset, skip;
} pfd_record_start;

/* 0: the header's numbers contradict each other, and the image is unusable. */
int32_t pfd_record_index_init(pfd_record_index *index, const pfd_index_image *image,
                              const uint8_t *const *texts);

/* Positions are in [0, num_records). */
pfd_record_start pfd_record_index_find(const pfd_record_index *index, int64_t position);

/* The same for n positions; what lies there, up to most_fetched bytes of each record, is fetched
 * into the cache meanwhile. */
void pfd_record_index_find_all(const pfd_record_index *index, const int64_t *positions, int64_t n,
                               int64_t most_fetched, pfd_record_start *out);

/* Of lines: makes the records at n positions, as far as the index knows where they end, without
 * touching their text: that is fetched into the cache meanwhile.  Returns how many it does not
 * know; their size is -1. */
int64_t pfd_record_index_look_up(const pfd_record_index *index, const int64_t *positions, int64_t n,
                                 pfd_record *out);

/* The last of the files that begins at or before a record: empty ones begin where the next does. */
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
