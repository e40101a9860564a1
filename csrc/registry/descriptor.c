/* Copies descriptors of other versions of the header, and checks the rules, so that a fault is
 * reported when the op or format is registered. */
#include "registry/descriptor.h"

#include "core/convert.h"
#include "core/error.h"
#include "core/scratch.h"
#include "dataset/view.h"
#include "registry/attr_value.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Copies of ops --------------------------------------------------------------------------- */

static const char NO_DOC[] = "Not documented.";

enum { most_bytes = 4096 }; /* no struct grows beyond; larger is memory that was never set */

/* What every header had. */
enum {
    least_op = offsetof(pfd_op, group),
    least_attr = offsetof(pfd_attr, doc),
    least_port = offsetof(pfd_port, doc)
};

static pfd_status check_size(const pfd_op *op, const char *field, const char *type, uint32_t size,
                             uint32_t least, pfd_error *err)
{
    if (size >= least && size <= most_bytes) return PFD_OK;
    /* If struct_size is wrong, the name may be any pointer. */
    const char *name =
        op->struct_size >= least_op && op->struct_size <= most_bytes && op->name ? op->name : "?";
    return pfd_fail(err, PFD_INTERNAL,
                    "descriptor of op '%.64s': %s is %" PRIu32 "; it must be sizeof(%s): begin the "
                    "descriptor with PFD_OP_SIZES",
                    name, field, size, type);
}

/* Copies `n` rows of `size` bytes each into rows of `room` bytes. */
static void copy_rows(void *to, size_t room, const void *from, size_t size, size_t n)
{
    for (size_t i = 0; from && i < n; i++)
        memcpy((char *)to + i * room, (const char *)from + i * size, size < room ? size : room);
}

static void copy_ports(pfd_port *to, const pfd_port *from, uint32_t size, uint32_t n)
{
    copy_rows(to, sizeof *to, from, size, n);
    for (uint32_t i = 0; from && i < n && size < sizeof *to; i++) to[i].doc = NO_DOC;
}

pfd_status pfd_op_copy(const pfd_op *op, pfd_op **out, pfd_error *err)
{
    PFD_TRY(check_size(op, "struct_size", "pfd_op", op->struct_size, least_op, err));
    PFD_TRY(check_size(op, "attr_size", "pfd_attr", op->attr_size, least_attr, err));
    PFD_TRY(check_size(op, "port_size", "pfd_port", op->port_size, least_port, err));
    size_t num_ports = (size_t)op->num_inputs + op->num_outputs;
    if (op->num_attrs > most_bytes || num_ports > most_bytes)
        return pfd_fail(err, PFD_INTERNAL,
                        "descriptor of op '%.64s': num_attrs = %" PRIu32 ", num_inputs = %" PRIu32
                        ", num_outputs = %" PRIu32 "; an op cannot have so many",
                        op->name ? op->name : "NULL", op->num_attrs, op->num_inputs,
                        op->num_outputs);
    struct {
        pfd_op op;
        pfd_attr attrs[];
    } *copy =
        calloc(1, sizeof(pfd_op) + op->num_attrs * sizeof(pfd_attr) + num_ports * sizeof(pfd_port));
    if (!copy) return pfd_fail_memory(err, sizeof(pfd_op), "the registry");
    pfd_attr *attrs = copy->attrs;
    pfd_port *ports = (pfd_port *)(void *)(attrs + op->num_attrs);
    copy_rows(&copy->op, sizeof(pfd_op), op, op->struct_size, 1);
    copy_rows(attrs, sizeof *attrs, op->attrs, op->attr_size, op->num_attrs);
    for (uint32_t i = 0; i < op->num_attrs && op->attr_size <= least_attr; i++)
        attrs[i].doc = NO_DOC;
    copy_ports(ports, op->inputs, op->port_size, op->num_inputs);
    copy_ports(ports + op->num_inputs, op->outputs, op->port_size, op->num_outputs);
    copy->op.struct_size = sizeof(pfd_op);
    copy->op.attr_size = sizeof(pfd_attr);
    copy->op.port_size = sizeof(pfd_port);
    copy->op.attrs = op->attrs ? attrs : NULL;
    copy->op.inputs = op->inputs ? ports : NULL;
    copy->op.outputs = op->outputs ? ports + op->num_inputs : NULL;
    *out = &copy->op;
    return PFD_OK;
}

