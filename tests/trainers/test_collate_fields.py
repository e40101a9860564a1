"""The DataLoader's own default_collate gives what torch's gives, whatever the samples are."""

import collections

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
from torch.utils.data import default_collate  # noqa: E402
from torch.utils.data._utils.collate import default_collate_fn_map  # noqa: E402

from pyflowdata.integrations.torch.data_loader.fetching import collate  # noqa: E402

X = np.arange(24, dtype=np.float32).reshape(4, 2, 3)
Pair = collections.namedtuple("Pair", "x y")
SAMPLES = {
    "arrays": [*X],
    "tuples": [(X[i], i) for i in range(4)],
    "lists": [[X[i], float(i), str(i), b"%d" % i] for i in range(4)],
    "dicts": [{"x": X[i], "deep": {"y": i, "t": (X[i], X[i, 0])}} for i in range(4)],
    "named tuples": [Pair(X[i], i) for i in range(4)],
    "dicts with more keys": [{"x": 1}, {"x": 2, "y": 3}],
    "dicts in another order": [{"x": 1, "y": 2.5}, {"y": 0.5, "x": 3}],
    "numbers": [1, 2, 3],
    "floats": [0.1, 2.0],
    "truths": [True, False],
    "integers and floats": [1, 2.5],
    "integers and truths": [1, True],
    "numbers of NumPy": [(np.int64(3 + i), np.float32(0.5), np.uint8(7 * i)) for i in range(2)],
    "arrays without dimensions": [np.array(1.5), np.array(2.5)],
    "empty arrays": [np.zeros((0, 2)), np.zeros((0, 2))],
    "parts of arrays": [X.T[0], X.T[1]],
    "float16": [*X.astype(np.float16)],
    "bool": [*(X > 3)],
    "complex": [*X.astype(np.complex64)],
    "tensors": [torch.ones(2) * i for i in range(3)],
    "tensors and arrays": [(torch.ones(2), X[0]), (torch.zeros(2), X[1])],
    "one": [(X[0], 3)],
    "texts": ["a", "bc"],
    "masked": [np.ma.masked_array([1.0, 2.0], [True, False])] * 2,
}  # fmt: skip


def check_same(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, torch.Tensor):
        assert found.dtype == expected.dtype and torch.equal(found, expected)
        assert found.is_contiguous() and expected.is_contiguous()
    elif isinstance(expected, dict):
        assert [*found] == [*expected]
        for key in expected:
            check_same(found[key], expected[key])
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            check_same(one, other)
    else:
        assert found == expected


@pytest.mark.parametrize("name", SAMPLES)
def test_it_is_what_torch_makes(name):
    check_same(collate(SAMPLES[name]), default_collate(SAMPLES[name]))


@pytest.mark.parametrize("samples", [
    [np.zeros(2), np.zeros(3)],
    [np.zeros(3), np.zeros(5), np.zeros(1)],  # nine values, as three times three
    [np.zeros((2, 3)), np.zeros((3, 2))],
    [(1, 2), (1,)],
    [{"x": 1}, {"y": 1}],
    [None, None],
    [(np.zeros(2), None), (np.zeros(2), None)],
    [2**70, 1],
    [np.array(["a"]), np.array(["b"])],
])  # fmt: skip
def test_it_refuses_what_torch_refuses(samples):
    with pytest.raises(Exception) as expected:  # noqa: B017, PT011  (whichever torch has)
        default_collate(samples)
    with pytest.raises(type(expected.value)):
        collate(samples)


def test_arrays_of_two_dtypes_are_collated_as_torch_does():
    samples = [np.zeros(2, np.float32), np.ones(2, np.float64)]
    try:
        expected = default_collate(samples)
    except RuntimeError:
        with pytest.raises(RuntimeError):
            collate(samples)
    else:
        check_same(collate(samples), expected)


def test_a_function_of_the_program_is_used(monkeypatch):
    def double(batch, *, collate_fn_map=None):
        return [2 * one for one in batch]

    monkeypatch.setitem(default_collate_fn_map, int, double)
    assert collate([(1, "a"), (2, "b")])[0] == [2, 4]


def test_the_arrays_are_copied():
    samples = [X[i].copy() for i in range(4)]
    found = collate(samples)
    samples[0][:] = -1
    assert torch.equal(found, torch.from_numpy(X))
