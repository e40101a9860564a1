/* Reads the beginning of a file by its path, and makes paths beside it. */
#include "files/file_start.h"

#include "core/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pfd_status read_descriptor(const char *path, int fd, int64_t most, uint8_t **data,
                                  int64_t *size, int64_t *file_size, pfd_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return pfd_fail_file(err, path, "%s", strerror(errno));
    if (!S_ISREG(st.st_mode)) return pfd_fail_file(err, path, "this is not a regular file");
    *file_size = (int64_t)st.st_size;
    int64_t wanted = *file_size < most ? *file_size : most;
    *data = malloc(wanted ? (size_t)wanted : 1);
    if (!*data) return pfd_fail_memory(err, wanted, "the beginning of a file");
    for (*size = 0; *size < wanted;) {
        ssize_t got = pread(fd, *data + *size, (size_t)(wanted - *size), *size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return pfd_fail_file(err, path, "the file cannot be read: %s", strerror(errno));
        if (got == 0) return pfd_fail_file(err, path, "the file became shorter while it was read");
        *size += got;
    }
    return PFD_OK;
}

pfd_status pfd_file_start_read(const char *path, int64_t most, uint8_t **data, int64_t *size,
                               int64_t *file_size, pfd_error *err)
{
    *data = NULL;
    *size = *file_size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return pfd_fail_file(err, path, "the file cannot be opened: %s", strerror(errno));
    pfd_status status = read_descriptor(path, fd, most, data, size, file_size, err);
    close(fd);
    if (status == PFD_OK) return PFD_OK;
    free(*data);
    *data = NULL;
    return status;
}

int32_t pfd_file_is_there(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

char *pfd_path_beside(const char *path, const char *name, int64_t name_size)
{
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    char *out = malloc(folder + (size_t)name_size + 1);
    if (!out) return NULL;
    memcpy(out, path, folder);
    memcpy(out + folder, name, (size_t)name_size);
    out[folder + (size_t)name_size] = 0;
    return out;
}

int32_t pfd_path_is_below(const char *name, int64_t size)
{
    if (size == 0 || name[0] == '/' || memchr(name, 0, (size_t)size)) return 0;
    for (int64_t at = 0; at <= size;) {
        const char *slash = memchr(name + at, '/', (size_t)(size - at));
        int64_t end = slash ? slash - name : size;
        if (end - at == 2 && name[at] == '.' && name[at + 1] == '.') return 0;
        at = end + 1;
    }
    return 1;
}
