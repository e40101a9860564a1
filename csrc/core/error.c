/* Writing a pfd_error. */
#include "core/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    bytes_of_1_0 = offsetof(pfd_error, reason),
    most_bytes = 4096 /* that a pfd_error will ever have; more means uninitialised memory */
};

/* Whether *err has the fields that came with 1.1.  Plugins of 1.0 left struct_size to the host. */
static int32_t has_fields_of_1_1(const pfd_error *err)
{
    return err->struct_size >= sizeof *err && err->struct_size <= most_bytes;
}

void pfd_error_init(pfd_error *err)
{
    err->struct_size = sizeof *err;
    pfd_error_clear(err);
}

void pfd_error_clear(pfd_error *err)
{
    err->status = PFD_OK;
    err->row = err->byte = err->line = err->ordinal = -1;
    err->op[0] = err->file[0] = err->message[0] = '\0';
    if (!has_fields_of_1_1(err)) {
        err->struct_size = bytes_of_1_0;
        return;
    }
    err->reason = PFD_REASON_NONE;
    err->reserved = 0;
    err->records = -1;
    err->cause = 0;
    err->attr[0] = '\0';
}

void pfd_error_copy(pfd_error *to, const pfd_error *from)
{
    enum { begin = offsetof(pfd_error, status) };
    int32_t is_whole = has_fields_of_1_1(from) && has_fields_of_1_1(to);
    pfd_error_clear(to);
    memcpy((char *)to + begin, (const char *)from + begin,
           (is_whole ? sizeof *to : bytes_of_1_0) - begin);
}

pfd_status pfd_error_set_reason(pfd_error *err, int32_t reason)
{
    if (has_fields_of_1_1(err)) err->reason = reason;
    return err->status;
}

pfd_status pfd_error_set_records(pfd_error *err, int64_t records)
{
    if (has_fields_of_1_1(err)) err->records = records;
    return err->status;
}

static int32_t reason_of(const pfd_error *err)
{
    return has_fields_of_1_1(err) ? err->reason : PFD_REASON_NONE;
}

int32_t pfd_error_can_pass(pfd_status status, const pfd_error *err)
{
    return status == PFD_CORRUPT_DATA && reason_of(err) == PFD_REASON_NONE;
}

static pfd_status fail(pfd_error *err, pfd_status status, const char *format, va_list args)
{
    pfd_error_clear(err);
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

/* Not a part of pfd_check_returned(), which each range calls: it takes much of the stack. */
__attribute__((noinline)) static pfd_status fail_returned(pfd_status status, const char *function,
                                                          pfd_error *err)
{
    char said[200];
    snprintf(said, sizeof said, "%.190s", err->status == PFD_OK ? "nothing" : err->message);
    return pfd_fail(err, PFD_INTERNAL,
                    "%s() returned status %d and reported: %s; it must return PFD_OK, or what "
                    "host->fail() returned",
                    function, status, said);
}

pfd_status pfd_check_returned(pfd_status status, const char *function, pfd_error *err)
{
    if (status == err->status && status <= PFD_OK) return status;
    return fail_returned(status, function, err);
}

pfd_status pfd_fail_memory(pfd_error *err, int64_t bytes, const char *what)
{
    return pfd_fail(err, PFD_OUT_OF_MEMORY, "no memory for %s (%" PRId64 " bytes)", what, bytes);
}

/* The ends of a path say more than its middle. */
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
    va_list args;
    va_start(args, format);
    (void)fail(err, PFD_IO, format, args);
    va_end(args);
    pfd_error_set_file(err, path);
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

pfd_status pfd_error_set_attr(pfd_error *err, const char *attr)
{
    if (has_fields_of_1_1(err)) (void)snprintf(err->attr, sizeof err->attr, "%s", attr);
    return err->status;
}

pfd_status pfd_fail_attr(pfd_error *err, const char *attr, const pfd_file *file, pfd_status status,
                         const char *format, ...)
{
    char said[sizeof err->message];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(said, sizeof said, format, args);
    va_end(args);
    /* Ops of other libraries may leave the blank out; some texts of this one begin with a colon. */
    const char *blank = said[0] && !strchr(" :,;=", said[0]) ? " " : "";
    (void)pfd_fail(err, status, "attr '%.64s'%s%s", attr, blank, said);
    if (file) pfd_error_set_file(err, file->path);
    return pfd_error_set_attr(err, attr);
}
