/* Newlines before each megabyte of a file, counted when they are first needed. */
#include "sources/line_numbers.h"

#include "core/scratch.h"
#include "files/file_read.h"

#include <pthread.h>
#include <stdlib.h>

enum { BLOCK = 1 << 20 };

typedef struct counted {
    int64_t *before; /* before[i]: newlines before block i; before[0] is 0 */
    int64_t blocks;  /* so many are known */
} counted;

struct pfd_line_numbers {
    pthread_mutex_t lock; /* for `files` */
    const pfd_file *const *texts;
    const pfd_newline_scan *scan;
    int64_t num_files;
    counted files[];
};

pfd_line_numbers *pfd_line_numbers_create(const pfd_file *const *files, int64_t num_files,
                                          const pfd_newline_scan *scan)
{
    pfd_line_numbers *numbers =
        calloc(1, sizeof *numbers + (size_t)num_files * sizeof *numbers->files);
    if (!numbers) return NULL;
    pthread_mutex_init(&numbers->lock, NULL);
    numbers->texts = files;
    numbers->scan = scan;
    numbers->num_files = num_files;
    return numbers;
}

void pfd_line_numbers_free(pfd_line_numbers *numbers)
{
    if (!numbers) return;
    for (int64_t i = 0; i < numbers->num_files; i++) free(numbers->files[i].before);
    pthread_mutex_destroy(&numbers->lock);
    free(numbers);
}

/* The newlines of [begin, end) of a file, a block at most; -1: they cannot be read. */
static int64_t count(const pfd_line_numbers *numbers, const pfd_file *file, int64_t begin,
                     int64_t end)
{
    pfd_error err;
    const uint8_t *text;
    int64_t newlines = -1;
    pfd_scratch *scratch = pfd_scratch_create();
    if (scratch && pfd_file_read(file, begin, end - begin, scratch, &text, &err) == PFD_OK)
        newlines = numbers->scan->count(text, end - begin);
    pfd_scratch_free(scratch);
    return newlines;
}

/* The newlines before a block, or -1; lock held. */
static int64_t before_block(pfd_line_numbers *numbers, int64_t file, int64_t block)
{
    counted *known = &numbers->files[file];
    if (!known->before) {
        int64_t most = numbers->texts[file]->size / BLOCK + 1;
        known->before = calloc((size_t)most, sizeof *known->before);
        if (!known->before) return -1;
        known->blocks = 1;
    }
    for (; known->blocks <= block; known->blocks++) {
        int64_t last = known->blocks - 1;
        int64_t more = count(numbers, numbers->texts[file], last * BLOCK, (last + 1) * BLOCK);
        if (more < 0) return -1;
        known->before[known->blocks] = known->before[last] + more;
    }
    return known->before[block];
}

int64_t pfd_line_numbers_of(pfd_line_numbers *numbers, int64_t file, int64_t offset)
{
    int64_t block = offset / BLOCK;
    pthread_mutex_lock(&numbers->lock);
    int64_t before = before_block(numbers, file, block);
    pthread_mutex_unlock(&numbers->lock);
    int64_t inside = count(numbers, numbers->texts[file], block * BLOCK, offset);
    return before < 0 || inside < 0 ? -1 : 1 + before + inside;
}
