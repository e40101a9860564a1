/* The bytes of a file on disk: views of its mapping, pieces read into the scratch, its start. */
#include "files/file_read.h"

#include "core/system_calls.h"
#include "files/remote_file.h"
#include "pyflowdata/pyflowdata.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- Opened files: a file that is read ------------------------------------------------------- */

/* A descriptor of the file; -1 and an error when it was removed or replaced. */
static int open_again(const pfd_input_file *opened, pfd_error *err)
{
    struct stat st;
    int fd = pfd_sys_open(opened->bounds, AT_FDCWD, opened->absolute, O_NONBLOCK);
    if (fd < 0) {
        int reason = errno;
        pfd_fail_file(err, opened->file.path, "the open file cannot be opened again: %s",
                      strerror(reason));
        (void)pfd_error_set_errno(err, reason);
        return -1;
    }
    int seen = pfd_sys_fstat(opened->bounds, fd, &st), reason = errno;
    if (seen == 0 && st.st_dev == opened->device && st.st_ino == opened->inode) return fd;
    close(fd);
    if (seen != 0) {
        pfd_fail_file(err, opened->file.path, "the open file cannot be examined any more: %s",
                      strerror(reason));
        (void)pfd_error_set_errno(err, reason);
        return -1;
    }
    pfd_fail_file(err, opened->file.path, "the file was replaced by another one while open");
    return -1;
}

/* The descriptor that is kept open, or a new one; -1 and an error. */
static int descriptor_of(const pfd_input_file *opened, pfd_error *err)
{
    return opened->fd >= 0 ? opened->fd : open_again(opened, err);
}

static void let_go(const pfd_input_file *opened, int fd)
{
    if (fd >= 0 && fd != opened->fd) close(fd);
}

static pfd_status fail_read(const pfd_input_file *opened, int64_t offset, int reason,
                            pfd_error *err)
{
    (void)pfd_fail_at(err, &opened->file, offset, PFD_IO, "the file cannot be read here: %s",
                      strerror(reason));
    return pfd_error_set_errno(err, reason);
}

static pfd_status read_bytes(const pfd_input_file *opened, int64_t offset, int64_t size,
                             uint8_t *out, pfd_error *err)
{
    int reason, fd = descriptor_of(opened, err);
    if (fd < 0) return err->status;
    int64_t done = pfd_sys_read(opened->bounds, fd, offset, size, out, &reason);
    if (reason == ESTALE && fd == opened->fd) { /* its handle was lost, but the file may be there */
        fd = open_again(opened, err);
        if (fd < 0) return err->status;
        done = pfd_sys_read(opened->bounds, fd, offset, size, out, &reason);
    }
    let_go(opened, fd);
    if (reason) return fail_read(opened, offset + done, reason, err);
    if (done < size)
        return pfd_fail_at(err, &opened->file, offset + done, PFD_IO,
                           "the file changed while open: it had %" PRId64 " bytes when it was "
                           "opened, and now ends here",
                           opened->file.size);
    atomic_fetch_add_explicit(opened->bytes_read, size, memory_order_relaxed);
    return PFD_OK;
}

static pfd_status check_range(const pfd_input_file *opened, int64_t offset, int64_t size,
                              pfd_error *err)
{
    int64_t end = opened->file.size;
    if (offset + size <= end) return PFD_OK;
    return pfd_fail_at(err, &opened->file, offset, PFD_CORRUPT_DATA,
                       "the file ends at byte %" PRId64 ", but %" PRId64 " bytes are expected from "
                       "here: %" PRId64 " are missing",
                       end, size, offset + size - end);
}

static pfd_status read_piece(const pfd_input_file *opened, int64_t offset, int64_t size,
                             pfd_scratch *scratch, const uint8_t **data, pfd_error *err)
{
    PFD_TRY(check_range(opened, offset, size, err));
    uint8_t *out = pfd_scratch_alloc(scratch, size);
    if (!out) return pfd_fail_memory(err, size, "a piece of a file");
    *data = out;
    return read_bytes(opened, offset, size, out, err);
}

static pfd_status find_end(const pfd_input_file *opened, int64_t wanted, const pfd_scratch *bounds,
                           int64_t *end, pfd_error *err)
{
    (void)wanted, (void)bounds, (void)err;
    *end = opened->file.size;
    return PFD_OK;
}

