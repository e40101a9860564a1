/* Names of files: lists, folders, patterns, and messages about missing files. */
#include "files/file_names.h"

#include "core/system_calls.h"
#include "files/file_read.h"
#include "files/remote_file.h"
#include "parse/words.h"
#include "pyflowdata/pyflowdata.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Lists of paths -------------------------------------------------------------------------- */

pfd_status pfd_path_list_take(pfd_path_list *list, char *path, pfd_error *err)
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
    if (!path) return pfd_fail_memory(err, list->size * (int64_t)sizeof path, "a list of files");
    list->paths[list->size++] = path;
    return PFD_OK;
}

void pfd_path_list_free(pfd_path_list *list)
{
    for (int64_t i = 0; i < list->size; i++) free(list->paths[i]);
    free(list->paths);
    *list = (pfd_path_list){NULL, 0, 0};
}

/* ---- The names in a folder ------------------------------------------------------------------- */

#define SECOND_NS INT64_C(1000000000)

/* Compares texts of one length; capitals and small letters of ASCII are the same. */
static int32_t is_same(const char *a, const char *b)
{
    while (*a && pfd_lower(*a) == pfd_lower(*b)) a++, b++;
    return !*a;
}

static int32_t has_suffix(const char *name, const pfd_list_string *suffixes)
{
    size_t length = strlen(name);
    for (int64_t i = 0; i < suffixes->size; i++) {
        size_t size = strlen(suffixes->data[i]);
        if (length >= size && is_same(name + length - size, suffixes->data[i])) return 1;
    }
    return suffixes->size == 0;
}

/* The time of the last change: the time of modification is set by programs that unpack archives. */
static int64_t changed_ns(const struct stat *st)
{
    return (int64_t)st->st_ctim.tv_sec * SECOND_NS + st->st_ctim.tv_nsec;
}

int64_t pfd_folder_changed_ns(int parent, const char *path)
{
    struct stat st;
    return pfd_sys_stat(NULL, parent, path, &st) == 0 ? changed_ns(&st) : -errno;
}

/* The clock of a file system ticks every 10 ms or faster; some file systems store whole seconds, or
 * multiples of two. */
int32_t pfd_is_just_changed(int64_t changed, int64_t now_ns)
{
    int64_t tick = changed % SECOND_NS == 0 ? 2 * SECOND_NS : SECOND_NS / 10;
    return changed + tick >= now_ns;
}

typedef enum entry_kind { FILE_NAME, FOLDER_NAME, BROKEN_LINK, OTHER } entry_kind;

/* Returns 0 or an errno. */
static int find_kind(int folder, const struct dirent *entry, entry_kind *out)
{
    struct stat st;
    *out = entry->d_type == DT_REG ? FILE_NAME : entry->d_type == DT_DIR ? FOLDER_NAME : OTHER;
    if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN) return 0;
    int reason = pfd_sys_stat(NULL, folder, entry->d_name, &st) == 0 ? 0 : errno;
    if (!reason) *out = S_ISREG(st.st_mode) ? FILE_NAME : S_ISDIR(st.st_mode) ? FOLDER_NAME : OTHER;
    else *out = fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISLNK(st.st_mode) ? BROKEN_LINK : FILE_NAME;
    return pfd_errno_class(reason, 0) == PFD_REASON_NONE ? 0 : reason;
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

static const char *suffix_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    return dot ? dot : "";
}

int pfd_note_example(pfd_path_list *examples, const char *name)
{
    enum { most = 8 };
    for (int64_t i = 0; i < examples->size; i++) {
        char **known = &examples->paths[i];
        if (strcasecmp(suffix_of(*known), suffix_of(name)) != 0) continue;
        if (strcmp(*known, name) <= 0) return 0;
        char *copy = strdup(name);
        if (!copy) return ENOMEM;
        free(*known);
        *known = copy;
        return 0;
    }
    return examples->size < most ? add_name(examples, name) : 0;
}

