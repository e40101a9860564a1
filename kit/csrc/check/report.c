/* Reports what the kit found about an op. */
#include "core/error.h"
#include "check/run_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static pfd_kit_finding *take_finding(pfd_kit_result *result, const char *id)
{
    const int64_t most = sizeof result->findings / sizeof *result->findings;
    for (int64_t i = 0; i < result->num_findings; i++)
        if (!strcmp(result->findings[i].id, id)) return NULL;
    return result->num_findings < most ? &result->findings[result->num_findings++] : NULL;
}

static __attribute__((format(printf, 4, 0))) void
report(pfd_kit_run_state *run, const char *id, int32_t pattern, const char *format, va_list args)
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

static void report_status(pfd_kit_run_state *run, const char *function, pfd_status status,
                          const pfd_error *err)
{
    if (status > 0)
        pfd_kit_report(run, "status-not-allowed",
                       "%s returned status %d; only next() may return PFD_END, and nothing "
                       "PFD_PENDING: return PFD_OK or what host->fail() returned",
                       function, status);
    else if (status == PFD_OK && atomic_load(&run->injected))
        pfd_kit_report(run,
                       run->options->fail_alloc ? "alloc-failure-ignored" : "read-failure-ignored",
                       "%s returned PFD_OK though host->%s() had failed: return the failure "
                       "(\"%.200s\") instead of going on",
                       function, run->options->fail_alloc ? "alloc" : "read", err->message);
    else if (status == PFD_OK && !strcmp(function, "next()"))
        pfd_kit_report(run, "failure-not-returned",
                       "%s reported \"%.200s\" and returned PFD_OK: return what host->fail() "
                       "returned; or, after records that are good, PFD_OK with nothing reported in "
                       "*err, and this failure at the next call",
                       function, err->message);
    else if (status == PFD_OK)
        pfd_kit_report(run, "failure-not-returned",
                       "%s reported \"%.200s\" and returned PFD_OK: return what host->fail() "
                       "returned",
                       function, err->message);
    else if (err->status != PFD_OK)
        pfd_kit_report(run, "status-mismatch",
                       "%s returned status %d, but reported status %d: return what host->fail() "
                       "returned",
                       function, status, err->status);
    else
        pfd_kit_report(run, "no-message",
                       "%s returned status %d without a message: return host->fail(err, status, "
                       "\"what was found; what was expected\") instead of a bare status",
                       function, status);
}

pfd_status pfd_kit_returned(pfd_kit_run_state *run, const char *function, pfd_status status,
                            pfd_error *err)
{
    pfd_status agreed = status;
    if (status != err->status || status > PFD_OK) {
        report_status(run, function, status, err);
        agreed = status < 0 ? status : PFD_INTERNAL;
        if (status == PFD_OK && err->status < 0) agreed = err->status; /* as it should be */
        if (err->status != agreed) (void)pfd_fail(err, agreed, "status %d, no message", status);
    } else if (status != PFD_OK && !err->message[0]) {
        report_status(run, function, status, &(pfd_error){.status = PFD_OK});
    }
    if (agreed == PFD_OK) return PFD_OK;
    pthread_mutex_lock(&lock);
    pfd_kit_result *result = run->result;
    /* Damage may be intended by the check, so any other failure takes precedence. */
    if (result->status == PFD_OK ||
        (result->status == PFD_CORRUPT_DATA && agreed != PFD_CORRUPT_DATA)) {
        result->status = agreed;
        result->error = *err;
        snprintf(result->function, sizeof result->function, "%s", function);
    }
    pthread_mutex_unlock(&lock);
    return agreed;
}
