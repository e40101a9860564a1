"""Why a loader was slow: one rule for each cause, from numbers to words.

A rule looks at the measures of a loader that a program waited for, and returns a finding or None.
The first finding in the order of the rules is right: a tight memory budget leaves threads idle, and
so does a stage that one thread does; only without these two, idle threads mean prefetch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from ..words.plain_text import counted, number, percent, seconds, size, tenths
from .counters import CopyCounts, FirstWork, Work
from .measures import BLOCKED, MANY, Measures, ratio


# ---- Findings, and the limits that the rules share ----------------------------------------------

# A thing is the limit if it takes more than half of what there is: of the threads' time, or of an
# item's own.
MOST = 0.5
# A stage that one thread does is the limit if that thread is in it nearly all the time; the rest is
# handing batches on.
_ALWAYS = 0.8
# If the other threads have no work meanwhile, less suffices: then nothing else holds batches up.
_OFTEN = 0.4
# Share of the time in which threads could have worked: below it, work was missing, not threads.
# The rest is what waking threads up and handing on costs where batches are small.
_BUSY = 0.6
# Share of the loop's time without memory for a batch: one late batch may take less.
_NO_MEMORY = 0.2
# The kernel counts this for each processor; a twentieth of their time is felt in every step.
_THROTTLED = 0.05
# Waits of Python for the interpreter's lock, below which it lets go of it.  Some are not counted: a
# call that has the lock may lose it to another one.
_LET_GO = BLOCKED / 2
# Part of a processor: a rate that is nearer to a whole number than this is that number.
_NEARLY = 0.25
# Records of a file, below which opening it costs more than reading them.
_MANY_FILES = 4
# Bytes of a file, up to which opening and closing it takes longer than reading it.
_SMALL_FILE = 32_000
# Long steps of a training loop: so many times as long as half of the steps are at most.
_LONG = 8
# Of the time until the end of the loop, for building indexes.
_LONG_OPENING = 0.3
# Of the time of busy threads, in line for a processor: from there on a quiet machine is four times
# as fast, whatever else the cause may be.
_CROWDED = 0.75
# A gain in steps that is worth a change.
_WORTH = 0.05
# In seconds, of all first batches, or of all long steps together: less is not felt, whatever it is
# a part of.
FELT = 0.1
# In seconds, of all waits and copies together: less may be a disturbance of the moment.
TOO_SHORT = 0.01
# The program may hold the batch that next() gave it and the one before; more is held on purpose.
_USUALLY_HELD = 2

_COMPILE = "compile it with numba.njit, or use ops of pyflowdata, which are C"
_RUN_ELSEWHERE = (
    f"run it in processes (processes=2 or more where it is registered or mapped), {_COMPILE}"
)
_FOREIGN = "have other Python threads of this program compute in processes of their own"
_VECTORISE = (
    "have it called once for a batch with NumPy on all rows (batched=1000 where it is mapped over "
    "records, per=\"batch\" where it is registered)"
)
_CACHE = "cache() of a data set, flow.Dataset({...}).cache() for blobs (docs/how-to/cache.md)"
_KEEP = f"keep results before the first random op with {_CACHE}"
_KEEP_SAME = f"if its results do not change from epoch to epoch, keep them with {_CACHE}"
_OF_DATASET = (  # Python fetches the samples of a program's dataset
    "give the dataset __getitems__, which fetches the samples of a batch in one call",
    "read files by a reader of pyflowdata, whose threads need no workers (docs/how-to/torch.md)",
)


@dataclass(frozen=True)
class Finding:
    """The finding of a rule, with the fields of a Verdict.

    Attributes:
        cause: The cause in a word.
        said: The cause in a clause of a sentence.
        remedies: Remedies, the most promising first.
        evidence: Numbers besides those that every verdict has.
        part: The share of the lost time that the cause takes; above 1 it counts as 1.
    """

    cause: str
    said: str
    remedies: tuple[str, ...]
    evidence: dict[str, float] = field(default_factory=dict)
    part: float = 1.0


# ---- Causes besides a slow loader ---------------------------------------------------------------


def holding_the_lock(m: Measures) -> Finding | None:
    """Python in the loader's threads takes the interpreter from the training loop."""
    work = _python_work(m)
    held = ratio(sum(one.cpu_seconds for one in work), m.loop_seconds)
    if not MOST <= held <= 1 + _NEARLY or held * m.loop_seconds < FELT:
        return None
    one = m.top(work)
    return Finding(
        "python-op" if one.kind == "op" else "python-source",
        f"but {one.title} holds the interpreter's lock {percent(min(held, 1))} of the time, and "
        "the training loop waits for it, too",
        _less_python(m, one),
        {"python_processors": held},
    )


