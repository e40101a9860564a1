/* A view of so many records in their own order, and opening views over it as a loader does. */
#ifndef TESTS_FAKE_VIEW_H
#define TESTS_FAKE_VIEW_H
#include "check.h"
#include "core/error.h"
#include "dataset/view.h"

#include <string.h>

static inline void fake_view_map(const pfd_view *view, const pfd_places *places)
{
    (void)view, (void)places;
}

static inline pfd_view *fake_view_new(int64_t size)
{
    static const pfd_view_methods methods = {
        .name = "Fake", .close = pfd_view_free, .map = fake_view_map};
    pfd_view *self;
    pfd_error err;
    pfd_error_init(&err);
    REQUIRE(pfd_view_create(sizeof *self, &methods, &self, &err) == PFD_OK);
    self->size = size;
    return self;
}

static int64_t fake_seed = 7; /* of the loader */

/* Opens a view over one inner one, which it owns if that succeeds. */
static inline pfd_status fake_view_try(const pfd_view_op *op, const void *attrs, pfd_view *inner,
                                       pfd_view **out, pfd_error *err)
{
    pfd_view_args args = {
        .attrs = attrs, .inner = &inner, .num_inner = 1, .seed = &fake_seed, .name = op->op->name};
    pfd_error_init(err);
    PFD_TRY(op->open(&args, out, err));
    (*out)->inner = malloc(sizeof(pfd_view *));
    (*out)->inner[0] = inner;
    (*out)->num_inner = 1;
    return PFD_OK;
}

static inline pfd_view *fake_view_over(const pfd_view_op *op, const void *attrs, pfd_view *inner)
{
    pfd_view *view = NULL;
    pfd_error err;
    pfd_status status = fake_view_try(op, attrs, inner, &view, &err);
    if (status != PFD_OK) (void)printf("%s\n", err.message);
    REQUIRE(status == PFD_OK);
    return view;
}

/* Maps places through all views of a tree of views of one data set, as a loader does. */
static inline void fake_view_map_all(const pfd_view *view, const pfd_places *places)
{
    for (; view; view = view->num_inner > 0 ? view->inner[0] : NULL)
        view->methods->map(view, places);
}

typedef struct fake_place {
    int64_t epoch, position;
    uint64_t draw;
} fake_place;

static inline fake_place fake_view_at(const pfd_view *view, int64_t epoch, int64_t position)
{
    fake_place at = {epoch, position, 0};
    int32_t source = 0;
    pfd_places places = {1, &at.epoch, &at.position, &at.draw, &source};
    fake_view_map_all(view, &places);
    return at;
}
#endif
