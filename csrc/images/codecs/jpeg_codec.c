/* JPEG by libjpeg-turbo: whole images and regions, one decompressor per thread.
 *
 * libjpeg reports by error_exit(), which must not return: it jumps back into protect(), the only
 * function here with a setjmp.  Nothing needs freeing then, since all memory is in the arena.
 */
#include "images/codecs/codec_table.h"
#include "images/codecs/jpeg_markers.h"

#ifdef PFD_HAVE_JPEG
#include "images/codecs/jpeg_memory.h"
#if defined(LIBJPEG_TURBO_VERSION_NUMBER) && LIBJPEG_TURBO_VERSION_NUMBER >= 2001000
#define HAS_DECODER 1 /* older ones, and libjpeg of others, decode no regions, or not exactly */
#endif
#endif

#ifdef HAS_DECODER
#include "images/codecs/pixel_rows.h"
#include "images/codecs/workspace.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>

enum {
    ROWS = 8,        /* asked for in one call; libjpeg gives as many as it has */
    MOST_SCANS = 500, /* of a progressive file: an encoder writes about ten */
    MARGIN = 2       /* columns beside a region that upsampling of its edge looks at */
};

typedef struct jpeg_reader {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    pfd_jpeg_memory memory;
    jmp_buf escape;
    const pfd_image_file *file;
    int32_t has_ended;    /* libjpeg asked for bytes after the last one */
    int32_t is_cancelled;
    const char *refusal;  /* why it was given up, where libjpeg had no reason; NULL: it had */
    int32_t damage;       /* libjpeg's number of the first warning that pixels are lost; 0: none */
    int64_t damaged_byte;
    pfd_scratch *arena;
} jpeg_reader;

/* What is decoded, and where it goes. */
typedef struct job {
    jpeg_reader *reader;
    const pfd_decode_options *options;
    const pfd_image_header *header;
    const pfd_region *region;
    pfd_pixels *out;
    pfd_error *err;
    pfd_status status; /* of a failure that is already in *err */
    JDIMENSION left, width; /* of the columns that libjpeg gives */
} job;

/* ---- What libjpeg calls ---------------------------------------------------------------------- */

static jpeg_reader *reader_of(j_common_ptr cinfo)
{
    return cinfo->client_data;
}

static void give_up(j_common_ptr cinfo)
{
    longjmp(reader_of(cinfo)->escape, 1);
}

static void refuse(jpeg_reader *reader, const char *why)
{
    reader->refusal = why;
    give_up((j_common_ptr)&reader->cinfo);
}

static int64_t byte_of(const jpeg_reader *reader)
{
    return reader->has_ended ? reader->file->size
                             : reader->file->size - (int64_t)reader->source.bytes_in_buffer;
}

/* The warnings after which pixels are missing or wrong.  The others tell of bytes that nothing
 * needs, and of markers with values that do not matter. */
static int32_t means_loss(int32_t code)
{
    return code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_ARITH_BAD_CODE ||
           code == JWRN_MUST_RESYNC || code == JWRN_BOGUS_PROGRESSION;
}

static void note(j_common_ptr cinfo, int level)
{
    jpeg_reader *reader = reader_of(cinfo);
    if (level >= 0 || reader->damage || !means_loss(cinfo->err->msg_code)) return;
    reader->damage = cinfo->err->msg_code;
    reader->damaged_byte = byte_of(reader);
}

static void print_nothing(j_common_ptr cinfo)
{
    (void)cinfo;
}

static void do_nothing(j_decompress_ptr cinfo)
{
    (void)cinfo;
}

/* After the last byte libjpeg reads the marker that ends an image.  A file that lacks only that is
 * whole; where data are missing, libjpeg warns that they end at a marker. */
static boolean end_the_image(j_decompress_ptr cinfo)
{
    static const JOCTET marker[] = {0xff, JPEG_EOI};
    reader_of((j_common_ptr)cinfo)->has_ended = 1;
    cinfo->src->next_input_byte = marker;
    cinfo->src->bytes_in_buffer = sizeof marker;
    return TRUE;
}

static void skip_bytes(j_decompress_ptr cinfo, long bytes)
{
    if (bytes <= 0) return;
    if ((size_t)bytes > cinfo->src->bytes_in_buffer) {
        (void)end_the_image(cinfo);
        return;
    }
    cinfo->src->next_input_byte += bytes;
    cinfo->src->bytes_in_buffer -= (size_t)bytes;
}

