/* Opening, mapping and watching the files of a reader. */
#include "files/input_files.h"

#include "core/cpu.h"
#include "core/hash.h"
#include "core/scratch.h"
#include "core/search.h"
#include "core/system_calls.h"
#include "files/codecs.h"
#include "files/file_names.h"
#include "files/remote_file.h"
#include "files/seal.h"
#include "files/sigbus_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* The state of the file at open. */
typedef struct file_state {
    pfd_guarded_region *region; /* NULL: not mapped */
    pfd_sealed_file *sealed;    /* in the list in place of the file; NULL: not compared */
    struct timespec modified, changed; /* changed: in any way, also its rights */
    uint64_t links, version; /* a hash of a remote file's tag */
    uint32_t mode, owner, group;
    int64_t first_byte; /* the sizes of the files before it, added up */
} file_state;

struct pfd_input_files {
    int64_t size; /* opened so far */
    pfd_input_file *files;
    const pfd_file **list; /* the same, for ops */
    file_state *states;
    int64_t bytes, fds; /* bytes of all files; descriptors kept open */
    int64_t num_remote;
    const pfd_bounds *bounds; /* borrowed; may be NULL */
    int32_t access;     /* MAP, READ or FOLDER from here on */
    uint64_t fingerprint;
    _Atomic int64_t bytes_read;
    _Atomic int64_t ahead; /* read ahead up to here, counted over all files */
    _Atomic int64_t fault; /* 1 + index of a file in which a SIGBUS struck; 0: none */
};

/* ---- Open ------------------------------------------------------------------------------------ */
static const char *kind_of(mode_t mode)
{
    if (S_ISDIR(mode)) return "a folder";
    if (S_ISFIFO(mode)) return "a FIFO (named pipe)";
    if (S_ISSOCK(mode)) return "a socket";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
    return "no regular file";
}

static pfd_status fail_kind(pfd_error *err, const char *path, mode_t mode)
{
    char pattern[PATH_MAX];
    if (S_ISREG(mode)) return pfd_fail_file(err, path, "this is a file, but must be a folder");
    if (S_ISDIR(mode) && *pfd_suggest_pattern(path, pattern, sizeof pattern))
        return pfd_fail_file(err, path,
                             "this is a folder, but the attr files takes files: give files = "
                             "\"%.300s\" (or data_dir, if it is a folder of part files)", pattern);
    return pfd_fail_file(err, path, "this is %s; a part must be a regular file", kind_of(mode));
}

static pfd_status fail_open(pfd_error *err, const char *path, int reason)
{
    struct stat st;
    if (pfd_errno_class(reason, 0) == PFD_REASON_NONE && stat(path, &st) == 0 &&
        !S_ISREG(st.st_mode))
        return fail_kind(err, path, st.st_mode);
    (void)pfd_fail_file(err, path, "the file cannot be opened: %s%s", strerror(reason),
                        reason == EACCES ? "; is this user allowed to read it, and to enter the "
                                           "folders above it?" : "");
    return pfd_error_set_errno(err, reason);
}

static pfd_status fail_map(pfd_error *err, const char *path, int reason)
{
    static const char hint[] = "; the address space is used up, or there are more files than "
                               "vm.max_map_count lets a process map";
    (void)pfd_fail_file(err, path, "the file cannot be mapped into memory: %s%s", strerror(reason),
                        reason == ENOMEM ? hint : "");
    return pfd_error_set_errno(err, reason);
}

static void note_state(const struct stat *st, file_state *state)
{
    state->modified = st->st_mtim;
    state->changed = st->st_ctim;
    state->links = (uint64_t)st->st_nlink;
    state->mode = st->st_mode;
    state->owner = st->st_uid;
    state->group = st->st_gid;
}

static pfd_status note_file(pfd_input_files *self, int64_t i, int fd, pfd_error *err)
{
    struct stat st;
    pfd_input_file *opened = &self->files[i];
    const char *path = opened->file.path;
    if (pfd_sys_fstat(self->bounds, fd, &st) != 0) return fail_open(err, path, errno);
    int32_t is_folder = self->access == PFD_FILE_ACCESS_FOLDER;
    if (is_folder ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode))
        return fail_kind(err, path, st.st_mode);
    if (is_folder) st.st_size = 0;
    opened->device = st.st_dev;
    opened->inode = st.st_ino;
    opened->file.size = st.st_size;
    opened->bytes_read = &self->bytes_read;
    opened->bounds = self->bounds;
    note_state(&st, &self->states[i]);
    self->states[i].first_byte = self->bytes;
    self->bytes += st.st_size;
    if (st.st_size == 0) opened->data = (const uint8_t *)"";
    return PFD_OK;
}

