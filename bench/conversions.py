"""Files of one format made into another: wall and CPU time per MB of the source.

    python -m bench.conversions
    python -m bench.conversions --peers polars --rounds 1 --megabytes 30
    python -m bench.conversions --folder /dev/shm/conversions   # without the cost of a disk
    python -m bench.conversions --smoke                         # tiny data: is what is made right?

The source is a CSV file with an int64, eight float32 and a short text a row, and the same rows as
TFRecord.  Each figure is the median of interleaved rounds, in processes of their own, without their
imports.  The rows and the sum of the first column of what was made are compared with those of the
source, after the clock.  Contenders that are slow get the beginning of the file.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np

from bench import own_process, programs
from bench.environments import OURS, interpreter, versions

FOLDER = programs.BUILD / "data" / "conversions"
FLOATS, ROW_BYTES, BLOCK = 8, 102, 20_000


def made(megabytes: int, folder: Path) -> Path:
    """The CSV file of this size."""
    path = folder / f"rows-{megabytes}.csv"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    names = ",".join(f"x{place}" for place in range(FLOATS))
    random, new = np.random.RandomState(7), path.with_suffix(".new")
    with new.open("w") as file:
        file.write(f"id,{names},label\n")
        for begin in range(0, megabytes * 1_000_000 // ROW_BYTES, BLOCK):
            values = random.standard_normal((BLOCK, FLOATS)).astype(np.float32).astype(str)
            file.writelines(
                f"{begin + row},{','.join(line)},class{row & 7}\n"
                for row, line in enumerate(values.tolist())
            )
    new.rename(path)
    return path


def as_tfrecord(csv: Path) -> Path:
    path = csv.with_suffix(".tfrecord")
    if not path.exists():
        _command("convert", csv, path, "--float32", "--quiet")
    return path


def _command(*arguments: object) -> None:
    from pyflowdata.cli import main

    with contextlib.redirect_stdout(open(os.devnull, "w")):
        main(list(map(str, arguments)))


# ---- Contenders: functions of a source and what is to be made of it ------------------------------


def csv_to_tfrecord(csv: Path, out: Path) -> None:
    """`pyflowdata convert`"""
    _command("convert", csv, out, "--to", "tfrecord", "--float32", "--overwrite", "--quiet")


def csv_to_tfrecord_types_given(csv: Path, out: Path) -> None:
    """`pyflowdata convert --fields`: without the pass that finds the types"""
    fields = ",".join(["id:int64", *(f"x{i}:float32" for i in range(FLOATS)), "label:bytes"])
    _command("convert", csv, out, "--to", "tfrecord", "--fields", fields, "--overwrite", "--quiet")


def tfrecord_to_csv(csv: Path, out: Path) -> None:
    """`pyflowdata convert`"""
    source = csv.with_suffix(".tfrecord")
    _command("convert", source, out, "--to", "csv", "--overwrite", "--quiet")


def csv_stats(csv: Path, out: Path) -> None:
    """`pyflowdata stats`"""
    _command("stats", csv)


def csv_reader(csv: Path, out: Path) -> None:
    """The loader alone, with the types that the first rows show"""
    from pyflowdata.formats import open_source

    source = open_source([str(csv)])
    for _ in source.batches(batch_size=4096):
        pass


def read_csv_to_parquet(csv: Path, out: Path) -> None:
    """read_csv, write_parquet"""
    import polars

    polars.read_csv(csv).write_parquet(out)


def scan_csv_to_parquet(csv: Path, out: Path) -> None:
    """scan_csv, sink_parquet"""
    import polars

    polars.scan_csv(csv).sink_parquet(out)


def csv_module_to_tfrecord(csv: Path, out: Path) -> None:
    """csv.reader, tf.train.Example, TFRecordWriter"""
    import csv as csv_module

    import tensorflow as tf

    train = tf.train
    with tf.io.TFRecordWriter(str(out)) as writer, csv.open(newline="") as file:
        lines = csv_module.reader(file)
        names = next(lines)
        for row in lines:
            features = {"id": train.Feature(int64_list=train.Int64List(value=[int(row[0])]))}
            for name, cell in zip(names[1:-1], row[1:-1], strict=True):
                numbers = train.FloatList(value=[float(cell)])
                features[name] = train.Feature(float_list=numbers)
            label = train.BytesList(value=[row[-1].encode()])
            features["label"] = train.Feature(bytes_list=label)
            example = train.Example(features=train.Features(feature=features))
            writer.write(example.SerializeToString())


CONTENDERS: dict[str, list[Callable[[Path, Path], None]]] = {
    OURS: [csv_to_tfrecord, csv_to_tfrecord_types_given, tfrecord_to_csv, csv_stats, csv_reader],
    "polars": [read_csv_to_parquet, scan_csv_to_parquet],
    "tf": [csv_module_to_tfrecord],
}
SLOW = {"tf": 10}  # megabytes
IMPORTS = {
    "polars": ["polars"],
    "tf": ["tensorflow"],
    OURS: ["pyflowdata.cli.convert", "pyflowdata.cli.stats"],
}


# ---- Measuring ----------------------------------------------------------------------------------


def measure(peer: str, contender: Callable[[Path, Path], None], csv: Path) -> dict[str, float]:
    for module in IMPORTS[peer]:
        __import__(module)
    out = made_by(peer, contender.__name__, csv)
    user, system = _cpu()
    began = time.perf_counter()
    contender(csv, out)
    wall = time.perf_counter() - began
    user, system = (now - then for now, then in zip(_cpu(), (user, system), strict=True))
    found = {"wall": wall, "user": user, "system": system}
    megabytes = csv.stat().st_size / 1e6
    return {name: value / megabytes for name, value in found.items()} | {"bytes": _size(out)}


def made_by(peer: str, name: str, csv: Path) -> Path:
    return csv.parent / f"made-{peer}-{name}"


def _cpu() -> tuple[float, float]:
    """Seconds of this process and of its children: of the user, and of the system."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime for use in uses), sum(use.ru_stime for use in uses)


