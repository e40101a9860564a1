/* The table of the file attrs, and the checks that the table cannot express. */
#include "files/file_attrs.h"

#include "core/error.h"

const pfd_attr pfd_file_attr_table[] = {
    PFD_STRING_ATTR(pfd_file_attrs, data_dir, "",
                    "The folder of the part files; alternatively give files."),
    PFD_STRINGS_ATTR(pfd_file_attrs, files, "",
                     "In place of data_dir: paths, and patterns with *, ? or [...], whose files "
                     "are sorted by name."),
    PFD_INT_ATTR(pfd_file_attrs, data_part_num, "-1", -1, INT32_MAX,
                 "How many parts to read, numbered from 0; -1 for all parts found, in numeric "
                 "order."),
    PFD_STRING_ATTR(pfd_file_attrs, part_name_prefix, "part-",
                    "What stands before the number in a part's name."),
    PFD_INT_ATTR(pfd_file_attrs, part_name_suffix_length, "-1", -1, PFD_MAX_SUFFIX_LENGTH,
                 "To how many digits a part's number is padded with zeros; -1 for no padding."),
    PFD_CHOICE_ATTR(pfd_file_attrs, file_access, "auto", "auto|map|read",
                    "How files are read: map maps them into memory, read reads them piece by "
                    "piece; auto maps them if they fit into memory and address space together."),
    PFD_CHOICE_ATTR(pfd_file_attrs, compression, "auto", "auto|none|gzip|zlib|zstd",
                    "How the files are compressed; auto looks at the content of each. Lines and "
                    "frames of compressed files can only be read in sequence, so that only a "
                    "buffer shuffles them."),
    PFD_STRING_ATTR(pfd_file_attrs, index_dir, "",
                    "The folder in which indexes of the files are kept, for the next time and "
                    "for the other processes of the machine; none keeps them in memory. Left "
                    "empty, files of 16 MB or more together have theirs in PYFLOWDATA_INDEX_DIR, "
                    "else in XDG_CACHE_HOME/pyflowdata, else in ~/.cache/pyflowdata."),
};

const uint32_t pfd_file_attr_count = PFD_COUNT(pfd_file_attr_table);

static pfd_status check_files(const pfd_file_attrs *attrs, pfd_error *err)
{
    if (attrs->data_dir[0])
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "both data_dir = \"%.200s\" and files are given; leave one of them out",
                        attrs->data_dir);
    if (attrs->data_part_num != -1 || attrs->part_name_suffix_length != -1)
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "files are given, and %s, which goes with data_dir; leave one of them out",
                        attrs->data_part_num != -1 ? "data_part_num" : "part_name_suffix_length");
    return PFD_OK;
}

pfd_status pfd_file_attrs_check(const pfd_file_attrs *attrs, pfd_error *err)
{
    if (attrs->files.size > 0) return check_files(attrs, err);
    if (!attrs->data_dir[0]) {
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "data_dir = \"\" and no files are given; data_dir must be the folder of "
                        "the part files, \".\" for the current one, or files a list of paths");
    }
    if (attrs->data_part_num == 0 || attrs->data_part_num < -1) {
        return pfd_fail(err, PFD_INVALID_ARGUMENT,
                        "data_part_num = %d; it must be at least 1, or -1 for all parts found",
                        (int)attrs->data_part_num);
    }
    return PFD_OK;
}
