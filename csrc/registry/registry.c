/* The lists of ops and formats: how built-in ones and those of plugins are added and found. */
#include "registry/registry.h"

#include "core/error.h"
#include "files/part_files.h"
#include "parse/words.h"
#include "registry/attr_value.h"
#include "registry/attrs.h"
#include "registry/descriptor.h"
#include "sources/fields.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The list of formats --------------------------------------------------------------------- */

typedef struct new_formats {
    const pfd_format *const *formats;
    int64_t size;
    const char *origin; /* borrowed for the life of the process */
    int32_t replace;    /* 1: formats of the same name are replaced, except those of `keep` */
    const char *keep;   /* an origin, compared as a pointer: its formats are not replaced */
    const pfd_op *(*find_op)(const char *name); /* NULL: unknown op */
} new_formats;

static _Atomic(const pfd_format_list *) format_list;

const pfd_format_list *pfd_formats_list(void)
{
    return atomic_load_explicit(&format_list, memory_order_acquire);
}

/* The index of the format with this name; the size of the list if there is none. */
static int64_t place_of_format(const pfd_format_list *list, const char *name)
{
    int64_t i = 0;
    while (i < list->size && strcmp(list->formats[i]->format.name, name) != 0) i++;
    return i;
}

static pfd_status check_format_place(const new_formats *added, const pfd_registered_format *known,
                              pfd_error *err)
{
    int32_t gives_way = added->replace && known->origin != added->keep &&
                        known->origin != added->origin;
    if (gives_way) return PFD_OK;
    return pfd_fail(err, PFD_INVALID_ARGUMENT,
                    "descriptor of format '%s': the name is that of another format (%s)",
                    known->format.name, known->origin);
}

/* The author's descriptor, copied and checked. */
static pfd_status register_format(const pfd_format *author, const new_formats *added,
                                  const pfd_registered_format **out, pfd_error *err)
{
    static const char words[] = "%s (%s reads it)";
    pfd_format format;
    PFD_TRY(pfd_format_copy(author, &format, err));
    PFD_TRY(pfd_format_check(&format, added->find_op, err));
    int length = snprintf(NULL, 0, words, format.title, format.reader);
    pfd_registered_format *made = malloc(sizeof *made + (size_t)length + 1);
    if (!made) return pfd_fail_memory(err, length, "the registry");
    *made = (pfd_registered_format){.author = author, .format = format, .origin = added->origin};
    (void)snprintf(made->words, (size_t)length + 1, words, format.title, format.reader);
    *out = made;
    return PFD_OK;
}

static pfd_status add_format(pfd_format_list *list, const pfd_format *author,
                      const new_formats *added, pfd_error *err)
{
    const pfd_registered_format *made = NULL;
    PFD_TRY(register_format(author, added, &made, err));
    int64_t place = place_of_format(list, made->format.name);
    pfd_status status = PFD_OK;
    if (place < list->size) status = check_format_place(added, list->formats[place], err);
    if (status != PFD_OK) {
        free((pfd_registered_format *)(uintptr_t)made);
        return status;
    }
    list->formats[place] = made;
    if (place == list->size) list->size++;
    return PFD_OK;
}

/* Frees a list that was not published, and what is new in it. */
static void drop_format_list(pfd_format_list *list)
{
    for (int64_t i = 0; i < list->size; i++) {
        int32_t is_old = list->former && i < list->former->size &&
                         list->formats[i] == list->former->formats[i];
        if (!is_old) free((pfd_registered_format *)(uintptr_t)list->formats[i]);
    }
    free(list);
}

/* Adds all of them, at the end or in place of those that they replace.  If one is faulty, none is
 * added.  PFD_INTERNAL and PFD_INVALID_ARGUMENT name the format and the field. */
static pfd_status add_format_list(const new_formats *added, pfd_error *err)
{
    if (added->size == 0) return PFD_OK;
    const pfd_format_list *old = pfd_formats_list();
    int64_t size = old ? old->size : 0;
    size_t bytes = sizeof *old + (size_t)(size + added->size) * sizeof old->formats[0];
    pfd_format_list *list = malloc(bytes);
    if (!list) return pfd_fail_memory(err, (int64_t)bytes, "the registry");
    *list = (pfd_format_list){.former = old, .size = size};
    for (int64_t i = 0; i < size; i++) list->formats[i] = old->formats[i];
    for (int64_t i = 0; i < added->size; i++) {
        pfd_status status = add_format(list, added->formats[i], added, err);
        if (status == PFD_OK) continue;
        drop_format_list(list);
        return status;
    }
    atomic_store_explicit(&format_list, list, memory_order_release);
    return PFD_OK;
}