static void look_up(j_common_ptr cinfo)
{
    jpeg_reader *reader = reader_of(cinfo);
    if (reader->file->host->is_cancelled(reader->file->scratch)) {
        reader->is_cancelled = 1;
        give_up(cinfo);
    }
    if (((j_decompress_ptr)cinfo)->input_scan_number > MOST_SCANS)
        refuse(reader, "more than 500 scans");
}

/* 0: libjpeg gave up. */
static int32_t protect(jpeg_reader *reader, void (*run)(void *), void *argument)
{
    if (setjmp(reader->escape)) return 0;
    run(argument);
    return 1;
}

/* ---- A thread's decompressor ----------------------------------------------------------------- */

static void create(void *object)
{
    jpeg_reader *reader = object;
    jpeg_create_decompress(&reader->cinfo);
}

static void free_reader(void *object)
{
    jpeg_reader *reader = object;
    pfd_jpeg_memory_remove(&reader->memory, (j_common_ptr)&reader->cinfo);
    jpeg_destroy_decompress(&reader->cinfo);
    free(reader);
}

static jpeg_reader *make_reader(void)
{
    jpeg_reader *reader = calloc(1, sizeof *reader);
    if (!reader) return NULL;
    reader->cinfo.err = jpeg_std_error(&reader->errors);
    reader->errors.error_exit = give_up;
    reader->errors.emit_message = note;
    reader->errors.output_message = print_nothing;
    reader->cinfo.client_data = reader;
    if (!protect(reader, create, reader)) {
        jpeg_destroy_decompress(&reader->cinfo);
        free(reader);
        return NULL;
    }
    reader->source = (struct jpeg_source_mgr){.init_source = do_nothing,
                                              .fill_input_buffer = end_the_image,
                                              .skip_input_data = skip_bytes,
                                              .resync_to_restart = jpeg_resync_to_restart,
                                              .term_source = do_nothing};
    reader->cinfo.src = &reader->source;
    reader->progress.progress_monitor = look_up;
    reader->cinfo.progress = &reader->progress;
    pfd_jpeg_memory_install(&reader->memory, (j_common_ptr)&reader->cinfo);
    return reader;
}

/* For a new image: its bytes, and none of the tables of the image before. */
static void aim(jpeg_reader *reader, const pfd_image_file *file, pfd_scratch *arena)
{
    struct jpeg_decompress_struct *cinfo = &reader->cinfo;
    pfd_jpeg_memory_use(&reader->memory, arena);
    memset(cinfo->quant_tbl_ptrs, 0, sizeof cinfo->quant_tbl_ptrs);
    memset(cinfo->dc_huff_tbl_ptrs, 0, sizeof cinfo->dc_huff_tbl_ptrs);
    memset(cinfo->ac_huff_tbl_ptrs, 0, sizeof cinfo->ac_huff_tbl_ptrs);
    reader->source.next_input_byte = file->data;
    reader->source.bytes_in_buffer = (size_t)file->size;
    reader->file = file;
    reader->arena = arena;
    reader->has_ended = reader->is_cancelled = reader->damage = 0;
    reader->refusal = NULL;
}

/* ---- Decoding -------------------------------------------------------------------------------- */

static int32_t has_four_inks(const struct jpeg_decompress_struct *cinfo)
{
    return cinfo->num_components == 4;
}

static void set_up(struct jpeg_decompress_struct *cinfo, const pfd_decode_options *options,
                   int32_t shrink)
{
    static const J_COLOR_SPACE of[] = {JCS_RGB, JCS_EXT_BGR, JCS_GRAYSCALE, JCS_EXT_RGBA};
    cinfo->out_color_space = has_four_inks(cinfo) ? JCS_CMYK : of[options->color_space];
    cinfo->scale_num = 1;
    cinfo->scale_denom = (unsigned)shrink;
    cinfo->dct_method = JDCT_ISLOW;
    cinfo->do_fancy_upsampling = TRUE;
    cinfo->do_block_smoothing = TRUE;
}