def copying(copies: CopyCounts | None, *, is_ahead: bool) -> Finding:
    """The hand-over of batches to a device is the limit."""
    assert copies is not None
    rate = ratio(copies.bytes, copies.seconds)
    remedies = [
        "hand over fewer bytes: uint8 in place of float32, and normalise on the device",
        "let TorchLoader(device=\"cuda\") copy one batch ahead, on a separate stream, in place "
        "of pin_memory=True and .to()",
    ]
    thread = "a separate thread takes " if is_ahead else ""
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
    begin = half + _LONG.bit_length() - 1
    times = [count * 1.5 * 2**power / 1e9 for power, count in enumerate(counts)]  # their middle
    share, few = ratio(sum(times[begin:]), sum(times)), ratio(sum(counts[begin:]), sum(counts))
    if share < BLOCKED or few > _NO_MEMORY or sum(times[begin:]) < FELT:
        return None
    if m.have_others and m.loop_runnable_seconds >= MOST * sum(times[begin:]):
        return None  # the thread could have gone on, and had no processor
    return Finding(
        "long-steps",
        f"but {percent(few)} of the steps take {percent(share)} of the time of training, each over "
        f"{_LONG} times as long as others",
        (
            "log, evaluate, save and synchronise with the device less often: each of them makes "
            "the device wait (print, .item() of a loss, checkpoints)",
        ),
        {"long_steps_share": share, "long_steps": sum(counts[begin:])},
    )


# Of the elements of padded rows: less gains little, as a batch has some padding anyway.
_PADDED = 0.3


def padding(m: Measures) -> Finding | None:
    """Much of what the training loop computes on is padding."""
    found = _most_padded(m)
    if found is None:
        return None
    one, share = found
    return Finding(
        "padding",
        f"but {percent(share)} of the elements that {one.title} makes are padding, and training "
        "computes on them, too",
        _less_padding(one),
        {"padding_share": share},
        part=share,
    )


def _most_padded(m: Measures) -> tuple[Work, float] | None:
    """The op that makes the most padding, and its share of the op's elements."""
    one = max(m.counters.work, key=lambda each: each.padded, default=None)
    if one is None or not m.steps or (share := ratio(one.padded, one.elements)) < _PADDED:
        return None
    return one, share


def _less_padding(one: Work) -> tuple[str, ...]:
    if one.op == "PackDataset":
        return ("let pack() fill rows from more records: rule=\"best_fit\" and a larger window",)
    alike = "batches of similar lengths: batch_by_length(field=...) (docs/how-to/packs.md)"
    rows = "or have rows of several records: pack(), where training can tell them apart"
    if one.is_whole:
        return (f"make {alike}", rows)
    return (f"pad to the longest row of each batch by PadBatch, and make {alike}", rows)


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


def opening(m: Measures) -> Finding | None:
    """What is done once for all epochs: indexes, passes, caches, the start of processes."""
    indexes = [FirstWork("index", one.op, one.index_seconds) for one in m.counters.readers
               if one.is_new_index]  # fmt: skip
    processes = [FirstWork("processes", one.title, one.start_seconds) for one in m.counters.work
                 if one.start_seconds]  # fmt: skip
    done = [*indexes, *m.counters.first_work, *processes]
    took = sum(one.seconds for one in done)
    share = ratio(took, took - m.processes_start_seconds + m.loop_seconds)
    if took < FELT or share < _LONG_OPENING:
        return None
    one = max(done, key=lambda each: each.seconds)
    found = _OPENED[one.kind](one)
    others = f" of {seconds(took)} before the first batch" if len(done) > 1 else ""
    return replace(
        found,
        said=f"{found.said} took {seconds(one.seconds)}{others}, {percent(share)} of the time "
        "before and in the loop",
        evidence={"first_work_seconds": took},
        part=share,
    )


def _indexing(one: FirstWork) -> Finding:
    return Finding(
        "index",
        f"building the index of {one.said}",
        (
            "build it once, before the job (pyflowdata index), where all runs find it "
            "(PYFLOWDATA_INDEX_DIR)",
        ),
    )


def _passing(one: FirstWork) -> Finding:
    return Finding(
        "pass",
        f"a pass over all records for {one.said}",
        (
            "make it once, before the job: masks of files, by expressions as where(\"x > 3\") or "
            "by functions, are kept beside the index, where all runs find them "
            "(PYFLOWDATA_INDEX_DIR)",
            "write the records that are left to files of their own (pyflowdata convert)",
        ),
    )


def _filling(one: FirstWork) -> Finding:
    return Finding(
        "cache-fill",
        f"filling {one.said}",
        (
            "keep it for the next run: cache(\"disk\"), or a folder that stays "
            "(docs/how-to/cache.md); later epochs read it",
            "repeat(n) more epochs over it, or cache fewer bytes: after a crop or resize, as uint8",
        ),
    )


def _starting_processes(one: FirstWork) -> Finding:
    return Finding(
        "processes-start",
        f"starting the processes of {one.said}",
        (
            "processes=0 where it computes little, as threads need no start; or keep one loader "
            "open for all epochs (repeat()), since its processes end with it",
            "put the function into a module that imports little: each process imports that, and "
            "the main module",
        ),
    )


_OPENED: dict[str, Callable[[FirstWork], Finding]] = {
    "index": _indexing, "pass": _passing, "cache-fill": _filling, "processes": _starting_processes,
}  # fmt: skip


# ---- Causes in next() besides waiting for the batch ---------------------------------------------

# Rows of a batch, below which handing it out costs more than its rows.
_FEW_ROWS = 32
# Blobs of a batch, from which on making their arrays is most of handing it out.
_MANY_BLOBS = 50


def in_next(m: Measures) -> Finding:
    """Handing batches out takes the time of next(), not waiting for them."""
    parts = {name: time for name, time in m.next_parts.items() if name not in WAITING}
    name = max(parts, key=lambda each: parts[each])
    share = ratio(parts[name], m.step_seconds + m.counters.stats["start_seconds"])
    a_step = seconds(ratio(parts[name], m.steps + m.starts))
    found = _PARTS[name](m)
    evidence = {f"{name}_share": share, f"{name}_seconds": parts[name]}
    said = f"{percent(share)}, {a_step} a step, went into {found.said}"
    return replace(found, said=said, evidence=evidence)