/* Whether all of these descriptors are in the list. */
static int32_t has_all_formats(const pfd_format *const *formats, int64_t size)
{
    const pfd_format_list *list = pfd_formats_list();
    int64_t found = 0;
    for (int64_t i = 0; i < size; i++)
        for (int64_t j = 0; list && j < list->size; j++)
            found += list->formats[j]->author == formats[i];
    return found == size;
}

/* ---- The list of ops ------------------------------------------------------------------------- */

enum { FOLDED_BYTES = 64 };

static const char BUILT_IN[] = "built in";

/* A plugin whose ops are here. */
struct added_plugin {
    struct added_plugin *next;
    const pfd_plugin *author;
    pfd_plugin plugin; /* with all fields of this library */
    char origin[];
};

static pthread_once_t built = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for what grows */
static struct {
    const pfd_registered_op **ops;
    const char **names;
    int64_t size, capacity;
    struct added_plugin *plugins; /* the latest first */
    pfd_error fault;              /* PFD_OK: the registry is good */
} registry;

int32_t pfd_op_is_reader(const pfd_op *op)
{
    return op->open != NULL;
}

void pfd_op_kind(const pfd_op *op, char kind[64])
{
    (void)snprintf(kind, 64, "%.*s", (int)strcspn(op->name, "#"), op->name);
}

static void append_attrs(pfd_attr **end, const pfd_attr *rows, uint32_t count)
{
    if (count > 0) memcpy(*end, rows, count * sizeof **end);
    *end += count;
}

/* A reader as users see it: own attrs, file attrs, reader attrs; own outputs, mask, id. */
static pfd_status make_public_op(const pfd_op *op, const pfd_op **out, pfd_error *err)
{
    uint32_t file_attrs = (op->flags & PFD_READS_FILES) ? pfd_file_attr_count : 0;
    uint32_t num_attrs = op->num_attrs + file_attrs + pfd_reader_attr_count;
    uint32_t num_outputs = op->num_outputs + PFD_HOST_OUTPUT_COUNT;
    pfd_op *public_op = malloc(sizeof *public_op);
    pfd_attr *attrs = calloc(num_attrs, sizeof *attrs);
    pfd_port *outputs = calloc(num_outputs, sizeof *outputs);
    if (!public_op || !attrs || !outputs) {
        free(public_op);
        free(attrs);
        free(outputs);
        return pfd_fail_memory(err, 0, "the registry");
    }
    pfd_attr *end = attrs;
    append_attrs(&end, op->attrs, op->num_attrs);
    append_attrs(&end, pfd_file_attr_table, file_attrs);
    append_attrs(&end, pfd_reader_attr_table, pfd_reader_attr_count);
    memcpy(outputs, op->outputs, op->num_outputs * sizeof *outputs);
    memcpy(outputs + op->num_outputs, pfd_host_outputs, sizeof pfd_host_outputs);
    *public_op = *op;
    public_op->attrs = attrs;
    public_op->num_attrs = num_attrs;
    public_op->outputs = outputs;
    public_op->num_outputs = num_outputs;
    *out = public_op;
    return PFD_OK;
}

static void free_public_op(pfd_op *public_op)
{
    free((pfd_attr *)(uintptr_t)public_op->attrs);
    free((pfd_port *)(uintptr_t)public_op->outputs);
    free(public_op);
}

/* ---- Names ----------------------------------------------------------------------------------- */

static int32_t same_name(const char *a, const char *b)
{
    char folded_a[FOLDED_BYTES], folded_b[FOLDED_BYTES];
    return pfd_fold_name(a, folded_a, FOLDED_BYTES) > 0 &&
           pfd_fold_name(b, folded_b, FOLDED_BYTES) > 0 && strcmp(folded_a, folded_b) == 0;
}

static int32_t is_alias(const char *name, const char *aliases)
{
    char buffer[PFD_CHOICES_BYTES];
    const char *names[PFD_MAX_CHOICES];
    int64_t n = aliases ? pfd_split_choices(aliases, buffer, names) : 0;
    for (int64_t i = 0; i < n; i++)
        if (same_name(name, names[i])) return 1;
    return 0;
}

