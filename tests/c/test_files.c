/* The io layer: scans against the reference, lines against a naive reader, files that shrink. */
#include "check.h"

#include "core/error.h"
#include "files/codecs.h"
#include "files/input_files.h"
#include "files/part_files.h"
#include "index/line_scan.h"
#include "index/record_index.h"
#include "sources/lines.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t random_state = 1;

static uint64_t next_random(uint64_t below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (random_state >> 33) % below;
}

/* Text with every kind of blank line, mixed by `kind`. */
static void fill_text(uint8_t *text, int64_t size, uint64_t kind)
{
    static const uint8_t alphabet[] = "\n\n\r \t1,x\n\x00\x89\x8a\x8d\xa0\x19\x1a";
    for (int64_t i = 0; i < size; i++) {
        uint64_t letters = kind % 4 == 0 ? 5 : kind % 4 == 1 ? 9 : sizeof alphabet - 1;
        text[i] = alphabet[next_random(letters)];
        if (kind % 8 >= 4 && text[i] == '\n' && next_random(8) != 0) text[i] = '7';
    }
}

static void test_scans(void)
{
    const pfd_newline_scan *plain = pfd_newline_scan_at(0);
    for (int round = 0; round < 4000; round++) {
        int64_t size = (int64_t)next_random(round % 2 ? 700 : 130);
        uint8_t *text = malloc((size_t)size + 1); /* exact, so that a sanitizer sees an overrun */
        REQUIRE(text);
        uint8_t *exact = realloc(text, size > 0 ? (size_t)size : 1);
        REQUIRE(exact);
        fill_text(exact, size, next_random(8));
        int64_t records = (int64_t)next_random(80);
        for (int32_t i = 1; pfd_newline_scan_at(i); i++) {
            const pfd_newline_scan *scan = pfd_newline_scan_at(i);
            int64_t expected_left = records, left = records;
            int64_t expected = plain->skip(exact, size, &expected_left);
            REQUIRE(scan->skip(exact, size, &left) == expected);
            REQUIRE(left == expected_left);
            REQUIRE(scan->count(exact, size) == plain->count(exact, size));
        }
        free(exact);
    }
}

/* ---- Lines ----------------------------------------------------------------------------------- */
typedef struct text_file {
    const char *path;
    const uint8_t *data;
    int64_t size;
} text_file;

typedef struct naive_records {
    pfd_record records[20000];
    int64_t lines[20000];
    int64_t size;
} naive_records;

static void read_naively(naive_records *out, const text_file *files, int64_t n)
{
    out->size = 0;
    for (int64_t f = 0; f < n; f++) {
        int64_t begin = 0, line = 1;
        for (int64_t i = 0; i <= files[f].size; i++) {
            if (i < files[f].size && files[f].data[i] != '\n') continue;
            int64_t end = i, content = 0;
            for (int64_t j = begin; j < end; j++) content += !strchr(" \t\r", files[f].data[j]) ||
                                                             files[f].data[j] == 0;
            if (content) {
                if (files[f].data[end - 1] == '\r') end--;
                out->lines[out->size] = line;
                out->records[out->size] = (pfd_record){.data = files[f].data + begin,
                                                       .size = end - begin,
                                                       .offset = begin,
                                                       .ordinal = out->size,
                                                       .file = (int32_t)f};
                out->size++;
            }
            begin = i + 1;
            line++;
        }
    }
}

static void check_record(const pfd_record *got, const pfd_record *expected)
{
    REQUIRE(got->data == expected->data && got->size == expected->size);
    REQUIRE(got->offset == expected->offset && got->ordinal == expected->ordinal);
    REQUIRE(got->file == expected->file && got->filler == 0);
}

static void check_positions(const pfd_source *lines, const naive_records *naive, int mode)
{
    int64_t positions[300];
    pfd_record out[300];
    pfd_error err = {.struct_size = sizeof err};
    int64_t n = (int64_t)next_random(300) + 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t last = i > 0 ? positions[i - 1] : (int64_t)next_random((uint64_t)naive->size);
        int64_t random = (int64_t)next_random((uint64_t)naive->size);
        positions[i] = mode == 0 ? random : (last + (int64_t)next_random(mode == 1 ? 2 : 9));
        if (mode == 2 && next_random(20) == 0) positions[i] = random;
        positions[i] %= naive->size;
    }
    REQUIRE(lines->methods->at(lines->self, positions, n, NULL, out, &err) == PFD_OK);
    for (int64_t i = 0; i < n; i++) check_record(&out[i], &naive->records[positions[i]]);
    pfd_error_init(&err);
    lines->methods->describe(lines->self, &out[0], &err);
    REQUIRE(err.line == naive->lines[positions[0]]);
}

