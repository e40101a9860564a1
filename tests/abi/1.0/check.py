"""Uses each op of plugin.c: check.py LIBRARY FOLDER.  Exits with 0 if all is as it was in 1.0."""

import sys
from pathlib import Path

import numpy as np

import pyflowdata as flow

plugin = flow.load_library(sys.argv[1])
assert (plugin.name, plugin.version, plugin.abi) == ("abi", "1.0", (1, 0))
folder = Path(sys.argv[2]) / "data"
folder.mkdir()
TEXTS = ["1\n22\n333\n", "4\n55\n"]
for i, text in enumerate(TEXTS):
    (folder / f"part-{i}").write_text(text)
files = {"data_dir": str(folder), "data_part_num": 2}


def rows(*blobs, **options):
    with flow.DataLoader(*blobs, **options) as loader:
        batches = [batch if isinstance(batch, tuple) else (batch,) for batch in loader]
    return [np.concatenate(column).ravel().tolist() for column in zip(*batches, strict=True)]


# Lines, their attrs and their errors
numbers, sizes = plugin.V1Lines(**files, batch_size=2, scale=2, negate=True)
assert rows(numbers, sizes) == [[-2, -44, -666, -8, -110], [1, 2, 3, 1, 2]]
(folder / "part-2").write_text("6\n7x\n")
bad, _ = plugin.V1Lines(str(folder), data_part_num=3, batch_size=2)
try:
    rows(bad)
    raise SystemExit("a damaged line was read")
except flow.CorruptDataError as failure:
    assert (failure.op, failure.line, failure.byte) == ("V1Lines", 2, 3), failure
    assert failure.file == str(folder / "part-2") and "not a number" in str(failure)

# Batches by group
grouped, sizes = plugin.V1Groups(**files, batch_size=2, group_buffer_size=4)
with flow.DataLoader(grouped, sizes) as loader:
    found = [(batch.tolist(), set(length.ravel().tolist())) for batch, length in loader]
assert all(len(lengths) == 1 for _, lengths in found)
assert sorted(sum((batch for batch, _ in found), [])) == [1, 4, 22, 55, 333]

# Sources of the plugin's own
data = [ord(letter) for letter in "".join(TEXTS)]
for access in ("random", "stream"):
    assert rows(plugin.V1Bytes(**files, access=access, batch_size=4)) == [data]
shuffled = rows(plugin.V1Bytes(**files, batch_size=4, random_shuffle=True, seed=1))[0]
assert shuffled != data and sorted(shuffled) == sorted(data)

# Framed records and records of one size
(folder / "frames-0").write_bytes(b"\x03abc\x00\x01d")
(folder / "frames-1").write_bytes(b"\x02!?\x02ef")
frames = {"data_dir": str(folder), "part_name_prefix": "frames-", "data_part_num": 2}
first, size = plugin.V1Frames(**frames, batch_size=4, on_error="skip")
assert rows(first, size) == [[*b"ade"], [3, 1, 2]]
try:
    rows(*plugin.V1Frames(**frames, batch_size=4))
    raise SystemExit("a damaged record was read")
except flow.CorruptDataError as failure:
    assert failure.file == str(folder / "frames-1") and failure.byte == 1, failure
(folder / "frames-1").write_bytes(b"\x02ef\xff")
try:
    rows(*plugin.V1Frames(**frames, batch_size=4))
    raise SystemExit("a damaged frame was passed over")
except flow.CorruptDataError as failure:
    assert failure.byte == 3 and "no frame has 255 bytes" in str(failure), failure
(folder / "fixed-0").write_bytes(b"HHabcdef.")
fixed = {"data_dir": str(folder), "part_name_prefix": "fixed-", "data_part_num": 1}
assert rows(*plugin.V1Fixed(**fixed, batch_size=4)) == [[*b"ad"], [3, 3]]

# Random numbers, scratch, aliases
noise = [
    rows(flow.user_op_builder("n").Op("v1_random").Input("in", one).Output("out").Build()
         .SoleOutputBlob(), num_threads=threads)[0]
    for threads in (1, 3)
    for one in [plugin.V1Bytes(**files, batch_size=5, seed=9)]
]  # fmt: skip
assert noise[0] == noise[1] and len(set(noise[0])) == len(data)

# A whole batch
numbers, _ = plugin.V1Lines(**files, batch_size=5)
assert rows(plugin.V1Rank(numbers)) == [[0, 2, 4, 1, 3]]
