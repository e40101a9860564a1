/* ImageBatchAlign: images of a batch brought to one size, by zeros. */
#include "core/op_shorthand.h"
#include "core/rows.h"
#include "images/pixels/image_rows.h"
#include "pyflowdata/pyflowdata.h"

#include <inttypes.h>
#include <string.h>

enum { DTYPE_SAME, DTYPE_FLOAT32 };

typedef struct image_batch_align_attrs {
    int32_t alignment, dtype;
} image_batch_align_attrs;

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    const image_batch_align_attrs *attrs = args->attrs;
    PFD_TRY(pfd_expect_images(args, 0, "in", 1u << PFD_UINT8 | 1u << PFD_FLOAT32, err));
    args->outputs[0] = pfd_image_type(&args->inputs[0], -1, -1);
    if (attrs->dtype == DTYPE_FLOAT32) args->outputs[0].dtype = PFD_FLOAT32;
    return PFD_OK;
}

static int64_t align(int64_t side, int64_t alignment)
{
    return (side + alignment - 1) / alignment * alignment;
}

/* The largest height and the largest width, rounded up. */
static pfd_status find_size(const pfd_compute_args *args, pfd_size *out, pfd_error *err)
{
    const image_batch_align_attrs *attrs = args->attrs;
    *out = (pfd_size){0, 0};
    for (int64_t i = 0; i < args->num_rows; i++) {
        pfd_image image;
        PFD_TRY(pfd_image_with_pixels(args, 0, i, &image, err));
        if (image.height > out->height) out->height = image.height;
        if (image.width > out->width) out->width = image.width;
    }
    out->height = align(out->height, attrs->alignment);
    out->width = align(out->width, attrs->alignment);
    return PFD_OK;
}

/* How images are copied. */
typedef struct copier {
    int32_t from, to; /* dtypes */
    int64_t from_bytes, to_bytes;
    pfd_size size; /* size of an output image */
} copier;

/* Copies the rows of pixels, and writes zeros to the right and below. */
static void copy_image(const copier *self, const pfd_image *image, uint8_t *out)
{
    int64_t wide = image->width * image->channels, full = self->size.width * image->channels;
    const uint8_t *in = image->data;
    for (int64_t y = 0; y < image->height; y++, in += wide * self->from_bytes) {
        if (self->from == self->to) memcpy(out, in, (size_t)(wide * self->to_bytes));
        else (void)pfd_convert(self->from, in, self->to, out, wide, PFD_OVERFLOW_WRAP);
        memset(out + wide * self->to_bytes, 0, (size_t)((full - wide) * self->to_bytes));
        out += full * self->to_bytes;
    }
    memset(out, 0, (size_t)((self->size.height - image->height) * full * self->to_bytes));
}

/* Memory for all images, back to back, so that the batch is one array. */
static uint8_t *images_in_scratch(const pfd_compute_args *args, const copier *self,
                                  int64_t *row_bytes)
{
    int64_t *shape = args->host->alloc(args->scratch, PFD_MAX_DIMS * (int64_t)sizeof *shape);
    if (!shape) return NULL;
    shape[0] = self->size.height;
    shape[1] = self->size.width;
    shape[2] = pfd_image_channels(&args->outputs[0]->type);
    return pfd_equal_rows_to_write(args, 0, shape, row_bytes);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    copier self = {.from = args->inputs[0]->type.dtype, .to = args->outputs[0]->type.dtype};
    int64_t row_bytes;
    self.from_bytes = pfd_dtype_size(self.from);
    self.to_bytes = pfd_dtype_size(self.to);
    PFD_TRY(find_size(args, &self.size, err));
    uint8_t *out = images_in_scratch(args, &self, &row_bytes);
    if (!out)
        return args->host->fail(err, PFD_OUT_OF_MEMORY,
                                "no memory for %" PRId64 " images of %" PRId64 " x %" PRId64
                                " pixels",
                                args->num_rows, self.size.height, self.size.width);
    for (int64_t i = 0; i < args->num_rows; i++, out += row_bytes) {
        pfd_image image = pfd_image_at(args->inputs[0], i);
        if (args->host->is_cancelled(args->scratch))
            return args->host->fail(err, PFD_CANCELLED, "the loader is closing");
        copy_image(&self, &image, out);
    }
    return PFD_OK;
}

static const pfd_attr attr_table[] = {
    PFD_INT_ATTR(image_batch_align_attrs, alignment, "1", 1, 65536,
                 "Height and width are rounded up to a multiple of this number."),
    PFD_CHOICE_ATTR(image_batch_align_attrs, dtype, "same", "same|float32",
                    "The dtype of the output: the dtype of the images, or float32."),
};

static const pfd_port inputs[] = {
    {"in", "Images, uint8 or float32 (height, width, channels) or (height, width), also ragged."},
};
static const pfd_port outputs[] = {
    {"out", "Each image in the upper left corner, with zeros to its right and below: a Ragged "
            "whose attribute dense is one array."},
};

const pfd_op pfd_op_image_batch_align = {
    PFD_ROW_OP(PFD_TAKES_RAGGED | PFD_WHOLE_BATCH | PFD_EQUAL_ROWS, inputs, outputs),
    .name = "ImageBatchAlign",
    .doc = "Pads the images of each batch to its largest height and largest width. The batch is "
           "the part of this rank. This is OneFlow's image_batch_align with dynamic_out; its attr "
           "shape is not needed. Pad makes one size for all batches.",
    PFD_OP_ATTRS(image_batch_align_attrs, attr_table),
};