WAITING = ("wait", "help")


def _lock_of_next(m: Measures) -> Finding:
    work = _python_work(m)
    computed = sum(one.cpu_seconds for one in work)
    held = ratio(computed, m.loop_seconds)
    said = "waiting for the interpreter's lock, which other threads hold"
    # Who waits longer than the loader's Python has computed, waits for others.
    if computed < m.next_parts["lock"] or held < min(MOST, m.process_rate / 2):
        has_ops = any(one.kind == "op" for one in work)
        own = (f"the ops that hold it: {_RUN_ELSEWHERE}",) if has_ops else ()
        return Finding("lock", said, (*_fewer_threads(m), _FOREIGN, *own))
    one = m.top(work)
    return Finding(
        "python-op" if one.kind == "op" else "python-source",
        f"waiting for the interpreter's lock, which {one.title} holds",
        _less_python(m, one),
    )


def _python_work(m: Measures) -> list[Work]:
    """Work under the interpreter's lock."""
    if not m.counters.has_lock:
        return []
    return [one for one in m.counters.work if one.language == "Python"]


def _less_python(m: Measures, one: Work) -> tuple[str, ...]:
    """How to have an op or a source in Python hold the interpreter's lock for less."""
    if one.kind != "op":
        return _less_source(m, one)
    return (_RUN_ELSEWHERE, *_by_batch(one), _KEEP_SAME)


def _by_batch(one: Work) -> tuple[str, ...]:
    """What saves calls of Python, where there is one for each row."""
    return (_VECTORISE,) if one.is_by_row else ()


def _less_source(m: Measures, one: Work) -> tuple[str, ...]:
    """How to wait less for an object of the program that gives records."""
    overlap: tuple[str, ...] = ()
    if one.takes_turns and one.kind != "read" and m.call_waiting_share(one) >= MOST:
        overlap = (
            "thread_safe=True, if several threads may call it at once, and num_threads="
            f"{m.further_threads}: it waits for something else than the interpreter",
        )
    return (
        *overlap,
        f"keep its records with {_CACHE}, or write them to files once (pyflowdata.io)",
        "make the object cheaper for each record: read in larger pieces, or move work into ops "
        "after it, which run in all threads",
    )


def _checking(m: Measures) -> Finding:
    files = sum(reader.files for reader in m.counters.readers)
    return Finding(
        "files",
        f"looking whether the {number(files)} files have changed",
        ("put the records into fewer files (pyflowdata convert)",),
    )


def _turning(m: Measures) -> Finding:
    return Finding(
        "start",
        f"the ends and first batches of {counted(m.starts, 'epoch')}",
        ("make epochs longer, for example by repeat(n) of the data set",),
    )


def _handing_out(m: Measures) -> Finding:
    blobs, stats = len(m.counters.blobs), m.counters.stats
    rows = ratio(stats["records"], stats["batches"])
    larger = f"make batches larger: they have {number(round(rows, 1))} rows"
    if blobs < _MANY_BLOBS:
        remedy = larger if rows < _FEW_ROWS else "make batches larger, and steps fewer"
        said = "handing batches out, which costs the same for any size"
        return Finding("small-batches", said, (remedy,))
    return Finding(
        "fields",
        f"making an array of each of {blobs} blobs",
        ("take fewer fields, or join columns of one dtype into one field (the op Concat)", larger),
    )


def _converting(m: Measures) -> Finding:
    return Finding(
        "convert",
        "making something else of each batch, around the loader's iterator",
        ("take NumPy arrays from the DataLoader itself, or make batches larger",),
    )


_PARTS: dict[str, Callable[[Measures], Finding]] = {
    "lock": _lock_of_next,
    "check": _checking,
    "turn": _turning,
    "hand_out": _handing_out,
    "convert": _converting,
}


# ---- Causes of a slow loader --------------------------------------------------------------------

def _busy(m: Measures) -> str:
    return f"{tenths(m.busy_threads)} of {m.threads} threads busy"


def _of_cpu(m: Measures, one: Work) -> str:
    return f"{one.title} takes {percent(m.share(one))} of the loader's CPU"


def _is_tuned(m: Measures, name: str) -> bool:
    return name in m.counters.automatic


def _tuning(m: Measures, name: str) -> str:
    """The state of a number that the loader adjusts."""
    state = m.counters.tuning[0].partition(": ")[2]
    return f"{name}=\"auto\" is at work on it: {state}"


def _more_at_once(m: Measures, what: str, times: int) -> str:
    """More threads than processors, for work that waits."""
    is_tuned, most = _is_tuned(m, "num_threads"), m.counters.most_threads
    if is_tuned and not 0 < most <= m.threads:
        return _tuning(m, "num_threads")
    count = times * m.threads
    room = f" and prefetch={count}" if m.counters.prefetch < count else ""
    if is_tuned:
        return (
            f"let more {what} wait at once: num_threads={count}{room} in place of \"auto\", which "
            f"is at its most, {most} threads"
        )
    return (
        f"let more {what} wait at once: num_threads=\"auto\" (docs/speed/autotune.md), or "
        f"num_threads={count}{room}, above the number of processors"
    )


