"""What the sanitizers leave out is there to be left out."""

import re

import pytest
from support.paths import ROOT
from support.session import left_out


@pytest.mark.parametrize("sanitizer", ["asan", "tsan"])
def test_what_is_left_out_is_there(sanitizer):
    left = left_out(sanitizer)
    assert left[ROOT / "tests/loader/test_order.py"] == set()
    for path, names in left.items():
        tests = re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
        assert names < set(tests), f"{path}: {sorted(names - set(tests))}"
