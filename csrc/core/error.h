/* core/error.h -- writing into the caller's pfd_error.
 *
 * OWNERSHIP  Texts are copied into the pfd_error, and cut if they do not fit.  A plugin's pfd_error
 *            may be that of an older header: these functions write no more than its struct_size
 *            says, and never assign to a pfd_error of the caller as a whole.
 * ERRORS     Written once, where they are found, and forwarded unchanged.
 * THREADS    A pfd_error belongs to one thread at a time.
 */
#ifndef PFD_CORE_ERROR_H
#define PFD_CORE_ERROR_H
#include "pyflowdata/op.h"

/* Marks the inner functions of libpyflowdata.so that libpyflowdata_kit.so calls, in a node of their
 * own of the export map, csrc/pyflowdata.map.  Nothing else may call these functions from outside:
 * they change from build to build. */
#define PFD_PRIVATE __attribute__((visibility("default")))

/* Makes a new pfd_error, whatever was in its memory: struct_size, PFD_OK, no place (-1). */
void pfd_error_init(pfd_error *err);

/* Empties a pfd_error that is in use, or was handed in; struct_size stays. */
void pfd_error_clear(pfd_error *err);

/* Copies a failure, as much of it as the struct_size of `to` has room for. */
void pfd_error_copy(pfd_error *to, const pfd_error *from);

/* Writes status and message, clears the rest; returns status. */
pfd_status pfd_fail(pfd_error *err, pfd_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, about a row of the current range and a byte of its record (-1: unknown). */
pfd_status pfd_fail_row(pfd_error *err, int64_t row, int64_t byte, pfd_status status,
                        const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Returns the status that a function of an op returned, which must be the one in *err (cleared
 * before the call) and no other than PFD_OK or a failure; else PFD_INTERNAL. */
pfd_status pfd_check_returned(pfd_status status, const char *function, pfd_error *err);

/* The usual message of PFD_OUT_OF_MEMORY. */
pfd_status pfd_fail_memory(pfd_error *err, int64_t bytes, const char *what);

/* Sets err->op or err->file; a path that is too long is shortened in its middle. */
void pfd_error_set_op(pfd_error *err, const char *op);
void pfd_error_set_file(pfd_error *err, const char *path);

/* Set the fields that an older struct may lack: PFD_REASON_*, whole records before the damage, the
 * attr.  Each setter returns err->status. */
pfd_status pfd_error_set_reason(pfd_error *err, int32_t reason);
pfd_status pfd_error_set_records(pfd_error *err, int64_t records);
pfd_status pfd_error_set_attr(pfd_error *err, const char *attr);

/* Whether a stream can go on after this failure: one record alone is damaged. */
int32_t pfd_error_can_pass(pfd_status status, const pfd_error *err);

/* PFD_IO, about a file or folder. */
pfd_status pfd_fail_file(pfd_error *err, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* About a byte of a file of a reader. */
pfd_status pfd_fail_at(pfd_error *err, const pfd_file *file, int64_t byte, pfd_status status,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));

/* About an attr of the op: the message begins with "attr 'NAME'".  `file` may be NULL. */
pfd_status pfd_fail_attr(pfd_error *err, const char *attr, const pfd_file *file, pfd_status status,
                         const char *format, ...) __attribute__((format(printf, 5, 6)));
#endif