/* ---- Faults ---------------------------------------------------------------------------------- */

static const char NO_SENTENCE[] = "doc must be a sentence that ends with a period";
static const char NO_SNAKE_CASE[] = "name must be in lower_snake_case, at most 63 letters";

static pfd_status fault(pfd_error *err, const char *owner, const char *field, const char *found)
{
    return pfd_fail(err, PFD_INTERNAL, "descriptor of op '%s': %s %s", owner, field, found);
}

/* Reports a fault in one row or port, "attr 'x': field ...". */
static pfd_status fault_in(pfd_error *err, const char *owner, const char *kind, const char *name,
                           const char *found)
{
    return pfd_fail(err, PFD_INTERNAL, "descriptor of op '%s': %s '%s': %s", owner, kind, name,
                    found);
}

/* Whether a doc is a text that ends with a period. */
static int32_t is_sentence(const char *doc)
{
    return doc && doc[0] && doc[0] != ' ' && doc[strlen(doc) - 1] == '.';
}

/* Whether a name can be a parameter in Python and a member of a C struct: lower_snake_case, at most
 * 63 letters. */
static int32_t is_snake_case(const char *name)
{
    if (!name || name[0] < 'a' || name[0] > 'z') return 0;
    size_t size = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return name[size] == '\0' && size < 64;
}

/* Whether the first `size` bytes of a name are CamelCase, and short enough for pfd_error.op. */
static int32_t is_camel_case(const char *name, size_t size)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    return size < 64 && name[0] >= 'A' && name[0] <= 'Z' && strspn(name, letters) >= size;
}

/* The name of an op: CamelCase, and perhaps a number, as pfd_op_kind() has it. */
static int32_t is_op_name(const char *name)
{
    if (!name || strlen(name) >= 64) return 0;
    size_t size = strcspn(name, "#");
    const char *number = name + size;
    if (*number == '#' && (!number[1] || number[1 + strspn(number + 1, "0123456789")])) return 0;
    return is_camel_case(name, size);
}

/* ---- Rules of attrs -------------------------------------------------------------------------- */

static const char *choices_fault(const pfd_attr *row)
{
    if (!row->choices)
        return row->type == PFD_ATTR_CHOICE ? "choices are missing, which PFD_ATTR_CHOICE needs"
                                            : NULL;
    if (row->type != PFD_ATTR_STRING && row->type != PFD_ATTR_CHOICE &&
        row->type != PFD_ATTR_DTYPE && row->type != PFD_ATTR_LIST_STRING)
        return "choices are for strings and dtypes only";
    char buffer[PFD_CHOICES_BYTES];
    const char *names[PFD_MAX_CHOICES];
    int64_t n = pfd_split_choices(row->choices, buffer, names);
    if (n < 0) return "choices must be names separated by |, at most 64 and 1023 bytes";
    for (int64_t i = 0; i < n; i++)
        if (row->type == PFD_ATTR_DTYPE && !pfd_dtype_parse(names[i]))
            return "choices must be names of dtypes";
    return NULL;
}

static const char *limits_fault(const pfd_attr *row)
{
    if (!(row->min <= row->max)) return "min must not be above max";
    int32_t is_string = row->type == PFD_ATTR_STRING || row->type == PFD_ATTR_DTYPE ||
                        row->type == PFD_ATTR_LIST_STRING || row->type == PFD_ATTR_CHOICE ||
                        row->type == PFD_ATTR_OBJECT;
    if (is_string && row->min != row->max) return "min and max are for numbers only";
    return NULL;
}

static const char *offset_fault(const pfd_attr *table, uint32_t i, uint32_t struct_size)
{
    pfd_attr_type type = pfd_attr_type_of(table[i].type);
    int64_t begin = table[i].offset, end = begin + type.bytes;
    if (table[i].size != type.bytes) return "type needs a struct member of another size";
    if (end > struct_size) return "offset lies outside the attr struct";
    if (begin % type.alignment != 0) return "offset is not aligned for the attr's type";
    for (uint32_t j = 0; j < i; j++) {
        int64_t other = table[j].offset;
        if (begin < other + pfd_attr_type_of(table[j].type).bytes && other < end)
            return "offset overlaps that of another attr";
    }
    return NULL;
}

