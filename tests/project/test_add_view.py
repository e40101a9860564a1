"""Adding a view touches one C file, one line of a list, one test and one example: done here."""

import pytest
from support import programs
from support.scratch_tree import build_scratch_tree

EVERY = r"""
/* EveryDataset: every so many-th record. */
#include "views/view_base.h"

typedef struct every_dataset_attrs {
    pfd_list_string fields;
    int64_t step;
} every_dataset_attrs;

static pfd_status open_view(const pfd_view_args *args, pfd_view **out, pfd_error *err)
{
    const every_dataset_attrs *attrs = args->attrs;
    int64_t size = (args->inner[0]->size + attrs->step - 1) / attrs->step;
    return pfd_range_view_open(0, attrs->step, size, out, err);
}

static const pfd_attr attr_table[] = {
    PFD_FIELDS_ATTR(every_dataset_attrs),
    PFD_INT_ATTR(every_dataset_attrs, step, "2", 1, 1000, "From one record to the next."),
};

static const pfd_op every_dataset = {
    PFD_VIEW_OP(every_dataset_attrs, attr_table, pfd_view_infer),
    .name = "EveryDataset",
    .doc = "Every so many-th record of a data set.",
};

const pfd_view_op pfd_view_every_dataset = {&every_dataset, PFD_VIEW_ORDER, open_view, "every"};
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("add_view")
    (folder / "every_dataset.c").write_text(EVERY.lstrip())
    return build_scratch_tree(folder / "tree", view_files=[folder / "every_dataset.c"])


def run(library, code):
    env = programs.environment(PYFLOWDATA_LIBRARY=str(library))
    return programs.run("import pyflowdata as flow\n" + code, env=env, check=True).stdout


def test_data_sets_have_its_method(library):
    out = run(library, """
data = flow.from_arrays({"x": range(7)})
print([int(record["x"]) for record in data.every(3)], len(data.every()))
print(data.shuffle(seed=1).every(step=2).batch(4)["x"].node.op.name)
""")  # fmt: skip
    assert out.splitlines() == ["[0, 3, 6] 4", "BatchDataset"]


def test_the_method_says_what_the_op_says(library):
    out = run(library, """
import inspect
print(inspect.signature(flow.Dataset.every))
print(flow.Dataset.every.__doc__)
print(flow.from_arrays({"x": range(7)}).every(3))
""")  # fmt: skip
    assert out.startswith("(self, /, step: int = 2)\nEvery so many-th record of a data set.")
    assert "step (int, default 2, in [1, 1000]): From one record to the next." in out
    assert "every(step=3)" in out


def test_its_arguments_are_checked(library):
    run(library, """
import pytest
data = flow.from_arrays({"x": range(7)})
with pytest.raises(flow.InvalidArgumentError, match=r"step' = 0.*\\[1, 1000\\]"):
    data.every(0)
with pytest.raises(TypeError, match="steps"):
    data.every(steps=2)
""")  # fmt: skip
