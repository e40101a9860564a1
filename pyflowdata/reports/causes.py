"""Why a loader was slow: one rule for each cause, from numbers to words.

A rule looks at the measures of a loader that was waited for, and says what it found, or None.  They
are asked in an order in which the first answer is right: a tight memory budget leaves threads idle,
and so does a stage that one thread does; only where neither is so, idle threads mean prefetch.
"""

from __future__ import annotations

from collections.abc import Callable

from ..plain_text import counted, number, percent, size
from .counters import Work
from .findings import (
    ALWAYS,
    BLOCKED,
    BUSY,
    MANY_FILES,
    MOST,
    NEARLY,
    NO_MEMORY,
    OFTEN,
    SMALL_FILE,
    RUN_ELSEWHERE,
    THROTTLED,
    USUALLY_HELD,
    WORTH,
    Finding,
)
from .measures import Measures, ratio


def _busy(m: Measures) -> str:
    return f"{number(round(m.busy_threads, 1))} of {m.threads} threads busy"


def _of_cpu(m: Measures, one: Work) -> str:
    return f"{one.title} takes {percent(m.share(one))} of the loader's CPU"


def _more_threads(m: Measures) -> str | None:
    """What further threads are predicted to bring, if there are processors for them."""
    gain = m.steps_gain(m.processors)
    if m.threads >= m.processors or gain < WORTH:
        return None
    return (
        f"more threads would help (this machine allows {m.processors}; num_threads="
        f"{m.processors} predicts {percent(gain)} more steps)"
    )


# ---- The program's memory -----------------------------------------------------------------------


def _memory(m: Measures) -> Finding | None:
    stats, budget = m.counters.stats, m.counters.memory_budget
    is_short = m.no_memory_share >= NO_MEMORY or _cuts_prefetch(m)
    if not is_short or m.worked_share >= 1 - NO_MEMORY / 2:
        return None
    held = int(stats["slots_held"])
    evidence: dict[str, float] = {"slots_held": held, "memory_budget": budget}
    raise_it = f"raise memory_budget, which is {size(budget)}"
    if held > USUALLY_HELD:
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
    work = [one for one in m.counters.work if one.language == "Python" and one.kind != "op"]
    if not work:
        return None
    one = m.top(work)
    is_stream = one.kind == "read"
    inside = m.threads_in(one)
    if (inside if is_stream else m.wall_share(one)) < MOST:
        return None
    order = "one after another" if is_stream else "one at a time"
    return Finding(
        "python-source",
        f"the Python object of {one.op} gives its records {order}, {number(_rate(m))} a second, "
        f"and takes {percent(m.wall_share(one))} of the threads' time",
        (
            "keep its records with cache(), or write them to files once (pyflowdata.io)",
            "make the object cheaper for each record: read in larger pieces, or move work into ops "
            "after it, which run in all threads",
        ),
        {"threads_in": inside, "waiting_share": m.waiting_share(one)},
    )


def _rate(m: Measures) -> float:
    return ratio(m.counters.stats["records"], m.loop_seconds)


def _reading(m: Measures) -> Finding | None:
    reads = [one for one in m.counters.work if one.kind == "read"]
    if not reads:
        return None
    one = m.top(reads)
    inside = m.threads_in(one)
    evidence = {"threads_in": inside, "waiting_share": m.waiting_share(one)}
    if inside < (ALWAYS if m.worked_share >= BUSY else OFTEN):
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
            "give each rank files of its own, or keep the records with cache()",
        ),
        evidence,
    )


def _storage(m: Measures, one: Work, evidence: dict[str, float]) -> Finding:
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
            "put the files on a faster or local disk, or keep their records with cache(\"disk\") "
            "or cache()",
            "make reads longer: fewer, larger files (pyflowdata convert), and shuffle=\"window\"",
            f"let more reads wait at once: num_threads={2 * m.threads}, above the number of "
            "processors",
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
    if cores > 1 + NEARLY:
        return None  # NumPy and the like, which let go of the lock
    if m.process_rate < MOST:
        return _waiting_python(m, one, share)
    return Finding(
        "python-op",
        f"the Python op {one.title} takes {percent(share)} of the threads' time: "
        f"{number(round(inside, 1))} threads are in it and use {number(round(cores, 1))} "
        "processors, since one at a time holds the interpreter's lock",
        (
            RUN_ELSEWHERE,
            "have it called once for a batch (per=\"batch\") with NumPy on all rows",
            "keep its results with cache() if they do not change from epoch to epoch",
        ),
        {"python_share": share, "python_processors": cores},
    )


def _waiting_python(m: Measures, one: Work, share: float) -> Finding:
    """Nothing in this process computes: the function sleeps, or waits for a network."""
    used = number(round(m.process_rate, 1))
    return Finding(
        "python-op",
        f"the Python op {one.title} takes {percent(share)} of the threads' time, and waits for "
        f"something else than the interpreter: this process uses {used} processors",
        (
            f"let more calls wait at once: num_threads={4 * m.threads}, above the number of "
            "processors",
            "keep its results with cache() if they do not change from epoch to epoch",
        ),
        {"python_share": share},
    )


