/* What Python cannot reach of csrc/registry: faulty descriptors, misused calls, attrs as text, and
 * the end of long graphs. */
#include "check.h"

#include "core/error.h"
#include "parse/words.h"
#include "registry/descriptor.h"
#include "registry/node.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Faulty descriptors ---- */

typedef struct sample_attrs {
    int32_t count;
    int32_t flag;
    double ratio;
    const char *kind;
    int32_t dtype;
    pfd_list_int64 shape;
    pfd_list_float64 weights;
    pfd_list_string names;
} sample_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)args;
    (void)err;
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

static pfd_status group(const pfd_group_args *args, int64_t *out, pfd_error *err)
{
    (void)err;
    *out = args->record->ordinal;
    return PFD_OK;
}

static int32_t same_without(const pfd_host *host, const void *attrs, const void *fewer)
{
    return host && attrs && fewer;
}

static pfd_status propose(const pfd_propose_args *args, pfd_error *err)
{
    (void)args, (void)err;
    return PFD_OK;
}

enum { COUNT, FLAG, RATIO, KIND, DTYPE, SHAPE, WEIGHTS, NAMES, NUM_ATTRS };

/* A descriptor that tests may break, with its tables. */
typedef struct sample {
    pfd_op op;
    pfd_attr attrs[NUM_ATTRS];
    pfd_port inputs[2], outputs[2];
} sample;

#define ROW(field, type, text, min, max, choices)                                                  \
    PFD_ATTR_ROW(sample_attrs, field, type, text, min, max, choices, "A doc.")

static const pfd_attr good_attrs[NUM_ATTRS] = {
    ROW(count, PFD_ATTR_INT32, "4", 0, 9, NULL),
    ROW(flag, PFD_ATTR_BOOL, "true", 0, 0, NULL),
    ROW(ratio, PFD_ATTR_FLOAT64, "0.1", 0, 1, NULL),
    ROW(kind, PFD_ATTR_STRING, "b", 0, 0, "a|b"),
    ROW(dtype, PFD_ATTR_DTYPE, "int8", 0, 0, NULL),
    ROW(shape, PFD_ATTR_SHAPE, "2, 3", 0, 0, NULL),
    ROW(weights, PFD_ATTR_LIST_FLOAT64, "1,0.5", 0, 0, NULL),
    ROW(names, PFD_ATTR_LIST_STRING, "x,y", 0, 0, NULL),
};

static void make_sample(sample *s)
{
    *s = (sample){
        .op = {PFD_OP_SIZES, .name = "Sample", .doc = "A doc.", .num_attrs = NUM_ATTRS,
               .attrs_struct_size = sizeof(sample_attrs), .num_inputs = 2, .num_outputs = 2,
               .infer = infer, .compute = compute},
        .inputs = {{"left", "A doc."}, {"right", "A doc."}},
        .outputs = {{"out", "A doc."}, {"rest", "A doc."}},
    };
    memcpy(s->attrs, good_attrs, sizeof good_attrs);
    s->op.attrs = s->attrs;
    s->op.inputs = s->inputs;
    s->op.outputs = s->outputs;
}

#define FAULT(change, part)                                                                        \
    do {                                                                                           \
        sample s;                                                                                  \
        pfd_error err;                                                                             \
        make_sample(&s);                                                                           \
        pfd_error_init(&err);                                                                      \
        change;                                                                                    \
        pfd_op *copy = NULL;                                                                       \
        pfd_status status = pfd_op_copy(&s.op, &copy, &err);                                       \
        if (status == PFD_OK) status = pfd_descriptor_check(copy, &err);                           \
        if (status == PFD_OK) status = pfd_descriptor_check_names(copy, &err);                     \
        free(copy);                                                                                \
        CHECK(status == PFD_INTERNAL && err.status == PFD_INTERNAL);                               \
        SAYS(err, part);                                                                           \
    } while (0)