static _Atomic int64_t num_mapped; /* files of this process */

/* Threads and memory need mappings too: beyond a half of them a file is read. */
static int64_t most_mapped;

static void find_most_mapped(void)
{
    long long most = 65530; /* where the kernel does not say */
    FILE *limit = fopen("/proc/sys/vm/max_map_count", "re");
    if (limit && fscanf(limit, "%lld", &most) != 1) most = 65530;
    if (limit) (void)fclose(limit);
    most_mapped = most / 2;
}

/* Maps an open file and guards the mapping. If it cannot be mapped, the file is read instead,
 * unless the user asked for a mapping. */
static pfd_status map_file(pfd_input_files *self, int64_t i, int fd, pfd_error *err)
{
    pfd_input_file *opened = &self->files[i];
    int64_t size = opened->file.size;
    if ((uint64_t)size > SIZE_MAX / 2) return fail_map(err, opened->file.path, EFBIG);
    if (self->access == PFD_FILE_ACCESS_AUTO && num_mapped >= most_mapped) return PFD_OK;
    void *data = pfd_sys_map(self->bounds, fd, size);
    if (!data) {
        if (errno == ENOMEM && self->access == PFD_FILE_ACCESS_AUTO) return PFD_OK;
        return fail_map(err, opened->file.path, errno);
    }
    /* From here on the file system may cache the file in huge pages: records in random order then
     * miss the TLB less often. */
    (void)madvise(data, (size_t)size, MADV_HUGEPAGE);
    file_state *state = &self->states[i];
    state->region = pfd_sigbus_guard_add(data, size, &self->fault, i + 1);
    if (!state->region) {
        munmap(data, (size_t)size);
        return pfd_fail_memory(err, 64, "guarding a file");
    }
    opened->data = data;
    num_mapped++;
    return PFD_OK;
}

/* Other parts of the process need descriptors too: beyond a half of them, a file that is not mapped
 * is opened for each read. */
static int64_t most_fds(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 512;
    return (int64_t)limit.rlim_cur / 2;
}

/* Symbolic links are kept: the file that the path leads to at that time counts. */
static char *absolute_path(const char *path)
{
    char *folder = path[0] == '/' ? NULL : getcwd(NULL, 0), *absolute = NULL;
    if (!folder) return strdup(path);
    if (asprintf(&absolute, "%s/%s", folder, path) < 0) absolute = NULL;
    free(folder);
    return absolute;
}

/* Opens what was looked at: its version is a part of the fingerprint. */
static pfd_status open_remote(pfd_input_files *self, int64_t i, const pfd_remote_facts *facts,
                              pfd_error *err)
{
    pfd_input_file *opened = &self->files[i];
    file_state *state = &self->states[i];
    opened->bytes_read = &self->bytes_read;
    opened->bounds = self->bounds;
    if (self->access == PFD_FILE_ACCESS_FOLDER) {
        opened->methods = &pfd_remote_bytes; /* of its files, which its reader lists */
        return PFD_OK;
    }
    PFD_TRY(pfd_remote_file_open(opened->file.path, facts, &opened->remote, err));
    if (i > 0 && opened[-1].remote) pfd_remote_file_follow(opened->remote, opened[-1].remote);
    opened->methods = &pfd_remote_bytes;
    opened->file.size = facts->size;
    state->modified = pfd_timespec_of(facts->modified_ns);
    state->version = pfd_hash_bytes(0, facts->tag, (int64_t)strlen(facts->tag));
    state->first_byte = self->bytes;
    self->bytes += facts->size;
    self->num_remote++;
    if (facts->size == 0) return PFD_OK;
    state->region = pfd_sigbus_guard_add(pfd_remote_file_memory(opened->remote), facts->size,
                                         &self->fault, i + 1);
    return state->region ? PFD_OK : pfd_fail_memory(err, 64, "guarding a file");
}

