/* formats/megatron/token_documents.h -- the documents of Megatron files as a random-access
 * source.
 *
 * A record is the tokens of a document or sequence.  It views the file if the file has the dtype
 * of a row; otherwise the tokens are widened to that dtype. OWNERSHIP  Files are borrowed until
 * close. THREADS    As of a pfd_source in op.h.
 */
#ifndef PFD_FORMATS_MEGATRON_TOKEN_DOCUMENTS_H
#define PFD_FORMATS_MEGATRON_TOKEN_DOCUMENTS_H
#include "formats/megatron/token_files.h"

pfd_status pfd_token_documents_open(const pfd_open_args *args, int32_t dtype, int32_t by_document,
                                    int32_t gaps, pfd_source *out, pfd_error *err);
#endif
