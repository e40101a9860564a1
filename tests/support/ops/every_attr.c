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
    pfd_list_float64 floats;
    pfd_list_string strings;
    int32_t digit;
    double ratio;
    double positive;
    const char *colour;
    pfd_list_int64 digits;
    pfd_list_float64 ratios;
    pfd_list_string colours;
} every_attr;

typedef struct shown_text {
    char data[1000];
    size_t used;
} shown_text;

#define ADD(text, ...)                                                                             \
    ((text)->used += (size_t)snprintf((text)->data + (text)->used,                                 \
                                      sizeof(text)->data - (text)->used, __VA_ARGS__))

static void add_ints(shown_text *shown, const char *name, pfd_list_int64 list)
{
    ADD(shown, "\n%s=", name);
    for (int64_t i = 0; i < list.size; i++) ADD(shown, "%s%" PRId64, i ? "," : "", list.data[i]);
}

static void add_floats(shown_text *shown, const char *name, pfd_list_float64 list)
{
    ADD(shown, "\n%s=", name);
    for (int64_t i = 0; i < list.size; i++) ADD(shown, "%s%.17g", i ? "," : "", list.data[i]);
}

static void add_strings(shown_text *shown, const char *name, pfd_list_string list)
{
    ADD(shown, "\n%s=", name);
    for (int64_t i = 0; i < list.size; i++) ADD(shown, "%s%s", i ? "," : "", list.data[i]);
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const every_attr *attrs = args->attrs;
    shown_text shown = {.used = 0};
    ADD(&shown, "flag=%" PRId32 "\ni32=%" PRId32 "\ni64=%" PRId64 "\nf32=%.9g\nf64=%.17g",
        attrs->flag, attrs->i32, attrs->i64, (double)attrs->f32, attrs->f64);
    ADD(&shown, "\ntext=%.200s\ndtype=%" PRId32, attrs->text, attrs->dtype);
    add_ints(&shown, "shape", attrs->shape);
    add_ints(&shown, "ints", attrs->ints);
    add_floats(&shown, "floats", attrs->floats);
    add_strings(&shown, "strings", attrs->strings);
    ADD(&shown, "\ndigit=%" PRId32 "\nratio=%.17g\npositive=%.17g\ncolour=%s", attrs->digit,
        attrs->ratio, attrs->positive, attrs->colour);
    add_ints(&shown, "digits", attrs->digits);
    add_floats(&shown, "ratios", attrs->ratios);
    add_strings(&shown, "colours", attrs->colours);
    return args->host->fail(err, PFD_UNSUPPORTED, "%s", shown.data);
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
    ROW(floats, LIST_FLOAT64, "0.5, -1", 0, 0, NULL),
    ROW(strings, LIST_STRING, "a,b c", 0, 0, NULL),
    ROW(digit, INT32, "0", 0, 9, NULL),
    ROW(ratio, FLOAT64, "1", 0, 1, NULL),
    ROW(positive, FLOAT64, "1", 0, INFINITY, NULL),
    ROW(colour, STRING, "red", 0, 0, "red|green|blue"),
    ROW(digits, LIST_INT64, "", 0, 9, NULL),
    ROW(ratios, LIST_FLOAT64, "", 0, 1, NULL),
    ROW(colours, LIST_STRING, "", 0, 0, "red|green|blue"),
};
static const pfd_port inputs[] = {{"in", "Any blob, of which nothing is read."}};
static const pfd_port outputs[] = {{"out", "Never there."}};

const pfd_op pfd_op_every_attr = {
    PFD_OP_SIZES,
    .name = "EveryAttr",
    .doc = "Shows its attrs in an error.",
    PFD_OP_ATTRS(every_attr, attrs),
    PFD_OP_INPUTS(inputs),
    PFD_OP_OUTPUTS(outputs),
    .infer = infer,
    .compute = compute,
};