static void test_faults_of_the_whole(void)
{
    sample good;
    pfd_error error = {.struct_size = sizeof error};
    make_sample(&good);
    CHECK(pfd_descriptor_check(&good.op, &error) == PFD_OK);
    CHECK(pfd_descriptor_check_names(&good.op, &error) == PFD_OK);

    FAULT(s.op.struct_size = 8, "struct_size is 8; it must be sizeof(pfd_op)");
    FAULT(s.op.struct_size = 1u << 30, "struct_size is 1073741824");
    FAULT(s.op.attr_size = 7, "op 'Sample': attr_size is 7; it must be sizeof(pfd_attr)");
    FAULT(s.op.port_size = 0, "port_size is 0; it must be sizeof(pfd_port): begin the descriptor "
                              "with PFD_OP_SIZES");
    FAULT(s.op.num_attrs = 1u << 31, "an op cannot have so many");
    FAULT(s.op.aliases = "a||b", "aliases must be names");
    FAULT(s.op.aliases = "some-name", "aliases must be names");
    FAULT(s.op.name = NULL, "name must be in CamelCase");
    FAULT(s.op.name = "sample_op", "name must be in CamelCase");
    FAULT(s.op.doc = NULL, "op 'Sample': doc must end with a period");
    FAULT(s.op.doc = "No end", "op 'Sample': doc must end with a period");
    FAULT(s.op.flags = 1u << 20, "flags has unknown bits");
    FAULT(s.op.flags = PFD_READS_FILES, "PFD_READS_FILES, which is for readers only");
    FAULT((s.op.flags = PFD_OPTIONAL_INPUT, s.op.num_inputs = 1),
          "batch_size_attr is NULL, but the op has PFD_OPTIONAL_INPUT");
    FAULT((s.op.flags = PFD_OPTIONAL_INPUT, s.op.num_inputs = 1, s.op.batch_size_attr = "absent"),
          "batch_size_attr must be the name of an attr that is an int64");
    FAULT(s.op.batch_size_attr = "flag",
          "batch_size_attr is set, but the op does not have");
    FAULT((s.op.flags = PFD_OPTIONAL_INPUT, s.op.num_inputs = 0, s.op.open = open_source),
          "PFD_OPTIONAL_INPUT, but no input is declared");
    FAULT(s.op.flags = PFD_READS_FOLDERS, "PFD_READS_FOLDERS, which needs PFD_READS_FILES");
    FAULT(s.op.infer = NULL, "infer is NULL");
    FAULT(s.op.compute = NULL, "compute is NULL");
    FAULT(s.op.num_outputs = 0, "outputs are none");
    FAULT(s.op.num_inputs = 0, "open is NULL");
    FAULT(s.op.open = open_source, "an op with open is a reader");
    FAULT(s.op.group = group, "group is for readers only");
    FAULT(s.op.group_attr = "flag", "group_attr is set, but group is NULL");
    FAULT(s.op.same_without = same_without, "same_without is set, but outputs_attr is NULL");
    FAULT(s.op.attrs = NULL, "attrs is NULL");
    FAULT(s.op.outputs = NULL, "output array is NULL");
    FAULT(s.inputs[1].name = "Right", "input 'Right': name must be in lower_snake_case");
    FAULT(s.inputs[1].name = "left", "input 'left': name is used twice");
    FAULT(s.inputs[1].name = "name", "input 'name'");
    FAULT(s.inputs[1].name = "ratio", "attr 'ratio': name is that of an input");
    FAULT(s.outputs[1].doc = "no end", "output 'rest': doc must be a sentence");
    FAULT(s.outputs[1].name = NULL, "output 'NULL': name must be");
}

