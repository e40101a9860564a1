"""Ops called on arrays instead of blobs: what a loader makes of the same rows, at once."""

import inspect
import signal
import threading
import time

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.nodes import eager, find_op
from support.decoder_rows import ALL_DTYPES, blob_of, load, same
from support.op_samples import SAMPLES

DECODERS = [name for name in SAMPLES if not find_op(name).is_reader]


def rows_of(batch):
    return list(batch)


def same_answers(found, batches):
    """Each output has the same rows."""
    found = found if isinstance(found, tuple) else (found,)
    assert len(found) == len(batches)
    for rows, batch in zip(found, batches, strict=True):
        assert type(rows) is list
        same(rows, rows_of(batch))


# ---- The same as a loader -----------------------------------------------------------------------


@pytest.mark.parametrize("name", DECODERS)
def test_every_op_gives_what_a_loader_gives(name):
    """On lists, on a Ragged, on bytes, and row by row; also random ops, by the loader's seed."""
    made = SAMPLES[name]()
    outputs = made if isinstance(made, tuple) else (made,)
    node = outputs[0].node
    function, inputs = getattr(flow, node.op.name), node.inputs
    ordinal = 0
    with flow.DataLoader([*inputs, *outputs]) as loader:
        place = {"seed": loader.readers[0].seed, "name": node.name}
        for batch in loader:
            given, expected = batch[: len(inputs)], batch[len(inputs) :]
            count = len(given[0])

            def call(*rows, ordinal=ordinal):
                return function(*rows, **(place | node.values), ordinal=ordinal)

            same_answers(call(*map(rows_of, given)), expected)
            if isinstance(given[0], flow.Ragged):
                columns = [one if isinstance(one, flow.Ragged) else rows_of(one) for one in given]
                same_answers(call(*columns), expected)
                if given[0].dtype == np.uint8 and len(given[0].row_shape) == 1:
                    same_answers(call(given[0].to_bytes_list(), *map(rows_of, given[1:])), expected)
            if not node.op.is_whole_batch:
                for row in range(count):
                    answer = call(*(one[row] for one in given), ordinal=ordinal + row)
                    answer = answer if isinstance(answer, tuple) else (answer,)
                    for found, whole in zip(answer, expected, strict=True):
                        same([found], [whole[row]])
            ordinal += count
    assert ordinal > 0


def test_many_rows_go_in_ranges():
    """More than one range, of dense rows, scattered ones, and ragged ones in and out."""
    table = np.arange(40_000 * 3, dtype=np.int32).reshape(-1, 3)
    assert np.array_equal(flow.Cast(list(table), dtype="int64"), table)
    scattered = [row.copy() for row in table]
    assert np.array_equal(flow.Affine(scattered, scale=2), 2.0 * table)
    rows = [np.arange(size, dtype=np.int16) for size in range(500)]
    same(flow.Slice(rows, start=[1]), [row[1:] for row in rows])
    images = [np.full((1 + i % 7, 2 + i % 3, 3), i % 251, np.uint8) for i in range(3000)]
    same(flow.Cast(images, dtype="float32"), [image.astype(np.float32) for image in images])
    with pytest.raises(flow.CorruptDataError, match="row 29999") as caught:
        flow.OneHot([0] * 29_999 + [7, 0], depth=7)
    assert caught.value.row == 29_999


# ---- What one value means -----------------------------------------------------------------------


def test_an_array_is_a_row_and_a_list_is_a_batch():
    table = np.arange(6.0).reshape(2, 3)
    same([flow.Slice(table, start=[1])], [table[1:]])
    same(flow.Slice(list(table), start=[1]), list(table[:, 1:]))
    same(flow.OneHot([2, 0], depth=3), list(np.eye(3, dtype=np.float32)[[2, 0]]))
    same([flow.OneHot(np.array([2, 0]), depth=3)], [np.eye(3, dtype=np.float32)[[2, 0]]])
    same([flow.OneHot(1, depth=2)], [np.array([0, 1], np.float32)])
    number = flow.DecodeClass(b"17")
    assert (number, type(number)) == (17, np.int64)
    assert flow.DecodeClass([b"17", b"-2"]) == [17, -2]
    assert flow.DecodeClass(bytearray(b"17")) == flow.DecodeClass(memoryview(b"17")) == 17
    same(flow.Concat([1.0, 2.0], [3.0, 4.0]), [np.array([1.0, 3.0]), np.array([2.0, 4.0])])
    same([flow.Concat(np.arange(2), np.arange(3))], [np.array([0, 1, 0, 1, 2])])
    same([flow.Concat((np.arange(2), np.arange(3)))], [np.array([0, 1, 0, 1, 2])])
    x, y = flow.MiniDecoder(np.array([1.0, 2.0]))
    assert (x, y) == (1, 2) and x.shape == (1,)


