/* formats/manifest/manifest_line.h -- a line of a manifest:
 *
 *     {"source": "cat/1.jpg", "usage": "train", "annotation": [{"name": "cat", ...}], ...}
 *
 * OWNERSHIP  Texts and cursors point into the line.
 */
#ifndef PFD_FORMATS_MANIFEST_MANIFEST_LINE_H
#define PFD_FORMATS_MANIFEST_MANIFEST_LINE_H
#include "parse/json.h"

typedef struct pfd_manifest_line {
    pfd_json_text source, usage; /* of size 0 where the line has none */
    pfd_json annotations;        /* cursor before the array */
    int32_t has_annotations;
} pfd_manifest_line;

/* Returns what is wrong, at byte *at of the line; NULL: nothing. */
const char *pfd_manifest_line_parse(const uint8_t *data, int64_t size, pfd_manifest_line *out,
                                    int64_t *at);

/* A cursor before the first label of a line. */
pfd_json pfd_manifest_labels_of(const pfd_manifest_line *line);

/* Reads the next label.  0: there is none, or labels->problem says what is wrong. */
int32_t pfd_manifest_labels_next(pfd_json *labels, pfd_json_text *name);
#endif
