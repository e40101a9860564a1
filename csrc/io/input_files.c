/* Opening, mapping and watching the files of a reader. */
#include "io/input_files.h"

#include "core/error.h"
#include "core/hash.h"
#include "io/sigbus_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the file was at open. */
typedef struct file_state {
    char *absolute;             /* path that holds when the working folder changes; owned */
    pfd_guarded_region *region; /* NULL: not mapped */
    dev_t device;
    ino_t inode;
    struct timespec modified;
} file_state;

struct pfd_input_files {
    int64_t size; /* opened so far */
    pfd_input_file *files;
    const pfd_file **list; /* the same, for ops */
    file_state *states;
    int64_t bytes;
    uint64_t fingerprint;
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
    return pfd_fail_file(err, path, "this is %s; a part must be a regular file", kind_of(mode));
}

static pfd_status fail_open(pfd_error *err, const char *path, int reason)
{
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) return fail_kind(err, path, st.st_mode);
    return pfd_fail_file(err, path, "the file cannot be opened: %s", strerror(reason));
}

static pfd_status fail_map(pfd_error *err, const char *path, int reason)
{
    static const char hint[] = "; the address space is used up, or there are more files than "
                               "vm.max_map_count lets a process map";
    return pfd_fail_file(err, path, "the file cannot be mapped into memory: %s%s", strerror(reason),
                         reason == ENOMEM ? hint : "");
}

/* Maps an open file and guards the mapping.  An empty one needs neither. */
static pfd_status map_file(pfd_input_files *self, int64_t i, int fd, const char *path,
                           pfd_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return fail_open(err, path, errno);
    if (!S_ISREG(st.st_mode)) return fail_kind(err, path, st.st_mode);
    if ((uint64_t)st.st_size > SIZE_MAX / 2) return fail_map(err, path, EFBIG);
    pfd_input_file *opened = &self->files[i];
    pfd_file *file = &opened->file;
    file_state *state = &self->states[i];
    state->device = st.st_dev;
    state->inode = st.st_ino;
    state->modified = st.st_mtim;
    file->size = st.st_size;
    opened->data = (const uint8_t *)"";
    self->bytes += file->size;
    if (file->size == 0) return PFD_OK;
    void *data = mmap(NULL, (size_t)file->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) return fail_map(err, path, errno);
    state->region = pfd_sigbus_guard_add(data, file->size, &self->fault, i + 1);
    if (!state->region) {
        munmap(data, (size_t)file->size);
        return pfd_fail_memory(err, 64, "guarding a file");
    }
    opened->data = data;
    return PFD_OK;
}

/* Symbolic links stay: it is the file that the path leads to by then that counts. */
static char *absolute_path(const char *path)
{
    char *folder = path[0] == '/' ? NULL : getcwd(NULL, 0), *absolute = NULL;
    if (!folder) return strdup(path);
    if (asprintf(&absolute, "%s/%s", folder, path) < 0) absolute = NULL;
    free(folder);
    return absolute;
}

