/* Follows the rows of a range down the views of a data set to their records. */
#include "loader/rows/branch_rows.h"

#include "core/error.h"
#include "core/random.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNED_ROWS = 64 }; /* a capacity is a multiple of it, so that tensors are aligned */

/* ---- Memory ---------------------------------------------------------------------------------- */

static void free_arrays(pfd_branch_rows *rows)
{
    free(rows->memory);
    free(rows->places.epochs);
    free(rows->places.positions);
    free(rows->places.draws);
    free(rows->places.sources);
    free(rows->parents);
    free(rows->records);
    free(rows->drawn);
    free(rows->pieces);
    *rows = (pfd_branch_rows){
        .row_bytes = rows->row_bytes, .dealt = rows->dealt, .ends = rows->ends};
}

/* Room for n rows; what was there is lost.  0: out of memory. */
static int32_t reserve(pfd_branch_rows *rows, int64_t n, int32_t has_pieces)
{
    if (n <= rows->capacity) return 1;
    free_arrays(rows);
    int64_t capacity = (n + ALIGNED_ROWS - 1) / ALIGNED_ROWS * ALIGNED_ROWS;
    size_t count = (size_t)capacity;
    rows->memory = aligned_alloc(64, rows->row_bytes ? count * (size_t)rows->row_bytes : 64);
    rows->places.epochs = malloc(count * sizeof *rows->places.epochs);
    rows->places.positions = malloc(count * sizeof *rows->places.positions);
    rows->places.draws = malloc(count * sizeof *rows->places.draws);
    rows->places.sources = malloc(count * sizeof *rows->places.sources);
    rows->parents = malloc(count * sizeof *rows->parents);
    rows->records = calloc(count, sizeof *rows->records);
    rows->drawn = calloc(count, sizeof *rows->drawn);
    rows->pieces = has_pieces ? malloc(count * sizeof *rows->pieces) : NULL;
    if (!rows->memory || !rows->places.epochs || !rows->places.positions || !rows->places.draws ||
        !rows->places.sources || !rows->parents || !rows->records || !rows->drawn ||
        (has_pieces && !rows->pieces)) {
        free_arrays(rows);
        return 0;
    }
    rows->capacity = capacity;
    return 1;
}

static int32_t is_below(const pfd_view_tree *tree, int32_t b, int32_t kind)
{
    int32_t parent = tree->branches[b].parent;
    return parent >= 0 && tree->branches[parent].kind == kind;
}

static int32_t open_dealt(const pfd_branch *branch, pfd_branch_rows *rows, pfd_branch_rows *own,
                          int64_t capacity)
{
    own->dealt = calloc(1, sizeof *own->dealt);
    own->ends = calloc((size_t)branch->num_children, sizeof *own->ends);
    if (!own->dealt || !own->ends) return 0;
    for (int32_t s = 0; s < branch->num_children; s++) {
        int64_t bytes = rows[branch->children[s]].row_bytes;
        if (bytes > own->dealt->row_bytes) own->dealt->row_bytes = bytes;
    }
    return reserve(own->dealt, capacity, 0);
}

int32_t pfd_branch_rows_open(const pfd_view_tree *tree, pfd_branch_rows *rows, int64_t capacity)
{
    for (int32_t b = 0; b < tree->num_branches; b++) {
        const pfd_branch *branch = &tree->branches[b];
        int32_t has_pieces = is_below(tree, b, PFD_VIEW_JOIN);
        if (branch->kind == PFD_VIEW_CHOICE && !open_dealt(branch, rows, &rows[b], capacity))
            return 0;
        if (!is_below(tree, b, PFD_VIEW_CHOICE) && !reserve(&rows[b], capacity, has_pieces))
            return 0;
    }
    return 1;
}

void pfd_branch_rows_close(const pfd_view_tree *tree, pfd_branch_rows *rows)
{
    for (int32_t b = 0; b < tree->num_branches; b++) {
        if (!is_below(tree, b, PFD_VIEW_CHOICE)) free_arrays(&rows[b]);
        if (rows[b].dealt) free_arrays(rows[b].dealt);
        free(rows[b].dealt);
        free(rows[b].ends);
    }
}

