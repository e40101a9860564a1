/* Makes, writes, maps and checks the memory of an index, and keeps it on disk. */
#include "index/index_image.h"

#include "core/cpu.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/multi_thread_loop.h"
#include "core/scratch.h"
#include "core/system_calls.h"
#include "files/remote_file.h"
#include "files/sigbus_guard.h"
#include "pyflowdata/pyflowdata.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct index_wanted {
    const pfd_index_key *key;
    int64_t num_files;
    int32_t kind, num_threads; /* threads: for checking it */
    int32_t of_any_owner;      /* 0: of this user or root, and nobody else may write it */
} index_wanted;

static const char magic[] = "pfdindex";

enum {
    format_version = 1,
    byte_order = 0x01020304,
    huge_page = 2 * 1024 * 1024,
    most_read = 64 * 1024 /* bytes of an index that is read, not mapped */
};

/* Entries have a checksum for each block of this size.  Loading compares all blocks if there are at
 * most `most_compared`; otherwise that many, spread over the table. */
enum { sum_block = 4 * 1024 * 1024, most_compared = 64 };

/* ---- The image: layout ----------------------------------------------------------------------- */

typedef struct layout {
    int64_t files_at, entries_at, sums_at, num_sums, total;
} layout;

static int64_t align(int64_t bytes)
{
    return (bytes + PFD_INDEX_ENTRY_BYTES - 1) / PFD_INDEX_ENTRY_BYTES * PFD_INDEX_ENTRY_BYTES;
}

static layout lay_out(int64_t num_files, int64_t num_entries)
{
    layout at = {.files_at = align((int64_t)sizeof(pfd_index_header))};
    int64_t entries = num_entries * PFD_INDEX_ENTRY_BYTES;
    at.entries_at = at.files_at + align((num_files + 1) * (int64_t)sizeof(pfd_index_file));
    at.sums_at = at.entries_at + entries;
    at.num_sums = (entries + sum_block - 1) / sum_block;
    at.total = at.sums_at + align(at.num_sums * (int64_t)sizeof(uint64_t));
    return at;
}

static void point_into(pfd_index_image *image, uint8_t *memory, const layout *at)
{
    image->memory = memory;
    image->header = (void *)memory;
    image->files = (void *)(memory + at->files_at);
    image->entries = memory + at->entries_at;
    image->bytes = at->total;
}

static uint64_t *sums_of(const pfd_index_image *image, const layout *at)
{
    return (void *)((uint8_t *)image->memory + at->sums_at);
}

/* ---- The image: in memory -------------------------------------------------------------------- */

pfd_status pfd_index_image_create(int32_t kind, int64_t num_files, int64_t num_entries,
                                  pfd_index_image **out, pfd_error *err)
{
    layout at = lay_out(num_files, num_entries);
    size_t bytes = (size_t)at.total;
    pfd_index_image *image = calloc(1, sizeof *image);
    void *memory =
        image ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
              : MAP_FAILED;
    if (memory == MAP_FAILED) {
        free(image);
        return pfd_fail_memory(err, at.total, "the index");
    }
    if (bytes >= 2 * huge_page) (void)madvise(memory, bytes, MADV_HUGEPAGE); /* as the kernel may */
    point_into(image, memory, &at);
    image->header->kind = kind;
    image->header->num_files = num_files;
    image->header->num_entries = num_entries;
    *out = image;
    return PFD_OK;
}

void pfd_index_image_free(pfd_index_image *image)
{
    if (!image) return;
    pfd_sigbus_guard_remove(image->region);
    if (image->memory) munmap(image->memory, (size_t)image->bytes);
    free(image->front);
    free(image->path);
    free(image);
}

/* ---- The image: checksums -------------------------------------------------------------------- */

