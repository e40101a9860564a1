/* Unpacks each record into a buffer of the source, for all threads.
 *
 * group: threads
 * finding: threads-differ
 * says: several threads
 * likely: a field of the source that at\(\) or compute\(\) writes */
#include "box.h"

typedef struct unpacking {
    box box; /* first, so that the functions of box.h take it */
    uint8_t values[BOX_WIDTH];
} unpacking;

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    unpacking *self = (unpacking *)(uintptr_t)args->source;
    for (int64_t row = 0; row < args->num_rows; row++) {
        const pfd_record *record = &args->records[row];
        PFD_TRY(box_verify(args, row, err));
        box_write(args, row);
        memset(self->values, 0, BOX_WIDTH);
        memcpy(self->values, record->data + 4, (size_t)record->size - 4);
        memcpy(args->outputs[0]->data + row * BOX_WIDTH, self->values, BOX_WIDTH);
    }
    return PFD_OK;
}

static pfd_status faulty_open(const pfd_open_args *args, pfd_source *out, pfd_error *err);

#define BOX_COMPUTE faulty_compute
#define BOX_OPEN faulty_open
#include "box_plugin.h"

static pfd_status faulty_open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    PFD_TRY(box_open_with(args, out, &box_methods, box_index_file, err));
    out->self = realloc(out->self, sizeof(unpacking));
    return out->self ? PFD_OK : args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory");
}