def test_outputs_are_those_of_the_node():
    rows = [[1, 2, 3], [4]]
    assert isinstance(flow.PadBatch(rows), list)
    padded, length = flow.PadBatch(rows, with_length=True)
    assert [row.tolist() for row in padded] == [[1, 2, 3], [4, 0, 0]] and length == [3, 1]
    assert len(flow.Pad(np.arange(3), shape=[4], with_mask=True)) == 2


def test_rows_that_happen_to_be_of_one_size():
    """A batch is padded, and bytes are of any size, whatever the others are."""
    same(flow.PadBatch([[1, 2], [3, 4]], multiple_of=4), [np.array([1, 2, 0, 0]),
                                                          np.array([3, 4, 0, 0])])  # fmt: skip
    assert len(eager._prepared) > 0
    for text in (b"1", b"12", b"123"):
        assert flow.DecodeClass([text, text]) == [int(text)] * 2
        assert flow.DecodeClass(text) == int(text)


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_dtypes_and_layouts(dtype):
    table = np.arange(24).reshape(4, 6).astype(dtype)
    wide = flow.Cast(table, dtype="float64")
    assert np.array_equal(wide, table) and wide.dtype == np.float64
    for given in (table.T, table[:, ::2], table[::-1], np.asfortranarray(table), table[:0]):
        same([flow.Cast(given, dtype="float64")], [given.astype(np.float64)])
    shifted = np.zeros(table.nbytes + 1, np.uint8)[1:].view(np.uint8)
    shifted[:] = table.view(np.uint8).ravel()
    unaligned = np.frombuffer(shifted, dtype).reshape(table.shape)
    same([flow.Cast(unaligned, dtype="float64")], [wide])
    table.flags.writeable = False
    same([flow.Cast(table, dtype="float64")], [wide])
    same([flow.Cast(table[0, 0], dtype="float64")], [wide[0, 0]])


def test_ragged_rows_that_are_views():
    values = np.arange(20)
    ragged = flow.Ragged(values, np.array([0, 3, 3, 20]))
    same(flow.Cast(ragged[1:], dtype="int8"), [row.astype(np.int8) for row in ragged[1:]])
    columns = flow.Ragged(np.arange(24).reshape(2, 12).T[::2], np.array([0, 4, 6]))
    assert not columns.values.flags.c_contiguous
    same(flow.Cast(columns, dtype="int8"), [row.astype(np.int8) for row in columns])
    shapes = np.array([[2, 3], [0, 5], [1, 14]])
    flat = flow.Ragged(values, np.array([0, 6, 6, 20]), row_shape=(None, None), shapes=shapes)
    same(flow.Cast(flat, dtype="int8"), [row.astype(np.int8) for row in flat])
    empty = flow.Ragged(np.zeros(0), np.array([0]))
    assert flow.Cast(empty, dtype="int8") == []


def test_other_arrays():
    class Foreign:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3)

    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("it is on another device")

    same([flow.Cast(Foreign(), dtype="int8")], [np.arange(3, dtype=np.int8)])
    same(flow.Cast([Foreign()], dtype="int8"), [np.arange(3, dtype=np.int8)])
    with pytest.raises(flow.InvalidArgumentError, match="it is on another device"):
        flow.Cast(Broken(), dtype="int8")


def test_answers_belong_to_the_caller():
    given = np.arange(3)
    one = flow.Cast(given, dtype="int64")
    one[:] = 7
    assert given.tolist() == [0, 1, 2]
    text = b"12345678"
    (row,) = flow.DecodeRaw([text], dtype="uint8", shape=[-1])
    row[:] = 0
    assert text == b"12345678"


