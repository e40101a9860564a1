"""What a Python user sees: functions made from the registry, blobs, and the DataLoader."""

import copy
import dataclasses
import gc
import inspect
import json
import os
import pickle
import pydoc
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata import loader as loader_module
from pyflowdata import opening as opening_module
from pyflowdata.op_functions import make_function
from pyflowdata.registry import find_op

ROOT = Path(__file__).resolve().parent.parent
DATA = str(ROOT / "data")


def rows(**attrs):
    return flow.MiniReader(DATA, **{"batch_size": 4, **attrs})


def make_loader(reader_attrs=None, **options):
    x, y = flow.MiniDecoder(rows(**(reader_attrs or {})))
    return flow.DataLoader(x, y, **options)


def epoch_of(batches):
    return [batch[0].ravel().tolist() for batch in batches]


class Secret:
    def __repr__(self):
        raise ValueError("not told")


@pytest.fixture
def loader():
    with make_loader({"random_shuffle": True, "shuffle_after_epoch": True, "seed": 5}) as opened:
        yield opened


# ---- The module ---------------------------------------------------------------------------------


def test_module():
    assert set(flow.ops.__all__) <= set(flow.__all__)
    for name in flow.__all__:
        assert hasattr(flow, name)
    version = (ROOT / "csrc/op/version.h").read_text()
    assert f'PFD_VERSION "{flow.__version__}"' in version
    assert (Path(flow.include_dir()) / "pyflowdata" / "op.h").is_file()


