/* core/private.h -- marks the inner functions of libpyflowdata.so that libpyflowdata_kit.so calls.
 *
 * Nothing else may call them from outside: they change from build to build.  They are in a node of
 * their own of the export map, csrc/pyflowdata.map.
 */
#ifndef PFD_CORE_PRIVATE_H
#define PFD_CORE_PRIVATE_H
#define PFD_PRIVATE __attribute__((visibility("default")))
#endif
