/* sources/text_check.h -- refuses text files whose lines do not end with LF when they are opened,
 * before they are read as one long record or as bytes.
 *
 * THREADS  Any.
 * ERRORS   PFD_UNSUPPORTED with the cause, and what to do; those of reading the files.
 */
#ifndef PFD_SOURCES_TEXT_CHECK_H
#define PFD_SOURCES_TEXT_CHECK_H
#include "pyflowdata/op.h"

/* Refuses a file in UTF-16 or UTF-32, and a file with two or more CR that seem to be line ends:
 * no LF follows, or the only LF is the last byte and after a CR, or, with is_header, they are in
 * the first line, which has the names of columns.  A single line with one CR is accepted, and so
 * is any number of them between two bytes `quote`; 0: nothing is quoted. */
pfd_status pfd_text_check(const pfd_open_args *args, uint8_t quote, int32_t is_header,
                          pfd_error *err);
#endif
