/* Watches the state of the whole process: an op that changes it changes the user's program. */
#include "watch/process_watch.h"

#include <locale.h>

static int32_t is_full;

void pfd_kit_process_begin(pfd_kit_run_state *run)
{
    is_full = run->options->watch_state;
    pfd_kit_signals_begin(is_full);
    pfd_kit_settings_begin(is_full);
    pfd_kit_environment_begin(is_full);
    pfd_kit_random_begin(is_full);
    pfd_kit_locks_begin(run);
    if (!is_full) return;
    pfd_kit_clocks_begin(run);
    pfd_kit_calls_begin(run);
    pfd_kit_descriptors_begin(run);
    pfd_kit_output_begin();
}

void pfd_kit_process_end(pfd_kit_run_state *run)
{
    if (is_full) {
        pfd_kit_output_end();
        pfd_kit_descriptors_end();
        pfd_kit_calls_end();
        pfd_kit_clocks_end(run);
    }
    pfd_kit_locks_end();
    pfd_kit_random_end();
    pfd_kit_environment_end();
    pfd_kit_settings_end();
    is_full = 0;
}

void pfd_kit_process_enter(pfd_kit_call *call)
{
    call->num_locks = pfd_kit_locks_held();
    call->locale = uselocale((locale_t)0);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &call->mask);
    if (is_full) pfd_kit_output_hand_on();
    if (is_full) pfd_kit_descriptors_forget();
    call->arithmetic = pfd_kit_arithmetic_now();
}

/* Restores whatever has changed, so that later checks run as in a program. */
void pfd_kit_process_check(pfd_kit_call *call, pfd_status status)
{
    pfd_kit_arithmetic_check(call); /* first: what follows computes too */
    pfd_kit_locks_check(call, status);
    pfd_kit_mask_check(call);
    pfd_kit_locale_check(call);
    if (call->run->options->num_threads > 1) return;
    pfd_kit_signals_check(call);
    pfd_kit_settings_check(call);
    pfd_kit_environment_check(call);
    pfd_kit_random_check(call);
    if (!is_full) return;
    pfd_kit_calls_check(call);
    pfd_kit_output_check(call);
    pfd_kit_descriptors_check(call);
}