static int read_names(DIR *folder, const pfd_list_string *suffixes, pfd_folder_names *out)
{
    int failure = errno = 0;
    for (struct dirent *entry; !failure && (entry = pfd_sys_readdir(NULL, folder));) {
        entry_kind found;
        if (entry->d_name[0] == '.') continue;
        failure = find_kind(dirfd(folder), entry, &found);
        if (failure) break;
        if (found == BROKEN_LINK && !out->broken) out->broken = strdup(entry->d_name);
        if (found == BROKEN_LINK) failure = out->broken ? 0 : ENOMEM, found = FILE_NAME;
        if (failure) break;
        if (found == FOLDER_NAME) failure = add_name(&out->folders, entry->d_name);
        else if (found == FILE_NAME && !has_suffix(entry->d_name, suffixes))
            failure = pfd_note_example(&out->others, entry->d_name), out->num_others++;
        else if (found == FILE_NAME) failure = add_name(&out->files, entry->d_name);
    }
    return failure ? failure : errno;
}

int pfd_folder_names_read(int parent, const char *path, const pfd_list_string *suffixes,
                          pfd_folder_names *out)
{
    struct stat st;
    DIR *folder = pfd_sys_opendir(NULL, parent, path);
    if (!folder) return errno;
    /* Before its names, so that a name which is added meanwhile shows. */
    int failure = pfd_sys_fstat(NULL, dirfd(folder), &st) == 0 ? 0 : errno;
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

/* Who is given the names of a folder in a store. */
typedef struct object_names {
    size_t prefix; /* bytes of the folder's address, with a slash */
    const pfd_list_string *suffixes;
    pfd_folder_names *out;
} object_names;

static int note_object(const object_names *self, char *name)
{
    size_t size = strlen(name);
    if (size == 0 || name[0] == '.') return 0;
    if (name[size - 1] == '/') {
        name[size - 1] = '\0';
        return add_name(&self->out->folders, name);
    }
    if (has_suffix(name, self->suffixes)) return add_name(&self->out->files, name);
    self->out->num_others++;
    return pfd_note_example(&self->out->others, name);
}

static pfd_status take_object(void *ctx, char *url, pfd_error *err)
{
    const object_names *self = ctx;
    if (!url) return pfd_fail_memory(err, 0, "the names in a folder");
    int failure = strlen(url) < self->prefix ? 0 : note_object(self, url + self->prefix);
    free(url);
    return failure ? pfd_fail_memory(err, 0, "the names in a folder") : PFD_OK;
}

pfd_status pfd_folder_objects_read(const char *url, const pfd_list_string *suffixes,
                                   pfd_folder_names *out, pfd_error *err)
{
    size_t size = strlen(url);
    while (size > 0 && url[size - 1] == '/') size--;
    char *folder;
    if (asprintf(&folder, "%.*s/", (int)size, url) < 0)
        return pfd_fail_memory(err, (int64_t)size, "a path");
    object_names names = {size + 1, suffixes, out};
    pfd_status status = pfd_remote_list(folder, take_object, &names, err);
    free(folder);
    sort(&out->files);
    sort(&out->folders);
    return status;
}

void pfd_folder_names_free(pfd_folder_names *names)
{
    pfd_path_list_free(&names->files);
    pfd_path_list_free(&names->folders);
    pfd_path_list_free(&names->others);
    free(names->broken);
    *names = (pfd_folder_names){0};
}

/* ---- Messages about missing files: what a folder holds --------------------------------------- */

enum { shown_names = 5, most_names = 10000 };

#define WILDCARDS "*?["

/* Returns 0 or an errno. */
static int read_all_names(const char *folder, pfd_folder_names *out)
{
    const pfd_list_string all = {0};
    *out = (pfd_folder_names){0};
    return pfd_folder_names_read(AT_FDCWD, folder, &all, out);
}

void pfd_write_names(const pfd_folder_names *names, int32_t folders_first, char *out,
                     size_t capacity)
{
    const pfd_path_list *first = folders_first ? &names->folders : &names->files;
    const pfd_path_list *then = folders_first ? &names->files : &names->folders;
    int64_t all = first->size + then->size;
    size_t used = (size_t)snprintf(out, capacity, "%s", all > 0 ? "holds " : "is empty");
    for (int64_t i = 0; i < all && i < shown_names && used < capacity; i++) {
        int32_t is_first = i < first->size;
        const char *name = is_first ? first->paths[i] : then->paths[i - first->size];
        used += (size_t)snprintf(out + used, capacity - used, "%s'%.60s%s'", i ? ", " : "", name,
                                 is_first == folders_first ? "/" : "");
    }
    if (all > shown_names && used < capacity)
        (void)snprintf(out + used, capacity - used, " and %" PRId64 " more", all - shown_names);
}

const char *pfd_folder_holds(const char *folder, char *out, size_t capacity)
{
    pfd_folder_names names;
    out[0] = '\0';
    if (read_all_names(folder, &names) == 0) pfd_write_names(&names, 1, out, capacity);
    pfd_folder_names_free(&names);
    return out;
}

const char *pfd_suggest_pattern(const char *folder, char *out, size_t capacity)
{
    pfd_folder_names names;
    out[0] = '\0';
    if (read_all_names(folder, &names) == 0 && names.files.size > 0) {
        const char *name = names.files.paths[0], *suffix = strrchr(name, '.');
        size_t size = strlen(folder);
        (void)snprintf(out, capacity, "%s%s*%s", folder,
                       size > 0 && folder[size - 1] == '/' ? "" : "/", suffix ? suffix : "");
    }
    pfd_folder_names_free(&names);
    return out;
}

/* ---- Messages about missing files: why a file is missing ------------------------------------- */

/* The file or folder of the folder whose name is most like `name`, or NULL. */
static const char *nearest(const pfd_folder_names *names, const char *name)
{
    const char *found = NULL;
    int64_t files = names->files.size, all = files + names->folders.size;
    const char **list = all <= most_names ? calloc((size_t)all + 1, sizeof *list) : NULL;
    for (int64_t i = 0; list && i < all; i++)
        list[i] = i < files ? names->files.paths[i] : names->folders.paths[i - files];
    if (list) found = pfd_nearest_name(name, list, all);
    free(list);
    return found;
}

/* Writes the folder in which a name was looked for, without the slash at its end; "." for the
 * current one.  `size`: the length of the folder's path with that slash. */
static void write_folder(const char *path, size_t size, char *out, size_t capacity)
{
    int length = size > 1 ? (int)size - 1 : (int)size; /* the root keeps its slash */
    (void)snprintf(out, capacity, "%.*s", size > 0 ? length : 1, size > 0 ? path : ".");
}

static void say_folder_missing(const char *path, int reason, char *out, size_t capacity)
{
    char above[PATH_MAX];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    pfd_folder_names names;
    if (reason == ENOTDIR) {
        (void)snprintf(out, capacity, "'%.200s' is not a folder", path);
    } else if (reason != ENOENT) {
        (void)snprintf(out, capacity, "the folder '%.200s' cannot be read: %s", path,
                       strerror(reason));
    } else {
        write_folder(path, (size_t)(name - path), above, sizeof above);
        const char *near = read_all_names(above, &names) == 0 ? nearest(&names, name) : NULL;
        (void)snprintf(out, capacity, "there is no folder '%.200s'%s%.*s%.200s%s", path,
                       near ? "; did you mean '" : "", near ? (int)(name - path) : 0, path,
                       near ? near : "", near ? "'?" : "");
        pfd_folder_names_free(&names);
    }
}

static void say_path(const char *path, char *out, size_t capacity)
{
    struct stat st;
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    pfd_folder_names names;
    if (lstat(path, &st) == 0) {
        (void)snprintf(out, capacity, "%s", S_ISLNK(st.st_mode)
                                                ? "this is a link to something that is not there"
                                                : "it cannot be read");
        return;
    }
    write_folder(path, (size_t)(name - path), folder, sizeof folder);
    int reason = read_all_names(folder, &names);
    size_t used = (size_t)snprintf(out, capacity, "the file is not there");
    const char *near = reason == 0 && *name ? nearest(&names, name) : NULL;
    if (near) {
        (void)snprintf(out + used, capacity - used, "; did you mean '%.*s%.200s'?",
                       (int)(name - path), path, near);
    } else if (reason == 0) {
        used += (size_t)snprintf(out + used, capacity - used, "; the folder '%.200s' ", folder);
        if (used < capacity) pfd_write_names(&names, 0, out + used, capacity - used);
    } else {
        used += (size_t)snprintf(out + used, capacity - used, ": ");
        say_folder_missing(folder, reason, out + used, capacity - used);
    }
    pfd_folder_names_free(&names);
}

static void say_pattern(const char *pattern, char *out, size_t capacity)
{
    char folder[PATH_MAX];
    size_t end = strcspn(pattern, WILDCARDS), used;
    while (end > 0 && pattern[end - 1] != '/') end--;
    write_folder(pattern, end, folder, sizeof folder);
    pfd_folder_names names;
    int reason = read_all_names(folder, &names);
    used = (size_t)snprintf(out, capacity, "no file matches the pattern '%.400s': ", pattern);
    if (used >= capacity) return;
    if (reason != 0) {
        say_folder_missing(folder, reason, out + used, capacity - used);
    } else {
        used += (size_t)snprintf(out + used, capacity - used, "the folder '%.200s' ", folder);
        if (used < capacity) pfd_write_names(&names, 0, out + used, capacity - used);
    }
    pfd_folder_names_free(&names);
}

static void say_home(const char *path, char *out, size_t capacity)
{
    const char *home = getenv("HOME");
    size_t used = (size_t)snprintf(
        out, capacity, "'~' stands for a home folder only in a shell, and not in '%.200s'", path);
    if (used >= capacity) return;
    if (home && path[1] == '/')
        (void)snprintf(out + used, capacity - used, ": write '%.200s%.200s'", home, path + 1);
    else
        (void)snprintf(out + used, capacity - used, ": write the whole path");
}

/* How many characters the scheme of an address has that was written with one slash, "http:/host";
 * else 0. */
static int split_scheme(const char *path)
{
    size_t size = strcspn(path, ":/");
    int32_t is_one = size >= 2 && path[size] == ':' && path[size + 1] == '/';
    return is_one && strncasecmp(path, "file:", 5) ? (int)size : 0;
}

const char *pfd_missing_file_words(const char *pattern, char *out, size_t capacity)
{
    struct stat st;
    if (pfd_path_is_remote(pattern))
        (void)snprintf(out, capacity, strpbrk(pattern, WILDCARDS)
                                          ? "no object matches the pattern '%.400s'"
                                          : "there is no object at this address, and none below it",
                       pattern);
    else if (pattern[0] == '~')
        say_home(pattern, out, capacity);
    else if (split_scheme(pattern))
        (void)snprintf(out, capacity,
                       "the file is not there; an address has two slashes: '%.*s:/%.400s'",
                       split_scheme(pattern), pattern, pattern + split_scheme(pattern) + 1);
    else if (strpbrk(pattern, WILDCARDS) && stat(pattern, &st) != 0)
        say_pattern(pattern, out, capacity);
    else
        say_path(pattern, out, capacity);
    return out;
}

void pfd_missing_file(const char *pattern, char *out, int64_t room)
{
    if (room > 0) (void)pfd_missing_file_words(pattern, out, (size_t)room);
}

/* ---- Patterns -------------------------------------------------------------------------------- */

pfd_status pfd_fail_missing_path(const char *attr, const char *pattern, pfd_error *err)
{
    char words[700];
    (void)pfd_missing_file_words(pattern, words, sizeof words);
    (void)pfd_fail_attr(err, attr, NULL, PFD_IO, ": %s", words);
    if (!strpbrk(pattern, WILDCARDS)) pfd_error_set_file(err, pattern);
    return PFD_IO;
}

int32_t pfd_path_is_missing(const char *path)
{
    return !pfd_path_is_remote(path) && access(path, F_OK) != 0 && errno == ENOENT;
}

/* Patterns do not stand for seals, which lie beside the data, unless they say so. */
static int32_t is_seal(const char *name)
{
    size_t length = strlen(name), suffix = strlen(pfd_seal_suffix());
    return length > suffix && !strcmp(name + length - suffix, pfd_seal_suffix());
}

/* What glob() could not read, and leaves out; its callbacks have no argument for this. */
static _Thread_local struct {
    int reason; /* an errno; 0: nothing failed */
    char path[PATH_MAX];
} unread;

/* A path that does not exist, or is not a folder, has no matches; a link that leads nowhere counts
 * as if it had some. */
static void note_unread(const char *path)
{
    int reason = errno;
    pfd_error ignored = {.struct_size = sizeof ignored};
    if (unread.reason) return;
    if (pfd_errno_class(reason, 0) == PFD_REASON_NONE &&
        (!path || pfd_check_links(path, &ignored) == PFD_OK))
        return;
    unread.reason = reason;
    if (path) (void)snprintf(unread.path, sizeof unread.path, "%s", path);
}

static void *open_folder(const char *path)
{
    DIR *folder = pfd_sys_opendir(NULL, AT_FDCWD, path);
    if (!folder) note_unread(path);
    if (!unread.reason) (void)snprintf(unread.path, sizeof unread.path, "%s", path);
    return folder;
}

static struct dirent *read_folder(void *folder)
{
    struct dirent *entry = pfd_sys_readdir(NULL, folder);
    if (!entry && errno != 0) note_unread(NULL); /* glob() reads one folder after another */
    return entry;
}

static void close_folder(void *folder)
{
    (void)closedir(folder);
}

static int examine(const char *path, struct stat *st)
{
    int result = pfd_sys_stat(NULL, AT_FDCWD, path, st);
    if (result != 0) note_unread(path);
    return result;
}

static pfd_status check_unread(const char *attr, const char *pattern, pfd_error *err)
{
    if (!unread.reason) return PFD_OK;
    if (pfd_errno_class(unread.reason, 0) == PFD_REASON_NONE)
        PFD_TRY(pfd_check_links(unread.path, err));
    pfd_status status = unread.reason == ENOMEM ? PFD_OUT_OF_MEMORY : PFD_IO;
    (void)pfd_fail_attr(err, attr, NULL, status,
                        ": the pattern '%.400s' cannot be matched: '%.400s': %s", pattern,
                        unread.path, strerror(unread.reason));
    return pfd_error_set_errno(err, unread.reason);
}

static pfd_status find_matches(const char *attr, const char *pattern, glob_t *found,
                               pfd_error *err)
{
    *found = (glob_t){.gl_opendir = open_folder, .gl_readdir = read_folder,
                      .gl_closedir = close_folder, .gl_stat = examine, .gl_lstat = examine};
    unread.reason = 0;
    /* glob() sorts by locale; in stores a backslash is a character as well */
    int result = glob(pattern, GLOB_NOSORT | GLOB_NOESCAPE | GLOB_ALTDIRFUNC, NULL, found);
    errno = ENOMEM;
    if (result == GLOB_NOSPACE) note_unread(pattern);
    return check_unread(attr, pattern, err);
}

/* What is wanted of a pattern. */
typedef struct matching {
    const char *attr, *pattern; /* as given */
    int32_t wants_folders;      /* only those; 0: only what is none */
    pfd_path_list *out;
} matching;

/* A folder, and those around it. */
typedef struct open_folders {
    dev_t device;
    ino_t inode;
    const struct open_folders *around;
} open_folders;

static int32_t is_around(const open_folders *folders, const struct stat *st)
{
    while (folders && (folders->device != st->st_dev || folders->inode != st->st_ino))
        folders = folders->around;
    return folders != NULL;
}

/* A pattern that stands for one path; NULL: no memory is left. */
static char *pattern_of(const char *path)
{
    char *pattern = malloc(3 * strlen(path) + 1), *end = pattern;
    for (; pattern && *path; path++)
        end += sprintf(end, strchr(WILDCARDS, *path) ? "[%c]" : "%c", *path);
    if (pattern) *end = '\0';
    return pattern;
}

static pfd_status add_found(const matching *m, const char *pattern, pfd_error *err);
static pfd_status add_below_each(const matching *m, const char *folders, const char *rest,
                                 const open_folders *around, pfd_error *err);

/* Adds the matches of `rest` in a folder, whose path ends with a slash, and in the folders in it
 * that are not hidden; a link to a folder around it is left out. */
static pfd_status add_below(const matching *m, const char *folder, const char *rest,
                            const open_folders *around, pfd_error *err)
{
    struct stat st;
    char *here = NULL, *inside = NULL, *prefix;
    if (examine(folder[0] ? folder : ".", &st) != 0 || is_around(around, &st))
        return check_unread(m->attr, m->pattern, err);
    open_folders own = {.device = st.st_dev, .inode = st.st_ino, .around = around};
    if (!(prefix = pattern_of(folder)) || asprintf(&here, "%s%s", prefix, rest) < 0) here = NULL;
    if (!here || asprintf(&inside, "%s*/", prefix) < 0) inside = NULL;
    pfd_status status = inside ? PFD_OK : pfd_fail_memory(err, 0, "a pattern");
    if (status == PFD_OK) status = add_found(m, here, err);
    if (status == PFD_OK) status = add_below_each(m, inside, rest, &own, err);
    free(prefix);
    free(here);
    free(inside);
    return status;
}

/* The same for each folder that a pattern, which ends with a slash, matches. */
static pfd_status add_below_each(const matching *m, const char *folders, const char *rest,
                                 const open_folders *around, pfd_error *err)
{
    glob_t found;
    pfd_status status = find_matches(m->attr, folders, &found, err);
    for (size_t i = 0; status == PFD_OK && i < found.gl_pathc; i++)
        status = add_below(m, found.gl_pathv[i], rest, around, err);
    globfree(&found);
    return status;
}

/* The first part of a pattern that is "**", for any number of folders; NULL: there is none. */
static const char *find_deep(const char *pattern)
{
    const char *at = pattern;
    while ((at = strstr(at, "**")) &&
           ((at > pattern && at[-1] != '/') || (at[2] && at[2] != '/')))
        at++;
    return at;
}

static pfd_status add_deep(const matching *m, const char *pattern, const char *deep, pfd_error *err)
{
    const char *rest = deep[2] ? deep + 3 : "*";
    while (find_deep(rest) == rest) rest = rest[2] ? rest + 3 : "*"; /* ** twice is ** */
    if (deep == pattern) return add_below(m, "", rest, NULL, err);
    char *folders = strndup(pattern, (size_t)(deep - pattern));
    if (!folders) return pfd_fail_memory(err, 0, "a pattern");
    pfd_status status = add_below_each(m, folders, rest, NULL, err);
    free(folders);
    return status;
}

static pfd_status add_found(const matching *m, const char *pattern, pfd_error *err)
{
    const char *deep = find_deep(pattern);
    if (deep) return add_deep(m, pattern, deep, err);
    glob_t found;
    pfd_status status = find_matches(m->attr, pattern, &found, err);
    for (size_t i = 0; status == PFD_OK && i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i];
        struct stat st;
        int32_t is_folder = examine(path, &st) == 0 && S_ISDIR(st.st_mode);
        status = check_unread(m->attr, pattern, err);
        if (status != PFD_OK || is_folder != m->wants_folders) continue;
        if (is_seal(path) && !is_seal(m->pattern)) continue;
        status = pfd_path_list_take(m->out, strdup(path), err);
    }
    globfree(&found);
    return status;
}

