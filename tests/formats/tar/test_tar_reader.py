"""TarReader: shards of webdataset, GNU tar and tarfile, and tar files that are damaged."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import tarfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.paths import ROOT

import pyflowdata as flow

FIXTURES = ROOT / "tests/fixtures/webdataset"
READ = json.loads((FIXTURES / "read.json").read_text())
FLIPS = int(os.environ.get("FUZZ_FLIPS", "120" if "SOAK" in os.environ else "60"))
BLOCK = 512

Sample = tuple[bytes, ...]


def read(files: object, fields: Sequence[str], **attrs: object) -> list[Sample]:
    attrs.setdefault("batch_size", 4)
    blobs = flow.TarReader(files=files, fields=fields, **attrs)
    samples: list[Sample] = []
    with flow.DataLoader(*(blobs if isinstance(blobs, tuple) else (blobs,))) as loader:
        for batch in loader:
            parts = batch if isinstance(batch, tuple) else (batch,)
            samples += zip(*([row.tobytes() for row in part] for part in parts), strict=True)
    return samples


def pack(path: Path, members: dict[str, bytes] | Sequence[tuple[str, bytes]],
         kind: int = tarfile.USTAR_FORMAT) -> str:  # fmt: skip
    with tarfile.open(path, "w", format=kind) as tar:
        for name, content in members.items() if isinstance(members, dict) else members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return str(path)


def three(path: Path, kind: int = tarfile.USTAR_FORMAT) -> str:
    return pack(path, [(f"{i}.{ext}", f"{ext} {i}".encode() * 100 * i)
                       for i in range(3) for ext in ("txt", "cls")], kind)  # fmt: skip


# ---- What others write -------------------------------------------------------------------------


@pytest.mark.parametrize("access", ["map", "read", "gzip"])
@pytest.mark.parametrize("name", READ)
def test_the_samples_that_webdataset_reads(tmp_path: Path, name: str, access: str) -> None:
    """Each extension that occurs anywhere as a field, empty where a sample has it not."""
    samples = READ[name]
    extensions = sorted({ext for sample in samples for ext in sample} - {"__key__", ""})
    path, attrs = FIXTURES / name, {"file_access": access}
    if access == "gzip":
        attrs, data = {}, gzip.compress(path.read_bytes())
        path = tmp_path / "shard.tar.gz"
        path.write_bytes(data)
    found = read(path, ["key=__key__", *(f"{ext}:bytes=none" for ext in extensions)], **attrs)
    assert found == [
        (sample["__key__"].encode(),)
        + tuple(bytes.fromhex(sample[ext]) if ext in sample else b"none" for ext in extensions)
        for sample in samples
    ]


def test_what_webdataset_writes() -> None:
    fields = ["__key__", "image=img.jpg:bytes", "cls", "txt", "json", "npy"]
    found = read(FIXTURES / "written.tar", fields)
    for sample, expected in zip(found, json.loads((FIXTURES / "written.json").read_text()),
                                strict=True):  # fmt: skip
        key, image, number, text, document, array = sample
        assert key.decode() == expected["__key__"]
        assert image.hex() == expected["img.jpg"]
        assert int(number) == expected["cls"]
        assert text.decode() == expected["txt"]
        assert json.loads(document) == expected["json"]
        assert np.load(io.BytesIO(array)).tolist() == expected["npy"]


KINDS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("access", ["map", "read"])
def test_long_names(tmp_path: Path, kind: str, access: str) -> None:
    """Behind each other, so that a long name must not stay for the next file."""
    names = ["s" * n + "/" + "t" * (n // 2) for n in (90, 99, 10, 150, 2)]
    if kind != "ustar":
        names += ["folder/" * 100 + "Käse", "u" * 5000]
    path = pack(tmp_path / "a.tar", [(f"{name}.x", name.encode()) for name in names], KINDS[kind])
    keys = [name.encode() for name in names]
    assert read(path, ["__key__", "x"], file_access=access) == list(zip(keys, keys, strict=True))


def test_large_sizes_and_what_pax_says(tmp_path: Path) -> None:
    """A size in base 256, and one in an extended header, of a small file."""
    header = tarfile.TarInfo("a.x")
    header.size = 5
    block = bytearray(header.tobuf(tarfile.GNU_FORMAT))
    block[124:136] = b"\x80" + bytes(10) + b"\x05"
    block[148:156] = b"%06o\0 " % (sum(block[:148]) + 256 + sum(block[156:512]))
    info = tarfile.TarInfo("b.x")
    info.pax_headers = {"size": "3", "comment": "of no use"}
    rest = info.tobuf(tarfile.PAX_FORMAT)
    path = tmp_path / "a.tar"
    path.write_bytes(bytes(block) + b"12345".ljust(512, b"\0") + rest + b"678".ljust(512, b"\0"))
    assert read(path, ["x"]) == [(b"12345",), (b"678",)]


# ---- Samples and fields ------------------------------------------------------------------------


def test_fields(tmp_path: Path) -> None:
    members = {"a.jpg": b"J", "a.PNG": b"P", "b.png": b"Q", "b.txt": b"", "._b.jpg": b"apple",
               "c.jpeg": b"K", "c.txt": b"T"}  # fmt: skip
    path = pack(tmp_path / "a.tar", members)
    fields = ["image=jpeg|png|JPG:bytes", "txt:bytes=", "other=zip:bytes=none"]
    assert read(path, fields) == [(b"P", b"", b"none"), (b"Q", b"", b"none"), (b"K", b"T", b"none")]
    blobs = flow.TarReader(files=path, fields=fields)
    assert [blob.name.rsplit("/")[-1] for blob in blobs] == ["image", "txt", "other"]
    assert blobs[0].dtype == np.uint8 and blobs[0].shape == (1, None)


@pytest.mark.parametrize("field, says", [
    ("x:int64", "another type than bytes"),
    ("x:uint8[4]", "another type than bytes"),
    ("image=jpg||png", "empty"),
])  # fmt: skip
def test_fields_that_cannot_be(tmp_path: Path, field: str, says: str) -> None:
    with pytest.raises(flow.InvalidArgumentError, match=says):
        flow.TarReader(files=three(tmp_path / "a.tar"), fields=[field])


def test_a_sample_without_a_field_is_named(tmp_path: Path) -> None:
    members = {"a.txt": b"1", "sub/b.cls": b"2", "sub/b.json": b"3", "c.txt": b"4"}
    path = pack(tmp_path / "a.tar", members)
    with pytest.raises(flow.CorruptDataError) as caught:
        read(path, ["txt"])
    assert "sample 'sub/b' has no file 'txt'" in caught.value.message
    assert "cls json" in caught.value.message or "json cls" in caught.value.message
    assert (caught.value.ordinal, caught.value.byte) == (1, 1024)
    assert read(path, ["txt"], on_error="skip") == [(b"1",), (b"4",)]
    assert read(path, ["txt:bytes="]) == [(b"1",), (b"",), (b"4",)]


def test_an_extension_that_begins_with_a_dot(tmp_path: Path) -> None:
    """The key ends at the first dot, so that of "a..txt" is "a"."""
    members = {"a..txt": b"1", "a.x..y": b"2", "b..txt": b"3", "b.x..y": b"4"}
    path = pack(tmp_path / "a.tar", members)
    assert read(path, [".txt", "last=x..y"]) == [(b"1", b"2"), (b"3", b"4")]
    assert read(path, ["none|.txt", "__key__"]) == [(b"1", b"a"), (b"3", b"b")]
    with pytest.raises(flow.CorruptDataError, match="extensions are: txt .without the dot"):
        read(pack(tmp_path / "b.tar", {"a.txt": b"1"}), [".txt"])


def test_two_files_with_one_extension(tmp_path: Path) -> None:
    path = pack(tmp_path / "a.tar", [("Track 2.0.mp3", b"1"), ("Track 2.0.MP3", b"2"),
                                     ("b.0.mp3", b"3")])  # fmt: skip
    with pytest.raises(flow.CorruptDataError, match=r"'Track 2' has two .* '0.MP3'"):
        read(path, ["0.mp3"])
    assert read(path, ["0.mp3"], on_error="skip") == [(b"3",)]


def test_a_sample_of_very_many_files(tmp_path: Path) -> None:
    members = [(f"a.{i}", str(i).encode()) for i in range(2000)]
    path = pack(tmp_path / "a.tar", members)
    assert read(path, ["0", "1999", "777"]) == [(b"0", b"1999", b"777")]
    path = pack(tmp_path / "a.tar", [*members, ("a.0", b"")])
    with pytest.raises(flow.CorruptDataError, match="two files"):
        read(path, ["0"])


def test_equal_keys_in_two_shards_are_two_samples(tmp_path: Path) -> None:
    files = [pack(tmp_path / f"{i}.tar", {"a.x": b"%d" % i, "skip": b"", ".b.x": b""})
             for i in range(3)]  # fmt: skip
    assert read(files, ["__key__", "x"]) == [(b"a", b"0"), (b"a", b"1"), (b"a", b"2")]


def test_hidden_files_are_no_samples(tmp_path: Path) -> None:
    """webdataset passes over ".x" as well, and takes "d/.x" for the file x of a sample "d/"."""
    members = {"d/a.jpg": b"1", "d/._a.jpg": b"AppleDouble", "d/.DS_Store": b"", "d/a.txt": b"2"}
    path = pack(tmp_path / "a.tar", members)
    assert read(path, ["__key__", "jpg", "txt"]) == [(b"d/a", b"1", b"2")]


# ---- Order -------------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
def test_any_order_and_any_rank(tmp_path: Path, packed: bool) -> None:
    files = []
    for shard in range(3):
        path = tmp_path / f"{shard}.tar"
        pack(path, [(f"{shard}{i:03}.{ext}", bytes([shard, i]) * i) for i in range(40)
                    for ext in ("a", "b")])  # fmt: skip
        if packed:
            path.write_bytes(gzip.compress(path.read_bytes()))
        files.append(str(path))
    truth = [(f"{shard}{i:03}".encode(), bytes([shard, i]) * i) for shard in range(3)
             for i in range(40)]  # fmt: skip
    fields = ["__key__", "a"]
    assert read(files, fields) == truth
    shuffled = read(files, fields, batch_size=6, random_shuffle=True, seed=4)
    assert shuffled != truth and sorted(shuffled) == truth
    parts = [read(files, fields, batch_size=6, random_shuffle=True, seed=4, rank=rank,
                  world_size=2) for rank in range(2)]  # fmt: skip
    assert sorted(parts[0] + parts[1]) == truth
    assert parts[0][:3] + parts[1][:3] == shuffled[:6]


# ---- Damage ------------------------------------------------------------------------------------


def outcome(path: Path, fields: Sequence[str], **attrs: object) -> list[Sample] | str:
    try:
        return read(path, fields, **attrs)
    except flow.InternalError:
        raise
    except flow.Error as error:
        return str(error)


@pytest.mark.parametrize("kind", KINDS)
def test_every_cut_is_noticed_but_between_files(tmp_path: Path, kind: str) -> None:
    """Tar has no count: an archive that ends with a file's blocks, as some programs leave it, and
    one that was cut there are the same."""
    path = Path(three(tmp_path / "a.tar", KINDS[kind]))
    data = path.read_bytes()
    whole = read(path, ["txt", "cls:bytes="])
    with tarfile.open(path) as tar:
        ends = {info.offset for info in tar} | {len(data.rstrip(b"\0")) // BLOCK * BLOCK + BLOCK}
    for size in [*range(1, len(data), 121), *ends]:
        path.write_bytes(data[:size])
        found = outcome(path, ["txt", "cls:bytes="])
        if isinstance(found, str):
            assert size < max(ends) and (size not in ends or size == 0 or "cls" in found)
        elif size < max(ends):
            assert size in ends and found[:-1] == whole[: len(found) - 1]
        else:
            assert found == whole  # all that is cut off is zeros


def test_flipped_bits(tmp_path: Path) -> None:
    """Headers have checksums: only contents can change unnoticed."""
    path = Path(three(tmp_path / "a.tar", tarfile.PAX_FORMAT))
    data, draw = path.read_bytes(), random.Random(3)
    whole = read(path, ["__key__", "txt", "cls"])
    for _ in range(FLIPS):
        damaged = bytearray(data)
        at = draw.randrange(len(data))
        damaged[at] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        found = outcome(path, ["__key__", "txt", "cls"])
        if isinstance(found, list):
            shape = [[len(part) for part in sample] for sample in found]
            assert shape == [[len(part) for part in sample] for sample in whole]
            assert [sample[0] for sample in found] == [sample[0] for sample in whole]


def test_what_follows_the_end_is_not_left_out(tmp_path: Path) -> None:
    one, two = Path(three(tmp_path / "a.tar")), Path(three(tmp_path / "b.tar"))
    one.write_bytes(one.read_bytes() + two.read_bytes())
    assert "joined by cat" in outcome(one, ["txt"])
    two.write_bytes(two.read_bytes() + bytes(200 * 1024))
    assert len(outcome(two, ["txt"])) == 3
    two.write_bytes(gzip.compress(two.read_bytes()))
    assert len(outcome(two, ["txt"])) == 3


@pytest.mark.parametrize("field, value, says", [
    ("checksum", b"", "its checksum is wrong"),
    ("size", b"\xff" * 12, "the size in the header is not a number"),
    ("size", b"\x80" + b"\x7f" * 11, "the size in the header is not a number"),
    ("size", b"77777777777\0", "bytes are missing"),
    ("size", b"12x45670000\0", "the size in the header is not a number"),
    ("type", b"S", "sparse"),
])  # fmt: skip
def test_headers_that_lie(tmp_path: Path, field: str, value: bytes, says: str) -> None:
    path = Path(three(tmp_path / "a.tar"))
    data = bytearray(path.read_bytes())
    at = {"checksum": 148, "size": 124, "type": 156}[field] + 2 * BLOCK
    data[at : at + len(value)] = value
    if field == "checksum":
        data[at] ^= 1
    else:
        block = data[2 * BLOCK : 3 * BLOCK]
        total = sum(block[:148]) + 256 + sum(block[156:])
        data[2 * BLOCK + 148 : 2 * BLOCK + 156] = b"%06o\0 " % total
    for packed in (bytes(data), gzip.compress(data)):
        path.write_bytes(packed)
        found = outcome(path, ["txt"])
        assert isinstance(found, str) and says in found and "a.tar" in found


def test_a_file_that_is_no_tar(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(b"no tar" * 1000)
    found = outcome(path, ["x"])
    assert isinstance(found, str) and "not a header of a tar file" in found and "byte 0" in found


# ---- Index files of DALI -----------------------------------------------------------------------


def dali_index(path: str, version: str = "v1.2") -> str:
    """As DALI's wds2idx writes it."""
    lines: dict[str, list[str]] = {}
    with tarfile.open(path) as tar:
        for info in tar:
            key, _, extension = info.name.partition(".")
            name = f" {info.name}" if version == "v1.2" else ""
            lines.setdefault(key, []).append(
                f"{extension} {info.offset_data} {info.size}{name}"
            )
    return "\n".join([f"{version} {len(lines)}", *(" ".join(line) for line in lines.values()), ""])


