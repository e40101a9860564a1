/* EveryAttr: a test op with an attr of each type.  It shows what it was given: as the error of
 * infer(), one "name=value" a line. */
#include "pyflowdata/op.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct every_attr {
    int32_t flag;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
    const char *text;
    int32_t dtype;
    pfd_list_int64 shape;
    pfd_list_int64 ints;
    pfd_list_float floats;
    pfd_list_string strings;
    int32_t digit;
    double ratio;
    double positive;
    const char *colour;
    pfd_list_int64 digits;
    pfd_list_float ratios;
    pfd_list_string colours;
} every_attr;

typedef struct report {
    char data[1000];
    size_t used;
} report;

#define ADD(report, ...)                                                                           \
    ((report)->used += (size_t)snprintf((report)->data + (report)->used,                           \
                                        sizeof(report)->data - (report)->used, __VA_ARGS__))

static void add_ints(report *report, const char *name, pfd_list_int64 list)
{
    ADD(report, "\n%s=", name);
    for (int64_t i = 0; i < list.size; i++) ADD(report, "%s%" PRId64, i ? "," : "", list.data[i]);
}

static void add_floats(report *report, const char *name, pfd_list_float list)
{
    ADD(report, "\n%s=", name);
    for (int64_t i = 0; i < list.size; i++) ADD(report, "%s%.17g", i ? "," : "", list.data[i]);
}

static void add_strings(report *report, const char *name, pfd_list_string list)
{
    ADD(report, "\n%s=", name);
    for (int64_t i = 0; i < list.size; i++) ADD(report, "%s%s", i ? "," : "", list.data[i]);
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const every_attr *attrs = args->attrs;
    report report = {.used = 0};
    ADD(&report, "flag=%" PRId32 "\ni32=%" PRId32 "\ni64=%" PRId64 "\nf32=%.9g\nf64=%.17g",
        attrs->flag, attrs->i32, attrs->i64, (double)attrs->f32, attrs->f64);
    ADD(&report, "\ntext=%.200s\ndtype=%" PRId32, attrs->text, attrs->dtype);
    add_ints(&report, "shape", attrs->shape);
    add_ints(&report, "ints", attrs->ints);
    add_floats(&report, "floats", attrs->floats);
    add_strings(&report, "strings", attrs->strings);
    ADD(&report, "\ndigit=%" PRId32 "\nratio=%.17g\npositive=%.17g\ncolour=%s", attrs->digit,
        attrs->ratio, attrs->positive, attrs->colour);
    add_ints(&report, "digits", attrs->digits);
    add_floats(&report, "ratios", attrs->ratios);
    add_strings(&report, "colours", attrs->colours);
    return args->host->fail(err, PFD_UNSUPPORTED, "%s", report.data);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    return args->host->fail(err, PFD_INTERNAL, "compute() was called although infer() failed");
}

#define ROW(field, type, default_value, min, max, choices)                                         \
    PFD_ATTR_ROW(every_attr, field, PFD_ATTR_##type, default_value, min, max, choices,             \
                 "Shown by infer().")

static const pfd_attr attrs[] = {
    ROW(flag, BOOL, "true", 0, 0, NULL),
    ROW(i32, INT32, "-7", 0, 0, NULL),
    ROW(i64, INT64, "-9223372036854775808", 0, 0, NULL),
    ROW(f32, FLOAT32, "0.1", 0, 0, NULL),
    ROW(f64, FLOAT64, "1e-300", 0, 0, NULL),
    ROW(text, STRING, "part-", 0, 0, NULL),
    ROW(dtype, DTYPE, "float16", 0, 0, NULL),
    ROW(shape, SHAPE, "2,3", 0, 0, NULL),
    ROW(ints, LIST_INT64, "", 0, 0, NULL),
    ROW(floats, LIST_FLOAT, "0.5, -1", 0, 0, NULL),
    ROW(strings, LIST_STRING, "a,b c", 0, 0, NULL),
    ROW(digit, INT32, "0", 0, 9, NULL),
    ROW(ratio, FLOAT64, "1", 0, 1, NULL),
    ROW(positive, FLOAT64, "1", 0, INFINITY, NULL),
    ROW(colour, STRING, "red", 0, 0, "red|green|blue"),
    ROW(digits, LIST_INT64, "", 0, 9, NULL),
    ROW(ratios, LIST_FLOAT, "", 0, 1, NULL),
    ROW(colours, LIST_STRING, "", 0, 0, "red|green|blue"),
};
static const pfd_port inputs[] = {{"in", "Any blob, of which nothing is read."}};
static const pfd_port outputs[] = {{"out", "Never there."}};

const pfd_op pfd_op_every_attr = {
    PFD_OP_SIZES,
    .name = "EveryAttr",
    .doc = "Shows its attrs in an error.",
    .attrs = attrs,
    .num_attrs = PFD_COUNT(attrs),
    .attrs_struct_size = sizeof(every_attr),
    .inputs = inputs,
    .num_inputs = PFD_COUNT(inputs),
    .outputs = outputs,
    .num_outputs = PFD_COUNT(outputs),
    .infer = infer,
    .compute = compute,
};
