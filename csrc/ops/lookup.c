/* Lookup: the number of each text in a vocabulary. */
#include "core/bytes.h"
#include "core/hash.h"
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "core/tables.h"
#include "parse/row_type.h"

#include <inttypes.h>

enum { MOST_SHOWN = 40 }; /* bytes of a text in a message */

typedef struct lookup_attrs {
    int64_t vocabulary;
} lookup_attrs;

/* A word of a vocabulary. */
typedef struct entry {
    int64_t id, offset, size; /* the place of the word in `bytes` */
} entry;

/* A vocabulary, as datasets/fitting.py lays it out in a table of int64: three numbers, the first
 * entry of each bucket and the end, the entries by bucket, and the bytes of all words.  The bucket
 * of a word is its XXH64, modulo the buckets, which are a power of two. */
typedef struct vocabulary {
    int64_t words, unknown, buckets; /* unknown: the number of other texts; -1: none */
    const int64_t *begins;
    const entry *entries;
    const uint8_t *bytes;
} vocabulary;

static pfd_status open_vocabulary(const pfd_compute_args *args, vocabulary *out, pfd_error *err)
{
    const lookup_attrs *attrs = args->attrs;
    pfd_table table;
    PFD_TRY(pfd_table_find(attrs->vocabulary, &table, err));
    const int64_t *data = table.data;
    *out = (vocabulary){data[0], data[1], data[2], .begins = data + 3};
    out->entries = (const void *)(out->begins + out->buckets + 1);
    out->bytes = (const void *)(out->entries + out->words);
    return PFD_OK;
}

static int64_t number_of(const vocabulary *words, pfd_bytes text)
{
    const int64_t *begin =
        words->begins + (pfd_xxh64(text.data, text.size) & (uint64_t)(words->buckets - 1));
    for (int64_t i = begin[0]; i < begin[1]; i++) {
        const entry *word = &words->entries[i];
        if (word->size == text.size &&
            pfd_is_same(words->bytes + word->offset, text.data, text.size))
            return word->id;
    }
    return words->unknown;
}

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    PFD_TRY(pfd_expect_bytes(args, err));
    args->outputs[0] = (pfd_row_type){.dtype = PFD_INT64};
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    vocabulary words;
    PFD_TRY(open_vocabulary(args, &words, err));
    int64_t *out = (void *)args->outputs[0]->data;
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_bytes text = pfd_row_bytes(args->inputs[0], i);
        out[i] = number_of(&words, text);
        if (out[i] >= 0) continue;
        int32_t shown = text.size > MOST_SHOWN ? MOST_SHOWN : (int32_t)text.size;
        return args->host->fail_row(
            err, i, pfd_place_in_record(args, i, text.data), PFD_CORRUPT_DATA,
            "the text '%.*s'%s is not among the %" PRId64 " words of the vocabulary; a Vocabulary "
            "with unknown='<unknown>' has a number for such texts", shown,
            shown ? (const char *)text.data : "", shown < text.size ? "..." : "", words.words);
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_ATTR_ROW(lookup_attrs, vocabulary, PFD_ATTR_OBJECT, NULL, 0, 0, NULL,
                 "The words: a Vocabulary, such as Vocabulary.fit(data, \"city\")."),
};

static const pfd_port inputs[] = {{"in", "Rows of text, uint8 of one dimension, which may vary."}};
static const pfd_port outputs[] = {{"out", "The number of each text, int64."}};

const pfd_op pfd_op_lookup = {
    PFD_ROW_OP(PFD_TAKES_RAGGED, inputs, outputs),
    .name = "Lookup",
    .doc = "Finds the number of each text in a vocabulary. Texts are compared byte by byte; an "
           "empty text is a word like any other. A text that is not in the vocabulary gets the "
           "number of the vocabulary's unknown word, and counts as damaged if there is no such "
           "word.",
    PFD_OP_ATTRS(lookup_attrs, attr_table),
};
