/* Resolves an attr that names files into paths. */
#include "files/file_patterns.h"

#include "core/error.h"
#include "files/missing_file_words.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

pfd_status pfd_fail_missing_path(const char *attr, const char *pattern, pfd_error *err)
{
    char words[700];
    int32_t is_address = strstr(pattern, "://") != NULL;
    pfd_status status = is_address ? PFD_UNSUPPORTED : PFD_IO;
    (void)pfd_missing_file_words(pattern, words, sizeof words);
    (void)pfd_fail_attr(err, attr, NULL, status, ": %s", words);
    if (!is_address && !strpbrk(pattern, "*?[")) pfd_error_set_file(err, pattern);
    return status;
}

/* Adds the matches of a pattern that are folders, or those that are none. */
static pfd_status add_matches(const char *attr, const char *pattern, int32_t wants_folders,
                              pfd_path_list *out, pfd_error *err)
{
    glob_t found = {0};
    int result = glob(pattern, GLOB_NOSORT, NULL, &found); /* glob() sorts by locale */
    pfd_status status = PFD_OK;
    int64_t before = out->size;
    if (result != 0 && result != GLOB_NOMATCH)
        status = pfd_fail_attr(err, attr, NULL, PFD_IO,
                               ": the pattern '%.400s' cannot be matched: %s", pattern,
                               result == GLOB_NOSPACE ? "out of memory" : strerror(errno));
    for (size_t i = 0; status == PFD_OK && i < found.gl_pathc; i++) {
        struct stat st;
        int32_t is_folder = stat(found.gl_pathv[i], &st) == 0 && S_ISDIR(st.st_mode);
        if (is_folder != wants_folders) continue;
        status = pfd_path_list_take(out, strdup(found.gl_pathv[i]), err);
    }
    globfree(&found);
    if (status != PFD_OK) return status;
    if (out->size == before) return pfd_fail_missing_path(attr, pattern, err);
    qsort(out->paths + before, (size_t)(out->size - before), sizeof *out->paths, by_bytes);
    return PFD_OK;
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
        struct stat st;
        if (!pattern[0])
            return pfd_fail_attr(err, attr, NULL, PFD_INVALID_ARGUMENT,
                                 ": an element is empty; it must be a path or a pattern");
        int32_t is_kept = keep_missing && !strpbrk(pattern, "*?[") && !strstr(pattern, "://");
        if (is_kept || stat(pattern, &st) == 0)
            PFD_TRY(pfd_path_list_take(out, strdup(pattern), err));
        else
            PFD_TRY(add_matches(attr, pattern, 0, out, err));
    }
    return pfd_check_each_path_once(attr, out->paths, out->size, err);
}
