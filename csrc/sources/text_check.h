/* sources/text_check.h -- files that are text, but not of lines that end with LF: named at open,
 * before they are read as one long record or as bytes.
 *
 * THREADS  Any.
 * ERRORS   PFD_UNSUPPORTED with the cause, and what to do; those of reading the files.
 */
#ifndef PFD_SOURCES_TEXT_CHECK_H
#define PFD_SOURCES_TEXT_CHECK_H
#include "pyflowdata/op.h"

/* Refuses a file that begins with a byte order mark of UTF-16, and one that has two or more CR
 * within its text and not one LF.  A single line with one CR in it is right, and so is any number
 * of them between two bytes `quote`; 0: nothing is quoted. */
pfd_status pfd_text_check(const pfd_open_args *args, uint8_t quote, pfd_error *err);
#endif
