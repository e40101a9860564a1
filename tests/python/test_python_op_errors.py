"""Ops that are Python functions: damaged records, and mistakes in the functions."""

import traceback

import numpy as np
import pytest
from support.pairs import NUM_RECORDS, folder, numbers, pairs, read, refuse, returning  # noqa: F401

import pyflowdata as flow

# ---- Records that are damaged -------------------------------------------------------------------

BAD = [3, 17, 18, 300, 599]


@flow.register_decoder(outputs={"out": "float64"}, per="row")
def careful_row(x):
    if int(x[0]) in BAD:
        raise flow.CorruptDataError(f"{int(x[0])} is no good")
    return x[0]


@flow.register_decoder(outputs={"out": "float64"})
def careful_batch(x):
    bad = np.flatnonzero(np.isin(x[:, 0], BAD))
    if len(bad):
        raise flow.CorruptDataError(f"{int(x[bad[0], 0])} is no good", row=int(bad[0]))
    return x[:, 0]


@pytest.mark.parametrize("num_threads", [1, 7])
@pytest.mark.parametrize("op", [careful_row, careful_batch], ids=["row", "batch"])
def test_damaged_rows_are_left_out(folder, op, num_threads):
    x, _ = pairs(folder, on_error="skip")
    with flow.DataLoader(op(x), x, num_threads=num_threads) as loader:
        batches = list(loader)
        skipped = loader.skipped
        assert skipped[0].__cause__ is loader.skipped[0].__cause__ is not None
    assert numbers(batches) == numbers(batches, 1) == sorted({*range(NUM_RECORDS)} - {*BAD})
    assert [one.message for one in skipped] == [f"{bad} is no good" for bad in BAD]
    assert [one.line for one in skipped] == [4, 18, 19, 1, 300]
    assert isinstance(skipped[0], flow.CorruptDataError)


@pytest.mark.parametrize("op", [careful_row, careful_batch], ids=["row", "batch"])
def test_damaged_rows_are_padded(folder, op):
    rows, mask = flow.MiniReader(
        str(folder), batch_size=30, data_part_num=2, on_error="pad", with_mask=True
    )
    x, _ = flow.MiniDecoder(rows)
    batches = read(op(x), mask)
    assert np.flatnonzero(~np.concatenate([m for _, m in batches])).tolist() == BAD
    values = np.concatenate([values for values, _ in batches])
    assert np.array_equal(values, [0 if n in BAD else n for n in range(NUM_RECORDS)])


@pytest.mark.parametrize("op", [careful_row, careful_batch], ids=["row", "batch"])
def test_a_damaged_row_is_raised_with_its_place(folder, op):
    x, _ = pairs(folder)
    with flow.DataLoader(op(x)) as loader:
        batches = iter(loader)
        with pytest.raises(flow.CorruptDataError, match="3 is no good") as caught:
            next(batches)
        assert caught.value.line == 4 and caught.value.file.endswith("part-0")
        assert isinstance(caught.value.__cause__, flow.CorruptDataError)
        assert next(batches)[0] == 30


# ---- What they do wrong -------------------------------------------------------------------------

