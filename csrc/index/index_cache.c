/* Finds, locks, builds and stores indexes. */
#include "index/index_cache.h"

#include "core/cpu.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)

/* How long to wait for another process that builds the same index, besides the time to read the
 * files at 100 MB/s. */
#define PATIENCE_NS (10 * SECOND_NS)
#define PATIENCE_NS_PER_BYTE 10
/* And where it lists the files of folders, whose bytes say nothing. */
#define PATIENCE_NS_FOLDERS (120 * SECOND_NS)

/* ---- Where ----------------------------------------------------------------------------------- */
static char *copy_unless_none(const char *folder)
{
    return strcmp(folder, "none") ? strdup(folder) : NULL;
}

/* The folder for the attr index_dir; the caller frees it.  NULL: no cache, or out of memory. */
static char *index_folder(const char *attr)
{
    char *folder = NULL;
    if (attr[0]) return copy_unless_none(attr);
    const char *own = getenv("PYFLOWDATA_INDEX_DIR"), *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (own && own[0]) return copy_unless_none(own);
    int length = -1;
    if (xdg && xdg[0] == '/')
        length = asprintf(&folder, "%s/pyflowdata", xdg);
    else if (home && home[0] == '/')
        length = asprintf(&folder, "%s/.cache/pyflowdata", home);
    return length < 0 ? NULL : folder;
}

static void make_folder(char *path)
{
    for (char *at = path + 1; *at; at++) {
        if (*at != '/') continue;
        *at = '\0';
        (void)mkdir(path, 0777);
        *at = '/';
    }
    (void)mkdir(path, 0777); /* making a file in it reports a failure */
}

/* ---- One index ------------------------------------------------------------------------------- */
typedef struct cached {
    const pfd_open_args *args;
    const pfd_index_maker *maker;
    int32_t num_threads;
    int32_t keeps_any; /* on disk, however few records it has */
    pfd_index_key key;
    char *folder, *path; /* owned */
} cached;

static pfd_index_request *request_of(const pfd_open_args *args)
{
    size_t least = offsetof(pfd_open_args, index) + sizeof args->index;
    return args->struct_size >= least ? args->index : NULL;
}

int32_t pfd_index_threads(const pfd_open_args *args)
{
    const pfd_index_request *request = request_of(args);
    return request && request->num_threads > 0 ? request->num_threads : pfd_cpu_count();
}

/* The key of one source: an op may open several, each over some of its files. */
static pfd_index_key key_of(const pfd_open_args *args, const pfd_index_request *request,
                            int32_t kind)
{
    pfd_index_key key = request->key;
    for (int i = 0; i < 2; i++) {
        uint64_t *hash = &key.identity[i];
        *hash = pfd_hash_word(*hash, (uint64_t)kind);
        *hash = pfd_hash_word(*hash, (uint64_t)request->num_sources);
        *hash = pfd_hash_word(*hash, (uint64_t)args->num_files);
        for (int64_t j = 0; j < args->num_files; j++)
            *hash = pfd_hash_word(*hash, (uint64_t)args->files[j]->index);
    }
    return key;
}

static int64_t bytes_of(const pfd_open_args *args)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < args->num_files; i++) bytes += args->files[i]->size;
    return bytes;
}

/* Returns 0 if the index must stay in memory. */
static int open_cached(cached *self, const pfd_index_request *request)
{
    self->keeps_any = request->folder[0] != '\0' || !self->maker->least_cached_records;
    if (!request->folder[0] && self->keeps_any && bytes_of(self->args) < PFD_LEAST_CACHED_BYTES)
        return 0;
    self->key = key_of(self->args, request, self->maker->kind);
    self->folder = index_folder(request->folder);
    if (!self->folder) return 0;
    if (asprintf(&self->path, "%s/%016" PRIx64 "%016" PRIx64 ".index", self->folder,
                 self->key.identity[0], self->key.identity[1]) >= 0)
        return 1;
    self->path = NULL;
    return 0;
}

static void close_cached(cached *self)
{
    free(self->folder);
    free(self->path);
}

/* Whether the user shares the cache: only then are indexes of other users accepted. */
static int32_t is_shared(void)
{
    const char *shared = getenv("PYFLOWDATA_SHARED_INDEXES");
    return shared && !strcmp(shared, "1");
}

static int32_t is_current(const cached *self, const pfd_index_image *image)
{
    return !self->maker->is_current || self->maker->is_current(self->maker->ctx, image);
}

static pfd_index_image *load(const cached *self)
{
    const pfd_index_wanted wanted = {.key = &self->key,
                                     .num_files = self->args->num_files,
                                     .kind = self->maker->kind,
                                     .num_threads = self->num_threads,
                                     .of_any_owner = is_shared()};
    pfd_index_image *image = pfd_index_image_load(self->path, &wanted);
    if (!image || is_current(self, image)) return image;
    pfd_index_image_free(image);
    return NULL;
}

/* ---- The lock -------------------------------------------------------------------------------- */
typedef struct file_lock {
    char *path;
    int fd;
    int32_t held;
    int32_t is_ours; /* the lock is held, or files cannot be locked here */
} file_lock;

/* Takes the lock.  PFD_PENDING: another process has held it for too long.  PFD_OK without `held`:
 * files cannot be locked here. */
