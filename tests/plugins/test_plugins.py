"""Plugins: loading them by name, what they may then do, and how faulty ones are refused."""

import os
import pickle
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from support import programs
from support.plugin_sources import COUNT, SCALE, build, renamed

import pyflowdata as flow
from pyflowdata.native import lib, library_path

if shutil.which("gcc") is None:
    pytest.skip("gcc is not here", allow_module_level=True)

COMPILE_C = ["gcc", "-std=c11", "-fPIC", "-I", flow.include_dir()]


def loaded(code, *arguments):
    """Runs Python code in a separate process: what it loads is gone afterwards."""
    programs.run(code, *arguments, check=True)


def started(code, *arguments, **variables):
    """Runs Python code that imports the package where these variables are set."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=programs.environment(**variables), capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.fixture(scope="session")
def scale(tmp_path_factory):
    return build(tmp_path_factory.mktemp("scale"), SCALE)


@pytest.fixture(scope="session")
def count(tmp_path_factory):
    return build(tmp_path_factory.mktemp("count"), COUNT)


# ---- Use ----------------------------------------------------------------------------------------


def test_its_ops_are_everywhere_an_op_is(scale, count):
    plugin = flow.load_library(scale)
    assert plugin.Scale is flow.Scale is flow.ops.Scale
    assert [function.__name__ for function in plugin] == ["Scale"]
    assert (plugin.name, plugin.version, plugin.abi) == ("scaling", "2.5", (1, lib.PFD_ABI_MINOR))
    assert plugin.path == str(scale)
    assert repr(plugin) == "<plugin scaling 2.5: Scale>"
    assert "Scale" in dir(plugin) and "Scale" in flow.ops.__all__
    assert "factor (float, default 2.0, in [-100, 100]): What is multiplied by." in (
        plugin.Scale.__doc__
    )
    with pytest.raises(AttributeError, match=r"has no op 'Scal'; did you mean 'Scale'\?"):
        _ = plugin.Scal

    numbers = flow.load_library(str(count)).Count(size=10, batch_size=5)
    halves = flow.Affine(numbers, dtype="float64")
    built = flow.user_op_builder("s").Op("scale").Input("in", halves).Output("out")
    blob = built.Attr("factor", 3.0).Build().SoleOutputBlob()
    with flow.DataLoader(numbers, blob, plugin.Scale(halves)) as loader:
        rows = [np.concatenate(column) for column in zip(*loader, strict=True)]
    assert rows[0].tolist() == list(range(10))
    assert rows[1].tolist() == [3.0 * i for i in range(10)]
    assert rows[2].tolist() == [2.0 * i for i in range(10)]


def test_a_reader_of_a_plugin_has_all_that_readers_have(count):
    flow.load_library(count)
    rows = []
    for rank in range(2):
        reader = flow.Count(
            size=1001, batch_size=8, random_shuffle=True, seed=3, rank=rank, world_size=2
        )
        loader = flow.DataLoader(reader, num_threads=2)
        batches = iter(loader)
        rows += [next(batches) for _ in range(20)]
        resumed = flow.DataLoader(reader, num_threads=3)
        resumed.load_state_dict(loader.state_dict())
        rows += list(resumed)
    flat = np.concatenate(rows).tolist()
    assert flat != sorted(flat) and sorted(flat) == list(range(1001))


def test_attrs_of_a_plugin_are_checked(scale, count):
    flow.load_library(scale)
    flow.load_library(count)
    with pytest.raises(flow.InvalidArgumentError, match=r"factor' = 101.*-100.*100"):
        flow.Scale(flow.Affine(flow.Count(size=1), dtype="float64"), factor=101)
    with pytest.raises(flow.InvalidArgumentError, match="in must be float64"):
        flow.Scale(flow.Count(size=1))
    with pytest.raises(flow.InvalidArgumentError, match="'size'.*required"):
        flow.Count()


def test_loading_again_gives_the_same_functions(scale, tmp_path, monkeypatch):
    first = flow.load_library(scale)
    (tmp_path / "link.so").symlink_to(scale)
    os.link(scale, tmp_path / "hard.so")
    monkeypatch.chdir(tmp_path)
    for path in (scale, str(scale), "link.so", Path("hard.so"), "./hard.so"):
        again = flow.load_library(path)
        assert again.Scale is first.Scale
        assert again == first and hash(again) == hash(first)
    names = [name for name in flow.ops.__all__ if name == "Scale"]
    assert names == ["Scale"]


def test_it_can_be_pickled(count):
    code = """
