/* File formats: the rules of descriptors, plugins with formats, which format bytes are of, and that
 * probes look at nothing outside the bytes that they are given. */
#include "check.h"

#include "core/error.h"
#include "formats/tfrecord/tfrecord_frame.h"
#include "registry/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- A plugin with a reader and a format ---- */

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_UINT8};
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)args, (void)err;
    return PFD_OK;
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    (void)out;
    return args->host->fail(err, PFD_UNSUPPORTED, "nothing to open");
}

static const pfd_port ports[] = {{"rows", "Some rows."}};

static pfd_op make_reader(const char *name)
{
    return (pfd_op){PFD_OP_SIZES, .flags = PFD_READS_FILES, .name = name, .doc = "Reads.",
                    .outputs = ports, .num_outputs = 1, .infer = infer, .open = open_source,
                    .compute = compute};
}

static int32_t probe_boxes(const pfd_probe_args *args)
{
    return args->size >= 3 && !memcmp(args->data, "BOX", 3) ? PFD_PROBE_CERTAIN : PFD_PROBE_NO;
}

static pfd_format make_format(const char *name)
{
    return (pfd_format){.struct_size = sizeof(pfd_format), .name = name, .title = "Boxes",
                        .doc = "Boxes.", .suffixes = ".box", .reader = "FormatBoxReader",
                        .probe = probe_boxes};
}

static pfd_plugin make_plugin(const pfd_op *const *ops, uint32_t num_ops,
                              const pfd_format *const *formats, uint32_t num_formats)
{
    return (pfd_plugin){sizeof(pfd_plugin), PFD_ABI_MAJOR, PFD_ABI_MINOR, num_ops, ops, "p", "1",
                        num_formats, 0, formats};
}

static int64_t count_formats(void)
{
    int64_t n = 0;
    while (pfd_format_at(n)) n++;
    return n;
}

static const pfd_format *find_format(const char *name)
{
    for (int64_t i = 0; pfd_format_at(i); i++)
        if (!strcmp(pfd_format_at(i)->name, name)) return pfd_format_at(i);
    return NULL;
}

static const char *detected(const char *path, const void *data, int64_t size)
{
    static pfd_error err = {.struct_size = sizeof err};
    const pfd_format *found = NULL;
    pfd_status status = pfd_format_detect(path, data, size, size, &found, &err);
    return status == PFD_OK ? found->name : err.message;
}

static int same(const char *found, const char *expected)
{
    return found && !strcmp(found, expected);
}

/* ---- Rules ---- */

static void test_built_in_formats(void)
{
    int64_t n = 0;
    while (pfd_builtin_formats[n]) n++;
    CHECK(n >= 14 && count_formats() == n);
    for (int64_t i = 0; i < n; i++) {
        CHECK(same(pfd_format_at(i)->name, pfd_builtin_formats[i]->name));
        CHECK(same(pfd_format_origin(i), "built in"));
    }
    CHECK(!pfd_format_at(-1) && !pfd_format_at(n) && !pfd_format_origin(n));
}

/* Adds a plugin whose second format is changed: it is refused as a whole. */
#define FAULT(change, status, part)                                                                \
    do {                                                                                           \
        pfd_error err;                                                                             \
        pfd_op op = make_reader("FormatBoxReader");                                                \
        pfd_format good = make_format("boxes"), f = make_format("faulty");                         \
        const pfd_op *ops[] = {&op};                                                               \
        const pfd_format *formats[] = {&good, &f};                                                 \
        change;                                                                                    \
        pfd_plugin plugin = make_plugin(ops, 1, formats, 2);                                       \
        int64_t before = count_formats();                                                          \
        CHECK(pfd_plugin_add(&plugin, "here", 0, &err) == status);                                 \
        SAYS(err, part);                                                                           \
        CHECK(count_formats() == before && !find_format("boxes"));                                 \
        CHECK(pfd_registry_find("FormatBoxReader", &err) == NULL);                                 \
    } while (0)

