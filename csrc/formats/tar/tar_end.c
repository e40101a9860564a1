/* Checks what follows the members of a tar file. */
#include "formats/tar/tar_end.h"

#include "files/input_files.h"

enum {
    record_bytes = 20 * PFD_TAR_BLOCK, /* the default of writers */
    most_bytes = 128 * PFD_TAR_BLOCK   /* of a frame, which stays in memory */
};

/* Reads up to a block; *there is how many bytes of it the file has, 0 if the file ends before it.
 */
static pfd_status read_block(const pfd_frame_args *args, int64_t at, const uint8_t **block,
                             int64_t *there, pfd_error *err)
{
    int32_t is_end;
    PFD_TRY(pfd_file_bytes_at(args->file, at, PFD_TAR_BLOCK, args->scratch, there, &is_end, err));
    if (*there > 0) return args->host->read(args->file, at, *there, args->scratch, block, err);
    *there = 0;
    return PFD_OK;
}

static int32_t is_zero(const uint8_t *bytes, int64_t size)
{
    while (size > 0 && bytes[size - 1] == 0) size--;
    return size == 0;
}

/* Whether two blocks of zeros begin at `at`, before `end`. The caller has checked the first one. */
static pfd_status is_marked(const pfd_frame_args *args, int64_t at, int64_t end, int32_t *is,
                            pfd_error *err)
{
    const uint8_t *second;
    int64_t there;
    *is = 0;
    if (at + 2 * PFD_TAR_BLOCK > end) return PFD_OK;
    PFD_TRY(read_block(args, at + PFD_TAR_BLOCK, &second, &there, err));
    *is = is_zero(second, there);
    return PFD_OK;
}

pfd_status pfd_tar_get_from_file(const pfd_tar_bytes *self, int64_t offset, int64_t size,
                                 const uint8_t **data, pfd_error *err)
{
    const pfd_frame_args *args = self->ctx;
    return args->host->read(args->file, args->offset + offset, size, self->scratch, data, err);
}

pfd_status pfd_tar_look(const pfd_tar_bytes *bytes, int64_t offset, pfd_tar_member *out,
                        pfd_error *err)
{
    const pfd_frame_args *args = bytes->ctx;
    const uint8_t *block;
    int64_t there;
    PFD_TRY(read_block(args, args->offset + offset, &block, &there, err));
    *out = (pfd_tar_member){.is_end = is_zero(block, there)};
    return out->is_end ? PFD_OK : pfd_tar_member_at(bytes, offset, out, err);
}

/* Whether the header at `at` begins a second archive.  A header that a writer left in its buffer
 * is followed by other remains up to the end of the record, without an end mark among them; at
 * most the first half of a mark can be at the end of the record. */
static pfd_status begins_archive(const pfd_tar_bytes *bytes, int64_t at, int64_t record_end,
                                 int32_t *does, pfd_error *err)
{
    const pfd_frame_args *args = bytes->ctx;
    PFD_TRY(pfd_file_ends_at(args->file, record_end - 1, args->scratch, does, err));
    while (!*does && at < record_end) {
        pfd_tar_member member;
        pfd_status status = pfd_tar_member_at(bytes, at - args->offset, &member, err);
        if (status == PFD_CORRUPT_DATA || status == PFD_UNSUPPORTED) return PFD_OK;
        if (status != PFD_OK) return status;
        if (member.is_end) return is_marked(args, at, record_end, does, err);
        at = args->offset + member.next;
    }
    return PFD_OK;
}

pfd_status pfd_tar_pass_end(const pfd_tar_bytes *bytes, pfd_frame *out, pfd_error *err)
{
    const pfd_frame_args *args = bytes->ctx;
    int64_t second = args->offset + PFD_TAR_BLOCK; /* of the two that mark the end */
    int64_t record_end = (second / record_bytes + 1) * record_bytes, zeros = args->offset;
    out->is_record = 0;
    for (int64_t at = args->offset; at < args->offset + most_bytes; at += PFD_TAR_BLOCK) {
        const uint8_t *block;
        int64_t there;
        int32_t is_more = 0;
        PFD_TRY(read_block(args, at, &block, &there, err));
        if (is_zero(block, there)) zeros = at;
        else if (at >= record_end || zeros < second) is_more = 1;
        else if (there == PFD_TAR_BLOCK && pfd_tar_has_checksum(block))
            PFD_TRY(begins_archive(bytes, at, record_end, &is_more, err));
        if (is_more)
            return args->host->fail_file(err, args->file, at, PFD_CORRUPT_DATA,
                                         "the archive ends before, but another one follows here; "
                                         "were two tar files joined by cat? use tar --concatenate");
        out->next = at + there;
        if (there < PFD_TAR_BLOCK) return PFD_OK;
    }
    out->next = zeros; /* the next frame continues there */
    return PFD_OK;
}
