"""The short form of tests/loader/fault_runs.py: failing calls are never taken for damage."""

import pytest
from support.oracle import SANITIZED
from support.session import PRELOADED

from loader import fault_runs


@pytest.mark.skipif(SANITIZED or PRELOADED, reason="a sanitizer has its own malloc()")
def test_each_failure_is_an_error_of_its_class_or_nothing_at_all():
    done = fault_runs.start(runs=300, seed=1)
    assert done.returncode == 0, done.stdout + done.stderr
    for outcome in (" rows\n", " rows, after a retry\n", " error\n"):
        assert outcome in done.stdout
