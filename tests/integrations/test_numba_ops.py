"""Ops that are functions compiled by numba: `make test-numba` installs it and runs these."""

import time

import numpy as np
import pytest
from support.pairs import NUM_RECORDS, folder, numbers, pairs, read, refuse  # noqa: F401

import pyflowdata as flow


@pytest.fixture
def numba():
    return pytest.importorskip("numba", reason="numba is not installed: pip install numba")


ROW = ("float64", (1,))
PAIR = {"x": ("float64", (None,)), "y": ("float64", (1,))}


def test_numba_over_a_batch(folder, numba):
    @flow.register_decoder(inputs=PAIR, outputs={"out": ("float32", (2,)), "same": lambda x, y: x})
    @numba.njit
    def numba_centre(x, y, out, same, scale=1.0, count=0, flip=False):
        for i in range(len(x)):
            out[i, 0] = (x[i, 0] - x.mean()) * scale
            out[i, 1] = (-y[i, 0] if flip else y[i, 0]) + count
            same[i] = x[i]

    x, y = pairs(folder, random_shuffle=True, seed=1)
    out, same = numba_centre(x, y, scale=2.0, count=-3, flip=True)
    ways = [read(x, y, out, same, num_threads=n) for n in (1, 7)]
    for a, b, c, d in sum(ways, []):
        assert np.allclose(c[:, 0], (a[:, 0] - a.mean()) * 2, rtol=1e-6)
        assert np.array_equal(c[:, 1], (-3 - b[:, 0]).astype(np.float32))
        assert np.array_equal(a, d)
    assert "scale (float, default 1.0)" in numba_centre.__doc__
    with pytest.raises(flow.InvalidArgumentError, match="'x' has rows of float32"):
        numba_centre(out, y)


DTYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64".split()


def test_numba_over_rows_of_all_dtypes(folder, numba):
    """All in one function, which numba compiles once."""
    fields = dict(zip("abcdefghi", DTYPES, strict=True))

    @flow.register_decoder(inputs={"x": ROW}, outputs=fields, per="row")
    @numba.njit
    def numba_cast(x, a, b, c, d, e, f, g, h, i):
        a[0] = b[0] = c[0] = d[0] = e[0] = f[0] = g[0] = h[0] = i[0] = x[0] % 2

    @flow.register_decoder(inputs=fields, outputs={"out": ("float64", (9, 2))}, per="row")
    @numba.njit
    def numba_back(a, b, c, d, e, f, g, h, i, out):
        out[0, :], out[1, :], out[2, :], out[3, :], out[4, :] = a, b, c, d, e
        out[5, :], out[6, :], out[7, :], out[8, :] = f, g, h, i

    x, _ = pairs(folder)
    casts = numba_cast(x)
    for a, back, *found in read(x, numba_back(*casts), *casts, num_threads=2):
        for i, (dtype, b) in enumerate(zip(DTYPES, found, strict=True)):
            assert np.array_equal(b, (a[:, 0] % 2).astype(dtype))
            assert np.array_equal(back[:, i], np.repeat(b[:, None], 2, axis=1))


@pytest.mark.parametrize("per", ["row", "batch"])
def test_numba_says_what_is_damaged(folder, numba, per):
    if per == "row":

        @numba.njit
        def damaged(x, out):
            out[0] = x[0]
            return x[0] == 17 or x[0] == 300
    else:

        @numba.njit
        def damaged(x, out):
            for i in range(len(x)):
                if x[i, 0] == 17 or x[i, 0] == 300:
                    return i
                out[i] = x[i, 0]
            return -1

    op = flow.register_decoder(
        damaged, inputs={"x": ("float64", (1,))}, outputs={"out": "float64"}, per=per,
        name="NumbaDamaged", replace=True,
    )  # fmt: skip
    with flow.DataLoader(op(pairs(folder, on_error="skip")[0])) as loader:
        assert numbers([(b,) for b in loader]) == sorted({*range(NUM_RECORDS)} - {17, 300})
        assert [one.line for one in loader.skipped] == [18, 1]


