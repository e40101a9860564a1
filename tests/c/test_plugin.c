/* Plugins in the registry, as descriptors made here: added, added again, replaced, given back. */
#include "check.h"

#include "core/error.h"
#include "registry/registry.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = args->inputs[0];
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)args;
    (void)err;
    return PFD_OK;
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    (void)out;
    return args->host->fail(err, PFD_UNSUPPORTED, "nothing to open");
}

static const pfd_port ports[] = {{"rows", "Some rows."}};

static pfd_op make_op(const char *name, const char *doc)
{
    return (pfd_op){PFD_OP_SIZES,     .name = name,    .doc = doc,
                    .inputs = ports,  .num_inputs = 1, .outputs = ports,
                    .num_outputs = 1, .infer = infer,  .compute = compute};
}

static pfd_op make_reader(const char *name)
{
    pfd_op op = make_op(name, "Reads.");
    op.num_inputs = 0;
    op.open = open_source;
    return op;
}

static pfd_plugin make_plugin(const pfd_op *const *ops, uint32_t num_ops)
{
    return (pfd_plugin){.struct_size = sizeof(pfd_plugin), .abi_major = PFD_ABI_MAJOR,
                        .abi_minor = PFD_ABI_MINOR, .num_ops = num_ops, .ops = ops, .name = "p",
                        .version = "1"};
}

static const pfd_registered_op *found(const char *name)
{
    pfd_error err = {.struct_size = sizeof err};
    return pfd_registry_find(name, &err);
}

static int64_t count_ops(void)
{
    int64_t n = 0;
    while (pfd_op_at(n)) n++;
    return n;
}

static void test_added_once(void)
{
    pfd_error err = {.struct_size = sizeof err};
    static pfd_op one, two;
    one = make_op("PluginOne", "One.");
    two = make_reader("PluginTwo");
    two.aliases = "plugin_zwei";
    static const pfd_op *const ops[] = {&one, &two};
    static pfd_plugin plugin;
    plugin = make_plugin(ops, 2);
    plugin.struct_size = offsetof(pfd_plugin, version); /* an older header */
    int64_t before = count_ops();
    const pfd_plugin *added = NULL, *again = NULL;
    CHECK(pfd_registry_add(&plugin, "here", 0, &added, &err) == PFD_OK);
    CHECK(added && added->version == NULL && strcmp(added->name, "p") == 0);
    CHECK(count_ops() == before + 2);
    CHECK(strcmp(pfd_op_origin(before), "here") == 0);
    CHECK(found("plugin_one")->author == &one);
    CHECK(found("PluginZwei")->author == &two);
    CHECK(found("PluginTwo")->public_op->num_outputs == 3); /* mask and id */
    CHECK(pfd_registry_add(&plugin, "there", 0, &again, &err) == PFD_OK);
    CHECK(again == added && count_ops() == before + 2);
    CHECK(pfd_registry_add(&plugin, "there", 1, NULL, &err) == PFD_OK);
    CHECK(strcmp(pfd_op_origin(before), "here") == 0);
}

static void test_all_or_none(void)
{
    pfd_error err = {.struct_size = sizeof err};
    pfd_op good = make_op("PluginGood", "Good."), bad = make_op("PluginBad", "Bad.");
    bad.compute = NULL;
    const pfd_op *ops[] = {&good, &bad};
    pfd_plugin plugin = make_plugin(ops, 2);
    int64_t before = count_ops();
    for (int32_t replace = 0; replace < 2; replace++) {
        CHECK(pfd_registry_add(&plugin, "here", replace, NULL, &err) == PFD_INTERNAL);
        SAYS(err, "'PluginBad': compute is NULL");
        CHECK(count_ops() == before && !found("PluginGood"));
    }
    ops[1] = &good; /* the same twice: also with `replace` a fault */
    for (int32_t replace = 0; replace < 2; replace++) {
        CHECK(pfd_registry_add(&plugin, "here", replace, NULL, &err) == PFD_INVALID_ARGUMENT);
        SAYS(err, "the name 'PluginGood' is that of op 'PluginGood' (here)");
        CHECK(count_ops() == before);
    }
}