static int32_t no_folder(const pfd_probe_folder_args *args)
{
    (void)args;
    return PFD_PROBE_NO;
}

static void test_faulty_formats(void)
{
    FAULT(f.struct_size = 8, PFD_INTERNAL, "struct_size is 8; it must be sizeof(pfd_format)");
    FAULT(f.struct_size = 1u << 20, PFD_INTERNAL, "struct_size is 1048576");
    FAULT(f.name = NULL, PFD_INTERNAL, "format 'NULL': name must be in lower_snake_case");
    FAULT(f.name = "TFRecord", PFD_INTERNAL, "'TFRecord': name must be in lower_snake_case");
    FAULT(f.name = "a-b", PFD_INTERNAL, "'a-b': name must be");
    FAULT(f.title = NULL, PFD_INTERNAL, "format 'faulty': title is missing");
    FAULT(f.title = "", PFD_INTERNAL, "title is missing");
    FAULT(f.doc = "No end", PFD_INTERNAL, "doc must be a sentence");
    FAULT(f.flags = 1u << 9, PFD_INTERNAL, "flags has unknown bits");
    FAULT(f.suffixes = "box", PFD_INTERNAL, "suffixes must be like");
    FAULT(f.suffixes = ".box|.BIG", PFD_INTERNAL, "suffixes must be like");
    FAULT(f.suffixes = ".box||.b", PFD_INTERNAL, "suffixes must be like");
    FAULT(f.suffixes = ".", PFD_INTERNAL, "suffixes must be like");
    FAULT((f.suffixes = NULL, f.probe = NULL), PFD_INTERNAL, "probe is NULL");
    FAULT((f.flags = PFD_FORMAT_SHARED_SUFFIXES, f.probe = NULL), PFD_INTERNAL, "probe is NULL");
    FAULT(f.reader = NULL, PFD_INTERNAL, "reader must be the name of an op");
    FAULT(f.reader = "NoSuchReader", PFD_INTERNAL, "reader must be the name of an op");
    FAULT(f.reader = "format_box_reader", PFD_INTERNAL, "reader must be the name of an op");
    FAULT(f.reader = "Affine", PFD_INTERNAL, "reader must be an op that reads files");
    FAULT(f.reader = "GeneratorReader", PFD_INTERNAL, "reader must be an op that reads files");
    FAULT(f.decoders = "NoSuchOp", PFD_INTERNAL, "decoders must be names of ops");
    FAULT(f.decoders = "Affine|FormatBoxReader", PFD_INTERNAL, "decoders must not be readers");
    FAULT(f.decoders = "", PFD_INTERNAL, "decoders must be names separated by");
    FAULT(f.folder_file = "a/b", PFD_INTERNAL, "folder_file must be the name of a file");
    FAULT(f.folder_file = "", PFD_INTERNAL, "folder_file must be the name of a file");
    FAULT(f.probe_folder = no_folder, PFD_INTERNAL, "probe_folder is set, but the reader lacks");
    FAULT(f.reader = "ImageFolderReader", PFD_INTERNAL, "probe_folder is NULL, but the reader has");
    FAULT(f.name = "boxes", PFD_INVALID_ARGUMENT, "name is that of another format (here)");
    FAULT(f.name = pfd_builtin_formats[0]->name, PFD_INVALID_ARGUMENT, "(built in)");
    FAULT(formats[1] = NULL, PFD_INTERNAL, "formats has an entry that is NULL");
}

static void test_faulty_lists(void)
{
    pfd_error err = {.struct_size = sizeof err};
    pfd_op op = make_reader("FormatBoxReader");
    const pfd_op *ops[] = {&op};
    pfd_plugin plugin = make_plugin(ops, 1, NULL, 1);
    CHECK(pfd_plugin_add(&plugin, "here", 0, &err) == PFD_INTERNAL);
    SAYS(err, "formats is NULL");
    plugin.num_formats = 1u << 30;
    CHECK(pfd_plugin_add(&plugin, "here", 0, &err) == PFD_INTERNAL);
    SAYS(err, "num_formats is above 4096");
}