static void test_faults_of_attrs(void)
{
    FAULT(s.attrs[FLAG].name = NULL, "attr 'NULL': name must be");
    FAULT(s.attrs[FLAG].name = "a-b", "attr 'a-b': name must be in lower_snake_case");
    FAULT(s.attrs[FLAG].name = "count", "attr 'count': name is used twice");
    FAULT(s.attrs[FLAG].name = "name", "attr 'name': name is reserved for the name of a node");
    FAULT(s.attrs[FLAG].type = 99, "attr 'flag': type is not one of PFD_ATTR_*");
    FAULT(s.attrs[FLAG].doc = "", "attr 'flag': doc must be a sentence");
    FAULT(s.attrs[FLAG].flags = 2, "flags has unknown bits");
    FAULT(s.attrs[FLAG].flags = UINT64_C(1) << 32, "flags has unknown bits"); /* the host's own */
    FAULT(s.attrs[FLAG].flags = PFD_ATTR_FOUND, "propose is NULL, but an attr has PFD_ATTR_FOUND");
    FAULT(s.op.propose = propose, "propose is for ops with PFD_READS_FILES");
    FAULT(s.attrs[FLAG].default_value = "yes", "default_value \"yes\" is not true or false");
    FAULT(s.attrs[RATIO].offset = 4, "attr 'ratio': offset is not aligned");
    FAULT(s.attrs[RATIO].offset = 4096, "attr 'ratio': offset lies outside");
    FAULT(s.attrs[RATIO].offset = 0, "attr 'ratio': offset overlaps");
    FAULT(s.attrs[RATIO].min = 2, "attr 'ratio': min must not be above max");
    FAULT(s.attrs[RATIO].max = strtod("nan", NULL), "attr 'ratio': min must not be above max");
    FAULT(s.attrs[RATIO].default_value = "1.5", "attr 'ratio' = 1.5; it must be in [0.0, 1.0]");
    FAULT(s.attrs[RATIO].default_value = "0.5x", "default_value \"0.5x\" is not a number");
    FAULT(s.attrs[RATIO].choices = "1|2", "choices are for strings and dtypes only");
    FAULT(s.attrs[COUNT].default_value = "10", "attr 'count' = 10; it must be in [0, 9]");
    FAULT(s.attrs[COUNT].default_value = "", "default_value \"\" is not an integer");
    FAULT(s.attrs[COUNT].default_value = "9223372036854775808", "is not an integer");
    FAULT(s.attrs[KIND].default_value = "c", "attr 'kind' = 'c'; it must be one of a, b");
    FAULT(s.attrs[KIND].choices = "a||b", "choices must be names");
    FAULT(s.attrs[KIND].choices = "", "choices must be names");
    FAULT(s.attrs[KIND].max = 3, "min and max are for numbers only");
    FAULT(s.attrs[DTYPE].default_value = "float", "attr 'dtype' = 'float'; it must be one of");
    FAULT(s.attrs[DTYPE].choices = "int8|real", "choices must be names of dtypes");
    FAULT(s.attrs[SHAPE].default_value = "2,-3", "element 1 must be at least 0");
    FAULT(s.attrs[SHAPE].default_value = "2,", "is not integers separated by commas");
    FAULT(s.attrs[WEIGHTS].default_value = "1;2", "is not numbers separated by commas");
}

/* ---- Attrs as text ---- */

static void check_format(const pfd_attrs *attrs, int32_t i, size_t capacity, const char *expected)
{
    char out[200];
    pfd_attrs_format(attrs, &good_attrs[i], out, capacity);
    check(strcmp(out, expected) == 0, expected, out, __FILE__, __LINE__);
}