/* ---- Down: from places of the outermost view to places in readers ---------------------------- */

static void copy_place(const pfd_places *from, int64_t i, const pfd_places *to, int64_t k)
{
    to->epochs[k] = from->epochs[i];
    to->positions[k] = from->positions[i];
    to->draws[k] = from->draws[i];
}

/* Makes the arrays of a branch the rows [begin, begin + n) of those that its parent dealt. */
static void take_dealt(const pfd_branch_rows *dealt, int64_t begin, int64_t n, pfd_branch_rows *own)
{
    own->n = own->capacity = own->places.n = n;
    own->memory = dealt->memory + begin * dealt->row_bytes;
    own->places.epochs = dealt->places.epochs + begin;
    own->places.positions = dealt->places.positions + begin;
    own->places.draws = dealt->places.draws + begin;
    own->places.sources = dealt->places.sources + begin;
    own->parents = dealt->parents + begin;
    own->records = dealt->records + begin;
    own->drawn = dealt->drawn + begin;
}

/* Deals the rows of a choice out to the branches below: counts them, and sorts them by branch. */
static int32_t deal_rows(const pfd_view_tree *tree, pfd_branch_rows *rows, int32_t parent)
{
    const pfd_branch *branch = &tree->branches[parent];
    const pfd_branch_rows *from = &rows[parent];
    pfd_branch_rows *dealt = from->dealt;
    const int32_t *sources = from->places.sources;
    int64_t *ends = from->ends, begin = 0;
    if (!reserve(dealt, from->n, 0)) return 0;
    memset(ends, 0, (size_t)branch->num_children * sizeof *ends);
    for (int64_t i = 0; i < from->n; i++) ends[sources[i]]++;
    for (int32_t s = 0; s < branch->num_children; s++) {
        int64_t n = ends[s];
        take_dealt(dealt, begin, n, &rows[branch->children[s]]);
        ends[s] = begin;
        begin += n;
    }
    const pfd_places to = dealt->places;
    int64_t *parents = dealt->parents;
    for (int64_t i = 0; i < from->n; i++) {
        int64_t k = ends[sources[i]]++;
        copy_place(&from->places, i, &to, k);
        parents[k] = i;
    }
    return 1;
}

/* Gives the branches below a branch their rows. */
static int32_t hand_down(const pfd_view_tree *tree, pfd_branch_rows *rows, int32_t parent)
{
    const pfd_branch *branch = &tree->branches[parent];
    const pfd_branch_rows *from = &rows[parent];
    if (branch->kind == PFD_VIEW_CHOICE) return deal_rows(tree, rows, parent);
    for (int32_t s = 0; s < branch->num_children; s++) {
        pfd_branch_rows *own = &rows[branch->children[s]];
        int32_t is_join = branch->kind == PFD_VIEW_JOIN;
        const pfd_view *joint = branch->joint;
        int64_t n = is_join ? joint->methods->num_pieces(joint, &from->places) : from->n;
        if (!reserve(own, n, is_join)) return 0;
        own->n = own->places.n = n;
        if (is_join) joint->methods->expand(joint, &from->places, &own->places, own->pieces);
        for (int64_t i = 0; i < n; i++) {
            if (!is_join) copy_place(&from->places, i, &own->places, i);
            own->parents[i] = is_join ? own->pieces[i].row : i;
        }
    }
    return 1;
}

static void run_views(const pfd_branch *branch, const pfd_places *places)
{
    for (int32_t i = 0; i < branch->num_orders; i++)
        branch->orders[i]->methods->map(branch->orders[i], places);
    if (branch->joint && branch->joint->methods->map)
        branch->joint->methods->map(branch->joint, places);
}

/* ---- The records, and up again --------------------------------------------------------------- */

/* Random numbers depend on the ordinals in `drawn`.  If the record is of the first reader, and the
 * epoch has it once, this is the record's ordinal; otherwise 63 bits made of the draw, the reader
 * and the record. */
