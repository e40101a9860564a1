/* core/system_calls.h -- what a failed call of the system means, and calls that are tried again.
 *
 * pfd_errno_class() is the only place that says what an errno means:
 *
 *   transient    another try may succeed: signals, stale handles, faults of a network.  The calls
 *                below try a few times, with growing pauses, a third of a second in all.
 *   environment  rights, descriptors, memory, disks: an error, whatever on_error says.
 *   damage       the name leads to no file: that of a record is a damaged record.
 *
 * EIO is transient on another machine, and else the environment.  The calls below look where the
 * file lies before they try again.  After their last try they report the environment: a caller that
 * reports the failure may have no descriptor, and the fault has outlasted the pauses.
 *
 * OWNERSHIP  `bounds` are borrowed, for the call; NULL: no loader waits, and nothing is counted.
 *            The end of a loader ends the pauses, as does a signal in the main thread, and
 *            bounds->retries counts the tries.
 * THREADS    Any.
 * ERRORS     As the system reports them: errno of the last try.
 */
#ifndef PFD_CORE_SYSTEM_CALLS_H
#define PFD_CORE_SYSTEM_CALLS_H
#include "core/scratch.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>

/* What an errno means: PFD_REASON_TRANSIENT, PFD_REASON_ENVIRONMENT, or PFD_REASON_NONE for damage;
 * is_remote: of a file that lies on another machine. */
int32_t pfd_errno_class(int reason, int32_t is_remote);

/* The status of a failure to read a file that is one record: PFD_CORRUPT_DATA for damage,
 * PFD_OUT_OF_MEMORY, else PFD_IO. */
pfd_status pfd_status_of_errno(int reason);

/* Sets PFD_REASON_TRANSIENT or PFD_REASON_ENVIRONMENT of a failure that an errno caused; returns
 * err->status. */
pfd_status pfd_error_set_errno(pfd_error *err, int reason);

/* Whether two looks at a file show the same content: sizes and times are equal.  The time of the
 * last change of any kind may differ if the rights, the owner or the links do. */
int32_t pfd_is_unchanged(const struct stat *before, const struct stat *now);

/* Whether a signal has come whose handler raised an exception, which waits for the return to
 * Python.  Only the main thread sees signals; in others it is 0.  It runs handlers: no lock may be
 * held. */
int32_t pfd_is_interrupted(const pfd_bounds *bounds);

/* ---- Calls, as their namesakes without pfd_sys_; -1 or NULL: errno has the reason ------------ */

/* Opens for reading; `flags` besides O_RDONLY, O_CLOEXEC and O_NOCTTY.  The folder may be
 * AT_FDCWD. */
int pfd_sys_open(const pfd_bounds *bounds, int folder, const char *path, int flags);
int pfd_sys_fstat(const pfd_bounds *bounds, int fd, struct stat *st);
int pfd_sys_stat(const pfd_bounds *bounds, int folder, const char *path, struct stat *st);

/* Reads up to `size` bytes at an offset, fewer where the file ends; *reason is an errno, or 0. */
int64_t pfd_sys_read(const pfd_bounds *bounds, int fd, int64_t offset, int64_t size, uint8_t *out,
                     int *reason);

/* Maps a file to be read, privately.  NULL: it failed. */
void *pfd_sys_map(const pfd_bounds *bounds, int fd, int64_t size);

/* Opens a folder, whose path is below another folder or AT_FDCWD; closedir(). */
DIR *pfd_sys_opendir(const pfd_bounds *bounds, int folder, const char *path);

/* NULL with errno 0: there is no further entry. */
struct dirent *pfd_sys_readdir(const pfd_bounds *bounds, DIR *folder);

/* Starts a thread; returns 0 or an errno. */
int pfd_sys_thread(const pfd_bounds *bounds, pthread_t *thread, void *(*run)(void *), void *arg);
#endif
