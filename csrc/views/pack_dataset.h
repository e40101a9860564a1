/* views/pack_dataset.h -- which records stand in which pack: rows of `length` elements.
 *
 * A piece is a run of elements of one record in one pack.  The table is made once from the lengths
 * of the records, and does not change: every pack is found in O(1).
 *
 *   best fit  each window of consecutive records is packed by itself.  Packs are in the order of
 *             their first records, and so are the pieces of a pack.
 *   chunk     all records one after another, cut at every `length` elements.
 *
 * Empty records have no piece.
 *
 * OWNERSHIP  The table owns its arrays and borrows the lengths.
 * THREADS    open and close: one thread; the rest of the table: any number of threads.  A
 *            pfd_best_fit: one at a time.
 */
#ifndef PFD_VIEWS_PACK_DATASET_H
#define PFD_VIEWS_PACK_DATASET_H
#include "dataset/view.h"
#include "views/record_table.h"

/* ---- One window: best fit, longest first --------------------------------------------------------
 *
 * Each record goes into the pack that it fills best: the one with the least room that is enough.
 * O(log64 of the pack's length) for a record; nothing is allocated after create. */

#define PFD_BEST_FIT_MOST_LENGTH (INT64_C(1) << 24)

typedef struct pfd_best_fit pfd_best_fit;

/* For packs of `length` elements, at most PFD_BEST_FIT_MOST_LENGTH, and windows of up to `window`
 * records. */
pfd_status pfd_best_fit_create(int64_t length, int64_t window, pfd_best_fit **out, pfd_error *err);
void pfd_best_fit_free(pfd_best_fit *self); /* accepts NULL */

/* Packs n records with lengths in [0, length]: pack_of[i] is the pack of record i, counted from 0
 * in the order in which they were opened, or -1 for an empty record.  Returns how many packs there
 * are.  A pure function of the lengths. */
int64_t pfd_best_fit_pack(pfd_best_fit *self, const int32_t *lengths, int64_t n, int32_t *pack_of);

/* ---- The table ------------------------------------------------------------------------------- */

/* In the order of the choices. */
#define PFD_PACK_RULES "best_fit|chunk"
#define PFD_PACK_BEST_FIT 0
#define PFD_PACK_CHUNK 1

#define PFD_PACK_LONGER "split|truncate|drop|raise"
#define PFD_PACK_SPLIT 0
#define PFD_PACK_TRUNCATE 1
#define PFD_PACK_DROP 2
#define PFD_PACK_RAISE 3

typedef struct pfd_pack_rule {
    int64_t length;      /* elements of a pack */
    int32_t rule;        /* PFD_PACK_BEST_FIT or PFD_PACK_CHUNK */
    int32_t longer;      /* best fit: what happens to records longer than a pack */
    int64_t window;      /* best fit: records of a window, about; 0: chosen */
    int32_t drops_short; /* chunk: the last pack is left out if it is not full */
} pfd_pack_rule;

typedef struct pfd_pack_table {
    pfd_pack_rule rule;
    pfd_lengths lengths;
    int64_t num_packs, num_pieces;
    int64_t num_elements; /* in all packs, without padding */
    int64_t *starts;      /* the first piece of each pack; num_packs + 1 */
    uint64_t *pieces;     /* best fit: record, and number of the piece in it */
    int64_t *records, *begins; /* chunk: where each pack begins */
} pfd_pack_table;

/* PFD_INVALID_ARGUMENT: a record is too long, where that is refused. */
pfd_status pfd_pack_table_open(const pfd_pack_rule *rule, const pfd_lengths *lengths,
                               pfd_pack_table *out, pfd_error *err);
void pfd_pack_table_close(pfd_pack_table *table); /* accepts a zeroed one */

/* Pieces of a pack, at least one. */
static inline int64_t pfd_pack_table_count(const pfd_pack_table *table, int64_t pack)
{
    return table->starts[pack + 1] - table->starts[pack];
}

/* Fills in the record of each piece of a pack, and everything of the piece but `row`. */
void pfd_pack_table_expand(const pfd_pack_table *table, int64_t pack, int64_t *records,
                           pfd_piece *pieces);
#endif
