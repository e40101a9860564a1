/* index/record_marks.h -- builds a dense index from the marks that many threads found.
 *
 * A mark is the place where a record begins.  Each thread scans pieces of the files, and lists the
 * strides between the marks of a piece.  After all pieces are scanned the number of each mark is
 * known.  Then many threads write the pieces into the groups of the index.
 *
 * OWNERSHIP  A list belongs to one thread until all have ended.
 */
#ifndef PFD_INDEX_RECORD_MARKS_H
#define PFD_INDEX_RECORD_MARKS_H
#include "index/record_index.h"

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
    int32_t list;                                   /* whose strides, large ones and flags: */
    int64_t stride, large, num_large, flags, num_flags;
    uint64_t open_flags; /* of the record that is open where the piece begins */
    /* Set by pfd_record_marks_place(): */
    int64_t number;    /* of the first mark */
    int64_t open_byte; /* of the last mark before that begins a stride; in all files together */
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
    int64_t first_number; /* of the first mark: 1 if record 0 begins at byte 0 and has no mark */
    int shift, width;     /* of the index to make */
} pfd_record_marks;

/* Numbers the pieces.  Needs files[i].first_place, and sets files[i].first_record. */
void pfd_record_marks_place(pfd_record_marks *marks, pfd_index_file *files, int64_t num_files);

/* Fills in a new image, made for `num_records`. */
int64_t pfd_record_marks_groups(const pfd_record_marks *marks, int64_t num_records);
pfd_status pfd_record_marks_fill(const pfd_record_marks *marks, int64_t num_records,
                                 int32_t num_threads, pfd_index_image *image, pfd_error *err);
#endif
