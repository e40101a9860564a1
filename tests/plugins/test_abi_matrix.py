"""Plugins of other versions of the interface: older ones work, what cannot work is refused.

A plugin's version is the header it was compiled with, so headers are made from today's.
"""

import functools
import importlib.util
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from support import programs
from support.plugin_sources import COUNT, ROOT, SCALE, build, renamed

import pyflowdata as flow

HEADER = (ROOT / "csrc/include/pyflowdata/op.h").read_text()
PLUGINS = sorted((ROOT / "tests/abi").iterdir())

if shutil.which("gcc") is None:
    pytest.skip("gcc is not here", allow_module_level=True)


def load_tool():
    spec = importlib.util.spec_from_file_location("abi_layout", ROOT / "tools/abi_layout.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


tool = load_tool()
tool.read_header = functools.cache(tool.read_header)  # no test changes a Layout
LAYOUT = tool.read_header(HEADER)
MINOR = int(LAYOUT.constants["PFD_ABI_MINOR"])
GROWING = [struct.name for struct in LAYOUT.structs.values() if struct.grows]


def with_header(folder, text):
    """A folder to include from, in which op.h has this text."""
    assert text != HEADER
    (folder / "pyflowdata").mkdir(parents=True)
    (folder / "pyflowdata" / "op.h").write_text(text)
    return str(folder)


def replaced(old, new, text=HEADER):
    assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
    return text.replace(old, new)


# ---- The layout ---------------------------------------------------------------------------------


def test_the_pinned_files_are_current():
    assert tool.check(ROOT, write=False) == []


def test_asserts_and_file_say_the_same():
    assert tool.parse_layout(tool.format_layout(LAYOUT)) == LAYOUT
    asserts = (ROOT / "tests/c/abi_layout.c").read_text()
    assert asserts.count("\nSIZE(") == 1 + len(LAYOUT.structs)
    assert asserts.count("\nAT(") == sum(len(one.fields) for one in LAYOUT.structs.values())


@pytest.mark.parametrize("language, compiler", [("c", "gcc"), ("c", "clang"), ("c++", "g++")])
def test_layout_is_that_of_the_compiler(language, compiler, tmp_path):
    """cffi computes it, and asserts are no use if they assert nothing."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not here")
    asserts = (ROOT / "tests/c/abi_layout.c").read_text()
    if language == "c++":
        asserts = "#define _Static_assert static_assert\n" + asserts
    command = [compiler, "-x", language, f"-std={language}11", "-fsyntax-only", "-I"]
    for folder, works in ((ROOT / "csrc/include", True), (tmp_path, False)):
        if not works:
            found, other = "int64_t offset;  /* place of `data`", "int32_t offset;  /*"
            with_header(tmp_path, replaced(found, other))
        done = subprocess.run(
            [*command, folder, "-"], input=asserts, capture_output=True, text=True
        )
        assert (done.returncode == 0) == works, done.stderr
    assert "pfd_record" in done.stderr


def test_only_standard_headers_are_included():
    assert re.findall(r"#\s*include\s*(\S+)", HEADER) == ["<stddef.h>", "<stdint.h>"]


@pytest.fixture
def tree(tmp_path):
    """What the tool looks at, as a tree that can be changed."""
    for path in ("csrc/include", "tests/abi"):
        shutil.copytree(ROOT / path, tmp_path / path)
    (tmp_path / "tests/c").mkdir()
    shutil.copy(ROOT / "tests/c/abi_layout.c", tmp_path / "tests/c")

    def check(text, *, write=False):
        (tmp_path / "csrc/include/pyflowdata/op.h").write_text(text)
        found = tool.check(tmp_path, write)
        return int(bool(found)), "\n".join(found)

    return check


GROWN = replaced("\n} pfd_op;", "\n    const char *more;\n} pfd_op;")


def test_a_field_at_the_end_passes_with_new_files(tree):
    assert tree(HEADER) == (0, "")
    code, said = tree(GROWN)
    assert code == 1 and f"1.{MINOR}/layout.txt is not current" in said and "make abi" in said
    assert tree(GROWN, write=True) == (0, "")
    assert tree(GROWN) == (0, "")
    code, said = tree(HEADER, write=True)  # and what was added stays
    assert code == 1 and "pfd_op: the last fields are gone: more" in said


def test_a_reserved_field_may_get_a_name(tree):
    old = "typedef struct pfd_group_args {\n    uint32_t struct_size;\n    int32_t "
    assert tree(replaced(old + "reserved", old + "purpose"), write=True) == (0, "")
    code, said = tree(replaced(old + "reserved", old.removesuffix("int32_t ") + "float purpose"))
    assert code == 1 and "pfd_group_args: 'purpose' was int32_t" in said


def test_a_new_minor_version_has_files_of_its_own(tree, tmp_path):
    name = f"1.{MINOR + 1}"
    newer = replaced(f"PFD_ABI_MINOR {MINOR}", f"PFD_ABI_MINOR {MINOR + 1}", GROWN)
    assert tree(newer, write=True) == (0, "")
    old = (tmp_path / f"tests/abi/1.{MINOR}/layout.txt").read_text()
    assert old == (ROOT / f"tests/abi/1.{MINOR}/layout.txt").read_text()
    assert "pfd_op.more" in (tmp_path / f"tests/abi/{name}/layout.txt").read_text()
    assert "more" in (tmp_path / f"tests/abi/{name}/pyflowdata/op.h").read_text()
    changed = replaced("const char *more;", "int64_t more;", newer)
    code, said = tree(changed, write=True)
    assert code == 1 and f"{name}/layout.txt: pfd_op: 'more' was char *" in said


def test_the_command(tree, tmp_path):
    tree(replaced("#define PFD_IO -3", "#define PFD_IO -9"))
    for arguments in ([], ["--write"]):
        done = programs.run(ROOT / "tools/abi_layout.py", "--root", tmp_path, *arguments)
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr.startswith("1.0/layout.txt: PFD_IO was -3, now -9\n")
        assert "Plugins that are compiled would break" in done.stderr


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("    int64_t line;    /* 1-based", "    int64_t lines;    /* 1-based", "'line' was"),
        ("    const char *aliases;", "    int64_t aliases;", "pfd_op: 'aliases' was char *"),
        ("    uint32_t num_inputs;", "    uint32_t extra, num_inputs;", "pfd_op: 'num_inputs'"),
        ("    int32_t filler;", "    int64_t filler;", "pfd_record: 'filler'"),
        ("    int32_t filler;", "    int32_t filler; int32_t x, y;", "pfd_record: a struct"),
        ("#define PFD_IO -3", "#define PFD_IO -9", "PFD_IO was -3, now -9"),
        ("#define PFD_WHOLE_BATCH 2u", "", "PFD_WHOLE_BATCH was 2u, now it is gone"),
        ("    int64_t num_rows;", "    int64_t n, num_rows;", "pfd_compute_args: 'num_rows'"),
        ("pfd_status (*infer)(const", "void (*infer)(const", "pfd_op: 'infer' was int32_t"),
        ("\n} pfd_op;", "\n    int32_t x;\n} pfd_op;", "last 4 bytes are padding"),
    ],
)
def test_any_other_change_fails(old, new, said, tree):
    for write in (False, True):
        code, found = tree(replaced(old, new), write=write)
        assert code == 1 and said in found, found


def test_structs_that_grow_are_those_of_the_header():
    """op.h, GROWTH: these never change."""
    fixed = {"pfd_row_type", "pfd_ragged_row", "pfd_record", "pfd_place"}
    fixed |= {f"pfd_list_{element}" for element in ("int64", "float64", "string")}
    assert set(LAYOUT.structs) - set(GROWING) == fixed


# ---- Plugins of released versions ---------------------------------------------------------------


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("folder", PLUGINS, ids=lambda folder: folder.name)
def test_plugins_of_released_headers_work(folder, compiler, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not here")
    source = (folder / "plugin.c").read_text()
    library = build(tmp_path, source, compiler=compiler, include=str(folder))
    programs.run(folder / "check.py", library, tmp_path, check=True)


# ---- Older and newer headers --------------------------------------------------------------------

# Without their last field no op could be written at all.
NEEDED = {"pfd_source", "pfd_infer_args"}
SHORTER = [name for name in GROWING if name not in NEEDED]


def without_last_field(text, name):
    head, body, rest = re.split(rf"(\bstruct {name} \{{[^}}]*)", text)
    *kept, last, end = body.split(";")
    assert re.search(rf"\b{LAYOUT.structs[name].fields[-1].name}\b", last) and not end.strip()
    several = re.fullmatch(r"(\s*\w+ .*),[^,()]*", last)  # int64_t a, b
    return head + ";".join([*kept, *([several[1]] if several else []), "\n"]) + rest


def older_header():
    """Version 1 minus the last field of each struct that grows."""
    text = re.sub(r"/\*(?! cdef).*?\*/", "", HEADER, flags=re.S)
    for name in SHORTER:
        text = without_last_field(text, name)
    # The macros give the fields that are gone.
    text, count = re.subn(r"( +doc), *\\\n +flags\}", r"\1}", text)
    assert count == 1
    text, count = re.subn(r"( +0), *\\\n +format_list\};", r"\1};", text)
    assert count == 1
    return text


def older_source(source):
    """The same with ports that have no doc."""
    return re.sub(r'= \{\{"(\w+)", "[^"]*"\}\};', r'= {{"\1"}};', source)


def test_the_older_header_is_older():
    older = tool.read_header(older_header())
    assert tool.differences(older, LAYOUT) == []
    for name in SHORTER:
        assert len(older.structs[name].fields) == len(LAYOUT.structs[name].fields) - 1
        assert older.structs[name].size < LAYOUT.structs[name].size


def test_a_plugin_of_an_older_header_loads_and_works(tmp_path):
    include = with_header(tmp_path / "older", older_header())
    scale = build(tmp_path / "scale", older_source(renamed(SCALE, "Scale", "OldScale")),
                  include=include)  # fmt: skip
    count = build(tmp_path / "count", older_source(renamed(COUNT, "Count", "OldCount")),
                  include=include)  # fmt: skip
    plugin = flow.load_library(scale)
    assert (plugin.name, plugin.version) == ("scaling", "2.5")
    factor = "factor (float, default 2.0, in [-100, 100]): What is multiplied by."
    assert factor in flow.OldScale.__doc__
    numbers = flow.load_library(count).OldCount(
        size=100, batch_size=7, random_shuffle=True, seed=1
    )
    scaled = flow.OldScale(flow.Affine(numbers, dtype="float64"), factor=4)
    with flow.DataLoader(numbers, scaled, num_threads=2) as loader:
        rows = [np.concatenate(column) for column in zip(*loader, strict=True)]
    assert sorted(rows[0].tolist()) == list(range(100))
    assert (rows[1] == 4.0 * rows[0]).all()
    with pytest.raises(flow.InvalidArgumentError, match="'factor' = 101"):
        flow.OldScale(flow.Affine(numbers, dtype="float64"), factor=101)


def test_a_plugin_of_a_newer_header_that_needs_nothing_newer(tmp_path):
    newer = replaced(f"PFD_ABI_MINOR {MINOR}", f"PFD_ABI_MINOR {MINOR + 1}")
    newer = replaced("\n} pfd_op;", "\n    void (*later)(void);\n} pfd_op;", newer)
    newer = replaced("} pfd_plugin;", "    const char *later;\n} pfd_plugin;", newer)
    include = with_header(tmp_path / "newer", newer)
    source = renamed(SCALE, "Scale", "NewScale").replace(".infer =", ".later = 0, .infer =")
    refused = build(tmp_path / "refused", source, "-Wno-missing-field-initializers",
                    include=include)  # fmt: skip
    with pytest.raises(flow.UnsupportedError) as failure:
        flow.load_library(refused)
    for part in (f"needs version 1.{MINOR + 1}", f"({flow.__version__}) has 1.{MINOR}",
                 "use a newer pyflowdata", f"-DPFD_ABI_MINOR_NEEDED={MINOR}"):  # fmt: skip
        assert part in str(failure.value)
    works = build(tmp_path / "works", source, "-Wno-missing-field-initializers",
                  "-DPFD_ABI_MINOR_NEEDED=0", include=include)  # fmt: skip
    assert flow.load_library(works).abi == (1, 0)
    blob = flow.NewScale(flow.Affine(flow.MiniReader("data", batch_size=2)))
    assert blob.dtype == np.float64


@pytest.mark.parametrize(
    "major, remedy",
    [(0, "compile the plugin with the headers of this pyflowdata"), (2, "use a newer pyflowdata")],
)
def test_another_major_version(major, remedy, tmp_path):
    """Its entry has another name; and a hand-made entry may lie about it."""
    text = HEADER.replace("pfd_plugin_v1", f"pfd_plugin_v{major}")
    text = replaced("PFD_ABI_MAJOR 1", f"PFD_ABI_MAJOR {major}", text)
    include = with_header(tmp_path / "other", text)
    lying = SCALE.replace("PFD_PLUGIN(", "#undef PFD_ABI_MAJOR\n#define PFD_ABI_MAJOR "
                          f"{major}\nPFD_PLUGIN(")  # fmt: skip
    for library in (build(tmp_path / "a", SCALE, include=include), build(tmp_path / "b", lying)):
        with pytest.raises(flow.UnsupportedError) as failure:
            flow.load_library(library)
        for part in (f"version {major} of the plugin interface", f"({flow.__version__})",
                     "has version 1", remedy):  # fmt: skip
            assert part in str(failure.value)


def test_a_plugin_for_two_major_versions(tmp_path):
    source = renamed(SCALE, "Scale", "TwoEntries") + (
        "PFD_EXPORT const void *pfd_plugin_v2(void);\n"
        "PFD_EXPORT const void *pfd_plugin_v2(void) { return 0; }\n"
    )
    assert flow.load_library(build(tmp_path, source)).TwoEntries is flow.TwoEntries


# ---- C++ ----------------------------------------------------------------------------------------

CPP = r"""
#include "pyflowdata/op.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <vector>

namespace {

struct Attrs {
    int64_t window;
};

const pfd_attr attrs[] = {
    PFD_ATTR_ROW(Attrs, window, PFD_ATTR_INT64, "1", 1, 8, nullptr, "How many are summed."),
};
const pfd_port inputs[] = {{"in", "Rows of float64."}};
const pfd_port outputs[] = {{"out", "The same, sorted."}};

pfd_status infer(const pfd_infer_args *args, pfd_error *)
{
    args->outputs[0] = args->inputs[0];
    return PFD_OK;
}

pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    try {
        int64_t n = args->inputs[0]->row_bytes / 8;
        std::vector<double> row(static_cast<size_t>(n));
        for (int64_t i = 0; i < args->num_rows; i++) {
            std::memcpy(row.data(), args->inputs[0]->data + 8 * n * i, row.size() * 8);
            std::sort(row.begin(), row.end());
            std::memcpy(args->outputs[0]->data + 8 * n * i, row.data(), row.size() * 8);
        }
        return PFD_OK;
    } catch (const std::exception &failure) {
        return args->host->fail(err, PFD_INTERNAL, "%s", failure.what());
    }
}

pfd_op make_op()
{
    pfd_op op = pfd_op();
    op.struct_size = sizeof(pfd_op);
    op.attr_size = sizeof(pfd_attr);
    op.port_size = sizeof(pfd_port);
    op.name = "SortedRow";
    op.doc = "Sorts.";
    op.attrs = attrs;
    op.num_attrs = PFD_COUNT(attrs);
    op.attrs_struct_size = sizeof(Attrs);
    op.inputs = inputs;
    op.num_inputs = PFD_COUNT(inputs);
    op.outputs = outputs;
    op.num_outputs = PFD_COUNT(outputs);
    op.infer = infer;
    op.compute = compute;
    return op;
}

const pfd_op op = make_op();

} // namespace

PFD_PLUGIN("sorting", "1.0", &op)
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_a_plugin_in_cpp11(compiler, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not here")
    name = "SortedRow" + compiler[0].upper()
    library = build(tmp_path, CPP.replace('"SortedRow"', f'"{name}"'), suffix=".cpp",
                    compiler=compiler)  # fmt: skip
    (tmp_path / "part-0").write_text("2,1\n3,4\n6,5\n")
    plugin = flow.load_library(library)
    reader = flow.MiniReader(str(tmp_path), batch_size=3, data_part_num=1)
    with flow.DataLoader(getattr(plugin, name)(reader)) as loader:
        assert next(iter(loader)).tolist() == [[1, 2], [3, 4], [5, 6]]
