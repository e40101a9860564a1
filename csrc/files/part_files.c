/* Which files or folders a reader reads. */
#include "files/part_files.h"

#include "core/error.h"
#include "core/system_calls.h"
#include "files/codecs.h"
#include "files/remote_file.h"
#include "files/seal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The attrs ------------------------------------------------------------------------------- */

#define MAX_SUFFIX_LENGTH 64

const pfd_attr pfd_file_attr_table[] = {
    PFD_STRING_ATTR(pfd_file_attrs, data_dir, "",
                    "The folder of the part files; alternatively give files."),
    PFD_STRINGS_ATTR(pfd_file_attrs, files, "",
                     "Paths, and patterns with *, ? or [...], in place of data_dir; the files of a "
                     "pattern are sorted by name."),
    PFD_INT_ATTR(pfd_file_attrs, data_part_num, "-1", -1, INT32_MAX,
                 "How many parts to read, numbered from 0; -1 for all parts found, in numeric "
                 "order."),
    PFD_STRING_ATTR(pfd_file_attrs, part_name_prefix, "part-",
                    "The text before the number in a part's name."),
    PFD_INT_ATTR(pfd_file_attrs, part_name_suffix_length, "-1", -1, MAX_SUFFIX_LENGTH,
                 "The number of digits to which a part's number is padded with zeros; -1 for no "
                 "padding."),
    PFD_CHOICE_ATTR(pfd_file_attrs, file_access, "auto", "auto|map|read",
                    "How files are read: map maps them into memory, read reads them piece by "
                    "piece; auto maps them if they fit into memory and address space together."),
    PFD_CHOICE_ATTR(pfd_file_attrs, compression, "auto", PFD_COMPRESSION_CHOICES,
                    "How the files are compressed; auto looks at the content of each file. Lines "
                    "and frames of compressed files can only be read in sequence, so only a buffer "
                    "can shuffle them."),
    PFD_STRING_ATTR(pfd_file_attrs, index_dir, "",
                    "The folder in which indexes of the files are kept, for later runs and for "
                    "other processes on the machine; none keeps them in memory. If it is empty, "
                    "indexes of 16 MB or more of files are kept in PYFLOWDATA_INDEX_DIR, else in "
                    "XDG_CACHE_HOME/pyflowdata, else in ~/.cache/pyflowdata."),
    PFD_CHOICE_ATTR(pfd_file_attrs, check, "format", PFD_CHECK_CHOICES,
                    "Which bytes are checked: format checks only those that have checksums in the "
                    "format; seal also compares each block with the file's seal, NAME.pfdseal "
                    "(pyflowdata seal makes it), when the block is first read."),
};

const uint32_t pfd_file_attr_count = PFD_COUNT(pfd_file_attr_table);

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
    if (!attrs->data_dir[0])
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "data_dir = \"\" and no files are given; data_dir must be the folder of "
                        "the part files, \".\" for the current one, or files a list of paths");
    if (attrs->data_part_num == 0 || attrs->data_part_num < -1)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "data_part_num = %d; it must be at least 1, or -1 for all parts found",
                        (int)attrs->data_part_num);
    return PFD_OK;
}

/* ---- The names of parts ---------------------------------------------------------------------- */

/* The path of a part up to its number, and the two sides of its last slash. */
typedef struct path_stem {
    char *text;       /* data_dir/prefix; owned */
    char *folder;     /* owned */
    const char *base; /* in text */
} path_stem;

/* A number in a name; leading zeros are not significant digits; 0 has none. */
typedef struct pfd_digits {
    const char *all, *significant;
    size_t size, significant_size;
} pfd_digits;

static void path_stem_free(path_stem *stem)
{
    free(stem->text);
    free(stem->folder);
}

static char *join(const char *folder, const char *name)
{
    size_t size = strlen(folder);
    const char *slash = size > 0 && folder[size - 1] == '/' ? "" : "/";
    char *path;
    return asprintf(&path, "%s%s%s", folder, slash, name) < 0 ? NULL : path;
}

static pfd_status path_stem_make(const pfd_file_attrs *attrs, path_stem *out, pfd_error *err)
{
    *out = (path_stem){.text = join(attrs->data_dir, attrs->part_name_prefix)};
    if (out->text) {
        const char *slash = strrchr(out->text, '/');
        size_t size = (size_t)(slash - out->text);
        out->base = slash + 1;
        out->folder = strndup(out->text, size > 0 ? size : 1); /* "/" itself keeps its slash */
    }
    if (out->folder) return PFD_OK;
    path_stem_free(out);
    return pfd_fail_memory(err, (int64_t)strlen(attrs->data_dir), "a path");
}