static pfd_status take_lock(const cached *self, file_lock *lock, pfd_error *err)
{
    *lock = (file_lock){.fd = -1};
    if (asprintf(&lock->path, "%s.lock", self->path) < 0) {
        lock->path = NULL;
        return PFD_OK;
    }
    lock->fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (lock->fd < 0) return PFD_OK;
    int64_t patience = self->maker->is_current ? PATIENCE_NS_FOLDERS : PATIENCE_NS;
    int64_t deadline = pfd_clock_ns() + patience + PATIENCE_NS_PER_BYTE * bytes_of(self->args);
    struct timespec pause = {.tv_nsec = 5 * 1000 * 1000};
    for (;;) {
        lock->held = flock(lock->fd, LOCK_EX | LOCK_NB) == 0;
        lock->is_ours = lock->held || (errno != EWOULDBLOCK && errno != EINTR);
        if (lock->is_ours) return PFD_OK;
        if (self->args->scratch && pfd_scratch_is_cancelled(self->args->scratch))
            return pfd_fail(err, PFD_CANCELLED, "the loader is closing");
        if (pfd_clock_ns() > deadline) return PFD_PENDING;
        (void)nanosleep(&pause, NULL);
        if (pause.tv_nsec < 50 * 1000 * 1000) pause.tv_nsec *= 2;
    }
}

/* Removes the lock file. A process that waits for it then takes the lock, and finds the index. */
static void give_lock(file_lock *lock)
{
    if (lock->is_ours) (void)unlink(lock->path);
    if (lock->fd >= 0) close(lock->fd);
    free(lock->path);
}

/* ---- Storing --------------------------------------------------------------------------------- */

/* Removes the files of builders that were killed. The caller holds the lock. */
static void remove_leftovers(const cached *self)
{
    const char *name = strrchr(self->path, '/') + 1;
    size_t length = strlen(name);
    DIR *folder = opendir(self->folder);
    if (!folder) return;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (!strncmp(entry->d_name, name, length) && !strncmp(entry->d_name + length, ".tmp", 4))
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
}

static void sync_folder(const cached *self)
{
    int fd = open(self->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

/* Stores the index.  Returns 1 if a file with its name has it. */
static int store(const cached *self, pfd_index_image *image)
{
    char *temporary = NULL;
    if (asprintf(&temporary, "%s.tmp-%d-%" PRIx64, self->path, (int)getpid(),
                 (uint64_t)pfd_clock_ns()) < 0)
        return 0;
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644), stored = 0;
    if (fd >= 0) {
        stored = pfd_index_image_write(image, &self->key, self->num_threads, fd) == 0;
        stored = stored && fsync(fd) == 0;
        stored = close(fd) == 0 && stored;
        stored = stored && rename(temporary, self->path) == 0;
        if (stored)
            sync_folder(self);
        else
            (void)unlink(temporary);
    }
    free(temporary);
    return stored;
}

/* ---- Obtaining ------------------------------------------------------------------------------- */

static int32_t is_worth_storing(const cached *self, const pfd_index_image *image)
{
    int32_t is_large = image->header->num_records >= self->maker->least_cached_records;
    return (self->keeps_any || is_large) && is_current(self, image);
}

/* Loads an index that another process built meanwhile, or builds and stores it. */
static pfd_status build_or_wait(const cached *self, int32_t *built, pfd_index_image **out,
                                pfd_error *err)
{
    file_lock lock;
    make_folder(self->folder);
    pfd_status status = take_lock(self, &lock, err);
    pfd_index_image *mapped = status == PFD_OK ? load(self) : NULL;
    if (mapped) {
        *out = mapped;
        give_lock(&lock);
        return PFD_OK;
    }
    *built = 1;
    int32_t storing = status == PFD_OK && lock.fd >= 0;
    if (lock.held) remove_leftovers(self);
    if (status >= PFD_OK)
        status = self->maker->build(self->maker->ctx, self->num_threads, out, err);
    storing = storing && status == PFD_OK && is_worth_storing(self, *out);
    if (storing && store(self, *out) && (mapped = load(self))) {
        pfd_index_image_free(*out);
        *out = mapped;
    }
    give_lock(&lock);
    return status;
}

static pfd_status find_or_build(const cached *self, int32_t *built, pfd_index_image **out,
                                pfd_error *err)
{
    *out = load(self);
    return *out ? PFD_OK : build_or_wait(self, built, out, err);
}

pfd_status pfd_index_make(const pfd_open_args *args, const pfd_index_maker *maker,
                          pfd_index_image **out, pfd_error *err)
{
    pfd_index_request *request = request_of(args);
    cached self = {.args = args, .maker = maker, .num_threads = pfd_index_threads(args)};
    if (!request) return maker->build(maker->ctx, self.num_threads, out, err);
    int64_t since = pfd_clock_ns();
    int32_t built = 0;
    pfd_status status;
    if (open_cached(&self, request)) {
        status = find_or_build(&self, &built, out, err);
    } else {
        built = 1;
        status = maker->build(maker->ctx, self.num_threads, out, err);
    }
    close_cached(&self);
    request->num_sources++;
    if (status != PFD_OK) return status;
    request->num_built += built;
    request->bytes += pfd_index_image_bytes(*out);
    request->ns += pfd_clock_ns() - since;
    if ((*out)->path) snprintf(request->path, sizeof request->path, "%s", (*out)->path);
    return PFD_OK;
}

pfd_status pfd_index_obtain(const pfd_open_args *args, int32_t kind, pfd_index_build_fn build,
                            void *ctx, pfd_index_image **out, pfd_error *err)
{
    const pfd_index_maker maker = {.kind = kind, .build = build, .ctx = ctx};
    return pfd_index_make(args, &maker, out, err);
}
