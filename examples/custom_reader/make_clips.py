"""Writes clips/part-0 and clips/part-1, which clip_reader.c reads."""

import struct
import zlib
from pathlib import Path

import numpy as np

CLIPS = Path(__file__).resolve().parent / "clips"


def encode(label, samples):
    """One clip: size, checksum, body."""
    body = struct.pack("<i", label) + np.asarray(samples, "<f4").tobytes()
    return struct.pack("<II", len(body), zlib.adler32(body)) + body


def clips_of(part, count=6):
    """What is in a part: (label, samples), clips of 0 to 8 samples."""
    random = np.random.RandomState(part)
    for i in range(count):
        yield 100 * part + i, random.standard_normal(random.randint(9)).astype(np.float32)


def write(path, clips):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"CLIP" + struct.pack("<I", 1) + b"".join(encode(*clip) for clip in clips))


if __name__ == "__main__":
    for part in range(2):
        write(CLIPS / f"part-{part}", clips_of(part))
