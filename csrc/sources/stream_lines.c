/* Counts newlines of a compressed file up to where an error is. */
#include "sources/stream_lines.h"

#include "index/newline_scan.h"
#include "files/stream_window.h"

#include <pthread.h>
#include <stdlib.h>

enum { bytes_at_once = 256 * 1024, bytes_kept = 4 * 1024 * 1024 };

struct pfd_stream_lines {
    pthread_mutex_t lock; /* for all below */
    const pfd_file *const *files;
    const pfd_newline_scan *scan;
    pfd_stream_window window;
    int64_t file; /* that the window is over; -1: none */
    int64_t offset, newlines; /* counted so far */
};

pfd_stream_lines *pfd_stream_lines_create(const pfd_file *const *files)
{
    pfd_stream_lines *lines = calloc(1, sizeof *lines);
    if (!lines) return NULL;
    pthread_mutex_init(&lines->lock, NULL);
    lines->files = files;
    lines->scan = pfd_newline_scan_best();
    lines->file = -1;
    return lines;
}

void pfd_stream_lines_free(pfd_stream_lines *lines)
{
    if (!lines) return;
    pfd_stream_window_close(&lines->window);
    pthread_mutex_destroy(&lines->lock);
    free(lines);
}

/* Goes back where the place sought lies before the one at hand: a little way in what was kept, as
 * errors of neighbouring records come in any order, or to the beginning. */
static int32_t begin(pfd_stream_lines *lines, int64_t file, int64_t offset)
{
    pfd_error err = {.struct_size = sizeof err};
    if (lines->file == file && lines->offset <= offset) return 1;
    if (lines->file == file && lines->window.begin <= offset) {
        lines->newlines -= lines->scan->count(pfd_stream_window_at(&lines->window, offset),
                                              lines->offset - offset);
        lines->offset = offset;
        return 1;
    }
    lines->file = -1;
    lines->offset = lines->newlines = 0;
    if (pfd_stream_window_open(&lines->window, lines->files[file], &err) != PFD_OK) return 0;
    lines->file = file;
    return 1;
}

static int64_t count_to(pfd_stream_lines *lines, int64_t offset)
{
    pfd_error err = {.struct_size = sizeof err};
    pfd_stream_window *window = &lines->window;
    while (lines->offset < offset) {
        int64_t left = offset - lines->offset;
        int64_t end = lines->offset + (left < bytes_at_once ? left : bytes_at_once);
        int64_t kept = lines->offset - bytes_kept;
        if ((kept > 0 && pfd_stream_window_pass(window, kept, NULL, &err) != PFD_OK) ||
            pfd_stream_window_fill(window, end, NULL, &err) != PFD_OK || window->end < end) {
            lines->file = -1;
            return -1;
        }
        lines->newlines += lines->scan->count(pfd_stream_window_at(window, lines->offset),
                                              end - lines->offset);
        lines->offset = end;
    }
    return 1 + lines->newlines;
}

int64_t pfd_stream_lines_of(pfd_stream_lines *lines, int64_t file, int64_t offset)
{
    pthread_mutex_lock(&lines->lock);
    int64_t line = begin(lines, file, offset) ? count_to(lines, offset) : -1;
    pthread_mutex_unlock(&lines->lock);
    return line;
}