def _size(path: Path) -> float:
    return path.stat().st_size if path.exists() else 0


def _rows(path: Path) -> Iterator[tuple[int, float]]:
    from pyflowdata.formats import open_source

    for batch in open_source([str(path)]).choose(["id", "x0"]).batches(batch_size=4096):
        yield len(batch["id"]), float(batch["id"].sum())


def check(peer: str, name: str, csv: Path) -> str:
    """Whether what was made has the rows of the source; of formats that are read here."""
    path = made_by(peer, name, csv)
    if not path.exists():
        return "-"
    if path.open("rb").read(4) == b"PAR1":
        found = "not read here"
    else:
        sums = [tuple(map(sum, zip(*_rows(one), strict=True))) for one in (path, csv)]
        found = "exact" if sums[0] == sums[1] else "WRONG"
    path.unlink()
    return found


def child(peer: str, name: str, csv: str) -> None:
    (contender,) = [each for each in CONTENDERS[peer] if each.__name__ == name]
    own_process.answer(lambda: measure(peer, contender, Path(csv)))


# ---- The table ----------------------------------------------------------------------------------


def show(results: dict[tuple[str, str], list[dict[str, float]]], checks: dict[str, str]) -> None:
    print("| contender | MB/s | MB per CPU second | user ms per MB | system ms per MB | MB made "
          "| check |\n|---|---|---|---|---|---|---|")  # fmt: skip
    for (peer, name), rounds in results.items():
        if rounds:
            keys = ("wall", "user", "system", "bytes")
            wall, user, system, size = (median(each[key] for each in rounds) for key in keys)
            cpu = median(each["user"] + each["system"] for each in rounds)
            print(
                f"| {peer}.{name} | {1 / wall:,.1f} | {1 / cpu:,.1f} | {1000 * user:.2f} | "
                f"{1000 * system:.2f} | {size / 1e6:,.0f} | {checks[f'{peer}.{name}']} |"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description="Files of one format made into another.")
    parser.add_argument("--peers", nargs="*", default=[peer for peer in CONTENDERS if peer != OURS])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of the files")
    parser.add_argument("--smoke", action="store_true", help="a MB, one round, without peers")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
    if not arguments.smoke:
        return run(arguments.peers, arguments.rounds, arguments.megabytes, arguments.folder)
    folder = Path(tempfile.mkdtemp(prefix="conversions-"))
    try:
        return run([], 1, 1, folder)
    finally:
        shutil.rmtree(folder)


def run(peers: list[str], rounds: int, megabytes: int, folder: Path) -> int:
    """Prints the table; returns 1 where something failed, or is not what it should be."""
    pythons = {peer: interpreter(peer)[0] for peer in [OURS, *peers]}
    print(versions(peers))
    files = {peer: made(min(SLOW.get(peer, 10**9), megabytes), folder) for peer in pythons}
    as_tfrecord(files[OURS])
    names = [(peer, each.__name__) for peer in pythons for each in CONTENDERS[peer]]
    results: dict[tuple[str, str], list[dict[str, float]]] = {name: [] for name in names}
    checks: dict[str, str] = {}
    for _, (peer, name) in itertools.product(range(rounds), names):
        python, csv = pythons[peer], files[peer]
        wanted = (peer, name, str(csv))
        found = own_process.run(python, "bench.conversions", *wanted) if python else None
        results[peer, name] += [found] if found else []
        checks[f"{peer}.{name}"] = check(peer, name, csv)
    show(results, checks)
    return int("WRONG" in checks.values() or not all(results.values()))


if __name__ == "__main__":
    sys.exit(main())