/* `all` is `size` digits. */
static pfd_digits digits_of(const char *all, size_t size)
{
    const char *significant = all;
    while (significant < all + size && *significant == '0') significant++;
    return (pfd_digits){all, significant, size, (size_t)(all + size - significant)};
}

static int32_t is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* The digits at the end of a name, possibly none. */
static pfd_digits last_digits(const char *name)
{
    size_t size = strlen(name), begin = size;
    while (begin > 0 && is_digit(name[begin - 1])) begin--;
    return digits_of(name + begin, size - begin);
}

/* Compares values, also of numbers that no integer holds. */
static int32_t compare_digits(const pfd_digits *a, const pfd_digits *b)
{
    if (a->significant_size != b->significant_size)
        return a->significant_size < b->significant_size ? -1 : 1;
    return memcmp(a->significant, b->significant, a->significant_size);
}

/* Whether `name` is base + number, written with suffix_length digits. */
static int32_t is_part_name(const char *name, const char *base, int32_t suffix_length,
                            pfd_digits *number)
{
    size_t size = strlen(base);
    if (strncmp(name, base, size) != 0 || !name[size]) return 0;
    for (const char *c = name + size; *c; c++)
        if (!is_digit(*c)) return 0;
    *number = digits_of(name + size, strlen(name + size));
    if (suffix_length <= 0) return 1;
    if (number->size == (size_t)suffix_length) return 1;
    return number->size > (size_t)suffix_length && number->size == number->significant_size;
}

/* ---- Messages about missing parts ------------------------------------------------------------ */

enum { hint_size = 2 * NAME_MAX, names_size = 512 };

/* How a name differs from the one wanted: better hints come first. */
enum { other_length, other_prefix, other_both, no_hint };

typedef struct near_name {
    int hint;
    const char *name; /* "" where there is no hint */
} near_name;

static void note_hint(near_name *near, const char *name, const char *base, const char *suffix)
{
    pfd_digits number = last_digits(name), wanted = digits_of(suffix, strlen(suffix));
    if (number.size == 0 || compare_digits(&number, &wanted) != 0) return;
    size_t prefix = (size_t)(number.all - name);
    int same_prefix = prefix == strlen(base) && strncmp(name, base, prefix) == 0;
    int same_length = number.size == wanted.size;
    int hint = same_prefix ? other_length : same_length ? other_prefix : other_both;
    if (same_prefix && same_length) return;
    if (hint > near->hint) return;
    if (hint == near->hint && strcmp(name, near->name) >= 0) return;
    *near = (near_name){hint, name};
}

/* "; did you mean part_name_suffix_length=3?" or "". */
static void write_hint(const near_name *near, char *out)
{
    pfd_digits number = last_digits(near->name);
    int prefix = (int)(number.all - near->name);
    int length = number.size == number.significant_size || number.size == 1 ? -1 : (int)number.size;
    out[0] = '\0';
    if (near->hint == other_length) {
        (void)snprintf(out, hint_size, "; did you mean part_name_suffix_length=%d?", length);
    } else if (near->hint == other_prefix) {
        (void)snprintf(out, hint_size, "; did you mean part_name_prefix=\"%.*s\"?", prefix,
                       near->name);
    } else if (near->hint == other_both) {
        (void)snprintf(out, hint_size,
                       "; did you mean part_name_prefix=\"%.*s\", part_name_suffix_length=%d?",
                       prefix, near->name, length);
    }
}

/* Writes what the folder of the parts holds, and a hint for the part that ends with `suffix`.  A
 * folder that cannot be read counts as empty. */
static void describe_folder(const path_stem *stem, const char *suffix, char *holds, char *hint)
{
    const pfd_list_string all = {0};
    pfd_folder_names names = {0};
    near_name near = {no_hint, ""};
    (void)pfd_folder_names_read(AT_FDCWD, stem->folder, &all, &names);
    for (int64_t i = 0; i < names.files.size; i++)
        note_hint(&near, names.files.paths[i], stem->base, suffix);
    for (int64_t i = 0; i < names.folders.size; i++)
        note_hint(&near, names.folders.paths[i], stem->base, suffix);
    write_hint(&near, hint);
    pfd_write_names(&names, 0, holds, names_size);
    pfd_folder_names_free(&names);
}

