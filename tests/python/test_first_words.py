"""What a program is told where it uses loaders, blobs and ops as another library's: the class of
the error, its fields, and the name of what to use instead."""

import re
import sys
import warnings

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.errors import WrongUseError
from support.face import DATA, rows


class Samples:
    """As data sets of PyTorch are."""

    def __len__(self):
        return 3

    def __getitem__(self, index):
        return index


def samples():
    yield 1


@pytest.fixture(scope="module")
def given():
    x, y = flow.MiniDecoder(rows())
    data = flow.from_arrays({"a": np.arange(6), "b": np.arange(6.0)})
    with flow.DataLoader(x, y) as loader:
        stream = flow.DataLoader(
            flow.GeneratorReader(samples, fields=["x:int64"], batch_size=2), num_threads=1
        )
        with stream:
            yield {
                "flow": flow, "np": np, "x": x, "y": y, "data": data, "loader": loader,
                "stream": stream, "Samples": Samples, "samples": samples, "DATA": DATA,
            }  # fmt: skip


# What is written -> the word that says what to use instead.
WRONG_USE = {
    "flow.DataLoader(x, y, batch_size=8)": "batch(n)",
    "flow.DataLoader(x, y, num_workers=4)": "num_threads",
    "flow.DataLoader(x, y, shuffle=True)": "shuffle=True",
    "flow.DataLoader(x, y, sampler=None)": "sample(weights)",
    "flow.DataLoader(x, y, drop_last=True)": 'last="drop"',
    "flow.DataLoader(x, y, collate_fn=list)": "flow.PadBatch",
    "flow.DataLoader(x, y, pin_memory=True)": "TorchLoader",
    "flow.DataLoader(x, y, prefetch_factor=2)": "prefetch=",
    "flow.DataLoader(x, y, num_thread=2)": "num_threads",
    "flow.DataLoader(x, y, rank=0)": "reader",
    "flow.DataLoader(x, y, wrong=0)": "memory_budget",
    "flow.DataLoader()": "flow.open",
    "flow.DataLoader([1, 2, 3])": "flow.GeneratorReader",
    "flow.DataLoader(np.arange(3))": "flow.from_arrays",
    "flow.DataLoader({'x': np.arange(3)})": "flow.from_arrays",
    "flow.DataLoader(samples)": "flow.GeneratorReader",
    "flow.DataLoader(samples())": "flow.GeneratorReader",
    "flow.DataLoader(Samples())": "flow.GeneratorReader",
    "flow.DataLoader('data')": "flow.open('data')",
    "flow.DataLoader(x, [y])": "DataLoader(x, y)",
    "flow.DataLoader(loader)": "iterate",
    "flow.DataLoader(flow.MiniReader)": "MiniReader(...)",
    "flow.DataLoader(x, None)": "batch(n)",
    "flow.sink(x, print)": "flow.DataLoader(x, y)",
    "flow.sink(Samples(), print)": "flow.GeneratorReader",
    "flow.sink(loader, print, num_workers=2)": "num_threads",
    "data.shuffle(1000)": "shuffle(seed=7)",
    "data.batch(2, sampler=1)": "data.sample(weights)",
    "data.select(['x'])": "project(['x']) chooses fields",
    "flow.mix([data, data], probabilities=[1, 1])": "probabilities is called weights",
    "data.mix(data, stopping_strategy='all_exhausted')": "stopping_strategy is called stop",
    "next(loader)": "iter(loader)",
    "loader[0]": "data[i]",
    "loader['x']": "dict",
    "np.asarray(loader)": "for batch in loader",
    "len(stream)": "for batch in loader",
    "x + 1": "flow.Affine(x, shift=1)",
    "1 - x": "flow.Affine(x, scale=-1, shift=1)",
    "x / 255": "flow.Affine(x, scale=1 / 255)",
    "x * y": "flow.register_decoder",
    "-x": "flow.Affine(x, scale=-1)",
    "x @ y": "flow.register_decoder",
    "np.float32(2) * x": "flow.Affine(x, scale=2.0)",
    "np.arange(3) - x": "flow.register_decoder",
    "abs(x)": "flow.register_decoder",
    "x == 3": "data.where",
    "x != np.arange(3)": "data.where",
    "x < y": "data.where",
    "3 in x": "data.where",
    "list(x)": "flow.DataLoader(x)",
    "[*x]": "flow.DataLoader(data.batch(n))",
    "x[0]": "flow.DataLoader(x)",
    "x[:, 0]": "flow.Slice",
    "x['a']": "data.batch(n)['a']",
    "[batch['a'] for batch in data.batch(2)]": "for batch in flow.DataLoader(data.batch(n))",
    "[a + b for a, b in data.batch(2)]": "for batch in flow.DataLoader(data.batch(n))",
    "[batch[0] for batch in data.batch(2)]": "for batch in flow.DataLoader(data.batch(n))",
    "[list(batch) for batch in list(data.batch(2))]": "flow.DataLoader(data.batch(n))",
    "dict(enumerate(data.batch(2)))[0]['a']": "flow.DataLoader(data.batch(n))",
    "next(iter(data.batch(2)))['a']": "flow.DataLoader(data.batch(n))",
    "[np.asarray(batch) for batch in data.batch(2)]": "for batch in flow.DataLoader(x)",
    "[len(batch) for batch in data.batch(2)]": "for batch in flow.DataLoader(x)",
    "len(x)": "x.batch_size",
    "bool(x)": "None",
    "float(x)": "flow.DataLoader(x)",
    "np.asarray(x)": "flow.DataLoader(x)",
    "np.asarray([x, y])": "flow.DataLoader(x)",
    "np.mean(x)": "flow.register_decoder",
    "np.exp(x)": "flow.register_decoder",
    "np.concatenate([x, y])": "flow.Concat",
    "flow.MiniReader(DATA, num_workers=4)": "num_threads",
    "flow.MiniReader(DATA, drop_last=True)": "last_batch",
    "flow.Cast(x, dtype='int8', batch_size=4)": "reader",
    "flow.DataLoader(Samples(), batch_size=32, num_workers=2)": "flow.GeneratorReader",
    "flow.DataLoader(x, y, batch_size=8, num_workers=2)": "; nor 'num_workers': threads",
    "flow.GeneratorReader(Samples(), fields=['x:int64'], num_workers=2)": "thread_safe=True",
    "flow.CSVReader('data', sep=';')": "delimiter=",
    "flow.CSVReader('data', usecols=['x'])": "fields=",
    "flow.from_arrays(x=np.arange(3))": 'flow.from_arrays({"x": x, "y": y})',
    "flow.from_arrays(np.arange(3), np.arange(3))": 'flow.from_arrays({"x": x, "y": y})',
    "data.split([0.9, 0.1], shuffle=True)": "subset.shuffle()",
    "data.batch()": "data.batch(32)",
    "loader[1]": "rows by loader.read([i])",
    "np.asarray(data)": "data.column(name)",
}
NO_ATTRIBUTE = {
    "data.schema": "the same here: fields",
    "x.astype('float32')": "flow.Cast",
    "x.numpy()": "flow.DataLoader(x)",
    "x.cuda()": "TorchLoader",
    "x.mean()": "flow.register_decoder",
    "x.ndim": "x.shape",
    "x.shap": "shape",
    **{f"data.{name}": said for said, names in {
        "TorchLoader": "with_format set_format reset_format formatted_as to_device",
        "flow.mix(": "interleave interleave_datasets sample_from_datasets choose_from_datasets",
        "split([0.9, 0.1])": "train_test_split random_split",
        "concat(other)": "concatenate concatenate_datasets",
        "flow.Cast": "cast cast_column class_encode_column",
        "project(name)": "select_columns", "drop(name)": "remove_columns",
        "rename({old": "rename_column rename_columns",
        "for record in data": "to_iterable_dataset iter as_numpy_iterator create_dict_iterator",
        "map(function)": "set_transform with_transform batch_map map_batches",
        "flow.DataLoader": "prefetch num_workers", "per=\"batch\"": "collate_fn",
        "PadBatch(": "padded_batch batch_and_pad", "Ragged": "ragged_batch dense_to_ragged_batch",
        "has no batches yet": "unbatch rebatch", "function(data)": "apply",
        "batch_by_length(": "bucket_by_sequence_length bucket_batch_by_length",
        "skip_damaged()": "ignore_errors skip_errors", "len(data)": "cardinality num_rows",
        "cache(folder)": "save save_to_disk to_parquet", "flow.from_arrays": "from_dict from_list",
        "flow.open(path)": "load_dataset", "state_dict()": "load_state_dict get_state",
    }.items() for name in names.split()},
    "flow.interleave_datasets": "flow.mix(", "flow.concatenate_datasets": "concat(other)",
    "flow.train_test_split": "split([0.9, 0.1])", "flow.IterDataset": "flow.open(path)",
    "flow.MapDataset": "flow.open(path)", "flow.DatasetDict": ".split(",
    "[batch.items() for batch in data.batch(2)]": "flow.DataLoader(data.batch(n))",
    "x.batch(2)": "flow.open",
    "data.to_polars": "polars.from_arrow(data.to_arrow())",
    "loader.dataset": "loader.readers",
    "loader.batch_size": "readers[0].batch_size",
    "loader.sampler": "shuffle=True",
    "loader.set_epoch(1)": "loader.seek(0, epoch=n)",
    "loader.load_state(1)": "load_state_dict",
    "loader.num_batches": "len(loader)",
    "loader.to('cuda')": "TorchLoader",
    "flow.TensorDataset": "flow.from_arrays",
    "flow.csvreader": "CSVReader",
    "flow.ops.TFRecord": "TFRecordReader",
    "data.a": "data.column('a')",
    "data.batch(2).a": "batch['a']",
    "flow.shufle": "shuffle()",
    "flow.split": "flow.open(path).split(",
    "flow.load": "flow.open(path)",
    "flow.concat": "flow.open(path).concat(other)",
    "data.drop_duplicates": "distinct(name)",
    "flow.FlowError": "Error is the base",
    "flow.CSVWriter": "from pyflowdata.io import CSVWriter",
    "flow.Standardize": "Statistics.fit(data, field).standardize()",
}