static pfd_status check_default(const char *owner, const pfd_attr *row, pfd_error *err)
{
    if (!row->default_value) return PFD_OK;
    if (row->type == PFD_ATTR_OBJECT)
        return fault_in(err, owner, "attr", row->name, "default_value: an object can have none");
    union {
        int64_t i;
        double f;
        pfd_list_int64 list;
    } value;
    pfd_scratch *memory = pfd_scratch_create();
    if (!memory) return pfd_fail_memory(err, 0, "the registry");
    pfd_status status = pfd_attr_store_default(row, memory, &value, err);
    pfd_scratch_free(memory);
    if (status != PFD_INVALID_ARGUMENT) return status;
    char message[sizeof err->message];
    memcpy(message, err->message, sizeof message);
    return pfd_fail(err, PFD_INTERNAL, "descriptor of op '%s': default_value: %.900s", owner,
                    message);
}

pfd_status pfd_attr_table_check(const char *owner, const pfd_attr *table, uint32_t count,
                                uint32_t struct_size, pfd_error *err)
{
    if (count > 0 && !table) return fault(err, owner, "attrs", "is NULL");
    for (uint32_t i = 0; i < count; i++) {
        const pfd_attr *row = &table[i];
        if (!is_snake_case(row->name))
            return fault_in(err, owner, "attr", row->name ? row->name : "NULL", NO_SNAKE_CASE);
        const char *found = NULL;
        if (!pfd_attr_type_of(row->type).name) found = "type is not one of PFD_ATTR_*";
        if (!found && !is_sentence(row->doc)) found = NO_SENTENCE;
        if (!found) found = offset_fault(table, i, struct_size);
        if (!found) found = limits_fault(row);
        if (!found) found = choices_fault(row);
        if (found) return fault_in(err, owner, "attr", row->name, found);
        PFD_TRY(check_default(owner, row, err));
    }
    return PFD_OK;
}

/* ---- Rules of ops ---------------------------------------------------------------------------- */

static pfd_status check_ports(const char *owner, const char *kind, const pfd_port *ports,
                              uint32_t count, pfd_error *err)
{
    if (count > 0 && !ports) return fault(err, owner, kind, "array is NULL");
    for (uint32_t i = 0; i < count; i++) {
        if (!is_snake_case(ports[i].name))
            return fault_in(err, owner, kind, ports[i].name ? ports[i].name : "NULL",
                            NO_SNAKE_CASE);
        if (!is_sentence(ports[i].doc))
            return fault_in(err, owner, kind, ports[i].name, NO_SENTENCE);
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(ports[i].name, ports[j].name) == 0)
                return fault_in(err, owner, kind, ports[i].name, "name is used twice");
    }
    return PFD_OK;
}

static pfd_status check_functions(const pfd_op *op, pfd_error *err)
{
    if (!op->infer) return fault(err, op->name, "infer", "is NULL");
    if (!op->compute && !(op->flags & PFD_VIEW)) return fault(err, op->name, "compute", "is NULL");
    if (op->num_outputs == 0) return fault(err, op->name, "outputs", "are none");
    if (!op->open && op->num_inputs == 0)
        return fault(err, op->name, "open", "is NULL, but an op without inputs is a reader");
    if (op->open && op->num_inputs > 0 && !(op->flags & PFD_VIEW))
        return fault(err, op->name, "inputs", "are declared, but an op with open is a reader");
    if (!op->open && op->group) return fault(err, op->name, "group", "is for readers only");
    if (!op->open && (op->flags & PFD_READS_FILES))
        return fault(err, op->name, "flags", "has PFD_READS_FILES, which is for readers only");
    if ((op->flags & PFD_READS_FOLDERS) && !(op->flags & PFD_READS_FILES))
        return fault(err, op->name, "flags", "has PFD_READS_FOLDERS, which needs PFD_READS_FILES");
    if (op->open && (op->flags & PFD_WHOLE_BATCH))
        return fault(err, op->name, "flags", "has PFD_WHOLE_BATCH, which readers cannot have");
    if (op->open && (op->flags & (PFD_EQUAL_ROWS | PFD_KEEPS_EQUAL_ROWS)))
        return fault(err, op->name, "flags", "has PFD_EQUAL_ROWS, which readers cannot have");
    if (op->open && (op->flags & PFD_TAKES_RAGGED) && !(op->flags & PFD_VIEW))
        return fault(err, op->name, "flags", "has PFD_TAKES_RAGGED, but a reader takes no inputs");
    int32_t is_reader = op->open && !(op->flags & PFD_VIEW);
    if ((op->flags & PFD_MANY_INPUTS) && (is_reader || op->num_inputs != 1))
        return fault(err, op->name, "flags", "has PFD_MANY_INPUTS, which needs exactly one "
                                             "declared input");
    if ((op->flags & PFD_OPTIONAL_INPUT) && (op->open || op->num_inputs < 1))
        return fault(err, op->name, "flags", "has PFD_OPTIONAL_INPUT, but no input is declared");
    if (op->companions && !(op->flags & PFD_READS_FILES))
        return fault(err, op->name, "companions", "are for ops with PFD_READS_FILES");
    return PFD_OK;
}

