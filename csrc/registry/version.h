/* registry/version.h -- the version of the library and of the Python package: stated here only. */
#ifndef PFD_REGISTRY_VERSION_H
#define PFD_REGISTRY_VERSION_H
#define PFD_VERSION "0.1.0"
#endif
