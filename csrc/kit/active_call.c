/* The call that a thread is in. */
#include "kit/run_state.h"

_Thread_local pfd_kit_call *pfd_kit_active;
