/* The findings of a run, and the call that each thread is in. */
#include "watch/run_state.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Thread_local pfd_kit_call *pfd_kit_active;
_Thread_local const char *pfd_kit_last_function;

/* ---- Findings -------------------------------------------------------------------------------- */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static pfd_kit_finding *take_finding(pfd_kit_result *result, const char *id)
{
    const int64_t most = sizeof result->findings / sizeof *result->findings;
    for (int64_t i = 0; i < result->num_findings; i++)
        if (!strcmp(result->findings[i].id, id)) return NULL;
    return result->num_findings < most ? &result->findings[result->num_findings++] : NULL;
}

static __attribute__((format(printf, 4, 0))) void report(pfd_kit_run_state *run, const char *id,
                                                         int32_t pattern, const char *format,
                                                         va_list args)
{
    pthread_mutex_lock(&lock);
    pfd_kit_finding *finding = take_finding(run->result, id);
    if (finding) {
        snprintf(finding->id, sizeof finding->id, "%s", id);
        finding->pattern = pattern;
        int size = vsnprintf(finding->text, sizeof finding->text, format, args);
        const char *types = pfd_kit_active ? pfd_kit_active->type_words : NULL;
        if (types && size >= 0 && size < (int)sizeof finding->text)
            snprintf(finding->text + size, sizeof finding->text - (size_t)size, " (%s)", types);
    }
    pthread_mutex_unlock(&lock);
}

void pfd_kit_report(pfd_kit_run_state *run, const char *id, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(run, id, PFD_KIT_NO_PATTERN, format, args);
    va_end(args);
}

void pfd_kit_report_pattern(pfd_kit_run_state *run, const char *id, int32_t pattern,
                            const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(run, id, pattern, format, args);
    va_end(args);
}

void pfd_kit_process_report(const pfd_kit_call *call, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    pfd_kit_report(call->run, "process-state",
                   "%s changed the %s of the whole process, which is the program's: leave it as "
                   "it is",
                   call->function, what);
}
