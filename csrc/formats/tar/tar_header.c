/* Parses headers of tar files. */
#include "formats/tar/tar_header.h"

#include <string.h>

/* The largest extended header that is read: a larger one does not hold just a name. */
enum { most_extended = 1024 * 1024 };

enum { /* offsets of fields */
    at_name = 0,
    at_size = 124,
    at_checksum = 148,
    at_type = 156,
    at_magic = 257,
    at_prefix = 345,
    name_bytes = 100,
    number_bytes = 12,
    checksum_bytes = 8,
    prefix_bytes = 155
};

static pfd_status fail(const pfd_host *host, int64_t offset, pfd_error *err, pfd_status status,
                       const char *message)
{
    host->fail(err, status, "%s", message);
    err->byte = offset;
    return status;
}

static int64_t size_of_text(const uint8_t *text, int64_t most)
{
    const uint8_t *end = memchr(text, 0, (size_t)most);
    return end ? end - text : most;
}

/* Parses octal digits between blanks; -1: the text is something else. */
static int64_t parse_octal(const uint8_t *text, int64_t size)
{
    int64_t value = 0, i = 0;
    while (i < size && text[i] == ' ') i++;
    for (; i < size && text[i] >= '0' && text[i] <= '7'; i++) value = value * 8 + (text[i] - '0');
    return i == size || text[i] == 0 || text[i] == ' ' ? value : -1;
}

/* Parses a size: octal digits, or, for large files, a big-endian number. -1: neither. */
static int64_t parse_size(const uint8_t *text)
{
    if (!(text[0] & 0x80)) return parse_octal(text, number_bytes);
    uint64_t value = 0;
    int32_t is_large = text[0] != 0x80;
    for (int32_t i = 1; i < number_bytes; i++) {
        is_large |= value >> 55 != 0;
        value = value << 8 | text[i];
    }
    return is_large || value > INT64_MAX ? -1 : (int64_t)value;
}

int32_t pfd_tar_has_checksum(const uint8_t *header)
{
    int64_t sum = 0, sum_signed = 0;
    for (int32_t i = 0; i < PFD_TAR_BLOCK; i++) {
        int32_t in_field = i >= at_checksum && i < at_checksum + checksum_bytes;
        uint8_t byte = in_field ? ' ' : header[i];
        sum += byte;
        sum_signed += (int8_t)byte;
    }
    int64_t written = parse_octal(header + at_checksum, checksum_bytes);
    return written == sum || written == sum_signed;
}

/* ---- Extended headers ------------------------------------------------------------------------ */

typedef struct extended {
    const char *name; /* NULL: none */
    int64_t name_size;
    int64_t size; /* -1: none */
} extended;

/* Takes one "length key=value\n" of a pax header. */
static const char *take_record(const uint8_t *key, int64_t key_size, const uint8_t *value,
                               int64_t value_size, extended *out)
{
    if (key_size == 4 && !memcmp(key, "path", 4)) {
        out->name = value_size > 0 ? (const char *)value : NULL;
        out->name_size = value_size;
    } else if (key_size == 4 && !memcmp(key, "size", 4)) {
        int64_t size = 0;
        for (int64_t i = 0; i < value_size; i++) {
            if (value[i] < '0' || value[i] > '9' || size > INT64_MAX / 10 - 1)
                return "the size in the extended header is not a number";
            size = size * 10 + (value[i] - '0');
        }
        out->size = value_size > 0 ? size : -1;
    } else if (key_size > 11 && !memcmp(key, "GNU.sparse.", 11)) {
        return "sparse";
    }
    return NULL;
}

/* Parses a pax header.  Returns NULL, or what is wrong. */
static const char *parse_pax(const uint8_t *text, int64_t size, extended *out)
{
    static const char wrong[] = "the extended header is damaged: expected 'length key=value' lines";
    while (size > 0) {
        int64_t length = 0, i = 0;
        for (; i < size && i < 10 && text[i] >= '0' && text[i] <= '9'; i++)
            length = length * 10 + (text[i] - '0');
        if (i == 0 || i >= size || text[i] != ' ' || length > size || length < i + 3 ||
            text[length - 1] != '\n')
            return wrong;
        const uint8_t *key = text + i + 1, *end = text + length - 1;
        const uint8_t *equals = memchr(key, '=', (size_t)(end - key));
        if (!equals || equals == key) return wrong;
        const char *fault = take_record(key, equals - key, equals + 1, end - equals - 1, out);
        if (fault) return fault;
        text += length;
        size -= length;
    }
    return NULL;
}

static pfd_status read_extended(const pfd_tar_bytes *bytes, uint8_t type, int64_t offset,
                                int64_t size, extended *out, pfd_error *err)
{
    const uint8_t *text;
    extended global = {.size = -1};
    if (type == 'K') return PFD_OK; /* the target of a link */
    if (size > most_extended)
        return fail(bytes->host, offset, err, PFD_CORRUPT_DATA,
                    "an extended header has more than a megabyte; is it damaged?");
    PFD_TRY(bytes->get(bytes, offset, size, &text, err));
    if (type == 'L') {
        out->name = (const char *)text;
        out->name_size = size_of_text(text, size);
        return PFD_OK;
    }
    const char *fault = parse_pax(text, size, type == 'g' ? &global : out);
    if (!fault && (global.name || global.size >= 0))
        return fail(bytes->host, offset, err, PFD_UNSUPPORTED,
                    "a global header sets a path or size for all files that follow");
    if (!fault) return PFD_OK;
    if (!strcmp(fault, "sparse"))
        return fail(bytes->host, offset, err, PFD_UNSUPPORTED,
                    "a sparse file; make the archive without the option --sparse");
    return fail(bytes->host, offset, err, PFD_CORRUPT_DATA, fault);
}