static pfd_status open_file(pfd_input_files *self, const char *path, const pfd_remote_facts *facts,
                            pfd_error *err)
{
    int64_t i = self->size;
    pfd_input_file *opened = &self->files[i];
    char *copy = strdup(path);
    opened->file = (pfd_file){.struct_size = sizeof(pfd_file), .index = (int32_t)i, .path = copy};
    int32_t is_remote = pfd_path_is_remote(path);
    opened->absolute = is_remote ? strdup(path) : absolute_path(path);
    opened->fd = -1;
    self->list[i] = &opened->file;
    self->size++;
    if (!copy || !opened->absolute) return pfd_fail_memory(err, (int64_t)strlen(path), "a path");
    if (is_remote) return open_remote(self, i, facts, err);
    /* O_NONBLOCK: opening a FIFO would wait for its writer. */
    int fd = pfd_sys_open(self->bounds, AT_FDCWD, path, O_NONBLOCK);
    if (fd < 0) return fail_open(err, path, errno);
    pfd_status status = note_file(self, i, fd, err);
    if (status == PFD_OK && !opened->data && self->access != PFD_FILE_ACCESS_READ)
        status = map_file(self, i, fd, err);
    opened->methods = opened->data ? &pfd_mapped_file : &pfd_read_file;
    if (status == PFD_OK && !opened->data && self->fds < most_fds()) {
        opened->fd = fd;
        self->fds++;
    } else {
        close(fd);
    }
    return status;
}

/* ---- Which access ---------------------------------------------------------------------------- */

/* The free address space, where it is limited (ulimit -v). */
static int64_t free_address_space(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return INT64_MAX;
    long long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    if (statm && fscanf(statm, "%lld", &pages) != 1) pages = 0;
    if (statm) (void)fclose(statm);
    return (int64_t)limit.rlim_cur - (int64_t)pages * sysconf(_SC_PAGESIZE);
}

/* Missing files are found when they are opened. */
static int32_t choose_access(char *const *paths, int64_t n)
{
    int64_t bytes = 0, most = pfd_memory_limit() / 4 * 3, space = free_address_space() / 2;
    if (space < most) most = space;
    for (int64_t i = 0; i < n && bytes <= most; i++) {
        struct stat st;
        if (stat(paths[i], &st) == 0 && st.st_size > 0) bytes += st.st_size;
    }
    return bytes <= most ? PFD_FILE_ACCESS_AUTO : PFD_FILE_ACCESS_READ;
}

/* ---- Fingerprint ----------------------------------------------------------------------------- */
enum { sample_size = 4096, samples_between = 6 };

/* Adds a piece of a file to *hash. */
static pfd_status hash_piece(const pfd_file *file, int64_t offset, int64_t size,
                             pfd_scratch *scratch, uint64_t *hash, pfd_error *err)
{
    const uint8_t *data;
    pfd_scratch_reset(scratch);
    PFD_TRY(pfd_file_read(file, offset, size, scratch, &data, err));
    *hash = pfd_hash_bytes(*hash, data, size);
    return PFD_OK;
}

static pfd_status add_fingerprint(const pfd_file *file, pfd_scratch *scratch, uint64_t *hash,
                                  pfd_error *err)
{
    const char *slash = strrchr(file->path, '/');
    const char *name = slash ? slash + 1 : file->path;
    *hash = pfd_hash_bytes(*hash, name, (int64_t)strlen(name));
    *hash = pfd_hash_word(*hash, (uint64_t)file->size);
    if (pfd_input_file_of(file)->remote) return PFD_OK; /* its version is added, not samples */
    if (file->size <= (samples_between + 2) * sample_size)
        return hash_piece(file, 0, file->size, scratch, hash, err);
    int64_t last = file->size - sample_size, step = last / (samples_between + 1);
    for (int64_t i = 0; i <= samples_between; i++)
        PFD_TRY(hash_piece(file, i * step, sample_size, scratch, hash, err));
    return hash_piece(file, last, sample_size, scratch, hash, err);
}

static const char *suffix_of(const pfd_file *file)
{
    const char *slash = strrchr(file->path, '/'), *dot = strrchr(slash ? slash : file->path, '.');
    return dot ? dot : "";
}