static void test_a_plugin_of_1_0_has_no_formats(void)
{
    pfd_error err = {.struct_size = sizeof err};
    static pfd_op op;
    op = make_reader("FormatOldReader");
    static const pfd_op *const ops[] = {&op};
    static pfd_plugin plugin;
    plugin = make_plugin(ops, 1, (const void *)"not read", 77);
    plugin.struct_size = offsetof(pfd_plugin, num_formats);
    int64_t before = count_formats();
    CHECK(pfd_plugin_add(&plugin, "old", 0, &err) == PFD_OK);
    CHECK(count_formats() == before);
}

static void test_added_and_replaced(void)
{
    pfd_error err = {.struct_size = sizeof err};
    static pfd_op first_op, second_op;
    static pfd_format first, second, third;
    first_op = second_op = make_reader("FormatBoxReader");
    first = second = make_format("boxes");
    second.title = "Better boxes";
    third = make_format("crates");
    third.probe = NULL;
    third.suffixes = ".crate";
    static const pfd_op *const first_ops[] = {&first_op}, *const second_ops[] = {&second_op};
    static const pfd_format *const firsts[] = {&first}, *const seconds[] = {&second, &third};
    static pfd_plugin old, new;
    old = make_plugin(first_ops, 1, firsts, 1);
    new = make_plugin(second_ops, 1, seconds, 2);
    int64_t before = count_formats();
    CHECK(pfd_plugin_add(&old, "old", 0, &err) == PFD_OK);
    CHECK(count_formats() == before + 1 && same(pfd_format_origin(before), "old"));
    const pfd_format *held = find_format("boxes");
    CHECK(same(detected("some.dat", "BOX1", 4), "boxes"));
    const char *looks = pfd_looks_like((const uint8_t *)"BOX1", 4, NULL);
    CHECK(same(looks, "Boxes (FormatBoxReader reads it)"));
    CHECK(!pfd_looks_like((const uint8_t *)"BOX1", 4, "boxes"));
    CHECK(pfd_plugin_add(&old, "again", 0, &err) == PFD_OK && count_formats() == before + 1);

    CHECK(pfd_plugin_add(&new, "new", 0, &err) == PFD_INVALID_ARGUMENT);
    CHECK(pfd_plugin_add(&new, "new", 1, &err) == PFD_OK);
    CHECK(count_formats() == before + 2 && same(pfd_format_origin(before), "new"));
    CHECK(same(find_format("boxes")->title, "Better boxes") && same(held->title, "Boxes"));
    CHECK(same(pfd_looks_like((const uint8_t *)"BOX1", 4, "crates"),
               "Better boxes (FormatBoxReader reads it)"));
    CHECK(same(detected("a.crate", "\1\2\3", 3), "crates"));
    CHECK(same(detected("a.CRATE.gz", "\1\2\3", 3),
               "the name says gzip, but the file does not begin like that, nor like any format but "
               "text"));
    CHECK(pfd_plugin_add(&old, "old", 1, &err) == PFD_OK); /* and back */
    CHECK(same(find_format("boxes")->title, "Boxes"));

    /* Fields that a newer header has after ours are not looked at. */
    static struct {
        pfd_format format;
        const char *later;
    } newer;
    static const pfd_format *const newers[] = {&newer.format};
    static pfd_op newer_op;
    newer_op = make_reader("FormatNewerReader");
    newer.format = make_format("newer");
    newer.format.struct_size = sizeof newer;
    static const pfd_op *const newer_ops[] = {&newer_op};
    static pfd_plugin plugin;
    plugin = make_plugin(newer_ops, 1, newers, 1);
    CHECK(pfd_plugin_add(&plugin, "newer", 0, &err) == PFD_OK);
    CHECK(find_format("newer")->struct_size == sizeof(pfd_format));
}