static void tell_draws_apart(const pfd_branch_rows *rows, int32_t leaf, int32_t first_file)
{
    const uint64_t first_draw = pfd_random_bits(0, (uint64_t)leaf);
    for (int64_t i = 0; i < rows->n; i++) {
        const uint64_t draw = rows->places.draws[i];
        const int64_t ordinal = rows->records[i].ordinal;
        const int32_t file = rows->records[i].file;
        rows->drawn[i] = (pfd_record){.size = PFD_DRAWN,
                                      .offset = ordinal,
                                      .ordinal = ordinal,
                                      .file = file < 0 ? file : file + first_file};
        if (leaf == 0 && draw == 0) continue;
        uint64_t key = draw == 0 ? first_draw : pfd_random_bits(draw, (uint64_t)leaf);
        rows->drawn[i].ordinal = (int64_t)(pfd_random_bits(key, (uint64_t)ordinal) >> 1);
    }
}

static pfd_status read_leaf(const pfd_view_tree *tree, pfd_branch_rows *rows, int32_t b,
                            pfd_scratch *scratch, pfd_file_set *files, pfd_error *err)
{
    const pfd_data_reader *leaf = &tree->leaves[tree->branches[b].leaf];
    pfd_branch_rows *own = &rows[b];
    if (own->n == 0) return PFD_OK;
    pfd_error_clear(err);
    pfd_status status = leaf->chain->methods->at(leaf->chain, 0, own->places.positions, own->n,
                                                 scratch, own->records, err);
    status = pfd_scratch_explain(scratch, pfd_check_returned(status, "at", err), err);
    if (status == PFD_OK) {
        pfd_data_reader_note_files(leaf, own->records, own->n, files);
        int32_t number = tree->branches[b].leaf;
        if (tree->has_ops) tell_draws_apart(own, number, (int32_t)tree->first_files[number]);
        return PFD_OK;
    }
    if (err->row >= own->n || err->row < -1) err->row = -1;
    pfd_data_reader_locate(leaf, NULL, err);
    if (err->row >= 0) err->row = pfd_branch_rows_outermost(tree, rows, b, err->row);
    return status;
}

/* The draw of a row that begins with element `begin` of a record: pieces of a record differ. */
static pfd_record drawn_for(pfd_record drawn, int64_t begin)
{
    if (begin > 0)
        drawn.ordinal =
            (int64_t)(pfd_random_bits((uint64_t)drawn.ordinal, (uint64_t)begin) >> 1);
    return drawn;
}

/* Gives the rows of a joint their records: a row of several pieces has the record of its first
 * piece, which may belong to rows before it, too; a row without a piece has that of the row before
 * it. */
static void hand_up_pieces(const pfd_branch_rows *own, const pfd_branch_rows *to,
                           int32_t first_file)
{
    int64_t done = to->n; /* rows from here on have theirs */
    for (int64_t k = own->n - 1; k >= 0; k--) { /* the first piece is the last to be written */
        const int64_t of = k - own->pieces[k].back;
        pfd_record record = own->records[of];
        int64_t first = own->parents[k], end = done > first + 1 ? done : first + 1;
        if (record.file >= 0) record.file += first_file;
        for (int64_t row = first; row < end; row++) {
            to->records[row] = record;
            to->drawn[row] = drawn_for(own->drawn[of], own->pieces[of].begin + (row - first));
        }
        done = first;
    }
}

/* Gives the rows of the parent their records.  If several data sets are side by side, the records
 * of the first one count. */
static void hand_up(const pfd_view_tree *tree, pfd_branch_rows *rows, int32_t b)
{
    const pfd_branch *branch = &tree->branches[b];
    const pfd_branch_rows *own = &rows[b], *to = &rows[branch->parent];
    if (tree->branches[branch->parent].kind == PFD_VIEW_ZIP && branch->source > 0) return;
    int32_t first_file = branch->leaf >= 0 ? (int32_t)tree->first_files[branch->leaf] : 0;
    if (is_below(tree, b, PFD_VIEW_JOIN)) {
        hand_up_pieces(own, to, first_file);
        return;
    }
    for (int64_t k = 0; k < own->n; k++) {
        pfd_record *record = &to->records[own->parents[k]];
        *record = own->records[k];
        record->file += record->file >= 0 ? first_file : 0;
    }
    for (int64_t k = 0; tree->has_ops && k < own->n; k++)
        to->drawn[own->parents[k]] = own->drawn[k];
}

