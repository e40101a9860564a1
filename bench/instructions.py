"""Instructions of the library per record and per batch: a guard that needs no quiet machine.

    python -m bench.instructions                          # counts, and compares with the record
    python -m bench.instructions --record                 # takes what is counted for the record
    LD_LIBRARY_PATH=DIR python -m bench.instructions      # counts the libpyflowdata.so in DIR

What is counted and how is in README.md; the record is instructions.json, by compiler.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench import programs
from bench.data import Data
from bench.examples import Examples
from bench.digits import Images
from bench.text import Text
from bench.tokens import Tokens

RECORD = programs.HERE / "instructions.json"
RECORDED_ROUNDS = 5  # threads wait more or less often: 1 % of a batch
TOLERANCE = 0.03
# By compiler: the most that a record may cost, whatever is recorded: what it cost before the loader
# had leases, counters of steps and looks at files before delivery, and 2 or 1 % for these.
LIMITS = {"gcc (Debian 12.2.0-14+deb12u1) 12.2.0": {"W0": 885.0 * 1.02, "W1a": 347.9 * 1.01}}
PREFETCH = 2  # of drain.c: whole batches that are made after the epoch
LIBRARY = "libpyflowdata.so"
# AVX-512 is not known to valgrind.  Indexes of former runs would make opening cheaper.
ENVIRONMENT = {"PYFLOWDATA_SIMD": "avx2", "PYFLOWDATA_INDEX_DIR": "none"}


class Workload(NamedTuple):
    """Two sizes of the data and two of the batches; the first ones are those of two runs."""

    small: Data
    large: Data
    batch_size: int
    other_batch_size: int


WORKLOADS = {
    "W0": Workload(Text(0.2, 2, short=1.0), Text(0.6, 2, short=1.0), 10, 40),
    "W1a": Workload(Text(2, 2), Text(6, 2), 4096, 128),
    "W1b": Workload(Text(2, 2), Text(6, 2), 4096, 128),
    "W2a": Workload(Examples(1.5, 2), Examples(4.5, 2), 1024, 16),
    "W3": Workload(Images(4), Images(12), 64, 4),
    "W5": Workload(Tokens(8), Tokens(24), 16, 1),
}


class Count(NamedTuple):
    """Of a run: what was made, that of the next epoch included, and what it took."""

    records: int
    batches: int
    instructions: int
    library: str  # whose instructions they are


class Costs(NamedTuple):
    """Instructions of a record, its share of a batch included; and of a batch by itself."""

    record: float
    batch: float


def described(name: str, found: Costs, recorded: Costs) -> str:
    """A line of the table."""
    cells = [
        f"{cost:10,.1f} a {what} ({cost / before - 1:+7.2%})"
        for what, cost, before in zip(Costs._fields, found, recorded)
    ]
    return " ".join([f"{name:4}", *cells, *([] if is_as_recorded(found, recorded) else ["<-"])])


def is_as_recorded(found: Costs, recorded: Costs) -> bool:
    return all(abs(a / b - 1) <= TOLERANCE for a, b in zip(found, recorded))


def is_above_limit(name: str, found: Costs, compiled_by: str) -> bool:
    return found.record > LIMITS.get(compiled_by, {}).get(name, float("inf"))


# ---- Counting ------------------------------------------------------------------------------------


def own_costs(profile: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Each cost in a profile of callgrind that is not the cost of a call, and its object file."""
    names: dict[str, str] = {}
    current, is_call = "", False
    for line in profile:
        if named := re.match(r"(c?)ob=(\(\d+\))(?: (.*))?", line):
            names.setdefault(named[2], named[3] or "")
            current = current if named[1] else names[named[2]]
        elif line.startswith("calls="):
            is_call = True
        elif line[:1].isdigit() or line[:1] in ("+", "-", "*"):
            if not is_call:
                yield current, int(line.split()[1])
            is_call = False


