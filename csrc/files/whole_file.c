/* Reads whole files. */
#include "files/whole_file.h"

#include "files/file_read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is being read. */
typedef struct reading {
    const pfd_compute_args *args;
    int64_t row;
    const pfd_whole_file *file;
} reading;

static const char *shown(const reading *self)
{
    return self->file->shown ? self->file->shown : "the file";
}

static pfd_status fail(const reading *self, const char *what, pfd_error *err)
{
    return self->args->host->fail_row(err, self->row, -1, PFD_CORRUPT_DATA, "%.400s %s",
                                      shown(self), what);
}

static pfd_status fail_errno(const reading *self, const char *what, int reason, pfd_error *err)
{
    int32_t is_ours = reason == EMFILE || reason == ENFILE || reason == ENOMEM;
    return self->args->host->fail_row(err, self->row, -1, is_ours ? PFD_IO : PFD_CORRUPT_DATA,
                                      "%.400s cannot be %s: %s", shown(self), what,
                                      strerror(reason));
}

static pfd_status read_bytes(const reading *self, int fd, uint8_t *to, int64_t size, pfd_error *err)
{
    for (int64_t done = 0; done < size;) {
        ssize_t got = read(fd, to + done, (size_t)(size - done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_errno(self, "read", errno, err);
        if (got == 0) return fail(self, "became shorter while it was read", err);
        done += got;
    }
    return PFD_OK;
}

static pfd_status read_all(const reading *self, int fd, pfd_bytes *out, pfd_error *err)
{
    const pfd_host *host = self->args->host;
    struct stat st;
    if (fstat(fd, &st) != 0) return fail_errno(self, "examined", errno, err);
    if (!S_ISREG(st.st_mode)) return fail(self, "is no regular file", err);
    if (st.st_size == 0) return fail(self, "is empty", err);
    uint8_t *data = host->alloc(self->args->scratch, st.st_size);
    if (!data)
        return host->fail_row(err, self->row, -1, PFD_OUT_OF_MEMORY,
                              "no memory for the %" PRId64 " bytes of %.400s",
                              (int64_t)st.st_size, shown(self));
    *out = (pfd_bytes){data, st.st_size};
    return read_bytes(self, fd, data, st.st_size, err);
}

pfd_status pfd_whole_file_read(const pfd_compute_args *args, int64_t row,
                               const pfd_whole_file *file, pfd_bytes *out, pfd_error *err)
{
    const reading self = {args, row, file};
    /* O_NONBLOCK: opening a FIFO would wait for its writer. */
    int fd = openat(file->folder, file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return fail_errno(&self, "opened", errno, err);
    pfd_status status = read_all(&self, fd, out, err);
    close(fd);
    if (status == PFD_OK)
        atomic_fetch_add_explicit(pfd_input_file_of(file->counted)->bytes_read, out->size,
                                  memory_order_relaxed);
    return status;
}

int64_t pfd_whole_file_size(int folder, const char *path)
{
    struct stat st;
    return fstatat(folder, path, &st, 0) == 0 && S_ISREG(st.st_mode) ? st.st_size : 0;
}

int64_t pfd_whole_files_mean(int64_t n, int64_t (*size_of)(void *ctx, int64_t i), void *ctx)
{
    enum { most = 16 };
    int64_t some = n < most ? n : most, bytes = 0;
    for (int64_t i = 0; i < some; i++) bytes += size_of(ctx, i * (n / some));
    return some > 0 ? bytes / some : 0;
}
