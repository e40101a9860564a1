"""What each test of a trainer finds: a process in which no Accelerator was made."""

import sys

import pytest


@pytest.fixture(autouse=True)
def no_accelerator():
    """With an Accelerator in the process, which trainers make too, loaders take a batch ahead."""
    yield
    state = sys.modules.get("accelerate.state")
    if state is not None:
        state.GradientState._reset_state()
        state.AcceleratorState._reset_state(reset_partial_state=True)