/* These four come after the check of the attr table. */
static pfd_status check_propose(const pfd_op *op, pfd_error *err)
{
    int32_t finds = 0, reads = (op->flags & PFD_READS_FILES) != 0;
    for (uint32_t i = 0; i < op->num_attrs; i++)
        reads |= op->open && op->attrs[i].type == PFD_ATTR_OBJECT;
    if (op->propose && !reads)
        return fault(err, op->name, "propose", "is for ops with PFD_READS_FILES");
    for (uint32_t i = 0; i < op->num_attrs; i++) {
        const pfd_attr *row = &op->attrs[i];
        int32_t is_own = (op->flags & (PFD_VIEW | PFD_READS_FILES)) != 0;
        uint64_t known = PFD_ATTR_FOUND | (is_own ? PFD_NOT_IN_SPEC : 0);
        if (row->flags & ~known)
            return fault_in(err, op->name, "attr", row->name, "flags has unknown bits");
        int32_t is_found = (row->flags & PFD_ATTR_FOUND) != 0;
        if (is_found && row->type == PFD_ATTR_OBJECT)
            return fault_in(err, op->name, "attr", row->name, "flags: files have no objects");
        int32_t is_listed = op->outputs_attr && !strcmp(row->name, op->outputs_attr);
        /* For a decoder the language of the program finds the list in records. */
        finds |= is_found && (!is_listed || reads);
    }
    if (finds && !op->propose)
        return fault(err, op->name, "propose", "is NULL, but an attr has PFD_ATTR_FOUND");
    if (!finds && op->propose)
        return fault(err, op->name, "propose", "is set, but no attr has PFD_ATTR_FOUND");
    return PFD_OK;
}

static int32_t has_attr(const pfd_op *op, const char *name, int32_t type)
{
    for (uint32_t i = 0; i < op->num_attrs; i++)
        if (!strcmp(op->attrs[i].name, name) && op->attrs[i].type == type) return 1;
    return 0;
}

static pfd_status check_batch_size_attr(const pfd_op *op, pfd_error *err)
{
    int32_t can_lack_inputs = (op->flags & PFD_OPTIONAL_INPUT) && op->num_inputs == 1;
    if (!op->batch_size_attr && can_lack_inputs)
        return fault(err, op->name, "batch_size_attr",
                     "is NULL, but the op has PFD_OPTIONAL_INPUT for its only input");
    if (!op->batch_size_attr) return PFD_OK;
    if (!can_lack_inputs)
        return fault(err, op->name, "batch_size_attr",
                     "is set, but the op does not have PFD_OPTIONAL_INPUT for its only input");
    if (has_attr(op, op->batch_size_attr, PFD_ATTR_INT64)) return PFD_OK;
    return fault(err, op->name, "batch_size_attr", "must be the name of an attr that is an int64");
}

static pfd_status check_outputs_attr(const pfd_op *op, pfd_error *err)
{
    if (!op->outputs_attr && op->same_without)
        return fault(err, op->name, "same_without", "is set, but outputs_attr is NULL");
    if (!op->outputs_attr) return PFD_OK;
    if (op->num_outputs != 1)
        return fault(err, op->name, "outputs_attr", "needs exactly one declared output, which "
                                                    "describes all of them");
    if (has_attr(op, op->outputs_attr, PFD_ATTR_LIST_STRING)) return PFD_OK;
    return fault(err, op->name, "outputs_attr", "must be the name of an attr that lists strings");
}

