/* Walks through the lines of a file, mapped or not. */
#include "sources/text_walk.h"

#include "core/error.h"
#include "files/file_read.h"

#include <string.h>

enum { lines_at_once = 256, largest_window = 1024 * 1024 };

pfd_text_walk pfd_text_walk_begin(const pfd_newline_scan *scan, const pfd_file *file,
                                  pfd_scratch *scratch, int64_t offset, int64_t bytes)
{
    pfd_text_walk walk = {.scan = scan, .file = file, .scratch = scratch, .at = offset};
    walk.text = pfd_file_data(file);
    walk.end = walk.text ? file->size : 0;
    walk.window_bytes = bytes < largest_window ? bytes : largest_window;
    return walk;
}

/* Reads whole lines from `at` on, at least one, or the rest of the file. */
static pfd_status read_window(pfd_text_walk *walk, pfd_error *err)
{
    for (int64_t bytes = walk->window_bytes;; bytes *= 4) {
        int64_t left = walk->file->size - walk->at, size = left < bytes ? left : bytes;
        const uint8_t *text;
        PFD_TRY(pfd_file_read(walk->file, walk->at, size, walk->scratch, &text, err));
        const uint8_t *newline = size < left ? memrchr(text, '\n', (size_t)size) : NULL;
        if (size < left && !newline) continue; /* a line longer than that */
        walk->text = text;
        walk->begin = walk->at;
        walk->end = walk->at + (newline ? newline + 1 - text : size);
        return PFD_OK;
    }
}

/* Makes sure that the window has text; PFD_END at the end of the file. */
static pfd_status look(pfd_text_walk *walk, pfd_error *err)
{
    if (walk->at >= walk->file->size) return PFD_END;
    return walk->at < walk->end ? PFD_OK : read_window(walk, err);
}

static const uint8_t *here(const pfd_text_walk *walk)
{
    return walk->text + (walk->at - walk->begin);
}

pfd_status pfd_text_walk_pass_line(pfd_text_walk *walk, pfd_error *err)
{
    pfd_status status = look(walk, err);
    if (status != PFD_OK) return status == PFD_END ? PFD_OK : status;
    const uint8_t *newline = memchr(here(walk), '\n', (size_t)(walk->end - walk->at));
    walk->at = newline ? walk->begin + (newline + 1 - walk->text) : walk->end;
    return PFD_OK;
}

pfd_status pfd_text_walk_skip(pfd_text_walk *walk, int64_t records, pfd_error *err)
{
    pfd_status status = PFD_OK;
    while (records > 0 && (status = look(walk, err)) == PFD_OK)
        walk->at += walk->scan->skip(here(walk), walk->end - walk->at, &records);
    return status == PFD_END ? PFD_OK : status;
}

static int is_blank(const uint8_t *data, const uint8_t *end)
{
    while (data < end && (*data == ' ' || *data == '\t' || *data == '\r')) data++;
    return data == end;
}

/* Makes a record of a line, unless it is blank. */
static inline int make_record(const uint8_t *data, int64_t size, int64_t offset, int64_t ordinal,
                              int32_t file, pfd_record *out)
{
    if (size == 0 || (*data <= ' ' && is_blank(data, data + size))) return 0;
    size -= data[size - 1] == '\r';
    *out = (pfd_record){
        .data = data, .size = size, .offset = offset, .ordinal = ordinal, .file = file};
    return 1;
}

int64_t pfd_text_walk_window(pfd_text_walk *walk, int64_t ordinal, int64_t n, pfd_record *out)
{
    uint32_t newlines[lines_at_once + PFD_SPLIT_SLACK];
    const int64_t most_bytes = INT64_C(1) << 30;
    const int32_t file = walk->file->index;
    int64_t done = 0;
    while (done < n && walk->at < walk->end) {
        const uint8_t *text = here(walk);
        int64_t left = walk->end - walk->at, first = walk->at, from = 0;
        int64_t wanted = n - done < lines_at_once ? n - done : lines_at_once;
        int64_t got =
            walk->scan->split(text, left < most_bytes ? left : most_bytes, wanted, newlines);
        for (int64_t i = 0; i < got; i++) {
            int64_t size = newlines[i] - from;
            done += make_record(text + from, size, first + from, ordinal + done, file, &out[done]);
            from += size + 1;
        }
        if (got == 0) { /* a huge line, or the last one and without newline */
            const uint8_t *newline = memchr(text, '\n', (size_t)left);
            int64_t size = newline ? newline - text : left;
            done += make_record(text, size, first, ordinal + done, file, &out[done]);
            from = size + 1;
        }
        walk->at = first + from;
    }
    return done;
}

pfd_status pfd_text_walk_read(pfd_text_walk *walk, int64_t ordinal, int64_t n, pfd_record *out,
                              int64_t *done, pfd_error *err)
{
    pfd_status status = PFD_OK;
    *done = 0;
    while (*done < n && (status = look(walk, err)) == PFD_OK)
        *done += pfd_text_walk_window(walk, ordinal + *done, n - *done, out + *done);
    return status == PFD_END ? PFD_OK : status;
}
