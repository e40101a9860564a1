/* The format of image folders: a folder for each class, with image files. */
#include "files/file_names.h"
#include "pyflowdata/op.h"

#include <fcntl.h>
#include <stdio.h>

enum { most_folders = 16 }; /* whose files are looked at */

static int32_t has_images(const char *path, const char *name)
{
    static const char *const endings[] = {".jpg", ".jpeg", ".png", ".bmp", ".webp",
                                          ".ppm", ".pgm",  ".pbm", ".tif", ".tiff"};
    static const pfd_list_string images = {endings, PFD_COUNT(endings)};
    char below[4096];
    pfd_folder_names names = {0};
    int length = snprintf(below, sizeof below, "%s/%s", path, name);
    int32_t found = length < (int)sizeof below &&
                    pfd_folder_names_read(AT_FDCWD, below, &images, &names) == 0 &&
                    names.files.size > 0;
    pfd_folder_names_free(&names);
    return found;
}

static int32_t probe_folder(const pfd_probe_folder_args *args)
{
    static const pfd_list_string all = {0};
    pfd_folder_names names = {0};
    int32_t score = PFD_PROBE_NO;
    if (pfd_folder_names_read(AT_FDCWD, args->path, &all, &names) == 0)
        for (int64_t i = 0; i < names.folders.size && i < most_folders && !score; i++)
            if (has_images(args->path, names.folders.paths[i])) score = PFD_PROBE_LIKELY;
    pfd_folder_names_free(&names);
    return score;
}

const pfd_format pfd_format_imagefolder = {
    .struct_size = sizeof(pfd_format),
    .name = "imagefolder",
    .title = "image folder",
    .doc = "A folder that has a folder of image files for each class.",
    .reader = "ImageFolderReader",
    .probe_folder = probe_folder,
};