/* The folder cannot be read; `reason` is an errno. */
static pfd_status fail_folder(const char *folder, int reason, pfd_error *err)
{
    char names[512] = "", above[256];
    const char *slash = strrchr(folder, '/');
    if (reason == ENOTDIR)
        return pfd_fail_file(err, folder,
                             "this is not a folder; data_dir is the folder of the part files");
    if (reason != ENOENT) {
        (void)pfd_fail_file(err, folder, "the folder cannot be read: %s", strerror(reason));
        return pfd_error_set_errno(err, reason);
    }
    if (!slash) {
        if (!getcwd(above, sizeof above)) (void)snprintf(above, sizeof above, ".");
    } else { /* the root keeps its slash */
        (void)snprintf(above, sizeof above, "%.*s", slash > folder ? (int)(slash - folder) : 1,
                       folder);
    }
    if (folder[0] == '~')
        return pfd_fail_file(err, folder, "%s",
                             pfd_missing_file_words(folder, names, sizeof names));
    if (*pfd_folder_holds(above, names, sizeof names))
        return pfd_fail_file(err, folder, "no such folder; '%.200s' %s", above, names);
    return pfd_fail_file(err, folder, "no such folder, and none above it either");
}

/* Part number `part` should be at `path`, and is not. */
static pfd_status fail_missing_part(const pfd_file_attrs *attrs, const path_stem *stem,
                                    const char *path, int32_t part, pfd_error *err)
{
    struct stat st;
    char hint[hint_size], names[names_size], found[64] = "";
    if (lstat(path, &st) == 0)
        return pfd_fail_file(err, path, "this is a link to something that is not there");
    describe_folder(stem, path + strlen(stem->text), names, hint);
    if (part > 0) (void)snprintf(found, sizeof found, " (there are %d)", (int)part);
    return pfd_fail_file(err, path,
                         "no such part; data_part_num = %d%s%s; the folder %s",
                         (int)attrs->data_part_num, found, hint, names);
}

/* No file of the folder is a part. */
static pfd_status fail_no_part(const pfd_file_attrs *attrs, const path_stem *stem, pfd_error *err)
{
    char hint[hint_size], names[names_size], suffix[MAX_SUFFIX_LENGTH + 1];
    char pattern[PATH_MAX], length[32] = "a number";
    int digits_wanted = attrs->part_name_suffix_length > 0 ? attrs->part_name_suffix_length : 1;
    (void)snprintf(suffix, sizeof suffix, "%0*d", digits_wanted, 0);
    if (digits_wanted > 1) (void)snprintf(length, sizeof length, "%d digits", digits_wanted);
    if (pfd_path_is_remote(stem->text))
        return pfd_fail_file(err, stem->folder,
                             "no part found: the name of a part is '%.100s' and %s; to read "
                             "objects of other names, give files = \"%.300s/*\" in place of "
                             "data_dir", stem->base, length, stem->folder);
    describe_folder(stem, suffix, names, hint);
    (void)pfd_suggest_pattern(stem->folder, pattern, sizeof pattern);
    return pfd_fail_file(err, stem->folder,
                         "no part found: the name of a part is '%.100s' and %s%s; the folder "
                         "%s%s%.300s%s", stem->base, length, hint, names,
                         *pattern ? "; to read files of other names, give files = \"" : "", pattern,
                         *pattern ? "\" in place of data_dir" : "");
}

/* ---- Folders --------------------------------------------------------------------------------- */

/* Refuses attrs that every reader of files has, but that mean nothing for a folder. */
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
    if (pfd_path_is_remote(path)) return PFD_OK; /* its names are asked for when it is opened */
    if (pfd_sys_stat(NULL, AT_FDCWD, path, &st) != 0) return fail_folder(path, errno, err);
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
        if (pfd_path_is_remote(path) && strpbrk(path, "*?["))
            return pfd_fail_attr(err, "files", NULL, PFD_UNSUPPORTED,
                                 ": '%.300s' is a pattern of folders in a store; name each folder",
                                 path);
        if (pfd_sys_stat(NULL, AT_FDCWD, path, &st) == 0 || !strpbrk(path, "*?["))
            PFD_TRY(add_folder(path, out, err));
        else
            PFD_TRY(pfd_folder_pattern_find("files", path, out, err));
    }
    return pfd_check_each_path_once("files", out->paths, out->size, err);
}

/* ---- Files and parts ------------------------------------------------------------------------- */

static pfd_status find_numbered(const pfd_file_attrs *attrs, const path_stem *stem,
                                pfd_path_list *list, pfd_error *err)
{
    int width = attrs->part_name_suffix_length > 0 ? attrs->part_name_suffix_length : 1;
    for (int32_t i = 0; i < attrs->data_part_num; i++) {
        char *path;
        if (asprintf(&path, "%s%0*d", stem->text, width, (int)i) < 0) path = NULL;
        PFD_TRY(pfd_path_list_take(list, path, err));
        if (pfd_path_is_missing(path))
            return fail_missing_part(attrs, stem, path, i, err);
    }
    return PFD_OK;
}

