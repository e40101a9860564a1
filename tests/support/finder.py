"""A reader that finds its attrs in its files, and files for it."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

# Files of rows after a header: an int32 for their width, and the name of a unit to its end.
FINDER = r"""
#include "pyflowdata/op.h"

#include <string.h>

typedef struct finder {
    int64_t width, kind;
    const char *unit;
    int32_t how, flag, dtype;
    pfd_list_int64 shape;
    pfd_list_string names;
    double rate;
    pfd_list_float64 rates;
} finder;

#define FOUND(field, type, default_value, choices)                                                 \
    PFD_FOUND_ATTR_ROW(finder, field, type, default_value, 0, 0, choices, "A value.")
static const pfd_attr attrs[] = {
    PFD_FOUND_ATTR_ROW(finder, width, PFD_ATTR_INT64, NULL, 1, 64, NULL, "Bytes in a row."),
    FOUND(unit, PFD_ATTR_STRING, "none", NULL),
    FOUND(how, PFD_ATTR_CHOICE, "plain", "plain|odd"),
    FOUND(flag, PFD_ATTR_BOOL, "false", NULL),
    FOUND(dtype, PFD_ATTR_DTYPE, "uint8", "uint8|int8"),
    FOUND(shape, PFD_ATTR_SHAPE, "", NULL),
    FOUND(names, PFD_ATTR_LIST_STRING, "out", NULL),
    FOUND(rate, PFD_ATTR_FLOAT64, "0.5", NULL),
    FOUND(rates, PFD_ATTR_LIST_FLOAT64, "1,2.5", NULL),
    PFD_ATTR_ROW(finder, kind, PFD_ATTR_INT64, "0", 0, 0, NULL, "What it does wrong."),
};
static const pfd_port outputs[] = {{"out", "Rows."}};

static pfd_status finder_propose(const pfd_propose_args *args, pfd_error *err)
{
    const finder *attr = (const finder *)args->attrs;
    const pfd_file *file;
    const uint8_t *data;
    int32_t width;
    const char *names[] = {"first", "second"};
    if (attr->kind == 1) return args->set_int(args->found, "bogus", 1, err);
    if (attr->kind == 2) return args->open(args->found, args->num_paths, &file, err);
    if (attr->kind == 3) return args->set_int(args->found, "how", 2, err);
    if (attr->kind == 4) return PFD_OK;
    if (attr->kind == 5) return PFD_IO;
    if (attr->kind == 6) return args->set_string(args->found, "width", "7", err);
    pfd_status status = args->open(args->found, 0, &file, err);
    if (status == PFD_OK) status = args->host->read(file, 0, 4, args->scratch, &data, err);
    if (status != PFD_OK) return status;
    memcpy(&width, data, 4);
    if (args->set_int(args->found, "width", width, err) != PFD_OK) return err->status;
    if (width % 2 == 0) return PFD_OK; /* the others keep their defaults */
    const int64_t shape[] = {width};
    if (args->set_string(args->found, "unit", "metre", err) != PFD_OK ||
        args->set_int(args->found, "how", 0, err) != PFD_OK ||
        args->set_int(args->found, "how", 1, err) != PFD_OK ||
        args->set_int(args->found, "flag", 1, err) != PFD_OK ||
        args->set_int(args->found, "dtype", PFD_INT8, err) != PFD_OK ||
        args->set_ints(args->found, "shape", shape, 1, err) != PFD_OK ||
        args->set_ints(args->found, "rates", shape, 1, err) != PFD_OK)
        return err->status;
    return args->set_strings(args->found, "names", names, 2, err);
}

static pfd_status finder_infer(const pfd_infer_args *args, pfd_error *err)
{
    const finder *attr = (const finder *)args->attrs;
    (void)err;
    for (int64_t i = 0; i < args->num_outputs; i++)
        args->outputs[i] = (pfd_row_type){.dtype = attr->dtype, .ndim = 1, .shape = {attr->width}};
    return PFD_OK;
}

static pfd_status finder_open(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    const finder *attr = (const finder *)args->attrs;
    pfd_fixed_layout layout = {PFD_SIZE(pfd_fixed_layout), 4, attr->width, 0};
    return args->host->open_fixed(args, &layout, out, err);
}

static pfd_status finder_compute(const pfd_compute_args *args, pfd_error *err)
{
    const finder *attr = (const finder *)args->attrs;
    (void)err;
    for (int64_t i = 0; i < args->num_outputs; i++)
        for (int64_t row = 0; row < args->num_rows; row++)
            memcpy(args->outputs[i]->data + row * attr->width, args->records[row].data,
                   (size_t)attr->width);
    return PFD_OK;
}

static const pfd_op finder_op = {
    PFD_OP_SIZES,
    .flags = PFD_READS_FILES,
    .name = "FinderReader",
    .doc = "Reads rows after a header.",
    .attrs = attrs,
    .num_attrs = PFD_COUNT(attrs),
    .attrs_struct_size = sizeof(finder),
    .outputs = outputs,
    .num_outputs = PFD_COUNT(outputs),
    .infer = finder_infer,
    .open = finder_open,
    .compute = finder_compute,
    .outputs_attr = "names",
    .propose = finder_propose,
};
PFD_PLUGIN("finder", "1.0", &finder_op)
"""


def rows_of(folder: Path, width: int, count: int = 6) -> tuple[Path, np.ndarray]:
    rows = np.arange(count * width, dtype=np.uint8).reshape(count, width)
    path = folder / f"rows-{width}"
    path.write_bytes(struct.pack("<i", width) + rows.tobytes())
    return path, rows
