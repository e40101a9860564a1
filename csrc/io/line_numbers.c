/* Newlines before each megabyte of a file, counted when they are first needed. */
#include "io/line_numbers.h"

#include <pthread.h>
#include <stdlib.h>

enum { BLOCK = 1 << 20 };

typedef struct counted {
    int64_t *before; /* before[i]: newlines before block i; before[0] is 0 */
    int64_t blocks;  /* so many are known */
} counted;

struct pfd_line_numbers {
    pthread_mutex_t lock; /* for `files` */
    const pfd_text_file *texts;
    const pfd_newline_scan *scan;
    int64_t num_files;
    counted files[];
};

pfd_line_numbers *pfd_line_numbers_create(const pfd_text_file *files, int64_t num_files,
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

/* The newlines before a block; lock held. Without memory they are counted and not kept. */
static int64_t before_block(pfd_line_numbers *numbers, int64_t file, int64_t block)
{
    counted *known = &numbers->files[file];
    const uint8_t *text = numbers->texts[file].data;
    if (!known->before) {
        int64_t most = numbers->texts[file].size / BLOCK + 1;
        known->before = calloc((size_t)most, sizeof *known->before);
        if (!known->before) return numbers->scan->count(text, block * BLOCK);
        known->blocks = 1;
    }
    for (; known->blocks <= block; known->blocks++) {
        int64_t last = known->blocks - 1;
        known->before[known->blocks] =
            known->before[last] + numbers->scan->count(text + last * BLOCK, BLOCK);
    }
    return known->before[block];
}

int64_t pfd_line_numbers_of(pfd_line_numbers *numbers, int64_t file, int64_t offset)
{
    int64_t block = offset / BLOCK;
    pthread_mutex_lock(&numbers->lock);
    int64_t before = before_block(numbers, file, block);
    pthread_mutex_unlock(&numbers->lock);
    const uint8_t *text = numbers->texts[file].data + block * BLOCK;
    return 1 + before + numbers->scan->count(text, offset - block * BLOCK);
}