static void test_replaced(void)
{
    pfd_error err = {.struct_size = sizeof err};
    static pfd_op first, second, third;
    first = make_op("PluginChanging", "First.");
    second = make_reader("PluginChanging");
    third = make_op("PluginThird", "Third.");
    static const pfd_op *const old_ops[] = {&first}, *const new_ops[] = {&second, &third};
    static pfd_plugin old, new;
    old = make_plugin(old_ops, 1);
    new = make_plugin(new_ops, 2);
    int64_t before = count_ops();
    CHECK(pfd_registry_add(&old, "old", 0, NULL, &err) == PFD_OK);
    const pfd_registered_op *held = found("PluginChanging");
    CHECK(pfd_registry_add(&new, "new", 0, NULL, &err) == PFD_INVALID_ARGUMENT);
    SAYS(err, "'PluginChanging' (old)");
    CHECK(pfd_registry_add(&new, "new", 1, NULL, &err) == PFD_OK);
    CHECK(found("PluginChanging")->author == &second && count_ops() == before + 2);
    CHECK(strcmp(pfd_op_origin(before), "new") == 0); /* in its place */
    CHECK(held->author == &first && strcmp(held->op->doc, "First.") == 0);
    CHECK(pfd_registry_add(&old, "old", 0, NULL, &err) == PFD_INVALID_ARGUMENT);
    SAYS(err, "'PluginChanging' (new)");

    /* A later op that fails gives back what an earlier one took the place of. */
    pfd_op bad = make_op("PluginBad", "Bad");
    const pfd_op *ops[] = {&first, &third, &bad};
    pfd_plugin faulty = make_plugin(ops, 3);
    CHECK(pfd_registry_add(&faulty, "faulty", 1, NULL, &err) == PFD_INTERNAL);
    CHECK(found("PluginChanging")->author == &second && found("plugin_third")->author == &third);
    CHECK(count_ops() == before + 2);

    CHECK(pfd_registry_add(&old, "old", 1, NULL, &err) == PFD_OK); /* and back */
    CHECK(found("PluginChanging")->author == &first && found("PluginThird")->author == &third);
}

static void test_built_in_ops_stay(void)
{
    pfd_error err = {.struct_size = sizeof err};
    const char *name = pfd_builtin_ops[0]->name;
    pfd_op op = make_op(name, "Another.");
    const pfd_op *ops[] = {&op};
    pfd_plugin plugin = make_plugin(ops, 1);
    for (int32_t replace = 0; replace < 2; replace++) {
        CHECK(pfd_registry_add(&plugin, "here", replace, NULL, &err) == PFD_INVALID_ARGUMENT);
        SAYS(err, "(built in)");
        CHECK(found(name)->author == pfd_builtin_ops[0]);
    }
}

enum { THREADS = 4, OPS = 20 };
static char names[OPS][24];
static pfd_op thread_ops[OPS];
static const pfd_op *thread_lists[OPS];
static pfd_plugin thread_plugins[OPS];

static void *add_all(void *result)
{
    pfd_error err = {.struct_size = sizeof err};
    intptr_t *faults = result;
    for (int i = 0; i < OPS; i++) {
        *faults += pfd_registry_add(&thread_plugins[i], names[i], 1, NULL, &err) != PFD_OK;
        *faults += found(names[i]) == NULL || count_ops() <= i;
    }
    return NULL;
}

static void test_threads(void)
{
    for (int i = 0; i < OPS; i++) {
        snprintf(names[i], sizeof names[i], "Threaded%d", i);
        thread_ops[i] = make_op(names[i], "Added by many threads.");
        thread_lists[i] = &thread_ops[i];
        thread_plugins[i] = make_plugin(&thread_lists[i], 1);
    }
    int64_t before = count_ops();
    pthread_t threads[THREADS];
    intptr_t faults[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, add_all, &faults[i]) == 0);
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(faults[i] == 0);
    }
    CHECK(count_ops() == before + OPS);
}

/* Plugins call without asking what their version of the interface has. */
static void test_the_host_has_all_functions(void)
{
    const pfd_host *host = pfd_host_table();
    CHECK(host->struct_size == sizeof *host);
    for (size_t at = offsetof(pfd_host, fail); at < sizeof *host; at += sizeof(void *)) {
        void *function;
        memcpy(&function, (const char *)host + at, sizeof function);
        CHECK(function != NULL);
    }
}

int main(void)
{
    test_added_once();
    test_all_or_none();
    test_replaced();
    test_built_in_ops_stay();
    test_threads();
    test_the_host_has_all_functions();
    return report();
}
