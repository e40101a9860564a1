/* Looks at what is there in place of a missing file: near names, or the folder above it. */
#include "files/missing_file_words.h"

#include "parse/words.h"
#include "pyflowdata/pyflowdata.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { shown_names = 5, most_names = 10000 };

#define WILDCARDS "*?["

/* Returns 0 or an errno. */
static int read_names(const char *folder, pfd_folder_names *out)
{
    const pfd_list_string all = {0};
    *out = (pfd_folder_names){0};
    return pfd_folder_names_read(AT_FDCWD, folder, &all, out);
}

/* ---- Folders --------------------------------------------------------------------------------- */

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
    if (read_names(folder, &names) == 0) pfd_write_names(&names, 1, out, capacity);
    pfd_folder_names_free(&names);
    return out;
}

const char *pfd_suggest_pattern(const char *folder, char *out, size_t capacity)
{
    pfd_folder_names names;
    out[0] = '\0';
    if (read_names(folder, &names) == 0 && names.files.size > 0) {
        const char *name = names.files.paths[0], *suffix = strrchr(name, '.');
        size_t size = strlen(folder);
        (void)snprintf(out, capacity, "%s%s*%s", folder,
                       size > 0 && folder[size - 1] == '/' ? "" : "/", suffix ? suffix : "");
    }
    pfd_folder_names_free(&names);
    return out;
}

/* ---- Files ----------------------------------------------------------------------------------- */

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

/* The folder in which a name was looked for, without the slash at its end; "." for the current one.
 * `size`: of the path with the slash. */
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
        const char *near = read_names(above, &names) == 0 ? nearest(&names, name) : NULL;
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
    int reason = read_names(folder, &names);
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
    int reason = read_names(folder, &names);
    used = (size_t)snprintf(out, capacity, "no file matches the pattern '%.400s'%s: ", pattern,
                            strstr(pattern, "**") ? "; ** matches within one folder, as * does"
                                                  : "");
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

const char *pfd_missing_file_words(const char *pattern, char *out, size_t capacity)
{
    struct stat st;
    if (strstr(pattern, "://"))
        (void)snprintf(out, capacity,
                       "'%.400s' is an address; files are read from mounted file systems: copy or "
                       "mount it first", pattern);
    else if (pattern[0] == '~')
        say_home(pattern, out, capacity);
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