static int32_t begins_compressed(const uint8_t *data, int64_t size)
{
    return pfd_compression_of_bytes(data, size) != PFD_COMPRESSION_NONE;
}

/* Finds the compression of file i.  Each remote file takes a request, so among many of them a file
 * has the compression of the file before it if the suffix is the same; the compression is compared
 * when the file's beginning is read. */
static pfd_status find_compression(pfd_input_files *self, int64_t i, pfd_scratch *scratch,
                                   pfd_error *err)
{
    enum { FEW = 16 };
    pfd_input_file *opened = &self->files[i];
    if (i < FEW || !opened->remote ||
        strcmp(suffix_of(self->list[i]), suffix_of(self->list[i - 1])) != 0)
        return pfd_compression_detect(self->list[i], scratch, &opened->compression, err);
    opened->compression = opened[-1].compression;
    if (opened->compression == PFD_COMPRESSION_NONE) opened->is_compressed = begins_compressed;
    return PFD_OK;
}

/* Detects the compression of the files and hashes their content. */
static pfd_status look_at(pfd_input_files *self, int32_t compression, pfd_error *err)
{
    pfd_scratch *scratch = pfd_scratch_create();
    if (!scratch) return pfd_fail_memory(err, 0, "a scratch");
    pfd_status status = PFD_OK;
    if (self->access == PFD_FILE_ACCESS_FOLDER) compression = PFD_COMPRESSION_NONE;
    for (int64_t i = 0; i < self->size && status == PFD_OK; i++) {
        self->files[i].compression = compression;
        pfd_scratch_reset(scratch);
        if (compression == PFD_COMPRESSION_AUTO) status = find_compression(self, i, scratch, err);
        if (status != PFD_OK) break;
        if (self->access == PFD_FILE_ACCESS_FOLDER)
            self->fingerprint = pfd_hash_word(self->fingerprint, 0);
        else
            status = add_fingerprint(self->list[i], scratch, &self->fingerprint, err);
        if (self->files[i].remote)
            self->fingerprint = pfd_hash_word(self->fingerprint, self->states[i].version);
    }
    pfd_scratch_free(scratch);
    return status;
}

/* ---- The interface --------------------------------------------------------------------------- */
static pfd_status open_each(pfd_input_files *self, char *const *paths, int64_t n, pfd_error *err)
{
    pfd_remote_facts *facts = NULL; /* of all at once: each look takes a request */
    pfd_status status = PFD_OK;
    int32_t are_files = self->access != PFD_FILE_ACCESS_FOLDER;
    for (int64_t i = 0; i < n && are_files && !facts && status == PFD_OK; i++) {
        if (!pfd_path_is_remote(paths[i])) continue;
        facts = calloc((size_t)n, sizeof *facts);
        status = facts ? pfd_remote_look(paths, n, facts, err)
                       : pfd_fail_memory(err, n * (int64_t)sizeof *facts, "facts of files");
    }
    for (int64_t i = 0; i < n && status == PFD_OK; i++)
        status = open_file(self, paths[i], facts ? &facts[i] : NULL, err);
    free(facts);
    return status;
}

pfd_status pfd_input_files_open(char *const *paths, int64_t n, int32_t access, int32_t compression,
                                const pfd_bounds *bounds, pfd_input_files **out, pfd_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    PFD_TRY(pfd_sigbus_guard_install(err));
    size_t count = n > 0 ? (size_t)n : 1;
    pfd_input_files *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "the table of files");
    self->bounds = bounds;
    self->access = access == PFD_FILE_ACCESS_AUTO ? choose_access(paths, n) : access;
    (void)pthread_once(&once, find_most_mapped);
    self->files = calloc(count, sizeof *self->files);
    self->list = calloc(count, sizeof *self->list);
    self->states = calloc(count, sizeof *self->states);
    pfd_status status = PFD_OK;
    if (!self->files || !self->list || !self->states)
        status = pfd_fail_memory(err, n * (int64_t)sizeof *self->states, "the table of files");
    if (status == PFD_OK) status = open_each(self, paths, n, err);
    if (status == PFD_OK) status = look_at(self, compression, err);
    if (status == PFD_OK) status = pfd_input_files_check(self, err);
    if (status != PFD_OK) {
        pfd_input_files_close(self);
        return status;
    }
    *out = self;
    return PFD_OK;
}