/* The op that has one of these names already, in any spelling; NULL: none. */
static const pfd_registered_op *find(const char *name)
{
    for (int64_t i = 0; i < registry.size; i++) {
        const pfd_registered_op *known = registry.ops[i];
        if (same_name(name, known->op->name) || is_alias(name, known->op->aliases)) return known;
    }
    return NULL;
}

static pfd_status check_free(const pfd_op *op, const char *name, const pfd_registered_op *old,
                             pfd_error *err)
{
    const pfd_registered_op *known = find(name);
    if (!known || known == old) return PFD_OK;
    return pfd_fail(err, PFD_INVALID_ARGUMENT,
                    "descriptor of op '%s': the name '%s' is that of op '%s' (%s), and names of "
                    "ops are unique in a process: load only one of them, or rename one",
                    op->name, name, known->op->name, known->origin);
}

/* `old`: the op whose place it takes; NULL: none. */
static pfd_status check_names_free(const pfd_op *op, const pfd_registered_op *old, pfd_error *err)
{
    PFD_TRY(check_free(op, op->name, old, err));
    char buffer[PFD_CHOICES_BYTES];
    const char *names[PFD_MAX_CHOICES];
    int64_t n = op->aliases ? pfd_split_choices(op->aliases, buffer, names) : 0;
    for (int64_t i = 0; i < n; i++) PFD_TRY(check_free(op, names[i], old, err));
    return PFD_OK;
}

/* ---- Adding ops and formats ------------------------------------------------------------------ */

static pfd_status reserve(int64_t more, pfd_error *err)
{
    int64_t capacity = registry.size + more;
    if (capacity <= registry.capacity) return PFD_OK;
    size_t bytes = (size_t)capacity * sizeof(void *);
    const pfd_registered_op **ops = realloc(registry.ops, bytes);
    if (ops) registry.ops = ops;
    const char **names = realloc(registry.names, bytes);
    if (names) registry.names = names;
    if (!ops || !names) return pfd_fail_memory(err, (int64_t)bytes, "the registry");
    registry.capacity = capacity;
    return PFD_OK;
}

static void free_op(pfd_registered_op *op)
{
    if (op->public_op != op->op) free_public_op((pfd_op *)(uintptr_t)op->public_op);
    free((pfd_op *)(uintptr_t)op->op);
    free(op);
}

/* The author's descriptor, copied, checked and made public. */
static pfd_status register_op(const pfd_op *author, pfd_registered_op *op,
                              const pfd_registered_op *old, pfd_error *err)
{
    pfd_op *copy;
    PFD_TRY(pfd_op_copy(author, &copy, err));
    op->op = op->public_op = copy;
    PFD_TRY(pfd_descriptor_check(copy, err));
    if ((copy->flags & PFD_VIEW) && op->origin != BUILT_IN)
        return pfd_fail(err, PFD_INTERNAL, "descriptor of op '%s': flags has unknown bits",
                        copy->name);
    if (strchr(copy->name, '#') && strncmp(op->origin, "python ", 7) != 0)
        return pfd_fail(err, PFD_INTERNAL, "descriptor of op '%s': name must not have a '#'",
                        copy->name);
    PFD_TRY(check_names_free(copy, old, err));
    if (pfd_op_is_reader(copy)) PFD_TRY(make_public_op(copy, &op->public_op, err));
    return pfd_descriptor_check_names(op->public_op, err);
}

/* Adds an op after the others, or replaces the one at `place`. */
static pfd_status add_op(const pfd_op *author, const char *origin, int64_t place, pfd_error *err)
{
    PFD_TRY(reserve(1, err));
    pfd_registered_op *op = calloc(1, sizeof *op);
    if (!op) return pfd_fail_memory(err, (int64_t)sizeof *op, "the registry");
    op->author = author;
    op->origin = origin;
    op->former = place < registry.size ? registry.ops[place] : NULL;
    pfd_status status = register_op(author, op, op->former, err);
    if (status != PFD_OK) {
        free_op(op);
        return status;
    }
    registry.ops[place] = op;
    registry.names[place] = op->op->name;
    if (!op->former) registry.size++;
    return PFD_OK;
}

