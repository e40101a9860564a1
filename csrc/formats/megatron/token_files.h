/* formats/megatron/token_files.h -- the tokens of several files as one sequence of numbers.
 *
 * A file of tokens is a .bin with the .idx of Megatron-LM, or a flat file, which has only tokens
 * and perhaps a header.  The numbers of tokens, sequences and documents continue from file to file.
 * The place of a token is computed if the file is flat or its sequences are back to back;
 * otherwise it is searched for.
 *
 * OWNERSHIP  Files are borrowed until close.
 * THREADS    After open: any thread.
 */
#ifndef PFD_FORMATS_MEGATRON_TOKEN_FILES_H
#define PFD_FORMATS_MEGATRON_TOKEN_FILES_H
#include "pyflowdata/op.h"

/* ---- The .idx of a .bin, as Megatron-LM writes the two --------------------------------------- */

/* Two versions are read, recognised by the beginning of the file: the current one (MMIDIDX) and
 * the one before it (TNTIDX).  A document is a number of consecutive sequences.  Opening checks
 * every entry once.  After that entries are loaded from the mapped file, or read from the disk;
 * there is no copy of the index in memory.
 *
 * OWNERSHIP  Files are borrowed until close.
 * THREADS    After open: any thread.
 * ERRORS     PFD_CORRUPT_DATA names the entry that contradicts the rest.  PFD_UNSUPPORTED: the file
 *            is one of fairseq's, or has numbers that are not integers. */

/* An open .idx. */
typedef struct pfd_megatron_index {
    const pfd_host *host;
    const pfd_file *file, *bin; /* NULL: no index */
    const uint8_t *data;        /* all of the .idx, mapped; NULL: entries are read from the file */
    int32_t is_legacy;
    int32_t dtype;         /* PFD_*, of the tokens */
    int64_t element_bytes; /* of a token */
    int64_t num_sequences, num_documents, num_tokens;
    int64_t lengths, pointers, documents; /* where these arrays begin in the .idx */
    /* 1: the sequences are back to back in the .bin, in their order, and fill it, so the place of a
     * token is computed.  Otherwise the number of tokens before each 1024th sequence is kept. */
    int32_t is_contiguous;
    int64_t *tokens_before; /* owned */
} pfd_megatron_index;

/* Reads the header of an .idx into *out; the fields that depend on the entries are not set. */
pfd_status pfd_megatron_header_read(const pfd_host *host, const pfd_file *idx, pfd_scratch *scratch,
                                    pfd_megatron_index *out, pfd_error *err);

/* A piece of a .bin. */
typedef struct pfd_token_range {
    int64_t offset; /* in bytes */
    int64_t num_tokens;
} pfd_token_range;

/* Finds sequence i.  The range is within the .bin even if the .idx has changed. */
pfd_status pfd_megatron_sequence(const pfd_megatron_index *index, int64_t i, pfd_scratch *scratch,
                                 pfd_token_range *out, pfd_error *err);

/* Finds the sequences of document i: [first, end). */
pfd_status pfd_megatron_document(const pfd_megatron_index *index, int64_t i, pfd_scratch *scratch,
                                 int64_t *first, int64_t *end, pfd_error *err);

/* ---- Files of tokens ------------------------------------------------------------------------- */

/* The choices of an attr `format`. */
#define PFD_TOKENS_AUTO 0 /* flat if there is no .idx and the dtype is given; else megatron */
#define PFD_TOKENS_MEGATRON 1
#define PFD_TOKENS_FLAT 2

typedef struct pfd_token_options {
    int32_t format;       /* PFD_TOKENS_* */
    int32_t file_dtype;   /* of the files; 0: their .idx states it */
    int64_t header_bytes; /* of flat files */
    int32_t gaps;         /* see megatron_index_open() */
    int32_t row_dtype;    /* the dtype of the files, or one that can hold all of its values */
    int32_t same_dtype;   /* all files must have the same dtype */
} pfd_token_options;

typedef struct pfd_token_file {
    const pfd_file *bin;
    pfd_megatron_index index; /* zeroed: the file is flat */
    int32_t dtype;
    int64_t element_bytes;
    int64_t header_bytes;
    /* The numbers of the first token, sequence and document of this file. */
    int64_t first_token, first_sequence, first_document;
} pfd_token_file;

typedef struct pfd_token_files {
    const pfd_host *host;
    int64_t num_files;
    int64_t num_tokens, num_sequences, num_documents;
    pfd_token_file *files; /* num_files entries, and one that begins after the last file; owned */
} pfd_token_files;

/* Adds the other half of each pair of which one half, or the common prefix, was given; for
 * pfd_op.companions. */
pfd_status pfd_token_companions(const pfd_companion_args *args, int32_t format, pfd_error *err);

/* The caller closes *out in any case. */
pfd_status pfd_token_files_open(const pfd_open_args *args, const pfd_token_options *options,
                                pfd_token_files *out, pfd_error *err);
void pfd_token_files_close(pfd_token_files *files); /* accepts a zeroed one */

/* The file in which a token, sequence or document is, by its number in all files. */
const pfd_token_file *pfd_file_of_token(const pfd_token_files *files, int64_t token);
const pfd_token_file *pfd_file_of_sequence(const pfd_token_files *files, int64_t sequence);
const pfd_token_file *pfd_file_of_document(const pfd_token_files *files, int64_t document);

/* Finds a token of the file by its number in all files, and the tokens that directly follow it. */
pfd_status pfd_token_place(const pfd_token_file *file, int64_t token, pfd_scratch *scratch,
                           pfd_token_range *out, pfd_error *err);

/* The attr `gaps` of both readers. */
#define PFD_TOKEN_GAPS_ATTR(owner)                                                                 \
    PFD_BOOL_ATTR(owner, gaps, "false",                                                            \
                  "Whether the .idx may leave out bytes of the .bin, or list them in another "     \
                  "order or twice; otherwise its sequences must cover the .bin completely, one "   \
                  "after another.")
#endif
