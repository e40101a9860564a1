/* What a failed call of the system means, and calls that are tried again. */
#include "core/system_calls.h"

#include "core/error.h"
#include "pyflowdata/pyflowdata.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* ---- Who can change a file ------------------------------------------------------------------- */

/* Whether a group is that of this user alone, as many systems make one for each user. */
static int32_t is_private(gid_t group)
{
    char names[4096], members[4096];
    struct passwd user, *has_user = NULL;
    struct group found, *has_group = NULL;
    if (getpwuid_r(geteuid(), &user, names, sizeof names, &has_user) != 0 || !has_user) return 0;
    if (getgrgid_r(group, &found, members, sizeof members, &has_group) != 0 || !has_group) return 0;
    return group == user.pw_gid && !strcmp(found.gr_name, user.pw_name) && !found.gr_mem[0];
}

const char *pfd_stat_risk(uint32_t uid, uint32_t gid, uint32_t mode)
{
    if (uid != geteuid() && uid != 0) return "it belongs to another user";
    /* In a sticky folder nobody can replace what belongs to this user. */
    if (S_ISDIR(mode) && (mode & S_ISVTX)) return NULL;
    int32_t by_others = (mode & S_IWOTH) || ((mode & S_IWGRP) && !is_private(gid));
    return by_others ? "users other than this one can write into it" : NULL;
}

/* ---- What an errno means --------------------------------------------------------------------- */

int32_t pfd_errno_class(int reason, int32_t is_remote)
{
    switch (reason) {
    case EINTR:
    case EAGAIN:
    case ESTALE:
    case ETIMEDOUT:
    case ECONNRESET:
    case ECONNABORTED:
    case ENETDOWN:
    case ENETUNREACH:
    case ENETRESET:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case EREMOTEIO: return PFD_REASON_TRANSIENT;
    case EIO: return is_remote ? PFD_REASON_TRANSIENT : PFD_REASON_ENVIRONMENT;
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO:
    case EFBIG:
    case EOVERFLOW: return PFD_REASON_NONE;
    default: return PFD_REASON_ENVIRONMENT;
    }
}

pfd_status pfd_status_of_errno(int reason)
{
    if (reason == ENOMEM) return PFD_OUT_OF_MEMORY;
    return pfd_errno_class(reason, 0) == PFD_REASON_NONE ? PFD_CORRUPT_DATA : PFD_IO;
}

int32_t pfd_reason_of_errno(int32_t reason)
{
    return pfd_errno_class(reason, 0);
}

pfd_status pfd_error_set_errno(pfd_error *err, int reason)
{
    int32_t found = pfd_reason_of_errno(reason);
    return found == PFD_REASON_NONE ? err->status : pfd_error_set_reason(err, found);
}

static int32_t is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

int32_t pfd_is_unchanged(const struct stat *before, const struct stat *now)
{
    if (now->st_size != before->st_size || !is_same_time(now->st_mtim, before->st_mtim)) return 0;
    return is_same_time(now->st_ctim, before->st_ctim) || now->st_mode != before->st_mode ||
           now->st_uid != before->st_uid || now->st_gid != before->st_gid ||
           now->st_nlink != before->st_nlink;
}

/* ---- Trying again ---------------------------------------------------------------------------- */

enum { MOST_TRIES = 6, MOST_INTERRUPTIONS = 100, SLICE_MS = 8 };

typedef struct attempts {
    const pfd_bounds *bounds;
    int fd;          /* of the file, or of the folder that its path is below */
    int tries, interruptions;
} attempts;

static int32_t is_cancelled(const attempts *self)
{
    return self->bounds &&
           atomic_load_explicit(&self->bounds->cancelled, memory_order_relaxed);
}

int32_t pfd_is_interrupted(const pfd_bounds *bounds)
{
    return bounds && bounds->is_interrupted && syscall(SYS_gettid) == (long)getpid() &&
           bounds->is_interrupted(NULL);
}

/* Waits in slices, so that the end of a loader, or a signal, ends the pause: then returns 0. */
static int32_t wait_ms(const attempts *self, int64_t ms)
{
    for (; ms > 0; ms -= SLICE_MS) {
        if (is_cancelled(self) || pfd_is_interrupted(self->bounds)) return 0;
        const struct timespec slice = {.tv_nsec = (ms < SLICE_MS ? ms : SLICE_MS) * 1000000};
        (void)nanosleep(&slice, NULL);
    }
    return 1;
}

/* Whether an open file, or a folder, lies on another machine: its input and output may fail for a
 * while. */
