"""TarWriter: samples as members, their names, and what would be read as another sample."""

import io
import json
import subprocess
import tarfile

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.io import TarWriter


def members(path):
    with tarfile.open(path) as archive:
        return {one.name: archive.extractfile(one).read() for one in archive}


def test_tar_holds_samples(tmp_path):
    x = np.arange(4, dtype=np.float32)
    with TarWriter(tmp_path / "a.tar") as writer:
        writer.write({"__key__": "dir/one", "jpg": b"\xff", "cls": np.int64(3), "json": {"é": [1]}})
        writer.write({"npy": x, "txt": "é", "seg.png": np.uint8([1, 2])})
        writer.write_batch({"__key__": ["two", "three"], "npy": x.reshape(2, 2), "txt": [1, 2.5]})
    found = members(tmp_path / "a.tar")
    assert [*found][:3] == ["dir/one.jpg", "dir/one.cls", "dir/one.json"]
    assert found["dir/one.cls"] == b"3" and json.loads(found["dir/one.json"]) == {"é": [1]}
    assert np.array_equal(np.load(io.BytesIO(found["000000001.npy"])), x)
    assert found["000000001.txt"] == "é".encode() and found["000000001.seg.png"] == b"\1\2"
    assert np.load(io.BytesIO(found["three.npy"])).tolist() == [2, 3]
    assert found["three.txt"] == b"2.5"
    size = (tmp_path / "a.tar").stat().st_size
    assert size % 10240 == 0 and (tmp_path / "a.tar").read_bytes().endswith(bytes(1024))


def test_headers_are_those_of_tarfile(tmp_path):
    names = ["k", "a/" * 44 + "n" * 8, "n" * 97, "é", "n" * 300, "000000001"]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for size, name in enumerate(names):
            about = tarfile.TarInfo(f"{name}.b")
            about.size, about.mode = 500 * size, 0o444
            archive.addfile(about, io.BytesIO(b"x" * about.size))
    contents = [b"x" * (500 * size) for size in range(len(names))]
    for batched in (False, True):
        path = tmp_path / f"{batched}.tar"
        with TarWriter(path) as writer:
            if batched:
                writer.write_batch({"__key__": names, "b": contents})
            else:
                for name, content in zip(names, contents, strict=True):
                    writer.write({"__key__": name, "b": content})
        assert path.read_bytes() == out.getvalue()


def test_tar_names_are_short_ustar_or_pax(tmp_path):
    keys = ["k", "d/" * 60 + "k", "n" * 120, "é", "d" * 120 + "/" + "f" * 120]
    with TarWriter(tmp_path / "a.tar") as writer:
        for key in keys:
            writer.write({"__key__": key, "bin": key.encode()})
    assert members(tmp_path / "a.tar") == {f"{key}.bin": key.encode() for key in keys}
    with tarfile.open(tmp_path / "a.tar") as archive:
        about = next(iter(archive))
    assert (about.mtime, about.uid, about.gid, about.uname) == (0, 0, 0, "")
    listed = subprocess.run(["tar", "-tf", tmp_path / "a.tar"], capture_output=True, text=True)
    assert listed.returncode == 0 and len(listed.stdout.split("\n")) == len(keys) + 1


@pytest.mark.parametrize(
    "sample, says",
    [
        ({"__key__": "a.b", "x": b""}, "'a.b'; a key must not"),
        ({"__key__": "dir/.b", "x": b""}, "a key must not"),
        ({"__key__": "__a__", "x": b""}, "a key must not"),
        ({"__key__": 3, "x": b""}, "__key__ = 3; it must be text"),
        ({"__key__": "a"}, "'a' has no fields"),
        ({"JPG": b""}, "'JPG' would be read as another"),
        ({"x": 3}, "x = 3; contents are bytes"),
        ({"json": {1, 2}}, "json = {1, 2}"),
        (b"abc", "a sample is a dict"),
    ],
)
def test_tar_refuses_what_is_read_as_another(sample, says, tmp_path):
    with (
        TarWriter(tmp_path / "a.tar") as writer,
        pytest.raises(flow.InvalidArgumentError, match=rf"a.tar \(record 0\): .*{says}"),
    ):
        writer.write(sample)