static pfd_digits number_in(const path_stem *stem, const char *path)
{
    size_t begin = strlen(stem->text);
    return digits_of(path + begin, strlen(path + begin));
}

static int by_number(const void *a, const void *b, void *stem)
{
    pfd_digits left = number_in(stem, *(char *const *)a);
    pfd_digits right = number_in(stem, *(char *const *)b);
    int order = compare_digits(&left, &right);
    return order ? order : strcmp(left.all, right.all);
}

/* The same, of addresses: one list of what begins as the parts do. */
static pfd_status collect_objects(const pfd_file_attrs *attrs, const path_stem *stem,
                                  pfd_path_list *list, pfd_error *err)
{
    char *pattern;
    int64_t kept = 0;
    if (asprintf(&pattern, "%s*", stem->text) < 0) return pfd_fail_memory(err, 0, "a pattern");
    pfd_status status = pfd_path_list_add_remote(list, pattern, err);
    free(pattern);
    for (int64_t i = 0; i < list->size; i++) {
        pfd_digits number;
        char *path = list->paths[i];
        if (is_part_name(strrchr(path, '/') + 1, stem->base, attrs->part_name_suffix_length,
                         &number))
            list->paths[kept++] = path;
        else
            free(path);
    }
    list->size = kept;
    return status;
}

static pfd_status collect(const pfd_file_attrs *attrs, const path_stem *stem,
                          pfd_path_list *list, pfd_error *err)
{
    if (pfd_path_is_remote(stem->text)) return collect_objects(attrs, stem, list, err);
    pfd_status status = PFD_OK;
    int reason = 0;
    DIR *directory = pfd_sys_opendir(NULL, AT_FDCWD, stem->folder);
    if (!directory) return fail_folder(stem->folder, errno, err);
    while (status == PFD_OK) {
        const struct dirent *entry = pfd_sys_readdir(NULL, directory);
        if (!entry) {
            reason = errno;
            break;
        }
        pfd_digits number;
        if (is_part_name(entry->d_name, stem->base, attrs->part_name_suffix_length, &number)) {
            char *path;
            if (asprintf(&path, "%s%s", stem->text, number.all) < 0) path = NULL;
            status = pfd_path_list_take(list, path, err);
        }
    }
    if (reason) status = fail_folder(stem->folder, reason, err);
    closedir(directory);
    return status;
}

static pfd_status find_all(const pfd_file_attrs *attrs, const path_stem *stem,
                           int32_t keep_missing, pfd_path_list *list, pfd_error *err)
{
    PFD_TRY(collect(attrs, stem, list, err));
    if (list->size == 0 && keep_missing)
        return pfd_path_list_take(list, strdup(attrs->data_dir), err);
    if (list->size == 0) return fail_no_part(attrs, stem, err);
    qsort_r(list->paths, (size_t)list->size, sizeof *list->paths, by_number,
            (void *)(uintptr_t)stem);
    for (int64_t i = 1; i < list->size; i++) {
        pfd_digits left = number_in(stem, list->paths[i - 1]);
        pfd_digits right = number_in(stem, list->paths[i]);
        if (compare_digits(&left, &right) != 0) continue;
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
    path_stem stem;
    struct stat st;
    if (attrs->files.size > 0)
        return pfd_file_patterns_find("files", &attrs->files, keep_missing, out, err);
    PFD_TRY(path_stem_make(attrs, &stem, err));
    pfd_status status = PFD_OK;
    int32_t is_remote = pfd_path_is_remote(stem.text);
    if (is_remote && attrs->data_part_num == -1)
        status = find_all(attrs, &stem, keep_missing, out, err);
    else if (is_remote)
        status = find_numbered(attrs, &stem, out, err);
    else if (pfd_sys_stat(NULL, AT_FDCWD, stem.folder, &st) != 0)
        status = fail_folder(stem.folder, errno, err);
    else if (S_ISREG(st.st_mode)) status = fail_not_a_folder(attrs->data_dir, err);
    else if (!S_ISDIR(st.st_mode)) status = fail_folder(stem.folder, ENOTDIR, err);
    else if (attrs->data_part_num == -1) status = find_all(attrs, &stem, keep_missing, out, err);
    else status = find_numbered(attrs, &stem, out, err);
    path_stem_free(&stem);
    return status;
}
