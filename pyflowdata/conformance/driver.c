/* Runs the conformance kit over an op without Python, so that sanitizers see nothing but the op.
 *
 *   driver JOB FOLDER...   with the files of the reader in turn in each of the folders
 *
 * A job is a text of lines: "library PATH", "node OP", and for the node named last "attr NAME KIND
 * VALUE..." (strings in hexadecimal, lists with their size in front) and "input NODE OUTPUT".  The
 * last node is checked.  Findings go to stdout, one "id<tab>text" a line.
 *
 * With PFD_CHECK_FUZZ it is a libFuzzer target: what it gives becomes the file that
 * PYFLOWDATA_CHECK_FILE names, and the job that PYFLOWDATA_CHECK_JOB names reads that folder. */
#include "pyflowdata/kit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_nodes = 64, most_attrs = 64, most_text = 65536, most_path = 4096 };

typedef struct job_node {
    char op[64];
    pfd_attr_value attrs[most_attrs];
    int64_t num_attrs;
    int inputs[16], outputs[16]; /* node, and which output of it */
    int64_t num_inputs;
    /* Of the job; in their place come a folder, and the files of these names in it. */
    const char *data_dir;
    const char *const *files;
} job_node;

static job_node nodes[most_nodes];
static int num_nodes;

/* Ends with 2, which is not how a sanitizer ends a process. */
static _Noreturn void fail(const char *what, const char *detail)
{
    fprintf(stderr, "check driver: %s: %s\n", what, detail);
    exit(2);
}

/* ---- Reading the job ------------------------------------------------------------------------- */
static void *allocate(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);
    if (!memory) fail("no memory", "for the job");
    return memory;
}

static char *next_word(char **rest)
{
    char *word = *rest;
    char *end = strpbrk(word, " \n");
    if (!end) fail("the job has too few words", word);
    *end = '\0';
    *rest = end + 1;
    return word;
}

/* "-" is the empty string. */
static char *read_string(char **rest)
{
    const char *word = next_word(rest);
    size_t size = word[0] == '-' ? 0 : strlen(word) / 2;
    char *out = allocate(size + 1);
    for (size_t i = 0; i < size; i++) {
        char digits[3] = {word[2 * i], word[2 * i + 1], '\0'};
        out[i] = (char)strtol(digits, NULL, 16);
    }
    return out;
}

static void read_list(pfd_attr_value *value, char **rest)
{
    value->list_size = strtoll(next_word(rest), NULL, 10);
    size_t n = (size_t)value->list_size;
    int64_t *ints = allocate(n * sizeof *ints);
    double *floats = allocate(n * sizeof *floats);
    const char **strings = allocate(n * sizeof *strings);
    for (size_t i = 0; i < n; i++) {
        if (value->kind == PFD_VALUE_LIST_INT) ints[i] = strtoll(next_word(rest), NULL, 10);
        if (value->kind == PFD_VALUE_LIST_FLOAT) floats[i] = strtod(next_word(rest), NULL);
        if (value->kind == PFD_VALUE_LIST_STRING) strings[i] = read_string(rest);
    }
    value->list = value->kind == PFD_VALUE_LIST_INT     ? (const void *)ints
                  : value->kind == PFD_VALUE_LIST_FLOAT ? (const void *)floats
                                                        : (const void *)strings;
}

static void read_attr(job_node *node, char *rest)
{
    if (node->num_attrs == most_attrs) fail("too many attrs", node->op);
    pfd_attr_value *value = &node->attrs[node->num_attrs++];
    *value = (pfd_attr_value){.name = strdup(next_word(&rest))};
    value->kind = (int32_t)strtol(next_word(&rest), NULL, 10);
    if (value->kind == PFD_VALUE_BOOL || value->kind == PFD_VALUE_INT)
        value->i = strtoll(next_word(&rest), NULL, 10);
    else if (value->kind == PFD_VALUE_FLOAT)
        value->f = strtod(next_word(&rest), NULL);
    else if (value->kind == PFD_VALUE_STRING)
        value->s = read_string(&rest);
    else
        read_list(value, &rest);
}

static void load(char *rest)
{
    pfd_error err;
    const pfd_plugin *plugin;
    char *path = read_string(&rest);
    if (pfd_library_load(path, 0, &plugin, &err) != PFD_OK)
        fail("the plugin cannot be loaded", err.message);
    free(path);
}

static void read_line(char *line)
{
    char *rest = line;
    const char *kind = next_word(&rest);
    job_node *node = num_nodes > 0 ? &nodes[num_nodes - 1] : NULL;
    if (!strcmp(kind, "library")) {
        load(rest);
    } else if (!strcmp(kind, "node")) {
        if (num_nodes == most_nodes) fail("too many nodes", rest);
        snprintf(nodes[num_nodes++].op, sizeof node->op, "%s", next_word(&rest));
    } else if (node && !strcmp(kind, "attr")) {
        read_attr(node, rest);
    } else if (node && !strcmp(kind, "input") && node->num_inputs < 16) {
        node->inputs[node->num_inputs] = (int)strtol(next_word(&rest), NULL, 10);
        node->outputs[node->num_inputs++] = (int)strtol(next_word(&rest), NULL, 10);
    } else {
        fail("a line of the job is not understood", kind);
    }
}