def import_with(library):
    environment = {**os.environ, "PYFLOWDATA_LIBRARY": str(library), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", "import pyflowdata"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    return run.stderr.strip().splitlines()[-1]


def test_library_that_does_not_fit(tmp_path):
    assert "ImportError: the library /no/such.so does not exist" in import_with("/no/such.so")
    (tmp_path / "text.so").write_text("no library")
    assert "cannot be loaded" in import_with(tmp_path / "text.so")


def test_library_of_another_build(monkeypatch):
    from pyflowdata import _native

    class Library:
        @staticmethod
        def pfd_abi_version():
            return 7

    class Loads:
        RTLD_NOW = RTLD_NODELETE = 0
        sizeof = _native.ffi.sizeof

        @staticmethod
        def dlopen(*_):
            return Library

    monkeypatch.setattr(_native, "ffi", Loads)
    with pytest.raises(ImportError, match="ABI 0x00000007.*headers in .* run `make`"):
        _native._load()


def test_library_with_a_faulty_op(monkeypatch):
    from pyflowdata import _native

    class Library:
        @staticmethod
        def pfd_registry_check(err):
            err.op, err.message = b"Faulty", b"field 'attrs' is wrong"
            return library.PFD_INTERNAL

    library = _native.lib
    monkeypatch.setattr(_native, "lib", Library)
    with pytest.raises(ImportError, match="libpyflowdata.so: Faulty: field 'attrs' is wrong"):
        _native._check_registry()
    assert library.pfd_registry_check(_native.new_error()) == 0


def test_nothing_is_looked_up_late(tmp_path):
    """cffi's lock cannot be taken twice: a signal handler that needs it might wait for ever."""
    code = f"""
import pyflowdata as flow
from pyflowdata import _native
class Forbidden:
    def __enter__(self):
        raise AssertionError("cffi's lock was taken")
    def __exit__(self, *_):
        pass
_native.ffi._lock = Forbidden()
with open({str(tmp_path / "part-0")!r}, "w") as file:
    file.write("1,2\\nx\\n3,4\\n")
blob = flow.MiniReader({str(tmp_path)!r}, on_error="skip", with_id=True, name="r", seed=3)[0]
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
    loader.load_state_dict(dict(state, readers=dict(r=dict(state["readers"]["r"], seed=4))))
    assert len(list(loader)) == 3
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")


# ---- Functions ----------------------------------------------------------------------------------


def test_signature():
    signature = inspect.signature(flow.MiniReader)
    parameters = signature.parameters
    assert next(iter(parameters)) == "data_dir"
    assert parameters["data_dir"].default is inspect.Parameter.empty
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
    own = dataclasses.replace(op.attrs[1], name="columns", default=None)
    reader = dataclasses.replace(op, attrs=(own, *op.attrs))
    parameters = list(inspect.signature(make_function(reader)).parameters.values())
    assert [one.name for one in parameters[:2]] == ["data_dir", "columns"]
    assert parameters[1].kind is inspect.Parameter.KEYWORD_ONLY
    stream = dataclasses.replace(op, attrs=(own,))
    assert str(inspect.signature(make_function(stream))).startswith("(*, columns: int")


@pytest.mark.parametrize("name", flow.ops.__all__)
def test_help_names_every_parameter(name):
    function = getattr(flow, name)
    text = pydoc.render_doc(function, renderer=pydoc.plaintext)
    for parameter in inspect.signature(function).parameters:
        assert f"    {parameter} (" in text
    assert all(len(line) <= 100 for line in inspect.getdoc(function).splitlines())


def test_help_has_defaults_and_limits():
    text = inspect.getdoc(flow.MiniReader)
    assert "data_dir (str, required)" in text
    assert "batch_size (int, default 1, at least 1)" in text
    assert "default 'short', one of 'short', 'drop', 'pad', 'wrap')" in text
    assert "mask (only with with_mask=True)" in text
    assert "in_ (Blob, the input 'in')" in inspect.getdoc(flow.MiniDecoder)


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
        (lambda: flow.MiniReader(), "'data_dir' is required"),
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
        (lambda: flow.MiniReader(DATA, batch_size=3, world_size=2), "nearest sizes are 2 and 4"),
        (lambda: flow.MiniDecoder(), "input 'in' is missing"),
        (lambda: flow.MiniDecoder(flow.MiniDecoder(rows())), "it has 2 blobs"),
        (lambda: flow.MiniDecoder(np.zeros((4, 2))), "type ndarray; it must be a Blob"),
        (lambda: flow.Affine(rows(), dtype=None), "dtype' = None"),
        (lambda: flow.Affine(rows(), dtype="flaot32"), "did you mean 'float32'"),
        (lambda: flow.Affine(rows(), dtype=np.dtype(">f4")), ">f4"),
        (lambda: flow.Affine(rows(), scale=[1.0]), "a number"),
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
        ((), "no blobs"),
        (((),), "no blobs"),
        (({},), "no blobs"),
        ((3,), "3 was given as a blob"),
        (("rows", "more"), "'rows' was given"),
        ((Secret(),), r"<Secret without a repr\(\)> was given"),
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


# ---- Epochs -------------------------------------------------------------------------------------


def test_one_iteration_is_one_epoch(loader):
    assert len(loader) == 5
    epochs = [epoch_of(loader) for _ in range(3)]
    assert [len(batches) for batches in epochs] == [5, 5, 5]
    flat = [sum(batches, []) for batches in epochs]
    assert sorted(flat[0]) == sorted(flat[1]) == sorted(flat[2])
    assert flat[0] != flat[1] != flat[2]


def test_end_stays_the_end(loader):
    iterator = iter(loader)
    assert iter(iterator) is iterator
    assert len(list(iterator)) == 5
    assert list(iterator) == []


def test_break_goes_to_the_next_epoch(loader):
    expected = [epoch_of(loader) for _ in range(3)]
    with make_loader({"random_shuffle": True, "shuffle_after_epoch": True, "seed": 5}) as again:
        for _ in again:
            break
        assert again.epoch == 0
        assert epoch_of(again) == expected[1]
        iter(again)
        assert again.epoch == 2
        assert epoch_of(again) == epoch_of_number(3)


def epoch_of_number(number):
    with make_loader({"random_shuffle": True, "shuffle_after_epoch": True, "seed": 5}) as opened:
        for _ in range(number):
            iter(opened)
        return epoch_of(opened)


def test_repeat(loader):
    expected = sum((epoch_of_number(number) for number in range(3)), [])
    endless = loader.repeat()
    found = epoch_of(next(endless) for _ in range(12))
    assert found == expected[:12]
    assert loader.epoch == 2
    assert loader.state_dict()["position"] == 2
    assert epoch_of(next(loader.repeat()) for _ in range(3)) == expected[12:15]
    assert loader.state_dict()["epoch"] == 3


def test_repeat_of_nothing():
    with make_loader({"batch_size": 20, "last_batch": "drop"}) as opened:
        assert len(opened) == 0 and list(opened) == [] and bool(opened)
        with pytest.raises(flow.InvalidArgumentError, match="would never end"):
            next(opened.repeat())


def test_older_iterator_gives_way(loader):
    older = iter(loader)
    next(older)
    newer = iter(loader)
    with pytest.raises(flow.CancelledError, match="newer") as caught:
        next(older)
    assert isinstance(caught.value, RuntimeError)
    assert len(list(newer)) == 5


def test_loader_is_collected_without_cycles():
    opened = make_loader()
    iterator = iter(opened)
    next(iterator)
    threads = threading.active_count()
    gc.disable()
    try:
        known = len(loader_module._open_loaders)
        del opened, iterator
        assert len(loader_module._open_loaders) == known - 1
    finally:
        gc.enable()
    assert threading.active_count() == threads


# ---- Arrays -------------------------------------------------------------------------------------


def test_arrays_are_writable_views(loader):
    for x, y in loader:
        for array in (x, y):
            assert array.flags.writeable and array.flags.c_contiguous and not array.flags.owndata
            assert array.ctypes.data % 64 == 0
            array += 1


def test_held_arrays_keep_their_values(loader):
    held = [batch for _ in range(4) for batch in loader]
    copies = [(x.copy(), y.copy()) for x, y in held]
    for _ in range(4):
        for x, y in loader:
            x[:] = y[:] = -1
    for (x, y), (x_copy, y_copy) in zip(held, copies, strict=True):
        assert np.array_equal(x, x_copy) and np.array_equal(y, y_copy)


def slots_held(opened):
    return opened.stats()["slots_held"]


def test_slot_goes_back_with_the_last_view(loader):
    iterator = iter(loader)
    x, y = next(iterator)
    assert slots_held(loader) == 1
    view = y[1:].T
    del x, y
    assert slots_held(loader) == 1
    memory = memoryview(view)
    del view
    assert slots_held(loader) == 1
    memory.release()
    del memory
    assert slots_held(loader) == 0


def test_slots_go_back_from_other_threads(loader):
    held = [batch for _ in range(3) for batch in loader]
    assert slots_held(loader) == 15
    threads = [threading.Thread(target=held[n::3].clear) for n in range(3)]
    held.clear()
    for thread in threads:
        thread.start()
    del thread
    for _ in range(3):
        threads.pop().join()
    gc.collect()
    assert slots_held(loader) == 0


def test_steady_loop_needs_few_slots(loader):
    for _ in range(200):
        for batch in loader:  # noqa: B007
            pass
    assert loader.stats()["slots"] <= loader._info.prefetch + 3


def test_arrays_outlive_the_loader():
    opened = make_loader()
    batches = list(opened)
    opened.close()
    del opened
    assert batches[0][0].ravel().tolist() == [1.01, 2.01, 3.0, 4.1]
    batches[0][0][:] = 0


def test_process_ends_while_arrays_are_held():
    code = f"""
import pyflowdata as flow
x, y = flow.MiniDecoder(flow.MiniReader({DATA!r}, batch_size=4))
loader = flow.DataLoader(x, y)
endless = loader.repeat()
held = [next(endless) for _ in range(50)]
class Late:
    def __del__(self, held=held):
        held.clear()
late = Late()
"""
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (run.returncode, run.stderr) == (0, "")


# ---- Facts --------------------------------------------------------------------------------------


def test_repr():
    with make_loader({"seed": 7, "name": "rows"}, num_threads=2, prefetch=3) as opened:
        text = repr(opened)
        for part in ("rows: seed=7", "steps=5", "num_threads=2", "prefetch=3", "MiniDecoder/x"):
            assert part in text
    assert "closed" in repr(opened)


def test_drawn_seed_is_shown():
    with make_loader({"random_shuffle": True}) as opened:
        seed = opened.state_dict()["readers"]["MiniReader_0"]["seed"]
        assert f"seed={seed}," in repr(opened)


def test_default_seed_is_said_once_for_a_reader():
    attrs = {"random_shuffle": True, "world_size": 2}
    for name in ("one", "other"):
        says = f"{name}: seed is left open with world_size = 2; 0 is used"
        with pytest.warns(UserWarning, match=says) as told:
            make_loader({**attrs, "name": name}).close()
        assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_loader({**attrs, "name": "one"}).close()
        make_loader({**attrs, "seed": 0}).close()
        make_loader({**attrs, "random_shuffle": False}).close()


def test_shuffle_without_effect_is_said_once_for_a_reader():
    attrs = {"shuffle_after_epoch": True, "name": "in order"}
    with pytest.warns(UserWarning, match="in order: shuffle_after_epoch=True has no") as told:
        make_loader(attrs).close()
    assert [one.filename for one in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_loader(attrs).close()
        make_loader({**attrs, "name": "at random", "random_shuffle": True}).close()


def test_no_copies(loader):
    for call in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"state_dict\(\)"):
            call(loader)


def test_zero_is_automatic():
    zero = {"num_threads": 0, "prefetch": 0, "memory_budget": 0}
    with make_loader({"seed": 1}) as one, make_loader({"seed": 1}, **zero) as other:
        assert repr(one) == repr(other)


def test_same_blob_twice_shares_memory():
    blob = rows()
    with flow.DataLoader(blob, blob) as opened:
        assert np.shares_memory(*next(iter(opened)))


def test_stats(loader):
    stats = loader.stats()
    assert stats["batches"] == 0
    list(loader)
    stats = loader.stats()
    assert (stats["batches"], stats["records"], stats["skipped"]) == (5, 18, 0)
    assert stats["bytes"] > 0
    seconds = {key: value for key, value in stats.items() if isinstance(value, float)}
    assert set(seconds) == {"wait_seconds", "help_seconds", "idle_seconds"}
    assert 0 <= max(seconds.values()) < 60 and not [key for key in stats if key.endswith("_ns")]


def test_skipped(tmp_path):
    (tmp_path / "part-0").write_text("1,2\nx,2\n3,4\n5\n")
    blob = flow.MiniReader(tmp_path, batch_size=2, on_error="skip")
    with flow.DataLoader(blob) as opened:
        assert [batch.tolist() for batch in opened] == [[[1.0, 2.0]], [[3.0, 4.0]]]
        skipped = opened.skipped
        assert [str(error) for error in opened.skipped] == [str(error) for error in skipped]
    assert [error.line for error in skipped] == [2, 4]
    assert all(isinstance(error, flow.CorruptDataError) for error in skipped)


# ---- Errors -------------------------------------------------------------------------------------


def test_error_text():
    error = flow.CorruptDataError(
        "no number", op="MiniReader", file="data/part-001", line=7, byte=48, ordinal=15
    )
    assert str(error) == "MiniReader: data/part-001:7 (byte 48): no number"
    assert str(flow.FileError("gone", file="a")) == "a: gone"
    assert str(flow.FileError("gone", file="a", ordinal=3, byte=9)) == "a (record 3, byte 9): gone"
    assert str(flow.Error("just this")) == "just this"
    same = pickle.loads(pickle.dumps(error))
    assert (type(same), str(same), vars(same)) == (type(error), str(error), vars(error))


def test_file_of_an_error_can_be_opened(tmp_path):
    folder = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(folder)
    with open(folder + b"/part-0", "wb") as file:
        file.write(b"1,2\nx,2\n")
    with flow.DataLoader(flow.MiniReader(os.fsdecode(folder))) as opened:
        next(batches := iter(opened))
        with pytest.raises(flow.CorruptDataError) as caught:
            next(batches)
    with open(caught.value.file, "rb") as file:
        assert file.read() == b"1,2\nx,2\n"
    assert "/\\udcff/part-0:2" in str(caught.value)


def test_errors_are_what_python_calls_them():
    for error, builtin in {
        flow.InvalidArgumentError: ValueError,
        flow.CorruptDataError: ValueError,
        flow.FileError: OSError,
        flow.UnsupportedError: RuntimeError,
        flow.OutOfMemoryError: MemoryError,
        flow.CancelledError: RuntimeError,
        flow.InternalError: RuntimeError,
    }.items():
        assert issubclass(error, builtin) and issubclass(error, flow.Error)
        assert str(error("text", op="MiniReader")) == "MiniReader: text"


def test_loop_goes_on_behind_a_bad_batch(tmp_path):
    (tmp_path / "part-0").write_text("1,2\n2,2\nx,2\n4,2\n5,2\n")
    with flow.DataLoader(flow.MiniReader(tmp_path, batch_size=2)) as opened:
        iterator = iter(opened)
        next(iterator)
        with pytest.raises(flow.CorruptDataError, match=r"part-0:3 \(byte 8\)") as caught:
            next(iterator)
        assert (caught.value.line, caught.value.byte, caught.value.ordinal) == (3, 8, 2)
        assert opened.state_dict()["position"] == 1
        assert next(iterator)[0, 0] == 5
        assert opened.state_dict()["epoch"] == 1
        assert list(iterator) == []


def test_endless_loop_goes_on_behind_bad_batches_alone(tmp_path):
    (tmp_path / "part-0").write_text("x,2\n")
    with flow.DataLoader(flow.MiniReader(tmp_path)) as opened:
        endless = opened.repeat()
        for epoch in range(3):
            with pytest.raises(flow.CorruptDataError):
                next(endless)
            assert opened.epoch == epoch


def interrupt(monkeypatch, iterator):
    """What a signal does that comes while next() waits."""

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(loader_module, "_next", interrupted)
        with pytest.raises(KeyboardInterrupt):
            next(iterator)


def test_failures_that_pass_nothing_over_move_nothing(tmp_path, monkeypatch):
    (tmp_path / "part-0").write_text("".join(f"{n},0\n" for n in range(300)))
    with flow.DataLoader(flow.MiniReader(tmp_path), prefetch=1, memory_budget=8192) as opened:
        iterator, held = iter(opened), []
        with pytest.raises(flow.OutOfMemoryError):
            while True:
                held.append(next(iterator))
        position = opened.state_dict()["position"]
        assert 1 < position == len(held)
        for _ in range(3):
            with pytest.raises(flow.OutOfMemoryError):
                next(iterator)
        assert opened.state_dict()["position"] == position
        interrupt(monkeypatch, iterator)
        held.clear()
        assert [batch[0, 0] for batch in iterator] == list(range(position, 300))


def test_bad_batch_is_met_again_after_an_interrupt(tmp_path, monkeypatch):
    """The loader goes back behind what was delivered last, as a state taken there would."""
    (tmp_path / "part-0").write_text("0,0\nx,0\n2,0\n")
    with flow.DataLoader(flow.MiniReader(tmp_path)) as opened:
        iterator = iter(opened)
        next(iterator)
        for _ in range(2):
            with pytest.raises(flow.CorruptDataError):
                next(iterator)
            interrupt(monkeypatch, iterator)
        with pytest.raises(flow.CorruptDataError):
            next(iterator)
        assert [batch[0, 0] for batch in iterator] == [2]


# ---- State --------------------------------------------------------------------------------------


def test_state_is_small_and_json():
    long = "a_reader_with_a_name_that_says_very_much_about_what_it_is_for"
    blobs = [rows(name=f"{long}_{n}", order_key="k" * 900, seed=2**62) for n in range(2)]
    with flow.DataLoader(*blobs) as opened:
        state = opened.state_dict()
        text = json.dumps(state)
        assert len(text) < 1024
        opened.load_state_dict(json.loads(text))
        assert opened.state_dict() == state


@pytest.mark.parametrize("count", range(1, 9))
@pytest.mark.parametrize("letter", ["n", "é", "\U0001f600", '"'])
def test_state_of_many_readers_is_small(count, letter):
    attrs = {"random_shuffle": True, "seed": 2**62, "order_key": "k" * 900}
    names = [f"{letter * 60}_{n}" for n in range(count)]
    with flow.DataLoader([rows(name=name, **attrs) for name in names]) as opened:
        opened.load_state_dict({**opened.state_dict(), "epoch": 2**62, "position": 4})
        state = opened.state_dict()
        assert (state["epoch"], len(state["readers"])) == (2**62, count)
        assert len(json.dumps(state)) < 1024


def test_state_of_many_readers_names_those_that_differ():
    def opened(**attrs):
        blobs = [rows(name=f"r{n}", seed=n) for n in range(7)]
        return flow.DataLoader([*blobs, rows(name="r7", seed=3, **attrs)])

    with opened() as one, opened(random_shuffle=True) as other:
        next(iter(one))
        state = json.loads(json.dumps(one.state_dict()))
        assert isinstance(state["readers"]["r7"]["spec"], str)
        with pytest.raises(flow.InvalidArgumentError) as caught:
            other.load_state_dict(state)
        assert "r7: the attrs that decide the order are others" in str(caught.value)
        assert "r6" not in str(caught.value) and "files" not in str(caught.value)
        one.load_state_dict(state)
        assert one.state_dict() == state and len(list(one)) == 4
        mixed = {**state["readers"], "r7": {**state["readers"]["r7"], "spec": {}}}
        with pytest.raises(flow.InvalidArgumentError, match="malformed"):
            one.load_state_dict({**state, "readers": mixed})


def test_names_in_a_state_are_unique():
    names = ["MiniReader_2", "MiniReader_2#2", None, "MiniReader_2#3"]
    with flow.DataLoader([rows(name=name, seed=n) for n, name in enumerate(names)]) as opened:
        state = opened.state_dict()
        assert [reader["seed"] for reader in state["readers"].values()] == [0, 1, 2, 3]
        opened.load_state_dict(state)
        assert opened.state_dict() == state


def test_last_epochs(loader):
    state = loader.state_dict()
    for epoch in (2**62 + 1, 2**63 - 1, 2**63, 10**5000):
        with pytest.raises(flow.InvalidArgumentError, match="malformed: epoch"):
            loader.load_state_dict({**state, "epoch": epoch})
    for begin in (iter, flow.DataLoader.repeat):
        loader.load_state_dict({**state, "epoch": 2**62 - 1, "position": 4})
        batches = begin(loader)
        next(batches)
        if begin is iter:
            assert list(batches) == []
        last = loader.state_dict()
        assert (last["epoch"], last["position"]) == (2**62, 0)
        loader.load_state_dict(last)
        assert loader.state_dict() == last
        with pytest.raises(flow.InvalidArgumentError, match="no epoch behind"):
            begin(loader)
        assert loader.state_dict() == last


@pytest.mark.parametrize("stop", range(11))
def test_resume(loader, stop):
    expected = sum((epoch_of_number(number) for number in range(3)), [])
    endless = loader.repeat()
    for _ in range(stop):
        next(endless)
    state = loader.state_dict()
    assert (state["epoch"], state["position"]) == divmod(stop, 5)
    attrs = {"random_shuffle": True, "shuffle_after_epoch": True, "seed": 1}
    with make_loader(attrs, num_threads=1, prefetch=1) as other:
        other.load_state_dict(state)
        assert other.state_dict() == state
        assert (other.epoch, "seed=5" in repr(other)) == (stop // 5, True)
        rest = epoch_of(other)
        assert rest == expected[stop : stop // 5 * 5 + 5]
        other.load_state_dict(state)
        again = other.repeat()
        assert epoch_of(next(again) for _ in range(15 - stop)) == expected[stop:]


def test_load_stops_iterators(loader):
    iterator = iter(loader)
    next(iterator)
    loader.load_state_dict(loader.state_dict())
    with pytest.raises(flow.CancelledError, match="state was loaded"):
        next(iterator)
    assert len(list(loader)) == 4


def test_state_of_another_loader_is_refused(loader):
    state = loader.state_dict()
    with make_loader({"batch_size": 2, "random_shuffle": True, "last_batch": "drop"}) as other:
        with pytest.raises(flow.InvalidArgumentError) as caught:
            other.load_state_dict(state)
        assert other.epoch == 0 and len(list(other)) == 9
    for part in ("batch_size = 2, in the state 4", "last_batch = drop, in the state short"):
        assert part in str(caught.value)
    with make_loader({"name": "other"}) as other:
        with pytest.raises(flow.InvalidArgumentError, match="'MiniReader_0'(.|\n)*'other'"):
            other.load_state_dict(state)


def test_state_of_other_files_is_refused(tmp_path):
    def opened():
        return flow.DataLoader(flow.MiniReader(tmp_path, name="r"))

    (tmp_path / "part-0").write_text("1,2\n3,4\n")
    with opened() as first:
        state = first.state_dict()
    (tmp_path / "part-0").write_text("1,2\n3,5\n")
    with opened() as changed, pytest.raises(flow.InvalidArgumentError, match="other content"):
        changed.load_state_dict(state)
    (tmp_path / "part-1").write_text("5,6\n")
    with opened() as more, pytest.raises(flow.InvalidArgumentError) as caught:
        more.load_state_dict(state)
    assert "r: the data has 2 files, in the state 1" in str(caught.value)
    assert "r: the data has 3 records, in the state 2" in str(caught.value)


def change(**values):
    return lambda state: {**state, **values}


@pytest.mark.parametrize(
    "damage, says",
    [
        (lambda state: None, "NoneType"),
        (lambda state: {}, r"no version; give what DataLoader.state_dict\(\) returned"),
        (change(version=True), "version True"),
        (change(version=1.0), "version 1.0"),
        (change(version=np.array([1, 1])), "version array"),
        (change(epoch=np.array([1, 1])), "epoch = array"),
        (change(position="0" * 10**6), "position = '000"),
        (change(readers={3: {}}), "3 in readers"),
        (change(version=2), "version 2"),
        (change(epoch=-1), "epoch = -1"),
        (change(epoch=1.0), "epoch = 1.0"),
        (change(epoch=2**62), "epoch = 4611686018427387904"),
        (change(position="0"), "position = '0'"),
        (change(position=6), "has 5 batches"),
        (change(position=True), "position = True"),
        (change(readers=[]), "readers = \\[\\]"),
        (change(readers={"MiniReader_0": 1}), "must be a dict"),
        (change(readers={"MiniReader_0": {"spec": {}}}), "seed = None"),
        (change(readers={"MiniReader_0": {"spec": {"a": np.zeros(2)}}}), "spec.a = array"),
        (change(readers={"MiniReader_0": {"spec": {3: "4"}}}), "the key 3"),
    ],
)
def test_damaged_state_is_refused(loader, damage, says):
    state = loader.state_dict()
    with pytest.raises(flow.InvalidArgumentError, match=says):
        loader.load_state_dict(damage(state))
    assert loader.state_dict() == state


# ---- Life ---------------------------------------------------------------------------------------


def test_with_and_close():
    with make_loader() as opened:
        iterator = iter(opened)
        next(iterator)
        state = opened.state_dict()
    for call in (
        lambda: next(iterator),
        lambda: iter(opened),
        opened.repeat,
        lambda: opened.load_state_dict(state),
    ):
        with pytest.raises(flow.CancelledError, match="the DataLoader is closed"):
            call()
    assert (len(opened), opened.epoch, opened.state_dict()) == (5, 0, state)
    assert (opened.stats()["batches"], opened.skipped) == (1, [])
    opened.close()


def test_close_from_another_thread_ends_a_wait(monkeypatch, loader):
    waiting = threading.Event()

    def pending(*_):
        waiting.set()
        time.sleep(0.01)
        return loader_module.lib.PFD_PENDING

    monkeypatch.setattr(loader_module, "_next", pending)

    def close():
        waiting.wait()
        loader.close()

    thread = threading.Thread(target=close)
    thread.start()
    with pytest.raises(flow.CancelledError, match="closed"):
        next(iter(loader))
    thread.join()


def test_threads_take_turns(loader):
    endless = loader.repeat()
    found = []

    def take():
        for _ in range(100):
            found.append(next(endless)[0].ravel().tolist())

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loader.state_dict()["epoch"] == 80
    loader.load_state_dict({**loader.state_dict(), "epoch": 0})
    alone = loader.repeat()
    assert sorted(found) == sorted(epoch_of(next(alone) for _ in range(400)))


def test_interrupt_ends_a_wait(monkeypatch, loader):
    def pending(*_):
        time.sleep(0.01)
        return loader_module.lib.PFD_PENDING

    iterator = iter(loader)
    with monkeypatch.context() as patch:
        patch.setattr(loader_module, "_next", pending)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            next(iterator)
    assert len(list(iterator)) == 5


def test_interrupt_ends_an_open(monkeypatch):
    """What is opened for nobody is released when it is open."""
    real, may_open = opening_module.lib, threading.Event()

    class Library:
        def __getattr__(self, name):
            return getattr(real, name)

        def pfd_loader_open(self, *arguments):
            may_open.wait()
            return real.pfd_loader_open(*arguments)

        def pfd_loader_release(self, loader):
            released.append(loader)
            real.pfd_loader_release(loader)

    released = []
    blob = rows()
    monkeypatch.setattr(opening_module, "lib", Library())
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt) as kept:
        flow.DataLoader(blob)
    assert not released and kept
    may_open.set()
    deadline = time.monotonic() + 10
    while not released and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(released) == 1


def test_open_where_no_thread_can_be_started(monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with make_loader() as opened:
        assert len(list(opened)) == 5
    with pytest.raises(flow.FileError, match="/no/such"):
        flow.DataLoader(flow.MiniReader("/no/such"))


def test_interrupts_are_never_swallowed():
    """Wherever in the loop they come: the finalizers of arrays run no Python code."""
    code = f"""
import signal
import pyflowdata as flow
x, y = flow.MiniDecoder(flow.MiniReader({DATA!r}))
signal.signal(signal.SIGALRM, signal.default_int_handler)
with flow.DataLoader(x, y) as loader:
    batches = loader.repeat()
    for _ in range(500):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0003)
            for batch in batches:
                pass
        except KeyboardInterrupt:
            pass
    batch = None
    assert loader.stats()["slots_held"] < 10, loader.stats()