import pickle, sys
plugin = pickle.loads(bytes.fromhex(sys.argv[1]))
import pyflowdata as flow
assert plugin.Count is flow.Count
"""
    loaded(code, pickle.dumps(flow.load_library(count)).hex())


def test_many_threads_load_at_once(tmp_path):
    names = [f"Thread{i}" for i in range(6)]
    paths = [build(tmp_path / name, renamed(SCALE, "Scale", name)) for name in names]
    functions, failures = [], []
    start = threading.Barrier(12)

    def load(path, name):
        try:
            start.wait()
            function = getattr(flow.load_library(path), name)
            assert flow.user_op_builder().Op(name) and getattr(flow, name) is function
            functions.append((name, function))
        except BaseException as failure:  # noqa: BLE001
            failures.append(failure)

    pairs = [*zip(paths, names, strict=True)] * 2
    threads = [threading.Thread(target=load, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(functions) == 12 and len(set(functions)) == 6


def test_a_forked_child_has_and_loads_plugins(scale, count):
    code = """
import os, sys
import pyflowdata as flow
flow.load_library(sys.argv[1])
child = os.fork()
if child == 0:
    flow.load_library(sys.argv[2])
    numbers = flow.Affine(flow.Count(size=3, batch_size=3), dtype="float64")
    blob = flow.Scale(numbers)
    with flow.DataLoader(blob) as loader:
        os._exit(0 if next(iter(loader)).tolist() == [0.0, 2.0, 4.0] else 1)
assert os.waitpid(child, 0)[1] == 0
assert not hasattr(flow, "Count")
"""
    loaded(code, scale, count)


def test_a_running_loader_is_not_disturbed(count, tmp_path):
    flow.load_library(count)
    loader = flow.DataLoader(flow.Count(size=4000, batch_size=1), num_threads=2)
    seen = []
    for i, batch in enumerate(loader):
        seen += batch.tolist()
        if i % 1000 == 0:
            name = f"Later{i}"
            flow.load_library(build(tmp_path / name, renamed(SCALE, "Scale", name)))
    assert seen == list(range(4000))


def test_fast_math_does_not_leak_out(tmp_path):
    """Its start-up code sets the processor to flush small numbers to zero."""
    library = build(tmp_path, SCALE, "-Ofast", "-ffast-math")
    code = """
import sys
import pyflowdata as flow
flow.load_library(sys.argv[1])
small = float(sys.argv[2])
assert small * 0.5 > 0
"""
    loaded(code, library, 1e-310)


def test_an_op_named_like_the_package_does_not_hide_it(tmp_path):
    library = build(tmp_path, renamed(SCALE, "Scale", "DataLoader"))
    code = """
import sys, warnings
import pyflowdata as flow
before = flow.DataLoader
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    plugin = flow.load_library(sys.argv[1])
assert flow.DataLoader is before
assert plugin.DataLoader is flow.ops.DataLoader is not before
assert "pyflowdata.ops.DataLoader" in str(caught[0].message)
assert caught[0].filename == "<string>", caught[0].filename
"""
    loaded(code, library)


# ---- The environment ----------------------------------------------------------------------------


def test_the_environment_names_plugins(scale, count):
    code = """
