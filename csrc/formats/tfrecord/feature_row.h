/* formats/tfrecord/feature_row.h -- writes a tf.train.Feature into its row of an output. */
#ifndef PFD_FORMATS_TFRECORD_FEATURE_ROW_H
#define PFD_FORMATS_TFRECORD_FEATURE_ROW_H
#include "formats/tfrecord/feature_spec.h"

/* Writes the row of the call.  `feature` is the bytes of the Feature, or of the FeatureList if the
 * spec is a list of steps; its `at` is NULL if the record does not have it. */
pfd_status pfd_feature_row_write(const pfd_feature_call *call, const pfd_feature_spec *spec,
                                 const pfd_wire_cursor *feature, int32_t on_mismatch,
                                 pfd_tensor *out);
#endif
