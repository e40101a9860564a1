/* Reads folders. */
#include "files/folder_names.h"

#include "core/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* Of texts of one length; ASCII alone, in every locale. */
static int32_t is_same(const char *a, const char *b)
{
    while (*a && lower(*a) == lower(*b)) a++, b++;
    return !*a;
}

int32_t pfd_has_suffix(const char *name, const pfd_list_string *suffixes)
{
    size_t length = strlen(name);
    for (int64_t i = 0; i < suffixes->size; i++) {
        size_t size = strlen(suffixes->data[i]);
        if (length >= size && is_same(name + length - size, suffixes->data[i])) return 1;
    }
    return suffixes->size == 0;
}

/* Programs can set the time of modification, as those that unpack archives do, but not this one. */
static int64_t changed_ns(const struct stat *st)
{
    return (int64_t)st->st_ctim.tv_sec * SECOND_NS + st->st_ctim.tv_nsec;
}

int64_t pfd_folder_changed_ns(int parent, const char *path)
{
    struct stat st;
    return fstatat(parent, path, &st, 0) == 0 ? changed_ns(&st) : -errno;
}

/* The clock of a file system ticks every 10 ms or faster; some keep whole seconds, or two. */
int32_t pfd_is_just_changed(int64_t changed, int64_t now_ns)
{
    int64_t tick = changed % SECOND_NS == 0 ? 2 * SECOND_NS : SECOND_NS / 10;
    return changed + tick >= now_ns;
}

typedef enum kind { FILE_NAME, FOLDER_NAME, OTHER } kind;

static kind kind_of(int folder, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type == DT_REG) return FILE_NAME;
    if (entry->d_type == DT_DIR) return FOLDER_NAME;
    if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN) return OTHER;
    if (fstatat(folder, entry->d_name, &st, 0) != 0) return FILE_NAME;
    return S_ISREG(st.st_mode) ? FILE_NAME : S_ISDIR(st.st_mode) ? FOLDER_NAME : OTHER;
}

static int add_name(pfd_path_list *list, const char *name)
{
    pfd_error ignored = {.struct_size = sizeof ignored};
    return pfd_path_list_take(list, strdup(name), &ignored) == PFD_OK ? 0 : ENOMEM;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort(pfd_path_list *list)
{
    if (list->size > 1) qsort(list->paths, (size_t)list->size, sizeof *list->paths, by_bytes);
}

static int read_names(DIR *folder, const pfd_list_string *suffixes, pfd_folder_names *out)
{
    int failure = errno = 0;
    for (struct dirent *entry; !failure && (entry = readdir(folder)); errno = 0) {
        if (entry->d_name[0] == '.') continue;
        kind found = kind_of(dirfd(folder), entry);
        if (found == FOLDER_NAME) failure = add_name(&out->folders, entry->d_name);
        else if (found == FILE_NAME && !pfd_has_suffix(entry->d_name, suffixes)) out->num_others++;
        else if (found == FILE_NAME) failure = add_name(&out->files, entry->d_name);
    }
    return failure ? failure : errno;
}

int pfd_folder_names_read(int parent, const char *path, const pfd_list_string *suffixes,
                          pfd_folder_names *out)
{
    struct stat st;
    int fd = openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (!folder) {
        int failure = errno;
        if (fd >= 0) close(fd);
        return failure;
    }
    int failure = fstat(fd, &st) == 0 ? 0 : errno; /* before its names: one added meanwhile shows */
    if (!failure) {
        out->changed_ns = changed_ns(&st);
        out->device = st.st_dev;
        out->inode = st.st_ino;
        failure = read_names(folder, suffixes, out);
    }
    closedir(folder);
    sort(&out->files);
    sort(&out->folders);
    return failure;
}

void pfd_folder_names_free(pfd_folder_names *names)
{
    pfd_path_list_free(&names->files);
    pfd_path_list_free(&names->folders);
    *names = (pfd_folder_names){0};
}