static void advise_descriptor(const pfd_input_file *opened, int64_t offset, int64_t size)
{
    if (opened->fd >= 0) (void)posix_fadvise(opened->fd, offset, size, POSIX_FADV_WILLNEED);
}

const pfd_file_methods pfd_read_file = {read_piece, find_end, advise_descriptor, NULL};

/* ---- Opened files: a file that is mapped ----------------------------------------------------- */

static pfd_status view(const pfd_input_file *opened, int64_t offset, int64_t size,
                       pfd_scratch *scratch, const uint8_t **data, pfd_error *err)
{
    (void)scratch;
    PFD_TRY(check_range(opened, offset, size, err));
    *data = opened->data + offset;
    return PFD_OK;
}

static void advise_mapping(const pfd_input_file *opened, int64_t offset, int64_t size)
{
    uintptr_t begin = (uintptr_t)(opened->data + offset), page = (uintptr_t)getpagesize();
    uintptr_t first = begin - begin % page;
    (void)madvise((void *)first, (size_t)size + (begin - first), MADV_WILLNEED);
}

const pfd_file_methods pfd_mapped_file = {view, find_end, advise_mapping, NULL};

/* ---- Opened files: a remote file ------------------------------------------------------------- */

static pfd_status copy_piece(const pfd_input_file *opened, int64_t offset, int64_t size,
                             pfd_scratch *scratch, const uint8_t **data, pfd_error *err)
{
    PFD_TRY(check_range(opened, offset, size, err));
    uint8_t *out = pfd_scratch_alloc(scratch, size);
    if (!out) return pfd_fail_memory(err, size, "a piece of a file");
    *data = out;
    pfd_remote_file *file = opened->remote;
    PFD_TRY(pfd_scratch_waits(scratch)
                ? pfd_remote_file_read(file, offset, size, out, opened->bounds, err)
                : pfd_remote_file_read_cached(file, offset, size, out, err));
    if (offset == 0 && opened->is_compressed && opened->is_compressed(out, size))
        return pfd_fail_at(err, &opened->file, 0, PFD_CORRUPT_DATA,
                           "it begins like compressed data, but earlier files with the same suffix "
                           "do not: set the attr compression, or give compressed files a suffix");
    atomic_fetch_add_explicit(opened->bytes_read, size, memory_order_relaxed);
    return PFD_OK;
}

static void ask_for(const pfd_input_file *opened, int64_t offset, int64_t size)
{
    pfd_remote_file_will_need(opened->remote, offset, size);
}

const pfd_file_methods pfd_remote_bytes = {copy_piece, find_end, ask_for, NULL};

/* ---- Opened files: any of them --------------------------------------------------------------- */

pfd_status pfd_file_read(const pfd_file *file, int64_t offset, int64_t size, pfd_scratch *scratch,
                         const uint8_t **data, pfd_error *err)
{
    const pfd_input_file *opened = pfd_input_file_of(file);
    if (offset < 0 || size < 0 || offset > INT64_MAX - size)
        return pfd_fail(err, PFD_INTERNAL,
                        "read of %" PRId64 " bytes at %" PRId64 "; neither may be negative", size,
                        offset);
    return opened->methods->read(opened, offset, size, scratch, data, err);
}

pfd_status pfd_file_ends_at(const pfd_file *file, int64_t offset, pfd_scratch *scratch,
                            int32_t *ends, pfd_error *err)
{
    const pfd_input_file *opened = pfd_input_file_of(file);
    int64_t end;
    PFD_TRY(opened->methods->find_end(opened, offset + 1, scratch, &end, err));
    *ends = offset >= end;
    return PFD_OK;
}

pfd_status pfd_file_bytes_at(const pfd_file *file, int64_t offset, int64_t size,
                             pfd_scratch *scratch, int64_t *there, int32_t *is_end, pfd_error *err)
{
    const pfd_input_file *opened = pfd_input_file_of(file);
    int64_t end;
    pfd_status status = opened->methods->find_end(opened, offset + size + 1, scratch, &end, err);
    *there = end - offset < size ? end - offset : size;
    *is_end = status == PFD_OK && end - offset <= size;
    return status;
}

