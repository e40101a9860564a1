/* Which files a reader reads, and what to say when they are not there. */
#include "io/part_files.h"

#include "core/error.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROW(field, type, default_value, min, max, doc)                                             \
    PFD_ATTR_ROW(pfd_file_attrs, field, type, default_value, min, max, NULL, doc)

const pfd_attr pfd_file_attr_table[] = {
    ROW(data_dir, PFD_ATTR_STRING, NULL, 0, 0, "The folder of the part files."),
    ROW(data_part_num, PFD_ATTR_INT32, "-1", -1, INT32_MAX,
        "How many parts to read, numbered from 0; -1 for all parts found, in numeric order."),
    ROW(part_name_prefix, PFD_ATTR_STRING, "part-", 0, 0,
        "What stands before the number in a part's name."),
    ROW(part_name_suffix_length, PFD_ATTR_INT32, "-1", -1, PFD_MAX_SUFFIX_LENGTH,
        "To how many digits a part's number is filled up with zeros; -1 for no filling."),
};

const uint32_t pfd_file_attr_count = PFD_COUNT(pfd_file_attr_table);

/* Is `status`, with a message and the path it is about. */
#define FAIL_PATH(err, status, path, ...)                                                          \
    ((void)pfd_fail(err, status, __VA_ARGS__), pfd_error_set_file(err, path), (status))

/* ---- Names ----------------------------------------------------------------------------------- */

/* A path up to the number, and its two sides: what is before and behind its last slash. */
typedef struct path_stem {
    char *text;       /* data_dir/prefix; owned */
    char *folder;     /* owned */
    const char *base; /* in text */
} path_stem;

static void free_stem(path_stem *stem)
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

static pfd_status make_stem(const pfd_file_attrs *attrs, path_stem *out, pfd_error *err)
{
    *out = (path_stem){.text = join(attrs->data_dir, attrs->part_name_prefix)};
    if (out->text) {
        const char *slash = strrchr(out->text, '/');
        size_t size = (size_t)(slash - out->text);
        out->base = slash + 1;
        out->folder = strndup(out->text, size > 0 ? size : 1); /* "/" itself keeps its slash */
    }
    if (out->folder) return PFD_OK;
    free_stem(out);
    return pfd_fail_memory(err, (int64_t)strlen(attrs->data_dir), "a path");
}

/* A number in a name; leading zeros are not among its significant digits, which 0 has none of. */
typedef struct digits {
    const char *all, *significant;
    size_t size, significant_size;
} digits;

static digits make_digits(const char *all, size_t size)
{
    const char *significant = all;
    while (significant < all + size && *significant == '0') significant++;
    return (digits){all, significant, size, (size_t)(all + size - significant)};
}

static int is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* The digits at the end of a name, possibly none. */
static digits last_digits(const char *name)
{
    size_t size = strlen(name), begin = size;
    while (begin > 0 && is_digit(name[begin - 1])) begin--;
    return make_digits(name + begin, size - begin);
}

/* By value, also of numbers that no integer holds. */
static int compare_digits(const digits *a, const digits *b)
{
    if (a->significant_size != b->significant_size) {
        return a->significant_size < b->significant_size ? -1 : 1;
    }
    return memcmp(a->significant, b->significant, a->significant_size);
}

/* Whether `name` is base + number, written with suffix_length digits. */
static int is_part_name(const char *name, const char *base, int32_t suffix_length, digits *number)
{
    size_t size = strlen(base);
    if (strncmp(name, base, size) != 0 || !name[size]) return 0;
    for (const char *c = name + size; *c; c++) {
        if (!is_digit(*c)) return 0;
    }
    *number = make_digits(name + size, strlen(name + size));
    if (suffix_length <= 0) return 1;
    if (number->size == (size_t)suffix_length) return 1;
    return number->size > (size_t)suffix_length && number->size == number->significant_size;
}

/* ---- What is there instead ------------------------------------------------------------------- */
enum { shown_names = 5 };

/* How a name differs from the one wanted: better hints come first. */
enum { other_length, other_prefix, other_both, no_hint };

