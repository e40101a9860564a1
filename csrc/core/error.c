/* Filling in a pfd_error. */
#include "core/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void pfd_error_init(pfd_error *err)
{
    err->struct_size = sizeof *err;
    err->status = PFD_OK;
    err->row = err->byte = err->line = err->ordinal = -1;
    err->op[0] = err->file[0] = err->message[0] = '\0';
}

static pfd_status fail(pfd_error *err, pfd_status status, const char *format, va_list args)
{
    pfd_error_init(err);
    err->status = status;
    (void)vsnprintf(err->message, sizeof err->message, format, args);
    return status;
}

pfd_status pfd_fail(pfd_error *err, pfd_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fail(err, status, format, args);
    va_end(args);
    return status;
}

pfd_status pfd_fail_row(pfd_error *err, int64_t row, int64_t byte, pfd_status status,
                        const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fail(err, status, format, args);
    va_end(args);
    err->row = row;
    err->byte = byte;
    return status;
}

pfd_status pfd_check_returned(pfd_status status, const char *function, pfd_error *err)
{
    if (status == err->status && status <= PFD_OK) return status;
    char said[200];
    snprintf(said, sizeof said, "%.190s", err->status == PFD_OK ? "nothing" : err->message);
    return pfd_fail(err, PFD_INTERNAL,
                    "%s() returned status %d and reported: %s; it must return PFD_OK, or what "
                    "host->fail() returned",
                    function, status, said);
}

pfd_status pfd_fail_memory(pfd_error *err, int64_t bytes, const char *what)
{
    return pfd_fail(err, PFD_OUT_OF_MEMORY, "no memory for %s (%" PRId64 " bytes)", what, bytes);
}

/* Both ends of a path tell more than its middle. */
static void copy_shortened(char *out, size_t capacity, const char *text)
{
    size_t size = strlen(text);
    if (size < capacity) {
        memcpy(out, text, size + 1);
        return;
    }
    static const char gap[] = "...";
    size_t head = (capacity - sizeof gap) / 2;
    size_t tail = capacity - sizeof gap - head;
    memcpy(out, text, head);
    memcpy(out + head, gap, sizeof gap - 1);
    memcpy(out + head + sizeof gap - 1, text + size - tail, tail + 1);
}

void pfd_error_set_op(pfd_error *err, const char *op)
{
    copy_shortened(err->op, sizeof err->op, op);
}

void pfd_error_set_file(pfd_error *err, const char *path)
{
    copy_shortened(err->file, sizeof err->file, path);
}

pfd_status pfd_fail_file(pfd_error *err, const char *path, const char *format, ...)
{
    pfd_error_init(err);
    err->status = PFD_IO;
    pfd_error_set_file(err, path);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return PFD_IO;
}

pfd_status pfd_fail_at(pfd_error *err, const pfd_file *file, int64_t byte, pfd_status status,
                       const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fail(err, status, format, args);
    va_end(args);
    pfd_error_set_file(err, file->path);
    err->byte = byte;
    return status;
}