static int32_t is_on_network(int fd)
{
    /* The f_type of statfs(2) of file systems whose data come over a network, or from a program. */
    static const uint32_t remote[] = {
        0x6969,     /* NFS */
        0xff534d42, /* CIFS */
        0xfe534d42, /* SMB 2 and 3 */
        0x517b,     /* SMB 1 */
        0x65735546, /* FUSE */
        0x0bd00bd0, /* Lustre */
        0x00c36400, /* Ceph */
        0x47504653, /* GPFS */
        0x19830326, /* BeeGFS */
        0x5346414f, /* AFS */
        0x6b414653, /* kAFS */
        0x01021997, /* 9P */
        0x73757245, /* Coda */
        0x01161970, /* GFS 2 */
        0x7461636f, /* OCFS 2 */
        0x786f4256, /* folders of VirtualBox */
    };
    struct statfs about;
    if (fstatfs(fd, &about) != 0) return 0;
    for (size_t i = 0; i < PFD_COUNT(remote); i++)
        if ((uint32_t)about.f_type == remote[i]) return 1;
    return 0;
}

/* A folder that is AT_FDCWD has no descriptor. */
static int32_t is_remote(int fd)
{
    if (fd >= 0) return is_on_network(fd);
    int here = open(".", O_PATH | O_CLOEXEC);
    int32_t found = here >= 0 && is_on_network(here);
    if (here >= 0) close(here);
    return found;
}

/* Whether to try once more after a failure with this errno, which stays; waits before. */
static int32_t may_retry(attempts *self, int reason)
{
    int32_t goes_on = 0;
    if (reason == EINTR) {
        goes_on = ++self->interruptions < MOST_INTERRUPTIONS;
    } else if (pfd_errno_class(reason, reason == EIO && is_remote(self->fd)) ==
                   PFD_REASON_TRANSIENT &&
               ++self->tries < MOST_TRIES) {
        goes_on = wait_ms(self, INT64_C(1) << (2 * self->tries - 2)); /* 1, 4, 16, 64, 256 ms */
    }
    goes_on = goes_on && !is_cancelled(self);
    if (goes_on && self->bounds && self->bounds->retries)
        atomic_fetch_add_explicit(self->bounds->retries, 1, memory_order_relaxed);
    errno = reason;
    return goes_on;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

int pfd_sys_open(const pfd_bounds *bounds, int folder, const char *path, int flags)
{
    attempts made = {.bounds = bounds, .fd = folder};
    int fd;
    do fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | flags);
    while (fd < 0 && may_retry(&made, errno));
    return fd;
}

int pfd_sys_fstat(const pfd_bounds *bounds, int fd, struct stat *st)
{
    attempts made = {.bounds = bounds, .fd = fd};
    int result;
    do result = fstat(fd, st);
    while (result != 0 && may_retry(&made, errno));
    return result;
}

int pfd_sys_stat(const pfd_bounds *bounds, int folder, const char *path, struct stat *st)
{
    if (fstatat(folder, path, st, 0) == 0) return 0; /* files are looked at very often */
    attempts made = {.bounds = bounds, .fd = folder};
    int result = -1;
    while (result != 0 && may_retry(&made, errno)) result = fstatat(folder, path, st, 0);
    return result;
}

int64_t pfd_sys_read(const pfd_bounds *bounds, int fd, int64_t offset, int64_t size, uint8_t *out,
                     int *reason)
{
    attempts made = {.bounds = bounds, .fd = fd};
    int64_t done = 0;
    *reason = 0;
    while (done < size) {
        ssize_t got = pread(fd, out + done, (size_t)(size - done), offset + done);
        if (got < 0 && may_retry(&made, errno)) continue;
        if (got < 0) *reason = errno;
        if (got <= 0) break;
        done += got;
    }
    return done;
}

void *pfd_sys_map(const pfd_bounds *bounds, int fd, int64_t size)
{
    attempts made = {.bounds = bounds, .fd = fd};
    void *data;
    do data = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    while (data == MAP_FAILED && may_retry(&made, errno));
    return data == MAP_FAILED ? NULL : data;
}

DIR *pfd_sys_opendir(const pfd_bounds *bounds, int folder, const char *path)
{
    int fd = pfd_sys_open(bounds, folder, path, O_DIRECTORY), reason;
    attempts made = {.bounds = bounds, .fd = fd};
    DIR *names = NULL;
    if (fd < 0) return NULL;
    do names = fdopendir(fd);
    while (!names && may_retry(&made, errno));
    reason = errno;
    if (!names) close(fd);
    errno = reason;
    return names;
}

struct dirent *pfd_sys_readdir(const pfd_bounds *bounds, DIR *folder)
{
    attempts made = {.bounds = bounds, .fd = dirfd(folder)};
    struct dirent *entry;
    do {
        errno = 0;
        entry = readdir(folder);
    } while (!entry && errno != 0 && may_retry(&made, errno));
    return entry;
}

int pfd_sys_thread(const pfd_bounds *bounds, pthread_t *thread, void *(*run)(void *), void *arg)
{
    attempts made = {.bounds = bounds, .fd = -1};
    int failure;
    do failure = pthread_create(thread, NULL, run, arg);
    while (failure != 0 && may_retry(&made, failure));
    return failure;
}
