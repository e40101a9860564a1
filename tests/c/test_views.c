/* Views that skip, slice and repeat, over a fake data set: every place against a plain loop. */
#include "fake_view.h"

extern const pfd_view_op pfd_view_take_dataset, pfd_view_skip_dataset, pfd_view_slice_dataset,
    pfd_view_repeat_dataset;

typedef struct count_attrs {
    pfd_list_string fields;
    int64_t count;
} count_attrs;

typedef struct slice_attrs {
    pfd_list_string fields;
    int64_t begin, end, step;
} slice_attrs;

/* The view's records in epoch 0 are `expected`, and of all epochs it has as many. */
static int has_records(const pfd_view *view, const int64_t *expected, int64_t n)
{
    if (view->size != n) return 0;
    for (int64_t i = 0; i < n; i++) {
        fake_place at = fake_view_at(view, 0, i);
        if (at.position != expected[i] || at.epoch != 0 || at.draw != 0) return 0;
    }
    return 1;
}

static void test_take_and_skip(void)
{
    for (int64_t n = 0; n < 6; n++)
        for (int64_t count = 0; count < 8; count++) {
            count_attrs attrs = {.count = count};
            int64_t kept[6], skipped[6], num_kept = 0, num_skipped = 0;
            for (int64_t i = 0; i < n; i++) {
                if (i < count) kept[num_kept++] = i;
                else skipped[num_skipped++] = i;
            }
            pfd_view *take = fake_view_over(&pfd_view_take_dataset, &attrs, fake_view_new(n));
            pfd_view *skip = fake_view_over(&pfd_view_skip_dataset, &attrs, fake_view_new(n));
            CHECK(has_records(take, kept, num_kept));
            CHECK(has_records(skip, skipped, num_skipped));
            pfd_view_close(take);
            pfd_view_close(skip);
        }
}

/* As Python's reference defines s[i:j:k]: indices below zero count from the end, then
 * i, i + k, i + 2 k ... as long as j is not reached; those without a record are left out. */
static int64_t slice_of(int64_t n, slice_attrs by, int64_t *out)
{
    int64_t begin = by.begin < 0 ? by.begin + n : by.begin, count = 0;
    int64_t end = by.end < 0 ? by.end + n : by.end;
    /* the largest and smallest meaningful indices */
    if (by.step > 0) {
        for (int64_t i = begin < 0 ? 0 : begin; i < end && i < n; i += by.step) out[count++] = i;
    } else {
        for (int64_t i = begin >= n ? n - 1 : begin; i > end && i >= 0; i += by.step)
            out[count++] = i;
    }
    return count;
}

static void test_slice(void)
{
    static const int64_t far[] = {INT64_MIN, INT64_MAX};
    int64_t expected[8];
    for (int64_t n = 0; n < 6; n++)
        for (int64_t begin = -9; begin < 9; begin++)
            for (int64_t end = -9; end < 9; end++)
                for (int64_t step = -3; step <= 3; step++) {
                    slice_attrs attrs = {.begin = begin < -7 ? far[begin == -9] : begin,
                                         .end = end < -7 ? far[end == -9] : end,
                                         .step = step};
                    if (step == 0) continue;
                    pfd_view *view =
                        fake_view_over(&pfd_view_slice_dataset, &attrs, fake_view_new(n));
                    CHECK(has_records(view, expected, slice_of(n, attrs, expected)));
                    pfd_view_close(view);
                }
}

static void test_slice_has_a_step(void)
{
    slice_attrs attrs = {.begin = 0, .end = 3, .step = 0};
    pfd_infer_args args = {.attrs = &attrs};
    pfd_error err;
    pfd_error_init(&err);
    CHECK(pfd_view_slice_dataset.op->infer(&args, &err) == PFD_INVALID_ARGUMENT);
    CHECK(!strcmp(err.attr, "step"));
}

/* Row p of epoch e is row p % n of the inner epoch e * times + p / n, and no record is drawn in the
 * same way twice in an epoch. */
static void test_repeat(void)
{
    enum { n = 5, times = 4 };
    count_attrs attrs = {.count = times};
    pfd_view *view = fake_view_over(&pfd_view_repeat_dataset, &attrs, fake_view_new(n));
    CHECK(view->size == n * times);
    for (int64_t epoch = 0; epoch < 3; epoch++)
        for (int64_t p = 0; p < n * times; p++) {
            fake_place at = fake_view_at(view, epoch, p);
            CHECK(at.position == p % n);
            CHECK(at.epoch == epoch * times + p / n);
            CHECK((at.draw == 0) == (p < n));
            for (int64_t q = p % n; q < p; q += n)
                CHECK(fake_view_at(view, epoch, q).draw != at.draw);
        }
    pfd_view_close(view);
}

/* A repeat of a repeat draws every record times * times times, each draw another. */
static void test_repeat_of_a_repeat(void)
{
    enum { n = 2, times = 3 };
    count_attrs attrs = {.count = times};
    pfd_view *view = fake_view_over(&pfd_view_repeat_dataset, &attrs, fake_view_new(n));
    view = fake_view_over(&pfd_view_repeat_dataset, &attrs, view);
    CHECK(view->size == n * times * times);
    for (int64_t p = 0; p < n * times * times; p++)
        for (int64_t q = 0; q < p; q++) {
            fake_place one = fake_view_at(view, 1, p), other = fake_view_at(view, 1, q);
            CHECK(one.epoch == times * times + p / n);
            CHECK(one.draw != other.draw || one.position != other.position);
        }
    pfd_view_close(view);
}

static void test_repeat_too_often(void)
{
    count_attrs attrs = {.count = INT64_C(1) << 61};
    pfd_view *inner = fake_view_new(3), *view = NULL;
    pfd_error err;
    CHECK(fake_view_try(&pfd_view_repeat_dataset, &attrs, inner, &view, &err) ==
          PFD_INVALID_ARGUMENT);
    CHECK(!strcmp(err.attr, "times"));
    pfd_view_close(inner);
}

int main(void)
{
    test_take_and_skip();
    test_slice();
    test_slice_has_a_step();
    test_repeat();
    test_repeat_of_a_repeat();
    test_repeat_too_often();
    return report();
}
