/* Takes a record that could not be read for an empty one.
 *
 * group: failures
 * finding: read-failure-ignored
 * says: host->read\(\) had failed: return the */
#include "box.h"

static pfd_status faulty_at(void *source, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                            pfd_record *out, pfd_error *err)
{
    box *self = source;
    for (int64_t i = 0; i < n; i++) {
        const box_entry *entry = &self->entries[ordinals[i]];
        const uint8_t *data = (const uint8_t *)"";
        pfd_status status = self->host->read(self->files[entry->file], entry->offset, entry->size,
                                             scratch, &data, err);
        int64_t size = status == PFD_OK ? entry->size : 0;
        out[i] = (pfd_record){data, size, entry->offset, ordinals[i], entry->file, 0};
    }
    return PFD_OK;
}

#define BOX_AT faulty_at
#include "box_plugin.h"