def error(written, names):
    try:
        eval(written, dict(names))
    except Exception as failure:  # noqa: BLE001  (looked at by the caller)
        return failure
    raise AssertionError(f"{written} raised nothing")


def test_wrong_use_is_answered_with_the_right_use(given):
    for written, word in WRONG_USE.items():
        failure = error(written, given)
        assert type(failure) is WrongUseError, (written, failure)
        assert isinstance(failure, TypeError) and isinstance(failure, flow.InvalidArgumentError)
        assert word in str(failure), (written, failure)
        assert "\n" not in str(failure) and len(str(failure)) < 260, written


def test_rows_of_several_fields_are_taken_apart_by_ops():
    with pytest.raises(flow.InvalidArgumentError, match="flow.Slice and flow.DecodeRaw") as caught:
        flow.RawReader(files="data", dtype=np.dtype([("x", "f4", 3), ("y", "i4")]), shape=[])
    assert caught.value.attr == "dtype"


def test_attributes_that_are_not_there_name_others(given):
    for written, word in NO_ATTRIBUTE.items():
        failure = error(written, given)
        assert type(failure) is AttributeError and failure.name, (written, failure)
        assert word in str(failure), (written, failure)
    for name in ("__array_interface__", "_repr_mimebundle_", "nothing_like_it"):
        assert not hasattr(given["x"], name) and not hasattr(given["loader"], name)