static pfd_status check_group_attr(const pfd_op *op, pfd_error *err)
{
    if (!op->group_attr) return PFD_OK;
    if (!op->group) return fault(err, op->name, "group_attr", "is set, but group is NULL");
    if (has_attr(op, op->group_attr, PFD_ATTR_BOOL)) return PFD_OK;
    return fault(err, op->name, "group_attr", "must be the name of an attr that is a bool");
}

static pfd_status check_aliases(const pfd_op *op, pfd_error *err)
{
    char buffer[PFD_CHOICES_BYTES];
    const char *names[PFD_MAX_CHOICES];
    int64_t n = op->aliases ? pfd_split_choices(op->aliases, buffer, names) : 0;
    int32_t good = n >= 0;
    for (int64_t i = 0; i < n && good; i++)
        good = is_camel_case(names[i], strlen(names[i])) || is_snake_case(names[i]);
    return good ? PFD_OK
                : fault(err, op->name, "aliases",
                        "must be names in CamelCase or lower_snake_case, separated by |");
}

pfd_status pfd_descriptor_check(const pfd_op *op, pfd_error *err)
{
    if (!is_op_name(op->name))
        return fault(err, op->name ? op->name : "NULL", "name",
                     "must be in CamelCase, at most 63 letters");
    if (!is_sentence(op->doc)) return fault(err, op->name, "doc", "must end with a period");
    if (op->flags & ~(PFD_READS_FILES | PFD_WHOLE_BATCH | PFD_TAKES_RAGGED | PFD_MANY_INPUTS |
                      PFD_OPTIONAL_INPUT | PFD_READS_FOLDERS | PFD_EQUAL_ROWS |
                      PFD_KEEPS_EQUAL_ROWS | PFD_VIEW | PFD_CHECKS_FILES | PFD_COSTLY_CALLS |
                      PFD_TAKES_LOCK))
        return fault(err, op->name, "flags", "has unknown bits");
    PFD_TRY(check_functions(op, err));
    PFD_TRY(check_aliases(op, err));
    PFD_TRY(pfd_attr_table_check(op->name, op->attrs, op->num_attrs, op->attrs_struct_size, err));
    PFD_TRY(check_outputs_attr(op, err));
    PFD_TRY(check_batch_size_attr(op, err));
    PFD_TRY(check_group_attr(op, err));
    PFD_TRY(check_propose(op, err));
    PFD_TRY(check_ports(op->name, "input", op->inputs, op->num_inputs, err));
    return check_ports(op->name, "output", op->outputs, op->num_outputs, err);
}

pfd_status pfd_descriptor_check_names(const pfd_op *op, pfd_error *err)
{
    for (uint32_t i = 0; i < op->num_attrs; i++) {
        const char *name = op->attrs[i].name;
        if (strcmp(name, "name") == 0)
            return fault_in(err, op->name, "attr", name, "name is reserved for the name of a node");
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(name, op->attrs[j].name) == 0)
                return fault_in(err, op->name, "attr", name,
                                "name is used twice (every reader "
                                "has the attrs of pfd_reader_attrs, and of pfd_file_attrs)");
        for (uint32_t j = 0; j < op->num_inputs; j++)
            if (strcmp(name, op->inputs[j].name) == 0)
                return fault_in(err, op->name, "attr", name, "name is that of an input");
    }
    for (uint32_t i = 0; i < op->num_inputs; i++)
        if (strcmp(op->inputs[i].name, "name") == 0)
            return fault_in(err, op->name, "input", "name", "name is reserved for the name of a "
                                                            "node");
    return check_ports(op->name, "output", op->outputs, op->num_outputs, err);
}

/* ---- Formats --------------------------------------------------------------------------------- */

enum { least_format = offsetof(pfd_format, probe) + sizeof(void *) }; /* size in the first header */

static pfd_status format_fault(const char *format, const char *field, const char *found,
                               pfd_error *err)
{
    return pfd_fail(err, PFD_INTERNAL, "descriptor of format '%.64s': %s %s",
                    format ? format : "NULL", field, found);
}

