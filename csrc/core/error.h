/* core/error.h -- writing into the caller's pfd_error.
 *
 * OWNERSHIP  Texts are copied into the pfd_error, cut to its room.
 * ERRORS     Written once, where the facts are, and forwarded unchanged.
 * THREADS    A pfd_error belongs to one thread at a time.
 */
#ifndef PFD_CORE_ERROR_H
#define PFD_CORE_ERROR_H
#include "pyflowdata/op.h"

/* Clears *err (row, byte, line and ordinal to -1). */
void pfd_error_init(pfd_error *err);

/* Writes status and message, clears the rest; returns status. */
pfd_status pfd_fail(pfd_error *err, pfd_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, for a row of the range at hand and a byte of its record (-1: unknown). */
pfd_status pfd_fail_row(pfd_error *err, int64_t row, int64_t byte, pfd_status status,
                        const char *format, ...) __attribute__((format(printf, 5, 6)));

/* What a function of an op returned, where it must agree with what the function reported in *err
 * (cleared before the call); anything else, PFD_END as well, becomes PFD_INTERNAL. */
pfd_status pfd_check_returned(pfd_status status, const char *function, pfd_error *err);

/* The usual message of PFD_OUT_OF_MEMORY. */
pfd_status pfd_fail_memory(pfd_error *err, int64_t bytes, const char *what);

/* Sets err->op or err->file; a path that is too long loses its middle. */
void pfd_error_set_op(pfd_error *err, const char *op);
void pfd_error_set_file(pfd_error *err, const char *path);

/* PFD_IO, about a file or folder. */
pfd_status pfd_fail_file(pfd_error *err, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A place in a file of a reader. */
pfd_status pfd_fail_at(pfd_error *err, const pfd_file *file, int64_t byte, pfd_status status,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
