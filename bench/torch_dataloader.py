"""torch's DataLoader beside the one that replaces it by an import, and beside readers of files.

    python -m bench.torch_dataloader
    python -m bench.torch_dataloader --cases rows memory --rounds 3 --seconds 2
    python -m bench.torch_dataloader --smoke          # tiny data: does each sample come once?

It needs torch and Pillow in the Python that runs it.  Each figure is the median of interleaved
rounds in processes of their own; a ratio is the median of those within the rounds.  A process takes
an epoch that is checked, then whole epochs for some seconds.  CPU time is that of the process and
its children.  Memory is PSS, summed over the process and its children: what processes share counts
once.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bench import own_process, programs
from bench.measure import cpu_seconds

FOLDER = programs.BUILD / "data" / "torch_dataloader"
Loader = Iterable[Any]


class Case(NamedTuple):
    """What is read, and how."""

    group: str
    name: str
    workers: int
    batch_size: int
    count: int  # samples; of memory-array, megabytes
    contenders: tuple[str, ...]


class Sizes(NamedTuple):
    images: int = 512
    rows: int = 200_000
    megabytes: int = 500
    objects: int = 2_000_000


def cases(sizes: Sizes) -> list[Case]:
    both = ("torch", "ours")
    found = []
    for workers in (1, 2):
        own = (*both, "own decoder") if workers == 2 else both
        found += [
            Case("images", form, workers, 32, sizes.images, own) for form in ("jpg", "png")
        ]
    for name in ("getitem", "getitems", "whole batches"):
        for workers in (0, 2):
            own = (*both, "from_arrays") if name == "getitem" and workers == 0 else both
            found += [Case("rows", name, workers, n, sizes.rows, own) for n in (32, 256, 1024)]
    for workers in (0, 2, 4):
        found.append(Case("memory", "array", workers, 256, sizes.megabytes, both))
        found.append(Case("memory", "objects", workers, 256, sizes.objects, both))
    return found


# ---- Loaders: of (x, labels) --------------------------------------------------------------------


def dataset_of(case: Case, folder: Path) -> Any:
    from bench import torch_datasets as data

    if case.group == "images":
        return data.Images(data.made_images(folder, case.count, case.name))
    kinds: dict[str, Callable[[int], Any]] = {
        "getitem": data.Rows, "getitems": data.ManyRows, "whole batches": data.WholeBatches,
        "array": data.Megabytes, "objects": data.Objects,
    }  # fmt: skip
    return kinds[case.name](case.count)


def by_import(case: Case, contender: str, dataset: Any) -> Loader:
    """A DataLoader of torch, or of this package, with the same arguments."""
    from bench.torch_datasets import as_tensors

    if contender == "torch":
        from torch.utils.data import DataLoader
    else:
        from pyflowdata.integrations.torch import DataLoader
    loader: Loader = DataLoader(
        dataset,
        batch_size=case.batch_size,
        shuffle=True,
        num_workers=case.workers,
        persistent_workers=case.workers > 0,
        collate_fn=as_tensors if case.name == "whole batches" else None,
    )
    return loader


def own_decoder(case: Case, folder: Path) -> Loader:
    """Ops over the same files, on as many threads as the other has processes."""
    import pyflowdata as flow
    from bench.torch_datasets import CROP, made_images
    from pyflowdata.integrations.torch import TorchLoader

    file, _, number = flow.ImageFolderReader(
        str(made_images(folder, case.count, case.name)), batch_size=case.batch_size, shuffle=True,
        with_id=True,
    )  # fmt: skip
    image = flow.RandomResizedCrop(flow.ImageDecoder(file), size=(CROP, CROP), area=(0.25, 1.0))
    x = flow.Normalize(flow.RandomFlip(image), mean=(0.0, 0.0, 0.0), std=(255.0, 255.0, 255.0))
    return _Numbered(TorchLoader(flow.DataLoader(x, number, num_threads=case.workers)))


class _Numbered:
    """Takes the numbers of samples out of ids."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __iter__(self) -> Any:
        return ((x, ids[:, 1]) for x, ids in self._loader)


def from_arrays(case: Case, dataset: Any) -> Loader:
    import numpy as np

    import pyflowdata as flow
    from pyflowdata.integrations.torch import TorchLoader

    data = flow.from_arrays({"x": dataset.x, "y": np.arange(len(dataset))})
    return TorchLoader(flow.DataLoader(data.shuffle().batch(case.batch_size)))


def loader_of(case: Case, contender: str, folder: Path) -> tuple[Loader, int]:
    """The loader, and the number of samples."""
    if contender == "own decoder":
        return own_decoder(case, folder), case.count
    dataset = dataset_of(case, folder)
    if contender == "from_arrays":
        return from_arrays(case, dataset), case.count
    return by_import(case, contender, dataset), len(dataset)


# ---- Measuring ----------------------------------------------------------------------------------


