/* MiniReader: text files of lines with two numbers.
 *
 * Copy this format to write a new one.  A reader answers three questions, and the host does the
 * rest: files, index, threads, shuffling, batches, ranks, resuming, errors with their place.
 *
 *     infer()    what is a row?             its dtype and shape
 *     open()     where are the records?     the host finds the lines: each line is a record
 *     compute()  what do the bytes mean?    see mini_parser.c
 *
 * mini_format.c recognises files of the format.  mini_decoder.c is a decoder, an op that makes rows
 * from rows.  For attrs, and for records of one size, see raw/raw_reader.c; for binary records
 * that begin with their size, tfrecord/tfrecord_reader.c. */
#include "formats/mini/mini_parser.h"
#include "parse/number_pairs.h"

/* Called before any file is opened. */
static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_FLOAT64, .ndim = 1, .shape = {2}};
    return PFD_OK;
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    return args->host->open_lines(args, out, err);
}

static pfd_status parse_row(const void *ctx, int64_t row, double *numbers, pfd_error *err)
{
    const pfd_compute_args *args = ctx;
    const pfd_record *line = &args->records[row];
    pfd_mini_fault fault;
    if (pfd_mini_parse(line->data, line->size, numbers, &fault)) return PFD_OK;
    return pfd_mini_fail(args, row, &fault, err);
}

/* Writes the rows of a range of records.  Many threads call compute() at once, each for another
 * range, so it keeps nothing between calls.
 *
 * Without the vector code that pfd_parse_pairs() tries first, this would be
 *
 *     for (int64_t row = 0; row < args->num_rows; row++)
 *         PFD_TRY(parse_row(args, row, &rows[2 * row], err));
 *     return PFD_OK;
 */
static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    double *rows = (void *)args->outputs[0]->data;
    return pfd_parse_pairs(args->records, args->num_rows, rows, parse_row, args, err);
}

static const pfd_port outputs[] = {
    {"out", "The two numbers of each line, float64 of shape (batch, 2)."},
};

/* The descriptor tells the host everything about the op. The Python function, its help and its stub
 * are made from it. */
const pfd_op pfd_op_mini_reader = {
    PFD_OP_SIZES,
    .flags = PFD_READS_FILES,
    .name = "MiniReader",
    .doc = "Reads text files in which each line holds two comma-separated numbers. "
           "Lines end with LF or CRLF; the last line of a file may have no line end. Blank lines "
           "and empty files are skipped. A line never continues in the next file. Spaces and tabs "
           "around a number are allowed. Numbers are decimal literals as Python's float() accepts "
           "them, including inf and nan, rounded to the nearest float64 in every locale.",
    PFD_OP_OUTPUTS(outputs),
    .infer = infer,
    .open = open_source,
    .compute = compute,
};
