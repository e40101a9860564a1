/* CSVCellTypes: says for each cell of a row which number it is, as a mask of bits.
 *
 * The masks of all cells of a column, joined by |, say which dtype holds them, and whether a
 * float64 holds them exactly.
 */
#include "core/op_shorthand.h"
#include "formats/csv/csv_value.h"
#include "parse/row_type.h"

typedef struct csv_cell_types_attrs {
    pfd_list_string missing;
} csv_cell_types_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    for (int64_t i = 0; i < args->num_inputs; i++) {
        const pfd_row_type *type = &args->inputs[i];
        if (type->dtype != PFD_UINT8 || type->ndim != 1)
            return pfd_refuse_rows(args, (int32_t)i, "in", "cells are bytes, uint8 (None,)", err);
    }
    args->outputs[0] = (pfd_row_type){
        .dtype = PFD_UINT16, .ndim = 1, .shape = {args->num_inputs}};
    return PFD_OK;
}

/* Words, and the bytes with which they begin. */
typedef struct words {
    const pfd_list_string *list;
    uint8_t begins[256];
} words;

static uint32_t type_of(const words *missing, pfd_bytes cell)
{
    cell = pfd_csv_stripped(cell);
    if (cell.size == 0) return PFD_CSV_MISSING;
    int32_t is_missing =
        missing->begins[cell.data[0]] && pfd_csv_is_one_of(missing->list, cell);
    return is_missing ? PFD_CSV_MISSING : pfd_csv_cell_type(cell);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    const csv_cell_types_attrs *attrs = args->attrs;
    const pfd_list_string *list = &attrs->missing;
    words missing = {.list = list};
    for (int64_t i = 0; i < list->size; i++) missing.begins[(uint8_t)list->data[i][0]] = 1;
    uint16_t *types = (void *)args->outputs[0]->data;
    for (int64_t i = 0; i < args->num_inputs; i++)
        for (int64_t row = 0; row < args->num_rows; row++)
            types[row * args->num_inputs + i] =
                (uint16_t)type_of(&missing, pfd_row_bytes(args->inputs[i], row));
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_STRINGS_ATTR(csv_cell_types_attrs, missing, "",
                     "Cells that are missing values, besides empty ones."),
};

static const pfd_port inputs[] = {{"in", "The cells, a column for each input, uint8 (None,)."}};
static const pfd_port outputs[] = {
    {"out", "A sum of flags for each cell: 1 missing, 2 text, 4 a float, 8 an integer from 0 to "
            "2**63 - 1, 16 one from -2**63 to -1, 32 one from 2**63 to 2**64 - 1, 64 another "
            "integer, 128 an integer that float64 may not hold, 256 a finite float beyond float64; "
            "uint16 (columns,)."},
};

const pfd_op pfd_op_csv_cell_types = {
    PFD_ROW_OP(PFD_MANY_INPUTS | PFD_TAKES_RAGGED, inputs, outputs),
    .name = "CSVCellTypes",
    .doc = "Finds what kinds of numbers the cells of a CSV file are, as flags; the flags of all "
           "cells of a column together tell which dtype can hold them.",
    PFD_OP_ATTRS(csv_cell_types_attrs, attr_table),
};
