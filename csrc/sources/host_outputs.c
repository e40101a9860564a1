/* The outputs that every reader has. No other file has their names. */
#include "sources/host_outputs.h"

#include "pyflowdata/pyflowdata.h"

const pfd_port pfd_host_outputs[PFD_HOST_OUTPUT_COUNT] = {
    {"mask", "False for rows that only fill a batch and for damaged records that were padded."},
    {"id", "Index of the record's file and its 0-based number in the dataset."},
};

const pfd_port *pfd_host_output_at(int64_t i)
{
    return i >= 0 && i < PFD_HOST_OUTPUT_COUNT ? &pfd_host_outputs[i] : NULL;
}