/* By the op's own spelling. */
static const pfd_op *find_op(const char *name)
{
    const pfd_registered_op *known = find(name);
    return known && !strcmp(known->op->name, name) ? known->op : NULL;
}

static pfd_status add_formats(const pfd_format *const *formats, int64_t size, const char *origin,
                              int32_t replace, pfd_error *err)
{
    new_formats added = {.formats = formats, .size = size, .origin = origin,
                             .replace = replace, .keep = BUILT_IN, .find_op = find_op};
    return add_format_list(&added, err);
}

static pfd_status add_all(pfd_error *err)
{
    PFD_TRY(pfd_attr_table_check("(every reader)", pfd_reader_attr_table, pfd_reader_attr_count,
                                 sizeof(pfd_reader_attrs), err));
    PFD_TRY(pfd_attr_table_check("(every reader of files)", pfd_file_attr_table,
                                 pfd_file_attr_count, sizeof(pfd_file_attrs), err));
    for (size_t i = 0; pfd_builtin_ops[i]; i++)
        PFD_TRY(add_op(pfd_builtin_ops[i], BUILT_IN, registry.size, err));
    for (size_t i = 0; pfd_builtin_views[i]; i++)
        PFD_TRY(add_op(pfd_builtin_views[i]->op, BUILT_IN, registry.size, err));
    int64_t num_formats = 0;
    while (pfd_builtin_formats[num_formats]) num_formats++;
    return add_formats(pfd_builtin_formats, num_formats, BUILT_IN, 0, err);
}

/* ---- Building -------------------------------------------------------------------------------- */

static void take_lock(void)
{
    pthread_mutex_lock(&lock);
}

static void give_lock(void)
{
    pthread_mutex_unlock(&lock);
}

static void build(void)
{
    /* A child that is forked while another thread holds the lock would wait for ever. */
    (void)pthread_atfork(take_lock, give_lock, give_lock);
    pfd_error_init(&registry.fault);
    (void)add_all(&registry.fault);
}

/* PFD_OK, or the fault that keeps every op from being used. */
static pfd_status ensure_built(pfd_error *err)
{
    (void)pthread_once(&built, build);
    if (registry.fault.status != PFD_OK) pfd_error_copy(err, &registry.fault);
    return registry.fault.status;
}

/* ---- Plugins --------------------------------------------------------------------------------- */

static struct added_plugin *find_plugin(const pfd_plugin *author)
{
    struct added_plugin *added = registry.plugins;
    while (added && added->author != author) added = added->next;
    return added;
}

/* The index where an op goes: that of another plugin's op of its name, or the end of the list. */
static int64_t place_of(const pfd_op *author, const char *origin, int32_t replace)
{
    for (int64_t i = 0; replace && i < registry.size; i++) {
        const pfd_registered_op *known = registry.ops[i];
        if (known->origin != BUILT_IN && known->origin != origin && author->name &&
            same_name(author->name, known->op->name))
            return i;
    }
    return registry.size;
}

static void put_back(const pfd_registered_op **before, int64_t size)
{
    for (int64_t i = 0; i < registry.size; i++) {
        if (i < size && registry.ops[i] == before[i]) continue;
        free_op((pfd_registered_op *)(uintptr_t)registry.ops[i]);
        if (i >= size) continue;
        registry.ops[i] = before[i];
        registry.names[i] = before[i]->op->name;
    }
    registry.size = size;
}

/* All ops and formats or none. */
static pfd_status add_contents(const struct added_plugin *added, int32_t replace, pfd_error *err)
{
    int64_t size = registry.size;
    size_t bytes = (size_t)size * sizeof *registry.ops + 1;
    const pfd_registered_op **before = malloc(bytes);
    if (!before) return pfd_fail_memory(err, (int64_t)bytes, "the registry");
    if (size > 0) memcpy(before, registry.ops, (size_t)size * sizeof *before);
    pfd_status status = PFD_OK;
    for (uint32_t i = 0; i < added->plugin.num_ops && status == PFD_OK; i++) {
        const pfd_op *author = added->plugin.ops[i];
        status = add_op(author, added->origin, place_of(author, added->origin, replace), err);
    }
    if (status == PFD_OK)
        status = add_formats(added->plugin.formats, added->plugin.num_formats, added->origin,
                             replace, err);
    if (status != PFD_OK) put_back(before, size);
    free(before);
    return status;
}