from pyflowdata import *
import pyflowdata as flow
assert Scale is flow.ops.Scale and Count is flow.Count
"""
    done = started(code, PYFLOWDATA_PLUGINS=os.pathsep.join(["", str(scale), str(count)]))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("content", [None, "no library"])
def test_a_fault_there_names_the_variable(content, tmp_path):
    path = tmp_path / "gone.so"
    if content:
        path.write_text(content)
    done = started("import pyflowdata", PYFLOWDATA_PLUGINS=str(path))
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: the environment variable PYFLOWDATA_PLUGINS names")
    assert str(path) in last


def test_stubs_are_those_of_the_package_alone(scale, tmp_path):
    """What the build writes has the ops of the library, and none of a plugin."""
    stub = tmp_path / "ops.pyi"
    code = "import sys; from tools.write_stubs import main; main(sys.argv[1:])"
    done = started(code, library_path(), stub, PYFLOWDATA_PLUGINS=str(scale))
    assert done.returncode == 0, done.stderr
    assert "def Scale(" not in stub.read_text() and "def MiniDecoder(" in stub.read_text()


# ---- What is refused: the file ------------------------------------------------------------------


def refused(path, error, *parts):
    before = flow.ops.__all__[:]
    with pytest.raises(error) as failure:
        flow.load_library(path)
    assert flow.ops.__all__ == before
    for part in (str(path), *parts):
        assert part in str(failure.value)
    return str(failure.value)


def test_a_missing_file(tmp_path, monkeypatch):
    refused(tmp_path / "none.so", flow.FileError, "the library to load is missing")
    monkeypatch.chdir(tmp_path)
    refused("libm.so.6", flow.FileError, "the library to load is missing")  # not searched for


@pytest.mark.parametrize("path", [None, 3, ["a.so"]])
def test_what_is_no_path(path):
    with pytest.raises(flow.InvalidArgumentError, match="must be the path of a shared library"):
        flow.load_library(path)


def test_paths_that_cannot_be(tmp_path):
    with pytest.raises(flow.InvalidArgumentError, match="NUL"):
        flow.load_library("a\0b")
    with pytest.raises(flow.FileError):
        flow.load_library("")
    with pytest.raises(flow.FileError, match=r"\.\.\.x*: .*name too long"):
        flow.load_library(tmp_path / ("x" * 5000))


def test_files_that_are_no_library(tmp_path):
    refused(tmp_path, flow.InvalidArgumentError, "not a file, but a folder")
    for content in (b"", b"#include <x.h>\n", b"\x7fEL", bytes(5000)):
        (tmp_path / "x.so").write_bytes(content)
        refused(tmp_path / "x.so", flow.InvalidArgumentError, "pyflowdata.compile()")
    (tmp_path / "x.so").write_bytes(b"\x7fELF\x02\x01\x01")
    refused(tmp_path / "x.so", flow.InvalidArgumentError, "cut off after 7 bytes")


def test_a_library_that_is_cut_off(scale, tmp_path):
    whole = scale.read_bytes()
    for size in (64, 100, 1000, 8000):  # of more than 12,000 that are loaded; debug info follows
        path = tmp_path / f"cut{size}.so"
        path.write_bytes(whole[:size])
        refused(path, flow.InvalidArgumentError, f"cut off after {size} bytes")


def test_an_object_file(scale, tmp_path):
    source = scale.with_suffix(".c")
    subprocess.run([*COMPILE_C, "-c", source, "-o", tmp_path / "x.so"], check=True)
    refused(tmp_path / "x.so", flow.InvalidArgumentError, "object file", "cc -shared")


@pytest.mark.parametrize("machine, name", [(183, "aarch64"), (62, "x86-64"), (9, "number 9")])
def test_a_library_for_another_processor(scale, tmp_path, machine, name):
    content = bytearray(scale.read_bytes())
    ours = int.from_bytes(content[18:20], "little")
    if machine == ours:
        machine, name = 22, "s390"
    content[18:20] = machine.to_bytes(2, "little")
    (tmp_path / "x.so").write_bytes(content)
    refused(tmp_path / "x.so", flow.UnsupportedError, f"compiled for {name}" if machine != 9 else
            "compiled for processor number 9", "for this machine")  # fmt: skip


def test_a_cross_compiled_library(tmp_path):
    if shutil.which("aarch64-linux-gnu-gcc") is None or os.uname().machine == "aarch64":
        pytest.skip("no compiler for another processor is here")
    library = build(tmp_path, SCALE, "-nostdlib", compiler="aarch64-linux-gnu-gcc")
    refused(library, flow.UnsupportedError, "compiled for aarch64, this process runs on")


def test_symbols_and_libraries_that_are_missing(tmp_path):
    source = SCALE.replace("(void)err;", "(void)err; no_such_function();").replace(
        "typedef struct scale", "extern void no_such_function(void);\ntypedef struct scale"
    )
    library = build(tmp_path, source)
    refused(library, flow.FileError, "undefined symbol: no_such_function", "-l...")

    other = build(tmp_path / "other", "int no_such_function(void) { return 1; }\n", name="libother")
    library = build(tmp_path / "needs", source, "-L", str(other.parent), "-lother")
    refused(library, flow.FileError, "libother.so", "ldd")


def test_a_library_that_is_no_plugin(tmp_path):
    library = build(tmp_path, "int nothing(void);\nint nothing(void) { return 1; }\n")
    refused(library, flow.InvalidArgumentError, "exports no function pfd_plugin_v1", "PFD_PLUGIN(")


# ---- What is refused: the descriptors -----------------------------------------------------------


@pytest.mark.parametrize(
    "change, parts",
    [
        ((".infer = scale_infer,", ""), ["op 'Fault'", "infer is NULL"]),
        ((".compute = scale_compute,", ""), ["op 'Fault'", "compute is NULL"]),
        (("PFD_OP_SIZES,", "0, sizeof(pfd_attr), sizeof(pfd_port),"), ["struct_size is 0"]),
        (("PFD_OP_SIZES,", "sizeof(pfd_op), 7, sizeof(pfd_port),"), ["'Fault'", "attr_size is 7"]),
        (("PFD_OP_SIZES,", "sizeof(pfd_op), sizeof(pfd_attr), 99999,"), ["port_size is 99999"]),
        (('.doc = "Multiplies."', '.doc = "Multiplies"'), ["'Fault'", "doc must end"]),
        ((".attrs_struct_size = sizeof(scale)", ".attrs_struct_size = 4"), ["'factor'", "offset"]),
        (('"2", -100', '"two", -100'), ["default_value", "'factor'"]),
        (("-100, 100", "100, -100"), ["'factor'", "min must not be above max"]),
        (("PFD_ATTR_FLOAT64,", "77,"), ["'factor'", "type is not one of PFD_ATTR_*"]),
        (('{"in",', '{"In put",'), ["input 'In put'", "lower_snake_case"]),
        ((".outputs = outputs", ".outputs = NULL"), ["output array is NULL"]),
        ((".doc =", ".flags = 1u << 30, .doc ="), ["flags has unknown bits"]),
        (('.name = "Fault"', '.name = "no_camel"'), ["'no_camel'", "name", "CamelCase"]),
        (('.name = "Fault"', '.name = "Fault#2"'), ["'Fault#2'", "name", "'#'"]),
        (('.name = "Fault"', ".name = NULL"), ["'NULL'", "name", "CamelCase"]),
    ],
)
def test_a_faulty_descriptor_is_refused_with_its_field(change, parts, tmp_path):
    source = renamed(SCALE, "Scale", "Fault")
    assert change[0] in source
    library = build(tmp_path, source.replace(*change), "-Wno-unused")
    refused(library, flow.InternalError, *parts)


@pytest.mark.parametrize("name", ["MiniReader", "miniDecoder", "Scale"])
def test_a_name_that_is_taken(name, scale, tmp_path):
    flow.load_library(scale)
    known = {"miniDecoder": "MiniDecoder"}.get(name, name)
    own = name[0].upper() + name[1:].lower()
    library = build(tmp_path, renamed(SCALE, "Scale", own))
    origin = str(scale) if name == "Scale" else "built in"
    refused(library, flow.InvalidArgumentError, f"is that of op '{known}' ({origin})")


def test_a_plugin_is_added_as_a_whole_or_not_at_all(tmp_path):
    source = renamed(SCALE, "Scale", "First").replace(
        "PFD_PLUGIN(",
        """static const pfd_op second = {PFD_OP_SIZES, .name = "Second", .doc = "No infer."};
