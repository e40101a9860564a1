/* formats/megatron/token_files.h -- the tokens of several files as one sequence of numbers.
 *
 * A file of tokens is a .bin with an .idx of Megatron-LM's beside it, or a flat one: tokens and
 * nothing else, perhaps after a header.  Tokens, sequences and documents are numbered through over
 * all files, in the order of the files.  What a range of tokens is, is arithmetic where the file is
 * flat or its sequences lie back to back; else it is looked for.
 *
 * OWNERSHIP  Files are borrowed until close.
 * THREADS    After open: any thread.
 */
#ifndef PFD_FORMATS_MEGATRON_TOKEN_FILES_H
#define PFD_FORMATS_MEGATRON_TOKEN_FILES_H
#include "formats/megatron/megatron_index.h"

/* The choices of an attr `format`. */
#define PFD_TOKENS_AUTO 0 /* flat without an .idx where the dtype is given */
#define PFD_TOKENS_MEGATRON 1
#define PFD_TOKENS_FLAT 2

typedef struct pfd_token_options {
    int32_t format;       /* PFD_TOKENS_* */
    int32_t file_dtype;   /* of the files; 0: their .idx says it */
    int64_t header_bytes; /* of flat files */
    int32_t gaps;         /* see pfd_megatron_index_open() */
    int32_t row_dtype;    /* that of the files, or one that holds all its values */
    int32_t same_dtype;   /* all files must have one */
} pfd_token_options;

typedef struct pfd_token_file {
    const pfd_file *bin;
    pfd_megatron_index index; /* zeroed: the file is flat */
    int32_t dtype;
    int64_t element_bytes;
    int64_t header_bytes;
    /* Of the files before this one. */
    int64_t first_token, first_sequence, first_document;
} pfd_token_file;

typedef struct pfd_token_files {
    const pfd_host *host;
    int64_t num_files;
    int64_t num_tokens, num_sequences, num_documents;
    pfd_token_file *files; /* num_files, and one that begins after the last; owned */
} pfd_token_files;

/* Adds the other half of each pair that is named by one, or by what both names begin with; for
 * pfd_op.companions. */
pfd_status pfd_token_companions(const pfd_companion_args *args, int32_t format, pfd_error *err);

pfd_status pfd_token_files_open(const pfd_open_args *args, const pfd_token_options *options,
                                pfd_token_files *out, pfd_error *err);
void pfd_token_files_close(pfd_token_files *files); /* accepts a zeroed one */

/* The file in which a token, sequence or document is, by its number in all files. */
const pfd_token_file *pfd_file_of_token(const pfd_token_files *files, int64_t token);
const pfd_token_file *pfd_file_of_sequence(const pfd_token_files *files, int64_t sequence);
const pfd_token_file *pfd_file_of_document(const pfd_token_files *files, int64_t document);

/* Where a token of the file (by its number in all files) is, and how many follow it there. */
pfd_status pfd_token_place(const pfd_token_file *file, int64_t token, pfd_scratch *scratch,
                           pfd_token_range *out, pfd_error *err);

/* The attr `gaps` of both readers. */
#define PFD_TOKEN_GAPS_ATTR(owner)                                                                 \
    PFD_BOOL_ATTR(owner, gaps, "false",                                                            \
                  "Whether the .idx may leave bytes of the .bin out, or name them in another "     \
                  "order or twice; otherwise its sequences must be all of the .bin, one after "   \
                  "the other.")
#endif