static void test_lines(void)
{
    static naive_records naive;
    static uint8_t texts[4][4000];
    for (int round = 0; round < 300; round++) {
        text_file files[6];
        pfd_input_file opened[6];
        const pfd_file *list[6];
        int64_t num_files = (int64_t)next_random(7);
        for (int64_t i = 0; i < num_files; i++) {
            uint8_t *text = texts[next_random(4)];
            int64_t size = (int64_t)next_random(next_random(4) ? 4000 : 3);
            if (round % 5 == 0) fill_text(text, 4000, next_random(8));
            files[i] = (text_file){"part", text, size};
            opened[i] = (pfd_input_file){.file = {.path = "part", .size = size}, .data = text,
                                         .methods = &pfd_mapped_file};
            opened[i].file.index = (int32_t)i;
            list[i] = &opened[i].file;
        }
        pfd_open_args args = {.access = round % 2, .files = list, .num_files = num_files};
        pfd_source lines = {0};
        pfd_error err = {.struct_size = sizeof err};
        read_naively(&naive, files, num_files);
        REQUIRE(pfd_lines_open(&args, &lines, &err) == PFD_OK);
        REQUIRE(lines.methods->size(lines.self) == naive.size);
        for (int mode = 0; mode < 3 && naive.size > 0; mode++)
            check_positions(&lines, &naive, mode);
        int64_t outside = naive.size;
        pfd_record record;
        REQUIRE(lines.methods->at(lines.self, &outside, 1, NULL, &record, &err) == PFD_INTERNAL);
        REQUIRE(err.row == 0);
        lines.methods->close(lines.self);
    }
}

/* Texts of several pieces, as the scan cuts them, whose cuts lie in all kinds of lines. */
static void test_long_texts(void)
{
    enum { size = 4 * 1024 * 1024 };
    static const int64_t cut = 8 * 28 * 4096;
    uint8_t *text = malloc(size);
    pfd_record *expected = malloc((size / 2 + 1) * sizeof *expected), *got = malloc(sizeof *got);
    REQUIRE(text && expected && got);
    for (int round = 0; round < 12; round++) {
        int64_t n = 0, begin = 0, length = size - (int64_t)next_random(3 * cut);
        uint64_t mean = round % 3 == 0 ? 3 : round % 3 == 1 ? 300 : 200000;
        for (int64_t i = 0; i < length; i++)
            text[i] = (uint8_t)(next_random(mean) ? '0' + i % 10 : '\n');
        for (int64_t at = cut; at < length; at += cut) { /* around the cuts */
            int64_t from = at - (int64_t)next_random(40), to = at + (int64_t)next_random(40);
            if (round % 4 == 3) from -= 20000, to += 20000;
            for (int64_t i = from; i < to && i < length; i++)
                text[i] = (uint8_t)"   \t\n\r1"[next_random(round % 2 ? 7 : 4)];
        }
        for (int64_t i = 0; i <= length; i++) {
            if (i < length && text[i] != '\n') continue;
            int64_t end = i, content = 0;
            for (int64_t j = begin; j < end && !content; j++) content = text[j] >= '0';
            if (content) {
                if (text[end - 1] == '\r') end--;
                expected[n] = (pfd_record){
                    .data = text + begin, .size = end - begin, .offset = begin, .ordinal = n};
                n++;
            }
            begin = i + 1;
        }
        pfd_input_file opened = {
            .file = {.path = "part", .size = length}, .methods = &pfd_mapped_file, .data = text,
            .fd = -1};
        const pfd_file *list = &opened.file;
        pfd_open_args args = {.access = round / 2 % 2, .files = &list, .num_files = 1};
        pfd_source lines = {0};
        pfd_error err = {.struct_size = sizeof err};
        REQUIRE(pfd_lines_open(&args, &lines, &err) == PFD_OK);
        REQUIRE(lines.methods->size(lines.self) == n);
        uint64_t far = (uint64_t)n / 500 + 1;
        for (int64_t i = 0; i < n; i += i < 300 ? 1 : 1 + (int64_t)next_random(far)) {
            REQUIRE(lines.methods->at(lines.self, &i, 1, NULL, got, &err) == PFD_OK);
            check_record(got, &expected[i]);
        }
        for (int64_t at = cut; at < length; at += cut) { /* all that is near a cut */
            int64_t i = 0;
            while (i < n && expected[i].offset < at - 30000) i++;
            for (; i < n && expected[i].offset < at + 30000; i++) {
                REQUIRE(lines.methods->at(lines.self, &i, 1, NULL, got, &err) == PFD_OK);
                check_record(got, &expected[i]);
            }
        }
        lines.methods->close(lines.self);
    }
    free(text);
    free(expected);
    free(got);
}

