/* op/version.h -- the version of the library and of the Python package: stated here only. */
#ifndef PFD_OP_VERSION_H
#define PFD_OP_VERSION_H
#define PFD_VERSION "0.1.0"
#endif