pfd_status pfd_format_copy(const pfd_format *author, pfd_format *out, pfd_error *err)
{
    size_t size = author->struct_size;
    if (size < least_format || size > most_bytes)
        return pfd_fail(err, PFD_INTERNAL,
                        "descriptor of a format: struct_size is %" PRIu32
                        "; it must be sizeof(pfd_format)",
                        author->struct_size);
    *out = (pfd_format){0};
    memcpy(out, author, size < sizeof *out ? size : sizeof *out);
    out->struct_size = sizeof *out;
    return PFD_OK;
}

/* Whether a text is a suffix such as ".tfr": a period, then lower-case characters of file names. */
static int32_t is_suffix(const char *text)
{
    size_t size = strlen(text);
    return size >= 2 && (text[0] == '.' || text[0] == '-') &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-") == size;
}

static int32_t are_suffixes(const char *suffixes)
{
    char buffer[PFD_CHOICES_BYTES];
    const char *names[PFD_MAX_CHOICES];
    int64_t n = pfd_split_choices(suffixes, buffer, names);
    for (int64_t i = 0; i < n; i++)
        if (!is_suffix(names[i])) return 0;
    return n > 0;
}

static pfd_status check_reader(const pfd_format *format,
                               const pfd_op *(*find_op)(const char *name), pfd_error *err)
{
    const pfd_op *op = format->reader ? find_op(format->reader) : NULL;
    if (!op) return format_fault(format->name, "reader", "must be the name of an op", err);
    if (!op->open || !(op->flags & PFD_READS_FILES))
        return format_fault(format->name, "reader",
                            "must be an op that reads files, PFD_READS_FILES", err);
    int32_t takes_folders = (op->flags & PFD_READS_FOLDERS) != 0;
    if (takes_folders != (format->probe_folder != NULL))
        return format_fault(format->name, "probe_folder",
                            takes_folders ? "is NULL, but the reader has PFD_READS_FOLDERS"
                                          : "is set, but the reader lacks PFD_READS_FOLDERS",
                            err);
    return PFD_OK;
}

static pfd_status check_decoders(const pfd_format *format,
                                 const pfd_op *(*find_op)(const char *name), pfd_error *err)
{
    char buffer[PFD_CHOICES_BYTES];
    const char *names[PFD_MAX_CHOICES];
    if (!format->decoders) return PFD_OK;
    int64_t n = pfd_split_choices(format->decoders, buffer, names);
    if (n <= 0) return format_fault(format->name, "decoders", "must be names separated by |", err);
    for (int64_t i = 0; i < n; i++) {
        const pfd_op *op = find_op(names[i]);
        if (!op) return format_fault(format->name, "decoders", "must be names of ops", err);
        if (op->open) return format_fault(format->name, "decoders", "must not be readers", err);
    }
    return PFD_OK;
}

pfd_status pfd_format_check(const pfd_format *format, const pfd_op *(*find_op)(const char *name),
                            pfd_error *err)
{
    const char *name = format->name;
    if (!is_snake_case(name))
        return format_fault(name, "name", "must be in lower_snake_case, at most 63 letters", err);
    if (!format->title || !format->title[0])
        return format_fault(name, "title", "is missing: the name as users of the format write it",
                            err);
    if (!is_sentence(format->doc))
        return format_fault(name, "doc", "must be a sentence that ends with a period", err);
    if (format->flags & ~(PFD_FORMAT_TEXT | PFD_FORMAT_SHARED_SUFFIXES))
        return format_fault(name, "flags", "has unknown bits", err);
    if (format->suffixes && !are_suffixes(format->suffixes))
        return format_fault(name, "suffixes", "must be like '.tfrecord|.tfr', in lower case", err);
    if (!format->probe && !format->probe_folder &&
        (!format->suffixes || format->flags & PFD_FORMAT_SHARED_SUFFIXES))
        return format_fault(name, "probe",
                            "is NULL, but the format has no suffix of its own to recognise a file",
                            err);
    if (format->folder_file && (!format->folder_file[0] || strchr(format->folder_file, '/')))
        return format_fault(name, "folder_file", "must be the name of a file", err);
    PFD_TRY(check_reader(format, find_op, err));
    return check_decoders(format, find_op, err);
}