/* ---- Detection: what the files of the fixtures do not show ---- */

static void test_content_and_suffix(void)
{
    const char *columns = "a,b\n1,2\n", *uneven = "a,b\n1\n", *json = "{\"a\": 1, \"b\": 2}\n";
    static const struct {
        const char *path, *expected;
        int which;
    } cases[] = {
        {"a", "csv", 0},       {"a.txt", "text", 0},  {"a.csv", "csv", 0},
        {"a.tfrecord", "tfrecord", 0},
        {"a.mini", "csv", 0},  {"a", "text", 1},      {"a.csv", "csv", 1}, {"a.txt", "text", 1},
        {"a.raw", "text", 1},  {"a", "json", 2},      {"a.csv", "csv", 2}, {"a.jsonl", "json", 2},
        {"a.ndjson", "json", 2}, {"a.txt", "text", 2},
        {"dir.csv/a", "text", 1}, {"a.CSV", "csv", 1},
    };
    const char *const contents[] = {columns, uneven, json};
    for (size_t i = 0; i < PFD_COUNT(cases); i++) {
        const char *content = contents[cases[i].which];
        const char *found = detected(cases[i].path, content, (int64_t)strlen(content));
        check(same(found, cases[i].expected), cases[i].path, found, __FILE__, __LINE__);
    }
    CHECK(same(detected("a.mini", "1,2\n3,4\n", 8), "mini"));
    CHECK(same(detected("a.npy", "", 0), "npy") && same(detected("a", "", 0), "text"));
    CHECK(same(detected("a.raw", "\1\2", 2), "raw"));
    CHECK(strstr(detected("a", "\1\2", 2), "has none of the supported formats; these are "));
    CHECK(strstr(detected("a", "FEA1\0", 5), "it looks like Feather"));
    CHECK(strstr(detected("a.csv", "\xff\xfe" "a\0", 4), "UTF-16"));
    CHECK(strstr(detected("a.csv", "\xff\xfe\0\0" "a\0\0\0", 8), "UTF-32"));
    CHECK(strstr(detected("a.txt", "\0\0\xfe\xff\0\0\0a", 8), "UTF-32"));
    CHECK(!strstr(detected("a.npy", "\xff\xfe" "a\0", 4), "UTF-16"));
    CHECK(strstr(detected("a.gz", "\x1f\x8b\1\1", 4), "header is damaged"));
}

/* A word of a text where tar has its magic does not make it one; the sum does without the magic. */
static void test_tar(void)
{
    uint8_t block[512] = "name.txt";
    unsigned sum = 8 * ' ';
    for (size_t i = 0; i < sizeof block; i++) sum += block[i];
    snprintf((char *)block + 148, 8, "%06o", sum);
    CHECK(same(detected("a", block, 512), "tar"));
    CHECK(same(pfd_looks_like(block, 512, NULL), "tar (TarReader reads it)"));
    block[0]++;
    CHECK(!same(detected("a", block, 512), "tar"));
    memcpy(block + 257, "ustar\0" "00", 8);
    CHECK(same(detected("a", block, 512), "tar")); /* a damaged one */
    char text[513];
    for (size_t i = 0; i < 512; i++) text[i] = "words \n"[i % 7];
    memcpy(text + 257, "ustar", 5);
    CHECK(same(detected("a", text, 512), "text"));
}

static int32_t score_of_odd;

static int32_t probe_odd(const pfd_probe_args *args)
{
    return args->size >= 3 && !memcmp(args->data, "ODD", 3) ? score_of_odd : PFD_PROBE_NO;
}

