"""Every format's reader with files that were cut anywhere, and that were changed at random.

FUZZ_FLIPS in the environment says how many changes and cuts are tried of each; `make fuzz` tries
thousands under AddressSanitizer.
"""

from __future__ import annotations

import pytest
from formats.damage import check_cuts, check_flips
from formats.format_samples import FORMATS

from pyflowdata.nodes import registered_ops


def test_every_reader_of_files_is_here():
    readers = {op.name for op in registered_ops()
               if op.origin == "built in" and op.attr("data_dir") is not None}
    readers.remove("ImageFolderReader")  # its records are files, which it reads as they are
    readers.remove("CacheReader")  # of own files, which tests/formats/cache damages
    assert readers <= {name.partition(" ")[0] for name in FORMATS}


@pytest.mark.parametrize("name", FORMATS)
def test_cut_files(name, tmp_path):
    check_cuts(FORMATS[name], tmp_path)


@pytest.mark.parametrize("name", FORMATS)
def test_changed_files(name, tmp_path):
    check_flips(FORMATS[name], tmp_path)