/* Computes a checksum in eight lanes, at the speed of memory.  `bytes` is a multiple of 64. */
static uint64_t sum_of(const void *data, int64_t bytes)
{
    const uint64_t *words = data;
    uint64_t lanes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int64_t i = 0; i < bytes / 8; i += 8) {
        for (int j = 0; j < 8; j++) {
            uint64_t mixed = lanes[j] ^ words[i + j];
            lanes[j] = (mixed << 29 | mixed >> 35) * UINT64_C(0x9e3779b97f4a7c15);
        }
    }
    uint64_t sum = (uint64_t)bytes;
    for (int j = 0; j < 8; j++) sum = pfd_hash_word(sum, lanes[j]);
    return sum;
}

typedef struct summing {
    const uint8_t *entries;
    int64_t bytes, every; /* every: only each `every`-th block */
    uint64_t *sums;       /* written, or compared */
    int32_t comparing;
    _Atomic int32_t differs;
} summing;

static pfd_status sum_block_of(void *ctx, int64_t begin, int64_t end, int32_t worker,
                               pfd_error *err)
{
    (void)worker, (void)err;
    summing *self = ctx;
    for (int64_t i = begin; i < end; i++) {
        int64_t block = i * self->every, at = block * sum_block;
        int64_t bytes = self->bytes - at < sum_block ? self->bytes - at : sum_block;
        uint64_t sum = sum_of(self->entries + at, bytes);
        if (!self->comparing)
            self->sums[block] = sum;
        else if (self->sums[block] != sum)
            self->differs = 1;
    }
    return PFD_OK;
}

/* Writes or compares the checksums of the entries.  Returns 0 if one differs. */
static int sum_entries(const pfd_index_image *image, const layout *at, int32_t comparing,
                       int32_t num_threads)
{
    summing self = {.entries = image->entries,
                    .bytes = at->sums_at - at->entries_at,
                    .every = 1,
                    .sums = sums_of(image, at),
                    .comparing = comparing};
    if (comparing) self.every += at->num_sums / most_compared;
    pfd_error err = {.struct_size = sizeof err};
    int64_t n = (at->num_sums + self.every - 1) / self.every;
    (void)pfd_parallel_for(num_threads, n, 1, sum_block_of, &self, &err);
    return !self.differs;
}

static uint64_t body_hash(const pfd_index_image *image, const layout *at)
{
    uint64_t files = sum_of(image->files, at->entries_at - at->files_at);
    return pfd_hash_word(files, sum_of(sums_of(image, at), at->total - at->sums_at));
}

static uint64_t header_hash(const pfd_index_header *header)
{
    return pfd_hash_bytes(format_version, header, (int64_t)offsetof(pfd_index_header, header_hash));
}

/* ---- The image: written ---------------------------------------------------------------------- */

