/* Files that are one sample each: opened, read and closed. */
#include "sources/whole_file.h"

#include "core/system_calls.h"
#include "files/file_read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct sample_reading {
    const pfd_compute_args *args;
    int64_t row;
    const pfd_whole_file *file;
} sample_reading;

static const char *shown_name(const sample_reading *self)
{
    return self->file->shown ? self->file->shown : "the file";
}

/* What a folder listed was there. */
static pfd_status fail_changed(const sample_reading *self, const char *now, pfd_error *err)
{
    return self->args->host->fail_row(err, self->row, -1, PFD_IO,
                                      "%.400s changed while open: it was there when the reader "
                                      "opened, and now %s", shown_name(self), now);
}

static pfd_status fail_sample(const sample_reading *self, const char *what, pfd_error *err)
{
    return self->args->host->fail_row(err, self->row, -1, PFD_CORRUPT_DATA, "%.400s %s",
                                      shown_name(self), what);
}

static pfd_status fail_sample_errno(const sample_reading *self, const char *what, int reason,
                                    pfd_error *err)
{
    char now[160];
    pfd_status status = pfd_status_of_errno(reason);
    (void)snprintf(now, sizeof now, "it cannot be %s: %s", what, strerror(reason));
    if (status == PFD_CORRUPT_DATA && self->file->is_listed) return fail_changed(self, now, err);
    (void)self->args->host->fail_row(err, self->row, -1, status,
                                     "%.400s cannot be %s: %s", shown_name(self), what,
                                     strerror(reason));
    return pfd_error_set_errno(err, reason);
}

static pfd_status fail_sample_memory(const sample_reading *self, int64_t bytes, pfd_error *err)
{
    return self->args->host->fail_row(err, self->row, -1, PFD_OUT_OF_MEMORY,
                                      "no memory for the %" PRId64 " bytes of %.400s", bytes,
                                      shown_name(self));
}

/* The bytes are those of one moment only if nothing changed from their first to their last. */
static pfd_status check_sample(const sample_reading *self, int fd, const struct stat *before,
                               int64_t got, pfd_error *err)
{
    struct stat st;
    if (pfd_sys_fstat(pfd_scratch_bounds(self->args->scratch), fd, &st) != 0)
        return fail_sample_errno(self, "examined", errno, err);
    if (got == before->st_size && pfd_is_unchanged(before, &st)) return PFD_OK;
    return self->args->host->fail_row(err, self->row, -1, PFD_IO,
                                      "%.400s changed while it was read", shown_name(self));
}

static pfd_status compare_sample(const sample_reading *self, const pfd_bytes *data, pfd_error *err)
{
    pfd_error found = {.struct_size = sizeof found};
    const pfd_input_file *counted = pfd_input_file_of(self->file->counted);
    if (!counted->methods->check_member) return PFD_OK;
    if (counted->methods->check_member(counted, self->file->path, *data, &found) == PFD_OK)
        return PFD_OK;
    return self->args->host->fail_row(err, self->row, -1, PFD_CORRUPT_DATA, "%.400s: %s",
                                      shown_name(self), found.message);
}

static pfd_status read_sample(const sample_reading *self, int fd, pfd_bytes *out, pfd_error *err)
{
    const pfd_bounds *bounds = pfd_scratch_bounds(self->args->scratch);
    struct stat st;
    if (pfd_sys_fstat(bounds, fd, &st) != 0) return fail_sample_errno(self, "examined", errno, err);
    if (!S_ISREG(st.st_mode))
        return self->file->is_listed ? fail_changed(self, "it is no regular file", err)
                                     : fail_sample(self, "is no regular file", err);
    if (st.st_size == 0) return fail_sample(self, "is empty", err);
    uint8_t *data = self->args->host->alloc(self->args->scratch, st.st_size);
    if (!data) return fail_sample_memory(self, st.st_size, err);
    *out = (pfd_bytes){data, st.st_size};
    int reason;
    int64_t got = pfd_sys_read(bounds, fd, 0, st.st_size, data, &reason);
    if (reason) return fail_sample_errno(self, "read", reason, err);
    PFD_TRY(check_sample(self, fd, &st, got, err));
    return compare_sample(self, out, err);
}

pfd_status pfd_whole_file_read(const pfd_compute_args *args, int64_t row,
                               const pfd_whole_file *file, pfd_bytes *out, pfd_error *err)
{
    const sample_reading self = {args, row, file};
    /* O_NONBLOCK: opening a FIFO would wait for its writer. */
    int fd = pfd_sys_open(pfd_scratch_bounds(args->scratch), file->folder, file->path, O_NONBLOCK);
    if (fd < 0) return fail_sample_errno(&self, "opened", errno, err);
    pfd_status status = read_sample(&self, fd, out, err);
    close(fd);
    if (status == PFD_OK)
        atomic_fetch_add_explicit(pfd_input_file_of(file->counted)->bytes_read, out->size,
                                  memory_order_relaxed);
    return status;
}

int64_t pfd_whole_file_size(int folder, const char *path)
{
    struct stat st;
    int found = pfd_sys_stat(NULL, folder, path, &st) == 0 && S_ISREG(st.st_mode);
    return found ? st.st_size : 0;
}

int64_t pfd_whole_files_mean(int64_t n, int64_t (*size_of)(void *ctx, int64_t i), void *ctx)
{
    enum { most = 16 };
    int64_t some = n < most ? n : most, bytes = 0;
    for (int64_t i = 0; i < some; i++) bytes += size_of(ctx, i * (n / some));
    return some > 0 ? bytes / some : 0;
}