def test_an_integration_without_its_package_says_what_to_install(monkeypatch):
    for name in [one for one in sys.modules if one.startswith("pyflowdata.integrations.torch")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    with pytest.raises(ImportError, match=r"needs PyTorch: pip install torch \("):
        from pyflowdata.integrations.torch import TorchLoader  # noqa: F401


def test_the_argument_is_a_field_of_the_error(given):
    for written, name in (("flow.DataLoader(x, sampler=1)", "sampler"),
                          ("flow.MiniReader(DATA, sampler=1)", "sampler"),
                          ("flow.MiniReader(DATA, bach_size=1)", "bach_size"),
                          ("flow.MiniReader(DATA, batch_size='6')", "batch_size")):  # fmt: skip
        assert error(written, given).attr == name
    assert error("flow.MiniReader(DATA, sampler=1)", given).op == "MiniReader"
    assert error("data.shuffle(seed='1')", given).attr == "seed"  # at its own line
    assert "use 6" in str(error("flow.MiniReader(DATA, batch_size='6')", given))


def test_blobs_stay_what_they_are_in_lists_and_dicts(given):
    x, y = given["x"], given["y"]
    assert x == x and x != y and x is not None and x in [y, x]
    with pytest.raises(TypeError, match="where"):
        assert x != "x"  # of texts a comparison with each would be meant
    assert {x: 1}[x] == 1 and len({x, y, x}) == 2 and x.shape[0] == 4


# ---- Warnings -----------------------------------------------------------------------------------


def epochs(count, **attrs):
    """The rows of some epochs, as lists; and the line that takes them."""
    with flow.DataLoader(rows(seed=5, **attrs)) as loader:
        return [[tuple(row) for batch in loader for row in batch.tolist()] for _ in range(count)]


def test_shuffle_is_a_switch():
    reshuffled = {"random_shuffle": True, "shuffle_after_epoch": True}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second, third = epochs(3, shuffle=True)
        assert sorted(first) == sorted(second) and first != second != third
        assert [first, second, third] == epochs(3, **reshuffled)
        in_order = epochs(1)
        assert epochs(2, shuffle=False) == in_order * 2 and first != in_order[0]
        assert epochs(2, shuffle=True, shuffle_after_epoch=False) == [first, first]
        assert epochs(3, shuffle=np.True_)[1:] == [second, third]
    with (
        flow.DataLoader(rows(seed=5, name="r", shuffle=True)) as one,
        flow.DataLoader(rows(seed=5, name="r", **reshuffled)) as other,
    ):
        assert one.state_dict() == other.state_dict()
        other.load_state_dict(one.state_dict())
    with pytest.raises(flow.InvalidArgumentError) as caught:
        rows(shuffle=False, random_shuffle=True)
    assert caught.value.attr == "shuffle"


def test_a_seed_of_none_is_drawn():
    blob = rows(seed=None, rank=None, world_size=None)
    assert not {"seed", "rank"} & set(blob.node.values)
    with flow.DataLoader(blob) as one, flow.DataLoader(blob) as other:
        assert one.readers[0].seed != other.readers[0].seed
    image = np.zeros((4, 4, 3), np.uint8)
    assert flow.RandomFlip(image, seed=None).shape == (4, 4, 3)


def test_an_order_that_repeats_is_said_once():
    for attrs, word in (({"random_shuffle": True}, " shuffle=True"),
                        ({"shuffle": "window"}, "shuffle_after_epoch=True")):  # fmt: skip
        attrs["name"] = f"repeated {word}"
        with pytest.warns(UserWarning, match=word) as told:
            first, second, _ = epochs(3, **attrs)
        assert first == second and len(told) == 1
        assert told[0].filename == __file__ and attrs["name"] in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        epochs(3, **attrs)  # said before
        epochs(1, random_shuffle=True, name="one epoch")
        epochs(2, random_shuffle=True, shuffle_after_epoch=False, name="meant")
        with flow.DataLoader(rows(random_shuffle=True, name="measured")) as loader:
            loader.speed(steps=20)
        with pytest.raises(UserWarning, match="endless"):
            with flow.DataLoader(rows(random_shuffle=True, name="endless")) as loader:
                for _ in zip(range(20), loader.repeat()):
                    pass


def test_a_batch_size_that_is_left_out_is_said_once(monkeypatch, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    monkeypatch.setattr("pyflowdata.native.calling_line._given", {})
    with pytest.warns(UserWarning, match="reader batch_size=32") as told:
        for name in ("a", "b"):
            flow.DataLoader(flow.MiniReader(DATA, name=name)).close()
    assert [one.filename for one in told] == [__file__]
    y = flow.open(tmp_path / "a.csv")["y"]
    for of_data in (y, flow.Cast(y, dtype="float32")):
        monkeypatch.setattr("pyflowdata.native.calling_line._given", {})
        with pytest.warns(UserWarning, match=r'take data\.batch\(32\)\["y"\], or the number'):
            flow.DataLoader(of_data).close()
    monkeypatch.setattr("pyflowdata.native.calling_line._given", {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flow.DataLoader(flow.MiniReader(DATA, batch_size=1)).close()
        flow.DataLoader(flow.from_arrays({"x": np.arange(3)}).batch(1)).close()


# ---- Functions of the program -------------------------------------------------------------------


def fail(*_rows):
    raise KeyError("mine")


class FailingSamples(Samples):
    def __getitem__(self, index):
        return fail(index)


def failing_stream():
    yield 1
    fail()


def read(*blobs):
    with flow.DataLoader(*blobs) as loader:
        return list(loader)


def test_a_function_of_the_program_that_fails_is_named():
    data = flow.from_arrays({"a": np.arange(6)})
    op = flow.register_decoder(fail_by_row, outputs={"out": "int64"}, per="row", replace=True)
    fields = {"fields": ["x:int64"], "batch_size": 2}
    for name, call in {
        "fail_by_row": lambda: read(op(data.batch(3)["a"])),
        "fail_by_row()": lambda: op(np.int64(1)),
        "FailingSamples[0]": lambda: read(flow.GeneratorReader(FailingSamples(), **fields)),
        "failing_stream()": lambda: read(flow.GeneratorReader(failing_stream, **fields)),
        "fail_by_row() ": lambda: data.map(fail_by_row, "a", outputs="b"),
        "fail_on_a()": lambda: len(data.where(fail_on_a)),
        "fail_on_a() ": lambda: data.column(fail_on_a),
    }.items():
        with pytest.raises(flow.UserFunctionError) as caught:
            call()
        assert isinstance(caught.value.__cause__, KeyError), name
        assert caught.value.__cause__.__traceback__ is not None
        assert name.strip() in str(caught.value)
        assert re.search(r"test_first_words\.py:\d+", str(caught.value)), caught.value
        assert not isinstance(caught.value, (flow.InternalError, ValueError))


def fail_by_row(row):
    return fail(row)


def fail_on_a(a):
    return fail(a)