PFD_PLUGIN(""",
    )
    source = source.replace("&pfd_op_scale)", "&pfd_op_scale, &second)")
    library = build(tmp_path, source, "-Wno-missing-field-initializers")
    refused(library, flow.InternalError, "'Second'", "infer is NULL")
    assert not hasattr(flow, "First")
    with pytest.raises(flow.InvalidArgumentError, match="unknown op 'First'"):
        flow.user_op_builder().Op("First")


ENTRY = """
#include "pyflowdata/op.h"
static const pfd_op *const ops[] = {NULL, NULL};
PFD_EXPORT const pfd_plugin *pfd_plugin_v1(void);
PFD_EXPORT const pfd_plugin *pfd_plugin_v1(void)
{
    static const pfd_plugin plugin = {(uint32_t)sizeof(pfd_plugin), 1, 0, 2, ops, "p", "1",
                                      0, 0, NULL};
    return &plugin;
}
"""


@pytest.mark.parametrize(
    "change, part",
    [
        (("return &plugin", "return (void)plugin.name, (const pfd_plugin *)NULL"), "it is NULL"),
        (("(uint32_t)sizeof(pfd_plugin)", "3"), "struct_size is not sizeof(pfd_plugin)"),
        (("(uint32_t)sizeof(pfd_plugin)", "1u << 20"), "struct_size is not sizeof(pfd_plugin)"),
        (("1, 0, 2, ops", "1, -4, 2, ops"), "abi_minor is negative"),
        (("1, 0, 2, ops", "1, 0, 1, ops"), "ops[0] is NULL"),
        (("1, 0, 2, ops", "1, 0, sizeof ops, NULL"), "ops is NULL"),
        (("1, 0, 2, ops", "1, 0, 0, ops"), "num_ops is 0"),
        (("1, 0, 2, ops", "1, 0, 1u << 30, ops"), "num_ops is above"),
    ],
)
def test_a_faulty_entry(change, part, tmp_path):
    assert change[0] in ENTRY
    library = build(tmp_path, ENTRY.replace(*change))
    refused(library, flow.InternalError, "pfd_plugin_v1()", part)


# ---- Faults of a plugin while it runs ----------------------------------------------------------

STREAM = COUNT.replace(
    """    .size = source_size,
    .at = source_at,
};
""",
    """    .next = source_next,
    .seek = source_seek,
};
""",
).replace(
    "static int64_t source_size(void *self)\n{\n    return ((const source *)self)->size;\n}",
    """static pfd_status source_next(void *self, int64_t max, pfd_scratch *scratch, pfd_record *out,
                              int64_t *n, pfd_error *err)
{
    (void)self, (void)max, (void)scratch, (void)out, (void)err;
    *n = GIVEN;
    return PFD_OK;
}