/* ---- Files ----------------------------------------------------------------------------------- */
static char folder[] = "/tmp/pyflowdata-test-XXXXXX";

static char *in_folder(const char *name)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, int64_t size)
{
    FILE *file = fopen(in_folder(name), "w");
    REQUIRE(file);
    for (int64_t i = 0; i < size; i++) fputc(i % 10 == 9 ? '\n' : '1', file);
    REQUIRE(fclose(file) == 0);
}

static pfd_input_files *open_one(const char *name)
{
    char *path = in_folder(name);
    pfd_input_files *files = NULL;
    pfd_error err = {.struct_size = sizeof err};
    REQUIRE(pfd_input_files_open(&path, 1, PFD_FILE_ACCESS_MAP, PFD_COMPRESSION_NONE, NULL, &files,
                               &err) == PFD_OK);
    REQUIRE(pfd_input_files_check(files, &err) == PFD_OK);
    REQUIRE(pfd_input_files_check_disk(files, &err) == PFD_OK);
    return files;
}

static void test_shrinking_file(void)
{
    enum { size = 1000000 };
    pfd_error err = {.struct_size = sizeof err};
    int64_t n;
    write_file("part-0", size);
    pfd_input_files *files = open_one("part-0");
    pfd_open_args args = {.files = pfd_input_files_list(files, &n), .num_files = 1};
    const pfd_file *file = args.files[0];
    pfd_source lines = {0};
    REQUIRE(n == 1 && file->size == size && pfd_input_files_bytes(files) == size);
    REQUIRE(pfd_lines_open(&args, &lines, &err) == PFD_OK);
    REQUIRE(lines.methods->size(lines.self) == size / 10);
    REQUIRE(truncate(in_folder("part-0"), 5000) == 0);
    int64_t position = size / 10 - 1;
    pfd_record record;
    REQUIRE(lines.methods->at(lines.self, &position, 1, NULL, &record, &err) == PFD_IO);
    REQUIRE(err.row == 0 && strstr(err.file, "part-0"));
    REQUIRE(pfd_file_data(file)[size - 1] == 0 && pfd_file_data(file)[0] == '1');
    REQUIRE(pfd_input_files_check(files, &err) == PFD_IO);
    REQUIRE(strstr(err.message, "1000000 bytes when it was opened, and now has 5000"));
    REQUIRE(strstr(err.file, "part-0"));
    lines.methods->close(lines.self);
    pfd_input_files_close(files);
}

static void test_changed_files(void)
{
    pfd_error err = {.struct_size = sizeof err};
    write_file("part-1", 100);
    pfd_input_files *files = open_one("part-1");
    uint64_t fingerprint = pfd_input_files_fingerprint(files);
    write_file("part-1", 80);
    REQUIRE(pfd_input_files_check(files, &err) == PFD_OK);
    REQUIRE(pfd_input_files_check_disk(files, &err) == PFD_IO);
    REQUIRE(strstr(err.message, "had 100 bytes when it was opened, and now has 80"));
    REQUIRE(unlink(in_folder("part-1")) == 0);
    REQUIRE(pfd_input_files_check_disk(files, &err) == PFD_IO && strstr(err.message, "vanished"));
    pfd_input_files_close(files);
    write_file("part-1", 100);
    files = open_one("part-1");
    REQUIRE(pfd_input_files_fingerprint(files) == fingerprint);
    pfd_input_files_close(files);
    write_file("part-1", 101);
    files = open_one("part-1");
    REQUIRE(pfd_input_files_fingerprint(files) != fingerprint);
    pfd_input_files_close(files);
}

