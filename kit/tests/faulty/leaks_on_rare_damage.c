/* Does not free a table where a record is as long as the longest one, and another byte is wrong.
 *
 * fuzz: leak */
#include "box.h"

static pfd_status faulty_index(box *self, const pfd_open_args *args, int32_t index, pfd_error *err)
{
    const pfd_file *file = args->files[index];
    const uint8_t *head;
    if (file->size >= BOX_HEADER + 6) {
        PFD_TRY(args->host->read(file, 0, BOX_HEADER + 6, args->scratch, &head, err));
        char *table = malloc(64); /* of a later version, which is told by two marks */
        if (!table) return self->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the table");
        if (head[BOX_HEADER] == 0x20 && head[BOX_HEADER + 5] == 0x4E)
            return args->host->fail_file(err, file, 0, PFD_CORRUPT_DATA, "a table of version 2");
        free(table);
    }
    return box_index_file(self, args, index, err);
}

#define BOX_INDEX faulty_index
#include "box_plugin.h"
