/* Calls a function of the op: prepares the call, checks it afterwards, and reports what it
 * found. */
#include "check/calls.h"
#include "core/error.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- What a function returned ---------------------------------------------------------------- */
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

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the failure in a result */

static pfd_status returned(pfd_kit_run_state *run, const char *function, pfd_status status,
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
    /* The check may intend damage, so any other failure takes precedence. */
    if (result->status == PFD_OK ||
        (result->status == PFD_CORRUPT_DATA && agreed != PFD_CORRUPT_DATA)) {
        result->status = agreed;
        result->error = *err;
        snprintf(result->function, sizeof result->function, "%s", function);
    }
    pthread_mutex_unlock(&lock);
    return agreed;
}

/* ---- Around a call --------------------------------------------------------------------------- */
void pfd_kit_enter(pfd_kit_call *call, const char *function, pfd_kit_scratch *scratch)
{
    call->function = pfd_kit_last_function = function;
    call->scratches[0] = scratch;
    pfd_kit_process_enter(call);
}

void pfd_kit_left(pfd_kit_call *call)
{
    pfd_kit_process_check(call, PFD_OK);
    pfd_kit_globals_check(call->run, call->function);
    call->scratches[0] = NULL;
}

pfd_status pfd_kit_leave(pfd_kit_call *call, pfd_status status, pfd_error *err)
{
    pfd_kit_process_check(call, status); /* first: the processor may compute otherwise */
    pfd_kit_globals_check(call->run, call->function);
    status = returned(call->run, call->function, status, err);
    call->scratches[0] = NULL;
    return status;
}
