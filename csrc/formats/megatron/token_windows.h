/* formats/megatron/token_windows.h -- windows of seq_length + 1 tokens over files of tokens, as a
 * random-access source.
 *
 * In our own order, window i is the tokens [i * seq_length, i * seq_length + seq_length] of all
 * files, one after the other; a shorter rest at the end is not read.  In Megatron's order,
 * window i is the i-th sample of its GPTDataset.  A record is the tokens of a window with the
 * dtype of the file.  It views the file if the tokens are contiguous. OWNERSHIP  Files are
 * borrowed until close. THREADS    As of a pfd_source in op.h.
 */
#ifndef PFD_FORMATS_MEGATRON_TOKEN_WINDOWS_H
#define PFD_FORMATS_MEGATRON_TOKEN_WINDOWS_H
#include "formats/megatron/megatron_order.h"

/* Opens the source.  `order` NULL: our own order. */
pfd_status pfd_token_windows_open(const pfd_open_args *args, const pfd_token_options *options,
                                  int64_t seq_length, const pfd_megatron_request *order,
                                  pfd_source *out, pfd_error *err);

/* Writes the tokens of a record of this source into a row of options->row_dtype.  Returns 0 if the
 * bytes of the record are not a window. */
int32_t pfd_token_window_write(const void *source, const pfd_record *record, uint8_t *row);
#endif