static void test_scores(void)
{
    pfd_error err = {.struct_size = sizeof err};
    static pfd_op op;
    static pfd_format format;
    static const pfd_op *const ops[] = {&op};
    static const pfd_format *const formats[] = {&format};
    static pfd_plugin plugin;
    op = make_reader("FormatOddReader");
    format = make_format("odd");
    format.suffixes = ".odd";
    format.reader = "FormatOddReader";
    format.probe = probe_odd;
    plugin = make_plugin(ops, 1, formats, 1);
    CHECK(pfd_plugin_add(&plugin, "odd", 0, &err) == PFD_OK);
    const int32_t outside[] = {-1, INT32_MIN, PFD_PROBE_CERTAIN + 1, INT32_MAX};
    for (size_t i = 0; i < PFD_COUNT(outside); i++) {
        score_of_odd = outside[i];
        CHECK(same(detected("a", "ODD\n", 4), "text"));
        CHECK(same(detected("a.txt", "ODD\n", 4), "text"));
    }
    score_of_odd = PFD_PROBE_CERTAIN;
    CHECK(same(detected("a.txt", "ODD\n", 4), "odd"));
    score_of_odd = PFD_PROBE_POSSIBLE + PFD_PROBE_SUFFIX; /* that of text by its name */
    CHECK(same(detected("a.txt", "ODD\n", 4), "text"));
    CHECK(same(detected("a.dat", "ODD\n", 4), "odd"));
    uint8_t archive[512] = "ODD"; /* a damaged one, which is likely, and earlier in the list */
    memcpy(archive + 257, "ustar\0" "00", 8);
    score_of_odd = PFD_PROBE_LIKELY - PFD_PROBE_SUFFIX;
    CHECK(same(detected("a.odd", archive, 512), "odd"));
    score_of_odd = PFD_PROBE_LIKELY;
    CHECK(same(detected("a.dat", archive, 512), "tar"));
}

/* Words of a text are no offsets, even where a compressed file does not say how long it is. */
static void test_mds_of_unknown_size(void)
{
    static char text[PFD_PROBE_BYTES];
    const pfd_format *found = NULL;
    pfd_error err = {.struct_size = sizeof err};
    memset(text, 'a', sizeof text);
    memcpy(text, "abc\n", 4);
    for (int i = 0; i < 2; i++) {
        const char *path = i == 0 ? "a.txt.gz" : "a.gz";
        CHECK(pfd_format_detect(path, (const uint8_t *)text, sizeof text, -1, &found, &err) ==
              PFD_OK);
        CHECK(!same(found->name, "mds"));
    }
}

static void test_looks_like(void)
{
#define LOOKS(bytes, own) pfd_looks_like((const uint8_t *)bytes, (int64_t)sizeof bytes - 1, own)
    CHECK(same(LOOKS("TNTIDX\0\0\1\0\0\0", NULL), "Megatron .bin/.idx (MegatronReader reads it)"));
    CHECK(!LOOKS("TNTIDX\0\0\1\0\0\0", "megatron"));
    CHECK(same(LOOKS("PK\x03\x04\1\2", NULL), "a zip archive (unpack it: unzip)"));
    CHECK(same(LOOKS("\x1f\x8b\x08\0\1\2\3\4", NULL), "gzip"));
    CHECK(same(LOOKS("\x28\xb5\x2f\xfd\1\2", NULL), "zstd"));
    CHECK(same(LOOKS("\x78\x9c\1\2\3\4\5\6\7\1", NULL), "zlib"));
    CHECK(same(LOOKS("some words\n", NULL), "text lines (TextLineReader reads it)"));
    CHECK(!LOOKS("some words\n", "text"));
    CHECK(!LOOKS("\1\2\3", NULL) && !pfd_looks_like(NULL, 0, NULL));
}

/* ---- Probes look at nothing outside; AddressSanitizer sees it where the bytes end exactly ---- */

