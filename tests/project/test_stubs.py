"""The types of the op functions: true to the registry, and fit for a type checker."""

import re
import subprocess
import sys

import pytest
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata.native import library_path
from pyflowdata.nodes import registered_ops
from pyflowdata.nodes.op_facts import ATTR_TYPES, Attr, Op, Port
from pyflowdata.nodes.op_texts import python_name
from pyflowdata.nodes.stubs import make_stubs
from tools.write_stubs import PATH

MOST_LINES = 2700  # of ops.pyi, so that it can be read: what ops share is said once
BUILT_IN = [op.name for op in registered_ops() if op.origin == "built in"]  # no plugins

USE = """
from typing import Any

import numpy as np
import numpy.typing as npt
import pyflowdata as flow

rows: flow.Blob = flow.MiniReader("data", batch_size=4, random_shuffle=True)
out, mask, ids = flow.MiniReader("data", with_mask=True, with_id=True)
x, y = flow.MiniDecoder(rows)
z: flow.Blob = flow.Affine(x, scale=2, dtype=np.float32)
column: npt.NDArray[Any]
for column, _ in flow.DataLoader(x, y):
    print(column.shape)
for column in flow.DataLoader(x, num_threads=2).repeat():
    break
if isinstance(column, flow.Ragged):  # a checker sees arrays, and narrows
    padded, real = column.to_padded(value=-1)
    texts: list[bytes] = column.to_bytes_list()
    last: npt.NDArray[Any] = flow.Ragged(np.zeros(3), np.array([0, 1, 3]))[1:][-1]
by_name: dict[str, npt.NDArray[Any]] = next(iter(flow.DataLoader({"x": x})))
key, values = flow.CSVReader("data", columns=["key", "v*"])
scaled = flow.Affine(flow.CSVReader("data", columns="x"), scale=2)
rank: int = 0
some = flow.MiniReader("data", with_mask=rank > 0)  # known at run time
assert isinstance(some, flow.Blob)
tokens, where = flow.GPTReader(["a.bin"][0], seq_length=8, rank=0, world_size=2, with_id=True)
images: flow.Blob = flow.IDXReader(files=["a"], dtype="float32", last_batch="drop", name="images")
made, made_id = flow.GeneratorReader([1], fields=["x:int64"], batch_size=2, seed=3, with_id=True)
one_row: npt.NDArray[Any] = flow.OneHot(np.array([1, 2]), depth=3)
some_rows: list[npt.NDArray[Any]] = flow.OneHot([1, 2], depth=3, seed=3, epoch=1)
column, _ = flow.MiniDecoder(np.zeros(2))
columns, more = flow.MiniDecoder(list(np.zeros((4, 2))))
columns = flow.Slice(flow.Ragged(np.zeros(3), np.array([0, 1, 3])), stop=[2])
column = flow.Concat(one_row, b"bytes", 3)
padded, real = flow.PadBatch([[1, 2], [3]], with_mask=True)
column = flow.DecodeClass(b"17", name="n")
flow.OneHot(np.array([1, 2]), depth="3")  # an error
flow.OneHot(x, depth=3, seed=3)  # an error
flow.Concat(x, one_row)  # an error
a_blob: flow.Blob = flow.OneHot(np.array([1, 2]), depth=3)  # an error
column = flow.OneHot([1, 2], depth=3)  # an error
flow.MiniReader("data", batch_sise=4)  # an error
flow.MiniReader("data", batch_size="4")  # an error
flow.MiniReader("data", last_batch="shrt")  # an error
flow.MiniReader("data", name=4)  # an error
flow.MiniReader(4)  # an error
flow.CSVReader("data", columns=["x"], batch_sise=4)  # an error
flow.CSVReader("data", columns=["x"], seed=1.5)  # an error
flow.CSVReader("data", columns=["x"], uneven_rows="loud")  # an error
flow.MDSReader("data", delimiter=",")  # an error
flow.GPTReader("data", batch_size=4)  # an error
flow.GeneratorReader([1], fields=["x:int64"], files=["a"])  # an error
flow.GeneratorReader(fields=["x:int64"])  # an error
neither: int = flow.CSVReader("data", columns="x")  # an error
only: flow.Blob = flow.MiniReader("data", batch_size=4, with_id=True)  # an error
one, two = flow.TextLineReader("data", batch_size=4)  # an error
flow.MiniReader("data", with_id=1)  # an error
flow.MiniDecoder("data")  # an error
flow.MiniReader("data", 4)  # an error
flow.Affine(x, 2.0)  # an error
flow.DataLoader(x, zip="longest")  # an error
wrong: int = flow.Affine(x)  # an error
"""


