/* JPEG by libjpeg-turbo: whole images and regions, one decompressor and one compressor per thread.
 *
 * libjpeg reports errors by error_exit(), which must not return: it jumps back into protect(), the
 * only function of this file with a setjmp. The jump leaks nothing, since all memory is in the
 * arena.
 */
#include "images/codecs/codec_table.h"

#include "core/bytes.h"

#include <inttypes.h>
#include <string.h>

#ifdef PFD_HAVE_JPEG
#include "core/scratch.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#include <jerror.h>
#if defined(LIBJPEG_TURBO_VERSION_NUMBER) && LIBJPEG_TURBO_VERSION_NUMBER >= 2001000
#define HAS_DECODER 1 /* older versions, and other libjpegs, decode no regions, or not exactly */
#endif
#endif

/* ---- Markers up to the frame header, which has the size; EXIF on the way --------------------- */

enum { TEM = 0x01, SOF0 = 0xc0, DHT = 0xc4, JPG = 0xc8, DAC = 0xcc, SOF15 = 0xcf, RST0 = 0xd0,
       EOI = 0xd9, SOS = 0xda, APP1 = 0xe1 };

static int32_t is_jpeg(const uint8_t *data, int64_t size)
{
    return size >= 3 && data[0] == 0xff && data[1] == 0xd8 && data[2] == 0xff;
}

/* The offset after the next marker at or after `at`; 0: there is none. Passes over bytes between
 * markers, as libjpeg does. */
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
    if (bytes < 8) return pfd_fail_image(file, "JPEG", at, "a frame header that is too short", err);
    out->bits = file->data[at + 2];
    out->stored_height = (int64_t)pfd_load_be(file->data + at + 3, 2);
    out->stored_width = (int64_t)pfd_load_be(file->data + at + 5, 2);
    out->channels = file->data[at + 7];
    if (out->channels != 1 && out->channels != 3 && out->channels != 4)
        return pfd_fail_image(file, "JPEG", at + 7,
                              "a number of colour components other than 1, 3 and 4", err);
    return PFD_OK;
}

static pfd_status read_header(const pfd_image_file *file, const pfd_decode_options *options,
                                pfd_image_header *out, pfd_error *err)
{
    for (int64_t at = after_marker(file, 2); at; at = after_marker(file, at)) {
        uint8_t marker = file->data[at - 1];
        if (marker == TEM || (marker >= RST0 && marker < EOI)) continue; /* without a segment */
        if (marker == EOI || marker == SOS)
            return pfd_fail_image(file, "JPEG", at - 2, "no frame header", err);
        if (file->size - at < 2) break;
        int64_t bytes = (int64_t)pfd_load_be(file->data + at, 2);
        if (bytes < 2)
            return pfd_fail_image(file, "JPEG", at, "a segment that is shorter than its length",
                                  err);
        if (bytes > file->size - at) break;
        if (marker >= SOF0 && marker <= SOF15 && marker != DHT && marker != JPG && marker != DAC)
            return read_frame(file, at, bytes, out, err);
        if (marker == APP1 && options->apply_orientation && out->orientation == 1)
            out->orientation = pfd_exif_orientation(file->data + at + 2, bytes - 2);
        at += bytes;
    }
    return pfd_fail_image(file, "JPEG", file->size, "the file ends in its header", err);
}

#ifdef PFD_HAVE_JPEG
/* ---- libjpeg's memory manager on a scratch: one bump allocation for each request ------------- */

/* libjpeg calls these functions through cinfo->mem. Its "virtual arrays", which could lie in
 * temporary files, are wholly in memory. */

enum { ROW_ALIGNMENT = 64 }; /* libjpeg-turbo's vector code reads and writes whole rows */

/* A virtual array, of samples or of blocks. */
typedef struct virtual_rows {
    struct virtual_rows *next;
    uint8_t **rows; /* NULL until realized */
    size_t row_bytes;
    JDIMENSION height;
    boolean is_zeroed;
} virtual_rows;

/* Declared, not defined, in jpeglib.h. */
struct jvirt_sarray_control {
    virtual_rows all;
};