static pfd_status source_seek(void *self, int64_t epoch, int64_t position, pfd_scratch *scratch,
                              pfd_error *err)
{
    (void)self, (void)epoch, (void)position, (void)scratch, (void)err;
    return PFD_OK;
}
""",
)
STREAM = STREAM[: STREAM.index("static pfd_status source_at")] + STREAM[
    STREAM.index("static const pfd_source_methods") :
]


def test_a_source_without_files_hears_which_records_are_needed(tmp_path):
    source = renamed(COUNT, "Count", "NeededCount")
    for old, new in [
        ("static const pfd_source_methods", """
static _Atomic int64_t most_needed = -1;

static int32_t source_need(void *self, const int64_t *ordinals, int64_t n, pfd_scratch *scratch)
{
    (void)self, (void)scratch;
    for (int64_t i = 0; i < n; i++)
        if (ordinals[i] > most_needed) most_needed = ordinals[i];
    return 1;
}

static const pfd_source_methods"""),
        ("    .at = source_at,\n", "    .at = source_at,\n    .need = source_need,\n"),
        ("    for (int64_t row", "    int64_t most = most_needed;\n    for (int64_t row"),
        ("args->records[row].data, 8", "&most, 8"),
    ]:  # fmt: skip
        assert source.count(old) == 1
        source = source.replace(old, new)
    op = flow.load_library(build(tmp_path, source)).NeededCount
    with flow.DataLoader(op(size=1000, batch_size=10)) as loader:
        found = np.concatenate(list(loader))
    assert found[-1] == 999 and (found[500:] >= 500).all()


def test_a_size_below_0(tmp_path):
    faulty = renamed(COUNT, "Count", "NegativeCount").replace("->size;\n}", "->size - 9;\n}")
    op = flow.load_library(build(tmp_path, faulty)).NegativeCount
    said = r"^NegativeCount: size\(\) returned -4; it must return the number of records"
    with pytest.raises(flow.InternalError, match=said):
        flow.DataLoader(op(size=5))


@pytest.mark.parametrize("shuffle", ["none", "buffer"])
@pytest.mark.parametrize("given, name", [("0", "Zero"), ("-3", "Negative"), ("max + 1", "TooMany")])
def test_a_stream_that_gives_a_wrong_number(given, name, shuffle, tmp_path):
    name = f"{name}{shuffle.title()}Stream"
    faulty = renamed(STREAM, "Count", name).replace("GIVEN", given)
    op = getattr(flow.load_library(build(tmp_path, faulty)), name)
    said = rf"^{name}: next\(\) gave -?\d+ records; it must give 1 to \d+ or return PFD_END"
    with flow.DataLoader(op(size=5, shuffle=shuffle)) as loader:
        with pytest.raises(flow.InternalError, match=said):
            next(iter(loader))


@pytest.mark.parametrize("row, name", [("args->num_rows", "Behind"), ("-2", "Before")])
def test_a_row_outside_of_the_range(row, name, count, tmp_path):
    faulty = renamed(COUNT, "Count", f"{name}Row").replace(
        "    (void)err;\n    for (int64_t row",
        f'    return args->host->fail_row(err, {row}, 0, PFD_CORRUPT_DATA, "torn");\n'
        "    for (int64_t row",
    )
    op = getattr(flow.load_library(build(tmp_path, faulty)), f"{name}Row")
    named = "4" if name == "Behind" else "-2"
    said = rf"torn \(the op named row {named} of a range of 4 rows\)"
    with flow.DataLoader(op(size=4, batch_size=4, on_error="skip"), num_threads=1) as loader:
        with pytest.raises(flow.CorruptDataError, match=said):
            list(loader)