static void read_job(const char *path)
{
    static char line[most_text];
    FILE *file = fopen(path, "r");
    if (!file) fail("the job cannot be opened", path);
    while (fgets(line, sizeof line, file)) read_line(line);
    fclose(file);
    if (num_nodes == 0) fail("the job has no node", path);
}

/* ---- Running it -------------------------------------------------------------------------------
 */
static void move_files(job_node *node, pfd_attr_value *files, const char *folder)
{
    size_t n = (size_t)files->list_size;
    if (!node->files) {
        char(*room)[most_path] = allocate(n * sizeof *room);
        const char **moved = allocate(n * sizeof *moved);
        for (size_t i = 0; i < n; i++) moved[i] = room[i];
        node->files = files->list;
        files->list = moved;
    }
    for (size_t i = 0; i < n; i++) {
        const char *path = node->files[i], *slash = strrchr(path, '/');
        char *moved = (char *)(uintptr_t)((const char *const *)files->list)[i];
        snprintf(moved, most_path, "%s/%s", folder, slash ? slash + 1 : path);
    }
}

static void move_to(job_node *node, pfd_attr_value *attr, const char *folder)
{
    if (!strcmp(attr->name, "files")) move_files(node, attr, folder);
    if (strcmp(attr->name, "data_dir") != 0) return;
    if (!node->data_dir) node->data_dir = attr->s;
    attr->s = folder;
}

static pfd_node *make_nodes(const char *folder, pfd_node **made)
{
    pfd_error err;
    for (int i = 0; i < num_nodes; i++) {
        job_node *node = &nodes[i];
        pfd_blob inputs[16];
        for (int64_t k = 0; k < node->num_inputs; k++)
            inputs[k] = (pfd_blob){made[node->inputs[k]], node->outputs[k]};
        for (int64_t k = 0; k < node->num_attrs; k++) move_to(node, &node->attrs[k], folder);
        if (pfd_node_create(node->op, "", node->attrs, node->num_attrs, inputs, node->num_inputs,
                            &made[i], &err) != PFD_OK)
            fail("the op cannot be used", err.message);
    }
    return made[num_nodes - 1];
}

/* Damage is a fault of the sample, and findings are of the op. Returns how many there were. */
static int64_t run(pfd_node *node, int32_t order, int64_t range, int32_t threads)
{
    pfd_kit_options options = {.struct_size = sizeof options,
                               .order = order,
                               .range = range,
                               .seek = 0,
                               .most_records = 256,
                               .fail_read_with = PFD_IO,
                               .num_threads = threads,
                               .rounds = 1,
                               .twice = threads == 1,
                               .report_fd = 1,
                               .seed = 1};
    pfd_kit_result result;
    pfd_error err;
    pfd_blob blob = {node, 0};
    if (pfd_kit_run(&blob, &options, &result, &err) != PFD_OK) return 0;
    for (int64_t i = 0; i < result.num_findings; i++)
        printf("%s\t%s\n", result.findings[i].id, result.findings[i].text);
    return result.num_findings;
}

#ifdef PFD_CHECK_FUZZ
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static pfd_node *fuzzed;
static const char *fuzzed_file;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    static pfd_node *made[most_nodes];
    const char *job = getenv("PYFLOWDATA_CHECK_JOB");
    fuzzed_file = getenv("PYFLOWDATA_CHECK_FILE");
    if (!job || !fuzzed_file) fail("PYFLOWDATA_CHECK_JOB and _FILE", "are not set");
    read_job(job);
    static char folder[most_path];
    snprintf(folder, sizeof folder, "%s", fuzzed_file);
    char *slash = strrchr(folder, '/');
    if (!slash) fail("PYFLOWDATA_CHECK_FILE has no folder", fuzzed_file);
    *slash = '\0';
    fuzzed = make_nodes(folder, made);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FILE *file = fopen(fuzzed_file, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        fail("the sample cannot be written", fuzzed_file);
    if (run(fuzzed, PFD_KIT_FORWARD, 8, 1) == 0) return 0;
    fflush(stdout);
    abort(); /* libFuzzer keeps the input */
}
#else
int main(int argc, char **argv)
{
    pfd_node *made[most_nodes] = {NULL};
    if (argc < 3) fail("usage", "driver JOB FOLDER...");
    setvbuf(stdout, NULL, _IOLBF, 0);
    read_job(argv[1]);
    for (int i = 2; i < argc; i++) {
        pfd_node *node = make_nodes(argv[i], made);
        run(node, PFD_KIT_FORWARD, 16, 1);
        run(node, PFD_KIT_SHUFFLED, 3, 1);
        run(node, PFD_KIT_STREAM, 5, 1);
        run(node, PFD_KIT_FORWARD, 2, 4);
        for (int k = 0; k < num_nodes; k++) pfd_node_release(made[k]);
        memset(made, 0, sizeof made);
    }
    return 0;
}
#endif
