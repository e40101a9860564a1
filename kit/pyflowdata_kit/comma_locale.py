"""A locale with a decimal comma, on machines that have none installed."""

from __future__ import annotations

import contextlib
import locale
import os
import struct
from collections.abc import Iterator
from pathlib import Path

_NAME = "pyflowdata_comma"
_MAGIC = 0x20031115  # of files that glibc reads; for LC_NUMERIC, category 1, one bit is another


@contextlib.contextmanager
def comma_locale(folder: Path) -> Iterator[bool]:
    """Within, strtod() and printf() of this process have a decimal comma; False: they have not,
    since its C library is not glibc.

    Args:
        folder: For the locale's file.
    """
    place = folder / "locale" / _NAME
    place.mkdir(parents=True, exist_ok=True)
    (place / "LC_NUMERIC").write_bytes(_lc_numeric())
    before, path = locale.setlocale(locale.LC_NUMERIC), os.environ.get("LOCPATH")
    os.environ["LOCPATH"] = str(place.parent)
    try:
        with contextlib.suppress(locale.Error):
            locale.setlocale(locale.LC_NUMERIC, _NAME)
        yield locale.localeconv()["decimal_point"] == ","
    finally:
        if path is None:
            del os.environ["LOCPATH"]
        else:
            os.environ["LOCPATH"] = path
        locale.setlocale(locale.LC_NUMERIC, before)


def _lc_numeric() -> bytes:
    """Decimal point, thousands separator and grouping; the first two as wide characters; the
    character set.  After a header with the offset of each."""
    values = [b",\0", b"\0", b"\0", struct.pack("=I", ord(",")), bytes(4), b"UTF-8\0"]
    head = 8 + 4 * len(values)
    offsets, body = [], b""
    for value in values:
        body += bytes(-len(body) % 4)
        offsets.append(head + len(body))
        body += value
    return struct.pack(f"={2 + len(values)}I", _MAGIC ^ 1, len(values), *offsets) + body
