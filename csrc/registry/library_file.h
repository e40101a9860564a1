/* registry/library_file.h -- why a file cannot be loaded as a shared library, in words that help.
 *
 * ERRORS  The file's name is left to the caller.
 */
#ifndef PFD_REGISTRY_LIBRARY_FILE_H
#define PFD_REGISTRY_LIBRARY_FILE_H
#include "pyflowdata/op.h"

/* PFD_OK where the file is a shared library for this machine, as far as its first bytes say.
 * PFD_INVALID_ARGUMENT, PFD_UNSUPPORTED or PFD_IO says what else it is.  The loader of the system
 * calls a library for another processor a missing file, so this is asked first. */
pfd_status pfd_library_file_check(const char *path, pfd_error *err);

/* PFD_IO with what dlerror() said, and with what to do where that is known. */
pfd_status pfd_library_file_fail(const char *said, pfd_error *err);
#endif
