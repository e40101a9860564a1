/* The folders that data_dir and files name. */
#include "files/data_folders.h"

#include "core/error.h"
#include "files/compression.h"
#include "files/file_patterns.h"
#include "files/part_hints.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Attrs that every reader of files has, and that mean nothing for a folder. */
static pfd_status check_attrs(const pfd_file_attrs *attrs, pfd_error *err)
{
    const char *wrong = attrs->data_part_num != -1              ? "data_part_num"
                        : attrs->part_name_suffix_length != -1  ? "part_name_suffix_length"
                        : strcmp(attrs->part_name_prefix, "part-") != 0 ? "part_name_prefix"
                                                                        : NULL;
    if (wrong)
        return pfd_fail_attr(err, wrong, NULL, PFD_INVALID_ARGUMENT,
                             " is given; it is about part files, and this reader takes whole "
                             "folders: leave it out");
    if (attrs->compression == PFD_COMPRESSION_AUTO || attrs->compression == PFD_COMPRESSION_NONE)
        return PFD_OK;
    return pfd_fail_attr(err, "compression", NULL, PFD_INVALID_ARGUMENT,
                         " = '%s'; this reader takes whole folders, whose files are read as they "
                         "are: leave it out", pfd_compression_name(attrs->compression));
}

static pfd_status check_folder(const char *path, pfd_error *err)
{
    struct stat st;
    if (stat(path, &st) != 0) return pfd_fail_folder(path, errno, err);
    if (S_ISDIR(st.st_mode)) return PFD_OK;
    return pfd_fail_file(err, path, "this is a file; the reader takes folders");
}

static pfd_status add_folder(const char *path, pfd_path_list *out, pfd_error *err)
{
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/') size--;
    PFD_TRY(pfd_path_list_take(out, strndup(path, size), err));
    return check_folder(out->paths[out->size - 1], err);
}

pfd_status pfd_data_folders_find(const pfd_file_attrs *attrs, pfd_path_list *out, pfd_error *err)
{
    PFD_TRY(check_attrs(attrs, err));
    if (attrs->files.size == 0) return add_folder(attrs->data_dir, out, err);
    for (int64_t i = 0; i < attrs->files.size; i++) {
        struct stat st;
        const char *path = attrs->files.data[i];
        if (stat(path, &st) == 0 || !strpbrk(path, "*?["))
            PFD_TRY(add_folder(path, out, err));
        else
            PFD_TRY(pfd_folder_pattern_find("files", path, out, err));
    }
    return pfd_check_each_path_once("files", out->paths, out->size, err);
}