/* What the signal is when the fault is not in a guarded file: `act` runs in a child. */
static int signal_of(void (*act)(void))
{
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        act();
        _exit(0);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void send_bus(void)
{
    signal(SIGBUS, SIG_DFL);
    pfd_input_files_close(open_one("part-2"));
    raise(SIGBUS);
}

static void leave(int number)
{
    _exit(number + 50);
}

static void send_bus_to_other(void)
{
    signal(SIGBUS, leave);
    pfd_input_files_close(open_one("part-2"));
    raise(SIGBUS);
}

static void hand_on_to_ours(int number);
static struct sigaction found_at_open;

static void set_later_handler(void)
{
    signal(SIGBUS, SIG_DFL);
    pfd_input_files_close(open_one("part-2"));
    REQUIRE(sigaction(SIGBUS, NULL, &found_at_open) == 0);
    signal(SIGBUS, hand_on_to_ours);
    pfd_input_files_close(open_one("part-2")); /* ours again, on top of it */
    raise(SIGBUS);
}

/* As Python's faulthandler does: its predecessor's handler is put back, the signal sent again. */
static void hand_on_to_ours(int number)
{
    REQUIRE(sigaction(number, &found_at_open, NULL) == 0);
    raise(number);
}

static void test_other_signals(void)
{
    write_file("part-2", 100);
    REQUIRE(signal_of(send_bus) == SIGBUS);
    REQUIRE(signal_of(send_bus_to_other) == -(SIGBUS + 50));
    REQUIRE(signal_of(set_later_handler) == SIGBUS);
}

/* ---- Names ----------------------------------------------------------------------------------- */
static pfd_status find(int32_t num, const char *prefix, int32_t length, pfd_path_list *out,
                       pfd_error *err)
{
    pfd_file_attrs attrs = {.data_dir = folder,
                            .data_part_num = num,
                            .part_name_prefix = prefix,
                            .part_name_suffix_length = length,
                            .index_dir = ""};
    pfd_status status = pfd_file_attrs_check(&attrs, err);
    if (status == PFD_OK) status = pfd_part_files_find(&attrs, 0, out, err);
    if (status != PFD_OK) pfd_path_list_free(out);
    return status;
}

static void test_names(void)
{
    pfd_path_list found = {0};
    pfd_error err = {.struct_size = sizeof err};
    const char *names[] = {"x-9", "x-10", "x-0100", "x-", "x-1.txt", "y-00000000000000000000007",
                           "y-0000000000000000000000000000000000000000000000000000000000008"};
    for (size_t i = 0; i < PFD_COUNT(names); i++) write_file(names[i], 1);
    REQUIRE(find(-1, "x-", -1, &found, &err) == PFD_OK && found.size == 3);
    REQUIRE(strstr(found.paths[0], "x-9") && strstr(found.paths[1], "x-10"));
    pfd_path_list_free(&found);
    REQUIRE(find(-1, "x-", 2, &found, &err) == PFD_OK && found.size == 1);
    pfd_path_list_free(&found);
    REQUIRE(find(-1, "y-", -1, &found, &err) == PFD_OK && found.size == 2);
    REQUIRE(strstr(found.paths[0], "7"));
    pfd_path_list_free(&found);
    write_file("x-010", 1);
    REQUIRE(find(-1, "x-", -1, &found, &err) == PFD_IO);
    REQUIRE(strstr(err.message, "'x-010' and 'x-10'"));
    REQUIRE(find(INT32_MAX, "z-", -1, &found, &err) == PFD_IO && strstr(err.file, "z-0"));
    REQUIRE(find(0, "z-", -1, &found, &err) == PFD_INVALID_ARGUMENT);
    write_file("z-000", 1);
    REQUIRE(find(1, "z-", -1, &found, &err) == PFD_IO);
    REQUIRE(strstr(err.message, "part_name_suffix_length=3?"));
    REQUIRE(find(1, "part-", 3, &found, &err) == PFD_IO);
    REQUIRE(strstr(err.message, "part_name_suffix_length=-1?"));
    REQUIRE(find(1, "data-", 3, &found, &err) == PFD_IO);
    REQUIRE(strstr(err.message, "part_name_prefix=\"z-\"?"));
}

/* ---- Shards ---- */

/* Also for ordinals that no shard has, before all records and after them, and of an empty table. */
static void test_shards_of_ordinals(void)
{
    int64_t wrong = 0;
    for (int round = 0; round < 300; round++) {
        pfd_shard_table table = {0};
        pfd_error err;
        pfd_error_init(&err);
        int64_t num_shards = round % 70; /* 64 are allocated at first */
        for (int64_t i = 0; i < num_shards; i++)
            CHECK(pfd_shard_table_add(&table, round % 3 ? (i * 7 + round) % 5 : 3, &err) == PFD_OK);
        for (int64_t ordinal = -3, shard = 0; ordinal < table.num_records + 3; ordinal++) {
            while (shard + 1 < num_shards && table.first[shard + 1] <= ordinal) shard++;
            int64_t found = pfd_shard_of(&table, ordinal);
            wrong += found != (ordinal < 0 ? 0 : shard);
        }
        pfd_shard_table_free(&table);
    }
    CHECK(wrong == 0);
}

int main(void)
{
    signal(SIGBUS, SIG_DFL); /* a sanitizer has its own */
    REQUIRE(mkdtemp(folder));
    test_scans();
    test_lines();
    test_long_texts();
    test_shrinking_file();
    test_changed_files();
    test_other_signals();
    test_names();
    test_shards_of_ordinals();
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0) return 1;
    return report();
}
