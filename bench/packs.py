"""Packing documents of tokens into rows of one length: speed, how full rows are, and whether a
segment has tokens of two documents.

    python -m bench.packs
    python -m bench.packs --peers grain --rounds 1

60,000 documents of log-normal lengths (median 450 tokens, sigma 1), int32, in Megatron's .bin and
.idx; peers get them as they take them, an Arrow table in memory or arrays mapped from the file.
Batches have 262,144 tokens.  Each figure is the median of interleaved rounds, in processes of their
own.  The clock begins before the documents are opened; `M tokens/s` counts those that are no
padding, until the end of the epoch or for 10 seconds after the first batch.  The rest is looked at
in the first round, in an epoch of its own: `full` is the share of tokens that are no padding,
`lost` that of those in no pack, and `mixed` are places in segments where another document begins.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable, Iterable
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from bench import own_process, programs
from bench.environments import OURS, interpreter, versions

DOCUMENTS, TOKENS_OF_BATCH, SECONDS = 60_000, 262_144, 10.0
LENGTHS = [2048, 8192, 32768]
Tokens = npt.NDArray[np.int32]
Packs = Iterable[Any]
Read = Callable[[Any], Iterable[tuple[Tokens, npt.NDArray[Any]]]]


def document_lengths() -> npt.NDArray[np.int64]:
    drawn = np.random.RandomState(14).lognormal(np.log(450), 1, DOCUMENTS)
    return np.maximum(1, drawn).astype(np.int64)


def prefix() -> str:
    return str(programs.BUILD / "data" / "packs")


def write_documents() -> None:
    """Of document i all tokens are i + 1."""
    if os.path.exists(prefix() + ".idx"):
        return
    from pyflowdata.io import MegatronWriter

    os.makedirs(os.path.dirname(prefix()), exist_ok=True)
    with MegatronWriter(prefix() + ".bin", dtype="int32") as writer:
        for i, length in enumerate(document_lengths()):
            writer.write(np.full(length, i + 1, np.int32))


def documents() -> tuple[Tokens, npt.NDArray[np.int64]]:
    """All tokens, mapped, and where documents begin."""
    begins = np.concatenate([[0], np.cumsum(document_lengths())])
    return np.memmap(prefix() + ".bin", np.int32, "r"), begins


# ---- Contenders: functions of a length, which give batches and a way to read them ---------------


def ours(length: int, rule: str) -> tuple[Packs, Read]:
    import pyflowdata as flow

    data = flow.open(prefix() + ".bin")
    (field,) = data.fields
    packs = data.pack(length, field=field, rule=rule, add=["segment_ids", "position_ids"])
    blobs = packs.shuffle(seed=1).batch(TOKENS_OF_BATCH // length)
    return flow.DataLoader(blobs), lambda batch: zip(batch[0], batch[1])


def best_fit(length: int) -> tuple[Packs, Read]:
    """pack(), the defaults, shuffled; lengths are counted too."""
    return ours(length, "best_fit")


def chunk(length: int) -> tuple[Packs, Read]:
    """pack(rule="chunk"), shuffled."""
    return ours(length, "chunk")


def of_grain(length: int, most: int, packer: str, **options: Any) -> tuple[Packs, Read]:
    import grain

    tokens, begins = documents()

    class Source:
        def __len__(self) -> int:
            return len(begins) - 1

        def __getitem__(self, i: int) -> dict[str, Tokens]:
            begin, end = begins[i], begins[i + 1]
            return {"ids": np.asarray(tokens[begin : min(end, begin + most)])}

    found = grain.MapDataset.source(Source()).shuffle(seed=1)
    threads = grain.ReadOptions(num_threads=programs.cores())
    rows = getattr(grain.experimental, packer)(
        found.to_iter_dataset(threads), length_struct={"ids": length}, **options
    )
    batches = rows.batch(TOKENS_OF_BATCH // length)
    return batches, lambda batch: zip(batch["ids"], batch["ids_segment_ids"])


def best_fit_pack(length: int) -> tuple[Packs, Read]:
    """BestFitPackIterDataset with 30 bins, of shuffled documents, which it needs cut to a pack."""
    return of_grain(length, length, "BestFitPackIterDataset", num_packing_bins=30)


def concat_then_split(length: int) -> tuple[Packs, Read]:
    """ConcatThenSplitIterDataset of shuffled documents."""
    return of_grain(length, 1 << 40, "ConcatThenSplitIterDataset")


def of_trl(length: int, strategy: str) -> tuple[Packs, Read]:
    import datasets
    import pyarrow as pa
    from trl.data_utils import pack_dataset

    datasets.disable_progress_bars()
    datasets.disable_caching()
    tokens, begins = documents()
    column = pa.LargeListArray.from_arrays(begins, pa.array(tokens))
    data = datasets.Dataset(pa.table({"input_ids": column.cast(pa.list_(pa.int32()))}))
    packed = pack_dataset(data, length, strategy).shuffle(seed=1).with_format("numpy")

    def read(batch: Any) -> Iterable[tuple[Tokens, npt.NDArray[Any]]]:
        for i, row in enumerate(batch["input_ids"]):
            sizes = batch["seq_lengths"][i] if "seq_lengths" in batch else [len(row)]
            segments = np.repeat(np.arange(1, len(sizes) + 1), sizes)
            room = (0, length - len(row))  # what a collator pads
            yield np.pad(row, room), np.pad(segments, room)

    return packed.iter(TOKENS_OF_BATCH // length), read


def bfd_split(length: int) -> tuple[Packs, Read]:
    """pack_dataset(strategy="bfd_split"), rows without padding as they are."""
    return of_trl(length, "bfd_split")


def wrapped(length: int) -> tuple[Packs, Read]:
    """pack_dataset(strategy="wrapped"), which does not tell documents apart."""
    return of_trl(length, "wrapped")


Contender = Callable[[int], tuple[Packs, Read]]
CONTENDERS: dict[str, list[Contender]] = {
    OURS: [best_fit, chunk],
    "grain": [best_fit_pack, concat_then_split],
    "trl": [bfd_split, wrapped],
}


# ---- Measuring, in the process of a contender ---------------------------------------------------


def rows_of(batch: Any) -> int:
    arrays = batch.values() if isinstance(batch, dict) else batch
    return len(next(iter(arrays)))


def measure(contender: Contender, length: int, is_checked: bool) -> dict[str, float]:
    began, rows, first = time.perf_counter(), 0, 0.0
    for batch in contender(length)[0]:
        first = first or time.perf_counter()
        rows += rows_of(batch)
        if time.perf_counter() > first + SECONDS:
            break
    seconds = time.perf_counter() - began
    found = check(contender, length) if is_checked else {}
    return {"first": first - began, "rate": rows * length / seconds, **found}


def check(contender: Contender, length: int) -> dict[str, float]:
    counts = np.zeros(DOCUMENTS + 1, np.int64)
    rows = mixed = 0
    batches, read = contender(length)
    for batch in batches:
        for tokens, segments in read(batch):
            real = segments > 0
            rows += 1
            counts += np.bincount(tokens[real], minlength=DOCUMENTS + 1)
            changes = (np.diff(tokens) != 0) & (np.diff(segments) == 0)
            mixed += int((changes & real[1:]).sum())
    tokens_seen = int(counts.sum())
    lengths = document_lengths()
    assert (counts[1:] <= lengths).all(), "a token came twice"
    return {
        "full": tokens_seen / (rows * length),
        "lost": 1 - tokens_seen / int(lengths.sum()),
        "mixed": mixed / rows,
    }


def child(peer: str, name: str, length: str, round_number: str) -> None:
    (contender,) = [each for each in CONTENDERS[peer] if each.__name__ == name]
    own_process.answer(lambda: measure(contender, int(length), round_number == "0"))


# ---- The table ----------------------------------------------------------------------------------


def show(length: int, results: dict[tuple[str, str], list[dict[str, float]]]) -> None:
    print(f"\n**packs of {length}**\n")
    print("| contender | M tokens/s | first batch ms | full | lost | mixed, a pack |")
    print("|---|---|---|---|---|---|")
    for (peer, name), rounds in results.items():
        if rounds:
            found = rounds[0]
            rate = median(each["rate"] for each in rounds) * found["full"]
            first = median(each["first"] for each in rounds)
            print(f"| {peer}.{name} | {rate / 1e6:,.1f} | {first * 1e3:,.0f} | {found['full']:.2%} "
                  f"| {found['lost']:.2%} | {found['mixed']:.2f} |")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Packing documents into rows of one length.")
    parser.add_argument("--peers", nargs="*", default=[peer for peer in CONTENDERS if peer != OURS])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
    write_documents()
    pythons = {peer: interpreter(peer)[0] for peer in [OURS, *arguments.peers]}
    print(versions(arguments.peers))
    for length in LENGTHS:
        names = [(peer, each.__name__) for peer in pythons for each in CONTENDERS[peer]]
        results: dict[tuple[str, str], list[dict[str, float]]] = {name: [] for name in names}
        for number, (peer, name) in itertools.product(range(arguments.rounds), names):
            python, wanted = pythons[peer], (peer, name, str(length), str(number))
            found = own_process.run(python, "bench.packs", *wanted) if python else None
            results[peer, name] += [found] if found else []
        show(length, results)


if __name__ == "__main__":
    main()
