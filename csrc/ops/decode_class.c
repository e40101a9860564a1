/* DecodeClass: parses the digits of an integer, as in WebDataset's .cls files. */
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "parse/row_type.h"
#include "parse/words.h"

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    PFD_TRY(pfd_expect_bytes(args, err));
    args->outputs[0] = (pfd_row_type){.dtype = PFD_INT64};
    return PFD_OK;
}

/* Parses the text.  Returns 1 if it is an integer of 64 bits, with nothing but blanks around it. */
static int32_t parse(const uint8_t *text, int64_t size, int64_t *out)
{
    int64_t i = 0, value = 0, sign = 1;
    while (size > 0 && pfd_is_space(text[size - 1])) size--;
    while (i < size && pfd_is_space(text[i])) i++;
    if (i < size && (text[i] == '-' || text[i] == '+')) sign = text[i++] == '-' ? -1 : 1;
    if (i == size) return 0;
    for (; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') return 0;
        if (__builtin_mul_overflow(value, 10, &value)) return 0;
        if (__builtin_add_overflow(value, sign * (text[i] - '0'), &value)) return 0;
    }
    *out = value;
    return 1;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    int64_t *out = (void *)args->outputs[0]->data;
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_bytes row = pfd_row_bytes(args->inputs[0], i);
        char found[256];
        if (!parse(row.data, row.size, &out[i]))
            return args->host->fail_row(
                err, i, pfd_place_in_record(args, i, row.data), PFD_CORRUPT_DATA,
                "the row is %s; it must be one decimal integer that fits into int64",
                pfd_quote_bytes(row.data, row.size, found, sizeof found));
    }
    return PFD_OK;
}

static const pfd_port inputs[] = {{"in", "Rows of bytes, uint8 of one dimension, which may vary."}};
static const pfd_port outputs[] = {{"out", "Numbers, int64, one per row."}};

const pfd_op pfd_op_decode_class = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "DecodeClass",
    .doc = "Parses the text of each row as a decimal integer, such as a class number. "
           "Blanks and newlines around it are ignored; any other text counts as damaged.",
};
