"""num_threads="auto" and prefetch="auto" beside the defaults and beside fixed settings, under a
load that changes: two programs compute in the middle third of each run.

    python -m bench.autotune                    14 minutes
    python -m bench.autotune --rounds 5 --only light small
    python -m bench.autotune --quiet            without these programs
    python -m bench.autotune --control          the default for "auto": its true ratio is 1

Ten pipelines.  Each figure is of a new loader, with the search from its first trial; only the first
batch is left out.  Short runs of each fixed setting choose the best of them.  Then the default,
"auto" and the best take turns in rounds, in runs of one length: the figure by which a setting was
chosen is too high by chance, and short runs may differ from long ones.  Ratios are geometric means
over rounds, with their range.  CPU is the process's time for a batch.  The last line counts the
pipelines within 10 % of the best, and those not 5 % below the default.
"""

from __future__ import annotations

import argparse
import dataclasses
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import geometric_mean, median
from typing import Any

import numpy as np
import pyflowdata as flow
from bench.photos import IMAGE, LABEL, Photos

AUTO = {"num_threads": "auto", "prefetch": "auto"}
GRID = [
    *({"num_threads": threads} for threads in (1, 4, 16)),  # the default: one for each core
    *({"num_threads": threads, "prefetch": 256} for threads in (1, 2, 16)),
]
ROWS = 4096
BESIDE = 2  # programs that compute in the middle third
clock = {"begin": 0.0, "seconds": 1.0}


def is_heavy() -> bool:
    """In the middle third of a run."""
    return 1 <= 3 * (time.perf_counter() - clock["begin"]) / clock["seconds"] < 2


# The kernel kills it, also while it is stopped, when the thread that started it ends; had that
# thread ended before, the print fails.
_SPIN = "import ctypes; ctypes.CDLL(None).prctl(1, 9); print(flush=True)\nwhile True: pass"


class Others:
    """Programs that compute while they are told to.  They end with the thread that starts them."""

    def __init__(self, count: int) -> None:
        self.programs = [
            subprocess.Popen([sys.executable, "-c", _SPIN], stdout=subprocess.PIPE)
            for _ in range(count)
        ]
        for one in self.programs:
            assert one.stdout is not None
            with one.stdout as ready:
                ready.readline()
        self.are_on = True
        self.turn(is_on=False)

    def turn(self, *, is_on: bool) -> None:
        if is_on != self.are_on:
            self.are_on = is_on
            for one in self.programs:
                one.send_signal(signal.SIGCONT if is_on else signal.SIGSTOP)

    def end(self) -> None:
        for one in self.programs:
            one.kill()
            one.wait()


def compute(seconds: float) -> None:
    """Uses so much of this thread's CPU time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


@flow.register_decoder(outputs={"out": lambda row: row})
def locked(row: Any) -> Any:
    """Computes in Python, and so holds the interpreter's lock."""
    total = 0
    for i in range(20_000):
        total += i * i % 7
    return row


@flow.register_decoder(outputs={"out": lambda row: row})
def released(row: Any) -> Any:
    """Computes in NumPy, which releases the lock."""
    np.dot(SQUARE, SQUARE)
    np.sort(NUMBERS)
    return row


@flow.register_decoder(outputs={"out": lambda row: row})
def served(row: Any) -> Any:
    """Waits, as for a server."""
    time.sleep(0.005)
    return row


@flow.register_decoder(outputs={"out": lambda row: row})
def varying(row: Any) -> Any:
    """Waits for much or little."""
    time.sleep(0.0005 * (1 + int(row.flat[0]) % 32))
    return row


@flow.register_decoder(outputs={"out": lambda row: row})
def changing(row: Any) -> Any:
    """Waits for little, then for much, then for little."""
    time.sleep(0.02 if is_heavy() else 0.001)
    return row


SQUARE = np.ones((96, 96), np.float32)
NUMBERS = np.random.default_rng(1).random(30_000)


def rows(width: int, batch: int) -> Any:
    values = np.arange(ROWS * width, dtype=np.float32).reshape(ROWS, width)
    return flow.from_arrays({"x": values}).batch(batch)["x"]


def photos() -> Any:
    data = Photos().scaled(0.03)
    data.prepare()
    records = flow.TFRecordReader(files=data.files(), batch_size=16, shuffle=True)
    image, _ = flow.ExampleDecoder(records, features=[f"{IMAGE}:bytes", f"{LABEL}:int64"])
    return flow.Resize(flow.ImageDecoder(image), size=(224, 224))


@dataclasses.dataclass(frozen=True)
class Pipeline:
    blob: Callable[[], Any]
    step_seconds: float = 0  # of CPU time, which the loop uses for each batch
    options: dict[str, Any] = dataclasses.field(default_factory=dict)


