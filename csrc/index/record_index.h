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

enum { PFD_GROUP_STRIDE_BYTES = 56 };

/* A group is irregular if its strides cannot be summed: its records are found by a linear scan from
 * the first one.  HAS_RETURNS: some line may end in CRLF, and its CR must be cut off. */
enum { PFD_GROUP_IS_IRREGULAR = 1, PFD_GROUP_HAS_RETURNS = 2 };

typedef struct pfd_index_group {
    uint64_t head; /* first byte, in all files together, * 2^18 + file * 4 + flags */
    uint8_t strides[PFD_GROUP_STRIDE_BYTES];
} pfd_index_group;

typedef struct pfd_record_index {
    const uint8_t *const *texts; /* text of each file; NULL: the file is not mapped */
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

/* ---- An index from marks --------------------------------------------------------------------- */

/* A mark is the place where a record begins.  Each thread scans pieces of the files, and lists the
 * strides between the marks of a piece.  After all pieces are scanned the number of each mark is
 * known.  Then many threads write the pieces into the groups of the index.  A list belongs to one
 * thread until all have ended. */

/* Strides of the marks that one thread found, in 2^width bytes.  The largest number means that the
 * stride does not fit and is in `large`. */
typedef struct pfd_mark_list {
    uint8_t *strides;
    int64_t used, capacity; /* strides */
    int64_t *large;
    int64_t num_large, large_capacity;
    struct pfd_mark_flags *flags;
    int64_t num_flags, flags_capacity;
    int width;
} pfd_mark_list;

/* A range of records of a piece with flags: from the one that is open at mark `begin` to the one
 * that begins at the last mark before `end`. */
typedef struct pfd_mark_flags {
    int64_t begin, end;
    uint64_t flags;
} pfd_mark_flags;

typedef struct pfd_mark_piece {
    int64_t file, num_marks, first_mark, last_mark; /* places in the file */
    int32_t list;                                   /* which has the strides and flags from: */
    int64_t stride, large, num_large, flags, num_flags;
    uint64_t open_flags; /* flags of the record that is open where the piece begins */
    /* Set by pfd_record_marks_place(): */
    int64_t number;    /* number of the first mark */
    int64_t open_byte; /* place of the last mark before that begins a stride; in all files
                          together */
} pfd_mark_piece;

void pfd_mark_list_free(pfd_mark_list *list); /* accepts a zeroed one */

/* Reserves memory for about this many strides, in huge pages if possible.  It may fail without an
 * error: lists grow when they are full. */
void pfd_mark_list_reserve(pfd_mark_list *list, int64_t strides);

/* Starts a piece with the list's next strides. */
void pfd_mark_piece_begin(pfd_mark_piece *piece, const pfd_mark_list *list, int32_t number,
                          int64_t file);
/* Adds marks at base + places[i], ascending. */
pfd_status pfd_mark_piece_add(pfd_mark_piece *piece, pfd_mark_list *list, int64_t base,
                              const uint32_t *places, int64_t n, pfd_error *err);
pfd_status pfd_mark_piece_add_one(pfd_mark_piece *piece, pfd_mark_list *list, int64_t place,
                                  pfd_error *err);
pfd_status pfd_mark_piece_flag(pfd_mark_piece *piece, pfd_mark_list *list, int64_t begin,
                               uint64_t flags, pfd_error *err);
/* Removes the first mark.  The piece must be complete. */
void pfd_mark_piece_drop_first(pfd_mark_piece *piece, const pfd_mark_list *lists);

/* The marks from which an index is made. */
typedef struct pfd_record_marks {
    const pfd_mark_list *lists;
    pfd_mark_piece *pieces; /* in the order of the files */
    int64_t num_pieces;
    int64_t first_number; /* record of the first mark: 1 if record 0 begins at byte 0 and has no
                             mark */
    int shift, width;     /* shift and width of the index to make */
} pfd_record_marks;

/* Chooses shift and width for records of this mean size: each stride has 16 bytes or more, so that
 * the index has 0.6 bits or less per byte of the files, and room for four times the mean. */
void pfd_record_marks_choose(pfd_record_marks *marks, int64_t bytes, int64_t records);

/* Numbers the pieces.  Needs files[i].first_place, and sets files[i].first_record. */
void pfd_record_marks_place(pfd_record_marks *marks, pfd_index_file *files, int64_t num_files);

/* Fills in a new image, made for `num_records`. */
int64_t pfd_record_marks_groups(const pfd_record_marks *marks, int64_t num_records);
pfd_status pfd_record_marks_fill(const pfd_record_marks *marks, int64_t num_records,
                                 int32_t num_threads, pfd_index_image *image, pfd_error *err);

/* ---- Shards that state how many records they have -------------------------------------------- */

/* Zeroed: empty.  It owns its memory.  Any thread may use it once all shards are added. */
typedef struct pfd_shard_table {
    int64_t *first; /* number of the first record of each shard; then the number of all records */
    int64_t size, capacity, num_records;
    double shards_each; /* of a record */
} pfd_shard_table;

pfd_status pfd_shard_table_add(pfd_shard_table *table, int64_t num_records, pfd_error *err);
void pfd_shard_table_free(pfd_shard_table *table);

/* The shard of record `ordinal`; empty shards are skipped.  For an ordinal below 0 the first shard,
 * for one that is too large the last; 0 of an empty table, which has no shard. */
int64_t pfd_shard_of(const pfd_shard_table *table, int64_t ordinal);

/* Prefetches the first cache lines of a record that is needed soon: in shuffled order these are
 * not in the cache.  Does nothing for a file that is not mapped. */
void pfd_shard_prefetch(const pfd_file *file, int64_t offset, int64_t size);
#endif