/* Heads near to each format: cut, changed and prolonged below. */
static int64_t make_head(int which, uint8_t *out)
{
    static const struct {
        const char *bytes;
        int64_t size;
    } heads[] = {
#define HEAD(text) {text, sizeof text - 1}
        HEAD("\x93NUMPY\1\0"), HEAD("MMIDIDX\0\0"), HEAD("^ONEREC$"),
        HEAD("\x5a\0\0\0\0\0\0\0{\"header_size\":1,\"shard_addresses\":[]}"),
        HEAD("{\"shards\": [{\"format\": \"mds\"}]}"),
        HEAD("\2\0\0\0\x1e\0\0\0\x26\0\0\0\x28\0\0\0{\"a\": \"b\"}   0123456789"),
        HEAD("\0\0\x0e\2\0\0\0\3\0\0\0\2"), HEAD("\0\0\x08\xff\xff\xff\xff\xff"),
        HEAD("\x0b\0\0\0\0\0\0\0\x0a\x09\x0a\1x\x12\4\x2a\2\x0a\0"),
        HEAD("\x40\x5f\1\0\0\0\0\0\x0a\x20\x0a\2ab\x12\x1a"),
        HEAD("a,b\n1,2\n3,4\n"), HEAD("1.5, 2\r\n-3e5,nan\r\n"), HEAD("{\n  \n\n"),
    };
    enum { num_heads = PFD_COUNT(heads) };
    if (which < num_heads) {
        memcpy(out, heads[which].bytes, (size_t)heads[which].size);
        return heads[which].size;
    }
    memset(out, which == num_heads ? 0 : '0', 700);
    if (which == num_heads + 1) memcpy(out + 257, "ustar", 6);
    uint32_t crc = pfd_tfrecord_checksum(out, 8);
    if (which == num_heads + 2) memcpy(out + 8, &crc, 4);
    return 700;
}

static int32_t is_score(int32_t score)
{
    return score >= PFD_PROBE_NO && score <= PFD_PROBE_CERTAIN;
}

static void probe_all(const uint8_t *head, int64_t size)
{
    uint8_t *exact = malloc((size_t)size + (size == 0)); /* its end is where the bytes end */
    if (!exact) return;
    if (size > 0) memcpy(exact, head, (size_t)size);
    const int64_t file_sizes[] = {-1, size, size + 1000, INT64_MAX};
    int32_t wrong = 0;
    for (int64_t i = 0; pfd_builtin_formats[i]; i++)
        for (size_t j = 0; pfd_builtin_formats[i]->probe && j < PFD_COUNT(file_sizes); j++) {
            pfd_probe_args args = {PFD_SIZE(pfd_probe_args), exact, size, file_sizes[j], NULL};
            int32_t score = pfd_builtin_formats[i]->probe(&args);
            wrong += !is_score(score) || pfd_builtin_formats[i]->probe(&args) != score;
        }
    CHECK(wrong == 0);
    (void)pfd_looks_like(exact, size, NULL);
    (void)detected("a.gz", exact, size);
    free(exact);
}

static void test_probes_with_any_bytes(void)
{
    static uint8_t head[PFD_PROBE_BYTES];
    for (int round = 0; round < 6000; round++) {
        int64_t size = make_head((int)draw(18), head);
        for (uint64_t flips = draw(4); flips > 0; flips--)
            head[draw((uint64_t)size)] = (uint8_t)draw(256);
        uint64_t most = round % 100 == 0 ? sizeof head - 700 : 40;
        int64_t more = (int64_t)draw(most);
        for (int64_t i = 0; i < more; i++) head[size + i] = (uint8_t)draw(256);
        probe_all(head, (int64_t)draw((uint64_t)(size + more + 1)));
    }
    for (int which = 0; which < 18; which++) {
        int64_t size = make_head(which, head);
        for (int64_t cut = 0; cut <= size; cut++) probe_all(head, cut);
    }
}

int main(void)
{
    test_built_in_formats();
    test_faulty_formats();
    test_faulty_lists();
    test_a_plugin_of_1_0_has_no_formats();
    test_added_and_replaced();
    test_content_and_suffix();
    test_tar();
    test_scores();
    test_mds_of_unknown_size();
    test_looks_like();
    test_probes_with_any_bytes();
    return report();
}
