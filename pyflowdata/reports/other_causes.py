"""What slows a training loop down besides a slow loader: one rule for each, as in causes.py."""

from __future__ import annotations

from ..plain_text import number, percent, seconds, size
from .counters import HandOver
from .findings import (
    BLOCKED,
    FELT,
    KEEP_SAME,
    LONG,
    MOST,
    NEARLY,
    NO_MEMORY,
    RUN_ELSEWHERE,
    Finding,
)
from .measures import Measures, ratio


def holding_the_lock(m: Measures) -> Finding | None:
    """Python in the loader's threads takes the interpreter from the training loop."""
    work = [one for one in m.counters.work if one.language == "Python"]
    held = ratio(sum(one.cpu_seconds for one in work), m.loop_seconds)
    if not MOST <= held <= 1 + NEARLY or held * m.loop_seconds < FELT:
        return None
    one = m.top(work)
    return Finding(
        "python-op" if one.kind == "op" else "python-source",
        f"but {one.title} holds the interpreter's lock {percent(min(held, 1))} of the time, and "
        "the training loop waits for it, too",
        (RUN_ELSEWHERE, KEEP_SAME),
        {"python_processors": held},
    )


def copying(copies: HandOver | None, *, is_ahead: bool) -> Finding:
    """The hand-over of batches to a device is the limit."""
    assert copies is not None
    rate = ratio(copies.bytes, copies.seconds)
    remedies = [
        "hand over fewer bytes: uint8 in place of float32, and normalise on the device",
        "let TorchLoader(device=\"cuda\") copy one batch ahead, on a stream of its own, in place "
        "of pin_memory=True and .to()",
    ]
    thread = "a thread of its own takes " if is_ahead else ""
    return Finding(
        "copy",
        f"{thread}{seconds(ratio(copies.seconds, copies.batches))} for each batch of "
        f"{size(ratio(copies.bytes, copies.batches))}, {size(rate)}/s to {copies.device}",
        tuple(remedies[:1] if is_ahead else remedies),
        {"copy_bytes_per_second": rate, "copy_seconds": copies.seconds},
    )


def long_steps(m: Measures) -> Finding | None:
    """A few steps of the training loop take the time of many."""
    counts = m.counters.history.trains
    half, seen = 0, 0
    while half < len(counts) and 2 * (seen := seen + counts[half]) < sum(counts):
        half += 1
    begin = half + LONG.bit_length() - 1
    times = [count * 1.5 * 2**power / 1e9 for power, count in enumerate(counts)]  # of the middle
    share, few = ratio(sum(times[begin:]), sum(times)), ratio(sum(counts[begin:]), sum(counts))
    if share < BLOCKED or few > NO_MEMORY or sum(times[begin:]) < FELT:
        return None
    return Finding(
        "long-steps",
        f"but {percent(few)} of the steps take {percent(share)} of the time of training, each over "
        f"{LONG} times as long as others",
        (
            "log, evaluate, save and synchronise with the device less often: each of them makes "
            "the device wait (print, .item() of a loss, checkpoints)",
        ),
        {"long_steps_share": share, "long_steps": sum(counts[begin:])},
    )


def starting(m: Measures) -> Finding:
    """The first batches of epochs are the limit."""
    stats = m.counters.stats
    reads = [one for one in m.counters.work if one.kind == "read" and one.rows]
    remedies = ["make epochs longer, for example by repeat(n) of the data set"]
    if reads:
        remedies.insert(
            0,
            "a stream reads up to its first batch, and fills shuffle buffers: take files with an "
            "index (pyflowdata convert), or a smaller shuffle_buffer_size",
        )
    count = int(stats["starts"])
    firsts, each = ("the first batch", "") if count == 1 else (
        f"{number(count)} first batches", " each"
    )  # fmt: skip
    return Finding(
        "start",
        f"{firsts} took {seconds(m.mean_start_seconds)}{each}, {percent(m.start_share)} of the "
        "loop's time",
        tuple(remedies),
        {"starts": stats["starts"], "start_seconds": stats["start_seconds"]},
    )
