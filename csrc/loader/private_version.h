/* loader/private_version.h -- a number by which libpyflowdata_kit.so checks that it was built
 * with the libpyflowdata.so that it runs on: the two share the private structs measured below. */
#ifndef PFD_LOADER_PRIVATE_VERSION_H
#define PFD_LOADER_PRIVATE_VERSION_H
#include "core/error.h"
#include "dataset/dataset.h"
#include "files/file_names.h"
#include "loader/plan/data_reader.h"
#include "registry/node.h"
#include "registry/registry.h"

#define PFD_PRIVATE_MIX(hash, number) ((hash)*31u + (uint32_t)(number))
#define PFD_PRIVATE_OF_NODES                                                                       \
    PFD_PRIVATE_MIX(PFD_PRIVATE_MIX(PFD_PRIVATE_MIX(1u, sizeof(struct pfd_node)),                  \
                                    sizeof(pfd_registered_op)),                                    \
                    sizeof(pfd_reader_attrs))
#define PFD_PRIVATE_OF_DATASETS                                                                    \
    PFD_PRIVATE_MIX(PFD_PRIVATE_MIX(PFD_PRIVATE_OF_NODES, sizeof(struct pfd_dataset)),             \
                    sizeof(pfd_dataset_methods))
#define PFD_PRIVATE_OF_READERS                                                                     \
    PFD_PRIVATE_MIX(PFD_PRIVATE_MIX(PFD_PRIVATE_OF_DATASETS, sizeof(pfd_data_reader)),             \
                    sizeof(pfd_bounds))
/* The number is made of sizes and of offsets, since sizes stay the same if fields trade places. */
#define PFD_PRIVATE_VERSION                                                                        \
    PFD_PRIVATE_MIX(PFD_PRIVATE_MIX(PFD_PRIVATE_MIX(PFD_PRIVATE_OF_READERS, sizeof(pfd_path_list)),\
                                    offsetof(pfd_data_reader, num_records)),                       \
                    offsetof(struct pfd_node, outputs))

/* PFD_PRIVATE_VERSION of the build of libpyflowdata.so. */
uint32_t pfd_private_version(void) PFD_PRIVATE;
#endif
