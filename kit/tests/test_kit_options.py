"""A run of the kit refuses options that its mode does not use."""

import pytest

import pyflowdata as flow
from pyflowdata_kit.kit import FORMATS, RANGES, TYPES, Kit


@pytest.fixture
def kit(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("1\n2\n3\n")
    line = flow.TextLineReader(files=[str(path)])
    return Kit(line.node, lambda id, text: None, -1, 0)


@pytest.mark.parametrize("options, says", [
    ({"mode": 5}, "^mode of pfd_kit_options is out of range"),
    ({"mode": TYPES}, "^varied of pfd_kit_options is out of range"),
    ({"varied": {"dtype": 1}}, "^varied of pfd_kit_options is for another mode than 0"),
    ({"mode": RANGES, "epoch": 1}, "^order, only_output or epoch of .* another mode than 2"),
    ({"mode": FORMATS, "num_threads": 2}, "^seek, seek_from, rounds or num_threads of "),
    ({"mode": RANGES, "twice": 1}, "^twice, filler, "),
    ({"mode": RANGES, "fail_read": 1}, "^cancelled, fail_read, "),
    ({"mode": RANGES, "generators": 1}, "^changed_draw, draws or generators of "),
])  # fmt: skip
def test_options_of_another_mode_are_refused(kit, options, says):
    with pytest.raises(flow.Error, match=says):
        kit.run(**options)


def test_a_pass_and_ranges_are_accepted(kit):
    assert kit.run().num_records == 3
    assert kit.run(mode=RANGES).status == "PFD_OK"