def _more_threads(m: Measures) -> tuple[str, ...]:
    """The predicted gain of further threads, if there are processors for them."""
    gain = m.steps_gain(m.processors)
    if m.threads >= m.processors or gain < _WORTH:
        return ()
    if _is_tuned(m, "num_threads"):
        return (_tuning(m, "num_threads"),)
    return (
        f"more threads would help (this machine allows {m.processors}; num_threads="
        f"{m.processors} predicts {percent(gain)} more steps)",
        "have the loader find it: DataLoader(num_threads=\"auto\")",
    )


# ---- One long wait ------------------------------------------------------------------------------


def _stall(m: Measures) -> Finding | None:
    """One late batch takes most of the waiting, and tells nothing about the others."""
    wait = m.lone_wait_seconds
    if wait < max(FELT, MOST * m.wait_seconds):
        return None
    rest = ratio(m.wait_seconds - wait, m.step_seconds - wait)
    stall = m.counters.last_stall
    return Finding(
        "stall",
        f"one wait of {seconds(wait)} is {percent(ratio(wait, m.wait_seconds))} of the waiting; "
        f"without it {percent(rest)} of the time",
        (
            "see below what it waited for, under stalls" if stall else "find what it waited for: a "
            "StallWarning names the op, the record and the file of a wait that is longer than the "
            f"environment's PYFLOWDATA_STALL_SECONDS={_round_down(wait)}",
        ),
        {"longest_wait_seconds": wait, "wait_share_without": rest},
    )


def _round_down(value: float) -> str:
    """A number of one digit that is at most half as large."""
    power = math.floor(math.log10(value / 2))
    return f"{math.floor(value / 2 / 10**power) * 10**power:g}"


# ---- Records for nothing ------------------------------------------------------------------------


def _skipped(m: Measures) -> Finding | None:
    """Records that are read, and left out after an error."""
    stats = m.counters.stats
    share = ratio(stats["skipped"], stats["skipped"] + stats["records"])
    if share < BLOCKED:
        return None
    return Finding(
        "skipped",
        f"{percent(share)} of the records are left out after errors, once they are read and partly "
        "computed",
        (
            "find them once, and leave them out by where() or repair the files: loader.skipped and "
            "pyflowdata verify name them",
        ),
        {"skipped_share": share},
        part=share,
    )


# ---- The program's memory -----------------------------------------------------------------------


def _memory(m: Measures) -> Finding | None:
    stats, budget = m.counters.stats, m.counters.memory_budget
    is_short = m.no_memory_share >= _NO_MEMORY or _cuts_prefetch(m)
    if not is_short or m.worked_share >= 1 - _NO_MEMORY / 2:
        return None
    held = int(stats["slots_held"])
    evidence: dict[str, float] = {"slots_held": held, "memory_budget": budget}
    raise_it = f"raise memory_budget, which is {size(budget)}"
    if held > _USUALLY_HELD:
        return Finding(
            "held",
            f"the program holds {held} batches, and memory_budget={size(budget)} is used up "
            f"{percent(m.no_memory_share)} of the time",
            (
                "let go of batches before the next ones are made: keep copies of the rows that "
                "are needed longer (batch[rows].copy())",
                raise_it,
            ),
            evidence,
        )
    return Finding(
        "memory",
        f"{_busy(m)}: memory_budget={size(budget)} leaves no room for more batches of "
        f"{size(_batch_bytes(m))}",
        (raise_it, "make batches smaller: uint8 in place of float32, or a smaller batch size"),
        evidence,
    )


def _batch_bytes(m: Measures) -> float:
    return ratio(m.counters.stats["slot_bytes"], m.counters.stats["slots"])


def _cuts_prefetch(m: Measures) -> bool:
    """A loader opens with fewer batches ahead than prefetch says if there is no room for them."""
    return m.counters.memory_budget < (m.counters.prefetch + 4) * _batch_bytes(m)


# ---- Stages that one thread does ----------------------------------------------------------------


def _python_source(m: Measures) -> Finding | None:
    work = [
        one for one in m.counters.work if one.kind != "op"
        and (one.language == "Python" or one.source and m.source_share(one) >= MOST)
    ]  # fmt: skip
    if not work:
        return None
    one = m.top(work)
    is_stream = one.kind == "read"
    inside = m.threads_in(one)
    if (inside if is_stream else m.wall_share(one)) < MOST:
        return None
    order = "one after another" if is_stream else "one at a time"
    rate = ratio(m.counters.stats["records"], m.loop_seconds)
    return Finding(
        "python-source",
        f"the Python object of {one.source or one.op} gives its records {order}, {number(rate)} a "
        f"second, and takes {percent(m.wall_share(one))} of the threads' time",
        _less_source(m, one),
        {"threads_in": inside, "waiting_share": m.call_waiting_share(one)},
        part=m.wall_share(one),
    )


def _reading(m: Measures) -> Finding | None:
    reads = [one for one in m.counters.work if one.kind == "read"]
    if not reads:
        return None
    one = m.top(reads)
    inside = m.threads_in(one)
    evidence = {"threads_in": inside, "waiting_share": m.waiting_share(one)}
    if inside < (_ALWAYS if m.worked_share >= _BUSY else _OFTEN):
        return None
    if m.waiting_share(one) >= MOST:
        return _storage(m, one, evidence)
    return Finding(
        "stream",
        f"{one.title} is done by one thread, and it is in there {percent(min(inside, 1))} of the "
        "time",
        (
            "have the files read with random access, by all threads: formats with an index, not "
            "compressed as a whole (pyflowdata convert)",
            *_quicker_codec(m, one),
            f"give each rank files of its own, or keep the records with {_CACHE}",
        ),
        evidence,
    )