typedef struct folder_view {
    int64_t num_names;
    char names[shown_names][NAME_MAX + 1]; /* the first ones in order */
    int hint;
    char hint_name[NAME_MAX + 1];
} folder_view;

static int name_order(const char *a, const char *b)
{
    size_t size_a = strlen(a), size_b = strlen(b);
    if (size_a != size_b && last_digits(a).size > 0 && last_digits(b).size > 0) {
        return size_a < size_b ? -1 : 1; /* part-2 before part-10 */
    }
    return strcmp(a, b);
}

static void copy_name(char *out, const char *name)
{
    (void)snprintf(out, NAME_MAX + 1, "%s", name);
}

static void note_name(folder_view *view, const char *name)
{
    int64_t filled = view->num_names < shown_names ? view->num_names : shown_names;
    int64_t at = filled;
    view->num_names++;
    while (at > 0 && name_order(name, view->names[at - 1]) < 0) at--;
    if (at == shown_names) return;
    int64_t moved = (filled < shown_names ? filled : shown_names - 1) - at;
    memmove(view->names[at + 1], view->names[at], (size_t)moved * sizeof view->names[0]);
    copy_name(view->names[at], name);
}

static void note_hint(folder_view *view, const char *name, const char *base, const char *suffix)
{
    digits number = last_digits(name), wanted = make_digits(suffix, strlen(suffix));
    if (number.size == 0 || compare_digits(&number, &wanted) != 0) return;
    size_t prefix = (size_t)(number.all - name);
    int same_prefix = prefix == strlen(base) && strncmp(name, base, prefix) == 0;
    int same_length = number.size == wanted.size;
    int hint = same_prefix ? other_length : same_length ? other_prefix : other_both;
    if (same_prefix && same_length) return;
    if (hint > view->hint) return;
    if (hint == view->hint && strcmp(name, view->hint_name) >= 0) return;
    view->hint = hint;
    copy_name(view->hint_name, name);
}

/* Looks at a folder for messages; a folder that cannot be read looks empty. */
static void view_folder(const char *folder, const char *base, const char *suffix, folder_view *view)
{
    *view = (folder_view){.hint = no_hint};
    DIR *directory = opendir(folder);
    if (!directory) return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (entry->d_name[0] == '.') continue;
        note_name(view, entry->d_name);
        if (base) note_hint(view, entry->d_name, base, suffix);
    }
    closedir(directory);
}

/* "; did you mean part_name_suffix_length=3?" or "". */
static void write_hint(const folder_view *view, char *out, size_t capacity)
{
    digits number = last_digits(view->hint_name);
    int prefix = (int)(number.all - view->hint_name);
    int length = number.size == number.significant_size || number.size == 1 ? -1 : (int)number.size;
    out[0] = '\0';
    if (view->hint == other_length) {
        (void)snprintf(out, capacity, "; did you mean part_name_suffix_length=%d?", length);
    } else if (view->hint == other_prefix) {
        (void)snprintf(out, capacity, "; did you mean part_name_prefix=\"%.*s\"?", prefix,
                       view->hint_name);
    } else if (view->hint == other_both) {
        (void)snprintf(out, capacity,
                       "; did you mean part_name_prefix=\"%.*s\", part_name_suffix_length=%d?",
                       prefix, view->hint_name, length);
    }
}

/* "holds 'a', 'b' and 7 more" or "is empty". */
static void write_names(const folder_view *view, char *out, size_t capacity)
{
    size_t used = (size_t)snprintf(out, capacity, "%s", view->num_names ? "holds " : "is empty");
    for (int64_t i = 0; i < view->num_names && i < shown_names && used < capacity; i++) {
        used += (size_t)snprintf(out + used, capacity - used, "%s'%.60s'", i ? ", " : "",
                                 view->names[i]);
    }
    if (view->num_names > shown_names && used < capacity) {
        (void)snprintf(out + used, capacity - used, " and %" PRId64 " more",
                       view->num_names - shown_names);
    }
}

/* ---- Errors ---------------------------------------------------------------------------------- */

