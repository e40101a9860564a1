/* Looks at the beginning of each text file, until the first LF. */
#include "sources/text_check.h"

#include "core/error.h"
#include "core/scratch.h"
#include "files/file_read.h"
#include "sources/text_head.h"

#include <string.h>

enum {
    some_bytes = 64 * 1024,  /* that are looked at where there is neither CR nor LF */
    most_bytes = 16 << 20    /* without LF, but with CR: the output of a progress bar, say */
};

typedef struct check {
    const pfd_file *file;
    uint8_t quote; /* 0: none */
} check;

/* Whether two CR or more, outside of quotes, are followed by other text. */
static int32_t has_lone_returns(const uint8_t *text, int64_t size, uint8_t quote)
{
    int32_t found = 0, is_quoted = 0;
    for (int64_t i = 0; i < size - 1 && found < 2; i++) {
        is_quoted ^= quote && text[i] == quote;
        found += text[i] == '\r' && text[i + 1] != '\r' && !is_quoted;
    }
    return found == 2;
}

static pfd_status look(void *ctx, const uint8_t *text, int64_t size, int32_t is_end,
                       pfd_error *err)
{
    const check *self = ctx;
    if (size >= 2 && (!memcmp(text, "\xff\xfe", 2) || !memcmp(text, "\xfe\xff", 2)))
        return pfd_fail_at(err, self->file, 0, PFD_UNSUPPORTED,
                           "the file begins with the byte order mark of UTF-16, and only UTF-8 and "
                           "other encodings that keep ASCII as it is can be read; convert it, for "
                           "example by: iconv -f UTF-16 -t UTF-8");
    if (size > most_bytes) size = most_bytes;
    if (size == 0 || memchr(text, '\n', (size_t)size)) return PFD_OK;
    int32_t is_enough = is_end || size == most_bytes;
    if (!is_enough && size < some_bytes) return PFD_END;
    if (!has_lone_returns(text, size, self->quote)) return PFD_OK;
    if (!is_enough) return PFD_END;
    return pfd_fail_at(err, self->file, -1, PFD_UNSUPPORTED,
                       "lines seem to end with CR alone, as of old Macs: there are several CR and "
                       "no LF, so that all would be one record; convert the file, for example by: "
                       "tr '\\r' '\\n'");
}

static pfd_status check_file(const pfd_file *file, pfd_stream_window *window, uint8_t quote,
                             pfd_scratch *scratch, pfd_error *err)
{
    /* The scratch is not one that the op was given: a host that looks closely would refuse it. */
    static const pfd_host host = {.struct_size = sizeof host, .read = pfd_file_read};
    if (file->size == 0) return PFD_OK;
    PFD_TRY(pfd_text_file(file, window, &file, err));
    check self = {file, quote};
    pfd_status status = pfd_text_look(&host, file, 0, scratch, look, &self, err);
    if (status != PFD_CORRUPT_DATA) return status;
    pfd_error_clear(err); /* reading on to the damage reports it */
    return PFD_OK;
}

pfd_status pfd_text_check(const pfd_open_args *args, uint8_t quote, pfd_error *err)
{
    pfd_stream_window window = {0};
    pfd_scratch *scratch = pfd_scratch_create(); /* open()'s is kept until it returns */
    pfd_status status = scratch ? PFD_OK : pfd_fail_memory(err, 0, "a scratch");
    for (int64_t i = 0; i < args->num_files && status == PFD_OK; i++) {
        status = check_file(args->files[i], &window, quote, scratch, err);
        pfd_scratch_reset(scratch);
    }
    pfd_stream_window_close(&window);
    pfd_scratch_free(scratch);
    return status;
}
