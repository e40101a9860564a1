/* What the first bytes of a file say: text, or a format of another program. */
#include "parse/first_bytes.h"

#include "parse/words.h"

#include <string.h>

/* ---- Text ------------------------------------------------------------------------------------ */

enum { looked_at = 4096 };

int32_t pfd_is_text(const uint8_t *data, int64_t size)
{
    if (size == 0 || memchr(data, 0, (size_t)size)) return 0;
    for (int64_t i = 0; i < size && i < looked_at; i++)
        if (data[i] < '\t') return 0;
    return 1;
}

static int32_t is_blank(const uint8_t *line, int64_t size)
{
    while (size > 0 && pfd_is_space(line[size - 1])) size--;
    return size == 0;
}

pfd_text_lines pfd_text_lines_of(const pfd_probe_args *args, int64_t most)
{
    const uint8_t *data = args->data;
    int64_t size = args->size;
    if (size > 0 && size != args->file_size) {
        const uint8_t *last = memrchr(data, '\n', (size_t)size);
        int32_t has_two = last && memchr(data, '\n', (size_t)(last - data));
        if (has_two) size = last - data;
    }
    return (pfd_text_lines){data, data + size, most};
}

int32_t pfd_text_lines_next(pfd_text_lines *lines, const uint8_t **line, int64_t *size)
{
    while (lines->at < lines->end && lines->left-- > 0) {
        const uint8_t *begin = lines->at;
        const uint8_t *newline = memchr(begin, '\n', (size_t)(lines->end - begin));
        lines->at = newline ? newline + 1 : lines->end;
        *line = begin;
        *size = (newline ? newline : lines->end) - begin;
        if (!is_blank(*line, *size)) return 1;
    }
    return 0;
}

const char *pfd_marked_encoding(const uint8_t *data, int64_t size)
{
    /* The mark of UTF-32 in little endian begins with that of UTF-16. */
    if (size >= 4 && (!memcmp(data, "\xff\xfe\0\0", 4) || !memcmp(data, "\0\0\xfe\xff", 4)))
        return "UTF-32";
    if (size >= 2 && (!memcmp(data, "\xff\xfe", 2) || !memcmp(data, "\xfe\xff", 2)))
        return "UTF-16";
    return NULL;
}

const char *pfd_unmarked_encoding(const uint8_t *data, int64_t size)
{
    enum { least = 8, most = 64 };
    if (size < least) return NULL;
    int64_t end = (size < most ? size : most) & ~INT64_C(1);
    int64_t nul = data[0] == 0 ? 0 : 1; /* the place of the NUL in each pair */
    for (int64_t i = 0; i < end; i += 2) {
        uint8_t letter = data[i + 1 - nul];
        int32_t is_letter = letter >= ' ' || (letter >= '\t' && letter <= '\r');
        if (data[i + nul] != 0 || !is_letter) return NULL;
    }
    return nul == 0 ? "UTF-16BE" : "UTF-16LE";
}

int32_t pfd_probe_finds(const pfd_probe_args *args, const char *text)
{
    return memmem(args->data, (size_t)args->size, text, strlen(text)) != NULL;
}

/* ---- Files of other programs ----------------------------------------------------------------- */

typedef struct signature {
    const char *words;
    int32_t at, size;
    const char *bytes;
} signature;

static const signature containers[] = {
    {"bzip2 (decompress it: bunzip2)", 0, 3, "BZh"},
    {"xz (decompress it: xz -d)", 0, 6, "\xfd\x37zXZ\0"},
    {"lz4 (decompress it: lz4 -d)", 0, 4, "\x04\x22\x4d\x18"},
    {"snappy (decompress it)", 0, 10, "\xff\x06\0\0sNaPpY"},
    {"7-Zip (unpack it: 7z x)", 0, 6, "7z\xbc\xaf\x27\x1c"},
    {"RAR (unpack it: unrar x)", 0, 6, "Rar!\x1a\x07"},
    {"an empty zip archive", 0, 4, "PK\x05\x06"},
    {"Feather, version 1 (write it in version 2: pyarrow.feather.read_table, write_feather)", 0, 4,
     "FEA1"},
    {"HDF5 (save its arrays as .npy files: h5py.File, numpy.save)", 0, 8, "\x89HDF\r\n\x1a\n"},
    {"a MATLAB file (save its arrays as .npy files: scipy.io.loadmat, numpy.save)", 0, 10,
     "MATLAB 5.0"},
    {"SQLite (export its table: sqlite3 -header -csv)", 0, 16, "SQLite format 3\0"},
    {"LMDB (give its values to GeneratorReader)", 16, 4, "\xde\xc0\xef\xbe"},
    {"Avro (give its rows to GeneratorReader)", 0, 4, "Obj\x01"},
    {"PDF (save its text as lines)", 0, 5, "%PDF-"},
    {"a pointer of Git LFS (fetch the file: git lfs pull)", 0, 32,
     "version https://git-lfs.github.c"},
};

#define IN_FOLDERS                                                                                 \
    " (give ImageFolderReader a folder with a folder for each class, or one for all)"
static const signature records[] = {
    {"PNG" IN_FOLDERS, 0, 8, "\x89PNG\r\n\x1a\n"},
    {"JPEG" IN_FOLDERS, 0, 3, "\xff\xd8\xff"},
};
#undef IN_FOLDERS

