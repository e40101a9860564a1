/* loader/plan/read_ahead.h -- asks the kernel to read the next records from the disk, if they are known.
 *
 * THREADS  Any.
 */
#ifndef PFD_LOADER_READ_AHEAD_H
#define PFD_LOADER_READ_AHEAD_H
#include "loader/plan/data_reader.h"

/* Call it when work on the positions [position, position + rows) of an epoch begins; `records` are
 * theirs. */
void pfd_data_reader_read_ahead(pfd_data_reader *reader, int64_t epoch, int64_t position,
                                const pfd_record *records, int64_t rows);
#endif
