"""Indexes: how fast they are built and found, how large they are, and what processes share.

    python -m bench.index                 # 1 GB of two columns, and 100 million short lines
    python -m bench.index --scale 0.01

Each figure is the median of rounds in processes of their own; files and index are in page cache.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from bench import programs
from bench.text import Text

OPEN = """
import json, re, sys, time
import pyflowdata as flow

def pages():
    "Bytes of anonymous memory, and of the index's file: resident, and this process's share."
    found, path = {"anonymous": 0, "index": 0, "share": 0}, ""
    for line in open("/proc/self/smaps"):
        if re.match("[0-9a-f]+-", line):
            path = line.split()[-1]
        key, value = line.split()[:2]
        if key == "Anonymous:":
            found["anonymous"] += 1024 * int(value)
        elif key in ("Rss:", "Pss:") and path.endswith(".index"):
            found["index" if key == "Rss:" else "share"] += 1024 * int(value)
    return found

folder, cache, shuffle, hold = sys.argv[1], sys.argv[2], sys.argv[3] == "shuffled", sys.argv[4:]
before, began = pages(), time.perf_counter()
attrs = {"random_shuffle": True, "seed": 7} if shuffle else {}
loader = flow.DataLoader(flow.MiniReader(folder, batch_size=4096, index_dir=cache, **attrs))
answer = {"open": time.perf_counter() - began}
batches = iter(loader)
next(batches)
answer["first"] = time.perf_counter() - began
(reader,) = loader.readers
answer |= {"records": reader.records, "text": reader.bytes, "bytes": reader.index.bytes}
answer |= {"build": reader.index.seconds, "new": reader.index.is_new}
for _ in range(min(100, len(loader) - 3)):
    next(batches)
state = loader.state_dict()
for name, position in (("resume_begin", 2), ("resume_end", len(loader) - 1)):
    since = time.perf_counter()
    loader.load_state_dict({**state, "position": position})
    next(iter(loader))
    answer[name] = time.perf_counter() - since
if hold:
    print("open", flush=True)
    sys.stdin.readline()
after = pages()
answer |= {"memory": after["anonymous"] - before["anonymous"], "index_rss": after["index"],
           "index_pss": after["share"]}
print(json.dumps(answer))
"""


def start(folder: Path, cache: str, order: str, *hold: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", OPEN, str(folder), cache, order, *hold],
        cwd=programs.ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def measure(folder: Path, cache: str, order: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(start(folder, cache, order).communicate()[0])
    return answer


def scan(folder: Path) -> dict[str, Any]:
    """A plain scan for newlines, by as many threads."""
    files = sorted(str(path) for path in folder.iterdir() if re.match("part-", path.name))
    command = [programs.path("newlines"), str(programs.cores()), *files]
    answer: dict[str, Any] = json.loads(subprocess.check_output(command, text=True))
    return answer


def share(folder: Path, cache: str) -> list[dict[str, Any]]:
    """Two processes that have the index at the same time."""
    processes = [start(folder, cache, "shuffled", "hold") for _ in range(2)]
    for process in processes:
        assert process.stdout and process.stdout.readline() == "open\n"
    # The first looks while the second still has it; the second is then alone, and not counted.
    answers = [json.loads(process.communicate("\n")[0]) for process in processes]
    return answers[:1]


def lines_of(title: str, folder: Path, rounds: int) -> Iterator[str]:
    found: dict[str, list[dict[str, Any]]] = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(dir=programs.BUILD) as cache:
            for name, each in (
                ("scan", scan(folder)),
                ("dense", measure(folder, "none", "shuffled")),
                ("sparse", measure(folder, "none", "in order")),
                ("stored", measure(folder, cache, "shuffled")),
                ("found", measure(folder, cache, "shuffled")),
            ):
                found.setdefault(name, []).append(each)
            found.setdefault("shared", []).extend(share(folder, cache))

    def of(name: str, key: str) -> float:
        return median(float(each[key]) for each in found[name])

    size, records = of("found", "text"), int(of("found", "records"))
    yield f"{title}: {size / 1e6:,.0f} MB, {records:,} records, {programs.cores()} cores"
    yield f"  plain newline scan        {size / of('scan', 'seconds') / 1e9:6.2f} GB/s"
    for name in ("dense", "sparse"):
        ratio = median(a["seconds"] / b["build"] for a, b in zip(found["scan"], found[name]))
        bits = 8 * of(name, "bytes") / size
        yield (
            f"  {name:6} index built        {size / of(name, 'build') / 1e9:6.2f} GB/s, "
            f"{ratio:.2f} of the scan, {bits:.2g} bits a byte"
        )
    yield f"  built, stored and synced  {1e3 * of('stored', 'build'):6.0f} ms"
    yield f"  found in the cache        {1e3 * of('found', 'build'):6.1f} ms"
    yield f"  first shuffled batch      {1e3 * of('found', 'first'):6.1f} ms after opening it"
    yield (
        f"  load_state_dict           {1e3 * of('found', 'resume_begin'):6.1f} ms at the epoch's "
        f"beginning, {1e3 * of('found', 'resume_end'):.1f} ms at its end"
    )
    yield (
        f"  memory                    {of('found', 'memory') / 1e6:6.1f} MB of its own, "
        f"{of('shared', 'index_rss') / 1e6:.1f} MB of index, of which each of two processes bears "
        f"{of('shared', 'index_pss') / 1e6:.1f}"
    )


def short_lines(folder: Path, records: int) -> None:
    """Lines of ten bytes or so in ten parts; a hundred thousand of them, again and again."""
    folder.mkdir(parents=True)
    rows = "".join(f"{i % 100 / 10},{i * 37 % 9973 / 1000}\n" for i in range(100_000))
    for part in range(10):
        with open(folder / f"part-{part:03}", "w") as file:
            for _ in range(max(1, records // 1_000_000)):
                file.write(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    programs.build()
    os.environ.setdefault("PYTHONPATH", str(programs.ROOT))
    text = Text(1000).scaled(arguments.scale)
    text.prepare()
    print("\n".join(lines_of("two columns", text.folder, arguments.rounds)), flush=True)
    folder = programs.BUILD / "data" / "short-lines"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        short_lines(folder, round(1e8 * arguments.scale))
        print("\n".join(lines_of("short lines", folder, arguments.rounds)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