/* Says what the folder above has instead. */
static pfd_status fail_folder(const char *folder, int reason, pfd_error *err)
{
    char names[512] = "", above[256];
    const char *slash = strrchr(folder, '/');
    if (reason == ENOTDIR) {
        return FAIL_PATH(err, PFD_IO, folder,
                         "this is no folder; data_dir is the folder of the part files");
    }
    if (reason != ENOENT) {
        return FAIL_PATH(err, PFD_IO, folder, "the folder cannot be read: %s", strerror(reason));
    }
    if (!slash) {
        if (!getcwd(above, sizeof above)) (void)snprintf(above, sizeof above, ".");
    } else { /* the root keeps its slash */
        (void)snprintf(above, sizeof above, "%.*s", slash > folder ? (int)(slash - folder) : 1,
                       folder);
    }
    folder_view view;
    struct stat st;
    if (stat(above, &st) == 0) {
        view_folder(above, NULL, NULL, &view);
        write_names(&view, names, sizeof names);
        return FAIL_PATH(err, PFD_IO, folder, "there is no such folder; '%.200s' %s", above, names);
    }
    return FAIL_PATH(err, PFD_IO, folder, "there is no such folder, and none above it either");
}

static pfd_status fail_missing(const pfd_file_attrs *attrs, const path_stem *stem, const char *path,
                               int32_t part, pfd_error *err)
{
    folder_view view;
    struct stat st;
    char hint[2 * NAME_MAX], names[512], found[64] = "";
    if (lstat(path, &st) == 0) {
        return FAIL_PATH(err, PFD_IO, path, "this is a link to something that is not there");
    }
    const char *suffix = path + strlen(stem->text);
    view_folder(stem->folder, stem->base, suffix, &view);
    write_hint(&view, hint, sizeof hint);
    write_names(&view, names, sizeof names);
    if (part > 0) (void)snprintf(found, sizeof found, " (there are %d)", (int)part);
    return FAIL_PATH(err, PFD_IO, path,
                     "there is no such part; data_part_num = %d%s%s; the folder %s",
                     (int)attrs->data_part_num, found, hint, names);
}

static pfd_status fail_none(const pfd_file_attrs *attrs, const path_stem *stem, pfd_error *err)
{
    folder_view view;
    char hint[2 * NAME_MAX], names[512], suffix[PFD_MAX_SUFFIX_LENGTH + 1], length[32] = "a number";
    int digits_wanted = attrs->part_name_suffix_length > 0 ? attrs->part_name_suffix_length : 1;
    (void)snprintf(suffix, sizeof suffix, "%0*d", digits_wanted, 0);
    if (digits_wanted > 1) (void)snprintf(length, sizeof length, "%d digits", digits_wanted);
    view_folder(stem->folder, stem->base, suffix, &view);
    write_hint(&view, hint, sizeof hint);
    write_names(&view, names, sizeof names);
    return FAIL_PATH(err, PFD_IO, stem->folder,
                     "no part found: the name of a part is '%.100s' and %s%s; the folder %s",
                     stem->base, length, hint, names);
}

/* ---- Finding them ---------------------------------------------------------------------------- */
typedef struct path_list {
    char **paths;
    int64_t size, capacity;
} path_list;

/* Takes over `path`, which may be NULL for want of memory. */
static pfd_status add_path(path_list *list, char *path, pfd_error *err)
{
    if (path && list->size == list->capacity) {
        int64_t capacity = list->capacity > 0 ? 2 * list->capacity : 16;
        char **paths = realloc(list->paths, (size_t)capacity * sizeof *paths);
        if (!paths) {
            free(path);
            path = NULL;
        } else {
            list->paths = paths;
            list->capacity = capacity;
        }
    }
    if (!path) return pfd_fail_memory(err, list->size * (int64_t)sizeof path, "the list of parts");
    list->paths[list->size++] = path;
    return PFD_OK;
}