static int32_t has_all(const pfd_plugin *plugin)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < plugin->num_ops; i++)
        for (int64_t j = 0; j < registry.size; j++)
            found += registry.ops[j]->author == plugin->ops[i];
    return found == plugin->num_ops && has_all_formats(plugin->formats, plugin->num_formats);
}

static struct added_plugin *copy_plugin(const pfd_plugin *author, const char *origin)
{
    size_t length = strlen(origin) + 1;
    struct added_plugin *added = calloc(1, sizeof *added + length);
    if (!added) return NULL;
    size_t size = author->struct_size;
    memcpy(&added->plugin, author, size < sizeof *author ? size : sizeof *author);
    memcpy(added->origin, origin, length);
    added->plugin.struct_size = sizeof(pfd_plugin);
    added->author = author;
    return added;
}

static pfd_status add_plugin(const pfd_plugin *author, const char *origin, int32_t replace,
                             pfd_error *err)
{
    const struct added_plugin *known = find_plugin(author);
    if (known) return has_all(&known->plugin) ? PFD_OK : add_contents(known, replace, err);
    struct added_plugin *added = copy_plugin(author, origin);
    if (!added) return pfd_fail_memory(err, (int64_t)sizeof *added, "the registry");
    pfd_status status = add_contents(added, replace, err);
    if (status != PFD_OK) {
        free(added);
        return status;
    }
    added->next = registry.plugins;
    registry.plugins = added;
    return PFD_OK;
}

pfd_status pfd_registry_add(const pfd_plugin *plugin, const char *origin, int32_t replace,
                            const pfd_plugin **out, pfd_error *err)
{
    PFD_TRY(ensure_built(err));
    pthread_mutex_lock(&lock);
    pfd_status status = add_plugin(plugin, origin, replace, err);
    if (status == PFD_OK && out) *out = &find_plugin(plugin)->plugin;
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- Looking up ------------------------------------------------------------------------------ */

static void fail_unknown(const char *name, pfd_error *err)
{
    char data[900];
    pfd_text text = pfd_text_in(data, sizeof data);
    pfd_text_add(&text, "unknown op ");
    pfd_text_add_quoted(&text, name);
    const char *near = pfd_nearest_name(name, registry.names, registry.size);
    if (near) pfd_text_add(&text, "; did you mean '%s'", near);
    pfd_text_add(&text, "%s The command `pyflowdata ops` lists all of them", near ? "?" : ".");
    (void)pfd_fail(err, PFD_INVALID_ARGUMENT, "%s", data);
}

const pfd_registered_op *pfd_registry_find(const char *name, pfd_error *err)
{
    if (ensure_built(err) != PFD_OK) return NULL;
    if (!name) {
        (void)pfd_fail(err, PFD_INVALID_ARGUMENT, "the name of the op is NULL");
        return NULL;
    }
    pthread_mutex_lock(&lock);
    const pfd_registered_op *found = find(name);
    if (!found) fail_unknown(name, err);
    pthread_mutex_unlock(&lock);
    return found;
}

pfd_status pfd_registry_check(pfd_error *err)
{
    return ensure_built(err);
}

static const pfd_registered_op *op_at(int64_t i)
{
    pfd_error err = {.struct_size = sizeof err};
    if (ensure_built(&err) != PFD_OK) return NULL;
    pthread_mutex_lock(&lock);
    const pfd_registered_op *op = i < 0 || i >= registry.size ? NULL : registry.ops[i];
    pthread_mutex_unlock(&lock);
    return op;
}

const pfd_op *pfd_op_at(int64_t i)
{
    const pfd_registered_op *found = op_at(i);
    return found ? found->public_op : NULL;
}

const char *pfd_op_origin(int64_t i)
{
    const pfd_registered_op *found = op_at(i);
    return found ? found->origin : NULL;
}

const char *pfd_op_method(int64_t i)
{
    const pfd_registered_op *found = op_at(i);
    const pfd_view_op *view = found ? pfd_view_op_of(found) : NULL;
    return view ? view->method : NULL;
}

pfd_status pfd_op_find(const char *name, const pfd_op **out, pfd_error *err)
{
    const pfd_registered_op *found = pfd_registry_find(name, err);
    if (!found) return err->status;
    *out = found->public_op;
    return PFD_OK;
}
