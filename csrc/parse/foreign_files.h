/* parse/foreign_files.h -- files of other programs, by the bytes that they begin with.
 *
 * THREADS  Pure functions; texts are constants.
 */
#ifndef PFD_PARSE_FOREIGN_FILES_H
#define PFD_PARSE_FOREIGN_FILES_H
#include "pyflowdata/pyflowdata.h" /* has pfd_foreign_container() */

/* The same, also of images, which readers here take as a record. */
const char *pfd_foreign_file(const uint8_t *data, int64_t size);

/* Where an image is expected: of images that no codec here decodes. */
const char *pfd_foreign_image(const uint8_t *data, int64_t size);
#endif