FORM = (
    ROOT / "tests/fixtures" / "stubs.pyi"
)  # `PYTHONPATH=tests python -m tests.project.test_stubs` writes it


def attr(name, kind, default=None, **more):
    limits = {"minimum": None, "maximum": None, "choices": (), "doc": f"What {name} is."}
    return Attr(name, ATTR_TYPES[kind], default, **(limits | more))


def made_up_ops():
    """An op for each form of a declaration, and two of those that share one."""
    reads = (
        attr("data_dir", "STRING", ""),
        attr("batch_size", "INT64", 1),
        attr("last_batch", "CHOICE", "short", choices=("short", "drop")),
        attr("with_mask", "BOOL", False),
        attr("with_id", "BOOL", False),
    )
    host = (Port("mask", "Which rows are real."), Port("id", "Where they are."))
    out, x = Port("out", "What is read."), Port("in", "What is taken.")
    reader = {"is_reader": True, "origin": "built in", "host_outputs": ("mask", "id")}
    takes = {"is_reader": False, "origin": "built in"}
    value = attr("value", "FLOAT64", 0.0, doc=f"What is put {'after it, ' * 9}in two lines.")
    masked = (attr("with_mask", "BOOL", False), value)
    columns = attr("columns", "LIST_STRING", is_found=True)
    return [
        Op(
            "AReader", "Reads a. In detail.", attrs=reads, inputs=(), outputs=(out, *host), **reader
        ),
        Op(
            "BReader",
            "Reads b.",
            attrs=(*reads, attr("size", "SHAPE", minimum=-1)),
            inputs=(),
            outputs=(out, *host),
            **reader,
        ),
        Op(
            "CReader",
            "Reads c.",
            attrs=(*reads, columns),
            inputs=(),
            outputs=(out, *host),
            outputs_attr="columns",
            **reader,
        ),
        Op(
            "Scale", "Scales.", attrs=(attr("by", "FLOAT64"),), inputs=(x,), outputs=(out,), **takes
        ),
        Op(
            "Turn",
            "Turns.",
            attrs=(attr("angles", "LIST_FLOAT64", (0.0,)), attr("to", "DTYPE", "int8")),
            inputs=(x,),
            outputs=(out,),
            **takes,
        ),
        Op(
            "Pad",
            "Pads.",
            attrs=masked,
            inputs=(x,),
            outputs=(out, Port("mask", "Where.")),
            **takes,
        ),
        Op(
            "PadMore",
            "Pads more.",
            attrs=masked,
            inputs=(x,),
            outputs=(out, Port("mask", "Where.")),
            **takes,
        ),
        Op("Join", "Joins.", attrs=(), inputs=(x,), outputs=(out,), has_many_inputs=True, **takes),
        Op(
            "Mix",
            "Mixes.",
            attrs=(attr("seed", "INT64", -1),),
            inputs=(x, Port("y", "The other one.")),
            outputs=(out, Port("share", "How much.")),
            has_optional_input=True,
            **takes,
        ),
        Op(
            "TakeView",
            "Takes.",
            attrs=(attr("n", "INT64"),),
            inputs=(x,),
            outputs=(out,),
            is_view=True,
            **takes,
        ),
    ]


def test_the_form_of_stubs():
    assert make_stubs(made_up_ops()) == FORM.read_text()


