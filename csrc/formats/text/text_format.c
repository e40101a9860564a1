/* The format of text files in which each line is a record. */
#include "parse/first_bytes.h"
#include "pyflowdata/op.h"

static int32_t probe(const pfd_probe_args *args)
{
    return args->size == 0 || pfd_is_text(args->data, args->size) ? PFD_PROBE_POSSIBLE
                                                                   : PFD_PROBE_NO;
}

const pfd_format pfd_format_text = {
    .struct_size = sizeof(pfd_format),
    .flags = PFD_FORMAT_TEXT,
    .name = "text",
    .title = "text lines",
    .doc = "Text in which each line is a record.",
    .suffixes = ".txt|.json|.log",
    .reader = "TextLineReader",
    .probe = probe,
};
