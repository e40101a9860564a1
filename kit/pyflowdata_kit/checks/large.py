"""Files beyond 2 and 4 GB, where numbers of 32 bits end: sparse copies of the sample."""

from __future__ import annotations

import resource
from pathlib import Path

from pyflowdata.errors import Error
from ..grown_files import Growth, growths, write_sparse
from ..kit import FORWARD, MOST_RECORDS, Run
from .check import Check
from .sample_files import SampleCopy, overwrite
from .victims import companion_files, layout_of

_SMALL = 1 << 16  # bytes by which a file grows to see whether its format is understood
_AROUND = 1 << 20  # so near to the limit, on both sides of it
_LIMITS = {31: "2 GB", 32: "4 GB"}
_MEMORY = 1 << 30  # bytes that the op may take: an index of so many records may need more


def large(check: Check) -> str:
    """The last file with records, as if it had more than 2 and 4 GB."""
    _limit_memory()
    base = check.base(silent=True)
    if base.size < 0:
        return "not tried: the reader is a stream"
    if base.num_records >= MOST_RECORDS or not base.succeeded or base.num_records < 1:
        return "not tried: the sample has too many records, or some that fail"
    paths = [Path(path) for path in check.kit.files()]
    last = int(base.spans["file"][base.num_records - 1])
    files = [paths[last], *(paths[i] for i in companion_files(paths, base))]
    copy = SampleCopy(check, "large")
    if not {path.name for path in files} <= copy.names():
        return "not tried: the files are read from where they are"
    contents = {path.name: path.read_bytes() for path in files}
    for growth in growths(contents, paths[last].name, layout_of(base, last)):
        trial = _Trial(check, copy, base, growth, contents)
        if trial.understood():
            return trial.run()
    return "not tried: it does not show how a file of this format grows; give a large one by --also"


def _limit_memory() -> None:
    """Of this process, which is a fork for these checks alone."""
    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    most = used + _MEMORY
    resource.setrlimit(resource.RLIMIT_DATA, (most if hard < 0 else min(most, hard), hard))


class _Trial:
    """One way to grow."""

    def __init__(
        self, check: Check, copy: SampleCopy, base: Run, growth: Growth,
        contents: dict[str, bytes],
    ) -> None:  # fmt: skip
        self._check, self._base = check, base
        self._kit, self._folder = copy.kit, copy.folder
        self._growth, self._contents = growth, contents
        self._name, self._size = growth.name, len(contents[growth.name])

    def understood(self) -> bool:
        """A copy that grew little is read as expected, and in a time that does not grow."""
        step = self._growth.step
        if self._growth.fields:
            return self._read(_SMALL) is None
        reads = []
        for count in (3, 6):  # further records of zeros
            if not self._write(count * step):
                return False
            run = self._run(MOST_RECORDS)
            if run is None or run.num_records != min(self._base.num_records + count, MOST_RECORDS):
                return False
            reads.append(run.num_reads - run.num_records)
        return reads[0] == reads[1] and self._read(_SMALL // step * step) is None

    def run(self) -> str:
        """Reports findings."""
        seen = []
        for bits, limit in _LIMITS.items():
            below, above = (1 << bits) - _AROUND - self._size, (1 << bits) + _AROUND - self._size
            if not self._check.case(f"{self._name} grown to {limit}"):
                continue
            if self._read(below) is not None:
                break  # the reader has a limit of its own
            fault = self._read(above, f"{self._name} grown to {limit}")
            if fault == "":
                break
            seen.append(limit)
            if fault is not None:
                self._tell(bits, limit, fault)
                break
        self._restore()
        return f"{self._name} grown to {' and '.join(seen) or 'less than 2 GB'}"

    def _tell(self, bits: int, limit: str, fault: str) -> None:
        self._check.tell(
            "narrow-offset",
            f"{self._name} was read as it should with 1 MB less than {limit}, and not with 1 MB "
            f"more (zeros within it, as a sparse file): {fault}; hold offsets and sizes of files "
            "in int64_t, also between two steps of a computation",
            likely=(
                f"an offset or a size of {'int' if bits == 31 else 'uint32_t'}, or a cast to it",
                "a product of two ints, such as index * record_bytes: make one of them int64_t",
            ),
        )

    def _restore(self) -> None:
        for name, data in self._contents.items():
            overwrite(self._folder / name, data)

    def _write(self, added: int) -> bool:
        grown = self._growth.grown(self._contents, added)
        if grown is None:
            return False
        try:
            for name, pieces in grown.items():
                write_sparse(self._folder / name, pieces)
        except OSError as failure:  # the disk, or a limit of the user
            self._check.note(f"files beyond 2 GB: they cannot be written: {failure}")
            return False
        return True

    def _run(self, most: int, doing: str = "") -> Run | None:
        try:
            return self._kit.run(
                order=FORWARD, range=1, most_records=most, silent=not doing, doing=doing
            )
        except Error:
            return None

    def _read(self, added: int, doing: str = "") -> str | None:
        """None: the first and the last record are as they should be; "": that cannot be tried;
        else what is wrong."""
        if not self._write(added):
            return ""
        run = self._run(2, doing)
        if run is None:
            return "the op could not be called"
        is_refused = run.status == "PFD_UNSUPPORTED" and run.function == "open()"
        if is_refused or run.status == "PFD_OUT_OF_MEMORY":
            return ""
        expected = self._base.spans[self._base.num_records - 1]
        offset = int(expected["offset"]) + self._growth.shift(added)
        if run.status != "PFD_OK" or run.num_records < 2:
            said = f"{run.function} fails with {run.status}, {run.message}" if run.function else ""
            return said or f"it has {run.num_records} records"
        found = run.spans[1]
        if (int(found["offset"]), int(found["size"])) != (offset, int(expected["size"])):
            return (
                f"the last record is said to have {found['size']} bytes at offset "
                f"{found['offset']}, where it has {expected['size']} at {offset}"
            )
        if run.rows[1] != self._base.rows[self._base.num_records - 1]:
            return "the outputs of the last record are others"
        return None
