/* formats/ofrecord/ofrecord_image.h -- images in a feature of OFRecords. */
#ifndef PFD_FORMATS_OFRECORD_OFRECORD_IMAGE_H
#define PFD_FORMATS_OFRECORD_OFRECORD_IMAGE_H
#include "formats/ofrecord/ofrecord_row.h"
#include "images/codecs/image_codec.h"
#include "images/pixels/image_window.h"

/* What is decoded from each record. */
typedef struct pfd_of_images {
    const char *feature;
    const pfd_decode_options *options;
    const pfd_crop_rule *rule; /* of a random window; NULL: whole images */
} pfd_of_images;

/* Checks input and name, and sets the output's type. */
pfd_status pfd_of_images_infer(const pfd_infer_args *args, const pfd_of_images *images,
                               pfd_error *err);
pfd_status pfd_of_images_decode(const pfd_compute_args *args, const pfd_of_images *images,
                                pfd_error *err);

/* Rows of the attr table, and the ports.  OneFlow's ops decode to BGR by default. */
#define PFD_OF_IMAGE_ATTRS(owner)                                                                  \
    PFD_STRING_ATTR(owner, blob_name, NULL,                                                        \
                    "Name of the feature in the record, a bytes_list of one value."),              \
        PFD_DECODE_ATTRS_WITH(owner, "BGR")

extern const pfd_port pfd_of_image_outputs[1]; /* their input is pfd_of_inputs */
#endif