struct jvirt_barray_control {
    virtual_rows all;
};

typedef struct jpeg_memory {
    struct jpeg_memory_mgr methods; /* the first member: libjpeg returns its address */
    struct jpeg_memory_mgr *own;    /* libjpeg's own manager, with its memory so far */
    pfd_scratch *arena;             /* arena of the current image; borrowed */
    virtual_rows *arrays;           /* arrays that were asked for, in the arena */
} jpeg_memory;

static void *allocate(j_common_ptr cinfo, int pool_id, size_t bytes)
{
    jpeg_memory *self = (void *)cinfo->mem;
    void *memory =
        bytes <= INT64_MAX / 8 ? pfd_scratch_alloc(self->arena, (int64_t)bytes) : NULL;
    if (!memory) ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, pool_id);
    return memory;
}

/* Allocates rows of `row_bytes` bytes, one after another, and the pointers to the rows. */
static void *allocate_rows(j_common_ptr cinfo, int pool_id, size_t row_bytes, JDIMENSION rows,
                           boolean is_zeroed)
{
    row_bytes = (row_bytes + ROW_ALIGNMENT - 1) / ROW_ALIGNMENT * ROW_ALIGNMENT;
    uint8_t **pointers = allocate(cinfo, pool_id, rows * sizeof *pointers);
    uint8_t *memory = allocate(cinfo, pool_id, rows * row_bytes);
    if (is_zeroed) memset(memory, 0, rows * row_bytes);
    for (JDIMENSION i = 0; i < rows; i++) pointers[i] = memory + i * row_bytes;
    return pointers;
}

static JSAMPARRAY alloc_sarray(j_common_ptr cinfo, int pool_id, JDIMENSION width, JDIMENSION rows)
{
    return allocate_rows(cinfo, pool_id, width * sizeof(JSAMPLE), rows, FALSE);
}

static JBLOCKARRAY alloc_barray(j_common_ptr cinfo, int pool_id, JDIMENSION width, JDIMENSION rows)
{
    return allocate_rows(cinfo, pool_id, width * sizeof(JBLOCK), rows, FALSE);
}

static void *request_rows(j_common_ptr cinfo, int pool_id, boolean is_zeroed, size_t row_bytes,
                          JDIMENSION height)
{
    jpeg_memory *self = (void *)cinfo->mem;
    virtual_rows *array = allocate(cinfo, pool_id, sizeof *array);
    *array = (virtual_rows){self->arrays, NULL, row_bytes, height, is_zeroed};
    return self->arrays = array;
}

static jvirt_sarray_ptr request_virt_sarray(j_common_ptr cinfo, int pool_id, boolean is_zeroed,
                                            JDIMENSION width, JDIMENSION height,
                                            JDIMENSION max_access)
{
    (void)max_access;
    return request_rows(cinfo, pool_id, is_zeroed, width * sizeof(JSAMPLE), height);
}

static jvirt_barray_ptr request_virt_barray(j_common_ptr cinfo, int pool_id, boolean is_zeroed,
                                            JDIMENSION width, JDIMENSION height,
                                            JDIMENSION max_access)
{
    (void)max_access;
    return request_rows(cinfo, pool_id, is_zeroed, width * sizeof(JBLOCK), height);
}

static void realize_virt_arrays(j_common_ptr cinfo)
{
    jpeg_memory *self = (void *)cinfo->mem;
    for (virtual_rows *array = self->arrays; array; array = array->next)
        if (!array->rows)
            array->rows = allocate_rows(cinfo, JPOOL_IMAGE, array->row_bytes, array->height,
                                        array->is_zeroed);
}

static void *access_rows(j_common_ptr cinfo, const virtual_rows *array, JDIMENSION start,
                         JDIMENSION rows)
{
    if (!array->rows || start > array->height || rows > array->height - start)
        ERREXIT(cinfo, JERR_BAD_VIRTUAL_ACCESS);
    return array->rows + start;
}