def count(workload: str, data: Data, batch_size: int) -> Count:
    """Runs an epoch on one core."""
    with tempfile.TemporaryDirectory() as folder, programs.pinned(1):
        profile = Path(folder) / "profile"
        command = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={profile}"]
        command += [programs.path("drain"), workload, str(batch_size), *data.files()]
        output = subprocess.check_output(command, env=os.environ | ENVIRONMENT, text=True)
        with profile.open() as lines:
            own = [(name, cost) for name, cost in own_costs(lines) if name.endswith(LIBRARY)]
    records, batches = map(int, output.split())
    total = sum(cost for _, cost in own)
    return Count(records + PREFETCH * batch_size, batches + PREFETCH, total, own[0][0])


def costs(first: Count, longer: Count, finer: Count) -> Costs:
    """Of runs with more records, and with more batches of the same records, than the first."""
    records = longer.records - first.records
    record = (longer.instructions - first.instructions) / records
    # A record costs `record` less its share of a batch, and the third run makes a few less.
    share = (longer.batches - first.batches) / records
    fewer = finer.records - first.records
    more = finer.instructions - first.instructions - record * fewer
    return Costs(record, more / (finer.batches - first.batches - share * fewer))


def measure(name: str, rounds: int) -> tuple[Costs, str]:
    """What a workload costs, medians of so many rounds, and in which library."""
    small, large, batch_size, other = WORKLOADS[name]
    found = []
    for _ in range(rounds):
        first = count(name, small, batch_size)
        found.append(costs(first, count(name, large, batch_size), count(name, small, other)))
    return Costs(*map(median, zip(*found))), first.library


# ---- The record ----------------------------------------------------------------------------------


def compiler() -> str:
    """The one that makes the library, as it calls itself; gcc by whatever name it is called."""
    command = [*shlex.split(os.environ.get("CC", "cc")), "--version"]
    output = subprocess.check_output(command, text=True)
    name = output.splitlines()[0]
    return f"gcc {name.split(' ', 1)[1]}" if "Free Software Foundation" in output else name


def why_not() -> str:
    """Why nothing can be counted here; "" if it can."""
    if platform.machine() != "x86_64":
        return f"the record is of x86_64, this is {platform.machine()}"
    flags = re.search(r"^flags\s*:(.*)", Path("/proc/cpuinfo").read_text(), re.M)
    needed = {"avx2", "fma", "bmi1", "bmi2", "popcnt"}
    missing = needed - set(flags[1].split() if flags else ())
    return f"this processor has no {', '.join(sorted(missing))}" if missing else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.name}")
    arguments = parser.parse_args()
    if reason := why_not():
        print(f"instructions are not counted: {reason}")
        return 0
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    known = record.get(compiler())
    if not known and not arguments.record:
        print(f"instructions are not compared: nothing is recorded of {compiler()}, only of")
        print("\n".join(f"    {name}" for name in record))
        return 0
    programs.build("drain")
    for data in {one for workload in WORKLOADS.values() for one in workload[:2]}:
        data.prepare()
    failed: list[str] = []
    above: list[str] = []
    measured: dict[str, dict[str, float]] = {}
    for name in WORKLOADS:
        found, library = measure(name, RECORDED_ROUNDS if arguments.record else 1)
        if not measured:
            print(f"instructions of {library}, compared with {RECORD.name}", flush=True)
        before = Costs(**known[name]) if known and name in known else found
        differs = not is_as_recorded(found, before) or is_above_limit(name, found, compiler())
        if differs and not arguments.record:  # chance, or a change?
            found, _ = measure(name, RECORDED_ROUNDS)
        print(described(name, found, before), flush=True)
        measured[name] = {what: round(cost, 1) for what, cost in found._asdict().items()}
        failed += [] if is_as_recorded(found, before) else [name]
        above += [name] if is_above_limit(name, found, compiler()) else []
    if above:
        print(f"more instructions a record than LIMITS allows: {', '.join(above)}; that is not "
              "recorded either")
        return 1
    if arguments.record:
        RECORD.write_text(json.dumps({**record, compiler(): measured}, indent=1) + "\n")
    elif failed:
        print(f"more than {TOLERANCE:.0%} from what is recorded: {', '.join(failed)}; if that is "
              "meant, record it: make instructions RECORD=1")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