def _quicker_codec(m: Measures, one: Work) -> tuple[str, ...]:
    """Where the thread decompresses."""
    if not m.counters.readers[one.reader].suffix.endswith(".gz"):
        return ()
    return ("compress with zstd in place of gzip, or not at all: it takes the thread less",)


# Of the bytes that were fetched: so many had been there before, and were dropped.
_AGAIN = 0.2
# What the cache leaves free below its budget.
_SPARE = 8 / 7


def _network(m: Measures, evidence: dict[str, float]) -> Finding | None:
    """Remote files are waited for; None: nothing was fetched."""
    fetched = m.counters.fetched
    requests, came = fetched.get("requests", 0), fetched.get("bytes", 0)
    if not came:
        return None
    rate, again = ratio(came, m.loop_seconds), ratio(fetched["again_bytes"], came)
    needed = ratio(came, m.counters.stats["read_bytes"])
    delay = ratio(fetched["answer_seconds"], requests)
    at_once = ratio(fetched["seconds"], m.loop_seconds)
    left = m.counters.missing_bytes
    evidence = {
        **evidence, "bytes_per_second": rate, "fetched_per_used": needed, "fetched_again": again,
        "requests": requests, "answer_seconds": delay, "requests_at_once": at_once,
        "missing_bytes": left,
    }  # fmt: skip
    said = f"remote files come at {size(rate)}/s, {number(needed)} bytes for each that is used"
    if again >= _AGAIN:
        enough = int(sum(one.bytes for one in m.counters.readers) * _SPARE)
        return Finding(
            "cache-too-small",
            f"{said}: {percent(again)} of them had been in the cache, and were dropped",
            (
                f"give the cache a budget of {size(enough)}, which holds all files: "
                "flow.remote.configure(budget=...)",
                "read in an order that needs each block once an epoch: shuffle=\"window\"",
            ),
            {**evidence, "enough_budget": enough},
        )
    cold = "; the epoch is cold, " + (
        f"up to {size(left)} that it reads are not in the cache yet" if left else
        "and later ones read what the cache has"
    )
    if ratio(fetched["answer_seconds"], fetched["seconds"]) >= MOST:
        return Finding(
            "requests",
            f"{said}: {seconds(delay)} pass until a request is answered, and {number(at_once)} "
            f"are made at a time{cold}",
            (
                "make more requests at a time: flow.remote.configure(requests=64)",
                "read in an order whose blocks follow each other: shuffle=\"window\"",
            ),
            evidence,
        )
    return Finding(
        "network",
        f"{said}, as fast as the line and the server give them{cold}",
        (
            "keep the cache for the next run: a folder that stays, PYFLOWDATA_CACHE",
            "compress the files, or store smaller records",
        ),
        evidence,
    )


def _remote(m: Measures) -> Finding | None:
    """Also where one wait is most of the waiting, as for the first blocks."""
    if m.blocked_share < BLOCKED or not m.counters.work:
        return None
    one = max(m.counters.work, key=lambda each: each.wall_seconds - each.cpu_seconds)
    if not (one.kind in ("records", "read") or _is_reader(m, one)):
        return None
    return _network(m, {"waiting_share": m.waiting_share(one)})


def _storage(m: Measures, one: Work, evidence: dict[str, float]) -> Finding:
    if (remote := _network(m, evidence)) is not None:
        return remote
    stats = m.counters.stats
    faults = int(stats["major_faults"])
    source = stats["read_bytes"] or stats["bytes"]
    rate = ratio(source, m.loop_seconds)
    fetched = f", {number(faults)} pages were fetched" if faults else ""
    return Finding(
        "storage",
        f"{one.title} waits {percent(m.waiting_share(one))} of its time for the files, which come "
        f"at {size(rate)}/s{fetched}",
        (
            "put the files on a faster or local disk, or keep their records with cache() or "
            "cache(\"disk\") of a data set (docs/how-to/cache.md)",
            "make reads longer: fewer, larger files (pyflowdata convert), and shuffle=\"window\"",
            _more_at_once(m, "reads", 2),
        ),
        {**evidence, "bytes_per_second": rate, "major_faults": faults},
    )


# ---- Python -------------------------------------------------------------------------------------