/* Rows as libjpeg gives them to those asked for. */
static void copy_rows(const job *at, uint8_t *const *rows, int64_t first, int64_t n)
{
    const struct jpeg_decompress_struct *cinfo = &at->reader->cinfo;
    int64_t skipped = (at->region->left - at->left) * cinfo->output_components;
    int32_t channels = pfd_color_channels(at->options->color_space);
    for (int64_t i = 0; i < n; i++) {
        uint8_t *out = at->out->data + (first + i) * at->out->stride;
        if (has_four_inks(cinfo))
            pfd_convert_pixels(rows[i] + skipped, PFD_LAYOUT_INVERTED_CMYK, out,
                               at->options->color_space, at->region->width);
        else
            memcpy(out, rows[i] + skipped, (size_t)(at->region->width * channels));
    }
}

/* Where libjpeg may write rows in their place: those of another width lie in wider rows of out. */
static int32_t make_room(job *at)
{
    const struct jpeg_decompress_struct *cinfo = &at->reader->cinfo;
    int32_t channels = pfd_color_channels(at->options->color_space);
    int32_t is_new = !at->out->data;
    int64_t columns = is_new && !has_four_inks(cinfo) ? at->width : at->region->width;
    at->status = pfd_make_pixels(at->reader->file, at->region->height, columns * channels, at->out,
                                 at->err);
    if (at->status != PFD_OK) give_up((j_common_ptr)&at->reader->cinfo);
    if (has_four_inks(cinfo)) return 0;
    if (is_new) at->out->data += (at->region->left - at->left) * channels;
    return is_new || at->width == at->region->width;
}

static void read_rows(job *at)
{
    struct jpeg_decompress_struct *cinfo = &at->reader->cinfo;
    int64_t top = at->region->top, bottom = top + at->region->height;
    int64_t shift = (at->region->left - at->left) * cinfo->output_components;
    int32_t in_place = make_room(at);
    uint8_t *rows[ROWS];
    JSAMPARRAY buffer = NULL;
    if (!in_place)
        buffer = cinfo->mem->alloc_sarray((j_common_ptr)cinfo, JPOOL_IMAGE,
                                          at->width * (JDIMENSION)cinfo->output_components, ROWS);
    if (top > 0) (void)jpeg_skip_scanlines(cinfo, (JDIMENSION)top);
    while (cinfo->output_scanline < bottom) {
        int64_t first = cinfo->output_scanline - top;
        int64_t n = bottom - cinfo->output_scanline < ROWS ? bottom - cinfo->output_scanline : ROWS;
        for (int64_t i = 0; i < n; i++)
            rows[i] = in_place ? at->out->data + (first + i) * at->out->stride - shift : buffer[i];
        n = jpeg_read_scanlines(cinfo, rows, (JDIMENSION)n);
        if (!in_place) copy_rows(at, rows, first, n);
    }
}

/* A progressive file whose scans do not state all low frequencies: libjpeg guesses them from the
 * blocks around, up to the edges of what it decodes. */
static int32_t is_smoothed(const struct jpeg_decompress_struct *cinfo)
{
    enum { LOW_FREQUENCIES = 9 };
    if (!cinfo->progressive_mode || !cinfo->coef_bits) return 0;
    for (int32_t c = 0; c < cinfo->num_components; c++)
        for (int32_t k = 1; k <= LOW_FREQUENCIES; k++)
            if (cinfo->coef_bits[c][k] != 0) return 1;
    return 0;
}

/* The columns of the region, and those beside it that its edges depend on. */
static void choose_columns(job *at)
{
    struct jpeg_decompress_struct *cinfo = &at->reader->cinfo;
    int64_t left = at->region->left - MARGIN, right = at->region->left + at->region->width + MARGIN;
    /* With a quarter of the columns in a channel, libjpeg-turbo takes a wrong width for it when the
     * image is shrunk as well. */
    if (is_smoothed(cinfo) || (at->header->shrink > 1 && cinfo->max_h_samp_factor > 2)) {
        left = 0;
        right = cinfo->output_width;
    }
    at->left = left > 0 ? (JDIMENSION)left : 0;
    at->width = (right < cinfo->output_width ? (JDIMENSION)right : cinfo->output_width) - at->left;
    if (at->width < cinfo->output_width) jpeg_crop_scanline(cinfo, &at->left, &at->width);
}

