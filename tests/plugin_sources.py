"""Small plugins for the tests: their C text, and how it is compiled."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pyflowdata as flow

ROOT = Path(__file__).resolve().parent.parent

# A decoder: out = factor * in.
SCALE = r"""
#include "pyflowdata/op.h"

typedef struct scale {
    double factor;
} scale;

static const pfd_attr attrs[] = {
    PFD_ATTR_ROW(scale, factor, PFD_ATTR_FLOAT64, "2", -100, 100, NULL, "What is multiplied by."),
};
static const pfd_port inputs[] = {{"in", "Rows of float64."}};
static const pfd_port outputs[] = {{"out", "The same, scaled."}};

static pfd_status scale_infer(const pfd_infer_args *args, pfd_error *err)
{
    if (args->inputs[0].dtype != PFD_FLOAT64)
        return args->host->fail(err, PFD_INVALID_ARGUMENT, "in must be float64");
    args->outputs[0] = args->inputs[0];
    return PFD_OK;
}

static pfd_status scale_compute(const pfd_compute_args *args, pfd_error *err)
{
    const scale *attr = (const scale *)args->attrs;
    const double *in = (const double *)(const void *)args->inputs[0]->data;
    double *out = (double *)(void *)args->outputs[0]->data;
    int64_t n = args->num_rows * args->inputs[0]->row_bytes / (int64_t)sizeof(double);
    (void)err;
    for (int64_t i = 0; i < n; i++) out[i] = attr->factor * in[i];
    return PFD_OK;
}

static const pfd_op pfd_op_scale = {
    PFD_OP_SIZES,
    .name = "Scale",
    .doc = "Multiplies.",
    .attrs = attrs,
    .num_attrs = PFD_COUNT(attrs),
    .attrs_struct_size = sizeof(scale),
    .inputs = inputs,
    .num_inputs = PFD_COUNT(inputs),
    .outputs = outputs,
    .num_outputs = PFD_COUNT(outputs),
    .infer = scale_infer,
    .compute = scale_compute,
};

PFD_PLUGIN("scaling", "2.5", &pfd_op_scale)
"""

# Numbers from 0 to attr `size` - 1, one a record: random access without files.
COUNT = r"""
#include "pyflowdata/op.h"

#include <stdlib.h>
#include <string.h>

typedef struct counting {
    int64_t size;
} counting;

static const pfd_attr attrs[] = {
    PFD_ATTR_ROW(counting, size, PFD_ATTR_INT64, NULL, 0, 1e12, NULL, "How many records."),
};
static const pfd_port outputs[] = {{"out", "The number."}};

static pfd_status count_infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_INT64};
    return PFD_OK;
}

typedef struct source {
    const pfd_host *host;
    int64_t size;
} source;

static void source_close(void *self)
{
    free(self);
}

static int64_t source_size(void *self)
{
    return ((const source *)self)->size;
}

static pfd_status source_at(void *self, const int64_t *ordinals, int64_t n, pfd_scratch *scratch,
                            pfd_record *out, pfd_error *err)
{
    const source *s = self;
    for (int64_t i = 0; i < n; i++) {
        uint8_t *data = s->host->alloc(scratch, 8);
        if (!data) return s->host->fail(err, PFD_OUT_OF_MEMORY, "no memory");
        memcpy(data, &ordinals[i], 8);
        out[i] = (pfd_record){.data = data, .size = 8, .ordinal = ordinals[i]};
    }
    return PFD_OK;
}

static const pfd_source_methods methods = {
    PFD_SIZE(pfd_source_methods),
    .close = source_close,
    .size = source_size,
    .at = source_at,
};

static pfd_status count_open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    source *s = malloc(sizeof *s);
    if (!s) return args->host->fail(err, PFD_OUT_OF_MEMORY, "no memory");
    *s = (source){args->host, ((const counting *)args->attrs)->size};
    out->methods = &methods;
    out->self = s;
    return PFD_OK;
}

static pfd_status count_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    for (int64_t row = 0; row < args->num_rows; row++)
        memcpy(args->outputs[0]->data + 8 * row, args->records[row].data, 8);
    return PFD_OK;
}

static const pfd_op pfd_op_count = {
    PFD_OP_SIZES,
    .name = "Count",
    .doc = "Counts.",
    .attrs = attrs,
    .num_attrs = PFD_COUNT(attrs),
    .attrs_struct_size = sizeof(counting),
    .outputs = outputs,
    .num_outputs = PFD_COUNT(outputs),
    .infer = count_infer,
    .open = count_open,
    .compute = count_compute,
};

PFD_PLUGIN("counting", "1.0", &pfd_op_count)
"""


def renamed(source: str, name: str, new_name: str) -> str:
    """The source with its op under another name, so that several can be loaded."""
    assert f'.name = "{name}"' in source
    return source.replace(f'.name = "{name}"', f'.name = "{new_name}"')


def build(
    folder: Path, source: str, *flags: str, name: str = "plugin", compiler: str = "gcc",
    include: str | None = None, suffix: str = ".c",
) -> Path:  # fmt: skip
    """The shared library made from the source, in a folder that is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    text = folder / f"{name}{suffix}"
    text.write_text(source)
    library = folder / f"{name}.so"
    standard = "-std=c11" if suffix == ".c" else "-std=c++11"
    done = subprocess.run(
        [compiler, standard, "-O1", "-fPIC", "-shared", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
         "-I", include or flow.include_dir(), text, "-o", library, *flags],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return library
