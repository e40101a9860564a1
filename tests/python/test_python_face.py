"""What a Python user sees: functions made from the registry, blobs, forms of a batch."""

import importlib
import inspect
import os
import pickle
import pydoc
import rlcompleter
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from support import programs
import pyflowdata as flow
from pyflowdata.nodes import find_op
from pyflowdata.nodes.op_functions import make_function
from pyflowdata import native
from support.face import DATA, ROOT, Secret, loader, make_loader, rows


# ---- The module ---------------------------------------------------------------------------------


def test_module():
    assert set(flow.ops.__all__) <= set(flow.__all__)
    for name in flow.__all__:
        assert hasattr(flow, name)
    version = (ROOT / "csrc/registry/version.h").read_text()
    assert f'PFD_VERSION "{flow.__version__}"' in version
    assert (Path(flow.include_dir()) / "pyflowdata" / "op.h").is_file()


def import_with(library):
    environment = {**os.environ, "PYFLOWDATA_LIBRARY": str(library), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", "import pyflowdata"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    return run.stderr.strip().splitlines()[-1]


_TWO_IMPORTS = """
import importlib.machinery, sys, threading, time
import pyflowdata as flow

is_there, main = threading.Event(), threading.get_ident()

class Slow(importlib.machinery.SourceFileLoader):
    def create_module(self, spec):
        if spec.name == "pyflowdata.plugins":
            is_there.set()
            for _ in range(500):  # until the other thread waits for this one
                if sys._current_frames()[main].f_code.co_name == "acquire":
                    break
                time.sleep(0.01)

hook = importlib.machinery.FileFinder.path_hook((Slow, [".py"]))
(folder,) = flow.__path__
sys.path_importer_cache[folder] = hook(folder)  # of the package's own modules alone
first = threading.Thread(target=lambda: flow.Plugin)
first.start()
assert is_there.wait(10)
flow.register_decoder
first.join()
"""


def test_threads_import_names_of_the_module_at_once():
    environment = programs.environment()
    run = subprocess.run([sys.executable, "-c", _TWO_IMPORTS], env=environment, capture_output=True)
    assert run.returncode == 0 and run.stderr == b""


def test_library_that_does_not_fit(tmp_path):
    assert "ImportError: the library /no/such.so does not exist" in import_with("/no/such.so")
    (tmp_path / "text.so").write_text("no library")
    assert "cannot be loaded" in import_with(tmp_path / "text.so")


def test_an_interpreter_without_its_lock_needs_a_cffi_for_it(monkeypatch):
    import _cffi_backend
    from pyflowdata import native

    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    monkeypatch.setattr(_cffi_backend, "__version__", "2.1.1")
    native._check_cffi()
    monkeypatch.setattr(_cffi_backend, "__version__", "1.17.1")
    with pytest.raises(ImportError, match="cffi 1.17.1 .*PYTHON_GIL=0"):
        native._check_cffi()


def test_library_of_another_build():
    from pyflowdata.native import ffi
    from pyflowdata.native import Interface

    class Library:
        @staticmethod
        def pfd_abi_version():
            return 7

    class Loads:
        RTLD_NOW = RTLD_NODELETE = 0
        sizeof = ffi.sizeof

        @staticmethod
        def dlopen(*_):
            return Library

    interface = Interface(Loads, abi_function="pfd_abi_version", structs=["pfd_error"])
    with pytest.raises(ImportError, match="ABI 0x00000007.* run `make`"):
        interface.load(Path("other.so"))


def test_library_with_a_faulty_op(monkeypatch):
    class Library:
        @staticmethod
        def pfd_registry_check(err):
            err.op, err.message = b"Faulty", b"field 'attrs' is wrong"
            return library.PFD_INTERNAL

    library = native.lib
    monkeypatch.setattr(native, "lib", Library)
    with pytest.raises(ImportError, match="libpyflowdata.so: Faulty: field 'attrs' is wrong"):
        native._check_registry()
    assert library.pfd_registry_check(native.new_error()) == 0


@pytest.mark.slow
def test_cffi_and_its_lock_are_left_out(tmp_path):
    """The lock cannot be taken twice: a signal handler that needs it might wait for ever.  Only
    the part of cffi that is Python has it, and the parser that takes long to import."""
    code = f"""
import sys
import types
import pyflowdata as flow
with open({str(tmp_path / "part-0")!r}, "w") as file:
    file.write("1,2\\nx\\n3,4\\n")
blob = flow.MiniReader({str(tmp_path)!r}, batch_size=1, on_error="skip", with_id=True,
                       name="r", seed=3)[0]
x = flow.user_op_builder("d").Op("mini_decoder").Input("in", blob).Output("x").Build()
z = flow.Affine(x.SoleOutputBlob(), scale=2, dtype="float32")
for values in ([1], [0.5], ["a"], "a", 0.5, True):
    try:
        flow.Affine(z, scale=values)
    except flow.InvalidArgumentError:
        pass
with flow.DataLoader(z) as loader:
    state = loader.state_dict()
    assert len(list(loader)) == 3 and len(loader.skipped) == 1 and loader.stats()
    readers = dict(r=dict(state["readers"]["r"], seed=4))
    del state["sum"]
    loader.load_state_dict(dict(state, version=1, readers=readers))
    assert len(list(loader)) == 3
assert not set(sys.modules).intersection(["cffi", "pycparser"])
"""
    run = programs.run(code)
    assert (run.returncode, run.stderr) == (0, "")


# Modules that take time to import, and that few programs need.  Some are part of numpy's own import
# in some versions, so numpy is imported first.
HEAVY = (
    "asyncio bz2 concurrent.futures csv ctypes decimal email fractions html http "
    "importlib.metadata lzma multiprocessing pickletools platform queue secrets select "
    "shutil socket sqlite3 ssl subprocess tempfile typing_extensions unittest "
    "urllib.request xml zipfile pyflowdata.remote.client"
)


@pytest.mark.slow
def test_heavy_modules_are_not_imported():
    """`import pyflowdata`, and a loader, take little longer than NumPy."""
    code = f"""
import sys
import numpy
before = set(sys.modules)
import pyflowdata as flow
with flow.DataLoader(flow.MiniReader("data", batch_size=4)) as loader:
    next(iter(loader))
print(*sorted(set({HEAVY!r}.split()) & set(sys.modules) - before))
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.stdout.split() == [] and not run.stderr


# ---- Functions ----------------------------------------------------------------------------------


def test_signature():
    signature = inspect.signature(flow.MiniReader)
    parameters = signature.parameters
    assert next(iter(parameters)) == "data_dir"
    assert parameters["data_dir"].default == ""
    assert parameters["batch_size"].default == 1
    assert parameters["last_batch"].annotation is str
    assert parameters["random_shuffle"].default is False
    kinds = [parameter.kind for parameter in parameters.values()]
    assert kinds[0] is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert set(kinds[1:]) == {inspect.Parameter.KEYWORD_ONLY}
    assert flow.MiniReader.__name__ == "MiniReader"
    assert list(inspect.signature(flow.MiniDecoder).parameters) == ["in_", "name"]
    assert pickle.loads(pickle.dumps(flow.MiniReader)) is flow.MiniReader


def test_folder_comes_before_what_an_op_requires_itself():
    op = find_op("MiniReader")
    own = op.attr("data_part_num")._replace(name="columns", default=None)
    reader = op._replace(attrs=(own, *op.attrs))
    parameters = list(inspect.signature(make_function(reader)).parameters.values())
    assert [one.name for one in parameters[:2]] == ["data_dir", "columns"]
    assert parameters[1].kind is inspect.Parameter.KEYWORD_ONLY
    stream = op._replace(attrs=(own,))
    assert str(inspect.signature(make_function(stream))).startswith("(*, columns: int")


@pytest.mark.parametrize("name", flow.ops.__all__)
def test_help_names_every_parameter(name):
    function = getattr(flow, name)
    text = pydoc.render_doc(function, renderer=pydoc.plaintext)
    for name, parameter in inspect.signature(function).parameters.items():
        star = "*" if parameter.kind is inspect.Parameter.VAR_POSITIONAL else ""
        assert f"    {star}{name} (" in text
    assert all(len(line) <= 100 for line in inspect.getdoc(function).splitlines())


def test_help_has_defaults_and_limits():
    text = inspect.getdoc(flow.MiniReader)
    assert "data_dir (str, default '')" in text
    assert "batch_size (int, default 1, at least 1)" in text
    assert "default 'short', one of 'short', 'drop', 'pad', 'wrap', 'even')" in text
    assert "mask (only with with_mask=True)" in text
    assert "in_ (Blob or rows, the input 'in')" in inspect.getdoc(flow.MiniDecoder)


def test_positional_and_keyword():
    for blob in (
        flow.MiniReader(DATA, data_part_num=2, part_name_suffix_length=3),
        flow.MiniReader(data_dir=DATA, data_part_num=2, part_name_suffix_length=3),
    ):
        with flow.DataLoader(blob) as opened:
            assert len(opened) == 18
    blob = rows()
    for call in (lambda: flow.MiniDecoder(blob), lambda: flow.MiniDecoder(in_=blob)):
        assert len(call()) == 2
    assert len(flow.MiniDecoder(**{"in": blob})) == 2


def test_values_of_numpy_and_paths():
    blob = flow.MiniReader(
        Path(DATA), batch_size=np.int16(4), random_shuffle=np.True_, seed=np.array(3)
    )
    x, _ = flow.MiniDecoder(blob)
    for dtype in ("float32", np.float32, np.dtype("f4"), "f4"):
        assert flow.Affine(x, scale=np.float32(2), shift=1, dtype=dtype).dtype == np.float32


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: flow.MiniReader(), "no files are given"),
        (lambda: flow.MiniReader(DATA, batch_sise=4), "did you mean 'batch_size'"),
        (lambda: flow.MiniReader(DATA, data_dir=DATA), "'data_dir' was given twice"),
        (lambda: flow.MiniReader(DATA, 6), r"2 positional .* most 1 can be \(data_dir\)"),
        (lambda: flow.MiniDecoder(rows(), 6), r"2 positional .* most 1 can be \(in\)"),
        (lambda: flow.MiniReader(DATA, batch_size=None), "batch_size' = None"),
        (lambda: flow.MiniReader(DATA, batch_size=2.0), "use 2"),
        (lambda: flow.MiniReader(DATA, batch_size=True), "integer"),
        (lambda: flow.MiniReader(DATA, seed=2**63), "64 bits"),
        (lambda: flow.MiniReader(DATA, seed=[object()]), "must be an int"),
        (lambda: flow.MiniReader(DATA, last_batch=b"pad"), "must be a str"),
        (lambda: flow.MiniReader("a\0b"), "NUL"),
        (lambda: flow.MiniReader("\ud800"), "Unicode"),
        (lambda: flow.MiniReader(DATA, name=3), "name = 3"),
        (lambda: flow.MiniReader(DATA, batch_size=3, rank=0, world_size=2), "sizes are 2 and 4"),
        (lambda: flow.MiniDecoder(), "input 'in' is missing"),
        (lambda: flow.MiniDecoder(flow.MiniDecoder(rows())), "it has 2 blobs"),
        (lambda: flow.MiniDecoder(object()), r"\(object\); it must be a Blob"),
        (lambda: flow.Affine(rows(), scale=None), "scale' = None"),
        (lambda: flow.Affine(rows(), dtype="flaot32"), "did you mean 'float32'"),
        (lambda: flow.Affine(rows(), dtype=np.dtype(">f4")), ">f4"),
        (lambda: flow.Affine(rows(), scale=[[1.0]]), "a list of float"),
    ],
)
def test_mistakes(call, says):
    with pytest.raises(flow.InvalidArgumentError, match=says) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    assert caught.value.op in ("MiniReader", "MiniDecoder", "Affine")
    assert str(caught.value).startswith(f"{caught.value.op}: ")


def test_blobs():
    blob = rows(name="rows")
    assert (blob.name, blob.shape, blob.dtype, blob.sbp) == (
        "rows/out", (4, 2), np.dtype(np.float64), "split(0)"
    )  # fmt: skip
    assert blob.batch_size == 4
    assert repr(blob) == "Blob('rows/out', shape=(4, 2), dtype=float64, sbp='split(0)')"
    out, mask, ids = rows(with_mask=True, with_id=True)
    assert (mask.shape, mask.dtype) == ((4,), np.bool_)
    assert (ids.shape, ids.dtype) == ((4, 2), np.int64)
    with pytest.raises(AttributeError):
        blob.shape = ()


def test_shapes_are_logical_and_batches_are_local():
    blob = rows(rank=1, world_size=2)
    assert blob.shape == (4, 2)
    with flow.DataLoader(blob) as opened:
        assert [batch.shape for batch in opened] == [(2, 2)] * 4 + [(1, 2)]


def test_rank_without_rows():
    with make_loader({"batch_size": 16, "rank": 15, "world_size": 16}) as opened:
        shapes = [(x.shape, y.shape) for x, y in opened]
    assert shapes == [((1, 1), (1, 1)), ((0, 1), (0, 1))]


# ---- Forms of a batch ---------------------------------------------------------------------------


def test_forms():
    x, y = flow.MiniDecoder(rows())
    with flow.DataLoader(x) as opened:
        batch = next(iter(opened))
        assert isinstance(batch, np.ndarray) and batch.shape == (4, 1)
    for given in ((x, y), ([x, y],), ((x, y),)):
        with flow.DataLoader(*given) as opened:
            batch = next(iter(opened))
            assert type(batch) is tuple and len(batch) == 2
    with flow.DataLoader((x,)) as opened:
        assert len(next(iter(opened))) == 1
    with flow.DataLoader({"in": x, "out": y}) as opened:
        batch = next(iter(opened))
        assert list(batch) == ["in", "out"] and batch["out"][0, 0] == 2.02


def test_dtypes():
    out, mask, ids = rows(last_batch="pad", with_mask=True, with_id=True)
    x, _ = flow.MiniDecoder(out)
    with flow.DataLoader(flow.Affine(x, scale=2, dtype="float32"), mask, ids) as opened:
        *_, (z, m, i) = opened
    assert (z.dtype, m.dtype, i.dtype) == (np.float32, np.bool_, np.int64)
    assert m.tolist() == [True, True, False, False]
    assert i.tolist() == [[1, 16], [1, 17], [1, 17], [1, 17]]


@pytest.mark.parametrize(
    "given, says",
    [
        ((), "none is given"),
        (((),), "none is given"),
        (({},), "none is given"),
        ((3,), "an int was given"),
        (("rows", "more"), r"a str was given: open the files, flow.open\('rows'\)"),
        ((Secret(),), "a Secret was given"),
    ],
)
def test_what_is_no_blob(given, says):
    with pytest.raises(flow.InvalidArgumentError, match=says):
        flow.DataLoader(*given)


@pytest.mark.parametrize(
    "options, says",
    [
        ({"num_threads": -1}, "num_threads = -1"),
        ({"num_threads": 1.5}, "num_threads = 1.5"),
        ({"num_threads": True}, "num_threads = True"),
        ({"prefetch": -1}, "prefetch = -1"),
        ({"prefetch": 2**40}, "32 bits"),
        ({"memory_budget": -1}, "memory_budget = -1"),
        ({"memory_budget": "1G"}, "memory_budget = '1G'"),
        ({"zip": "longest"}, "strict, shortest"),
    ],
)
def test_wrong_options(options, says):
    with pytest.raises(flow.InvalidArgumentError, match=says):
        make_loader(**options)


def test_zip():
    short = rows(data_part_num=1, part_name_suffix_length=3)
    with pytest.raises(flow.InvalidArgumentError):
        flow.DataLoader(rows(), short)
    with flow.DataLoader(rows(), short, zip="shortest") as opened:
        assert len(opened) == len(list(opened)) == 3


@pytest.mark.parametrize("key", ["nme", "nane", "names"])
def test_a_mistyped_name_of_a_node(key):
    with pytest.raises(flow.InvalidArgumentError, match=f"'{key}'; did you mean 'name'"):
        flow.MiniReader("data", **{key: "r"})


def test_names_that_are_shown():
    """dir() has the ops and the public names, which all are there; no module that makes them."""
    shown = dir(flow)
    assert {*flow.__all__, *flow.ops.__all__, "open", "compile", "io", "testing"} <= {*shown}
    for name in shown:
        value = getattr(flow, name)
        is_public = name in ("io", "ops", "testing")
        assert is_public or not isinstance(value, types.ModuleType), name
    assert "nodes" not in shown and flow.nodes is importlib.import_module("pyflowdata.nodes")
    assert dir(flow.ops) == sorted(flow.ops.__all__) and dir(flow.testing) == flow.testing.__all__
    assert {*flow.io.__all__} == {name for name in dir(flow.io) if not name.startswith("_")}
    completer = rlcompleter.Completer({"flow": flow})
    words = [completer.complete("flow.TFR", i) for i in range(3)]
    assert words == ["flow.TFRecordFrame(", "flow.TFRecordReader(", None]
