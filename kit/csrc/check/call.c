/* Prepares each call of a function of the op under check, and checks it afterwards. */
#include "check/run_state.h"

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
    status = pfd_kit_returned(call->run, call->function, status, err);
    call->scratches[0] = NULL;
    return status;
}
