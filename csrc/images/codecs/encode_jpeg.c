/* JPEG by libjpeg, one compressor per thread; its errors jump back as in jpeg_codec.c. */
#include "images/codecs/encoder_table.h"

#ifdef PFD_HAVE_JPEG
#include "images/codecs/jpeg_memory.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>

enum { FIRST_BYTES = 16 * 1024 };

typedef struct jpeg_writer {
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr destination;
    pfd_jpeg_memory memory;
    jmp_buf escape;
    pfd_growing *out;
    const pfd_encode_options *options;
    const pfd_image *image;
} jpeg_writer;

/* ---- What libjpeg calls ---------------------------------------------------------------------- */

static jpeg_writer *writer_of(j_common_ptr cinfo)
{
    return cinfo->client_data;
}

static void give_up(j_common_ptr cinfo)
{
    longjmp(writer_of(cinfo)->escape, 1);
}

static void note(j_common_ptr cinfo, int level)
{
    (void)cinfo;
    (void)level;
}

static void print_nothing(j_common_ptr cinfo)
{
    (void)cinfo;
}

static void make_room(jpeg_writer *writer, int64_t bytes)
{
    uint8_t *room = pfd_grow(writer->out, bytes);
    if (!room) ERREXIT1(&writer->cinfo, JERR_OUT_OF_MEMORY, 0);
    writer->destination.next_output_byte = room;
    writer->destination.free_in_buffer = (size_t)(writer->out->capacity - writer->out->size);
}

static void begin(j_compress_ptr cinfo)
{
    make_room(writer_of((j_common_ptr)cinfo), FIRST_BYTES);
}

static boolean empty(j_compress_ptr cinfo) /* called when all room is used */
{
    jpeg_writer *writer = writer_of((j_common_ptr)cinfo);
    writer->out->size = writer->out->capacity;
    make_room(writer, FIRST_BYTES);
    return TRUE;
}

static void end(j_compress_ptr cinfo)
{
    jpeg_writer *writer = writer_of((j_common_ptr)cinfo);
    writer->out->size = writer->out->capacity - (int64_t)writer->destination.free_in_buffer;
}

/* 0: libjpeg gave up. */
static int32_t protect(jpeg_writer *writer, void (*run)(jpeg_writer *writer))
{
    if (setjmp(writer->escape)) return 0;
    run(writer);
    return 1;
}

/* ---- A thread's compressor ------------------------------------------------------------------- */

static void create(jpeg_writer *writer)
{
    jpeg_create_compress(&writer->cinfo);
}

static void free_writer(void *object)
{
    jpeg_writer *writer = object;
    pfd_jpeg_memory_remove(&writer->memory, (j_common_ptr)&writer->cinfo);
    jpeg_destroy_compress(&writer->cinfo);
    free(writer);
}

static jpeg_writer *make_writer(void)
{
    jpeg_writer *writer = calloc(1, sizeof *writer);
    if (!writer) return NULL;
    writer->cinfo.err = jpeg_std_error(&writer->errors);
    writer->errors.error_exit = give_up;
    writer->errors.emit_message = note;
    writer->errors.output_message = print_nothing;
    writer->cinfo.client_data = writer;
    if (!protect(writer, create)) {
        jpeg_destroy_compress(&writer->cinfo);
        free(writer);
        return NULL;
    }
    writer->destination = (struct jpeg_destination_mgr){
        .init_destination = begin, .empty_output_buffer = empty, .term_destination = end};
    writer->cinfo.dest = &writer->destination;
    pfd_jpeg_memory_install(&writer->memory, (j_common_ptr)&writer->cinfo);
    return writer;
}

/* For a new image: what libjpeg allocated for the one before is gone. */
static void forget(jpeg_writer *writer, pfd_scratch *arena)
{
    struct jpeg_compress_struct *cinfo = &writer->cinfo;
    pfd_jpeg_memory_use(&writer->memory, arena);
    memset(cinfo->quant_tbl_ptrs, 0, sizeof cinfo->quant_tbl_ptrs);
    memset(cinfo->dc_huff_tbl_ptrs, 0, sizeof cinfo->dc_huff_tbl_ptrs);
    memset(cinfo->ac_huff_tbl_ptrs, 0, sizeof cinfo->ac_huff_tbl_ptrs);
    cinfo->comp_info = NULL;
    cinfo->script_space = NULL;
}

/* ---- Encoding -------------------------------------------------------------------------------- */

static void encode_rows(jpeg_writer *writer)
{
    static const struct {
        int h, v;
    } luminance[] = {{2, 2}, {2, 1}, {1, 2}, {1, 1}}; /* samples of it for one of the others */
    struct jpeg_compress_struct *cinfo = &writer->cinfo;
    const pfd_image *image = writer->image;
    cinfo->image_height = (JDIMENSION)image->height;
    cinfo->image_width = (JDIMENSION)image->width;
    if (image->height > JPEG_MAX_DIMENSION || image->width > JPEG_MAX_DIMENSION)
        ERREXIT1(cinfo, JERR_IMAGE_TOO_BIG, (unsigned)JPEG_MAX_DIMENSION);
    cinfo->input_components = (int)image->channels;
    cinfo->in_color_space = image->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(cinfo);
    jpeg_set_quality(cinfo, writer->options->quality, TRUE);
    cinfo->dct_method = JDCT_ISLOW;
    if (image->channels == 3) {
        cinfo->comp_info[0].h_samp_factor = luminance[writer->options->subsampling].h;
        cinfo->comp_info[0].v_samp_factor = luminance[writer->options->subsampling].v;
    }
    jpeg_start_compress(cinfo, TRUE);
    while (cinfo->next_scanline < cinfo->image_height) {
        const uint8_t *from =
            image->data + cinfo->next_scanline * image->width * image->channels;
        JSAMPROW row = (JSAMPROW)(uintptr_t)from; /* libjpeg does not write there */
        (void)jpeg_write_scanlines(cinfo, &row, 1);
    }
    jpeg_finish_compress(cinfo);
}

static pfd_status explain(const pfd_encode_call *call, jpeg_writer *writer, pfd_error *err)
{
    char said[JMSG_LENGTH_MAX];
    if (writer->errors.msg_code == JERR_OUT_OF_MEMORY)
        return pfd_fail_encode_memory(call, writer->out->workspace->arena, err);
    (writer->errors.format_message)((j_common_ptr)&writer->cinfo, said);
    return call->host->fail_row(err, call->row, -1, PFD_CORRUPT_DATA,
                                "the image cannot be written as JPEG: %s", said);
}

static pfd_status encode(const pfd_encode_call *call, const pfd_encode_options *options,
                         const pfd_image *image, pfd_growing *out, pfd_error *err)
{
    pfd_workspace *workspace = out->workspace;
    if (!workspace->kept[PFD_KEEP_JPEG_WRITER].object)
        workspace->kept[PFD_KEEP_JPEG_WRITER].object = make_writer();
    workspace->kept[PFD_KEEP_JPEG_WRITER].free = free_writer;
    jpeg_writer *writer = workspace->kept[PFD_KEEP_JPEG_WRITER].object;
    if (!writer) return pfd_fail_encode_memory(call, NULL, err);
    forget(writer, out->workspace->arena);
    writer->out = out;
    writer->options = options;
    writer->image = image;
    pfd_status status = protect(writer, encode_rows) ? PFD_OK : explain(call, writer, err);
    jpeg_abort_compress(&writer->cinfo);
    return status;
}
#else
#define encode NULL
#endif

const pfd_image_encoder pfd_jpeg_encoder = {"JPEG", "libjpeg-dev", 1u << 1 | 1u << 3,
                                            encode};