def test_numba_raises(folder, numba):
    @flow.register_decoder(inputs={"x": ("float64", (1,))}, outputs={"out": "float64"}, per="row")
    @numba.njit
    def numba_raising(x, out):
        if x[0] == 77:
            raise ValueError("no")

    with pytest.raises(flow.UserFunctionError, match="numba_raising.. raised an exc") as caught:
        read(numba_raising(pairs(folder)[0]))
    assert caught.value.line == 78


def test_a_numba_cfunc_is_compute_itself(folder, numba):
    from numba import carray, types

    @numba.cfunc(types.int32(types.voidptr, types.voidptr))
    def failing(args, err):
        carray(err, 2, np.int32)[1] = -7
        carray(err, 1600, np.uint8)[616] = 63
        return -7

    op = flow.register_decoder(
        failing, inputs={"x": ("float64", (1,))}, outputs={"out": "float64"}, name="NumbaCfunc"
    )
    with pytest.raises(flow.InternalError, match=r"NumbaCfunc: \?"):
        read(op(pairs(folder)[0]))


def test_numba_needs_no_gil(folder, numba):
    import ctypes

    hold = ctypes.PyDLL(None).usleep  # keeps the GIL

    def open_with(function):
        op = flow.register_decoder(
            function, inputs={"x": ("float64", (1,))}, outputs={"out": "float64"},
            name="WithoutGil", replace=True,
        )  # fmt: skip
        return flow.DataLoader(op(pairs(folder)[0]), num_threads=2, prefetch=18)

    @numba.njit
    def compiled(x, out):
        noise = 0.0
        for i in range(1_000_000):
            noise += np.sqrt(i)
        out[:] = x[:, 0] + (noise < 0)

    def made_while_held(function):
        with open_with(function) as loader:
            next(iter(loader))
            before = loader.stats()["slots_ready"]
            hold(200_000)
            return loader.stats()["slots_ready"] - before

    interpreted = [made_while_held(lambda x: (time.sleep(0.01), x[:, 0])[1]) for _ in range(3)]
    assert max(interpreted) <= 2  # those whose function had returned
    assert any(made_while_held(compiled) > 3 for _ in range(20))


def test_numba_takes_rows_of_one_shape(folder, numba):
    uneven = flow.register_decoder(
        lambda x: x[: int(x[0]) % 2], outputs={"out": ("float64", (None,))}, per="row",
        name="Uneven",
    )  # fmt: skip
    inputs = {"x": ("float64", (None,))}
    kernel = numba.njit(lambda x, out: None)
    op = flow.register_decoder(kernel, inputs=inputs, outputs={"out": "int8"}, name="NumbaEven")
    rows = uneven(pairs(folder)[0])
    with pytest.raises(flow.Error, match="takes rows of one size"):
        op(rows)
    op = flow.register_decoder(kernel, inputs=inputs, outputs={"out": lambda x: x}, name="NumbaOdd")
    assert op(pairs(folder)[0]).shape == (30, 1)


def test_what_of_numba_cannot_be_an_op(numba):
    def refuse_numba(message, function, inputs, **options):
        refuse(message, numba.njit(**options)(function), inputs=inputs)

    x = {"x": ("float32", (2,))}
    refuse_numba("inputs names nothing", lambda x, out: None, None)
    refuse_numba("must be its inputs and then", lambda x, y: None, x)
    refuse_numba("must be its inputs and then", lambda out: None, x)
    refuse_numba("numba cannot compile", lambda x, out: out.nonsense(), x)
    refuse_numba("parallel=True", lambda x, out: None, x, parallel=True)
    refuse_numba("returns array", lambda x, out: x, x)
    refuse_numba("attr 'a' is of", lambda x, out, a="b": None, x)