def test_stubs_are_written_without_the_package(tmp_path):
    """With nothing but Python, and the same text as with cffi."""
    command = [
        sys.executable,
        "-S",
        "-m",
        "tools.write_stubs",
        library_path(),
        tmp_path / "ops.pyi",
    ]
    subprocess.run(command, cwd=ROOT, check=True)
    text = (tmp_path / "ops.pyi").read_text()
    assert text == make_stubs(registered_ops()) and text.count("\n") < MOST_LINES
    assert max(map(len, text.splitlines())) < 120  # a parameter is not cut


def test_a_library_of_another_machine_leaves_stubs_as_they_are(tmp_path):
    (tmp_path / "other.so").write_bytes(b"\x7fELF of another machine")
    command = [
        sys.executable,
        "-m",
        "tools.write_stubs",
        tmp_path / "other.so",
        tmp_path / "ops.pyi",
    ]
    for said in ("is left out", "stays as it was"):
        run = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        assert f"ops.pyi {said}: " in run.stdout
        (tmp_path / "ops.pyi").write_text("here")


def test_what_readers_share_is_written_once():
    """Once in each declaration would be thousands of lines."""
    declarations = re.sub('""".*?"""', "", PATH.read_text(encoding="utf-8"), flags=re.S)
    readers = "|".join(op.name for op in registered_ops() if op.is_reader)
    found = re.split(r"\n(?=def |class )", declarations)
    declarations = "\n".join(
        one for one in found if re.match(rf"def ({readers})\(|class (File)?ReaderAttrs", one)
    )
    files = [op for op in registered_ops() if op.name in BUILT_IN and op.attr("data_dir")]
    for name in ("batch_size", "seed", "rank", "on_error", "files", "compression"):
        assert all(op.attr(name) for op in files)
        assert len(re.findall(rf"\b{name}: ", declarations)) == 1, name


def test_stubs_name_what_the_module_has():
    text = PATH.read_text(encoding="utf-8")
    for name in BUILT_IN:
        assert f"def {name}(" in text
        assert getattr(flow, name) is getattr(flow.ops, name)


def run_mypy(*arguments):
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def check_use(text, folder):
    """mypy finds errors in the lines that say so, and in no others."""
    (folder / "use.py").write_text(text)
    run = run_mypy("--config-file", "pyproject.toml", str(folder / "use.py"))
    found = {int(line.split(":")[1]) for line in run.stdout.splitlines() if ": error:" in line}
    expected = {n for n, line in enumerate(text.splitlines(), 1) if line.endswith("# an error")}
    assert found == expected, run.stdout


@pytest.mark.slow
def test_use_is_typed(tmp_path):
    check_use(USE, tmp_path)


EXAMPLES = {"int": "1", "bool": "True", "float": "0.5", "object": "[1]", "dtype": "np.uint8"}


def example(attr):
    """A value that a type checker accepts for the attr."""
    if attr.choices and attr.type.word == "str":
        return repr(attr.choices[0])
    if attr.type.element is not None:
        return f"[{attr.type.element(1)!r}]"
    return EXAMPLES.get(attr.type.word, "'text'")


@pytest.mark.slow
def test_every_attr_of_the_registry_is_typed(tmp_path):
    """Each is accepted by the functions that have it, alone, and refused with a wrong type."""
    lines = ["import numpy as np", "import pyflowdata as flow", "blob = flow.MiniReader()"]
    for op in registered_ops():
        if op.origin != "built in":
            continue
        needed = {python_name(port.name): "blob" for port in op.inputs}
        needed |= {python_name(attr.name): example(attr) for attr in op.attrs if attr.required}
        star = [needed.pop(python_name(op.inputs[0].name))] if op.has_many_inputs else []
        for attr in op.attrs:
            name = python_name(attr.name)
            for value, mark in ((example(attr), ""), ("wrong", "  # an error")):
                given = star + [f"{key}={one}" for key, one in (needed | {name: value}).items()]
                if value != "wrong" or attr.type.word not in ("object", "dtype"):  # take anything
                    lines.append(f"flow.{op.name}({', '.join(given)}){mark}")
    lines.insert(3, "class Wrong: ...\nwrong = Wrong()")
    check_use("\n".join(lines), tmp_path)


if __name__ == "__main__":
    FORM.write_text(make_stubs(made_up_ops()))
