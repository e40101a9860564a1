/* The format of manifests: lines of JSON that name images. */
#include "formats/manifest/manifest_line.h"
#include "parse/first_bytes.h"
#include "pyflowdata/op.h"

/* A higher score than that of any text in a file named .json. */
enum { is_manifest = PFD_PROBE_POSSIBLE + PFD_PROBE_SUFFIX + 20 };

/* Whether the first lines are objects with a source and a list of annotations. */
static int32_t probe(const pfd_probe_args *args)
{
    pfd_text_lines lines = pfd_text_lines_of(args, 4);
    const uint8_t *text;
    int64_t size, at, count = 0;
    while (pfd_text_lines_next(&lines, &text, &size)) {
        pfd_manifest_line line;
        if (text[0] != '{' || pfd_manifest_line_parse(text, size, &line, &at)) return PFD_PROBE_NO;
        if (!line.has_annotations) return PFD_PROBE_NO;
        count++;
    }
    return count > 0 ? is_manifest : PFD_PROBE_NO;
}

const pfd_format pfd_format_manifest = {
    .struct_size = sizeof(pfd_format),
    .flags = PFD_FORMAT_TEXT,
    .name = "manifest",
    .title = "manifest",
    .doc = "Lines of JSON, each of which names an image and its labels.",
    .suffixes = ".manifest",
    .reader = "ManifestReader",
    .checks = "each line, and that each image can be read",
    .probe = probe,
};