# ---- Wrong use ----------------------------------------------------------------------------------

BLOB = flow.GeneratorReader([1, 2], fields=["x:int64"], batch_size=2)
SPLITS = np.array([0, 2, 4])

MISTAKES = [
    (lambda: flow.MiniDecoder(np.zeros((4, 2))), r"float64 \(4, 2\); they must be .*; an array is "
     r"one row, a list of arrays is a batch: list\(array\) has the rows"),
    (lambda: flow.OneHot(np.zeros((4, 2)), depth=3), "must be integers: use Cast first$"),
    (lambda: flow.PadBatch(np.zeros((3, 4))), "'in' is one row, and PadBatch looks at all rows"),
    (lambda: flow.OneHot("abc", depth=3), r"'abc' \(str\); it must be a Blob, .*, or rows: arrays"),
    (lambda: flow.OneHot(None, depth=3), "'in' is None"),
    (lambda: flow.OneHot([], depth=3), "empty list"),
    (lambda: flow.OneHot((1, 2), depth=3), "a tuple of 2, as ops with several outputs return it"),
    (lambda: flow.OneHot([1, "a"], depth=3), "'in' has dtype <U"),
    (lambda: flow.OneHot([[1], ["a"]], depth=3), r"'in' has dtype <U1; .* \(row 1\)"),
    (lambda: flow.OneHot([[1], None], depth=3), r"'in' is None .* \(row 1\)"),
    (lambda: flow.OneHot([[1], [1.5]], depth=3), r"row 0 is int64 \(1,\) and row 1 is float64"),
    (lambda: flow.OneHot([[1], [[1]]], depth=3), r"row 1 is int64 \(1, 1\); rows of a batch have"),
    (lambda: flow.OneHot([1, [2]], depth=3), "is not an array"),
    (lambda: flow.OneHot(2**70, depth=3), "'in' is 1180591620717411303424"),
    (lambda: flow.OneHot(np.zeros(3, ">i4"), depth=3), "dtype >i4; rows are of bool, int8"),
    (lambda: flow.OneHot(np.zeros(3, "M8[s]"), depth=3), r"dtype datetime64\[s\]"),
    (lambda: flow.OneHot(np.zeros(3, complex), depth=3), "dtype complex128"),
    (lambda: flow.OneHot(np.ma.masked_array([1]), depth=3), "mask would be lost"),
    (lambda: flow.OneHot(np.zeros([1] * 9, int), depth=3), "9 dimensions; a row has at most 8"),
    (lambda: flow.OneHot({"a": 1}, depth=3), "'in' is {'a': 1}"),
    (lambda: flow.Concat(BLOB, np.arange(3)), r"'in\[0\]' is a Blob and input 'in\[1\]' is of type "
     "ndarray: give blobs for all inputs, or rows for all"),
    (lambda: flow.Concat(np.arange(3), [np.arange(2)]), r"'in\[0\]' is one row and input 'in\[1\]' "
     r"is a batch of 1: give one row of each or as many of each"),
    (lambda: flow.Concat([1, 2], [1, 2, 3]), "a batch of 2 and .* a batch of 3"),
    (lambda: flow.OneHot([BLOB, 1], depth=3), "has 2 blobs|it must be a Blob"),
    (lambda: flow.OneHot(depth=3), "input 'in' is missing"),
    (lambda: flow.OneHot(1), "attr 'depth' is missing|depth"),
    (lambda: flow.OneHot(1, depth=3, dept=3), "did you mean 'depth'"),
    (lambda: flow.OneHot(1, depth=3, name=3), "name = 3"),
    (lambda: flow.OneHot(1, depth=3, nane="x"), "did you mean 'name'"),
    (lambda: flow.OneHot(1, depth=3, seed="a"), "seed = 'a'; it must be an int, at least -1"),
    (lambda: flow.OneHot(1, depth=3, seed=2**62), r"int, at least -1 and below 2\*\*62"),
    (lambda: flow.OneHot(1, depth=3, epoch=-1), "epoch = -1; it must be an int, at least 0"),
    (lambda: flow.OneHot(1, depth=3, ordinal=True), "ordinal = True"),
    (lambda: flow.OneHot(BLOB, depth=3, seed=1), "unknown attr 'seed'"),
    (lambda: flow.MiniReader(np.arange(3)), "data_dir"),
    (lambda: flow.OneHot(flow.Ragged(np.arange(4), np.array([0, 9])), depth=3), "row_splits"),
    (lambda: flow.OneHot(flow.Ragged(np.arange(4), np.array([0, 3, 2])), depth=3), "row_splits"),
    (lambda: flow.OneHot(flow.Ragged(np.arange(4), np.array([1, 3])), depth=3), "row_splits"),
    (lambda: flow.Cast(flow.Ragged(np.arange(4), SPLITS, row_shape=(None, None),
                                   shapes=np.array([[1, 2], [3, 1]])), dtype="int8"), "shapes"),
    (lambda: flow.Cast(flow.Ragged(np.arange(4), SPLITS, row_shape=(None, None),
                                   shapes=np.array([[-1, -2], [2, 1]])), dtype="int8"), "shapes"),
    (lambda: flow.Cast(flow.Ragged(np.arange(4), SPLITS, row_shape=(None, 2),
                                   shapes=np.array([[2, 1], [1, 2]])), dtype="int8"), "shapes"),
]  # fmt: skip


