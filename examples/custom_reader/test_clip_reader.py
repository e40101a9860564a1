"""ClipReader keeps the contract, and reads what make_clips.py writes."""

from itertools import chain
from pathlib import Path

import numpy as np
import pyflowdata as flow
import pytest
from pyflowdata import testing

import make_clips

plugin = flow.load_library(Path(__file__).with_name("clip_reader.so"))
EXPECTED = [*make_clips.clips_of(0), *make_clips.clips_of(1)]


@pytest.fixture
def folder(tmp_path):
    for part in range(2):
        make_clips.write(tmp_path / f"part-{part}", make_clips.clips_of(part))
    return tmp_path


def read(folder, **attrs):
    """The clips of one epoch: (label, samples)."""
    with flow.DataLoader(*plugin.ClipReader(folder, batch_size=4, **attrs)) as loader:
        return [(int(n), row) for samples, label in loader for n, row in zip(label, samples)]


def assert_same(clips, expected):
    assert [label for label, _ in clips] == [label for label, _ in expected]
    for (_, samples), (_, wanted) in zip(clips, expected):
        np.testing.assert_array_equal(samples, wanted, strict=True)


def test_contract(folder):
    testing.check_reader(plugin.ClipReader(folder), records=len(EXPECTED), checksums=True)


def test_in_order(folder):
    assert_same(read(folder), EXPECTED)


def test_shuffled_on_two_ranks(folder):
    ranks = [read(folder, random_shuffle=True, seed=1, rank=i, world_size=2) for i in range(2)]
    clips = list(chain(*ranks))
    assert [label for label, _ in clips] != [label for label, _ in EXPECTED]
    assert_same(sorted(clips, key=lambda clip: clip[0]), EXPECTED)


def test_a_changed_byte_costs_one_clip(folder):
    data = bytearray((folder / "part-1").read_bytes())
    data[-1] ^= 1
    (folder / "part-1").write_bytes(data)
    with pytest.raises(flow.CorruptDataError, match="part-1.*checksum"):
        read(folder)
    assert_same(read(folder, on_error="skip"), EXPECTED[:-1])


def test_an_empty_file_lacks_its_header(folder):
    (folder / "part-2").touch()
    with pytest.raises(flow.CorruptDataError, match="part-2"):
        read(folder)


def test_another_format(folder):
    (folder / "part-0").write_bytes(b"RIFF....WAVEfmt ")
    with pytest.raises(flow.CorruptDataError, match="no file of clips"):
        read(folder)


def test_other_readers_name_the_format(folder):
    with pytest.raises(flow.CorruptDataError, match="looks like sensor clips .ClipReader reads it"):
        flow.NpyReader(files=folder / "part-0")
