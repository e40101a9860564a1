"""docs/reference/formats.md says of each format what the registry says."""

from support import formats_page
from support.paths import ROOT

from pyflowdata.formats import FORMATS

PAGE = (ROOT / "docs/reference/formats.md").read_text()
BUILT_IN = {name: one for name, one in FORMATS.items() if one.origin == "built in"}


def test_the_page_is_that_of_the_registry():
    assert len(BUILT_IN) >= 14
    assert formats_page.differences(PAGE, BUILT_IN) == []


def test_a_page_that_says_otherwise_is_found():
    (row,) = (line for line in PAGE.splitlines() if "| `npy` |" in line)
    for changed, wrong in {
        PAGE.replace(row + "\n", ""): "npy has no row",
        PAGE.replace(row, row.replace("`npy`", "`npz`")): "npz is not known",
        PAGE.replace(row, row.replace("`NpyReader`", "`RawReader`")): "npy is read by NpyReader",
        PAGE.replace(row, row.replace("`NpyWriter`", "")): "npy is written by NpyWriter",
        PAGE.replace(row, row.replace("`.npy` |", "`.np` |")): "npy has the suffixes ('.npy',)",
        PAGE.replace("`SequenceExampleDecoder`", ""):
            "tfrecord has the decoder SequenceExampleDecoder",
    }.items():  # fmt: skip
        assert wrong in formats_page.differences(changed, BUILT_IN)
