/* Which files a reader reads. */
#include "files/part_files.h"

#include "core/error.h"
#include "files/file_patterns.h"
#include "files/part_hints.h"
#include "files/part_names.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pfd_status find_numbered(const pfd_file_attrs *attrs, const pfd_path_stem *stem,
                                pfd_path_list *list, pfd_error *err)
{
    int width = attrs->part_name_suffix_length > 0 ? attrs->part_name_suffix_length : 1;
    for (int32_t i = 0; i < attrs->data_part_num; i++) {
        char *path;
        if (asprintf(&path, "%s%0*d", stem->text, width, (int)i) < 0) path = NULL;
        PFD_TRY(pfd_path_list_take(list, path, err));
        if (access(path, F_OK) != 0 && errno == ENOENT) {
            return pfd_fail_missing_part(attrs, stem, path, i, err);
        }
    }
    return PFD_OK;
}

static pfd_digits number_in(const pfd_path_stem *stem, const char *path)
{
    size_t begin = strlen(stem->text);
    return pfd_digits_of(path + begin, strlen(path + begin));
}

static int by_number(const void *a, const void *b, void *stem)
{
    pfd_digits left = number_in(stem, *(char *const *)a);
    pfd_digits right = number_in(stem, *(char *const *)b);
    int order = pfd_compare_digits(&left, &right);
    return order ? order : strcmp(left.all, right.all);
}

static pfd_status collect(const pfd_file_attrs *attrs, const pfd_path_stem *stem,
                          pfd_path_list *list, pfd_error *err)
{
    pfd_status status = PFD_OK;
    DIR *directory = opendir(stem->folder);
    if (!directory) return pfd_fail_folder(stem->folder, errno, err);
    errno = 0;
    for (struct dirent *entry; status == PFD_OK && (entry = readdir(directory)); errno = 0) {
        pfd_digits number;
        if (pfd_is_part_name(entry->d_name, stem->base, attrs->part_name_suffix_length, &number)) {
            char *path;
            if (asprintf(&path, "%s%s", stem->text, number.all) < 0) path = NULL;
            status = pfd_path_list_take(list, path, err);
        }
    }
    if (status == PFD_OK && errno != 0) status = pfd_fail_folder(stem->folder, errno, err);
    closedir(directory);
    return status;
}

static pfd_status find_all(const pfd_file_attrs *attrs, const pfd_path_stem *stem,
                           int32_t keep_missing, pfd_path_list *list, pfd_error *err)
{
    PFD_TRY(collect(attrs, stem, list, err));
    if (list->size == 0 && keep_missing)
        return pfd_path_list_take(list, strdup(attrs->data_dir), err);
    if (list->size == 0) return pfd_fail_no_part(attrs, stem, err);
    qsort_r(list->paths, (size_t)list->size, sizeof *list->paths, by_number,
            (void *)(uintptr_t)stem);
    for (int64_t i = 1; i < list->size; i++) {
        pfd_digits left = number_in(stem, list->paths[i - 1]);
        pfd_digits right = number_in(stem, list->paths[i]);
        if (pfd_compare_digits(&left, &right) != 0) continue;
        return pfd_fail_file(err, stem->folder,
                             "two parts have the same number: '%.200s%s' and '%.200s%s'; remove "
                             "one, or say with part_name_suffix_length how many digits count",
                             stem->base, left.all, stem->base, right.all);
    }
    return PFD_OK;
}

static pfd_status fail_not_a_folder(const char *path, pfd_error *err)
{
    return pfd_fail_file(err, path, "data_dir is a file, and must be the folder of part files; to "
                                    "read this file give files = \"%.200s\"",
                         path);
}

pfd_status pfd_part_files_find(const pfd_file_attrs *attrs, int32_t keep_missing,
                               pfd_path_list *out, pfd_error *err)
{
    pfd_path_stem stem;
    struct stat st;
    if (attrs->files.size > 0)
        return pfd_file_patterns_find("files", &attrs->files, keep_missing, out, err);
    PFD_TRY(pfd_path_stem_make(attrs, &stem, err));
    pfd_status status = PFD_OK;
    if (stat(stem.folder, &st) != 0) status = pfd_fail_folder(stem.folder, errno, err);
    else if (S_ISREG(st.st_mode)) status = fail_not_a_folder(attrs->data_dir, err);
    else if (!S_ISDIR(st.st_mode)) status = pfd_fail_folder(stem.folder, ENOTDIR, err);
    else if (attrs->data_part_num == -1) status = find_all(attrs, &stem, keep_missing, out, err);
    else status = find_numbered(attrs, &stem, out, err);
    pfd_path_stem_free(&stem);
    return status;
}