/* ---- Members --------------------------------------------------------------------------------- */

static pfd_status take_name(const pfd_tar_bytes *bytes, const uint8_t *header,
                            const extended *before, pfd_tar_member *out, pfd_error *err)
{
    int64_t size = size_of_text(header + at_name, name_bytes), prefix = 0;
    out->name = before->name ? before->name : (const char *)header + at_name;
    out->name_size = before->name ? before->name_size : size;
    if (!before->name && !memcmp(header + at_magic, "ustar", 6)) /* GNU's is "ustar " */
        prefix = size_of_text(header + at_prefix, prefix_bytes);
    if (prefix == 0) return PFD_OK;
    char *joined = bytes->host->alloc(bytes->scratch, prefix + 1 + size);
    if (!joined) return bytes->host->fail(err, PFD_OUT_OF_MEMORY, "no memory for a name");
    memcpy(joined, header + at_prefix, (size_t)prefix);
    joined[prefix] = '/';
    memcpy(joined + prefix + 1, header + at_name, (size_t)size);
    out->name = joined;
    out->name_size = prefix + 1 + size;
    return PFD_OK;
}

/* Sets the kind of the member, and whether it has content. */
static void take_type(const uint8_t *header, pfd_tar_member *out)
{
    uint8_t type = header[at_type];
    int32_t is_folder = type == 0 && out->name_size > 0 && out->name[out->name_size - 1] == '/';
    out->is_file = (type == 0 || type == '0' || type == '7') && !is_folder;
    if (is_folder || (type >= '1' && type <= '6')) out->size = 0;
}

static pfd_status check_header(const pfd_host *host, const uint8_t *header, int64_t offset,
                               int64_t *size, pfd_error *err)
{
    if (!pfd_tar_has_checksum(header))
        return fail(host, offset, err, PFD_CORRUPT_DATA,
                    "this is not a header of a tar file, or it is damaged: its checksum is wrong");
    *size = parse_size(header + at_size);
    if (*size < 0 || *size > INT64_MAX / 4 || offset > INT64_MAX / 4)
        return fail(host, offset, err, PFD_CORRUPT_DATA, "the size in the header is not a number");
    return PFD_OK;
}

static int64_t end_of_blocks(int64_t data, int64_t size)
{
    return data + (size + PFD_TAR_BLOCK - 1) / PFD_TAR_BLOCK * PFD_TAR_BLOCK;
}

pfd_status pfd_tar_member_at(const pfd_tar_bytes *bytes, int64_t offset, pfd_tar_member *out,
                             pfd_error *err)
{
    const uint8_t *header;
    extended before = {.size = -1};
    int64_t at = offset, size;
    for (;;) {
        PFD_TRY(bytes->get(bytes, at, PFD_TAR_BLOCK, &header, err));
        int32_t is_zero = header[0] == 0 && !memcmp(header, header + 1, PFD_TAR_BLOCK - 1);
        *out = (pfd_tar_member){.is_end = at == offset && is_zero};
        if (out->is_end) return PFD_OK;
        PFD_TRY(check_header(bytes->host, header, at, &size, err));
        uint8_t type = header[at_type];
        if (type == 0 || !strchr("xgXLK", type)) break; /* pax, or a long name or link of GNU tar */
        PFD_TRY(read_extended(bytes, type, at + PFD_TAR_BLOCK, size, &before, err));
        at = end_of_blocks(at + PFD_TAR_BLOCK, size);
    }
    if (header[at_type] == 'S' || header[at_type] == 'M')
        return fail(bytes->host, at, err, PFD_UNSUPPORTED,
                    "a sparse file, or the rest of one in another archive; make the archive "
                    "without the options --sparse and --multi-volume");
    if (before.size > INT64_MAX / 4)
        return fail(bytes->host, at, err, PFD_CORRUPT_DATA,
                    "the size in the extended header is too large");
    PFD_TRY(take_name(bytes, header, &before, out, err));
    out->size = before.size >= 0 ? before.size : size;
    take_type(header, out);
    out->data = at + PFD_TAR_BLOCK;
    out->next = end_of_blocks(out->data, out->size);
    return PFD_OK;
}

pfd_status pfd_tar_get_from_record(const pfd_tar_bytes *self, int64_t offset, int64_t size,
                                   const uint8_t **data, pfd_error *err)
{
    const pfd_record *record = self->ctx;
    if (offset < 0 || size < 0 || offset > record->size - size)
        return fail(self->host, offset, err, PFD_CORRUPT_DATA, "the sample ends within a header");
    *data = record->data + offset;
    return PFD_OK;
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* Whether a name is __like_this__. */
static int32_t is_meta(const char *name, int64_t size)
{
    return size >= 4 && !memcmp(name, "__", 2) && !memcmp(name + size - 2, "__", 2);
}

int32_t pfd_tar_name_split(const pfd_tar_member *member, pfd_tar_name *out)
{
    const char *name = member->name, *end = name + member->name_size;
    const char *slash = memchr(name, '/', (size_t)member->name_size);
    if (!member->is_file || is_meta(name, slash ? slash - name : end - name)) return 0;
    slash = memrchr(name, '/', (size_t)member->name_size);
    const char *base = slash ? slash + 1 : name;
    const char *dot = memchr(base, '.', (size_t)(end - base));
    if (!dot || dot == base) return 0;
    *out = (pfd_tar_name){.key = name,
                          .key_size = dot - name,
                          .extension = dot + 1,
                          .extension_size = end - dot - 1};
    return 1;
}