/* Adds the matches of a pattern that are folders, or those that are not, each once. */
static pfd_status add_matches(const char *attr, const char *pattern, int32_t wants_folders,
                              pfd_path_list *out, pfd_error *err)
{
    int64_t before = out->size, kept = before;
    PFD_TRY(add_found(&(matching){attr, pattern, wants_folders, out}, pattern, err));
    if (out->size == before) return pfd_fail_missing_path(attr, pattern, err);
    qsort(out->paths + before, (size_t)(out->size - before), sizeof *out->paths, by_bytes);
    for (int64_t i = before; i < out->size; i++) { /* several ** match a path in several ways */
        char *path = out->paths[i];
        if (kept > before && !strcmp(out->paths[kept - 1], path)) free(path);
        else out->paths[kept++] = path;
    }
    out->size = kept;
    return PFD_OK;
}

static pfd_status take_path(void *list, char *path, pfd_error *err)
{
    return pfd_path_list_take(list, path, err);
}

pfd_status pfd_path_list_add_remote(pfd_path_list *list, const char *pattern, pfd_error *err)
{
    return pfd_remote_list(pattern, take_path, list, err);
}

/* The same, of addresses, and only of objects. */
static pfd_status add_objects(const char *attr, const char *pattern, pfd_path_list *out,
                              pfd_error *err)
{
    int64_t before = out->size, kept = out->size;
    if (strpbrk(pattern, WILDCARDS)) PFD_TRY(pfd_path_list_add_remote(out, pattern, err));
    for (int64_t i = before; i < out->size; i++) {
        char *path = out->paths[i];
        if (is_seal(path) && !is_seal(pattern)) free(path);
        else out->paths[kept++] = path;
    }
    out->size = kept;
    return kept > before ? PFD_OK : pfd_fail_missing_path(attr, pattern, err);
}