"""
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (run.returncode, run.stderr) == (0, "")


def test_interrupt_loses_no_batch(monkeypatch, loader):
    """A signal may come after the library gave a batch, and before Python has it."""
    expected = epoch_of_number(0)
    real = loader_module._next

    def interrupted(handle, timeout, batch, err):
        assert real(handle, timeout, batch, err) == 0
        raise KeyboardInterrupt

    iterator = iter(loader)
    found = [next(iterator), next(iterator)]
    with monkeypatch.context() as patch:
        patch.setattr(loader_module, "_next", interrupted)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                next(iterator)
    assert loader.state_dict()["position"] == 2
    assert slots_held(loader) == 2
    assert epoch_of([*found, *iterator]) == expected


def test_next_is_not_entered_again(monkeypatch, loader):
    """A signal handler that takes batches while next() is at it: one slot has one owner."""
    expected = epoch_of_number(0)
    real, told = loader_module._next, []

    def handler(iterator):
        state = loader.state_dict()
        for call in (
            lambda: next(iterator),
            lambda: iter(loader),
            loader.repeat,
            lambda: loader.load_state_dict(state),
        ):
            with pytest.raises(flow.UnsupportedError, match="inside next") as caught:
                call()
            told.append(isinstance(caught.value, RuntimeError))
        assert state["position"] == len(found) % 5 and loader.stats()["slots_held"] >= len(found)

    def signalled(*arguments):
        handler(iterator)
        status = real(*arguments)
        handler(iterator)
        return status

    iterator, found = iter(loader), []
    monkeypatch.setattr(loader_module, "_next", signalled)
    for batch in iterator:
        found.append(batch)
    assert epoch_of(found) == expected and told == [True] * (2 * 4 * 6)
    assert slots_held(loader) == 5
    del batch
    found.clear()
    gc.collect()
    assert slots_held(loader) == 0
    monkeypatch.undo()
    assert len(list(loader)) == 5


def test_end_stays_the_end_beside_later_iterators(loader):
    first, second = iter(loader), None
    list(first)
    second = iter(loader)
    assert list(first) == []
    list(second)
    assert list(first) == list(second) == []


def test_forked_child_is_refused(loader):
    iterator = iter(loader)
    x, _ = next(iterator)
    sent, received = os.pipe()
    child = os.fork()
    if child == 0:
        verdict = "nothing"
        try:
            for call in (
                lambda: next(iterator),
                lambda: iter(loader),
                loader.stats,
                lambda: loader.skipped,
                lambda: loader.load_state_dict(loader.state_dict()),
            ):
                try:
                    call()
                    verdict = "no exception"
                    break
                except flow.UnsupportedError as failure:
                    verdict = str(failure)
            loader.close()
            del x, iterator
            gc.collect()
            with make_loader() as own:
                verdict += f"; {len(list(own))} batches of its own"
        except BaseException as failure:  # noqa: BLE001
            verdict = repr(failure)
        finally:
            os.write(received, verdict.encode())
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    verdict = os.read(sent, 4096).decode()
    os.close(sent)
    os.close(received)
    assert "forked" in verdict and "; 5 batches of its own" in verdict
    assert len(list(iterator)) == 4
