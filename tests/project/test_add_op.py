"""Adding an op touches one C file, one line of a list and one test, and no Python: done here."""

import difflib

import pytest
from support import programs
from support.paths import ROOT
from support.scratch_tree import build_scratch_tree


DIFFERENCE = r"""
/* difference -- the second column minus the first, times a factor. */
#include "pyflowdata/op.h"

typedef struct difference {
    double factor;
} difference;

static const pfd_attr attrs[] = {
    PFD_FLOAT_ATTR(difference, factor, "1", -100, 100, "What the difference is multiplied by."),
};
static const pfd_port inputs[] = {{"in", "Rows of two columns."}};
static const pfd_port outputs[] = {{"out", "One difference a row."}};

static pfd_status difference_infer(const pfd_infer_args *args, pfd_error *err)
{
    const pfd_row_type *in = &args->inputs[0];
    if (in->dtype != PFD_FLOAT64 || in->ndim != 1 || in->shape[0] != 2)
        return args->host->fail(err, PFD_INVALID_ARGUMENT, "in must be float64 rows of 2 columns");
    args->outputs[0] = (pfd_row_type){.dtype = PFD_FLOAT64};
    return PFD_OK;
}

static pfd_status difference_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    const difference *attr = args->attrs;
    const double *in = (const double *)args->inputs[0]->data;
    double *out = (double *)args->outputs[0]->data;
    for (int64_t row = 0; row < args->num_rows; row++)
        out[row] = attr->factor * (in[2 * row + 1] - in[2 * row]);
    return PFD_OK;
}

const pfd_op pfd_op_difference = {
    PFD_OP_SIZES,
    .name = "Difference",
    .doc = "Subtracts the first column from the second.",
    .attrs = attrs,
    .num_attrs = PFD_COUNT(attrs),
    .attrs_struct_size = sizeof(difference),
    .inputs = inputs,
    .num_inputs = PFD_COUNT(inputs),
    .outputs = outputs,
    .num_outputs = PFD_COUNT(outputs),
    .infer = difference_infer,
    .compute = difference_compute,
};
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("add_op")
    (folder / "difference.c").write_text(DIFFERENCE.lstrip())
    return folder / "tree", build_scratch_tree(folder / "tree", [folder / "difference.c"])


def run(tree, code):
    env = programs.environment(PYFLOWDATA_LIBRARY=str(tree[1]))
    return programs.run("import pyflowdata as flow\n" + code, env=env, check=True).stdout


def test_one_file_and_one_line_were_added(tree):
    def sources(root):
        return {
            p.relative_to(root).as_posix(): p.read_text().splitlines()
            for p in (root / "csrc").rglob("*.[ch]")
        }

    before, after = sources(ROOT), sources(tree[0])
    (added,) = set(after) - set(before)
    assert added.endswith("/difference.c")
    changed = [path for path in before if before[path] != after[path]]
    assert changed == ["csrc/registry/builtin_ops.c"]
    lines = list(difflib.ndiff(before[changed[0]], after[changed[0]]))
    assert [line.split()[1] for line in lines if line[0] == "+"] == ["X(difference)"]
    assert [line for line in lines if line[0] == "-"] == []


def test_python_has_the_op_with_signature_and_doc(tree):
    out = run(tree, """
import inspect
print(inspect.signature(flow.Difference))
help(flow.Difference)
""")  # fmt: skip
    assert "factor: float = 1.0" in out.splitlines()[0]
    assert "Subtracts the first column from the second." in out
    assert "What the difference is multiplied by." in out


def test_its_attrs_and_inputs_are_checked(tree):
    run(tree, """
import pytest
record = flow.MiniReader("data", batch_size=2)
with pytest.raises(flow.InvalidArgumentError, match=r"factor' = 101.*-100.*100"):
    flow.Difference(record, factor=101)
with pytest.raises(flow.InvalidArgumentError, match="float64 rows of 2 columns"):
    flow.Difference(flow.MiniDecoder(record)[0])
""")  # fmt: skip


def test_it_works_in_a_loader_shuffled_and_sharded(tree):
    run(tree, """
rows = []
for rank in range(2):
    record = flow.MiniReader("data", batch_size=4, rank=rank, world_size=2, seed=3,
                             random_shuffle=True, with_id=True)
    x, y = flow.MiniDecoder(record[0])
    loader = flow.DataLoader(x, y, flow.Difference(record[0], factor=0.5), record[1], num_threads=2)
    for x_batch, y_batch, difference, ids in loader:
        assert (difference == 0.5 * (y_batch - x_batch)[:, 0]).all()
        rows += ids[:, 1].tolist()
assert rows != sorted(rows) and sorted(rows) == list(range(18))
""")  # fmt: skip
