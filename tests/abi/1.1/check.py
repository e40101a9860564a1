"""Uses what plugin.c has: check.py LIBRARY FOLDER.  Exits with 0 if all is as it was in 1.1."""

import sys
from pathlib import Path

import pyflowdata as flow
from pyflowdata.nodes.registry import detect_format, registered_formats

plugin = flow.load_library(sys.argv[1])
assert (plugin.name, plugin.version, plugin.abi) == ("abi", "1.1", (1, 1))
found = registered_formats()[-1]
assert (found.name, found.title, found.suffixes) == ("v11_pairs", "pairs of 1.1", (".pairs", ".pr"))
assert (found.reader, found.decoders) == ("V11Pairs", ())
assert (found.checks, found.folder_file) == ("the first four bytes", "pairs.index")
assert found.origin == sys.argv[1]

path = Path(sys.argv[2]) / "some.pairs"
path.write_bytes(b"PAIRabcd")
assert detect_format(str(path), path.read_bytes(), 8) == "v11_pairs"
assert detect_format("other", b"PAIRabc", 7) == "text"
assert detect_format("other.pr", b"PAIRabc", 7) == "v11_pairs"
with flow.DataLoader(plugin.V11Pairs(files=str(path), batch_size=2)) as loader:
    assert [batch.tolist() for batch in loader] == [[[*b"ab"], [*b"cd"]]]
path.write_bytes(b"\x89PNG\r\n\x1a\n")
try:
    flow.DataLoader(plugin.V11Pairs(files=str(path)))
    raise SystemExit("another format was opened")
except flow.CorruptDataError as failure:
    assert "no pairs, but PNG" in str(failure), failure
path.write_bytes(b"PAIRabcde")
try:
    flow.DataLoader(plugin.V11Pairs(files=str(path)))
    raise SystemExit("half a pair was read")
except flow.CorruptDataError as failure:
    assert (failure.attr, failure.records) == ("step", 2), vars(failure)
    assert (failure.reason, failure.file) == ("rest-unreadable", str(path)), vars(failure)
    assert "attr 'step': half a pair" in str(failure), failure
path.write_bytes(b"PAIR")
try:
    flow.DataLoader(plugin.V11Pairs(files=str(path)))
    raise SystemExit("a file without pairs was opened")
except flow.CorruptDataError as failure:
    assert failure.reason == "no-records", vars(failure)
try:
    plugin.V11Pairs(files=str(path), step=3)
    raise SystemExit("a wrong attr was taken")
except flow.InvalidArgumentError as failure:
    assert failure.attr == "step" and "attr 'step' = 3; 1 or 2" in str(failure), failure