/* A failed madvise() costs time, not correctness. */
void pfd_file_will_need(const pfd_file *file, int64_t offset, int64_t size)
{
    const pfd_input_file *opened = pfd_input_file_of(file);
    if (offset >= file->size || size <= 0) return;
    if (size > file->size - offset) size = file->size - offset;
    opened->methods->will_need(opened, offset, size);
}

int32_t pfd_file_plan(const pfd_file *file, int64_t offset, int64_t size, pfd_block_plan *plan,
                      int64_t batch)
{
    const pfd_input_file *opened = pfd_input_file_of(file);
    if (!opened->remote || offset < 0 || offset >= file->size || size <= 0) return 1;
    return pfd_block_plan_add(plan, opened->remote, offset, size, batch);
}

static int32_t is_in_memory(int fd, int64_t offset)
{
    uint8_t byte;
    struct iovec one = {&byte, 1};
    return fd >= 0 && preadv2(fd, &one, 1, offset, RWF_NOWAIT) == 1;
}

int32_t pfd_files_are_in_memory(const pfd_file *const *files, int64_t num_files,
                                const pfd_place *places, int64_t n)
{
    const pfd_input_file *last = NULL;
    int32_t found = 1;
    int fd = -1; /* descriptor of the last file, which the next place may be in too */
    for (int64_t i = 0; i < n && found; i++) {
        if (places[i].file < 0 || places[i].file >= num_files) return 0;
        const pfd_input_file *opened = pfd_input_file_of(files[places[i].file]);
        if (opened->remote) return 0;
        if (opened != last) {
            let_go(last, fd);
            fd = descriptor_of(opened, &(pfd_error){.struct_size = sizeof(pfd_error)});
            last = opened;
        }
        found = is_in_memory(fd, places[i].offset);
    }
    let_go(last, fd);
    return found;
}

/* ---- Files by their path --------------------------------------------------------------------- */

static pfd_status fail_path(const char *path, const char *what, int reason, pfd_error *err)
{
    (void)pfd_fail_file(err, path, "the file cannot be %s: %s", what, strerror(reason));
    return pfd_error_set_errno(err, reason);
}

static pfd_status read_descriptor(const char *path, int fd, int64_t most, uint8_t **data,
                                  int64_t *size, int64_t *file_size, pfd_error *err)
{
    struct stat st, now;
    if (pfd_sys_fstat(NULL, fd, &st) != 0) return fail_path(path, "examined", errno, err);
    if (!S_ISREG(st.st_mode)) return pfd_fail_file(err, path, "this is not a regular file");
    *file_size = (int64_t)st.st_size;
    int64_t wanted = *file_size < most ? *file_size : most;
    *data = malloc(wanted ? (size_t)wanted : 1);
    if (!*data) return pfd_fail_memory(err, wanted, "the beginning of a file");
    int reason;
    *size = pfd_sys_read(NULL, fd, 0, wanted, *data, &reason);
    if (reason) return fail_path(path, "read", reason, err);
    if (pfd_sys_fstat(NULL, fd, &now) != 0) return fail_path(path, "examined", errno, err);
    if (*size == wanted && pfd_is_unchanged(&st, &now)) return PFD_OK;
    return pfd_fail_file(err, path, "the file changed while it was read");
}

static pfd_status read_remote(const char *path, int64_t most, uint8_t **data, int64_t *size,
                              int64_t *file_size, pfd_error *err)
{
    pfd_remote_facts facts;
    pfd_remote_file *file;
    PFD_TRY(pfd_remote_file_open_one(path, &facts, &file, err));
    *file_size = facts.size;
    *size = facts.size < most ? facts.size : most;
    *data = malloc(*size ? (size_t)*size : 1);
    pfd_status status = *data ? pfd_remote_file_read(file, 0, *size, *data, NULL, err)
                              : pfd_fail_memory(err, *size, "the beginning of a file");
    pfd_remote_file_close(file);
    if (status == PFD_OK) return PFD_OK;
    free(*data);
    *data = NULL;
    return status;
}

