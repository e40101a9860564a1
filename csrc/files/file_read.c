/* The bytes of a file: views of its mapping, or read into the scratch. */
#include "core/error.h"
#include "core/scratch.h"
#include "files/input_files.h"
#include "files/stream_window.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- Reading --------------------------------------------------------------------------------- */

/* A descriptor of the file; -1 and an error when it is not there or is another file by now. */
static int open_again(const pfd_input_file *opened, pfd_error *err)
{
    struct stat st;
    int fd = open(opened->absolute, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        pfd_fail_file(err, opened->file.path, "the file, open, cannot be opened again: %s",
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

static pfd_status read_unmapped(const pfd_input_file *opened, int64_t offset, int64_t size,
                                pfd_scratch *scratch, const uint8_t **data, pfd_error *err)
{
    uint8_t *out = pfd_scratch_alloc(scratch, size);
    if (!out) return pfd_fail_memory(err, size, "a piece of a file");
    int fd = opened->fd >= 0 ? opened->fd : open_again(opened, err);
    if (fd < 0) return PFD_IO;
    pfd_status status = read_bytes(opened, fd, offset, size, out, err);
    if (fd != opened->fd) close(fd);
    *data = out;
    return status;
}

pfd_status pfd_file_read(const pfd_file *file, int64_t offset, int64_t size, pfd_scratch *scratch,
                         const uint8_t **data, pfd_error *err)
{
    const pfd_input_file *opened = (const void *)file;
    if (offset < 0 || size < 0 || offset > INT64_MAX - size)
        return pfd_fail(err, PFD_INTERNAL,
                        "read of %" PRId64 " bytes at %" PRId64 "; neither may be negative", size,
                        offset);
    if (opened->window)
        return pfd_stream_window_read(opened->window, offset, size, scratch, data, err);
    if (offset + size > file->size)
        return pfd_fail_at(err, file, offset, PFD_CORRUPT_DATA,
                           "the file ends at byte %" PRId64 ", and %" PRId64
                           " bytes are expected from here: %" PRId64 " are missing",
                           file->size, size, offset + size - file->size);
    if (!opened->data) return read_unmapped(opened, offset, size, scratch, data, err);
    *data = opened->data + offset;
    return PFD_OK;
}

pfd_status pfd_file_ends_at(const pfd_file *file, int64_t offset, pfd_scratch *scratch,
                            int32_t *ends, pfd_error *err)
{
    const pfd_input_file *opened = (const void *)file;
    if (opened->window)
        PFD_TRY(pfd_stream_window_fill(opened->window, offset + 1, scratch, err));
    *ends = offset >= file->size;
    return PFD_OK;
}

int32_t pfd_file_is_in_memory(const pfd_file *file, int64_t offset)
{
    const pfd_input_file *opened = (const void *)file;
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

pfd_status pfd_file_bytes_at(const pfd_file *file, int64_t offset, int64_t size,
                             pfd_scratch *scratch, int64_t *there, int32_t *is_end, pfd_error *err)
{
    const pfd_input_file *opened = (const void *)file;
    int32_t ends;
    pfd_status status = pfd_file_ends_at(file, offset + size, scratch, &ends, err);
    int64_t end = status == PFD_OK ? file->size : opened->window->end;
    *there = end - offset < size ? end - offset : size;
    *is_end = status == PFD_OK && *there == file->size - offset;
    return status;
}

/* Advice that is not taken costs time, not correctness. */
void pfd_file_will_need(const pfd_file *file, int64_t offset, int64_t size)
{
    const pfd_input_file *opened = (const void *)file;
    if (offset >= file->size || size <= 0) return;
    if (size > file->size - offset) size = file->size - offset;
    if (opened->data) {
        uintptr_t begin = (uintptr_t)(opened->data + offset), page = (uintptr_t)getpagesize();
        uintptr_t first = begin - begin % page;
        (void)madvise((void *)first, (size_t)size + (begin - first), MADV_WILLNEED);
    } else if (opened->fd >= 0) {
        (void)posix_fadvise(opened->fd, offset, size, POSIX_FADV_WILLNEED);
    }
}