@pytest.mark.parametrize("call, says", MISTAKES, ids=lambda one: "" if callable(one) else one[:30])
def test_mistakes(call, says):
    with pytest.raises(flow.InvalidArgumentError, match=says) as caught:
        call()
    assert caught.value.op is not None and str(caught.value).startswith(f"{caught.value.op}: ")


def test_ints_of_python_where_int8_is_wanted():
    image = np.arange(5 * 4 * 3, dtype=np.uint8).reshape(5, 4, 3)
    assert np.array_equal(flow.ImageFlip(image, 1), image[:, ::-1])
    for found, code in zip(flow.ImageFlip([image] * 3, [2, 0, 3]), (2, 0, 3), strict=True):
        assert np.array_equal(found, flow.ImageFlip(image, np.int8(code)))
    same(flow.CropMirrorNormalize(image, 1), flow.CropMirrorNormalize(image, np.int8(1)))
    assert flow.Cast(3, dtype="int64").dtype == np.int64
    for code in (128, 1.0, [1, 300]):
        images = [image] * 2 if isinstance(code, list) else image
        assert "one number of int8" in error_of(lambda: flow.ImageFlip(images, code)).message
    assert "int64" in error_of(lambda: flow.ImageFlip(image, np.int64(1))).message


def test_rows_are_hinted_at_where_an_array_has_a_dimension_too_many():
    image = np.zeros((9, 11, 3), np.uint8)
    hint = "list(array) has the rows of an array"
    assert hint not in error_of(lambda: flow.CropMirrorNormalize(image, crop_h=10)).message
    assert hint in error_of(lambda: flow.CropMirrorNormalize(image[None])).message
    assert hint in error_of(lambda: flow.Normalize(image[None], mean=0, std=1)).message


def error_of(call):
    with pytest.raises(flow.Error) as caught:
        call()
    return caught.value


@pytest.mark.parametrize("call", [
    lambda give: flow.OneHot(give([[0], [9]]), depth=3),
    lambda give: flow.OneHot(give([[0], [1]]), depth=0),
    lambda give: flow.OneHot(give([[0.5], [1]]), depth=3),
    lambda give: flow.Cast(give([[0.5], [400]]), dtype="uint8"),
    lambda give: flow.Pad(give([[1, 2, 3], [4, 5, 6]]), shape=[2]),
    lambda give: flow.Affine(give([[1, 2, 3], [4, 5, 6]]), scale=[1, 2]),
    lambda give: flow.ExampleDecoder(give(np.array([[1, 2], [8, 1]], np.uint8)), features=["x"]),
])  # fmt: skip
def test_errors_are_those_of_a_loader(call):
    """The same exception, text, op and attr; and the row in place of the record."""
    of_loader = error_of(lambda: load(call(lambda rows: blob_of(np.array(rows)))))
    of_rows = error_of(lambda: call(lambda rows: list(np.array(rows))))
    assert type(of_rows) is type(of_loader) and of_rows.message == of_loader.message
    assert (of_rows.op, of_rows.attr) == (of_loader.op, of_loader.attr)
    assert (of_rows.row, of_rows.file) == (of_loader.ordinal, None)


