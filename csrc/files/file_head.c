/* The decompressed prefix of a file, for probing its format. */
#include "pyflowdata/pyflowdata.h"

#include "core/error.h"
#include "files/compression.h"
#include "files/input_files.h"

static pfd_status read_head(const pfd_file *file, int32_t compression, uint8_t *data, int64_t room,
                            int64_t *size, pfd_error *damage, pfd_error *err)
{
    pfd_inflater *from;
    PFD_TRY(pfd_inflater_open(file, compression, &from, err));
    pfd_status status = PFD_OK;
    int64_t got = 1;
    for (*size = 0; status == PFD_OK && got > 0 && *size < room; *size += got)
        status = pfd_inflater_read(from, NULL, data + *size, room - *size, &got, damage);
    pfd_inflater_close(from);
    if (status == PFD_OK || status == PFD_CORRUPT_DATA) return PFD_OK;
    pfd_error_copy(err, damage);
    return status;
}

pfd_status pfd_file_head(const char *path, uint8_t *data, int64_t room, int64_t *size,
                         int64_t *file_size, const char **compression, pfd_error *damage,
                         pfd_error *err)
{
    pfd_error_clear(damage);
    pfd_input_files *files;
    char *paths[] = {(char *)(uintptr_t)path}; /* copied, never written */
    PFD_TRY(pfd_input_files_open(paths, 1, PFD_FILE_ACCESS_READ, PFD_COMPRESSION_AUTO, &files,
                                 err));
    int64_t n, found = 0;
    const pfd_file *file = pfd_input_files_list(files, &n)[0];
    int32_t is = pfd_file_compression(file);
    pfd_status status = read_head(file, is, data, room, &found, damage, err);
    if (status == PFD_OK) {
        *size = found;
        *file_size = file->size;
        *compression = pfd_compression_name(is);
    }
    pfd_input_files_close(files);
    return status;
}