def _python(m: Measures) -> Finding | None:
    ops = [one for one in m.counters.work if one.kind == "op" and one.language == "Python"]
    share = sum(map(m.wall_share, ops))
    if share < MOST:
        return None
    one = m.top(ops)
    inside = sum(map(m.threads_in, ops))
    cores = ratio(sum(op.cpu_seconds for op in ops), m.loop_seconds)
    if m.own_lock_share >= MOST:
        return _own_lock(m, one, share)
    is_alone = m.threads > 1 and inside <= 1 + _NEARLY
    if cores > 1 + _NEARLY or (not is_alone and _lets_go(m, one)):
        return None
    are_apart = m.lock_share < BLOCKED  # its calls do not wait for each other
    if not are_apart and cores < BLOCKED and _others_hold_the_lock(m, one, cores):
        return _foreign_thread(m, one, share)
    if m.worked_share < _BUSY and m.counters.prefetch < m.threads:
        return None  # there is no room for the batches that all threads could work on
    if are_apart and cores < MOST and m.waiting_share(one) >= MOST:
        return _waiting_python(m, one, share)
    if m.have_others and m.wanted_processors >= MOST > m.process_rate:
        return _without_processor(m, one)
    if not m.counters.has_lock:
        return None
    elsewhere = _less_python(m, one)
    if one.gives == "samples":
        elsewhere = (f"fetch in processes: num_workers={m.processors}", *_OF_DATASET)
    return Finding(
        "python-op",
        f"the Python op {one.title} takes {percent(share)} of the threads' time: "
        f"{tenths(inside)} threads are in it and use {tenths(cores)} "
        "processors, since one at a time holds the interpreter's lock, for which calls wait "
        f"{percent(m.lock_share)} of the time",
        (*_fewer_threads(m), *elsewhere),
        {"python_share": share, "python_processors": cores, "lock_share": m.lock_share},
        part=share,
    )


def _lets_go(m: Measures, one: Work) -> bool:
    """Python such as NumPy, which lets go of the interpreter's lock: it waits for nothing; beside
    one thread, not while next() is in the same op, where one of the two would have to."""
    if not m.counters.has_lock:
        return True
    waited = m.lock_share + m.waiting_share(one)
    if m.threads == 1:
        return waited * one.wall_seconds < _NEARLY * one.help_seconds
    return waited < _LET_GO


def _others_hold_the_lock(m: Measures, one: Work, cores: float) -> bool:
    """Whether other threads compute more than the op; or whether hardly any thread computes, and
    the op waits for nothing else than the lock: while it sleeps, the lock may be its own.
    """
    if m.process_rate >= MOST or m.have_others:
        return m.process_rate >= 2 * cores
    return m.waiting_share(one) < BLOCKED


def _own_lock(m: Measures, one: Work, share: float) -> Finding:
    """Further threads would wait for the same lock of the program."""
    return Finding(
        "own-lock",
        f"the Python op {one.title} takes {percent(share)} of the threads' time, and "
        f"{percent(m.own_lock_share)} of its calls were waiting for a lock of the program, which "
        "one has at a time",
        (
            "give each thread an object of its own (threading.local()) in place of one under a "
            "lock, or hold the lock for less: more threads do not help",
            *_fewer_threads(m),
            _RUN_ELSEWHERE,
        ),
        {"python_share": share, "own_lock_share": m.own_lock_share},
        part=share,
    )


def _foreign_thread(m: Measures, one: Work, share: float) -> Finding:
    """The op computes little, and its calls wait for the interpreter."""
    return Finding(
        "lock",
        f"the Python op {one.title} computes little, and waits {percent(m.lock_share)} of its time "
        "for the interpreter's lock, which other threads of this program hold",
        (_FOREIGN, *_by_batch(one), _KEEP_SAME),
        {"python_share": share, "lock_share": m.lock_share},
        part=share,
    )


def _fewer_threads(m: Measures) -> tuple[str, ...]:
    """Many threads that want one lock hand it from one to the next."""
    if m.threads <= 2 * m.processors or _is_tuned(m, "num_threads"):
        return ()
    return (
        f"fewer threads: num_threads={m.processors}, as {m.threads} of them want one lock at the "
        "same time",
    )


def _waiting_python(m: Measures, one: Work, share: float) -> Finding:
    """Nothing in this process computes: the function sleeps, or waits for a network."""
    used = tenths(m.process_rate)
    return Finding(
        "python-op",
        f"the Python op {one.title} takes {percent(share)} of the threads' time, and waits for "
        f"something else than the interpreter: this process uses {used} processors",
        (
            _more_at_once(m, "calls", MANY),
            _KEEP_SAME,
        ),
        {"python_share": share},
        part=share,
    )


# Bytes of a row, from which on copying it takes longer than calling a process.
_LARGE_ROW = 100_000


def _processes(m: Measures) -> Finding | None:
    ops = [one for one in m.counters.work if one.kind == "op" and one.language == "processes"]
    share = sum(map(m.wall_share, ops))
    if share < MOST:
        return None
    one = m.top(ops)
    called = ratio(one.rows * one.row_seconds, one.processes * m.loop_seconds)
    if one.row_bytes >= _LARGE_ROW and one.row_seconds and called < MOST:
        return Finding(
            "process-copies",
            f"{size(one.row_bytes)} of each row of {one.title} are copied to its processes and "
            f"back: they compute {percent(called)} of the time, and threads wait for them "
            f"{percent(share)} of theirs",
            (
                "processes=0: threads call it without a copy between processes",
                "have it return fewer bytes: uint8 in place of float32, or smaller rows",
                _COMPILE,
            ),
            {"processes_share": share, "row_bytes": one.row_bytes, "called_share": called},
            part=share,
        )
    if ratio(one.row_wait_seconds, one.row_seconds) >= MOST and not one.gives:
        return _waiting_processes(m, one, share)
    more = f"give it more processes: processes={m.processors}, as many as processors"
    remedies: tuple[str, ...] = (_COMPILE, _KEEP_SAME)
    if one.gives == "samples":
        more, remedies = f"raise num_workers, which is {one.processes}", _OF_DATASET
    return Finding(
        "processes",
        f"threads wait for the processes of {one.title} {percent(share)} of their time",
        (more, *remedies) if one.processes < m.processors else remedies,
        {"processes_share": share},
    )