static void test_format(void)
{
    const char *strings[] = {"a,b", "tab\t", "\xc3\xa4\xc3\xa4\xc3\xa4"};
    pfd_attr_value values[] = {
        {.name = "names", .kind = PFD_VALUE_LIST_STRING, .list = strings, .list_size = 3},
        {.name = "someone_elses", .kind = PFD_VALUE_INT},
    };
    pfd_attrs *attrs;
    pfd_error err = {.struct_size = sizeof err};
    if (pfd_attrs_create(good_attrs, NUM_ATTRS, sizeof(sample_attrs), values, 2, &attrs,
                         &err) != PFD_OK) {
        check(0, err.message, NULL, __FILE__, __LINE__);
        return;
    }
    check_format(attrs, COUNT, 100, "count=4");
    check_format(attrs, FLAG, 100, "flag=true");
    check_format(attrs, RATIO, 100, "ratio=0.1");
    check_format(attrs, KIND, 100, "kind=b");
    check_format(attrs, DTYPE, 100, "dtype=int8");
    check_format(attrs, SHAPE, 100, "shape=2,3");
    check_format(attrs, WEIGHTS, 100, "weights=1.0,0.5");
    check_format(attrs, NAMES, 100, "names=a\\,b,tab\\x09,\xc3\xa4\xc3\xa4\xc3\xa4");
    check_format(attrs, WEIGHTS, 16, "weights=1.0,0.5");
    check_format(attrs, WEIGHTS, 15, "weights=1.0...");
    check_format(attrs, NAMES, 25, "names=a\\,b,tab\\x09,\xc3\xa4...");
    check_format(attrs, NAMES, 24, "names=a\\,b,tab\\x09,...");
    pfd_attrs_free(attrs);
    pfd_attrs_free(NULL);
}

/* ---- Nodes ---- */

static pfd_node *make_reader(int64_t batch_size)
{
    pfd_attr_value values[] = {
        {.name = "data_dir", .kind = PFD_VALUE_STRING, .s = "nowhere"},
        {.name = "batch_size", .kind = PFD_VALUE_INT, .i = batch_size},
    };
    pfd_node *node = NULL;
    pfd_error err = {.struct_size = sizeof err};
    if (pfd_node_create("mini_reader", "", values, 2, NULL, 0, &node, &err) != PFD_OK) {
        printf("test_op.c: %s\n", err.message);
        exit(1);
    }
    return node;
}

/* Who finds nothing out, or does not ask, is the only rank. */
static void test_open_world(void)
{
    pfd_node *reader = make_reader(4);
    const pfd_reader_attrs *attrs = pfd_attrs_struct(reader->reader_attrs);
    CHECK(attrs->rank == 0 && attrs->world_size == 1);
    pfd_node_release(reader);
}

static void test_misuse(void)
{
    pfd_node *reader = make_reader(4), *node = NULL;
    pfd_blob blob = {reader, 3};
    pfd_row_type type;
    int64_t batch_size;
    pfd_error err = {.struct_size = sizeof err};
#define REFUSED(part, ...)                                                                         \
    do {                                                                                           \
        CHECK(pfd_node_create(__VA_ARGS__, &node, &err) == PFD_INVALID_ARGUMENT);                  \
        SAYS(err, part);                                                                           \
        CHECK(node == NULL);                                                                       \
    } while (0)
    REFUSED("the blob is output 3", "Affine", NULL, NULL, 0, &blob, 1);
    blob.output = -1;
    REFUSED("the blob is output -1", "Affine", NULL, NULL, 0, &blob, 1);
    CHECK(pfd_blob_type(&blob, &type, &batch_size, &err) == PFD_INVALID_ARGUMENT);
    blob = (pfd_blob){NULL, 0};
    CHECK(pfd_blob_type(&blob, &type, &batch_size, &err) == PFD_INVALID_ARGUMENT);
    REFUSED("input 'in' is missing", "Affine", "", NULL, 0, &blob, 1);
    REFUSED("input 'in' is missing: Affine takes 1 ('in')", "Affine", "", NULL, 0, NULL, 0);
    REFUSED("at NULL", "Affine", "", NULL, 1, NULL, 0);
    pfd_attr_value value = {.name = NULL};
    REFUSED("attr value 0 has no name", "Affine", "", &value, 1, &blob, 1);
    value = (pfd_attr_value){.name = "scale", .kind = 77};
    REFUSED("kind 77", "Affine", "", &value, 1, &blob, 1);
    value = (pfd_attr_value){.name = "dtype", .kind = PFD_VALUE_STRING};
    REFUSED("NULL string", "Affine", "", &value, 1, &blob, 1);
    value = (pfd_attr_value){.name = "data_dir", .kind = PFD_VALUE_STRING, .s = "d"};
    REFUSED("is a reader and takes none", "MiniReader", "", &value, 1, &blob, 1);
    pfd_attr_value twice[] = {{.name = "scale", .kind = PFD_VALUE_INT, .i = 1},
                              {.name = "scale", .kind = PFD_VALUE_INT, .i = 2}};
    REFUSED("attr 'scale' is given twice", "Affine", "", twice, 2, &blob, 1);
    REFUSED("the name of the op is NULL", NULL, "", NULL, 0, NULL, 0);
    pfd_node_release(reader);
    pfd_node_release(NULL);
}

