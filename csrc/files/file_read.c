/* The bytes of a file on disk: views of its mapping, or pieces read into the scratch. */
#include "files/file_read.h"

#include "core/error.h"
#include "core/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- A file that is read --------------------------------------------------------------------- */

/* A descriptor of the file; -1 and an error when it was removed or replaced. */
static int open_again(const pfd_input_file *opened, pfd_error *err)
{
    struct stat st;
    int fd = open(opened->absolute, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        pfd_fail_file(err, opened->file.path, "the open file cannot be opened again: %s",
                      strerror(errno));
        return -1;
    }
    if (fstat(fd, &st) == 0 && st.st_dev == opened->device && st.st_ino == opened->inode) return fd;
    close(fd);
    pfd_fail_file(err, opened->file.path, "the file was replaced by another one while open");
    return -1;
}

static pfd_status read_bytes(const pfd_input_file *opened, int fd, int64_t offset, int64_t size,
                             uint8_t *out, pfd_error *err)
{
    for (int64_t done = 0; done < size;) {
        ssize_t got = pread(fd, out + done, (size_t)(size - done), offset + done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return pfd_fail_at(err, &opened->file, offset + done, PFD_IO,
                               "the file cannot be read here: %s", strerror(errno));
        if (got == 0)
            return pfd_fail_at(err, &opened->file, offset + done, PFD_IO,
                               "the file changed while open: it was %" PRId64
                               " bytes at open, and ends here now",
                               opened->file.size);
        done += got;
    }
    atomic_fetch_add_explicit(opened->bytes_read, size, memory_order_relaxed);
    return PFD_OK;
}

static pfd_status check_range(const pfd_input_file *opened, int64_t offset, int64_t size,
                              pfd_error *err)
{
    int64_t end = opened->file.size;
    if (offset + size <= end) return PFD_OK;
    return pfd_fail_at(err, &opened->file, offset, PFD_CORRUPT_DATA,
                       "the file ends at byte %" PRId64 ", and %" PRId64
                       " bytes are expected from here: %" PRId64 " are missing",
                       end, size, offset + size - end);
}

static pfd_status read_piece(const pfd_input_file *opened, int64_t offset, int64_t size,
                                pfd_scratch *scratch, const uint8_t **data, pfd_error *err)
{
    PFD_TRY(check_range(opened, offset, size, err));
    uint8_t *out = pfd_scratch_alloc(scratch, size);
    if (!out) return pfd_fail_memory(err, size, "a piece of a file");
    int fd = opened->fd >= 0 ? opened->fd : open_again(opened, err);
    if (fd < 0) return PFD_IO;
    pfd_status status = read_bytes(opened, fd, offset, size, out, err);
    if (fd != opened->fd) close(fd);
    *data = out;
    return status;
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

const pfd_file_methods pfd_read_file = {read_piece, find_end, advise_descriptor};

/* ---- A file that is mapped ------------------------------------------------------------------- */
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

const pfd_file_methods pfd_mapped_file = {view, find_end, advise_mapping};

/* ---- Any file -------------------------------------------------------------------------------- */
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
    pfd_status status =
        opened->methods->find_end(opened, offset + size + 1, scratch, &end, err);
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

int32_t pfd_file_is_in_memory(const pfd_file *file, int64_t offset)
{
    const pfd_input_file *opened = pfd_input_file_of(file);
    uint8_t byte;
    struct iovec one = {&byte, 1};
    pfd_error ignored;
    pfd_error_init(&ignored);
    int fd = opened->fd >= 0 ? opened->fd : open_again(opened, &ignored);
    if (fd < 0) return 0;
    ssize_t got = preadv2(fd, &one, 1, offset, RWF_NOWAIT);
    if (fd != opened->fd) close(fd);
    return got == 1;
}
