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

const pfd_attr pfd_file_attr_table[] = {
    PFD_STRING_ATTR(pfd_file_attrs, data_dir, "",
                    "The folder of the part files; or else files is given."),
    PFD_STRINGS_ATTR(pfd_file_attrs, files, "",
                     "In place of data_dir: paths, and patterns with *, ? or [...], whose files "
                     "are sorted by name."),
    PFD_INT_ATTR(pfd_file_attrs, data_part_num, "-1", -1, INT32_MAX,
                 "How many parts to read, numbered from 0; -1 for all parts found, in numeric "
                 "order."),
    PFD_STRING_ATTR(pfd_file_attrs, part_name_prefix, "part-",
                    "What stands before the number in a part's name."),
    PFD_INT_ATTR(pfd_file_attrs, part_name_suffix_length, "-1", -1, PFD_MAX_SUFFIX_LENGTH,
                 "To how many digits a part's number is filled up with zeros; -1 for no filling."),
    PFD_CHOICE_ATTR(pfd_file_attrs, file_access, "auto", "auto|map|read",
                    "How files are read: map maps them into memory, read reads them piece by "
                    "piece; auto maps them if they fit into memory and address space together."),
    PFD_CHOICE_ATTR(pfd_file_attrs, compression, "auto", "auto|none|gzip|zlib|zstd",
                    "How the files are compressed; auto looks at the content of each. Lines and "
                    "frames of compressed files can only be read in sequence, so that only a "
                    "buffer shuffles them."),
    PFD_STRING_ATTR(pfd_file_attrs, index_dir, "",
                    "The folder in which indexes of the files are kept, for the next time and "
                    "for the other processes of the machine; none keeps them in memory. Left "
                    "empty, files of 16 MB or more together have theirs in PYFLOWDATA_INDEX_DIR, "
                    "else in XDG_CACHE_HOME/pyflowdata, else in ~/.cache/pyflowdata."),
};

const uint32_t pfd_file_attr_count = PFD_COUNT(pfd_file_attr_table);

/* ---- Finding them ---------------------------------------------------------------------------- */
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

static pfd_status check_files(const pfd_file_attrs *attrs, pfd_error *err)
{
    if (attrs->data_dir[0])
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "both data_dir = \"%.200s\" and files are given; leave one of them out",
                        attrs->data_dir);
    if (attrs->data_part_num != -1 || attrs->part_name_suffix_length != -1)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "files are given, and %s, which goes with data_dir; leave one of them out",
                        attrs->data_part_num != -1 ? "data_part_num" : "part_name_suffix_length");
    return PFD_OK;
}

pfd_status pfd_file_attrs_check(const pfd_file_attrs *attrs, pfd_error *err)
{
    if (attrs->files.size > 0) return check_files(attrs, err);
    if (!attrs->data_dir[0]) {
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "data_dir = \"\" and no files are given; data_dir must be the folder of "
                        "the part files, \".\" for the current one, or files a list of paths");
    }
    if (attrs->data_part_num == 0 || attrs->data_part_num < -1) {
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "data_part_num = %d; it must be at least 1, or -1 for all parts found",
                        (int)attrs->data_part_num);
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
