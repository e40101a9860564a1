/* loader/plan/record_places.h -- where a record of an open reader lies, and which records a file has.
 *
 * Files are numbered as in the blob "id": those of a view's readers one after another.
 * THREADS  Any thread, while the reader is open.
 */
#ifndef PFD_LOADER_RECORD_PLACES_H
#define PFD_LOADER_RECORD_PLACES_H
#include "loader/plan/data_reader.h"

/* Path of a file; NULL: there is no such file. */
const char *pfd_record_file(const pfd_data_reader *reader, int64_t file);

/* *ordinal: of the first record in a file or those after it; the number of records where there is
 * none.  For sources whose records are in the order of their files.  ERRORS: those of reading;
 * PFD_INVALID_ARGUMENT: there is no such file. */
pfd_status pfd_record_first(const pfd_data_reader *reader, int64_t file, int64_t *ordinal,
                            pfd_error *err);

/* Sets file, ordinal, line and byte of *place to those of a record. */
pfd_status pfd_record_locate(const pfd_data_reader *reader, int64_t file, int64_t ordinal,
                             pfd_error *place);
#endif
