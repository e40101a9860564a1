/* formats/megatron/megatron_header.h -- the fixed part of a Megatron .idx; for formats/megatron/megatron_index.c.
 *
 * What the header says is compared with the file's size before anything is made of it.
 */
#ifndef PFD_FORMATS_MEGATRON_MEGATRON_HEADER_H
#define PFD_FORMATS_MEGATRON_MEGATRON_HEADER_H
#include "formats/megatron/megatron_index.h"

/* Fills in all of *out but what the entries themselves tell. */
pfd_status pfd_megatron_header_read(const pfd_host *host, const pfd_file *idx, pfd_scratch *scratch,
                                    pfd_megatron_index *out, pfd_error *err);
#endif
