/* The first bytes of a file as text. */
#include "parse/text_probe.h"

#include <string.h>

enum { looked_at = 4096 };

int32_t pfd_is_text(const uint8_t *data, int64_t size)
{
    if (size == 0 || memchr(data, 0, (size_t)size)) return 0;
    for (int64_t i = 0; i < size && i < looked_at; i++)
        if (data[i] < '\t') return 0;
    return 1;
}

static int32_t is_blank(const uint8_t *line, int64_t size)
{
    while (size > 0 &&
           (line[size - 1] == ' ' || (line[size - 1] >= '\t' && line[size - 1] <= '\r')))
        size--;
    return size == 0;
}

pfd_text_lines pfd_text_lines_of(const pfd_probe_args *args, int64_t most)
{
    const uint8_t *data = args->data;
    int64_t size = args->size;
    if (size > 0 && size != args->file_size) {
        const uint8_t *last = memrchr(data, '\n', (size_t)size);
        int32_t has_two = last && memchr(data, '\n', (size_t)(last - data));
        if (has_two) size = last - data;
    }
    return (pfd_text_lines){data, data + size, most};
}

int32_t pfd_text_lines_next(pfd_text_lines *lines, const uint8_t **line, int64_t *size)
{
    while (lines->at < lines->end && lines->left-- > 0) {
        const uint8_t *begin = lines->at;
        const uint8_t *newline = memchr(begin, '\n', (size_t)(lines->end - begin));
        lines->at = newline ? newline + 1 : lines->end;
        *line = begin;
        *size = (newline ? newline : lines->end) - begin;
        if (!is_blank(*line, *size)) return 1;
    }
    return 0;
}

const char *pfd_marked_encoding(const uint8_t *data, int64_t size)
{
    /* That of UTF-32 in little endian begins with that of UTF-16. */
    if (size >= 4 && (!memcmp(data, "\xff\xfe\0\0", 4) || !memcmp(data, "\0\0\xfe\xff", 4)))
        return "UTF-32";
    if (size >= 2 && (!memcmp(data, "\xff\xfe", 2) || !memcmp(data, "\xfe\xff", 2)))
        return "UTF-16";
    return NULL;
}

const char *pfd_unmarked_encoding(const uint8_t *data, int64_t size)
{
    enum { least = 8, most = 64 };
    if (size < least) return NULL;
    int64_t end = (size < most ? size : most) & ~INT64_C(1);
    int64_t nul = data[0] == 0 ? 0 : 1; /* the place of it in each pair */
    for (int64_t i = 0; i < end; i += 2) {
        uint8_t letter = data[i + 1 - nul];
        int32_t is_letter = letter >= ' ' || (letter >= '\t' && letter <= '\r');
        if (data[i + nul] != 0 || !is_letter) return NULL;
    }
    return nul == 0 ? "UTF-16BE" : "UTF-16LE";
}