def test_an_error_of_a_row_says_where():
    failure = error_of(lambda: flow.DecodeClass([b"1", b"23x", b"4"]))
    assert isinstance(failure, flow.CorruptDataError)
    assert (failure.op, failure.row, failure.byte, failure.ordinal) == ("DecodeClass", 1, 0, None)
    assert str(failure).startswith("DecodeClass: (row 1, byte 0): the row is '23x'")
    alone = error_of(lambda: flow.DecodeClass(b"23x"))
    assert (alone.row, alone.message) == (None, failure.message)


# ---- Python ops ---------------------------------------------------------------------------------


@flow.register_decoder(outputs={"out": "float64"}, per="row", replace=True)
def eager_noise(x, *, scale: float = 1.0, rng, ids):
    return rng.normal() * scale + ids[1]


@flow.register_decoder(
    outputs={"centred": lambda x: x, "rows": ("int64", (None,))}, replace=True
)
def eager_centred(x):
    return x - x.mean(axis=0), [np.arange(i) for i in range(len(x))]


def test_python_ops():
    table = np.arange(6.0).reshape(3, 2)
    centred, rows = eager_centred(list(table))
    same(centred, list(table - table.mean(axis=0)))
    same(rows, [np.arange(i) for i in range(3)])
    with pytest.raises(flow.InvalidArgumentError, match="EagerCentred looks at all rows"):
        eager_centred(table)
    same(flow.ops.EagerCentred(list(table))[0], centred)


def test_random_numbers_are_those_of_the_loader():
    blob = flow.GeneratorReader([0.0] * 20, fields=["x:float64"], batch_size=6, seed=5)
    with flow.DataLoader(eager_noise(blob)) as loader:
        epochs = [np.concatenate(list(loader)) for _ in range(2)]
    given = [0.0] * 20
    for epoch, expected in enumerate(epochs):
        assert np.array_equal(eager_noise(given, seed=5, epoch=epoch), expected)
        assert eager_noise(0.0, seed=5, epoch=epoch, ordinal=17) == expected[17]
    assert not np.array_equal(eager_noise(given, seed=6), epochs[0])
    assert eager_noise(0.0) != eager_noise(0.0), "each call draws a seed"
    with flow.DataLoader(eager_noise(blob, name="n")) as loader:
        named = np.concatenate(list(loader))
    assert np.array_equal(eager_noise(given, seed=5, name="n"), named)
    assert not np.array_equal(named, epochs[0])


def test_what_a_python_op_raises():
    @flow.register_decoder(outputs={"out": "int64"}, per="row", replace=True)
    def eager_fails(x):
        if x == 2:
            raise flow.CorruptDataError("it is two")
        if x == 3:
            raise KeyError("three")
        return x

    damaged = error_of(lambda: eager_fails([1, 2]))
    assert type(damaged) is flow.CorruptDataError and damaged.row == 1
    assert str(damaged) == "EagerFails: (row 1): it is two"
    broken = error_of(lambda: eager_fails([1, 1, 3]))
    assert type(broken) is flow.UserFunctionError and isinstance(broken.__cause__, KeyError)

    @flow.register_decoder(outputs={"out": "int64"}, name="EagerFails", replace=True)
    def other(x):
        return x + 10

    assert other([1, 2]) == [11, 12], "not what was prepared of the former one"


# ---- Life ---------------------------------------------------------------------------------------