static int index_image_write(pfd_index_image *image, const pfd_index_key *key, int32_t num_threads,
                             int fd)
{
    pfd_index_header *header = image->header;
    layout at = lay_out(header->num_files, header->num_entries);
    memcpy(header->magic, magic, sizeof header->magic);
    header->version = format_version;
    header->byte_order = byte_order;
    header->key = *key;
    header->total_bytes = at.total;
    (void)sum_entries(image, &at, 0, num_threads);
    header->body_hash = body_hash(image, &at);
    header->header_hash = header_hash(header);
    const uint8_t *memory = image->memory;
    for (int64_t done = 0; done < at.total;) {
        ssize_t n = write(fd, memory + done, (size_t)(at.total - done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : ENOSPC;
        done += n;
    }
    return 0;
}

/* ---- The image: mapped ----------------------------------------------------------------------- */

/* Whether the header is valid. It decides how large the file must be, and which bytes are read. */
static int is_header_right(const pfd_index_header *header, int64_t size, const index_wanted *wanted)
{
    const int64_t most = size / PFD_INDEX_ENTRY_BYTES;
    if (memcmp(header->magic, magic, sizeof header->magic) != 0) return 0;
    if (header->version != format_version || header->byte_order != byte_order) return 0;
    if (header->header_hash != header_hash(header)) return 0;
    if (memcmp(&header->key, wanted->key, sizeof header->key) != 0) return 0;
    if (header->kind != wanted->kind || header->num_files != wanted->num_files) return 0;
    if (header->num_entries < 0 || header->num_entries > most || header->num_records < 0) return 0;
    return header->total_bytes == size &&
           lay_out(wanted->num_files, header->num_entries).total == size;
}

static int is_body_right(const pfd_index_image *image, const layout *at, int32_t num_threads)
{
    int64_t num_files = image->header->num_files;
    if (body_hash(image, at) != image->header->body_hash) return 0;
    for (int64_t i = 0; i < num_files; i++)
        if (image->files[i].first_record > image->files[i + 1].first_record) return 0;
    if (image->files[0].first_record != 0 ||
        image->files[num_files].first_record != image->header->num_records)
        return 0;
    return sum_entries(image, at, 1, num_threads) && !image->fault;
}

/* Copies the parts that are read without bounds checks, so that changes of the file cannot affect
 * them. */
static int keep_front(pfd_index_image *image, const layout *at)
{
    image->front = malloc((size_t)at->entries_at);
    if (!image->front) return 0;
    memcpy(image->front, image->memory, (size_t)at->entries_at);
    image->header = image->front;
    image->files = (void *)((uint8_t *)image->front + at->files_at);
    return 1;
}

/* Reads a small index instead of mapping it: sharing it would save little memory. */
static pfd_index_image *read_image(int fd, const char *path, const pfd_index_header *header)
{
    pfd_error err = {.struct_size = sizeof err};
    pfd_index_image *image;
    if (pfd_index_image_create(header->kind, header->num_files, header->num_entries, &image,
                               &err) != PFD_OK)
        return NULL;
    image->path = strdup(path);
    int reason;
    if (image->path &&
        pfd_sys_read(NULL, fd, 0, image->bytes, image->memory, &reason) == image->bytes)
        return image;
    pfd_index_image_free(image);
    return NULL;
}

static pfd_index_image *map_image(int fd, const char *path, const pfd_index_header *header)
{
    layout at = lay_out(header->num_files, header->num_entries);
    size_t bytes = (size_t)at.total;
    pfd_index_image *image = calloc(1, sizeof *image);
    char *copy = strdup(path);
    void *memory = image && copy ? mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (memory == MAP_FAILED) {
        free(image);
        free(copy);
        return NULL;
    }
    image->path = copy;
    point_into(image, memory, &at);
    image->region = pfd_sigbus_guard_add(memory, at.total, &image->fault, 1);
    if (!image->region) {
        pfd_index_image_free(image);
        return NULL;
    }
    return image;
}

static pfd_index_image *load_open_file(int fd, const char *path, const index_wanted *wanted)
{
    struct stat st;
    pfd_index_header header;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return NULL;
    /* An index decides which bytes are records. */
    if (!wanted->of_any_owner && pfd_stat_risk(st.st_uid, st.st_gid, st.st_mode)) return NULL;
    int reason;
    if (pfd_sys_read(NULL, fd, 0, sizeof header, (uint8_t *)&header, &reason) != sizeof header)
        return NULL;
    if (!is_header_right(&header, st.st_size, wanted)) return NULL;
    layout at = lay_out(wanted->num_files, header.num_entries);
    int is_small = at.total <= most_read;
    pfd_index_image *image = (is_small ? read_image : map_image)(fd, path, &header);
    if (!image) return NULL;
    image->device = st.st_dev;
    image->inode = st.st_ino;
    int same = memcmp(image->header, &header, sizeof header) == 0;
    if (same && (is_small || keep_front(image, &at)) &&
        is_body_right(image, &at, wanted->num_threads))
        return image;
    pfd_index_image_free(image);
    return NULL;
}

/* Maps a file.  NULL: it does not exist, is not the wanted index, or is damaged. */
static pfd_index_image *index_image_load(const char *path, const index_wanted *wanted)
{
    pfd_error err = {.struct_size = sizeof err};
    if (pfd_sigbus_guard_install(&err) != PFD_OK) return NULL;
    int fd = pfd_sys_open(NULL, AT_FDCWD, path, O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0) return NULL;
    pfd_index_image *image = load_open_file(fd, path, wanted);
    close(fd);
    return image;
}

static pfd_status fail_cut(const pfd_index_image *image, pfd_error *err)
{
    return pfd_fail_file(err, image->path,
                         "this file of the index cache was truncated while it was in use; open the "
                         "loader again, which builds the index again");
}

int64_t pfd_index_image_head(const pfd_index_image *image, void *head, int64_t size)
{
    int64_t bytes = image->header->num_entries * PFD_INDEX_ENTRY_BYTES, counts[3];
    if (bytes < size || size < (int64_t)sizeof counts) return 0;
    memcpy(head, image->entries, (size_t)size);
    memcpy(counts, head, sizeof counts);
    for (int32_t i = 0; i < 3; i++)
        if (counts[i] < 0 || counts[i] > bytes) return 0;
    return counts[0] == image->header->num_records ? bytes : 0;
}

pfd_status pfd_index_image_check(const pfd_index_image *image, pfd_error *err)
{
    return image->fault ? fail_cut(image, err) : PFD_OK;
}

pfd_status pfd_index_image_check_disk(const pfd_index_image *image, pfd_error *err)
{
    struct stat st;
    PFD_TRY(pfd_index_image_check(image, err));
    if (!image->region || stat(image->path, &st) != 0) return PFD_OK;
    int is_same = st.st_dev == image->device && st.st_ino == image->inode;
    return is_same && st.st_size < image->bytes ? fail_cut(image, err) : PFD_OK;
}

/* ---- Indexes on disk: where ------------------------------------------------------------------ */

/* Smaller local files are not cached unless the attr index_dir is set: scanning them is faster than
 * finding an index. */
#define LEAST_CACHED_BYTES (INT64_C(16) << 20)

#define SECOND_NS INT64_C(1000000000)

/* How long to wait for another process that builds the same index: 10 s, and the time to read the
 * files at 100 MB/s; or 2 minutes where the process lists the files of folders. */
#define PATIENCE_NS (10 * SECOND_NS)
#define PATIENCE_NS_PER_BYTE 10
#define PATIENCE_NS_FOLDERS (120 * SECOND_NS)

void pfd_index_folder(const char *index_dir, char *out, int64_t room)
{
    const char *own = getenv("PYFLOWDATA_INDEX_DIR"), *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME"), *named = index_dir[0] ? index_dir : own;
    int length = 0;
    if (named && named[0])
        length = snprintf(out, (size_t)room, "%s", strcmp(named, "none") ? named : "");
    else if (xdg && xdg[0] == '/')
        length = snprintf(out, (size_t)room, "%s/pyflowdata", xdg);
    else if (home && home[0] == '/')
        length = snprintf(out, (size_t)room, "%s/.cache/pyflowdata", home);
    if (length <= 0 || length >= room) out[0] = '\0';
}

int32_t pfd_index_is_shared(void)
{
    const char *shared = getenv("PYFLOWDATA_SHARED_INDEXES");
    return shared && !strcmp(shared, "1");
}

static void make_folder(char *path)
{
    mode_t mode = pfd_index_is_shared() ? 0777 : 0755; /* else pfd_index_folder_risk() finds one */
    for (char *at = path + 1; *at; at++) {
        if (*at != '/') continue;
        *at = '\0';
        (void)mkdir(path, mode);
        *at = '/';
    }
    (void)mkdir(path, mode); /* making a file in it reports a failure */
}

/* ---- Indexes on disk: one of them ------------------------------------------------------------ */

typedef struct cached {
    const pfd_open_args *args;
    const pfd_index_maker *maker;
    int32_t num_threads;
    int32_t keeps_any; /* on disk, however few records it has */
    pfd_index_key key;
    char folder[PATH_MAX];
    char *path; /* owned */
} cached;

static pfd_index_request *request_of(const pfd_open_args *args)
{
    size_t least = offsetof(pfd_open_args, index) + sizeof args->index;
    return args->struct_size >= least ? args->index : NULL;
}

void pfd_index_notice(const pfd_open_args *args, const char *format, ...)
{
    pfd_index_request *request = request_of(args);
    if (!request) return;
    size_t used = strlen(request->notice);
    if (used > 0 && used < sizeof request->notice - 1) request->notice[used++] = '\n';
    va_list values;
    va_start(values, format);
    (void)vsnprintf(request->notice + used, sizeof request->notice - used, format, values);
    va_end(values);
}

int32_t pfd_index_order_is_global(const pfd_open_args *args)
{
    const pfd_index_request *request = request_of(args);
    return request && request->is_global;
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

int32_t pfd_index_folder_risk(const char *folder, char *out, int64_t room)
{
    struct stat st;
    if (pfd_index_is_shared() || stat(folder, &st) != 0) return 0;
    const char *risk = pfd_stat_risk(st.st_uid, st.st_gid, st.st_mode);
    if (!risk) return 0;
    (void)snprintf(out, (size_t)room, "another user could change the folder of the index cache, "
                   "%.400s: %s; choose another folder with PYFLOWDATA_INDEX_DIR, or trust this one "
                   "with PYFLOWDATA_SHARED_INDEXES=1", folder, risk);
    return 1;
}

/* Returns 0 if the index must stay in memory. */
static int open_cached(cached *self, const pfd_index_request *request)
{
    self->keeps_any = request->folder[0] != '\0' || !self->maker->least_cached_records;
    if (!request->folder[0] && self->keeps_any && bytes_of(self->args) < LEAST_CACHED_BYTES &&
        !(self->args->num_files > 0 && pfd_path_is_remote(self->args->files[0]->path)))
        return 0;
    self->key = key_of(self->args, request, self->maker->kind);
    pfd_index_folder(request->folder, self->folder, sizeof self->folder);
    if (!self->folder[0]) return 0;
    char risk[800];
    if (pfd_index_folder_risk(self->folder, risk, sizeof risk)) {
        pfd_index_notice(self->args, "the index stays in memory, as %s", risk);
        return 0;
    }
    if (asprintf(&self->path, "%s/%016" PRIx64 "%016" PRIx64 ".index", self->folder,
                 self->key.identity[0], self->key.identity[1]) >= 0)
        return 1;
    self->path = NULL;
    return 0;
}

static int32_t is_current(const cached *self, const pfd_index_image *image)
{
    return !self->maker->is_current || self->maker->is_current(self->maker->ctx, image);
}

static pfd_index_image *load(const cached *self)
{
    const index_wanted wanted = {.key = &self->key,
                                 .num_files = self->args->num_files,
                                 .kind = self->maker->kind,
                                 .num_threads = self->num_threads,
                                 .of_any_owner = pfd_index_is_shared()};
    pfd_index_image *image = index_image_load(self->path, &wanted);
    if (!image || is_current(self, image)) return image;
    pfd_index_image_free(image);
    return NULL;
}

/* ---- Indexes on disk: the lock --------------------------------------------------------------- */

typedef struct file_lock {
    char *path;
    int fd;
    int32_t held;
    int32_t is_ours; /* the lock is held, or files cannot be locked here */
} file_lock;

/* Returns -1 if there is no such file and none can be made.  A link would make a file wherever
 * another user wants one. */
static int open_lock(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW, 0666);
    if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))) return fd;
    close(fd);
    return -1;
}

