/* The format of image folders: a folder for each class, with image files. */
#include "core/system_calls.h"
#include "files/file_names.h"
#include "files/remote_file.h"
#include "pyflowdata/op.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { most_folders = 16 }; /* whose files are looked at */

/* Returns 0 or an errno. */
static int read_names(const char *path, const pfd_list_string *suffixes, pfd_folder_names *out)
{
    pfd_error ignored = {.struct_size = sizeof ignored};
    if (!pfd_path_is_remote(path)) return pfd_folder_names_read(AT_FDCWD, path, suffixes, out);
    if (strncasecmp(path, "http", strlen("http")) == 0) return 0; /* a web server lists nothing */
    return pfd_folder_objects_read(path, suffixes, out, &ignored) == PFD_OK ? 0 : EIO;
}

/* *failure: an errno, of a folder that cannot be read. */
static int32_t has_images(const char *path, const char *name, int *failure)
{
    static const char *const endings[] = {".jpg", ".jpeg", ".png", ".bmp", ".webp",
                                          ".ppm", ".pgm",  ".pbm", ".tif", ".tiff"};
    static const pfd_list_string images = {endings, PFD_COUNT(endings)};
    char below[4096];
    pfd_folder_names names = {0};
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/') size--; /* keys of a store have no empty names */
    int length = snprintf(below, sizeof below, "%.*s/%s", (int)size, path, name);
    if (length >= (int)sizeof below) return 0;
    int reason = read_names(below, &images, &names);
    int32_t found = reason == 0 && names.files.size > 0;
    if (pfd_errno_class(reason, 0) != PFD_REASON_NONE && reason != 0) *failure = reason;
    pfd_folder_names_free(&names);
    return found;
}

static int32_t probe_folder(const pfd_probe_folder_args *args)
{
    static const pfd_list_string all = {0};
    pfd_folder_names names = {0};
    int32_t found = 0;
    int failure = read_names(args->path, &all, &names);
    if (pfd_errno_class(failure, 0) == PFD_REASON_NONE) failure = 0; /* it is no folder */
    for (int64_t i = 0; i < names.folders.size && i < most_folders && !found; i++)
        found = has_images(args->path, names.folders.paths[i], &failure);
    /* A folder of files may have a folder that is not for everyone, such as lost+found. */
    if (failure == EACCES && names.files.size > 0) failure = 0;
    pfd_folder_names_free(&names);
    errno = failure;
    return found ? PFD_PROBE_LIKELY : failure ? PFD_PROBE_FAILED : PFD_PROBE_NO;
}

const pfd_format pfd_format_imagefolder = {
    .struct_size = sizeof(pfd_format),
    .name = "imagefolder",
    .title = "image folder",
    .doc = "A folder that has a folder of image files for each class.",
    .reader = "ImageFolderReader",
    .probe_folder = probe_folder,
};
