/* OneRecReader: reads frames of a FlatBuffer and two digests. */
#include "core/bytes.h"
#include "core/hash.h"
#include "core/op_shorthand.h"
#include "files/file_hint.h"

#include <inttypes.h>

/* A frame is: magic, reserved number, size of the payload, digest of these 16 bytes; payload;
 * padding; digest of the payload. */
enum { hashed_bytes = 16, header_bytes = 24, digest_bytes = 8, alignment = 8 };
static const char magic[] = "^ONEREC$";

typedef struct onerec_reader_attrs {
    int32_t check_digest;
} onerec_reader_attrs;

static uint64_t read_digest(const uint8_t *at)
{
    return pfd_load_be(at, digest_bytes);
}

static int32_t read_int32(const uint8_t *at)
{
    return (int32_t)pfd_load_le32(at);
}

PFD_INFER_BYTES

static pfd_status fail_magic(const pfd_frame_args *args, pfd_error *err)
{
    char seems[100];
    const char *other = NULL;
    if (args->offset == 0)
        other = pfd_file_looks_like(args->host, args->file, args->scratch, "onerec");
    return args->host->fail_row(
        err, -1, 0, PFD_CORRUPT_DATA, "no frame begins here: the magic '%s' is missing%s", magic,
        pfd_looks_like_hint(other, "; is it a OneRec file, or was it overwritten?", seems,
                            sizeof seems));
}

static pfd_status check_header(const pfd_host *host, const uint8_t *header, pfd_error *err)
{
    uint64_t stored = read_digest(header + hashed_bytes);
    uint64_t digest = pfd_xxh64(header, hashed_bytes);
    if (digest != stored)
        return host->fail_row(err, -1, hashed_bytes, PFD_CORRUPT_DATA,
                              "the frame's header is damaged: its digest is %016" PRIx64
                              ", and %016" PRIx64 " is stored",
                              digest, stored);
    if (read_int32(header + 8) != 0 || read_int32(header + 12) < 0)
        return host->fail_row(err, -1, 8, PFD_CORRUPT_DATA,
                              "the frame's reserved number is %" PRId32 " and its size "
                              "%" PRId32 "; the number must be 0, and the size not negative",
                              read_int32(header + 8), read_int32(header + 12));
    return PFD_OK;
}

/* The record is the whole frame: compute() finds the digest in it. */
static pfd_status frame(const pfd_frame_args *args, pfd_frame *out, pfd_error *err)
{
    int64_t left = args->file->size - args->offset;
    const uint8_t *header;
    if (left < header_bytes)
        return args->host->fail_row(err, -1, 0, PFD_CORRUPT_DATA,
                                    "the file ends inside the header of a frame, after %" PRId64
                                    " bytes of %d; is it truncated?",
                                    left, header_bytes);
    PFD_TRY(args->host->read(args->file, args->offset, header_bytes, args->scratch, &header, err));
    if (memcmp(header, magic, 8) != 0) return fail_magic(args, err);
    PFD_TRY(check_header(args->host, header, err));
    int64_t size = read_int32(header + 12), padding = (alignment - size % alignment) % alignment;
    out->is_record = 1;
    out->data = args->offset;
    out->size = header_bytes + size + padding + digest_bytes;
    out->next = out->data + out->size;
    return PFD_OK;
}

PFD_OPEN_FRAMES(frame)

static pfd_status read_payload(const pfd_host *host, const pfd_record *record, int64_t row,
                               int32_t check_digest, pfd_ragged_row *out, pfd_error *err)
{
    int64_t size = record->size < header_bytes + digest_bytes ? -1 : read_int32(record->data + 12);
    if (size < 0 || size > record->size - header_bytes - digest_bytes)
        return host->fail_row(err, row, 0, PFD_CORRUPT_DATA, "the frame is truncated");
    *out = (pfd_ragged_row){.data = record->data + header_bytes, .num_elements = size};
    if (!check_digest) return PFD_OK;
    int64_t at = record->size - digest_bytes;
    uint64_t stored = read_digest(record->data + at), digest = pfd_xxh64(out->data, size);
    if (digest == stored) return PFD_OK;
    return host->fail_row(err, row, at, PFD_CORRUPT_DATA,
                          "the payload is damaged: its digest is %016" PRIx64 ", but %016" PRIx64
                          " is stored",
                          digest, stored);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    const onerec_reader_attrs *attrs = args->attrs;
    for (int64_t i = 0; i < args->num_rows; i++)
        PFD_TRY(read_payload(args->host, &args->records[i], i, attrs->check_digest,
                             &args->outputs[0]->rows[i], err));
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_BOOL_ATTR(onerec_reader_attrs, check_digest, "true",
                  "Whether to check the digest of each payload; the digest of each header is "
                  "always checked."),
};

static const pfd_port outputs[] = {
    {"out", "The bytes of each payload, uint8 of shape (batch, None), for OneRecDecoder."},
};

const pfd_op pfd_op_onerec_reader = {
    PFD_READER(PFD_READS_FILES, outputs),
    .name = "OneRecReader",
    .doc = "Reads OneRec files, an older format of OneFlow: messages in frames with digests. "
           "Each frame has an XXH64 digest of its header, which is checked whenever the frame is "
           "looked up, and one of its payload, which is checked when the payload is read. A "
           "damaged payload is an error of one record, a damaged header an error of the file.",
    PFD_OP_ATTRS(onerec_reader_attrs, attr_table),
};