WRONG = {
    "nothing": (lambda x: None, "is a return missing"),
    "dtype": (lambda x: x.astype(np.float32), "has dtype float32, and float64 is declared"),
    "object": (lambda x: [object()] * len(x), "dtype object"),
    "shape": (lambda x: x[:, :, None], r"\(30, 1, 1\), and \(30, 1\) is declared"),
    "rows": (lambda x: x[1:], r"\(29, 1\), and \(30, 1\)"),
    "byte order": (lambda x: x.astype(">f8"), "has dtype >f8"),
    "uneven": (lambda x: [[1.0], [1.0, 2.0]], "is not an array"),
    "names": (lambda x: {"other": x}, "returned the outputs other; declared are out"),
    "generator": (lambda x: (n for n in x), "dtype object"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_returns_are_named(folder, case):
    function, message = WRONG[case]
    op = flow.register_decoder(
        function, outputs={"out": ("float64", (1,))}, name="WrongReturn", replace=True
    )
    with pytest.raises(flow.UserFunctionError, match=message) as caught:
        read(op(pairs(folder)[0]))
    assert caught.value.op == "WrongReturn"


@pytest.mark.parametrize("returned", [1, (1, 2, 3), None])
def test_a_wrong_number_of_outputs(folder, returned):
    op = flow.register_decoder(
        lambda x: returned,
        outputs={"a": "int64", "b": "int64"},
        per="row",
        name="WrongCount",
        replace=True,
    )
    with pytest.raises(flow.UserFunctionError, match=r"2 outputs are declared: return \(a, b\)"):
        read(*op(pairs(folder)[0]))


def test_wrong_ragged_returns(folder):
    for returned, message in (
        ([np.zeros(2)] * 29, "29 rows, and the batch has 30"),
        ([np.zeros(2)] * 29 + [np.zeros((2, 2))], r"\(2, 2\).*row 29"),
        ([np.zeros(2, "f4")] * 30, "float32"),
        (5, "must be a Ragged or a list"),
    ):
        op = flow.register_decoder(
            returning(returned), outputs={"out": ("float64", (None,))}, name="WrongRagged",
            replace=True,
        )  # fmt: skip
        with pytest.raises(flow.UserFunctionError, match=message):
            read(op(pairs(folder)[0]))


@flow.register_decoder(outputs={"out": "float64"}, per="row")
def divide(x, *, by: float = 0.0, at: int = 77):
    if x[0] == at:
        raise_it(by)
    return x[0]


def raise_it(by):
    return 1 / by


@pytest.mark.parametrize("num_threads", [1, 7])
def test_an_exception_comes_with_its_traceback(folder, num_threads):
    x, _ = pairs(folder, on_error="skip")
    with flow.DataLoader(divide(x), num_threads=num_threads) as loader:
        batches = iter(loader)
        assert [len(next(batches)) for _ in range(2)] == [30, 30]
        for _ in range(2):  # it is a fault of the program: the batch is not passed over
            with pytest.raises(flow.UserFunctionError, match="ZeroDivisionError: ") as caught:
                next(batches)
        assert (caught.value.op, caught.value.line) == ("Divide", 78)
        cause = caught.value.__cause__
        assert isinstance(cause, ZeroDivisionError)
        frames = [frame.name for frame in traceback.extract_tb(cause.__traceback__)]
        assert frames == ["divide", "raise_it"] or frames[-2:] == ["divide", "raise_it"]


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (MemoryError("full"), flow.OutOfMemoryError),
        (flow.FileError("no disk"), flow.FileError),
        (flow.UnsupportedError("no way"), flow.UnsupportedError),
        (ValueError("100 %s of \0 it \ud800 " + "x" * 5000), flow.UserFunctionError),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_classes_of_exceptions(folder, raised, expected):
    def failing(x):
        raise raised

    op = flow.register_decoder(failing, outputs={"out": "float64"}, name="Failing", replace=True)
    with pytest.raises(expected) as caught:
        read(op(pairs(folder)[0]))
    assert caught.value.__cause__ is raised


class Stop(BaseException):
    pass


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, Stop, MemoryError])
def test_one_rule_for_all_functions_of_the_program(folder, kind):
    """What is no Exception comes out as it is, and a MemoryError is an OutOfMemoryError."""
    raised = kind(3)

    def failing(x):
        raise raised

    def samples():
        yield {"x": failing(0)}

    op = flow.register_decoder(
        failing, outputs={"out": "float64"}, name="EndsProgram", replace=True
    )
    data = flow.from_arrays({"x": np.arange(8)})
    calls = [
        lambda: read(op(pairs(folder)[0])),
        lambda: op([np.float32([1])]),
        lambda: list(data.map(failing, outputs={"x": "int64"})),
        lambda: data.map(failing, outputs={"x": "int64"})[0],
        lambda: data.map(failing),
        lambda: len(data.where(failing)),
        lambda: data.column(failing),
        lambda: read(flow.GeneratorReader(samples, fields="x:int64", batch_size=2)),
    ]
    for number, call in enumerate(calls):
        with pytest.raises(kind) as caught:
            call()
        if kind is MemoryError:
            assert type(caught.value) is flow.OutOfMemoryError, number
            assert caught.value.__cause__ is raised, number
        else:
            assert caught.value is raised, number


def test_types_that_cannot_be_told(folder):
    def broken(x):
        raise KeyError("what")

    op = flow.register_decoder(returning(0), outputs={"out": broken}, name="Untold")
    with pytest.raises(flow.InvalidArgumentError, match="KeyError") as caught:
        op(pairs(folder)[0])
    assert isinstance(caught.value.__cause__, KeyError)
    op = flow.register_decoder(
        returning(0), outputs={"out": lambda x: "complex64"}, name="Untold", replace=True
    )
    with pytest.raises(flow.InvalidArgumentError, match="complex64.*must be a dtype"):
        op(pairs(folder)[0])


def test_what_cannot_be_an_op():
    refuse("must be a function", 3)
    refuse("per = 'column'", per="column")
    refuse("inputs = 3", inputs=3)
    refuse("inputs names 'y'", inputs={"y": "int8"})
    refuse("outputs = ", outputs=["float32"])
    refuse("outputs names 3", outputs={3: "int8"})
    refuse("outputs\\['a'\\] = 'text'", outputs={"a": "text"})
    refuse("outputs\\['a'\\] = ", outputs={"a": ("int8", (-2,))})
    refuse("output 'B': name must be in lower_snake", outputs={"B": "int8"})
    refuse("no positional parameters", lambda: 0)
    refuse("parameter \\*x", lambda *x: 0)
    refuse("parameter \\*\\*x", lambda **x: 0)
    refuse("after a \\*", lambda x, scale=1: 0)
    refuse("type of the attr 'a' is not known", lambda x, *, a: 0)
    refuse("type of the attr 'a' is not known", lambda x, *, a=None: 0)
    refuse("type of the attr 'a' is not known", lambda x, *, a=(1, "b"): 0)
    refuse("name must be in CamelCase", name="not_camel", outputs={"out": "int8"})
    refuse("has a '#'", name="Camel#2", outputs={"out": "int8"})
    refuse("input 'name': name is reserved", lambda name: 0)
    refuse("MiniReader", name="MiniReader")
    refuse("MiniReader", name="MiniReader", replace=True)
