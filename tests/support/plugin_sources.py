"""Plugins for the tests: the C text of small ones, and how all of them are compiled."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from support.paths import ROOT

import pyflowdata as flow


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


def compile_library(
    library: Path, *sources: Path, flags: tuple[str, ...] = (), compiler: str = "",
    include: str = "",
) -> Path:  # fmt: skip
    """The shared library made from these files, with the compiler that $CC or $CXX names."""
    is_c = sources[0].suffix == ".c"
    usual = os.environ.get("CC", "cc") if is_c else os.environ.get("CXX", "c++")
    command = shlex.split(compiler or usual)
    standard = "-std=c11" if is_c else "-std=c++11"
    command += [standard, "-O1", "-g", "-fPIC", "-shared", "-I", include or flow.include_dir()]
    done = subprocess.run(
        [*command, *map(str, sources), "-o", str(library), *flags],
        env={name: text for name, text in os.environ.items() if name != "LD_PRELOAD"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return library


def build(
    folder: Path, source: str, *flags: str, name: str = "plugin", compiler: str = "gcc",
    include: str = "", suffix: str = ".c",
) -> Path:  # fmt: skip
    """The shared library made from this text, in a folder that is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    text = folder / f"{name}{suffix}"
    text.write_text(source)
    return compile_library(
        folder / f"{name}.so", text, compiler=compiler, include=include,
        flags=("-Wall", "-Wextra", "-Wpedantic", "-Werror", *flags),
    )  # fmt: skip


def load_ops(library: Path, *sources: Path) -> flow.Plugin:
    """The files compiled into a plugin, which is loaded into this process.

    A sanitizer that watches this process watches the plugin: `make asan` says with which flags.
    """
    flags = ["-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion"]
    flags += ["-Werror", *shlex.split(os.environ.get("SANITIZER_FLAGS", ""))]
    return flow.load_library(compile_library(library, *sources, flags=tuple(flags)))


def load_test_ops(folder: Path) -> flow.Plugin:
    """The ops of tests/support/ops, one a file, in one plugin."""
    sources = sorted((ROOT / "tests/support/ops").glob("*.c"))
    symbols = [f"pfd_op_{source.stem}" for source in sources]
    entry = folder / "test_ops.c"
    entry.write_text(f"""#include "pyflowdata/op.h"
extern const pfd_op {", ".join(symbols)};
PFD_PLUGIN("test ops", "1", {", ".join(f"&{symbol}" for symbol in symbols)})
""")
    return load_ops(folder / "test_ops.so", entry, *sources)
