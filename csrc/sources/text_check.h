/* sources/text_check.h -- files that are text, but not of lines that end with LF: named at open,
 * before they are read as one long record or as bytes.
 *
 * THREADS  Any.
 * ERRORS   PFD_UNSUPPORTED with the cause, and what to do; those of reading the files.
 */
#ifndef PFD_SOURCES_TEXT_CHECK_H
#define PFD_SOURCES_TEXT_CHECK_H
#include "pyflowdata/op.h"

/* Refuses a file in UTF-16 or UTF-32, and one with two CR or more that stand alone where lines
 * should end: no LF follows, or the only one is the last byte and after a CR, or, with is_header,
 * they are in the first line, which names columns.  A single line with one CR in it is right, and
 * so is any number of them between two bytes `quote`; 0: nothing is quoted. */
pfd_status pfd_text_check(const pfd_open_args *args, uint8_t quote, int32_t is_header,
                          pfd_error *err);
#endif
