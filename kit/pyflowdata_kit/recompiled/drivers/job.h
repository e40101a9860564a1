/* drivers/job.h -- the graph of a check for programs without Python: a job, read from a text.
 *
 * A job is lines of words: "library PATH", "node OP", and for the last node so far "attr NAME KIND
 * VALUE..." (strings in hexadecimal, lists with their size in front) and "input NODE OUTPUT". The
 * last node is checked. "whole" says that a row may depend on its batch.
 *
 * OWNERSHIP  There is one job in a process; it owns its nodes.
 * ERRORS     A fault of a job ends the process with status 2, which no sanitizer uses.
 * THREADS    One. */
#ifndef PFD_KIT_DRIVERS_JOB_H
#define PFD_KIT_DRIVERS_JOB_H
#include "pyflowdata_kit/kit.h"

_Noreturn void job_fail(const char *what, const char *detail);

/* Reads the job, and loads its libraries. */
void job_read(const char *path);

/* Makes the nodes over the files of these names in a folder, whose name is kept.  Returns the node
 * under check, which lives until job_release(). */
pfd_node *job_make(const char *folder);
void job_release(void);

/* Runs the kit with these options, after setting those that all drivers share, and others if rows
 * depend on their batch. Writes findings to stdout, one "id<tab>text" per line. Returns the number
 * of findings; damage of the sample, or another op's failure, is none. */
int64_t job_run(pfd_node *node, pfd_kit_options options, pfd_kit_result *result);
#endif
