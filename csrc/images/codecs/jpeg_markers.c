/* The markers of a JPEG file up to its frame header, which has the size; EXIF on the way. */
#include "images/codecs/jpeg_markers.h"

#include "core/bytes.h"
#include "images/codecs/codec_table.h"
#include "images/codecs/exif.h"

#include <inttypes.h>
#include <string.h>

enum { TEM = 0x01, SOF0 = 0xc0, DHT = 0xc4, JPG = 0xc8, DAC = 0xcc, SOF15 = 0xcf, RST0 = 0xd0,
       EOI = 0xd9, SOS = 0xda, APP1 = 0xe1 };

int32_t pfd_is_jpeg(const uint8_t *data, int64_t size)
{
    return size >= 3 && data[0] == 0xff && data[1] == 0xd8 && data[2] == 0xff;
}

static pfd_status fail(const pfd_image_file *file, int64_t byte, const char *what, pfd_error *err)
{
    return file->host->fail_row(err, file->row, pfd_image_byte(file, byte), PFD_CORRUPT_DATA,
                                "JPEG: %s at byte %" PRId64 " of %" PRId64, what, byte,
                                file->size);
}

/* The offset after the next marker at or after `at`, bytes between markers passed over as libjpeg
 * does; 0: there is none. */
static int64_t after_marker(const pfd_image_file *file, int64_t at)
{
    while (at < file->size) {
        const uint8_t *found = memchr(file->data + at, 0xff, (size_t)(file->size - at));
        if (!found) return 0;
        at = found - file->data;
        while (at < file->size && file->data[at] == 0xff) at++;
        if (at < file->size && file->data[at++] != 0) return at;
    }
    return 0;
}

static pfd_status read_frame(const pfd_image_file *file, int64_t at, int64_t bytes,
                             pfd_image_header *out, pfd_error *err)
{
    if (bytes < 8) return fail(file, at, "a frame header that is too short", err);
    out->bits = file->data[at + 2];
    out->stored_height = (int64_t)pfd_load_be(file->data + at + 3, 2);
    out->stored_width = (int64_t)pfd_load_be(file->data + at + 5, 2);
    out->channels = file->data[at + 7];
    if (out->channels != 1 && out->channels != 3 && out->channels != 4)
        return fail(file, at + 7, "a number of colour components other than 1, 3 and 4", err);
    return PFD_OK;
}

pfd_status pfd_jpeg_read_header(const pfd_image_file *file, const pfd_decode_options *options,
                                pfd_image_header *out, pfd_error *err)
{
    for (int64_t at = after_marker(file, 2); at; at = after_marker(file, at)) {
        uint8_t marker = file->data[at - 1];
        if (marker == TEM || (marker >= RST0 && marker < EOI)) continue; /* without a segment */
        if (marker == EOI || marker == SOS) return fail(file, at - 2, "no frame header", err);
        if (file->size - at < 2) break;
        int64_t bytes = (int64_t)pfd_load_be(file->data + at, 2);
        if (bytes < 2) return fail(file, at, "a segment that is shorter than its length", err);
        if (bytes > file->size - at) break;
        if (marker >= SOF0 && marker <= SOF15 && marker != DHT && marker != JPG && marker != DAC)
            return read_frame(file, at, bytes, out, err);
        if (marker == APP1 && options->apply_orientation && out->orientation == 1)
            out->orientation = pfd_exif_orientation(file->data + at + 2, bytes - 2);
        at += bytes;
    }
    return fail(file, file->size, "the file ends in its header,", err);
}