def measure(case: Case, contender: str, folder: Path, seconds: float) -> dict[str, float]:
    began = time.perf_counter()
    loader, count = loader_of(case, contender, folder)
    iterator = iter(loader)
    _, labels = next(iterator)
    found = {"first": time.perf_counter() - began, "pss_first": pss()}
    numbers, total = len(labels), int(labels.sum())
    for _, labels in iterator:
        numbers, total = numbers + len(labels), total + int(labels.sum())
    found["exact"] = float((numbers, total) == (count, count * (count - 1) // 2))
    found["pss"] = pss()
    del iterator
    if seconds > 0:
        found |= timed(loader, count, seconds)
    return found


def timed(loader: Loader, count: int, seconds: float) -> dict[str, float]:
    """Seconds of a sample, in whole epochs."""
    cpu, began, epochs = cpu_seconds(), time.perf_counter(), 0
    while epochs == 0 or time.perf_counter() - began < seconds:
        for _ in loader:
            pass
        epochs += 1
    wall = time.perf_counter() - began
    return {"wall": wall / count / epochs, "cpu": (cpu_seconds() - cpu) / count / epochs}


def pss() -> float:
    """Bytes of this process and all below it, each shared page divided by who shares it."""
    waiting, total = [os.getpid()], 0
    while waiting:
        pid = waiting.pop()
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            total += int(text.partition("\nPss:")[2].split()[0])
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        except OSError:  # it has ended just now
            continue
    return 1024.0 * total


def child(wanted: str) -> None:
    order = json.loads(wanted)
    case = Case(*order["case"])
    own_process.answer(
        lambda: measure(case, order["contender"], Path(order["folder"]), order["seconds"])
    )


# ---- The tables ---------------------------------------------------------------------------------

_SMOKE: dict[int, tuple[str, ...]] = {0: ("getitem",), 1: (), 2: ("jpg", "objects"), 4: ()}
Results = dict[tuple[Case, str], list[dict[str, float]]]


def ratio(results: Results, case: Case, contender: str, key: str) -> float:
    pairs = zip(results[case, "torch"], results[case, contender], strict=True)
    return median(theirs[key] / ours[key] for theirs, ours in pairs)


def show(results: Results) -> None:
    heads = "| case | workers | batch | contender | samples/s | / torch | CPU us | / torch | MB |"
    print(f"{heads} load | check |\n|{'---|' * 11}")
    for (case, name), rounds in results.items():
        if case.group == "memory" or not rounds:
            continue
        wall, cpu, memory, load = (
            median(each[key] for each in rounds) for key in ("wall", "cpu", "pss", "load")
        )
        speed, less = (ratio(results, case, name, key) for key in ("wall", "cpu"))
        print(
            f"| {case.name} | {case.workers} | {case.batch_size} | {name} | {1 / wall:,.0f} | "
            f"{speed:.2f} | {1e6 * cpu:,.1f} | {less:.2f} | {memory / 1e6:,.0f} | {load:.1f} | "
            f"{_check(rounds)} |"
        )
    print("\n| memory | workers | contender | MB, first batch | MB, after an epoch | check |")
    print(f"|{'---|' * 6}")
    for (case, name), rounds in results.items():
        if case.group == "memory" and rounds:
            first, after = (median(each[key] for each in rounds) for key in ("pss_first", "pss"))
            print(
                f"| {case.name} | {case.workers} | {name} | {first / 1e6:,.0f} | "
                f"{after / 1e6:,.0f} | {_check(rounds)} |"
            )


def _check(rounds: list[dict[str, float]]) -> str:
    return "exact" if all(each["exact"] for each in rounds) else "WRONG"


def run(chosen: list[Case], rounds: int, seconds: float, folder: Path) -> int:
    """Prints the tables; returns 1 where something failed, or a sample did not come once."""
    results: Results = {(case, name): [] for case in chosen for name in case.contenders}
    for turn in range(rounds):
        for case in chosen:
            first = turn % len(case.contenders)
            for name in (*case.contenders[first:], *case.contenders[:first]):
                is_memory = case.group == "memory"
                if is_memory and turn > 0:
                    continue
                order = {"case": case, "contender": name, "folder": str(folder),
                         "seconds": 0 if is_memory else seconds}  # fmt: skip
                load = os.getloadavg()[0]
                found = own_process.run(sys.executable, __spec__.name, json.dumps(order))
                results[case, name] += [found | {"load": load}] if found else []
    show(results)
    return int(any(not each or "WRONG" in _check(each) for each in results.values()))


def main() -> int:
    parser = argparse.ArgumentParser(description="torch's DataLoader beside ours.")
    groups = ("images", "rows", "memory")
    parser.add_argument("--cases", nargs="*", choices=groups, default=groups)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="of a contender in a round")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of the files")
    parser.add_argument("--smoke", action="store_true", help="tiny data, one round")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child)
    sizes = Sizes(24, 400, 1, 3000) if arguments.smoke else Sizes()
    chosen = [case for case in cases(sizes) if case.group in arguments.cases]
    if not arguments.smoke:
        return run(chosen, arguments.rounds, arguments.seconds, arguments.folder)
    few = [one for one in chosen if one.batch_size < 1024 and one.name in _SMOKE[one.workers]]
    folder = Path(tempfile.mkdtemp(prefix="torch-dataloader-"))
    try:
        return run(few, 1, 0.01, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