static pfd_status open_file(pfd_input_files *self, const char *path, pfd_error *err)
{
    int64_t i = self->size;
    char *copy = strdup(path);
    self->files[i].file =
        (pfd_file){.struct_size = sizeof(pfd_file), .index = (int32_t)i, .path = copy};
    self->list[i] = &self->files[i].file;
    self->states[i].absolute = absolute_path(path);
    self->size++;
    if (!copy || !self->states[i].absolute)
        return pfd_fail_memory(err, (int64_t)strlen(path), "a path");
    /* O_NONBLOCK: opening a FIFO would wait for its writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return fail_open(err, path, errno);
    pfd_status status = map_file(self, i, fd, path, err);
    close(fd);
    return status;
}

/* ---- Fingerprint ----------------------------------------------------------------------------- */
enum { sample_size = 4096, samples_between = 6 };

static uint64_t fingerprint_of(uint64_t hash, const pfd_file *file)
{
    const uint8_t *data = pfd_file_data(file);
    const char *slash = strrchr(file->path, '/');
    const char *name = slash ? slash + 1 : file->path;
    hash = pfd_hash_bytes(hash, name, (int64_t)strlen(name));
    hash = pfd_hash_word(hash, (uint64_t)file->size);
    if (file->size <= (samples_between + 2) * sample_size) {
        return pfd_hash_bytes(hash, data, file->size);
    }
    int64_t last = file->size - sample_size, step = last / (samples_between + 1);
    for (int64_t i = 0; i <= samples_between; i++) {
        hash = pfd_hash_bytes(hash, data + i * step, sample_size);
    }
    return pfd_hash_bytes(hash, data + last, sample_size);
}

/* ---- The interface --------------------------------------------------------------------------- */
pfd_status pfd_input_files_open(char *const *paths, int64_t n, pfd_input_files **out,
                                pfd_error *err)
{
    PFD_TRY(pfd_sigbus_guard_install(err));
    size_t count = n > 0 ? (size_t)n : 1;
    pfd_input_files *self = calloc(1, sizeof *self);
    if (!self) return pfd_fail_memory(err, (int64_t)sizeof *self, "the table of files");
    self->files = calloc(count, sizeof *self->files);
    self->list = calloc(count, sizeof *self->list);
    self->states = calloc(count, sizeof *self->states);
    pfd_status status = PFD_OK;
    if (!self->files || !self->list || !self->states) {
        status = pfd_fail_memory(err, n * (int64_t)sizeof *self->states, "the table of files");
    }
    for (int64_t i = 0; i < n && status == PFD_OK; i++) status = open_file(self, paths[i], err);
    for (int64_t i = 0; i < n && status == PFD_OK; i++) {
        self->fingerprint = fingerprint_of(self->fingerprint, self->list[i]);
    }
    if (status == PFD_OK) status = pfd_input_files_check(self, err);
    if (status != PFD_OK) {
        pfd_input_files_close(self);
        return status;
    }
    *out = self;
    return PFD_OK;
}

void pfd_input_files_close(pfd_input_files *files)
{
    if (!files) return;
    for (int64_t i = 0; i < files->size; i++) {
        pfd_input_file *opened = &files->files[i];
        if (files->states[i].region) {
            pfd_sigbus_guard_remove(files->states[i].region);
            munmap((void *)(uintptr_t)opened->data, (size_t)opened->file.size);
        }
        free((void *)(uintptr_t)opened->file.path);
        free(files->states[i].absolute);
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

pfd_status pfd_file_read(const pfd_file *file, int64_t offset, int64_t size, pfd_scratch *scratch,
                         const uint8_t **data, pfd_error *err)
{
    (void)scratch;
    if (offset < 0 || size < 0 || offset > INT64_MAX - size)
        return pfd_fail(err, PFD_INTERNAL,
                        "read of %" PRId64 " bytes at %" PRId64 "; neither may be negative", size,
                        offset);
    if (offset + size > file->size)
        return pfd_fail_at(err, file, offset, PFD_CORRUPT_DATA,
                           "the file ends at byte %" PRId64 ", and %" PRId64
                           " bytes are expected from here: %" PRId64 " are missing",
                           file->size, size, offset + size - file->size);
    *data = pfd_file_data(file) + offset;
    return PFD_OK;
}

/* ---- Changes while open ---------------------------------------------------------------------- */
static pfd_status check_file(const pfd_file *file, const file_state *state, pfd_error *err)
{
    const char *path = file->path;
    struct stat st;
    if (stat(state->absolute, &st) != 0) {
        if (errno == ENOENT) return pfd_fail_file(err, path, "the file vanished while open");
        return pfd_fail_file(err, path, "the file, open, cannot be looked at any more: %s",
                             strerror(errno));
    }
    if (st.st_dev != state->device || st.st_ino != state->inode) {
        return pfd_fail_file(err, path, "the file was replaced by another one while open");
    }
    if (st.st_size != file->size) {
        return pfd_fail_file(err, path,
                             "the file changed while open: it was %" PRId64 " bytes at open, is "
                             "%" PRId64 " now",
                             file->size, (int64_t)st.st_size);
    }
    if (st.st_mtim.tv_sec != state->modified.tv_sec ||
        st.st_mtim.tv_nsec != state->modified.tv_nsec) {
        return pfd_fail_file(err, path,
                             "the file changed while open: its size is the same, its modification "
                             "time is another one");
    }
    return PFD_OK;
}

pfd_status pfd_input_files_check(const pfd_input_files *files, pfd_error *err)
{
    int64_t fault = atomic_load_explicit(&files->fault, memory_order_acquire);
    if (fault == 0) return PFD_OK;
    const pfd_file *file = files->list[fault - 1];
    PFD_TRY(check_file(file, &files->states[fault - 1], err));
    return pfd_fail_file(err, file->path,
                         "a page of the file could not be read: the file was cut short while open, "
                         "or the disk has an error");
}

pfd_status pfd_input_files_check_disk(const pfd_input_files *files, pfd_error *err)
{
    PFD_TRY(pfd_sigbus_guard_install(err)); /* Python's faulthandler may have taken its place */
    for (int64_t i = 0; i < files->size; i++) {
        PFD_TRY(check_file(files->list[i], &files->states[i], err));
    }
    return pfd_input_files_check(files, err);
}

uint64_t pfd_input_files_fingerprint(const pfd_input_files *files)
{
    return files->fingerprint;
}

int64_t pfd_input_files_bytes(const pfd_input_files *files)
{
    return files->bytes;
}