PIPELINES = {
    "light: ops in C only": Pipeline(lambda: flow.Affine(rows(64, 256), scale=0.5)),
    "jpeg: photographs decoded": Pipeline(photos),
    "lock: an op in Python": Pipeline(lambda: locked(rows(4, 16))),
    "numpy: an op that releases the lock": Pipeline(lambda: released(rows(4, 16))),
    "sleeping: 5 ms a batch": Pipeline(lambda: served(rows(4, 16))),
    "varying: 0.5 to 16 ms a batch": Pipeline(lambda: varying(rows(1, 1))),
    "changing: 1, 20, 1 ms a batch": Pipeline(lambda: changing(rows(4, 16))),
    "small: batches of one": Pipeline(lambda: rows(4, 1)),
    "memory: a budget of ten batches": Pipeline(
        lambda: served(rows(1024, 64)), options={"memory_budget": 10 * 64 * 4096}
    ),
    "training: a step of 4 ms of CPU": Pipeline(lambda: served(rows(4, 16)), step_seconds=0.004),
}


@dataclasses.dataclass(frozen=True)
class Run:
    rate: float  # batches a second
    cpu_ms: float  # a batch
    settings: str


def run(
    pipeline: Pipeline, blob: Any, seconds: float, options: dict[str, Any], others: Others
) -> Run:
    with flow.DataLoader(blob, **pipeline.options, **options) as loader:
        batches, count = loader.repeat(), 0
        next(batches)
        begin = now = time.perf_counter()
        clock.update(begin=begin, seconds=seconds)
        cpu = time.process_time()
        while now - begin < seconds:
            others.turn(is_on=is_heavy())
            next(batches)
            if pipeline.step_seconds:
                compute(pipeline.step_seconds)
            count += 1
            now = time.perf_counter()
        others.turn(is_on=False)
        used = 1e3 * (time.process_time() - cpu) / count
        return Run(count / (now - begin), used, f"{loader.num_threads}, {loader.prefetch}")


def choose(pipeline: Pipeline, blob: Any, args: argparse.Namespace, others: Others) -> Any:
    """The fastest of the fixed settings, by the median of short runs that take turns."""
    settings: list[dict[str, Any]] = [{}, *GRID]
    rates: list[list[float]] = [[] for _ in settings]
    for _ in range(args.choosing_rounds):
        for options, own in zip(settings, rates, strict=True):
            own.append(run(pipeline, blob, args.choosing_seconds, options, others).rate)
    return settings[max(range(len(settings)), key=lambda i: median(rates[i]))]


def show(values: list[float]) -> str:
    return f"{geometric_mean(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def measure(name: str, args: argparse.Namespace, others: Others) -> tuple[float, float]:
    """Prints a row; returns the ratios of "auto" to the best and to the default."""
    pipeline = PIPELINES[name]
    blob = pipeline.blob()
    run(pipeline, blob, min(0.5, args.seconds), {}, others)  # brings files into the page cache
    best_of_all = choose(pipeline, blob, args, others)
    settings = [{}, {} if args.control else AUTO, best_of_all]
    runs: list[list[Run]] = [[] for _ in settings]
    for turn in range(args.rounds):
        for i in range(len(settings)) if turn % 2 == 0 else reversed(range(len(settings))):
            runs[i].append(run(pipeline, blob, args.seconds, settings[i], others))
    usual, auto, best = runs
    rates = (f"{median(one.rate for one in of):,.0f}" for of in runs)
    ratios = [[a.rate / b.rate for a, b in zip(auto, of, strict=True)] for of in (best, usual)]
    cpu = [[a.cpu_ms / b.cpu_ms for a, b in zip(auto, of, strict=True)] for of in (best, usual)]
    print(
        f"| {name} | {' | '.join(rates)} ({best[-1].settings}) | {' | '.join(map(show, ratios))} "
        f"| {' | '.join(f'{geometric_mean(one):.2f}' for one in cpu)} | {auto[-1].settings} |",
        flush=True,
    )
    return geometric_mean(ratios[0]), geometric_mean(ratios[1])


def main() -> None:
    parser = argparse.ArgumentParser(description="The search beside fixed settings.")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10.0, help="of a run")
    parser.add_argument("--choosing-rounds", type=int, default=2)
    parser.add_argument("--choosing-seconds", type=float, default=1.2, help="of a run")
    parser.add_argument("--quiet", action="store_true", help="no programs beside")
    parser.add_argument("--control", action="store_true", help='the default in place of "auto"')
    parser.add_argument("--only", nargs="*", default=[], help="beginnings of names")
    args = parser.parse_args()
    print(
        "| pipeline | default, batches/s | auto | best (threads, prefetch) | auto / best "
        "| auto / default | CPU: auto / best | CPU: auto / default | found |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    others = Others(0 if args.quiet else BESIDE)
    try:
        names = [one for one in PIPELINES if not args.only or one.startswith(tuple(args.only))]
        ratios = [measure(name, args, others) for name in names]
    finally:
        others.end()
    near = sum(best >= 0.9 for best, _ in ratios)
    safe = sum(usual >= 0.95 for _, usual in ratios)
    print(f"\nwithin 10 % of the best: {near} of {len(ratios)}; "
          f"not 5 % below the default: {safe} of {len(ratios)}")


if __name__ == "__main__":
    main()
