"""TextLineWriter: lines, and what is not one."""

import pytest
from support.written import ragged, written

import pyflowdata as flow
from pyflowdata.io import TextLineWriter


def test_lines(tmp_path):
    calls = [("write", "é"), ("write_batch", [b"", b"a\rb"]), ("write_batch", ragged(b"x", b"yz"))]
    assert written(TextLineWriter, tmp_path / "a", *calls) == "é\n\na\rb\nx\nyz\n".encode()
    with TextLineWriter(tmp_path / "b") as writer:
        with pytest.raises(flow.InvalidArgumentError, match=r"record 1\).*break at its byte 2"):
            writer.write_batch(["ok", "ab\nc"])
        with pytest.raises(flow.InvalidArgumentError, match="line break at its byte 0"):
            writer.write("\r")
        with pytest.raises(flow.InvalidArgumentError, match="5 is not a line"):
            writer.write(5)
    assert (tmp_path / "b").read_bytes() == b""
