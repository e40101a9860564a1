/* Looks into the file for what follows a damaged record, and does not close it.
 *
 * group: failing records
 * finding: leaks-descriptors
 * says: in which compute\(\) failed \("the checksum.* left \d+ descriptors open: close them before
 * likely: a return where the record is refused */
#include "box.h"

#include <fcntl.h>
#include <unistd.h>

static pfd_status faulty_compute(const pfd_compute_args *args, pfd_error *err)
{
    const box *self = args->source;
    for (int64_t row = 0; row < args->num_rows; row++) {
        const pfd_record *record = &args->records[row];
        pfd_status status = box_verify(args, row, err);
        if (status != PFD_OK) {
            uint8_t byte = 0;
            int fd = open(self->files[record->file]->path, O_RDONLY | O_CLOEXEC);
            if (fd >= 0 && pread(fd, &byte, 1, record->offset + record->size) == 0)
                return args->host->fail_row(err, row, 0, PFD_CORRUPT_DATA,
                                            "the checksum is another one, of the last record");
            if (fd >= 0) close(fd);
            return status;
        }
        box_write(args, row);
    }
    return PFD_OK;
}

#define BOX_COMPUTE faulty_compute
#include "box_plugin.h"