/* Whether the lock file still has its name: who had the lock before has removed it, and others may
 * have made a new one. */
static int32_t is_named(const file_lock *lock)
{
    struct stat own, named;
    return fstat(lock->fd, &own) == 0 && lstat(lock->path, &named) == 0 &&
           own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

/* Takes the lock.  PFD_PENDING: another process has held it for too long.  PFD_OK without `held`:
 * files cannot be locked here. */
static pfd_status take_lock(const cached *self, file_lock *lock, pfd_error *err)
{
    *lock = (file_lock){.fd = -1};
    if (asprintf(&lock->path, "%s.lock", self->path) < 0) {
        lock->path = NULL;
        return PFD_OK;
    }
    int64_t patience = self->maker->is_current ? PATIENCE_NS_FOLDERS : PATIENCE_NS;
    int64_t deadline = pfd_clock_ns() + patience + PATIENCE_NS_PER_BYTE * bytes_of(self->args);
    struct timespec pause = {.tv_nsec = 5 * 1000 * 1000};
    for (;;) {
        if (lock->fd < 0 && (lock->fd = open_lock(lock->path)) < 0) return PFD_OK;
        int32_t is_locked = flock(lock->fd, LOCK_EX | LOCK_NB) == 0;
        lock->held = is_locked && is_named(lock);
        lock->is_ours = lock->held || (!is_locked && errno != EWOULDBLOCK && errno != EINTR);
        if (lock->is_ours) return PFD_OK;
        if (is_locked) {
            close(lock->fd);
            lock->fd = -1;
        }
        if (self->args->scratch && pfd_scratch_is_cancelled(self->args->scratch))
            return pfd_fail(err, PFD_CANCELLED, "the loader is closing");
        if (pfd_clock_ns() > deadline) return PFD_PENDING;
        (void)nanosleep(&pause, NULL);
        if (pause.tv_nsec < 50 * 1000 * 1000) pause.tv_nsec *= 2;
    }
}

/* Removes the lock file. A process that waits for it then makes its own, and finds the index. */
static void give_lock(file_lock *lock)
{
    if (lock->is_ours) (void)unlink(lock->path);
    if (lock->fd >= 0) close(lock->fd);
    free(lock->path);
}

/* ---- Indexes on disk: storing ---------------------------------------------------------------- */

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
        stored = index_image_write(image, &self->key, self->num_threads, fd) == 0;
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

/* ---- Indexes on disk: obtaining -------------------------------------------------------------- */

static int32_t is_worth_storing(const cached *self, const pfd_index_image *image)
{
    int32_t is_large = image->header->num_records >= self->maker->least_cached_records;
    return (self->keeps_any || is_large) && is_current(self, image);
}

/* The index that lies beside remote files, copied into the cache; NULL: there is none that fits. */
static pfd_index_image *load_beside(const cached *self)
{
    if (!pfd_remote_bring_index(self->args->files, self->args->num_files, self->path)) return NULL;
    pfd_index_image *image = load(self);
    if (!image)
        pfd_index_notice(self->args, "the index beside '%.300s' is damaged, or belongs to other "
                         "versions of the files; the files are scanned instead: `pyflowdata index "
                         "--beside` writes the index again", self->args->files[0]->path);
    return image;
}

/* Loads an index that another process built meanwhile, or builds and stores it. */
static pfd_status build_or_wait(cached *self, int32_t *built, pfd_index_image **out,
                                pfd_error *err)
{
    file_lock lock;
    make_folder(self->folder);
    pfd_status status = take_lock(self, &lock, err);
    pfd_index_image *mapped = status == PFD_OK ? load(self) : NULL;
    if (!mapped && status == PFD_OK && lock.fd >= 0) mapped = load_beside(self);
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
        *out = load(&self);
        status = *out ? PFD_OK : build_or_wait(&self, &built, out, err);
    } else {
        built = 1;
        status = maker->build(maker->ctx, self.num_threads, out, err);
    }
    free(self.path);
    request->num_sources++;
    if (status != PFD_OK) return status;
    request->num_built += built;
    request->bytes += (*out)->bytes;
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