pfd_status pfd_file_start_read(const char *path, int64_t most, uint8_t **data, int64_t *size,
                               int64_t *file_size, pfd_error *err)
{
    *data = NULL;
    *size = *file_size = 0;
    if (pfd_path_is_remote(path)) return read_remote(path, most, data, size, file_size, err);
    int fd = pfd_sys_open(NULL, AT_FDCWD, path, O_NONBLOCK);
    if (fd < 0) return fail_path(path, "opened", errno, err);
    pfd_status status = read_descriptor(path, fd, most, data, size, file_size, err);
    close(fd);
    if (status == PFD_OK) return PFD_OK;
    free(*data);
    *data = NULL;
    return status;
}

/* Whether the name below a folder is a link that leads nowhere.  Its path may go through so many
 * links that the system gives up, so only the name itself is examined. */
static int32_t leads_nowhere(const char *path)
{
    char above[PATH_MAX];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct stat st;
    (void)snprintf(above, sizeof above, "%.*s.", (int)(name - path), path);
    int folder = pfd_sys_open(NULL, AT_FDCWD, above, O_PATH | O_DIRECTORY);
    int32_t found = folder >= 0 && pfd_sys_stat(NULL, folder, name, &st) != 0 &&
                    pfd_errno_class(errno, 0) == PFD_REASON_NONE;
    int reason = errno;
    if (folder >= 0) close(folder);
    errno = reason;
    return found;
}

static pfd_status fail_link(const char *path, int reason, pfd_error *err)
{
    char target[400];
    ssize_t size = readlink(path, target, sizeof target);
    return pfd_fail_file(err, path, "this is a link to '%.*s', which %s: restore or mount what it "
                         "leads to, or remove the link", (int)(size > 0 ? size : 0), target,
                         reason == ELOOP ? "leads back to it" : "is not there");
}

pfd_status pfd_check_links(const char *path, pfd_error *err)
{
    char part[PATH_MAX];
    struct stat st;
    if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part) return PFD_OK;
    for (;;) {
        size_t size = strlen(part);
        while (size > 1 && part[size - 1] == '/') part[--size] = '\0';
        if (size == 0 || stat(part, &st) == 0) return PFD_OK;
        if (lstat(part, &st) == 0)
            return S_ISLNK(st.st_mode) && leads_nowhere(part) ? fail_link(part, errno, err)
                                                              : PFD_OK;
        char *slash = strrchr(part, '/');
        if (!slash || slash == part) return PFD_OK;
        *slash = '\0';
    }
}

pfd_status pfd_path_kind(const char *path, int32_t *kind, pfd_error *err)
{
    struct stat st;
    *kind = PFD_PATH_MISSING;
    if (pfd_path_is_remote(path)) return pfd_remote_kind(path, kind, err);
    if (pfd_sys_stat(NULL, AT_FDCWD, path, &st) == 0) {
        *kind = S_ISREG(st.st_mode)   ? PFD_PATH_FILE
                : S_ISDIR(st.st_mode) ? PFD_PATH_FOLDER
                                      : PFD_PATH_OTHER;
        return PFD_OK;
    }
    int reason = errno;
    if (pfd_reason_of_errno(reason) == PFD_REASON_NONE) return pfd_check_links(path, err);
    (void)pfd_fail_file(err, path, "the path cannot be examined: %s%s", strerror(reason),
                        reason == EACCES ? "; is this user allowed to enter the folders above it?"
                                         : "");
    return pfd_error_set_errno(err, reason);
}

char *pfd_path_beside(const char *path, const char *name, int64_t name_size)
{
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    char *out = malloc(folder + (size_t)name_size + 1);
    if (!out) return NULL;
    memcpy(out, path, folder);
    memcpy(out + folder, name, (size_t)name_size);
    out[folder + (size_t)name_size] = 0;
    return out;
}

int32_t pfd_path_is_below(const char *name, int64_t size)
{
    if (size == 0 || name[0] == '/' || memchr(name, 0, (size_t)size)) return 0;
    for (int64_t at = 0; at <= size;) {
        const char *slash = memchr(name + at, '/', (size_t)(size - at));
        int64_t end = slash ? slash - name : size;
        if (end - at == 2 && name[at] == '.' && name[at + 1] == '.') return 0;
        at = end + 1;
    }
    return 1;
}