static JSAMPARRAY access_virt_sarray(j_common_ptr cinfo, jvirt_sarray_ptr array, JDIMENSION start,
                                     JDIMENSION rows, boolean writable)
{
    (void)writable;
    return access_rows(cinfo, &array->all, start, rows);
}

static JBLOCKARRAY access_virt_barray(j_common_ptr cinfo, jvirt_barray_ptr array, JDIMENSION start,
                                      JDIMENSION rows, boolean writable)
{
    (void)writable;
    return access_rows(cinfo, &array->all, start, rows);
}

static void free_pool(j_common_ptr cinfo, int pool_id)
{
    (void)cinfo;
    (void)pool_id;
}

static void self_destruct(j_common_ptr cinfo)
{
    (void)cinfo;
}

/* From now on, libjpeg's memory for this object comes from `arena`, even whole images of
 * coefficients; freeing does nothing. `cinfo->mem` is libjpeg's own manager. */
static void jpeg_memory_install(jpeg_memory *self, j_common_ptr cinfo)
{
    *self = (jpeg_memory){
        .methods = {.alloc_small = allocate,
                    .alloc_large = allocate,
                    .alloc_sarray = alloc_sarray,
                    .alloc_barray = alloc_barray,
                    .request_virt_sarray = request_virt_sarray,
                    .request_virt_barray = request_virt_barray,
                    .realize_virt_arrays = realize_virt_arrays,
                    .access_virt_sarray = access_virt_sarray,
                    .access_virt_barray = access_virt_barray,
                    .free_pool = free_pool,
                    .self_destruct = self_destruct,
                    .max_memory_to_use = cinfo->mem->max_memory_to_use,
                    .max_alloc_chunk = cinfo->mem->max_alloc_chunk},
        .own = cinfo->mem};
    cinfo->mem = &self->methods;
}

/* ---- What reading and writing share ---------------------------------------------------------- */

/* The first member of jpeg_reader and jpeg_writer; cinfo->client_data points at it. */
typedef struct jpeg_session {
    struct jpeg_error_mgr errors;
    jpeg_memory memory;
    j_common_ptr cinfo; /* libjpeg's object, after the session in its struct */
    jmp_buf escape;
} jpeg_session;

static void give_up(j_common_ptr cinfo)
{
    longjmp(((jpeg_session *)cinfo->client_data)->escape, 1);
}

/* 0: libjpeg gave up. */
static int32_t protect(jpeg_session *self, void (*run)(void *), void *argument)
{
    if (setjmp(self->escape)) return 0;
    run(argument);
    return 1;
}

static void print_nothing(j_common_ptr cinfo)
{
    (void)cinfo;
}

static void session_close(void *object)
{
    jpeg_session *self = object;
    if (self->memory.own) self->cinfo->mem = self->memory.own;
    jpeg_destroy(self->cinfo);
    free(self);
}

/* Makes a struct of `size` bytes that begins with a session; create() makes libjpeg's object at
 * `offset`.  NULL: out of memory. */
static void *session_open(size_t size, size_t offset, void (*create)(void *),
                          void (*emit_message)(j_common_ptr, int))
{
    jpeg_session *self = calloc(1, size);
    if (!self) return NULL;
    self->cinfo = (void *)((uint8_t *)self + offset);
    self->cinfo->err = jpeg_std_error(&self->errors);
    self->errors.error_exit = give_up;
    self->errors.emit_message = emit_message;
    self->errors.output_message = print_nothing;
    self->cinfo->client_data = self;
    if (protect(self, create, self)) {
        jpeg_memory_install(&self->memory, self->cinfo);
        return self;
    }
    session_close(self);
    return NULL;
}

/* Call before each image: memory of the former image is not kept. */
static void use_arena(jpeg_session *self, pfd_scratch *arena)
{
    self->memory.arena = arena;
    self->memory.arrays = NULL;
}

#endif

#ifdef HAS_DECODER
/* ---- Reading --------------------------------------------------------------------------------- */

enum {
    ROWS = 8,        /* rows per call; libjpeg may give fewer */
    MOST_SCANS = 500, /* scans of a progressive file: an encoder writes about ten */
    MARGIN = 2       /* columns beside a region that upsampling of its edge reads */
};