static void decode_job(void *argument)
{
    job *at = argument;
    struct jpeg_decompress_struct *cinfo = &at->reader->cinfo;
    (void)jpeg_read_header(cinfo, TRUE);
    if (cinfo->image_height != at->header->stored_height ||
        cinfo->image_width != at->header->stored_width)
        refuse(at->reader, "two frame headers");
    set_up(cinfo, at->options, at->header->shrink);
    (void)jpeg_start_decompress(cinfo);
    choose_columns(at);
    read_rows(at);
}

static pfd_status fail_at(const job *at, int64_t byte, const char *what, pfd_error *err)
{
    const pfd_image_file *file = at->reader->file;
    return file->host->fail_row(err, file->row, pfd_image_byte(file, byte), PFD_CORRUPT_DATA,
                                "JPEG: %s (byte %" PRId64 " of %" PRId64 ")", what, byte,
                                file->size);
}

/* libjpeg gave up. */
static pfd_status explain(const job *at)
{
    jpeg_reader *reader = at->reader;
    const pfd_host *host = reader->file->host;
    char said[JMSG_LENGTH_MAX];
    if (at->status != PFD_OK) return at->status;
    if (reader->is_cancelled)
        return host->fail_row(at->err, reader->file->row, -1, PFD_CANCELLED, "cancelled");
    if (reader->refusal) return fail_at(at, byte_of(reader), reader->refusal, at->err);
    (reader->errors.format_message)((j_common_ptr)&reader->cinfo, said);
    if (reader->errors.msg_code == JERR_OUT_OF_MEMORY) {
        pfd_status status = host->fail_row(at->err, reader->file->row, -1, PFD_OUT_OF_MEMORY,
                                           "no memory to decode a JPEG image");
        return pfd_scratch_explain(reader->arena, status, at->err);
    }
    return fail_at(at, byte_of(reader),
                   reader->has_ended ? "the file ends inside the image" : said, at->err);
}

/* libjpeg came to the end: did all pixels come from the file? */
static pfd_status check_whole(const job *at)
{
    jpeg_reader *reader = at->reader;
    char said[JMSG_LENGTH_MAX];
    int32_t lacks_scans = reader->has_ended && jpeg_has_multiple_scans(&reader->cinfo);
    if (at->options->incomplete == PFD_INCOMPLETE_FILL) return PFD_OK;
    if (lacks_scans || (reader->damage && reader->has_ended))
        return fail_at(at, reader->file->size, "the file ends inside the image", at->err);
    if (!reader->damage) return PFD_OK;
    reader->errors.msg_code = reader->damage;
    (reader->errors.format_message)((j_common_ptr)&reader->cinfo, said);
    return fail_at(at, reader->damaged_byte, said, at->err);
}

static pfd_status decode_region(const pfd_image_file *file, const pfd_decode_options *options,
                                const pfd_image_header *header, const pfd_region *region,
                                pfd_pixels *out, pfd_error *err)
{
    pfd_workspace *workspace = pfd_workspace_begin(file->scratch);
    void **kept = workspace ? &workspace->kept[PFD_KEEP_JPEG_READER].object : NULL;
    if (kept && !*kept) *kept = make_reader();
    if (!kept || !*kept)
        return file->host->fail_row(err, file->row, -1, PFD_OUT_OF_MEMORY,
                                    "no memory for a JPEG decoder");
    workspace->kept[PFD_KEEP_JPEG_READER].free = free_reader;
    job at = {.reader = *kept, .options = options, .header = header, .region = region,
              .out = out, .err = err};
    aim(at.reader, file, workspace->arena);
    pfd_status status =
        protect(at.reader, decode_job, &at) ? check_whole(&at) : explain(&at);
    jpeg_abort_decompress(&at.reader->cinfo);
    pfd_workspace_end(workspace);
    return status;
}
#else
#define decode_region NULL
#endif

const pfd_image_codec pfd_jpeg_codec = {
    .name = "JPEG",
    .package = "libjpeg-dev",
    .max_shrink = 8,
    .most_pixels_per_byte = 2048, /* every block takes a bit; at most 1024 pixels take 8 blocks */
    .matches = pfd_is_jpeg,
    .read_header = pfd_jpeg_read_header,
    .decode = decode_region,
};
