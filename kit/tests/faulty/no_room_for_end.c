/* Copies the longest payload into its own buffer, which has no room for the 0 at the end.
 *
 * sanitizer: asan
 * says: heap-buffer-overflow.* in copy_text\(\) at no_room_for_end.c:\d+ */
#include "box.h"

static void copy_text(char *text, const uint8_t *data, int64_t size)
{
    memcpy(text, data, (size_t)size);
    text[size] = '\0';
}

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    char *text = malloc(BOX_WIDTH);
    if (!text) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for the text");
    pfd_status status = PFD_OK;
    for (int64_t row = 0; row < args->num_rows && status == PFD_OK; row++) {
        status = box_verify(args, row, err);
        if (status != PFD_OK) break;
        copy_text(text, args->records[row].data + 4, args->records[row].size - 4);
        box_write(args, row);
    }
    free(text);
    return status;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