@pytest.mark.parametrize("version", ["v1.1", "v1.2"])
def test_index_files(tmp_path: Path, version: str) -> None:
    tars = [three(tmp_path / "a.tar"), pack(tmp_path / "b.tar", {"k.txt": b"last"})]
    indexes = [Path(tar).with_suffix(".idx") for tar in tars]
    for tar, index in zip(tars, indexes, strict=True):
        index.write_text(dali_index(tar, version))
    attrs = {"index_files": [str(index) for index in indexes]}
    assert read(tars, ["txt"], **attrs) == read(tars, ["txt"])
    with pytest.raises(flow.InvalidArgumentError, match="2 paths, but there are 1"):
        read(tars[0], ["txt"], **attrs)
    text = indexes[0].read_text()
    for changed, says in [
        (text.replace(version, "v9"), "expected v1.1 or v1.2"),
        (text.replace("512", "1024"), "does not agree with the tar"),
        (text.replace(f"{version} 3", f"{version} 2").rsplit("\n", 2)[0] + "\n", "more samples"),
        (text.replace(f"{version} 3", f"{version} 4") + "x 512 1 y\n", "more samples than the tar"),
        (text[:30], "expected an extension|another file"),
    ]:
        indexes[0].write_text(changed)
        with pytest.raises(flow.CorruptDataError, match=says) as caught:
            read(tars, ["txt"], **attrs)
        assert caught.value.file == str(indexes[0])
    indexes[0].write_text(text)
    Path(tars[0]).write_bytes(gzip.compress(Path(tars[0]).read_bytes()))
    with pytest.raises(flow.UnsupportedError, match="leave index_files out"):
        read(tars, ["txt"], **attrs)
