"""bfloat16 in jax, and in NumPy where ml_dtypes is installed: with jax it is."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed: pip install pyflowdata[jax]")
import jax.numpy as jnp  # noqa: E402
import ml_dtypes  # noqa: E402

import pyflowdata as flow  # noqa: E402
from pyflowdata.integrations.jax import JaxLoader  # noqa: E402


def test_every_conversion_is_that_of_ml_dtypes():
    chance = np.random.default_rng(0)
    narrow = np.arange(2**16, dtype=np.uint16).view(ml_dtypes.bfloat16)
    bits = chance.integers(0, 2**32, 300_000, np.uint32)
    bits[::2] = bits[::2] & 0xFFFF0000 | chance.choice([0x7FFF, 0x8000, 0x8001], 150_000)
    with np.errstate(all="ignore"):
        for given in (bits.view(np.float32), bits.view(np.float32).astype(np.float16)):
            found = flow.Cast(given, dtype=jnp.bfloat16, overflow="wrap")
            assert found.dtype == ml_dtypes.bfloat16
            wanted, nan = given.astype(ml_dtypes.bfloat16), np.isnan(given)
            assert found[~nan].tobytes() == wanted[~nan].tobytes() and np.isnan(found[nan]).all()
        nan = np.isnan(narrow)
        for dtype in (np.float32, np.float64, np.float16):
            found = flow.Cast(narrow, dtype=dtype, overflow="wrap")
            assert np.array_equal(found[~nan], narrow[~nan].astype(dtype))
            assert np.isnan(found[nan]).all()


def test_jax_gets_its_own_dtype():
    rows = np.random.default_rng(1).normal(size=(10, 3)).astype(np.float32)
    x = flow.Cast(flow.from_arrays({"x": rows}).batch(4)["x"], dtype="bfloat16")
    with JaxLoader(flow.DataLoader(x)) as loader:
        batches = list(loader)
    assert all(batch.dtype == jnp.bfloat16 for batch in batches)
    assert jnp.array_equal(jnp.concatenate(batches), jnp.asarray(rows, jnp.bfloat16))


def test_arrays_of_ml_dtypes_are_rows_of_data_sets():
    rows = np.linspace(-3, 3, 12).astype(ml_dtypes.bfloat16).reshape(6, 2)
    data = flow.from_arrays({"x": rows})
    (batch,) = flow.DataLoader(data.batch(6)["x"])
    assert batch.dtype == rows.dtype and batch.tobytes() == rows.tobytes()
    kept = data.where("x[0] > 0.0")
    (batch,) = flow.DataLoader(kept.batch(6)["x"])
    assert batch.tobytes() == rows[rows[:, 0] > 0].tobytes()
    samples = [{"x": row, "n": row[: i % 3]} for i, row in enumerate(rows)]
    fields = ["x:bfloat16[2]", "n:bfloat16[?]"]
    x, n = flow.GeneratorReader(samples, fields=fields, batch_size=6)
    ((x, n),) = flow.DataLoader(x, n)
    assert x.tobytes() == rows.tobytes() and n.dtype == rows.dtype
    assert [row.tolist() for row in n] == [row[: i % 3].tolist() for i, row in enumerate(rows)]
