/* io/token_windows.h -- windows of seq_length + 1 tokens over files of tokens, as a random-access
 * source.
 *
 * In the order of our own, window i is the tokens [i * seq_length, i * seq_length + seq_length] of
 * all files, one behind the other; what is left at the end is too short for a window.  In
 * Megatron's, it is the i-th sample of its GPTDataset.  A record is the tokens of a window in the
 * dtype of the files (int32 for int8 and int16): a view of the file where they lie together.
 * OWNERSHIP  Files are borrowed until close.
 * THREADS    As of a pfd_source in op.h.
 */
#ifndef PFD_IO_TOKEN_WINDOWS_H
#define PFD_IO_TOKEN_WINDOWS_H
#include "io/megatron_order.h"

/* `order` NULL: our own. */
pfd_status pfd_token_windows_open(const pfd_open_args *args, const pfd_token_options *options,
                                  int64_t seq_length, const pfd_megatron_request *order,
                                  pfd_source *out, pfd_error *err);

/* The dtype of the tokens in a record of that many bytes, of files whose dtype is given (0: not);
 * 0: a record has not as many bytes. */
int32_t pfd_token_window_dtype(int64_t bytes, int64_t num_tokens, int32_t file_dtype);
#endif
