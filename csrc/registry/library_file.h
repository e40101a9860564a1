/* registry/library_file.h -- explains why a file cannot be loaded as a shared library.
 *
 * ERRORS  The caller adds the name of the file.
 */
#ifndef PFD_REGISTRY_LIBRARY_FILE_H
#define PFD_REGISTRY_LIBRARY_FILE_H
#include "pyflowdata/op.h"

/* PFD_OK: by its first bytes the file is a shared library for this machine.  PFD_INVALID_ARGUMENT,
 * PFD_UNSUPPORTED or PFD_IO says what else it is.  Call it before dlopen(), which reports a library
 * for another processor as a missing file. */
pfd_status pfd_library_file_check(const char *path, pfd_error *err);

/* Fails with PFD_IO, the text of dlerror(), and a hint if the cause is known. */
pfd_status pfd_library_file_fail(const char *said, pfd_error *err);
#endif
