/* dataset/window_lanes.h -- shuffle=window with lanes: each lane has a window order of its own.
 *
 * THREADS  Everything here may be called from any thread.
 */
#ifndef PFD_DATASET_WINDOW_LANES_H
#define PFD_DATASET_WINDOW_LANES_H
#include "dataset/dataset.h"
#include "dataset/lanes.h"
#include "dataset/window_shuffle.h"

/* Of a dataset that pfd_window_lanes_wrap() made; NULL of another one, also of NULL. */
const pfd_lanes *pfd_window_lanes(const pfd_dataset *ds);

/* The order of the records of a lane in an epoch. */
void pfd_window_lanes_order(const pfd_dataset *ds, int64_t epoch, int64_t lane,
                            pfd_window_order *order);

/* Ranges of a lane's records, each within a block of its order, become ranges of ordinals.  The
 * lane's part of the remaining blocks may lie in two of them, so there may be one range more:
 * returns how many there are. */
int64_t pfd_window_lanes_ranges(const pfd_lanes *lanes, int64_t lane, pfd_record_range *ranges,
                                int64_t count);
#endif