static pfd_status find_numbered(const pfd_file_attrs *attrs, const path_stem *stem, path_list *list,
                                pfd_error *err)
{
    int width = attrs->part_name_suffix_length > 0 ? attrs->part_name_suffix_length : 1;
    for (int32_t i = 0; i < attrs->data_part_num; i++) {
        char *path;
        if (asprintf(&path, "%s%0*d", stem->text, width, (int)i) < 0) path = NULL;
        PFD_TRY(add_path(list, path, err));
        if (access(path, F_OK) != 0 && errno == ENOENT) {
            return fail_missing(attrs, stem, path, i, err);
        }
    }
    return PFD_OK;
}

static digits digits_of(const path_stem *stem, const char *path)
{
    size_t begin = strlen(stem->text);
    return make_digits(path + begin, strlen(path + begin));
}

static int by_number(const void *a, const void *b, void *stem)
{
    digits left = digits_of(stem, *(char *const *)a), right = digits_of(stem, *(char *const *)b);
    int order = compare_digits(&left, &right);
    return order ? order : strcmp(left.all, right.all);
}

static pfd_status collect(const pfd_file_attrs *attrs, const path_stem *stem, path_list *list,
                          pfd_error *err)
{
    pfd_status status = PFD_OK;
    DIR *directory = opendir(stem->folder);
    if (!directory) return fail_folder(stem->folder, errno, err);
    errno = 0;
    for (struct dirent *entry; status == PFD_OK && (entry = readdir(directory)); errno = 0) {
        digits number;
        if (is_part_name(entry->d_name, stem->base, attrs->part_name_suffix_length, &number)) {
            char *path;
            if (asprintf(&path, "%s%s", stem->text, number.all) < 0) path = NULL;
            status = add_path(list, path, err);
        }
    }
    if (status == PFD_OK && errno != 0) status = fail_folder(stem->folder, errno, err);
    closedir(directory);
    return status;
}

static pfd_status find_all(const pfd_file_attrs *attrs, const path_stem *stem, path_list *list,
                           pfd_error *err)
{
    PFD_TRY(collect(attrs, stem, list, err));
    if (list->size == 0) return fail_none(attrs, stem, err);
    qsort_r(list->paths, (size_t)list->size, sizeof *list->paths, by_number,
            (void *)(uintptr_t)stem);
    for (int64_t i = 1; i < list->size; i++) {
        digits left = digits_of(stem, list->paths[i - 1]);
        digits right = digits_of(stem, list->paths[i]);
        if (compare_digits(&left, &right) != 0) continue;
        return FAIL_PATH(err, PFD_IO, stem->folder,
                         "two parts have the same number: '%.200s%s' and '%.200s%s'; remove one, "
                         "or say with part_name_suffix_length how many digits count",
                         stem->base, left.all, stem->base, right.all);
    }
    return PFD_OK;
}

pfd_status pfd_file_attrs_check(const pfd_file_attrs *attrs, pfd_error *err)
{
    if (!attrs->data_dir[0]) {
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "data_dir = \"\"; it must be the folder of the part files, \".\" for the "
                        "current one");
    }
    if (attrs->data_part_num == 0 || attrs->data_part_num < -1) {
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "data_part_num = %d; it must be at least 1, or -1 for all parts found",
                        (int)attrs->data_part_num);
    }
    return PFD_OK;
}

pfd_status pfd_part_files_find(const pfd_file_attrs *attrs, pfd_part_files *out, pfd_error *err)
{
    path_stem stem;
    struct stat st;
    path_list list = {NULL, 0, 0};
    PFD_TRY(make_stem(attrs, &stem, err));
    pfd_status status = PFD_OK;
    if (stat(stem.folder, &st) != 0) status = fail_folder(stem.folder, errno, err);
    else if (!S_ISDIR(st.st_mode)) status = fail_folder(stem.folder, ENOTDIR, err);
    else if (attrs->data_part_num == -1) status = find_all(attrs, &stem, &list, err);
    else status = find_numbered(attrs, &stem, &list, err);
    free_stem(&stem);
    pfd_part_files found = {list.paths, list.size};
    if (status == PFD_OK) *out = found;
    else pfd_part_files_free(&found);
    return status;
}

void pfd_part_files_free(pfd_part_files *files)
{
    for (int64_t i = 0; i < files->size; i++) free(files->paths[i]);
    free(files->paths);
    *files = (pfd_part_files){NULL, 0};
}