def test_attrs_that_python_takes_for_equal_are_told_apart():
    assert np.signbit(flow.Affine([-0.0], scale=1, shift=-0.0)).all()
    assert not np.signbit(flow.Affine([-0.0], scale=1, shift=0.0)).any()
    flow.Slice(np.arange(3), start=[1])
    with pytest.raises(flow.InvalidArgumentError, match="start"):
        flow.Slice(np.arange(3), start=[1.0])
    flow.OneHot(1, depth=3, on_value=1)
    with pytest.raises(flow.InvalidArgumentError, match="on_value"):
        flow.OneHot(1, depth=3, on_value=True)
    for scale in (np.array([1.0, 2.0]), [1.0, 2.0], (1.0, 2.0), np.array([3.0, 4.0])):
        assert np.array_equal(flow.Affine(np.ones(2), scale=scale), scale)
    for numbers in (0.0, 1.0, -1.0), np.float32([0.0, 1.0, -1.0]):
        for scale in numbers:
            for given in (scale, [scale]):
                assert flow.Affine(np.ones(1), scale=given) == scale


def test_arrays_of_addresses_are_not_kept():
    eager.forget()
    assert flow.Affine(np.ones(1), scale=np.array([2.5], object)) == [2.5]
    assert not eager._prepared


def test_what_is_prepared_is_kept_within_bounds():
    for size in range(eager._MOST_KEPT + 50):
        assert flow.Cast(np.zeros(size), dtype="int8").shape == (size,)
    assert len(eager._prepared) == eager._MOST_KEPT


def test_threads():
    """Any number of them, in one op, each with its own rows."""
    wrong = []

    def work(number):
        rows = [np.arange(i % 50) + number for i in range(2000)]
        sizes, whole = [len(row[1:]) for row in rows], np.concatenate([row[1:] for row in rows])
        for _ in range(8):
            found = flow.Slice(rows, start=[1])
            if [*map(len, found)] != sizes or not np.array_equal(np.concatenate(found), whole):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_other_threads_run_meanwhile():
    """In C without the GIL: a thread that counts is not held up by one long call."""
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    given = np.ones(10_000_000)
    thread = threading.Thread(target=tick)
    thread.start()
    began = time.perf_counter()
    flow.Cast(given, dtype="float16")
    ended = time.perf_counter()
    done.set()
    thread.join()
    assert sum(began < each < ended for each in ticks) > 2


def interrupt_after(seconds):
    main = threading.main_thread().ident
    timer = threading.Timer(seconds, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    return timer


def test_ctrl_c():
    """In a long call of a C op, between two ranges; and in a Python function."""

    @flow.register_decoder(outputs={"out": "int64"}, per="row", replace=True)
    def eager_waits(x):
        time.sleep(x)
        return 1

    rows = [np.ones(20_000)] * 1000
    for call in (lambda: eager_waits([20, 1]), lambda: flow.Cast(rows, dtype="float16")):
        timer = interrupt_after(0.1)
        try:
            with pytest.raises(KeyboardInterrupt):
                while True:  # the machine may be fast
                    call()
        finally:
            timer.join()
    assert flow.DecodeClass(b"1") == 1
    with flow.DataLoader(BLOB) as loader:
        assert len(list(loader)) == 1, "the interrupt is not raised again"


def test_inside_a_python_op():
    @flow.register_decoder(outputs={"out": ("float32", (3,))}, per="row", replace=True)
    def eager_inside(x):
        return flow.OneHot(x, depth=3)

    same(load(eager_inside(BLOB)), np.eye(3, dtype=np.float32)[[1, 2]])
    same(eager_inside([1, 2]), list(np.eye(3, dtype=np.float32)[[1, 2]]))
    with pytest.raises(flow.CorruptDataError, match="element 0 of the row is 7"):
        eager_inside([1, 7])


def test_help_tells_of_rows():
    assert "answers at once: an array is one row" in inspect.getdoc(flow.OneHot)
    assert "at once" not in inspect.getdoc(flow.MiniReader)


def test_an_empty_list_has_the_dtype_of_the_others():
    assert list(flow.RowLength([[1, 2], [], [3]])) == [2, 0, 1]
    assert list(flow.RowLength([[], [1.5]])) == [0, 1]
    assert list(flow.RowLength([[], []])) == [0, 0]
    with pytest.raises(flow.InvalidArgumentError, match="rows of a batch have one dtype"):
        flow.RowLength([np.zeros(0), [1]])
