"""Numbers as people read them."""

from pyflowdata.words.plain_text import (
    bytes_of, counted, joined, number, percent, seconds, short_count, size,
)  # fmt: skip


def said(of, cases):
    assert {value: of(value) for value in cases} == cases


def test_shares():
    said(percent, {
        -0.1: "0 %", 0: "0 %", 0.0001: "under 0.1 %", 0.004: "0.4 %", 0.0994: "9.9 %",
        0.0996: "10 %", 0.314: "31 %", 0.986: "99 %", 1: "100 %", 12.345: "1,234 %",
    })  # fmt: skip


def test_three_digits_and_a_unit():
    """No exponents, no zeros at the end, and the next unit from what would be 1,000 of the last."""
    said(seconds, {
        0: "0 s", 5e-9: "5 ns", 3.5e-4: "350 us", 0.012: "12 ms", 0.9994: "999 ms", 0.9996: "1 s",
        1.9: "1.9 s", 9.996: "10 s", 99.96: "100 s", 123.4: "123 s", 1500: "1,500 s",
    })  # fmt: skip
    said(size, {
        0: "0 bytes", 1: "1 byte", 12: "12 bytes", 999: "999 bytes", 1500: "1.5 KB",
        2.5e6: "2.5 MB", 999.4e6: "999 MB", 999.9e6: "1 GB", 12e9: "12 GB", 1.5e12: "1.5 TB",
        2e15: "2,000 TB",
    })  # fmt: skip
    said(short_count, {
        0: "0", 0.5: "0.5", 17: "17", 999: "999", 1200: "1.2k", 999_900: "1M", 3e6: "3M",
        2.5e9: "2.5G", 1e15: "1,000T",
    })  # fmt: skip


def test_sizes_are_read():
    said(bytes_of, {
        "0": 0, "4096": 4096, "12B": 12, "512MB": 512 * 10**6, " 1.5 gib ": 3 << 29, "2k": 2000,
        "1.5T": 15 * 10**11, "0.1KiB": 102, str(2**62 - 1): 2**62 - 1, str(2**62): None,
        "9" * 400: None, "4194304TiB": None, "4194303TiB": 4194303 << 40, "": None, "MB": None,
        "-1": None, "1XB": None, "5iB": None, "1e3": None, "nanGB": None, "1_0": None, ".5K": None,
    })  # fmt: skip


def test_numbers():
    said(number, {
        0: "0", 7: "7", 4700: "4,700", 10**7: "10,000,000", 3.14159: "3.14", 12.5: "12.5",
        99.97: "100", 123456.7: "123,457", 0.3141: "0.314", 0.9996: "1",
        0.03456: "0.0346", 1e-7: "0",
    })  # fmt: skip
    assert number(12.0) == "12"


def test_words():
    assert [counted(count, "file") for count in (0, 1)] == ["0 files", "1 file"]
    assert counted(4700, "file") == "4,700 files"
    assert [counted(count, "batch", "batches") for count in (1, 2)] == ["1 batch", "2 batches"]
    assert [joined(list(text)) for text in ("", "a", "abc")] == ["", "a", "a, b or c"]
    assert joined(["a", "b"], "and") == "a and b"