pfd_status pfd_input_files_compare_seals(pfd_input_files *files, pfd_error *err)
{
    for (int64_t i = 0; i < files->size; i++) {
        PFD_TRY(pfd_sealed_file_open(&files->files[i], &files->states[i].sealed, err));
        files->list[i] = pfd_sealed_file_of(files->states[i].sealed);
    }
    return PFD_OK;
}

void pfd_input_files_close(pfd_input_files *files)
{
    if (!files) return;
    for (int64_t i = 0; i < files->size; i++) {
        pfd_input_file *opened = &files->files[i];
        pfd_sealed_file_close(files->states[i].sealed);
        if (opened->remote) {
            pfd_sigbus_guard_remove(files->states[i].region);
            pfd_remote_file_close(opened->remote);
        } else if (files->states[i].region) {
            pfd_sigbus_guard_remove(files->states[i].region);
            munmap((void *)(uintptr_t)opened->data, (size_t)opened->file.size);
            num_mapped--;
        }
        if (opened->fd >= 0) close(opened->fd);
        free((void *)(uintptr_t)opened->file.path);
        free(opened->absolute);
    }
    free(files->files);
    free(files->list);
    free(files->states);
    free(files);
}

const pfd_file *const *pfd_input_files_list(const pfd_input_files *files, int64_t *n)
{
    *n = files->size;
    return files->list;
}

/* ---- Changes while open ---------------------------------------------------------------------- */
static pfd_status fail_look(const pfd_file *file, int reason, pfd_error *err)
{
    if (reason == ENOENT) return pfd_fail_file(err, file->path, "the file vanished while open");
    (void)pfd_fail_file(err, file->path, "the open file cannot be examined any more: %s",
                        strerror(reason));
    return pfd_error_set_errno(err, reason);
}

/* Compares two looks at a file that differ. */
static pfd_status check_difference(const pfd_input_file *opened, const file_state *state,
                                   const struct stat *now, pfd_error *err)
{
    const pfd_file *file = &opened->file;
    const struct stat before = {.st_size = file->size,
                                .st_mtim = state->modified,
                                .st_ctim = state->changed,
                                .st_nlink = (nlink_t)state->links,
                                .st_mode = state->mode,
                                .st_uid = state->owner,
                                .st_gid = state->group};
    if (now->st_dev != opened->device || now->st_ino != opened->inode)
        return pfd_fail_file(err, file->path, "the file was replaced by another one while open");
    if (S_ISDIR(now->st_mode)) return PFD_OK; /* its reader looks after the files in it */
    if (pfd_is_unchanged(&before, now)) return PFD_OK;
    if (now->st_size == file->size)
        return pfd_fail_file(err, file->path,
                             "the file changed while open: its size is the same, but its %s "
                             "differs",
                             memcmp(&now->st_mtim, &state->modified, sizeof now->st_mtim)
                                 ? "modification time"
                                 : "time of change (ctime)");
    return pfd_fail_file(err, file->path,
                         "the file changed while open: it had %" PRId64 " bytes when it was "
                         "opened, and now has %" PRId64,
                         file->size, (int64_t)now->st_size);
}

static pfd_status check_file(const pfd_input_file *opened, const file_state *state, pfd_error *err)
{
    struct stat now;
    /* Each fetch asks for the version that was opened. */
    if (opened->methods == &pfd_remote_bytes) return PFD_OK;
    if (pfd_sys_stat(opened->bounds, AT_FDCWD, opened->absolute, &now) != 0)
        return fail_look(&opened->file, errno, err);
    if (now.st_ino == opened->inode && now.st_dev == opened->device &&
        now.st_size == opened->file.size &&
        !memcmp(&now.st_mtim, &state->modified, sizeof now.st_mtim) &&
        !memcmp(&now.st_ctim, &state->changed, sizeof now.st_ctim))
        return PFD_OK;
    return check_difference(opened, state, &now, err);
}

pfd_status pfd_input_files_check_one(const pfd_input_files *files, int64_t i, pfd_error *err)
{
    return check_file(&files->files[i], &files->states[i], err);
}

