/* The variables of the environment. */
#include "watch/process_watch.h"

#include <stdlib.h>
#include <string.h>

extern char **environ;

/* As they were: pointers into the environment, and copies of what they point to. */
static char **pointers;
static char **copies;
static size_t num_variables;
static int32_t is_watched, compares_text;

void pfd_kit_environment_end(void)
{
    for (size_t i = 0; copies && i < num_variables; i++) free(copies[i]);
    free(pointers);
    free(copies);
    pointers = copies = NULL;
    num_variables = 0;
    is_watched = 0;
}

void pfd_kit_environment_begin(int32_t is_full)
{
    compares_text = is_full;
    while (environ && environ[num_variables]) num_variables++;
    pointers = calloc(num_variables + 1, sizeof *pointers);
    copies = calloc(num_variables + 1, sizeof *copies);
    is_watched = pointers && copies;
    for (size_t i = 0; is_watched && i < num_variables; i++) {
        pointers[i] = environ[i];
        copies[i] = strdup(environ[i]);
        if (!copies[i]) is_watched = 0;
    }
    if (!is_watched) pfd_kit_environment_end();
}

static int32_t is_as_before(void)
{
    for (size_t i = 0; i < num_variables; i++) {
        if (!environ || environ[i] != pointers[i]) return 0;
        if (compares_text && strcmp(environ[i], copies[i]) != 0) return 0;
    }
    return !environ || !environ[num_variables];
}

/* Of "NAME=VALUE", for free(); *value points into it. */
static char *split(const char *variable, char **value)
{
    char *name = strdup(variable);
    *value = name ? strchr(name, '=') : NULL;
    if (*value) *(*value)++ = '\0';
    return name;
}

static void check_former(const pfd_kit_call *call, const char *variable)
{
    char *value, *name = split(variable, &value);
    const char *now = value ? getenv(name) : NULL;
    if (value && (!now || strcmp(now, value) != 0)) {
        pfd_kit_process_report(call, "environment variable %s", name);
        (void)setenv(name, value, 1);
    }
    free(name);
}

/* Returns 1 when it removed one, and there may be more. */
static int32_t remove_added(const pfd_kit_call *call)
{
    for (size_t i = 0; environ && environ[i]; i++) {
        char *value, *name = split(environ[i], &value);
        size_t k = 0, size = value ? strlen(name) + 1 : 0;
        while (k < num_variables && strncmp(copies[k], environ[i], size) != 0) k++;
        if (value && k == num_variables) {
            pfd_kit_process_report(call, "environment variable %s", name);
            int32_t is_gone = !unsetenv(name);
            free(name);
            return is_gone;
        }
        free(name);
    }
    return 0;
}

void pfd_kit_environment_check(const pfd_kit_call *call)
{
    if (!is_watched || is_as_before()) return;
    for (size_t i = 0; i < num_variables; i++) check_former(call, copies[i]);
    while (remove_added(call)) continue;
    pfd_kit_environment_end();
    pfd_kit_environment_begin(compares_text); /* the pointers are others */
}