static void *make_long_chain(void *no_arg)
{
    pfd_node *last = make_reader(1);
    pfd_error err = {.struct_size = sizeof err};
    for (int i = 0; i < 20000; i++) {
        pfd_node *node = NULL;
        pfd_blob blob = {last, 0};
        pfd_status status = pfd_node_create("affine", "", NULL, 0, &blob, 1, &node, &err);
        pfd_node_release(last);
        if (status != PFD_OK) return &failed;
        last = node;
    }
    pfd_node_release(last);
    return no_arg;
}

/* A chain of ops much longer than its stack is deep, released from its end. */
static void test_long_chain(void)
{
    pthread_t thread;
    pthread_attr_t attrs;
    void *result = NULL;
    CHECK(pthread_attr_init(&attrs) == 0 && pthread_attr_setstacksize(&attrs, 512 << 10) == 0);
    CHECK(pthread_create(&thread, &attrs, make_long_chain, NULL) == 0);
    CHECK(pthread_join(thread, &result) == 0 && result == NULL);
    pthread_attr_destroy(&attrs);
}

static void *use_node(void *shared)
{
    pfd_error err = {.struct_size = sizeof err};
    pfd_node *node = NULL;
    for (int i = 0; i < 200; i++) {
        pfd_blob blob = {shared, 0};
        if (pfd_node_create("mini_decoder", "", NULL, 0, &blob, 1, &node, &err) != PFD_OK)
            return &failed;
        pfd_node_release(node);
    }
    pfd_node_release(shared);
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[4];
    pfd_node *reader = make_reader(2);
    for (int i = 0; i < 4; i++) {
        if (pthread_create(&threads[i], NULL, use_node, pfd_node_retain(reader)) != 0) exit(1);
    }
    pfd_node_release(reader);
    for (int i = 0; i < 4; i++) {
        void *result = &failed;
        CHECK(pthread_join(threads[i], &result) == 0 && result == NULL);
    }
}

static void test_nearest_name(void)
{
    const char *names[] = {"data_part_num", "batch_size", "last_batch", "seed", "rank"};
#define NEAR(name) pfd_nearest_name(name, names, 5)
    CHECK(NEAR("batchsize") == names[1]);
    CHECK(NEAR("BATCH_SIZE") == names[1]);
    CHECK(NEAR("bacth_size") == names[1]);
    CHECK(NEAR("part_num") == names[0]);
    CHECK(NEAR("sed") == names[3]);
    CHECK(NEAR("random_seed") == names[3]);
    CHECK(NEAR("lastbach") == names[2]);
    CHECK(NEAR("") == NULL);
    CHECK(NEAR("_") == NULL);
    CHECK(NEAR("world") == NULL);
    CHECK(NEAR("a_name_that_is_much_longer_than_any_attr_of_any_op_will_ever_be_in_fact") == NULL);
    CHECK(pfd_nearest_name("seed", names, 0) == NULL);
}

int main(void)
{
    test_faults_of_the_whole();
    test_faults_of_attrs();
    test_format();
    test_open_world();
    test_misuse();
    test_long_chain();
    test_threads();
    test_nearest_name();
    return report();
}
