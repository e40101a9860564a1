/* loader/read_ahead.h -- asking the disk for the records that come next, where that is known.
 *
 * THREADS  Any.
 */
#ifndef PFD_LOADER_READ_AHEAD_H
#define PFD_LOADER_READ_AHEAD_H
#include "loader/data_reader.h"

/* The place `position` in the order of an epoch, which is `record`, is being worked on. */
void pfd_data_reader_read_ahead(pfd_data_reader *reader, int64_t epoch, int64_t position,
                                const pfd_record *record);
#endif
