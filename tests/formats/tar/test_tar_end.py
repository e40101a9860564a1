"""TarReader: what stands after the last member of a tar file, byte by byte."""

from __future__ import annotations

import gzip
import io
import random
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from support.oracle import fewer

import pyflowdata as flow

BLOCK, RECORD = 512, 20 * 512
MARK = bytes(2 * BLOCK)
JOINED = "joined by cat"


def member(number: int, size: int, fill: bytes | None = None) -> bytes:
    info = tarfile.TarInfo(f"{number:04}.bin")
    info.size = size
    content = (fill or bytes([number % 255 + 1])) * size
    return info.tobuf(tarfile.USTAR_FORMAT) + content + bytes(-size % BLOCK)


def members(*sizes: int) -> bytes:
    return b"".join(member(number, size) for number, size in enumerate(sizes))


def with_left_overs(data: bytes) -> bytes:
    """As Ant, Plexus and AIX write it: one buffer of a record, never cleared, whole at the end."""
    buffer, out = bytearray(RECORD), io.BytesIO()
    for at in range(0, len(data), RECORD):
        piece = data[at : at + RECORD]
        buffer[: len(piece)] = piece
        out.write(buffer)
    return out.getvalue()


def sizes_read(path: Path) -> list[int] | str:
    try:
        reader = flow.TarReader(files=str(path), fields=["bin"], batch_size=8)
        with flow.DataLoader(reader) as loader:
            return [len(row) for batch in loader for row in batch]
    except flow.InternalError:
        raise
    except flow.Error as error:
        return str(error)


def sizes_of_gnu_tar(path: Path) -> list[int]:
    listed = subprocess.run(
        ["tar", "-tvf", path], capture_output=True, text=True, check=True, env={"LC_ALL": "C"}
    )
    return [int(line.split()[2]) for line in listed.stdout.splitlines()]


def outcome(tmp_path: Path, data: bytes) -> list[int] | str:
    """The same plain and compressed."""
    plain, packed = tmp_path / "a.tar", tmp_path / "b.tar"
    plain.write_bytes(data)
    packed.write_bytes(gzip.compress(data, 1))
    found = sizes_read(plain)
    again = sizes_read(packed)
    assert found == again or (JOINED in found and JOINED in again)
    if isinstance(found, list) and shutil.which("tar"):
        assert sizes_of_gnu_tar(plain) == found
    return found


@pytest.mark.parametrize("seed", range(fewer(120)))
def test_left_overs_in_the_last_record(tmp_path: Path, seed: int) -> None:
    """Left-overs of headers, of contents and of both, wherever the end mark lies in its record."""
    draw = random.Random(seed)
    sizes = [draw.choice([0, 1, 300, 512, 513, 3000, 12000]) for _ in range(draw.randrange(12, 60))]
    data = with_left_overs(members(*sizes) + MARK)
    assert outcome(tmp_path, data) == sizes
    assert outcome(tmp_path, data + bytes(draw.choice([1, 511, 512, 3 * RECORD]))) == sizes


def test_the_left_overs_are_there() -> None:
    data = members(*[100] * 30) + MARK
    assert with_left_overs(data)[len(data) :].strip(b"\0")


@pytest.mark.parametrize("in_record", range(0, 20))
def test_the_end_mark_may_lie_over_two_records(tmp_path: Path, in_record: int) -> None:
    before = members(*[BLOCK] * 20)[: 2 * RECORD]
    data = before + member(77, (in_record - 1) * BLOCK) if in_record else before
    sizes = [BLOCK] * 20 + [(in_record - 1) * BLOCK] * (in_record > 0)
    assert len(data) % RECORD == in_record * BLOCK
    assert outcome(tmp_path, with_left_overs(data + MARK)) == sizes


@pytest.mark.parametrize("zeros", [0, 1, 100, 511, 512, 513, 700, 1024, 1025, 1535, 70000, 200001])
def test_any_number_of_zeros(tmp_path: Path, zeros: int) -> None:
    assert outcome(tmp_path, members(3, 700) + bytes(zeros)) == [3, 700]


def test_garbage_in_the_last_record(tmp_path: Path) -> None:
    data = members(3, 700) + MARK
    garbage = random.Random(1).randbytes(RECORD - len(data))
    assert outcome(tmp_path, data + garbage) == [3, 700]
    for cut in (1, 200, 512, 1000):
        assert outcome(tmp_path, data + garbage[:cut]) == [3, 700]
    assert JOINED in outcome(tmp_path, data + garbage + b"x")
    assert JOINED in outcome(tmp_path, data + garbage + bytes(RECORD) + b"x")


def test_a_second_archive_is_refused(tmp_path: Path) -> None:
    one, two = members(3, 700) + MARK, member(8, 100) + MARK
    padded = one + bytes(-len(one) % RECORD)
    for joined in (one + two, padded + two, padded + padded, one + bytes(BLOCK) + two,
                   one + member(8, 100), one + member(8, 50000) + MARK):  # fmt: skip
        assert JOINED in outcome(tmp_path, joined)
        assert JOINED in outcome(tmp_path, joined + bytes(-len(joined) % RECORD))


def test_a_second_archive_that_ends_with_the_record(tmp_path: Path) -> None:
    one = members(3, 700) + MARK
    rest = RECORD - len(one) - BLOCK - len(MARK)
    assert len(joined := one + member(8, rest) + MARK) == RECORD
    assert JOINED in outcome(tmp_path, joined)


def test_a_header_of_zeros_is_damage(tmp_path: Path) -> None:
    """One block of zeros is no end mark: what follows it would be lost."""
    data = bytearray(members(3, 700, 800) + MARK)
    data[5 * BLOCK - BLOCK * 3 : 5 * BLOCK - BLOCK * 2] = bytes(BLOCK)
    assert JOINED in outcome(tmp_path, bytes(data))