pfd_status pfd_input_files_check(const pfd_input_files *files, pfd_error *err)
{
    int64_t fault = atomic_load_explicit(&files->fault, memory_order_acquire);
    if (fault == 0) return PFD_OK;
    const pfd_input_file *opened = &files->files[fault - 1];
    PFD_TRY(check_file(opened, &files->states[fault - 1], err));
    return pfd_fail_file(err, opened->file.path,
                         "a page of the file could not be read: the file was cut short while open, "
                         "or the disk has an error");
}

pfd_status pfd_input_files_check_disk(const pfd_input_files *files, pfd_error *err)
{
    PFD_TRY(pfd_sigbus_guard_install(err)); /* Python's faulthandler may have taken its place */
    for (int64_t i = 0; i < files->size; i++)
        PFD_TRY(check_file(&files->files[i], &files->states[i], err));
    return pfd_input_files_check(files, err);
}

uint64_t pfd_input_files_fingerprint(const pfd_input_files *files)
{
    return files->fingerprint;
}

int32_t pfd_input_files_are_remote(const pfd_input_files *files)
{
    return files->num_remote > 0;
}

int64_t pfd_input_files_bytes(const pfd_input_files *files)
{
    return files->bytes;
}

int64_t pfd_input_files_bytes_read(const pfd_input_files *files)
{
    return atomic_load_explicit(&files->bytes_read, memory_order_relaxed);
}

/* ---- Reading ahead --------------------------------------------------------------------------- */

/* Moves the mark up to which bytes were requested; returns how many from *from on to request now,
 * 0: none yet. Places are counted over all files. */
static int64_t advance(pfd_input_files *files, int64_t place, int64_t *from)
{
    const int64_t step = 8 * 1024 * 1024;
    int64_t ahead = atomic_load_explicit(&files->ahead, memory_order_relaxed);
    int32_t is_near = place <= ahead && place > ahead - 4 * step; /* else reading jumped to a new
                                                                     place */
    if (is_near && (place <= ahead - step / 2 || ahead >= files->bytes)) return 0;
    *from = is_near ? ahead : place;
    return atomic_compare_exchange_strong(&files->ahead, &ahead, *from + step) ? step : 0;
}

/* The last file that begins at or before a place; files without bytes are skipped. */
static int64_t file_at(const pfd_input_files *files, int64_t place)
{
    return pfd_last_at_most(&files->states[0].first_byte, (int64_t)sizeof *files->states, 0,
                            files->size, place);
}

void pfd_input_files_read_ahead(pfd_input_files *files, int64_t file, int64_t offset)
{
    if (files->files[file].compression != PFD_COMPRESSION_NONE) return; /* its offsets are of
                                                                           decompressed bytes */
    if (offset < 0 || offset > files->list[file]->size) return; /* from an op, unchecked */
    int64_t from, bytes = advance(files, files->states[file].first_byte + offset, &from);
    if (bytes == 0) return;
    for (int64_t i = file_at(files, from); bytes > 0 && i < files->size; i++) {
        int64_t begin = from - files->states[i].first_byte, left = files->list[i]->size - begin;
        int64_t size = left < bytes ? left : bytes;
        pfd_file_will_need(files->list[i], begin, size);
        bytes -= size;
        from += size;
    }
}

void pfd_input_files_identify(const pfd_input_files *files, uint64_t seed, uint64_t *identity,
                              uint64_t *state)
{
    *identity = seed;
    *state = pfd_hash_word(seed, files->fingerprint);
    for (int64_t i = 0; i < files->size; i++) {
        const pfd_input_file *opened = &files->files[i];
        const struct timespec *times[] = {&files->states[i].modified, &files->states[i].changed};
        *identity = pfd_hash_bytes(*identity, opened->absolute, (int64_t)strlen(opened->absolute));
        *state = pfd_hash_word(*state, (uint64_t)opened->file.size);
        if (opened->remote) *state = pfd_hash_word(*state, files->states[i].version);
        for (int j = 0; j < 2; j++) {
            *state = pfd_hash_word(*state, (uint64_t)times[j]->tv_sec);
            *state = pfd_hash_word(*state, (uint64_t)times[j]->tv_nsec);
        }
    }
}

void pfd_input_files_read_at_random(const pfd_input_files *files)
{
    for (int64_t i = 0; i < files->size; i++)
        if (files->files[i].fd >= 0)
            (void)posix_fadvise(files->files[i].fd, 0, 0, POSIX_FADV_RANDOM);
}
