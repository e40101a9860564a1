/* The call that a thread is in, for all that the op calls in it; call.c prepares and checks it. */
#include "check/run_state.h"

_Thread_local pfd_kit_call *pfd_kit_active;
_Thread_local const char *pfd_kit_last_function;