/* The outermost rows, as places. */
static int32_t take_places(pfd_branch_rows *outermost, int64_t n, const pfd_record *records)
{
    if (!reserve(outermost, n, 0)) return 0;
    outermost->n = outermost->places.n = n;
    for (int64_t i = 0; i < n; i++) {
        outermost->places.epochs[i] = records[i].offset;
        outermost->places.positions[i] = records[i].ordinal;
        outermost->places.draws[i] = 0;
    }
    return 1;
}

static void give_records(const pfd_view_tree *tree, const pfd_branch_rows *outermost, int64_t n,
                         pfd_record *records, pfd_record *drawn)
{
    for (int64_t i = 0; i < n; i++) {
        int32_t filler = records[i].filler;
        if (tree->has_ops) {
            drawn[i] = outermost->drawn[i];
            drawn[i].filler = filler;
        }
        records[i] = outermost->records[i];
        records[i].filler = filler;
    }
}

/* Where the rows are in each branch. */
static pfd_status find_places(const pfd_view_tree *tree, pfd_branch_rows *rows, int64_t n,
                              const pfd_record *records, pfd_error *err)
{
    int32_t has_room = take_places(&rows[0], n, records);
    for (int32_t b = 0; b < tree->num_branches && has_room; b++) {
        run_views(&tree->branches[b], &rows[b].places);
        has_room = hand_down(tree, rows, b);
    }
    return has_room ? PFD_OK : pfd_fail_memory(err, n, "the rows of a view");
}

pfd_status pfd_branch_rows_ahead(const pfd_view_tree *tree, pfd_branch_rows *rows, int64_t n,
                                 const pfd_record *records, const pfd_data_reader *planner,
                                 int64_t batch, pfd_scratch *scratch, pfd_error *err)
{
    PFD_TRY(find_places(tree, rows, n, records, err));
    for (int32_t b = 0; b < tree->num_branches; b++) {
        const pfd_branch_rows *own = &rows[b];
        if (tree->branches[b].leaf < 0 || own->n == 0) continue;
        const pfd_data_reader *leaf = &tree->leaves[tree->branches[b].leaf];
        PFD_TRY(leaf->chain->methods->at(leaf->chain, 0, own->places.positions, own->n, NULL,
                                         own->records, err));
        if (!planner) pfd_data_reader_ask(leaf, own->records, own->n, scratch);
        else if (!pfd_data_reader_plan(planner, leaf, own->records, own->n, batch))
            return pfd_fail_memory(err, own->n, "the plan of a view's blocks");
    }
    return PFD_OK;
}

pfd_status pfd_branch_rows_find(const pfd_view_tree *tree, pfd_branch_rows *rows, int64_t n,
                                pfd_scratch *scratch, pfd_record *records, pfd_record *drawn,
                                pfd_file_set *files, pfd_error *err)
{
    PFD_TRY(find_places(tree, rows, n, records, err));
    for (int32_t b = 0; b < tree->num_branches; b++)
        if (tree->branches[b].leaf >= 0) PFD_TRY(read_leaf(tree, rows, b, scratch, files, err));
    for (int32_t b = tree->num_branches - 1; b > 0; b--) hand_up(tree, rows, b);
    give_records(tree, &rows[0], n, records, drawn);
    return PFD_OK;
}

int64_t pfd_branch_rows_outermost(const pfd_view_tree *tree, const pfd_branch_rows *rows, int32_t b,
                                  int64_t row)
{
    for (; b > 0; b = tree->branches[b].parent) row = rows[b].parents[row];
    return row;
}