typedef struct jpeg_reader {
    jpeg_session session;
    struct jpeg_decompress_struct cinfo;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    const pfd_image_file *file;
    int32_t has_ended;    /* libjpeg asked for bytes after the last one */
    int32_t is_cancelled;
    const char *refusal;  /* why the image was refused; NULL: libjpeg gave up by itself */
    int32_t damage;       /* libjpeg's number of the first warning that pixels are lost; 0: none */
    int64_t damaged_byte;
} jpeg_reader;

/* What is decoded, and where it goes. */
typedef struct job {
    jpeg_reader *reader;
    const pfd_decode_options *options;
    const pfd_image_header *header;
    const pfd_region *region;
    pfd_pixels *out;
    pfd_error *err;
    pfd_status status; /* the failure that *err has already */
    JDIMENSION left, width; /* the columns that libjpeg gives */
} job;

/* ---- What libjpeg calls to read -------------------------------------------------------------- */

static jpeg_reader *reader_of(j_common_ptr cinfo)
{
    return cinfo->client_data;
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

/* Whether pixels are missing or wrong after this warning. Other warnings tell of bytes that nothing
 * needs, or of values in markers that do not matter. */
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

static void do_nothing(j_decompress_ptr cinfo)
{
    (void)cinfo;
}

/* After the last byte libjpeg reads the marker that ends an image.  A file that lacks only this
 * marker is whole; if data are missing, libjpeg warns that they end at a marker. */
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

/* ---- A thread's decompressor ----------------------------------------------------------------- */

static void create(void *object)
{
    jpeg_reader *reader = object;
    jpeg_create_decompress(&reader->cinfo);
}

static jpeg_reader *make_reader(void)
{
    jpeg_reader *reader = session_open(sizeof *reader, offsetof(jpeg_reader, cinfo), create, note);
    if (!reader) return NULL;
    reader->source = (struct jpeg_source_mgr){.init_source = do_nothing,
                                              .fill_input_buffer = end_the_image,
                                              .skip_input_data = skip_bytes,
                                              .resync_to_restart = jpeg_resync_to_restart,
                                              .term_source = do_nothing};
    reader->cinfo.src = &reader->source;
    reader->progress.progress_monitor = look_up;
    reader->cinfo.progress = &reader->progress;
    return reader;
}

/* Sets the reader to the bytes of a new image, and drops the tables of the image before. */
static void aim(jpeg_reader *reader, const pfd_image_file *file, pfd_scratch *arena)
{
    struct jpeg_decompress_struct *cinfo = &reader->cinfo;
    use_arena(&reader->session, arena);
    memset(cinfo->quant_tbl_ptrs, 0, sizeof cinfo->quant_tbl_ptrs);
    memset(cinfo->dc_huff_tbl_ptrs, 0, sizeof cinfo->dc_huff_tbl_ptrs);
    memset(cinfo->ac_huff_tbl_ptrs, 0, sizeof cinfo->ac_huff_tbl_ptrs);
    reader->source.next_input_byte = file->data;
    reader->source.bytes_in_buffer = (size_t)file->size;
    reader->file = file;
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

/* Copies rows from libjpeg into the rows of the region. */
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

/* Makes room for the region; new rows are as wide as libjpeg's.  Returns 1 if libjpeg may write
 * into them. */
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

/* Whether a progressive file lacks low frequencies: libjpeg then guesses them from the blocks
 * around, up to the edges of what it decodes. */
static int32_t is_smoothed(const struct jpeg_decompress_struct *cinfo)
{
    enum { LOW_FREQUENCIES = 9 };
    if (!cinfo->progressive_mode || !cinfo->coef_bits) return 0;
    for (int32_t c = 0; c < cinfo->num_components; c++)
        for (int32_t k = 1; k <= LOW_FREQUENCIES; k++)
            if (cinfo->coef_bits[c][k] != 0) return 1;
    return 0;
}

/* Chooses the columns of the region, and columns beside it that its edges depend on. */
static void choose_columns(job *at)
{
    struct jpeg_decompress_struct *cinfo = &at->reader->cinfo;
    int64_t left = at->region->left - MARGIN, right = at->region->left + at->region->width + MARGIN;
    /* For a channel with a quarter of the columns, libjpeg-turbo takes a wrong width if the image
     * is shrunk, too. */
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

static pfd_status fail_at(const job *at, int64_t byte, const char *what)
{
    return pfd_fail_image(at->reader->file, "JPEG", byte, what, at->err);
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
    if (reader->refusal) return fail_at(at, byte_of(reader), reader->refusal);
    (reader->session.errors.format_message)((j_common_ptr)&reader->cinfo, said);
    if (reader->session.errors.msg_code == JERR_OUT_OF_MEMORY)
        return pfd_fail_decode_memory(reader->file, "JPEG", reader->session.memory.arena, at->err);
    return fail_at(at, byte_of(reader),
                   reader->has_ended ? "the file ends inside the image" : said);
}

/* Checks, after libjpeg came to the end, that all pixels came from the file. */
static pfd_status check_whole(const job *at)
{
    jpeg_reader *reader = at->reader;
    char said[JMSG_LENGTH_MAX];
    int32_t lacks_scans = reader->has_ended && jpeg_has_multiple_scans(&reader->cinfo);
    if (at->options->incomplete == PFD_INCOMPLETE_FILL) return PFD_OK;
    if (lacks_scans || (reader->damage && reader->has_ended))
        return fail_at(at, reader->file->size, "the file ends inside the image");
    if (!reader->damage) return PFD_OK;
    reader->session.errors.msg_code = reader->damage;
    (reader->session.errors.format_message)((j_common_ptr)&reader->cinfo, said);
    return fail_at(at, reader->damaged_byte, said);
}

static pfd_status decode_region(const pfd_image_file *file, const pfd_decode_options *options,
                                const pfd_image_header *header, const pfd_region *region,
                                pfd_pixels *out, pfd_error *err)
{
    pfd_workspace *workspace = pfd_workspace_begin(file->scratch);
    void **kept = workspace ? &workspace->kept[PFD_KEEP_JPEG_READER].object : NULL;
    if (kept && !*kept) *kept = make_reader();
    if (!kept || !*kept) return pfd_fail_decode_memory(file, "JPEG", NULL, err);
    workspace->kept[PFD_KEEP_JPEG_READER].free = session_close;
    job at = {.reader = *kept, .options = options, .header = header, .region = region,
              .out = out, .err = err};
    aim(at.reader, file, workspace->arena);
    pfd_status status =
        protect(&at.reader->session, decode_job, &at) ? check_whole(&at) : explain(&at);
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
    .matches = is_jpeg,
    .read_header = read_header,
    .decode = decode_region,
};

#ifdef PFD_HAVE_JPEG
/* ---- Writing --------------------------------------------------------------------------------- */

enum { FIRST_BYTES = 16 * 1024 };

typedef struct jpeg_writer {
    jpeg_session session;
    struct jpeg_compress_struct cinfo;
    struct jpeg_destination_mgr destination;
    pfd_growing *out;
    const pfd_encode_options *options;
    const pfd_image *image;
} jpeg_writer;

/* ---- What libjpeg calls to write ------------------------------------------------------------- */

static jpeg_writer *writer_of(j_common_ptr cinfo)
{
    return cinfo->client_data;
}

static void ignore_message(j_common_ptr cinfo, int level)
{
    (void)cinfo;
    (void)level;
}

static void make_writer_room(jpeg_writer *writer, int64_t bytes)
{
    uint8_t *room = pfd_grow(writer->out, bytes);
    if (!room) ERREXIT1(&writer->cinfo, JERR_OUT_OF_MEMORY, 0);
    writer->destination.next_output_byte = room;
    writer->destination.free_in_buffer = (size_t)(writer->out->capacity - writer->out->size);
}

static void begin_bytes(j_compress_ptr cinfo)
{
    make_writer_room(writer_of((j_common_ptr)cinfo), FIRST_BYTES);
}

static boolean empty_bytes(j_compress_ptr cinfo) /* called when all room is used */
{
    jpeg_writer *writer = writer_of((j_common_ptr)cinfo);
    writer->out->size = writer->out->capacity;
    make_writer_room(writer, FIRST_BYTES);
    return TRUE;
}

static void end_bytes(j_compress_ptr cinfo)
{
    jpeg_writer *writer = writer_of((j_common_ptr)cinfo);
    writer->out->size = writer->out->capacity - (int64_t)writer->destination.free_in_buffer;
}

/* ---- A thread's compressor ------------------------------------------------------------------- */

static void create_writer(void *object)
{
    jpeg_writer *writer = object;
    jpeg_create_compress(&writer->cinfo);
}

static jpeg_writer *make_writer(void)
{
    jpeg_writer *writer =
        session_open(sizeof *writer, offsetof(jpeg_writer, cinfo), create_writer, ignore_message);
    if (!writer) return NULL;
    writer->destination = (struct jpeg_destination_mgr){.init_destination = begin_bytes,
                                                        .empty_output_buffer = empty_bytes,
                                                        .term_destination = end_bytes};
    writer->cinfo.dest = &writer->destination;
    return writer;
}

/* Sets the writer to a new image: the memory of the image before is gone. */
static void aim_writer(jpeg_writer *writer, pfd_scratch *arena)
{
    struct jpeg_compress_struct *cinfo = &writer->cinfo;
    use_arena(&writer->session, arena);
    memset(cinfo->quant_tbl_ptrs, 0, sizeof cinfo->quant_tbl_ptrs);
    memset(cinfo->dc_huff_tbl_ptrs, 0, sizeof cinfo->dc_huff_tbl_ptrs);
    memset(cinfo->ac_huff_tbl_ptrs, 0, sizeof cinfo->ac_huff_tbl_ptrs);
    cinfo->comp_info = NULL;
    cinfo->script_space = NULL;
}

/* ---- Encoding -------------------------------------------------------------------------------- */

static void encode_rows(void *object)
{
    jpeg_writer *writer = object;
    static const struct {
        int h, v;
    } luminance[] = {{2, 2}, {2, 1}, {1, 2}, {1, 1}}; /* samples per colour sample */
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

static pfd_status explain_writer(const pfd_encode_call *call, jpeg_writer *writer, pfd_error *err)
{
    char said[JMSG_LENGTH_MAX];
    if (writer->session.errors.msg_code == JERR_OUT_OF_MEMORY)
        return pfd_fail_encode_memory(call, writer->out->workspace->arena, err);
    (writer->session.errors.format_message)((j_common_ptr)&writer->cinfo, said);
    return call->host->fail_row(err, call->row, -1, PFD_CORRUPT_DATA,
                                "the image cannot be written as JPEG: %s", said);
}

static pfd_status encode(const pfd_encode_call *call, const pfd_encode_options *options,
                         const pfd_image *image, pfd_growing *out, pfd_error *err)
{
    pfd_workspace *workspace = out->workspace;
    if (!workspace->kept[PFD_KEEP_JPEG_WRITER].object)
        workspace->kept[PFD_KEEP_JPEG_WRITER].object = make_writer();
    workspace->kept[PFD_KEEP_JPEG_WRITER].free = session_close;
    jpeg_writer *writer = workspace->kept[PFD_KEEP_JPEG_WRITER].object;
    if (!writer) return pfd_fail_encode_memory(call, NULL, err);
    aim_writer(writer, out->workspace->arena);
    writer->out = out;
    writer->options = options;
    writer->image = image;
    pfd_status status =
        protect(&writer->session, encode_rows, writer) ? PFD_OK : explain_writer(call, writer, err);
    jpeg_abort_compress(&writer->cinfo);
    return status;
}
#else
#define encode NULL
#endif

const pfd_image_encoder pfd_jpeg_encoder = {"JPEG", "libjpeg-dev", 1u << 1 | 1u << 3,
                                            encode};