def _processes(m: Measures) -> Finding | None:
    ops = [one for one in m.counters.work if one.kind == "op" and one.language == "processes"]
    share = sum(map(m.wall_share, ops))
    if share < MOST:
        return None
    one = m.top(ops)
    return Finding(
        "processes",
        f"threads wait for the processes of {one.title} {percent(share)} of their time",
        (
            f"give it more processes (processes=, up to the {m.processors} processors)",
            "compile it with numba.njit, or use ops of pyflowdata, which are C",
            "keep its results with cache() if they do not change from epoch to epoch",
        ),
        {"processes_share": share},
    )


# ---- Threads without work -----------------------------------------------------------------------


def _idle(m: Measures) -> Finding | None:
    if m.worked_share >= BUSY:
        return None
    prefetch, whole = m.counters.prefetch, [one for one in m.counters.work if one.is_whole]
    if whole and m.wall_share(m.top(whole)) >= MOST:
        one = m.top(whole)
        return Finding(
            "whole-batch",
            f"{one.title} works on whole batches, each in one thread; {_busy(m)}",
            (
                f"raise prefetch, which is {prefetch}: other threads can work on further batches",
                "do in an op on rows what does not need the whole batch",
            ),
            {"prefetch": prefetch},
        )
    return Finding(
        "prefetch",
        f"{_busy(m)}: the loader makes at most {counted(prefetch, 'batch', 'batches')} ahead, and "
        "the time of steps or batches varies",
        (
            f"raise prefetch: DataLoader(prefetch={max(4 * prefetch, 8)})",
            "have the loader find it: DataLoader(prefetch=\"auto\")",
        ),
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
            f"let more of it wait at once: num_threads={2 * m.threads}, above the number of "
            "processors",
            "keep its results with cache() if they do not change from epoch to epoch",
        ),
        evidence,
    )


def _is_reader(m: Measures, one: Work) -> bool:
    return one.op in {reader.op for reader in m.counters.readers}


# ---- Processors ---------------------------------------------------------------------------------


def _quota(m: Measures) -> Finding | None:
    if m.throttled_share < THROTTLED:
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
    stats = m.counters.stats
    mine = ratio(stats["cpu_seconds"] + stats["help_seconds"], stats["process_cpu_seconds"])
    if m.runnable_share < BLOCKED or mine >= MOST and m.process_rate > m.processors * (1 - BLOCKED):
        return None
    is_own = m.process_rate > m.processors * (1 - BLOCKED)
    user = "other parts of this program" if is_own else "other programs"
    remedies = (
        "have other libraries start fewer threads (OMP_NUM_THREADS, torch.set_num_threads)"
        if is_own
        else "stop what else runs on this machine, or give this process processors of its own",
        "take a machine with more processors",
        "make the loader's work less: keep results with cache()",
    )
    return Finding(
        "processors",
        f"threads wait for a processor {percent(m.runnable_share)} of their time: {user} "
        f"use them ({m.processors} allowed, {number(round(m.process_rate, 1))} used)",
        remedies,
        {"loader_part_of_cpu": mine},
    )


# ---- Work ---------------------------------------------------------------------------------------


def _threads(m: Measures) -> Finding | None:
    more = _more_threads(m)
    if more is None:
        return None
    one = m.top()
    return Finding(
        "threads",
        f"{_of_cpu(m, one)}, {_busy(m)}",
        (more, "have the loader find it: DataLoader(num_threads=\"auto\")", *_lighter(m, one)),
        {"predicted_gain": m.steps_gain(m.processors)},
    )


def _work(m: Measures) -> Finding | None:
    if not m.wall_seconds:
        return None
    one = m.top()
    cause = "op" if one.kind == "op" else one.kind
    said = f"{_of_cpu(m, one)}, {_busy(m)}, {m.processors} allowed by this machine"
    return Finding(cause, said, _lighter(m, one), {"share": m.share(one)})


def _lighter(m: Measures, one: Work) -> tuple[str, ...]:
    """How to make an item of work less."""
    keep = "keep results with cache() before the first random op"
    if (one.kind == "records" or _is_reader(m, one)) and _has_small_files(m, one):
        return (
            "put the records into few files (pyflowdata convert): each small file is opened and "
            "closed again for its record",
            keep,
        )
    if one.kind == "records":
        return (
            "find records with fewer steps: fewer views, shuffle=\"window\", or a format whose "
            "records have one size (pyflowdata convert)",
            keep,
        )
    if one.kind == "join":
        return ("join fewer ragged bytes: crop, resize or pad the rows in an op",)
    if one.gives == "images" and not one.fused_op:
        return (
            "let a crop take its images directly, which then decodes only what the crop needs, or "
            "store smaller images (pyflowdata convert)",
            keep,
        )
    if one.gives == "images" or _is_reader(m, one):
        return ("store smaller or simpler records (pyflowdata convert)", keep)
    return (keep, "take a cheaper op, or do its work where the batch is used, on the device")


def _has_small_files(m: Measures, one: Work) -> bool:
    """Few records are in each file of the reader; or each is a file, of a folder that it was
    given."""
    stats, reader = m.counters.stats, m.counters.readers[one.reader]
    if not reader.bytes and stats["read_bytes"]:
        return ratio(stats["read_bytes"], stats["records"]) < SMALL_FILE
    return 0 < reader.records <= MANY_FILES * reader.files


LOADER_CAUSES: tuple[Callable[[Measures], Finding | None], ...] = (
    _memory,
    _python_source,
    _reading,
    _python,
    _processes,
    _idle,
    _blocked,
    _quota,
    _processors,
    _threads,
    _work,
)