pfd_status pfd_folder_pattern_find(const char *attr, const char *pattern, pfd_path_list *out,
                                   pfd_error *err)
{
    return add_matches(attr, pattern, 1, out, err);
}

pfd_status pfd_check_each_path_once(const char *attr, char *const *paths, int64_t size,
                                    pfd_error *err)
{
    size_t n = (size_t)size;
    char **sorted = malloc(n * sizeof *sorted);
    if (!sorted) return pfd_fail_memory(err, (int64_t)(n * sizeof *sorted), "a list of files");
    memcpy(sorted, paths, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_bytes);
    pfd_status status = PFD_OK;
    for (size_t i = 1; i < n && status == PFD_OK; i++)
        if (!strcmp(sorted[i], sorted[i - 1]))
            status = pfd_fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                                   ": the file '%.400s' is named twice, so each of its records "
                                   "would be read twice", sorted[i]);
    free(sorted);
    return status;
}

pfd_status pfd_file_patterns_find(const char *attr, const pfd_list_string *patterns,
                                  int32_t keep_missing, pfd_path_list *out, pfd_error *err)
{
    for (int64_t i = 0; i < patterns->size; i++) {
        const char *pattern = patterns->data[i];
        int32_t kind;
        if (!strncasecmp(pattern, "file:///", 8)) pattern += strlen("file://");
        if (!pattern[0])
            return pfd_fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                                 ": an element is empty; it must be a path or a pattern");
        int32_t is_remote = pfd_path_is_remote(pattern), is_pattern = !!strpbrk(pattern, WILDCARDS);
        /* Addresses are looked at all together, when they are opened. */
        int32_t is_kept = (keep_missing || is_remote) && !is_pattern;
        if (is_remote && is_pattern) {
            PFD_TRY(add_objects(attr, pattern, out, err));
            continue;
        }
        if (!is_kept) PFD_TRY(pfd_path_kind(pattern, &kind, err));
        if (is_kept || kind != PFD_PATH_MISSING)
            PFD_TRY(pfd_path_list_take(out, strdup(pattern), err));
        else
            PFD_TRY(add_matches(attr, pattern, 0, out, err));
    }
    return pfd_check_each_path_once(attr, out->paths, out->size, err);
}
