/* Finds records and fields with quotes, byte by byte. */
#include "formats/csv/csv_scan.h"

#include <string.h>

/* ---- Records --------------------------------------------------------------------------------- */
/* Whether a line is blank: it has only spaces and tabs, and none of these is the delimiter. */
static int32_t is_blank(const pfd_csv_format *format, const uint8_t *text, int64_t size)
{
    for (int64_t i = 0; i < size; i++) {
        int blank = text[i] == '\r' || text[i] == ' ' || text[i] == '\t';
        if (!blank || text[i] == format->delimiter) return 0;
    }
    return 1;
}

/* Returns the place of the newline that ends the record at `text`, or `size` if there is none.
 * *open is the place of a quote that is not closed before it, or -1. */
static int64_t find_quoted_end(const pfd_csv_format *format, const uint8_t *text, int64_t size,
                               int64_t *open)
{
    int64_t at = 0;
    *open = -1;
    while (at < size) {
        if (text[at] == format->quote) { /* the field's first byte */
            int closed = 0;
            for (*open = at++; at < size && !closed;) {
                const uint8_t *quote = memchr(text + at, format->quote, (size_t)(size - at));
                if (!quote) return size;
                at = quote + 1 - text;
                closed = at == size || text[at] != format->quote;
                if (!closed) at++;
            }
            if (!closed) return size;
            *open = -1;
        }
        while (at < size && text[at] != format->delimiter && text[at] != '\n') at++;
        if (at == size || text[at] == '\n') return at;
        at++;
    }
    return size;
}

static int32_t is_comment(const pfd_csv_format *format, const uint8_t *text, int64_t size)
{
    int64_t bytes = (int64_t)strlen(format->comment);
    return bytes > 0 && size >= bytes && !memcmp(text, format->comment, (size_t)bytes);
}

int32_t pfd_csv_scan(const pfd_csv_format *format, const uint8_t *text, int64_t size,
                     int32_t is_end, pfd_csv_extent *out)
{
    const uint8_t *newline = memchr(text, '\n', (size_t)size);
    if (!newline && !is_end) return 0;
    int64_t end = newline ? newline - text : size, open = -1;
    out->is_record = !is_comment(format, text, end) && !is_blank(format, text, end);
    if (out->is_record && format->multiline && format->quote != format->delimiter &&
        memchr(text, format->quote, (size_t)end)) {
        end = find_quoted_end(format, text, size, &open);
        if (end == size && !is_end) return 0;
    }
    out->open_quote = open;
    out->next = end < size ? end + 1 : size;
    out->size = end - (end > 0 && text[end - 1] == '\r');
    return 1;
}

/* ---- Fields ---------------------------------------------------------------------------------- */
static int32_t next_quoted(const pfd_csv_format *format, const uint8_t *text, int64_t size,
                           int64_t *at, pfd_csv_field *out)
{
    int64_t begin = *at + 1, from = begin;
    *out = (pfd_csv_field){.begin = begin, .is_quoted = 1};
    for (;;) {
        const uint8_t *quote =
            from < size ? memchr(text + from, format->quote, (size_t)(size - from)) : NULL;
        if (!quote) return PFD_CSV_NOT_CLOSED;
        from = quote + 1 - text;
        if (from == size || text[from] != format->quote) break;
        out->has_escapes = 1;
        from++;
    }
    out->end = from - 1;
    *at = from;
    if (from == size) return PFD_CSV_LAST_FIELD;
    if (text[from] != format->delimiter) return PFD_CSV_AFTER_QUOTE;
    *at = from + 1;
    return PFD_CSV_FIELD;
}

int32_t pfd_csv_next_field(const pfd_csv_format *format, const uint8_t *text, int64_t size,
                           int64_t *at, pfd_csv_field *out)
{
    int32_t has_quotes = format->quote != format->delimiter;
    if (has_quotes && *at < size && text[*at] == format->quote)
        return next_quoted(format, text, size, at, out);
    int64_t end = *at;
    while (end < size && text[end] != format->delimiter && text[end] != format->quote) end++;
    *out = (pfd_csv_field){.begin = *at, .end = end};
    *at = end;
    if (end == size) return PFD_CSV_LAST_FIELD;
    if (has_quotes && text[end] == format->quote) return PFD_CSV_STRAY_QUOTE;
    *at = end + 1;
    return PFD_CSV_FIELD;
}

int64_t pfd_csv_unescape(const pfd_csv_format *format, const uint8_t *text,
                         const pfd_csv_field *field, uint8_t *out)
{
    int64_t bytes = 0;
    for (int64_t i = field->begin; i < field->end; i++) {
        out[bytes++] = text[i];
        if (field->has_escapes && text[i] == format->quote) i++;
    }
    return bytes;
}
