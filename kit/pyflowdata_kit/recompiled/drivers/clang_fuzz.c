/* A target of libFuzzer: an input becomes the file that PYFLOWDATA_CHECK_FILE names, and the job
 * that PYFLOWDATA_CHECK_JOB names reads the folder of this file. */
#include "job.h"
#include "target.h"

#include <stdlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    const char *job = getenv("PYFLOWDATA_CHECK_JOB"), *file = getenv("PYFLOWDATA_CHECK_FILE");
    if (!job || !file) job_fail("PYFLOWDATA_CHECK_JOB and _FILE", "are not set");
    target_open(job, file, 0);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (target_try(data, size).has_findings) abort(); /* libFuzzer keeps the input */
    return 0;
}
