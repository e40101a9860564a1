/* Makes the graph of a check, as drivers/job.h says. */
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_nodes = 64, most_attrs = 64, most_text = 65536, most_path = 4096 };

typedef struct job_node {
    char op[64];
    pfd_attr_value attrs[most_attrs];
    int64_t num_attrs;
    int inputs[16], outputs[16]; /* numbers of a node and of its output */
    int64_t num_inputs;
    /* The job's attrs for files, which a folder and its files of these names replace. */
    const char *data_dir;
    const char *const *files;
} job_node;

static job_node nodes[most_nodes];
static pfd_node *made[most_nodes];
static int num_nodes, whole_batches;

_Noreturn void job_fail(const char *what, const char *detail)
{
    fprintf(stderr, "check driver: %s: %s\n", what, detail);
    exit(2);
}

/* ---- Reading the job ------------------------------------------------------------------------- */
static void *allocate(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);
    if (!memory) job_fail("no memory", "for the job");
    return memory;
}

static char *next_word(char **rest)
{
    char *word = *rest;
    char *end = strpbrk(word, " \n");
    if (!end) job_fail("the job has too few words", word);
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

/* Makes one block of memory, which the attr keeps, so that a leak is the op's. */
static void read_list(pfd_attr_value *value, char **rest)
{
    value->list_size = strtoll(next_word(rest), NULL, 10);
    size_t n = (size_t)value->list_size;
    union {
        int64_t i;
        double f;
        const char *s;
    } *items = allocate(n * sizeof *items);
    for (size_t i = 0; i < n; i++) {
        if (value->kind == PFD_VALUE_LIST_INT) items[i].i = strtoll(next_word(rest), NULL, 10);
        if (value->kind == PFD_VALUE_LIST_FLOAT) items[i].f = strtod(next_word(rest), NULL);
        if (value->kind == PFD_VALUE_LIST_STRING) items[i].s = read_string(rest);
    }
    _Static_assert(sizeof *items == sizeof(int64_t), "items are as large as each of their kinds");
    value->list = items;
}

static void read_attr(job_node *node, char *rest)
{
    if (node->num_attrs == most_attrs) job_fail("too many attrs", node->op);
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
        job_fail("the plugin cannot be loaded", err.message);
    free(path);
}

static void read_line(char *line)
{
    char *rest = line;
    const char *kind = next_word(&rest);
    job_node *node = num_nodes > 0 ? &nodes[num_nodes - 1] : NULL;
    if (!strcmp(kind, "library")) {
        load(rest);
    } else if (!strcmp(kind, "whole")) {
        whole_batches = 1;
    } else if (!strcmp(kind, "node")) {
        if (num_nodes == most_nodes) job_fail("too many nodes", rest);
        snprintf(nodes[num_nodes++].op, sizeof node->op, "%s", next_word(&rest));
    } else if (node && !strcmp(kind, "attr")) {
        read_attr(node, rest);
    } else if (node && !strcmp(kind, "input") && node->num_inputs < 16) {
        node->inputs[node->num_inputs] = (int)strtol(next_word(&rest), NULL, 10);
        node->outputs[node->num_inputs++] = (int)strtol(next_word(&rest), NULL, 10);
    } else {
        job_fail("a line of the job is not understood", kind);
    }
}

void job_read(const char *path)
{
    static char line[most_text];
    FILE *file = fopen(path, "r");
    if (!file) job_fail("the job cannot be opened", path);
    while (fgets(line, sizeof line, file)) read_line(line);
    fclose(file);
    if (num_nodes == 0) job_fail("the job has no node", path);
}

/* ---- Its nodes ------------------------------------------------------------------------------- */
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

pfd_node *job_make(const char *folder)
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
            job_fail("the op cannot be used", err.message);
    }
    return made[num_nodes - 1];
}

void job_release(void)
{
    for (int i = 0; i < num_nodes; i++) pfd_node_release(made[i]);
    memset(made, 0, sizeof made);
}

int64_t job_run(pfd_node *node, pfd_kit_options options, pfd_kit_result *result)
{
    pfd_error err;
    pfd_blob blob = {node, 0};
    options.struct_size = sizeof options;
    options.most_records = PFD_KIT_MOST_RECORDS;
    if (whole_batches) options.order = PFD_KIT_FORWARD;
    if (whole_batches) options.range = options.most_records;
    options.fail_read_with = PFD_IO;
    options.rounds = 1;
    options.twice = options.num_threads == 1;
    options.report_fd = 1;
    options.seed = 1;
    if (pfd_kit_run(&blob, &options, result, &err) != PFD_OK) {
        result->num_findings = 0;
        result->status = err.status;
        result->function[0] = '\0';
        result->error = err;
        return 0;
    }
    /* Each thread has its own order of records, so that whole batches differ. */
    if (whole_batches && options.num_threads > 1) result->num_findings = 0;
    for (int64_t i = 0; i < result->num_findings; i++)
        printf("%s\t%s\n", result->findings[i].id, result->findings[i].text);
    fflush(stdout);
    return result->num_findings;
}