def _waiting_processes(m: Measures, one: Work, share: float) -> Finding:
    """The function sleeps, or waits for a network: nothing computes, here or in its processes."""
    waited = ratio(one.row_wait_seconds, one.row_seconds)
    threads = _more_at_once(m, "calls", MANY)
    return Finding(
        "processes",
        f"threads wait for the processes of {one.title} {percent(share)} of their time, and "
        f"these spend {percent(waited)} of a call waiting for something else than a processor",
        (
            f"processes=0: a call that waits needs no processor; {threads}",
            f"give it more processes: processes={MANY * one.processes}, above the number of "
            "processors",
            _KEEP_SAME,
        ),
        {"processes_share": share, "waiting_share": waited},
    )


# ---- Threads without work -----------------------------------------------------------------------


def _idle(m: Measures) -> Finding | None:
    if m.worked_share >= _BUSY:
        return None
    prefetch, whole = m.counters.prefetch, [one for one in m.counters.work if one.is_whole]
    if whole and m.wall_share(m.top(whole)) >= MOST:
        one = m.top(whole)
        return Finding(
            "whole-batch",
            f"{one.title} works on whole batches, each in one thread; {_busy(m)}",
            (
                _tuning(m, "prefetch") if _is_tuned(m, "prefetch") else "raise prefetch, which is "
                f"{prefetch}: other threads can work on further batches",
                "do in an op on rows what does not need the whole batch",
            ),
            {"prefetch": prefetch},
        )
    return Finding(
        "prefetch",
        f"{_busy(m)}: the loader makes at most {counted(prefetch, 'batch', 'batches')} ahead, and "
        "the time of steps or batches varies",
        (
            f"raise prefetch: DataLoader(prefetch={m.further_prefetch})",
            "have the loader find it: DataLoader(prefetch=\"auto\")",
        ) if not _is_tuned(m, "prefetch") else (_tuning(m, "prefetch"),),
        {"prefetch": prefetch},
    )


# ---- Threads that wait --------------------------------------------------------------------------


def _blocked(m: Measures) -> Finding | None:
    if m.blocked_share < BLOCKED:
        return None
    one = max(m.counters.work, key=lambda each: each.wall_seconds - each.cpu_seconds)
    stats = m.counters.stats
    evidence = {"waiting_share": m.waiting_share(one)}
    # A page from a disk takes at most tens of milliseconds: many faults explain the wait.
    explained = stats["major_faults"] * 0.02 >= MOST * m.blocked_share * m.busy_seconds
    if one.kind in ("records", "read") or explained or _is_reader(m, one):
        return _storage(m, one, evidence)
    return Finding(
        "op",
        f"{one.title} waits {percent(m.waiting_share(one))} of its time rather than computes; "
        f"{_busy(m)}",
        (
            _more_at_once(m, "of it", 2),
            _KEEP_SAME,
        ),
        evidence,
    )


def _is_reader(m: Measures, one: Work) -> bool:
    return one.op in {reader.op for reader in m.counters.readers}


# ---- Processors ---------------------------------------------------------------------------------


def _quota(m: Measures) -> Finding | None:
    if m.throttled_share < _THROTTLED:
        return None
    return Finding(
        "quota",
        f"the container's quota of {m.processors} processors was used up for "
        f"{percent(m.throttled_share)} of the time; {_busy(m)}",
        (
            "raise the container's CPU limit (cpu.max; resources.limits.cpu of a pod)",
            "have other libraries start fewer threads (OMP_NUM_THREADS, torch.set_num_threads)",
        ),
        {"throttled_share": m.throttled_share},
    )


def _processors(m: Measures) -> Finding | None:
    """Threads stand in line for processors that others use."""
    if m.runnable_share < BLOCKED:
        return None
    if m.is_crowded:
        one = m.top() if m.wall_seconds else None
        if one is not None and m.runnable_share < min(m.share(one), _CROWDED):
            return None  # without that work, threads would stand in line for less
        return _without_processor(m, one)
    if m.own_cpu_share >= MOST:
        return None
    return Finding(
        "processors",
        f"{_in_line(m)} that other parts of this program use ({_allowed(m)})",
        (
            "have other libraries start fewer threads (OMP_NUM_THREADS, torch.set_num_threads)",
            "take a machine with more processors",
            f"make the loader's work less: {_KEEP}",
        ),
        {"loader_part_of_cpu": m.own_cpu_share},
    )


def beside_others(m: Measures, found: Finding) -> Finding:
    """A finding on a loader whose threads stand in line for processors, too."""
    if not m.is_crowded or found.cause == "processors":
        return found
    also = f"{_in_line(m)} that other programs used: times are longer than on a quiet machine"
    return replace(found, said=f"{found.said}; {also}")


def _in_line(m: Measures) -> str:
    return f"threads waited {percent(m.runnable_share)} of their time for a processor"


def _allowed(m: Measures) -> str:
    return f"{m.processors} allowed, {tenths(m.process_rate + m.worker_rate)} used"