/* Images that no codec here decodes. */
static const signature images[] = {
    {"a GIF image", 0, 4, "GIF8"},
    {"a TIFF image", 0, 4, "II*\0"},
    {"a TIFF image", 0, 4, "MM\0*"},
    {"an AVIF image", 4, 8, "ftypavif"},
    {"a HEIC image", 4, 8, "ftypheic"},
    {"a HEIF image", 4, 8, "ftypmif1"},
    {"a JPEG 2000 image", 0, 12, "\0\0\0\x0cjP  \r\n\x87\n"},
    {"a JPEG XL image", 0, 12, "\0\0\0\x0cJXL \r\n\x87\n"},
    {"a Photoshop image", 0, 4, "8BPS"},
};

static const char *find(const signature *list, size_t n, const uint8_t *data, int64_t size)
{
    for (size_t i = 0; i < n; i++)
        if (size >= list[i].at + list[i].size &&
            !memcmp(data + list[i].at, list[i].bytes, (size_t)list[i].size))
            return list[i].words;
    return NULL;
}

static int32_t begins_with(const uint8_t *name, int64_t size, const char *begin)
{
    int64_t length = (int64_t)strlen(begin);
    return size >= length && !memcmp(name, begin, (size_t)length);
}

static int32_t ends_with(const uint8_t *name, int64_t size, const char *end)
{
    int64_t length = (int64_t)strlen(end);
    return size >= length && !memcmp(name + size - length, end, (size_t)length);
}

/* A zip archive, and what it is for by the name of its first member, which is 30 bytes after its
 * beginning. */
static const char *find_archive(const uint8_t *data, int64_t size)
{
    if (size < 4 || memcmp(data, "PK\x03\x04", 4) != 0) return NULL;
    int64_t length = size >= 30 ? data[26] + 256 * data[27] : 0;
    const uint8_t *name = data + 30;
    if (length > size - 30) length = 0;
    if (ends_with(name, length, ".npy"))
        return "a NumPy .npz archive (save each of its arrays as a .npy file: numpy.load, "
               "numpy.save; or give dict(numpy.load(path)) to flow.from_arrays; files of one "
               "sample each are read in Python by GeneratorReader)";
    if (ends_with(name, length, "/data.pkl"))
        return "a file of torch.save (save its tensors as .npy files: torch.load, numpy.save)";
    if (ends_with(name, length, "[Content_Types].xml") || begins_with(name, length, "xl/") ||
        begins_with(name, length, "docProps/") || begins_with(name, length, "_rels/"))
        return "an Office file, such as .xlsx (save its sheet as CSV: pandas.read_excel, to_csv)";
    return "a zip archive (unpack it: unzip)";
}

static int32_t has(const uint8_t *data, int64_t size, const char *word)
{
    return memmem(data, (size_t)size, word, strlen(word)) != NULL;
}

/* A length, and a JSON object with the keys of tensors: MindRecord files begin alike. */
static const char *find_safetensors(const uint8_t *data, int64_t size)
{
    if (size < 10 || memcmp(data + 4, "\0\0\0\0{", 5) != 0) return NULL;
    return data[9] == '}' || has(data, size, "\"dtype\"") || has(data, size, "\"__metadata__\"")
               ? "safetensors (save its tensors as .npy files: safetensors.numpy.load_file, "
                 "numpy.save; or give them to flow.from_arrays)"
               : NULL;
}

/* Protocol 2 and above.  The first bytes of a record's length can be the same, but its higher bytes
 * are 0.  A few bytes have no frame, and end as each pickle does. */
static const char *find_pickle(const uint8_t *data, int64_t size)
{
    if (size < 4 || data[0] != 0x80 || data[1] < 2 || data[1] > 5) return NULL;
    int32_t is_short = size < 8 && data[size - 1] == '.';
    int32_t is_framed = data[1] >= 4 && data[2] == 0x95;
    int32_t is_plain = size >= 8 && data[1] < 4 && memchr("}](cXKGNJMU\x8a", data[2], 12) &&
                       data[3] != 0 && memcmp(data + 4, "\0\0\0\0", 4) != 0;
    return is_short || is_framed || is_plain
               ? "a pickle (load it in Python, and save its arrays with numpy.save or give its "
                 "objects to GeneratorReader)"
               : NULL;
}

const char *pfd_foreign_container(const uint8_t *data, int64_t size)
{
    const char *found = find(containers, sizeof containers / sizeof *containers, data, size);
    if (!found && size == 3 && !memcmp(data, "PAR", 3))
        found = "a Parquet file that was cut after 3 bytes (copy it again)";
    if (!found) found = find_archive(data, size);
    if (!found) found = find_safetensors(data, size);
    return found ? found : find_pickle(data, size);
}

/* JPEG XL can begin with two bytes alone, which tell enough only where an image is expected. */
const char *pfd_foreign_image(const uint8_t *data, int64_t size)
{
    if (size >= 2 && !memcmp(data, "\xff\x0a", 2)) return "a JPEG XL image";
    return find(images, sizeof images / sizeof *images, data, size);
}

const char *pfd_foreign_file(const uint8_t *data, int64_t size)
{
    const char *found = find(records, sizeof records / sizeof *records, data, size);
    if (!found) found = find(images, sizeof images / sizeof *images, data, size);
    return found ? found : pfd_foreign_container(data, size);
}
