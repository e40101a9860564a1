/* The view of several rows of each record: every place and piece against a plain loop. */
#include "fake_view.h"

extern const pfd_view_op pfd_view_flat_dataset;

typedef struct flat_attrs {
    pfd_list_string fields;
    int64_t fan_out;
    pfd_list_int64 divided;
} flat_attrs;

enum { MOST = 64 };

typedef struct rows {
    int64_t epochs[MOST], positions[MOST];
    uint64_t draws[MOST];
    pfd_places places;
} rows;

static void point(rows *r, int64_t n)
{
    r->places = (pfd_places){
        .n = n, .epochs = r->epochs, .positions = r->positions, .draws = r->draws};
}

/* Each row is in exactly one piece, which is of its record and begins where the row's own does. */
static void check_parts(const pfd_view *view, int64_t fan_out, rows *outer, int64_t expected)
{
    rows inner;
    pfd_piece pieces[MOST];
    int64_t n = outer->places.n, next = 0;
    int64_t num_pieces = view->methods->num_pieces(view, &outer->places);
    CHECK(num_pieces == expected);
    REQUIRE(num_pieces <= n);
    point(&inner, num_pieces);
    view->methods->expand(view, &outer->places, &inner.places, pieces);
    for (int64_t k = 0; k < num_pieces; k++) {
        CHECK(pieces[k].row == next && pieces[k].length > 0 && pieces[k].whole == fan_out);
        for (int64_t i = 0; i < pieces[k].length && next < n; i++, next++) {
            CHECK(outer->positions[next] == inner.positions[k] * fan_out + pieces[k].begin + i);
            CHECK(outer->epochs[next] == inner.epochs[k] && outer->draws[next] == inner.draws[k]);
        }
    }
    CHECK(next == n);
}

static void test_rows_in_order(void)
{
    for (int64_t fan_out = 1; fan_out <= 5; fan_out++) {
        flat_attrs attrs = {.fan_out = fan_out};
        pfd_view *view = fake_view_over(&pfd_view_flat_dataset, &attrs, fake_view_new(7));
        CHECK(view->size == 7 * fan_out);
        for (int64_t begin = 0; begin < 7 * fan_out; begin++)
            for (int64_t n = 1; begin + n <= 7 * fan_out; n++) {
                rows outer = {0};
                point(&outer, n);
                for (int64_t i = 0; i < n; i++) {
                    outer.epochs[i] = 3;
                    outer.positions[i] = begin + i;
                    outer.draws[i] = 9;
                }
                int64_t records = (begin + n - 1) / fan_out - begin / fan_out + 1;
                check_parts(view, fan_out, &outer, records);
            }
        pfd_view_close(view);
    }
}

/* Rows of one record that do not follow each other are pieces of their own. */
static void test_rows_out_of_order(void)
{
    flat_attrs attrs = {.fan_out = 3};
    pfd_view *view = fake_view_over(&pfd_view_flat_dataset, &attrs, fake_view_new(4));
    rows outer = {.epochs = {0, 0, 0, 0, 1, 1, 1, 1, 1},
                  .positions = {4, 3, 5, 1, 2, 3, 4, 4, 5},
                  .draws = {0, 0, 0, 0, 0, 0, 0, 8, 0}};
    point(&outer, 9);
    check_parts(view, 3, &outer, 8); /* 3 and 4 of epoch 1 belong together */
    pfd_view_close(view);
}

static void test_too_many_rows(void)
{
    flat_attrs attrs = {.fan_out = 1000000000};
    pfd_view *inner = fake_view_new(INT64_C(1) << 40), *view = NULL;
    pfd_error err;
    CHECK(fake_view_try(&pfd_view_flat_dataset, &attrs, inner, &view, &err) ==
          PFD_INVALID_ARGUMENT);
    CHECK(!strcmp(err.attr, "fan_out"));
    pfd_view_close(inner);
}

static void test_inputs_that_are_divided(void)
{
    static const int64_t numbers[] = {1, 2};
    const char *names[] = {"a", "b"};
    flat_attrs attrs = {.fields = {names, 2}, .fan_out = 4, .divided = {numbers, 1}};
    pfd_row_type in[2] = {{.dtype = PFD_INT32, .ndim = 1, .shape = {4}},
                          {.dtype = PFD_UINT8, .ndim = 3, .shape = {4, -1, 2}}};
    pfd_row_type out[2];
    pfd_infer_args args = {
        .attrs = &attrs, .num_inputs = 2, .inputs = in, .num_outputs = 2, .outputs = out};
    pfd_error err;
    pfd_error_init(&err);
    CHECK(pfd_view_flat_dataset.op->infer(&args, &err) == PFD_OK);
    CHECK(out[0].ndim == 1 && out[0].shape[0] == 4);
    CHECK(out[1].dtype == PFD_UINT8 && out[1].ndim == 2);
    CHECK(out[1].shape[0] == -1 && out[1].shape[1] == 2);
    in[1].shape[0] = 5;
    CHECK(pfd_view_flat_dataset.op->infer(&args, &err) == PFD_INVALID_ARGUMENT);
    CHECK(!strcmp(err.attr, "fan_out"));
    in[1] = (pfd_row_type){.dtype = PFD_INT64};
    CHECK(pfd_view_flat_dataset.op->infer(&args, &err) == PFD_INVALID_ARGUMENT);
    attrs.divided.size = 2; /* there is no input 2 */
    CHECK(pfd_view_flat_dataset.op->infer(&args, &err) == PFD_INVALID_ARGUMENT);
    CHECK(!strcmp(err.attr, "divided"));
}

int main(void)
{
    test_rows_in_order();
    test_rows_out_of_order();
    test_too_many_rows();
    test_inputs_that_are_divided();
    return report();
}
