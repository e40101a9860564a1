/* views/mix_schedule.h -- the counts of a mix whose weights change at some rows.
 *
 * A segment is the rows from one change of weights to the next.  Within it the tree of its weights
 * decides; what was drawn before is carried over, so no record is lost or repeated by a change.
 * Each segment adds to the deviation of a source the bound of mix_counts.h.
 *
 * Rows are those of the run: they are counted on over the epochs.
 *
 * OWNERSHIP  A schedule owns its arrays.
 * THREADS    As mix_counts.h.
 */
#ifndef PFD_VIEWS_MIX_SCHEDULE_H
#define PFD_VIEWS_MIX_SCHEDULE_H
#include "views/mix_counts.h"

typedef struct pfd_mix_segment {
    int64_t start; /* row */
    pfd_mix_tree tree;
    int64_t *base; /* of each source: records drawn before `start` */
} pfd_mix_segment;

typedef struct pfd_mix_schedule {
    pfd_mix_segment *segments;
    int64_t num_segments, num_sources;
} pfd_mix_schedule;

/* weights: num_sources for each segment.  starts: of all segments but the first, which begins at 0;
 * never decreasing.  A failure leaves a schedule that can be freed. */
pfd_status pfd_mix_schedule_init(pfd_mix_schedule *schedule, const double *weights,
                                 const int64_t *starts, int64_t num_segments, int64_t num_sources,
                                 pfd_error *err);

/* Moves the segments to other rows, in the same order. */
void pfd_mix_schedule_move(pfd_mix_schedule *schedule, const int64_t *starts);

/* Accepts a zeroed one. */
void pfd_mix_schedule_free(pfd_mix_schedule *schedule);

/* How many of the first n rows are of a source. */
int64_t pfd_mix_schedule_count(const pfd_mix_schedule *schedule, int64_t source, int64_t n);

/* In place of each row: how many rows of its source are before it; sources[i] is that source. */
void pfd_mix_schedule_find(const pfd_mix_schedule *schedule, int64_t *rows, int64_t n,
                           int32_t *sources);

/* The largest n, at most PFD_MIX_MOST_ROWS, at which no source has been drawn more often than it
 * has records. */
int64_t pfd_mix_schedule_first_exhausted(const pfd_mix_schedule *schedule, const int64_t *records);

/* The smallest n at which each source that the last segment draws has been drawn as often as it has
 * records; -1: it would be more than PFD_MIX_MOST_ROWS. */
int64_t pfd_mix_schedule_all_exhausted(const pfd_mix_schedule *schedule, const int64_t *records);
#define PFD_MIX_MOST_ROWS (INT64_C(1) << 60)

/* A hash of what decides the first n rows. */
uint64_t pfd_mix_schedule_past(const pfd_mix_schedule *schedule, int64_t n);
#endif