def _without_processor(m: Measures, one: Work | None) -> Finding:
    """Other programs use the processors; how long work takes then says little."""
    said = f"{_in_line(m)} that other programs used ({_allowed(m)})"
    less: tuple[str, ...] = (f"make the loader's work less: {_KEEP}",)
    if one is not None and one.rows:
        row = seconds(one.cpu_seconds / one.rows)
        said += f"; {one.title} is the most expensive, {row} a row"
        less = _lighter(m, one)
    return Finding(
        "processors",
        said,
        ("measure again when it is quiet, or give this process processors of its own", *less),
        {"loader_part_of_cpu": m.own_cpu_share, "wanted_processors": m.wanted_processors},
    )


# ---- Work ---------------------------------------------------------------------------------------


def _padding(m: Measures) -> Finding | None:
    """Padding rows is most of the work."""
    found = _most_padded(m)
    if found is None or m.share(found[0]) < MOST:
        return None
    one, share = found
    return Finding(
        "padding",
        f"{_of_cpu(m, one)}, and {percent(share)} of the elements that it makes are padding",
        _less_padding(one),
        {"padding_share": share, "share": m.share(one)},
        part=share * m.share(one),
    )


# What another format gives at least, before it is advised.
_MATTERS = 1.2
# The end of a file's name: what its decoder does, and what takes less.
_TEXT_NUMBERS = (
    "splits lines and reads numbers as text",
    "store columns as Arrow or Parquet, whose numbers are not text (pyflowdata convert)",
)
_COSTLY_FORMATS: dict[str, tuple[str, str]] = {
    ".png": (
        "decodes PNG",
        "store photos as JPEG, which decodes in a fifth of the time, where its loss is allowed "
        "(pyflowdata convert)",
    ),
    ".csv": _TEXT_NUMBERS,
    ".tsv": _TEXT_NUMBERS,
}


def _costly_format(m: Measures, one: Work) -> tuple[str, str] | None:
    """What work does that another format would save, and the remedy."""
    if not (one.gives == "images" or _is_reader(m, one)):
        return None
    return _COSTLY_FORMATS.get(PurePath(f"x{m.counters.readers[one.reader].suffix}").suffix)


def _format(m: Measures) -> Finding | None:
    """Most of the work is decoding a format, and another one takes less."""
    one = m.top() if m.wall_seconds else None
    if one is None or (costly := _costly_format(m, one)) is None:
        return None
    share = m.share(one)
    if share < MOST or 1 - share * m.next_share > 1 / _MATTERS:
        return None
    return Finding(
        "format",
        f"{_of_cpu(m, one)}, {_busy(m)}: it {costly[0]}",
        (*_lighter(m, one), *_more_threads(m)),
        {"share": share},
        part=share,
    )


def _threads(m: Measures) -> Finding | None:
    more = _more_threads(m)
    if not more:
        return None
    one = m.top()
    return Finding(
        "threads",
        f"{_of_cpu(m, one)}, {_busy(m)}",
        (*more, *_lighter(m, one)),
        {"predicted_gain": m.steps_gain(m.processors)},
    )


def _work(m: Measures) -> Finding | None:
    if not m.wall_seconds:
        return None
    one = m.top()
    cause = "op" if one.kind == "op" else one.kind
    said = f"{_of_cpu(m, one)}, {_busy(m)}, {m.processors} allowed by this machine"
    share = m.share(one)
    return Finding(cause, said, _lighter(m, one), {"share": share}, part=share)


def _lighter(m: Measures, one: Work) -> tuple[str, ...]:
    """How to make an item of work less."""
    if (costly := _costly_format(m, one)) is not None:
        return (costly[1], _KEEP)
    if one.kind == "op" and one.language == "Python":
        more = (_KEEP, _COMPILE) if _lets_go(m, one) else (_RUN_ELSEWHERE, _KEEP)
        return (*_by_batch(one), *more)
    if (one.kind == "records" or _is_reader(m, one)) and _has_small_files(m, one):
        return (
            "put the records into few files (pyflowdata convert): each small file is opened and "
            "closed again for its record",
            _KEEP,
        )
    if one.kind == "records":
        return (
            "find records with fewer steps: fewer views, shuffle=\"window\", or a format whose "
            "records have one size (pyflowdata convert)",
            _KEEP,
        )
    if one.kind == "join":
        return ("join fewer ragged bytes: crop, resize or pad the rows in an op",)
    if one.gives == "images" and not one.fused_op:
        return (
            "let a crop take its images directly, which then decodes only what the crop needs, or "
            "store smaller images (pyflowdata convert)",
            _KEEP,
        )
    if one.gives == "images" or _is_reader(m, one):
        return ("store smaller or simpler records (pyflowdata convert)", _KEEP)
    return (_KEEP, "take a cheaper op, or do its work where the batch is used, on the device")


def _has_small_files(m: Measures, one: Work) -> bool:
    """Few records are in each file of the reader; or each is a file, of a folder that it was
    given."""
    stats, reader = m.counters.stats, m.counters.readers[one.reader]
    if not reader.bytes and stats["read_bytes"]:
        return ratio(stats["read_bytes"], stats["records"]) < _SMALL_FILE
    return 0 < reader.records <= _MANY_FILES * reader.files


LOADER_CAUSES: tuple[Callable[[Measures], Finding | None], ...] = (
    _remote,
    _stall,
    _memory,
    _skipped,
    _python_source,
    _reading,
    _python,
    _processes,
    _idle,
    _blocked,
    _quota,
    _processors,
    _padding,
    _format,
    _threads,
    _work,
)
