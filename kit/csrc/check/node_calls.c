/* Watches the functions of an op that the host calls where a node is made: infer(), companions()
 * and propose().  They are replaced in the registry's copy of the descriptor meanwhile; a node that
 * is made then may keep a copy of that, so that they are called later, too. */
#include "core/error.h"
#include "check/run_state.h"

static struct watched {
    pfd_kit_run_state run;
    pfd_node node; /* has the op, and nothing else */
    pfd_op *op;    /* the registry's */
    pfd_op real;   /* as it was */
    int32_t num_nodes;
    int32_t is_open; /* 0: they only call the real ones, as `run` is over */
} watched;

static pfd_kit_call *enter(pfd_kit_call *call, const char *function, pfd_error *err)
{
    pfd_kit_call *outer = pfd_kit_active;
    *call = (pfd_kit_call){.run = &watched.run};
    pfd_kit_active = call;
    pfd_error_clear(err);
    pfd_kit_enter(call, function, NULL);
    return outer;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    pfd_kit_call call;
    if (!watched.is_open) return watched.real.infer(args, err);
    /* Tables may be made once, at the first node. */
    if (watched.num_nodes++ == 1) pfd_kit_globals_open(&watched.run);
    pfd_kit_call *outer = enter(&call, "infer()", err);
    pfd_infer_args given = *args;
    pfd_status status = PFD_OUT_OF_MEMORY;
    if (pfd_kit_attrs_open(&watched.run, args->attrs)) {
        given.attrs = watched.run.attrs;
        status = watched.real.infer(&given, err);
    } else {
        (void)pfd_fail_memory(err, 0, "attrs");
    }
    status = pfd_kit_leave(&call, status, err);
    pfd_kit_attrs_close(&watched.run);
    pfd_kit_active = outer;
    return status;
}

static pfd_status companions(const pfd_companion_args *args, pfd_error *err)
{
    if (!watched.is_open) return watched.real.companions(args, err);
    pfd_kit_call call, *outer = enter(&call, "companions()", err);
    pfd_status status = pfd_kit_leave(&call, watched.real.companions(args, err), err);
    pfd_kit_active = outer;
    return status;
}

static pfd_status propose(const pfd_propose_args *args, pfd_error *err)
{
    if (!watched.is_open) return watched.real.propose(args, err);
    pfd_kit_call call, *outer = enter(&call, "propose()", err);
    pfd_status status = pfd_kit_leave(&call, watched.real.propose(args, err), err);
    pfd_kit_active = outer;
    return status;
}

pfd_status pfd_kit_watch_begin(const char *op, const pfd_kit_options *options, pfd_kit_result *out,
                               pfd_error *err)
{
    const pfd_registered_op *found = pfd_registry_find(op, err);
    if (!found) return err->status;
    watched = (struct watched){
        .run = {.node = &watched.node, .options = options, .result = out},
        .node = {.op = found},
        .op = (pfd_op *)(uintptr_t)found->op,
        .real = *found->op,
        .is_open = 1,
    };
    pfd_kit_run_begin(&watched.run);
    watched.op->infer = infer;
    if (watched.real.companions) watched.op->companions = companions;
    if (watched.real.propose) watched.op->propose = propose;
    return PFD_OK;
}

void pfd_kit_watch_end(void)
{
    watched.op->infer = watched.real.infer;
    watched.op->companions = watched.real.companions;
    watched.op->propose = watched.real.propose;
    watched.is_open = 0;
    pfd_kit_globals_close();
    pfd_kit_run_end(&watched.run);
}
