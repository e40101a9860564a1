/* Finds the reader of a file, and asks its source. */
#include "loader/plan/record_places.h"

#include "core/error.h"

#include <inttypes.h>

/* The reader that has a file; *file becomes its number there. */
static const pfd_data_reader *reader_of(const pfd_data_reader *reader, int64_t *file)
{
    for (int32_t i = 0; i < reader->num_leaves; i++) {
        const pfd_data_reader *leaf = &reader->leaves[i];
        if (*file < leaf->num_files || i == reader->num_leaves - 1) return leaf;
        *file -= leaf->num_files;
    }
    return reader;
}

const char *pfd_record_file(const pfd_data_reader *reader, int64_t file)
{
    int64_t n = 0;
    const pfd_data_reader *own = reader_of(reader, &file);
    const pfd_file *const *files = own->files ? pfd_input_files_list(own->files, &n) : NULL;
    return file >= 0 && file < n ? files[file]->path : NULL;
}

static pfd_status record_at(const pfd_data_reader *own, int64_t ordinal, pfd_scratch *scratch,
                            pfd_record *record, pfd_error *err)
{
    pfd_scratch_reset(scratch);
    pfd_scratch_set_bounds(scratch, own->bounds);
    pfd_error_clear(err);
    return own->source->methods->at(own->source, 0, &ordinal, 1, scratch, record, err);
}

/* The first ordinal in [0, end) whose record is in `file` or after it. */
static pfd_status search(const pfd_data_reader *own, int64_t file, int64_t end,
                         pfd_scratch *scratch, int64_t *ordinal, pfd_error *err)
{
    int64_t begin = 0;
    while (begin < end) {
        pfd_record record;
        const int64_t middle = begin + (end - begin) / 2;
        PFD_TRY(record_at(own, middle, scratch, &record, err));
        if (record.file < file)
            begin = middle + 1;
        else
            end = middle;
    }
    *ordinal = begin;
    return PFD_OK;
}

pfd_status pfd_record_first(const pfd_data_reader *reader, int64_t file, int64_t *ordinal,
                            pfd_error *err)
{
    const pfd_data_reader *own = reader_of(reader, &file);
    if (file < 0 || file >= own->num_files || !own->source || own->num_records < 0)
        return pfd_fail(err, PFD_INVALID_ARGUMENT, "there is no file %" PRId64, file);
    pfd_scratch *scratch = pfd_scratch_create();
    if (!scratch) return pfd_fail_memory(err, 0, "a scratch");
    pfd_status status = search(own, file, own->num_records, scratch, ordinal, err);
    pfd_scratch_free(scratch);
    return status;
}

pfd_status pfd_record_locate(const pfd_data_reader *reader, int64_t file, int64_t ordinal,
                             pfd_error *place)
{
    const pfd_data_reader *own = reader_of(reader, &file);
    if (!own->source || ordinal < 0 || ordinal >= own->num_records)
        return pfd_fail(place, PFD_INVALID_ARGUMENT, "there is no record %" PRId64, ordinal);
    pfd_record record;
    pfd_scratch *scratch = pfd_scratch_create();
    if (!scratch) return pfd_fail_memory(place, 0, "a scratch");
    pfd_status status = record_at(own, ordinal, scratch, &record, place);
    if (status == PFD_OK) pfd_data_reader_locate(own, &record, place);
    pfd_scratch_free(scratch);
    return status;
}
