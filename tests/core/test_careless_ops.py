"""What an op returns must agree with what the op reports; if it does not, an error says so."""


import pytest
from support.paths import ROOT

import pyflowdata as flow

DATA = str(ROOT / "data")


@pytest.mark.parametrize("on_error", ["raise", "skip", "pad"])
@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("open", "open() returned status -2 and reported: nothing"),
        ("nothing", "open() returned no source"),
        ("compute", "compute() returned status -2 and reported: nothing"),
        ("end", "compute() returned status 1"),
        ("forgotten", "compute() returned status 0 and reported: a failure that is not returned"),
    ],
)
def test_it_is_an_internal_error_whatever_the_policy(test_ops, fault, says, on_error):
    op = test_ops.CarelessReader(DATA, fault=fault, on_error=on_error)
    with pytest.raises(flow.InternalError) as caught, flow.DataLoader(op) as loader:
        next(iter(loader))
    assert caught.value.op.startswith("CarelessReader")
    assert says in str(caught.value)
