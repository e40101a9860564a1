"""The rules of verdicts on recorded numbers: which cause, in which words, with which remedy."""

import json
import pickle
import random
from dataclasses import replace

import numpy as np
import pytest
from reports.recorded import STATS, TUNED, WAITING, recorded, work

import pyflowdata as flow
from pyflowdata.insight.counters import (
    Counters, CopyCounts, FirstWork, ReaderFacts, SlowRange, StepTimes,
)  # fmt: skip
from pyflowdata.insight.measures import Measures
from pyflowdata.insight.verdict import judge

BLOCKED = {**WAITING, "cpu_seconds": 2.0, "process_cpu_seconds": 3.0}
IDLE = {**WAITING, "idle_seconds": 10.0, "cpu_seconds": 5.9, "process_cpu_seconds": 6.5}

# All threads wait, and no program computes.
QUIET: dict[str, float] = {**BLOCKED, "machine_cpu_seconds": 0.5}

# Two threads, of which each stands in line for a processor a third of its time.
WAITING_FOR_TURN: dict[str, float] = {
    **WAITING, "num_threads": 2, "processors": 2, "thread_seconds": 8.0, "cpu_seconds": 5.0,
    "runnable_seconds": 2.8, "process_cpu_seconds": 6.4, "machine_cpu_seconds": 6.5,
}


# Four threads on four processors, of which other programs use most.
CROWDED: dict[str, float] = {
    **WAITING, "processors": 4, "cpu_seconds": 6.0, "runnable_seconds": 9.4,
    "process_cpu_seconds": 7.0, "machine_cpu_seconds": 15.8, "pressure_seconds": 3.5,
}

ONE_THREAD: dict[str, float] = {
    **WAITING, "num_threads": 1, "processors": 2, "thread_seconds": 4.0, "idle_seconds": 0.0,
    "cpu_seconds": 3.9, "help_seconds": 1.0, "process_cpu_seconds": 4.9, "step_wait_seconds": 1.1,
    "step_train_seconds": 2.9, "batches_made": 401,
}

# Records of a mix of files and an object of the program.
OF_MIX = work(
    "BatchDataset", 15.0, 0.2, kind="records", source="GeneratorReader", takes_turns=True
)


def in_next(**parts: float) -> dict[str, float]:
    """400 steps of 10 ms, of which 4 ms are spent in next() on these parts."""
    times = {f"{name}_seconds": value for name, value in parts.items()}
    return {**times, "step_next_seconds": 1.6, "step_train_seconds": 2.4}


def of_files(counters: Counters, suffix: str) -> Counters:
    return replace(counters, readers=(replace(counters.readers[0], suffix=suffix),))


# Name -> (counters, limit, cause, what the sentence must have).
CASES = {
    "Python that waits for the lock in its calls, too": (
        recorded(work("Augment", 7.5, 3.7, language="Python", lock_seconds=1.8, is_by_row=True),
                 **{**WAITING_FOR_TURN, "idle_seconds": 0.9, "cpu_seconds": 3.4,
                    "runnable_seconds": 1.4, "process_cpu_seconds": 3.8}),
        "loader", "python-op", "Augment takes 100 % of the threads' time: 1.9 threads are in "
        "it and use 0.9 processors",
    ),
    "NumPy in one thread": (
        recorded(work("Sort", 5.0, 4.9, language="Python", help_seconds=1.0), **ONE_THREAD),
        "loader", "threads", "more threads would help (this machine allows 2; num_threads=2 ",
    ),
    "Python in one thread": (
        recorded(work("Augment", 5.0, 3.9, language="Python", help_seconds=1.0, lock_seconds=1.0),
                 **ONE_THREAD),
        "loader", "python-op", "Augment takes 100 % of the threads' time: 1.2 threads are in it",
    ),
    "an op beside other programs": (
        recorded(work("Decode", 6.0, 6.0), **{**CROWDED, "machine_cpu_seconds": 15.8}),
        "loader", "op", "Decode takes 100 % of the loader's CPU, 4 of 4 threads busy, 4 allowed "
        "by this machine; threads waited 59 % of their time for a processor that other programs "
        "used: times are longer than on a quiet machine; keep results",
    ),
    "an op beside many programs": (
        recorded(work("Decode", 2.0, 2.0), **{**CROWDED, "cpu_seconds": 2.0,
                 "runnable_seconds": 13.0, "process_cpu_seconds": 3.0}),
        "loader", "processors", "Decode is the most expensive",
    ),
    "a table of text beside other programs": (
        of_files(recorded(work("Reader", 3.0, 3.0), **{
            **CROWDED, "idle_seconds": 8.0, "cpu_seconds": 2.6, "runnable_seconds": 5.2,
            "help_seconds": 3.8, "loop_cpu_seconds": 0.4, "loop_runnable_seconds": 3.5}), ".csv"),
        "loader", "format", "Reader takes 100 % of the loader's CPU, 2 of 4 threads busy: it "
        "splits lines and reads numbers as text; threads waited 65 % of their time for a processor",
    ),
    "handing out beside other programs": (
        recorded(**{**CROWDED, **in_next(hand_out=1.4, help=0.1)}, loop_cpu_seconds=2.0,
                 loop_runnable_seconds=2.0),
        "loader", "small-batches", "35 %, 3.49 ms a step, went into handing batches out",
    ),
    "handing out that stands in line": (
        recorded(**{**CROWDED, **in_next(hand_out=1.4, help=0.1)}, loop_cpu_seconds=0.2,
                 loop_runnable_seconds=3.0), "loader", "processors", "that other programs used",
    ),
    "long steps that stand in line": (
        recorded(trains={20: 380, 25: 20}, machine_cpu_seconds=31.0, pressure_seconds=3.5,
                 loop_cpu_seconds=0.5, loop_runnable_seconds=0.9),
        "training", "", "none of 400 steps waited",
    ),
    "the lock of an op in next()": (
        recorded(work("Augment", 3.0, 2.4, language="Python", is_by_row=True),
                 **{**WAITING, **in_next(lock=1.5, help=0.1)}, processors=2),
        "loader", "python-op", "went into waiting for the interpreter's lock, which Augment holds; "
        "run it in processes",
    ),
    "the lock of others in next()": (
        recorded(work("Objects", 3.0, 0.4, kind="read", language="Python"),
                 **{**WAITING, **in_next(lock=1.5, help=0.1)}, processors=2),
        "loader", "lock", "the interpreter's lock, which other threads hold; have other Python",
    ),
    "the lock of an object in next()": (
        recorded(work("Objects", 3.0, 2.4, kind="records", language="Python", takes_turns=True),
                 **{**WAITING, **in_next(lock=1.5, help=0.1)}, processors=2),
        "loader", "python-source", "the interpreter's lock, which find records of Objects holds; "
        "keep its records with cache()",
    ),
    "an object in a mix": (
        recorded(replace(OF_MIX, call_seconds=3.9, turn_seconds=11.0), **QUIET),
        "loader", "python-source", "and takes 100 % of the threads' time; thread_safe=True",
    ),
    "slow files in a mix with an object": (
        recorded(replace(OF_MIX, call_seconds=0.2), **QUIET),
        "loader", "storage", "find records of BatchDataset waits 98 % of its time for the files",
    ),
    "an object that computes": (
        recorded(work("Source", 11.9, 3.8, kind="records", language="Python", takes_turns=True,
                      call_seconds=4.0, turn_seconds=7.9), **{**QUIET, "cpu_seconds": 3.9}),
        "loader", "python-source", "100 % of the threads' time; keep its records with cache()",
    ),
    "processes that start": (
        recorded(work("Augment", 3.2, 0.1, language="processes", processes=2, start_seconds=3.1),
                 start_seconds=3.2, starts=1),
        "starts", "processes-start", "starting the processes of Augment took 3.1 s, 43 % of the "
        "time before and in the loop; processes=0 where it computes little",
    ),
    "keeps up": (
        recorded(), "training", "",
        "not loader-bound, training is the limit: none of 400 steps waited",
    ),
    "too few steps": (
        recorded(**{**WAITING, "steps": 9}), "unknown", "",
        "9 steps are too few to judge; 10 are needed",
    ),
    "one step": (
        recorded(**{**WAITING, "steps": 1}), "unknown", "", "1 step is too few to judge; 10 are",
    ),
    "epochs of one batch": (
        recorded(steps=0, step_train_seconds=0.0, starts=400, start_seconds=0.08), "training", "",
        "not loader-bound, training is the limit: each of 400 epochs has one batch",
    ),
    "slow epochs of one batch": (
        recorded(steps=0, step_train_seconds=0.0, starts=400, start_seconds=2.0), "starts", "start",
        "each of 400 epochs has one batch; 400 first batches took 5 ms each, 50 % of the loop's",
    ),
    "microseconds": (
        recorded(**{**WAITING, "steps": 50, "waited_steps": 50, "step_wait_seconds": 0.0003,
                    "step_train_seconds": 0.00005, "start_seconds": 0.0001}), "unknown", "",
        "unknown: training waited 86 % of the time (in 100 % of 50 steps), 300 us in all, which is "
        "too short to judge",
    ),
    "a little": (
        recorded(**{**WAITING, "step_wait_seconds": 0.4, "step_train_seconds": 3.6}, processors=4),
        "loader", "op",
        "slightly loader-bound: training waited 10 % of the time (in 75 % of 400 steps)",
    ),
    "just under": (
        recorded(**{**WAITING, "step_wait_seconds": 0.19, "step_train_seconds": 3.81}),
        "training", "", "training waited 4.8 % of the time",
    ),
    "an op": (
        recorded(work("Decode", 14.0, 13.5, gives="images"), work("Cast", 2.8, 2.7),
                 **WAITING, processors=4),
        "loader", "op", "Decode takes 83 % of the loader's CPU, 4 of 4 threads busy",
    ),
    "PNG files": (
        of_files(recorded(work("ImageDecoder", 14.0, 13.5, gives="images"), **WAITING,
                          processors=4), ".png"),
        "loader", "format", "ImageDecoder takes 100 % of the loader's CPU, 4 of 4 threads busy: it "
        "decodes PNG; store photos as JPEG",
    ),
    "PNG files that hardly matter": (
        of_files(recorded(work("ImageDecoder", 14.0, 13.5, gives="images"),
                          **{**WAITING, "step_wait_seconds": 0.4, "step_train_seconds": 3.6},
                          processors=4), ".png"),
        "loader", "op", "slightly loader-bound",
    ),
    "JPEG files": (
        of_files(recorded(work("ImageDecoder", 14.0, 13.5, gives="images"), **WAITING,
                          processors=4), ".jpg"),
        "loader", "op", "let a crop take its images directly",
    ),
    "numbers as text": (
        of_files(recorded(work("Reader", 14.0, 13.5), **WAITING), ".part.csv"),
        "loader", "format", "it splits lines and reads numbers as text; store columns as Arrow",
    ),
    "an op after numbers as text": (
        of_files(recorded(work("Decode", 14.0, 13.5), **WAITING, processors=4), ".csv"),
        "loader", "op", "Decode takes 100 %",
    ),
    "finding records": (
        recorded(work("Reader", 14.0, 13.5, kind="records"), **WAITING, processors=4),
        "loader", "records", "find records of Reader takes 100 %",
    ),
    "small files": (
        recorded(work("Reader", 14.0, 13.5, kind="records"), **WAITING, processors=4,
                 files=300_000),
        "loader", "records", "put the records into few files (pyflowdata convert)",
    ),
    "files of a folder": (
        recorded(work("Reader", 14.0, 13.5), **WAITING, processors=4, read_bytes=12_832_000,
                 file_bytes=0),
        "loader", "op", "put the records into few files (pyflowdata convert)",
    ),
    "large files of a folder": (
        recorded(work("Reader", 14.0, 13.5), **WAITING, processors=4, read_bytes=12_832_000_000,
                 file_bytes=0),
        "loader", "op", "store smaller or simpler records (pyflowdata convert)",
    ),
    "joining": (
        recorded(work("", 14.0, 13.5, kind="join", reader=-1), **WAITING, processors=4),
        "loader", "join", "join ragged rows takes 100 %",
    ),
    "too few threads": (
        recorded(work("Decode", 16.0, 15.5), **WAITING), "loader", "threads",
        "4 of 4 threads busy; more threads would help (this machine allows 8; num_threads=8 ",
    ),
    "Python": (
        recorded(work("Augment", 15.5, 3.9, language="Python"), work("Decode", 0.5, 0.5),
                 **{**BLOCKED, "cpu_seconds": 4.2, "process_cpu_seconds": 4.4}),
        "loader", "python-op", "the Python op Augment takes 97 % of the threads' time",
    ),
    "NumPy without the lock": (
        recorded(work("Augment", 15.5, 15.0, language="Python"), **WAITING, processors=4),
        "loader", "op", "Augment takes 100 % of the loader's CPU",
    ),
    "NumPy row by row": (
        recorded(work("Augment", 15.5, 15.0, language="Python", is_by_row=True), **WAITING,
                 processors=4),
        "loader", "op", "have it called once for a batch with NumPy on all rows (batched=1000",
    ),
    "NumPy that computes on little more than one processor": (
        recorded(work("Augment", 7.2, 4.6, language="Python", is_by_row=True), **WAITING_FOR_TURN),
        "loader", "op", "have it called once for a batch",
    ),
    "a lock of the program": (
        replace(recorded(work("Fetch", 15.5, 0.3, language="Python"), **QUIET, num_threads=8),
                python_threads=8, lock_waiters=7),
        "loader", "own-lock", "88 % of its calls were waiting for a lock of the program, which "
        "one has at a time; give each thread an object of its own",
    ),
    "a thread that sleeps with the interpreter's lock": (
        recorded(work("Scale", 15.5, 0.9, language="Python", lock_seconds=14.0),
                 **{**QUIET, "process_cpu_seconds": 1.5, "machine_cpu_seconds": 1.5}),
        "loader", "lock", "Scale computes little, and waits 90 % of its time for the interpreter's "
        "lock, which other threads of this program hold",
    ),
    "an op that sleeps with the interpreter's lock": (
        recorded(work("Scale", 15.5, 0.9, language="Python", lock_seconds=7.5),
                 **{**QUIET, "process_cpu_seconds": 1.5, "machine_cpu_seconds": 1.5}),
        "loader", "python-op", "since one at a time holds the interpreter's lock",
    ),
    "a thread that holds the interpreter's lock": (
        recorded(work("Scale", 15.5, 0.3, language="Python", lock_seconds=14.0),
                 **{**QUIET, "process_cpu_seconds": 4.2}),
        "loader", "lock", "Scale computes little, and waits 90 % of its time for the interpreter's "
        "lock, which other threads of this program hold; have other Python threads",
    ),
    "large rows of processes": (
        recorded(work("Augment", 15.5, 0.3, language="processes", processes=2, rows=4000,
                      row_bytes=6_000_000, row_seconds=0.0005), **BLOCKED),
        "loader", "process-copies", "6 MB of each row of Augment are copied to its processes and "
        "back: they compute 25 % of the time, and threads wait for them 100 % of theirs; "
        "processes=0",
    ),
    "processes that sleep": (
        recorded(work("Fetch", 15.5, 0.3, language="processes", processes=2, rows=4000,
                      row_seconds=0.004, row_wait_seconds=0.0038), **BLOCKED),
        "loader", "processes", "these spend 95 % of a call waiting for something else than a "
        "processor; processes=0: a call that waits needs no processor; let more calls wait at once",
    ),
    "processes that compute": (
        recorded(work("Fetch", 15.5, 0.3, language="processes", processes=8, rows=4000,
                      row_seconds=0.004, row_wait_seconds=0.0008), **BLOCKED, processors=4),
        "loader", "processes", "100 % of their time; compile it with numba.njit",
    ),
    "sleeping Python in all threads that auto takes": (
        replace(recorded(work("Fetch", 15.5, 0.3, language="Python"),
                         **{**BLOCKED, "cpu_seconds": 0.4, "process_cpu_seconds": 0.6}),
                automatic=("num_threads",), tuning=(TUNED,), most_threads=4),
        "loader", "python-op", "let more calls wait at once: num_threads=16",
    ),
    "objects by number that sleep": (
        recorded(work("GeneratorReader", 15.0, 0.4, kind="records", language="Python",
                      takes_turns=True), **{**BLOCKED, "cpu_seconds": 0.5}),
        "loader", "python-source", "thread_safe=True, if several threads may call it at once, and "
        "num_threads=16",
    ),
    "records that are left out": (
        recorded(work("Decode", 15.5, 15.0), **WAITING, processors=4, skipped=12832),
        "loader", "skipped", "50 % of the records are left out after errors",
    ),
    "an index that is built": (
        replace(recorded(), readers=(ReaderFacts("Reader", "Reader_0", "", 12, 10**9, 10**6, 9.0,
                                                 True),)),
        "starts", "index", "building the index of Reader took 9 s, 69 % of the time before and in",
    ),
    "a cache that is filled": (
        replace(recorded(**WAITING), first_work=(FirstWork("index", "Reader", 1.0),
                                                 FirstWork("cache-fill", "cache() of x", 8.0))),
        "starts", "cache-fill", "bound by the starts of epochs: training waited 40 % of the time "
        "(in 75 % of 400 steps); filling cache() of x took 8 s of 9 s before the first batch, 69 % "
        "of the time before and in the loop; keep it for the next run: cache(\"disk\")",
    ),
    "a pass for a mask": (
        replace(recorded(), first_work=(FirstWork("pass", "where(is_good)", 6.0),)),
        "starts", "pass", "a pass over all records for where(is_good) took 6 s, 60 % of the time "
        "before and in the loop; make it once, before the job",
    ),
    "an index of a pass": (
        replace(recorded(), first_work=(FirstWork("index", "Reader", 6.0),
                                        FirstWork("pass", "where('x > 3')", 1.0))),
        "starts", "index", "building the index of Reader took 6 s of 7 s before the first batch",
    ),
    "a cache, and more waiting than that": (
        replace(recorded(work("Decode", 14.0, 13.5), **WAITING, processors=4, start_seconds=0.3),
                first_work=(FirstWork("cache-fill", "cache() of x", 1.8),)),
        "loader", "op", "Decode takes 100 %",
    ),
    "a mask in a long run": (
        replace(recorded(), first_work=(FirstWork("pass", "where(is_good)", 1.6),)),
        "training", "", "not loader-bound",
    ),
    "Python that waits": (
        recorded(work("Fetch", 15.5, 0.3, language="Python"),
                 **{**BLOCKED, "cpu_seconds": 0.4, "process_cpu_seconds": 0.6}),
        "loader", "python-op", "waits for something else than the interpreter",
    ),
    "Python on a busy machine": (
        recorded(work("Clean", 15.5, 0.6, language="Python"),
                 **{**BLOCKED, "cpu_seconds": 0.6, "runnable_seconds": 14.5,
                    "process_cpu_seconds": 0.8}, num_threads=2, processors=2),
        "loader", "processors", "threads waited 91 % of their time for a processor that other "
        "programs used (2 allowed, 0.2 used); Clean is the most expensive, 46.8 us a row",
    ),
    "Python in one thread on a busy machine": (
        recorded(work("Clean", 3.8, 0.2, language="Python"),
                 **{**BLOCKED, "thread_seconds": 4.0, "cpu_seconds": 0.2, "runnable_seconds": 3.5,
                    "process_cpu_seconds": 0.5}, num_threads=1, processors=2),
        "loader", "processors", "that other programs used",
    ),
    "Python that takes turns on a busy machine": (  # one holds the lock, and waits in line
        recorded(work("Clean", 15.5, 0.6, language="Python", lock_seconds=12.0),
                 **{**BLOCKED, "cpu_seconds": 0.6, "runnable_seconds": 3.2,
                    "process_cpu_seconds": 0.8}, processors=2),
        "loader", "processors", "that other programs used",
    ),
    "Python that takes turns on an idle machine": (
        recorded(work("Clean", 15.5, 3.0, language="Python", lock_seconds=9.3),
                 **{**QUIET, "process_cpu_seconds": 4.0}, processors=2),
        "loader", "python-op", "one at a time holds the interpreter's lock, for which calls wait "
        "60 % of the time; run it in processes",
    ),
    "Python that sleeps on a shared machine": (
        recorded(work("Fetch", 15.5, 0.3, language="Python"),
                 **{**QUIET, "cpu_seconds": 0.4, "process_cpu_seconds": 0.6,
                    "machine_cpu_seconds": 4.0, "pressure_seconds": 1.0}, processors=2),
        "loader", "python-op", "waits for something else than the interpreter",
    ),
    "wake-ups on an idle machine": (
        recorded(**{**WAITING, "cpu_seconds": 6.0, "runnable_seconds": 9.4,
                    "process_cpu_seconds": 7.0, "machine_cpu_seconds": 7.1}, processors=4),
        "loader", "op", "Decode takes",
    ),
    "other programs, as the machine counts them": (
        recorded(**{**WAITING, "cpu_seconds": 6.0, "runnable_seconds": 9.4,
                    "process_cpu_seconds": 7.0, "machine_cpu_seconds": 15.8,
                    "pressure_seconds": 3.5}, processors=4),
        "loader", "processors", "that other programs used (4 allowed, 1.7 used)",
    ),
    "worker processes are no other programs": (
        recorded(**{**WAITING, "cpu_seconds": 6.0, "runnable_seconds": 9.4,
                    "process_cpu_seconds": 7.0, "machine_cpu_seconds": 15.8,
                    "pressure_seconds": 3.5, "worker_cpu_seconds": 8.5}, processors=4),
        "loader", "op", "Decode takes 42 % of the loader's CPU",
    ),
    "worker processes, and other programs": (
        recorded(**{**WAITING, "cpu_seconds": 6.0, "runnable_seconds": 9.4,
                    "process_cpu_seconds": 7.0, "machine_cpu_seconds": 15.8,
                    "pressure_seconds": 3.5, "worker_cpu_seconds": 4.5}, processors=4),
        "loader", "processors", "that other programs used (4 allowed, 2.9 used)",
    ),
    "padding of batches": (
        recorded(work("PadBatch", 0.8, 0.8, is_whole=True, elements=10**6, padded=620_000)),
        "training", "padding", "training is the limit: none of 400 steps waited; but 62 % of the "
        "elements that PadBatch makes are padding, and training computes on them, too; make "
        "batches of similar lengths: batch_by_length(field=...)",
    ),
    "padding to one length": (
        recorded(work("Decode", 0.8, 0.8), work("Pad", 0.1, 0.1, elements=10**6, padded=620_000)),
        "training", "padding", "pad to the longest row of each batch by PadBatch, and make batches",
    ),
    "a little padding": (
        recorded(work("PadBatch", 0.8, 0.8, is_whole=True, elements=10**6, padded=290_000)),
        "training", "", "not loader-bound",
    ),
    "padding that takes the threads": (
        recorded(work("PadBatch", 14.0, 13.5, is_whole=True, elements=10**6, padded=620_000),
                 work("Decode", 1.0, 1.0), **WAITING, processors=4),
        "loader", "padding", "PadBatch takes 93 % of the loader's CPU, and 62 % of the elements",
    ),
    "padding beside a slow op": (
        recorded(work("PadBatch", 1.0, 1.0, is_whole=True, elements=10**6, padded=620_000),
                 work("Decode", 14.0, 13.5), **WAITING, processors=4),
        "loader", "op", "Decode takes 93 %",
    ),
    "batches of one record": (
        recorded(**in_next(hand_out=1.4, lock=0.2), records=400, batches=401),
        "loader", "small-batches", "loader-bound: training was in next() 40 % of the time of 400 "
        "steps; 35 %, 3.49 ms a step, went into handing batches out",
    ),
    "many fields": (
        replace(recorded(**in_next(hand_out=1.4, lock=0.2)), blobs=("x",) * 300),
        "loader", "fields", "went into making an array of each of 300 blobs; take fewer fields",
    ),
    "a lock that others hold": (
        recorded(**in_next(hand_out=0.1, lock=1.5), num_threads=64),
        "loader", "lock", "waiting for the interpreter's lock, which other threads hold; fewer "
        "threads: num_threads=8",
    ),
    "looks at files": (
        recorded(**in_next(hand_out=0.1, check=1.5), files=3000),
        "loader", "files", "looking whether the 3,000 files have changed; put the records into",
    ),
    "a little handing out": (
        recorded(step_next_seconds=0.3, hand_out_seconds=0.3), "training", "", "none of 400 steps",
    ),
    "Python beside training": (
        recorded(work("Augment", 4.0, 3.5, language="Python")),
        "training", "python-op", "Augment holds the interpreter's lock 87 % of the time",
    ),
    "a generator beside training": (
        recorded(work("Objects", 3.6, 3.5, kind="read", language="Python")),
        "training", "python-source", "read Objects holds the interpreter's lock 87 % of the time, "
        "and the training loop waits for it, too; keep its records with cache()",
    ),
    "processes": (
        recorded(work("Augment", 15.5, 0.3, language="processes"), **BLOCKED),
        "loader", "processes", "threads wait for the processes of Augment 100 % of their time",
    ),
    "a generator": (
        recorded(work("GeneratorReader", 3.9, 3.8, kind="read", language="Python"),
                 **{**IDLE, "idle_seconds": 12.0}),
        "loader", "python-source", "gives its records one after another, 3,195 a second",
    ),
    "objects by number": (
        recorded(work("GeneratorReader", 15.0, 3.8, kind="records", language="Python"), **BLOCKED),
        "loader", "python-source", "gives its records one at a time",
    ),
    "a stream": (
        recorded(work("Reader", 3.8, 3.7, kind="read"), work("Decode", 1.0, 1.0),
                 **{**IDLE, "idle_seconds": 11.0}),
        "loader", "stream", "read Reader is done by one thread, and it is in there 95 % of the ",
    ),
    "a stream that waits": (
        recorded(work("Reader", 3.9, 0.4, kind="read"), work("Decode", 1.0, 1.0),
                 **{**IDLE, "idle_seconds": 11.0, "cpu_seconds": 1.4, "read_bytes": 80_000_000}),
        "loader", "storage", "for the files, which come at 19.9 MB/s",
    ),
    "pages of mapped files": (
        recorded(work("Decode", 14.0, 2.0), work("Reader", 1.5, 0.1, kind="records"),
                 **BLOCKED, major_faults=4000),
        "loader", "storage", "4,000 pages were fetched",
    ),
    "an op that waits": (
        recorded(work("Fetch", 14.0, 2.0), **BLOCKED),
        "loader", "op", "Fetch waits 85 % of its time rather than computes",
    ),
    "a budget": (
        recorded(**IDLE, no_memory_seconds=3.0, memory_budget=11_000_000),
        "loader", "memory", "memory_budget=11 MB leaves no room for more batches of 1 MB",
    ),
    "a budget that cut prefetch": (
        recorded(**IDLE, prefetch=8, memory_budget=10_500_000),
        "loader", "memory", "memory_budget=10.5 MB leaves no room",
    ),
    "held batches": (
        recorded(**IDLE, no_memory_seconds=3.0, slots_held=9),
        "loader", "held", "the program holds 9 batches, and memory_budget=1 GB is used up 75 %",
    ),
    "prefetch": (
        recorded(**IDLE, prefetch=1), "loader", "prefetch",
        "1.5 of 4 threads busy: the loader makes at most 1 batch ahead",
    ),
    "whole batches": (
        recorded(work("Mix", 5.0, 4.9, is_whole=True), work("Decode", 0.9, 0.9), **IDLE),
        "loader", "whole-batch", "Mix works on whole batches, each in one thread",
    ),
    "a quota": (
        recorded(**WAITING, throttled_seconds=6.0, processors=4),
        "loader", "quota", "the container's quota of 4 processors was used up for 38 % of the time",
    ),
    "other programs": (
        recorded(**{**WAITING, "cpu_seconds": 6.0, "runnable_seconds": 9.4,
                    "process_cpu_seconds": 7.0}, processors=4),
        "loader", "processors", "that other programs used (4 allowed, 1.7 used)",
    ),
    "this program": (
        recorded(**{**WAITING, "cpu_seconds": 5.0, "runnable_seconds": 10.4, "help_seconds": 0.2,
                    "process_cpu_seconds": 15.5}, processors=4),
        "loader", "processors", "that other parts of this program use (4 allowed, 3.9 used)",
    ),
    "a copy": (
        recorded(hand_over=CopyCounts("cuda:0", 400, 400_000_000, 2.0)),
        "hand-over", "copy", "50 % of the time of 400 steps went into copying batches; 5 ms for "
        "each batch of 1 MB, 200 MB/s to cuda:0",
    ),
    "a copy, and a slower loader": (
        recorded(**WAITING, processors=4, hand_over=CopyCounts("cuda:0", 400, 400_000_000, 1.0)),
        "loader", "op", "loader-bound: training waited 40 %",
    ),
    "copies ahead of slow training": (
        recorded(ahead=CopyCounts("cuda:0", 400, 400_000_000, 2.0)),
        "training", "", "training is the limit: none of 400 steps waited",
    ),
    "copies ahead that are waited for": (
        recorded(**WAITING, processors=4, ahead=CopyCounts("cuda:0", 400, 400_000_000, 2.4)),
        "hand-over", "copy", "bound by the hand-over: training waited 40 % of the time (in 75 % of "
        "400 steps); a separate thread takes 6 ms for each batch of 1 MB, 167 MB/s to cuda:0",
    ),
    "copies ahead, and a slower loader": (
        recorded(**WAITING, processors=4, ahead=CopyCounts("cuda:0", 400, 400_000_000, 1.6)),
        "loader", "op", "loader-bound: training waited 40 %",
    ),
    "long steps": (
        recorded(trains={20: 380, 25: 20}), "training", "long-steps",
        "but 5.0 % of the steps take 63 % of the time of training, each over 8 times as long",
    ),
    "long steps of microseconds": (
        recorded(trains={10: 380, 15: 20}), "training", "", "none of 400 steps waited",
    ),
    "one long step": (recorded(trains={20: 399, 25: 1}), "training", "", "not loader-bound"),
    "steps of all lengths": (
        recorded(trains={20: 200, 22: 100, 24: 100}), "training", "", "not loader-bound",
    ),
    "one start": (
        recorded(start_seconds=6.0, starts=1), "starts", "start",
        "; the first batch took 6 s, 60 % of the loop's time",
    ),
    "starts of streams": (
        recorded(work("Reader", 3.0, 3.0, kind="read"), start_seconds=6.0, starts=3),
        "starts", "start", "take files with an index (pyflowdata convert)",
    ),
    "quick starts": (
        recorded(start_seconds=0.09, step_train_seconds=0.2, steps=20), "training", "",
        "not loader-bound",
    ),
    "starts": (
        recorded(start_seconds=6.0, starts=3), "starts", "start",
        "3 first batches took 2 s each, 60 % of the loop's time",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_cause_and_sentence(name):
    counters, limit, cause, said = CASES[name]
    verdict = judge(counters)
    assert (verdict.limit, verdict.cause) == (limit, cause), verdict.sentence
    assert said in verdict.sentence
    has_remedy = cause != ""
    assert bool(verdict.remedies) == has_remedy
    assert not has_remedy or verdict.sentence.endswith(verdict.remedies[0])
    assert json.loads(json.dumps(verdict.evidence)) == verdict.evidence


def test_an_interpreter_without_a_lock_holds_none():
    for name, cause in (
        ("Python in one thread", "threads"), ("Python", "op"), ("Python beside training", ""),
        ("a generator beside training", ""), ("a thread that holds the interpreter's lock", "op"),
    ):  # fmt: skip
        verdict = judge(replace(CASES[name][0], has_lock=False))
        assert verdict.cause == cause and "interpreter" not in verdict.sentence, verdict.sentence


def test_no_number_is_advised_where_the_loader_adjusts_it():
    for name in ("too few threads", "an op that waits", "pages of mapped files", "prefetch",
                 "whole batches", "Python that waits"):  # fmt: skip
        counters, *_, cause, _ = CASES[name]
        tuned = replace(counters, automatic=("num_threads", "prefetch"), tuning=(TUNED,))
        verdict = judge(tuned)
        assert verdict.cause == cause
        said = [one for one in verdict.remedies if "num_threads" in one or "prefetch" in one]
        assert len(said) == 1 and said[0].endswith("at work on it: a change is being tried"), said


def test_no_advice_is_for_what_an_op_does_not_do():
    """NumPy that lets go of the interpreter's lock gains nothing from processes, a lock of the
    program nothing from threads, and large results nothing from a compiler alone."""
    for name, wrong in (
        ("NumPy without the lock", "processes="), ("NumPy row by row", "processes="),
        ("NumPy that computes on little more than one processor", "processes="),
        ("a lock of the program", "num_threads="),
        ("the lock of an object in next()", "processes="),
        ("a generator beside training", "processes="),
        ("a thread that holds the interpreter's lock", "per="),
        ("the lock of others in next()", "processes="),
    ):
        assert not any(wrong in one for one in judge(CASES[name][0]).remedies), name
    first = judge(CASES["large rows of processes"][0]).remedies[0]
    assert first.startswith("processes=0") and "numba" not in first


@pytest.mark.parametrize("name", CASES)
def test_the_expected_gain_has_a_bound(name):
    counters, limit, _, _ = CASES[name]
    verdict, measures = judge(counters), Measures(counters)
    most, bound = verdict.evidence["most_gain"], 1 / max(1 - measures.next_share, 1e-3)
    assert most >= 1
    assert limit in ("hand-over", "starts") or most <= bound + 1e-9 or verdict.cause == "padding"
    assert (limit in ("loader", "hand-over", "starts") or verdict.cause == "padding") == (most > 1)
    text = str(flow.Report(counters))
    assert ("expected: at most x " in text) == (most > 1)


def test_few_long_waits_small_numbers_and_no_bound_are_told_as_such():
    few = {**WAITING, "waited_steps": 24, "step_wait_seconds": 3.4, "step_train_seconds": 0.6,
           "process_cpu_seconds": 0.1}  # fmt: skip
    slow = (SlowRange(0.4, 8, "/d/a.csv", 2, 10), SlowRange(0.3, 1, "/d/a.csv", 9, 10))
    said = str(flow.Report(recorded(work("Decode", 14.0, 13.5, slowest=slow), **few)))
    assert "waited 85 % of the time (in 6.0 % of 400 steps, 142 ms each); " in said
    assert "allowed, this process uses under 0.1" in said
    assert "record 2 of a.csv (or one of 7 other records timed with it), 300 ms record 9 " in said
    all_waits = {**WAITING, "step_wait_seconds": 4.0, "step_train_seconds": 0.0}
    said = str(flow.Report(recorded(work("Decode", 14.0, 13.5), **all_waits)))
    assert "expected: no bound is known, as next to no time is left without the cause; rep" in said


def test_work_before_the_first_batch_is_named_in_the_first_epoch_alone():
    counters, *_ = CASES["a cache that is filled"]
    report = flow.Report(counters)
    assert "\nfirst       Reader: 1 s, once for all epochs\n" in str(report)
    assert report.verdict.evidence["most_gain"] == pytest.approx((9 + 4.01) / 4.01, rel=0.01)
    later = replace(counters, stats={**counters.stats, "now_seconds": 200.0})
    assert flow.Report(later).since(report).counters.first_work == ()


def test_a_quicker_codec_is_advised_for_gzip_alone():
    read = recorded(work("Reader", 3.8, 3.7, kind="read"), **{**IDLE, "idle_seconds": 11.0})
    for suffix, is_told in ((".csv.gz", True), (".csv.zst", False), (".csv", False)):
        remedies = judge(of_files(read, suffix)).remedies
        assert any("zstd in place of gzip" in one for one in remedies) == is_told


def test_padding_bounds_what_buckets_give():
    for name, most in (("padding of batches", 1 / 0.38), ("padding that takes the threads", None)):
        counters, *_ = CASES[name]
        gain = judge(counters).evidence["most_gain"]
        part = 0.62 * judge(counters).evidence.get("share", 1)
        assert gain == pytest.approx(most or 1 / (1 - 0.4 * part))
        assert f"expected: at most x {gain:.2f}" in str(flow.Report(counters))
        assert "\npadding     62 % of the 1,000,000 elements that PadBatch made" in str(
            flow.Report(counters)
        )


def test_no_more_processes_than_processors():
    for number, advised in ((2, True), (4, False)):
        counters = recorded(work("Augment", 15.5, 0.3, language="processes", processes=number),
                            **{**BLOCKED, "processors": 4})  # fmt: skip
        remedies = judge(counters).remedies
        assert any("processes=4" in one for one in remedies) == advised
        assert advised or remedies[0].startswith("compile it with numba")


def test_one_long_wait_is_no_lack_of_prefetch():
    """A wait of 6 s; 300 others of 1 us each, of the steps of 400."""
    waits = [0] * 48
    waits[10], waits[32] = 300, 1
    counters = recorded(**{**IDLE, "waited_steps": 301, "step_wait_seconds": 6.0005})
    counters = replace(counters, history=replace(counters.history, waits=tuple(waits)))
    verdict = judge(counters)
    assert (verdict.limit, verdict.cause) == ("loader", "stall")
    assert "one wait of 6 s is 100 % of the waiting; without it under 0.1 %" in verdict.sentence
    assert "prefetch" not in verdict.sentence
    assert verdict.sentence.endswith("PYFLOWDATA_STALL_SECONDS=3")
    stalled = replace(counters, last_stall="next() has waited 5 s for step 100")
    report = flow.Report(stalled)
    assert report.remedies == ("see below what it waited for, under stalls",)
    assert "stalls      next() has waited 5 s for step 100" in str(report).split("\n")
    waits[32] = 2  # two of them are no accident
    counters = replace(counters, history=replace(counters.history, waits=tuple(waits)))
    assert judge(counters).cause == "prefetch"


def test_the_first_batch_stands_apart():
    counters = recorded(**WAITING, processors=4, start_seconds=1.9)
    assert "(first batch after 1.9 s, not counted)" in judge(counters).sentence


def test_steps_of_a_queue_stand_in_for_those_of_the_loader():
    """What next() waited for in the thread that fills a queue is not what the loop waits for."""
    times = StepTimes(batches=1)
    times.add_start(0.05)
    for _ in range(20):
        times.add(2.0**-20, 0.02, has_waited=False)
    times.add(0.003, 0.02, has_waited=True)
    counters = times.put_into(recorded(**WAITING))
    stats = counters.stats
    assert (stats["starts"], stats["start_seconds"]) == (1, 0.05)
    assert (stats["steps"], stats["waited_steps"]) == (21, 1)
    assert stats["step_wait_seconds"] == pytest.approx(20 * 2.0**-20 + 0.003)
    assert stats["step_train_seconds"] == pytest.approx(0.42)
    assert counters.history.waits[21] == sum(counters.history.waits) == 1  # from 2.1 ms on
    assert counters.history.trains[24] == sum(counters.history.trains) == 21  # from 16.8 ms on
    assert len(counters.history.trains) == len(recorded().history.trains)
    assert stats["idle_seconds"] == WAITING["idle_seconds"] and judge(counters).limit == "training"


def test_a_step_with_a_stack_counts_as_its_batches():
    times = StepTimes(batches=10)
    times.add(0.4, 0.6, has_waited=True)
    times.add(0.0, 0.6, has_waited=False)
    times.add(1e-9, 1e9, has_waited=True)
    counters = times.put_into(recorded())
    assert (counters.stats["steps"], counters.stats["waited_steps"]) == (30, 20)
    assert Measures(counters).wait_seconds == pytest.approx(0.4)
    waits, trains = counters.history.waits, counters.history.trains
    assert (waits[25], waits[0], trains[25], trains[47]) == (10, 10, 20, 10)  # 33.6 ms and more


@pytest.mark.parametrize("batches", [1, 10])
def test_steps_count_the_same_one_by_one_and_together(batches):
    waits = np.array([0.0, 1e-9, 2.0**-20, 0.00019, 0.0002, 0.4, 1e9, 3e-7])
    trains = waits[::-1].copy()
    single, many = StepTimes(batches), StepTimes(batches)
    for wait, train in zip(waits.tolist(), trains.tolist(), strict=True):
        single.add(wait, train, wait >= 0.0002)
    many.add_many(waits[:3], trains[:3], waits[:3] >= 0.0002)
    many.add_many(waits[3:], trains[3:], waits[3:] >= 0.0002)
    assert many.stats() == pytest.approx(single.stats())
    one, other = (each.put_into(recorded()).history for each in (single, many))
    assert (one.waits, one.trains) == (other.waits, other.trains)
    assert sum(other.trains) == 8 * batches and sum(other.waits) == 3 * batches


def test_copies_ahead_are_said_and_counted_since():
    first = flow.Report(recorded(ahead=CopyCounts("cuda:0", 100, 1000, 1.0)))
    last = flow.Report(recorded(ahead=CopyCounts("cuda:0", 150, 1500, 4.0), now_seconds=112.0))
    assert last.since(first).counters.ahead == CopyCounts("cuda:0", 50, 500, 3.0)
    assert last.since(flow.Report(recorded())).counters.ahead == last.counters.ahead
    said = "\ncopied ahead  100 batches to cuda:0, 1 KB in 1 s, 1 KB/s, in a separate thread"
    assert said in str(first)


def test_more_threads_are_predicted_by_arithmetic():
    """One thread and the program's own do steps of w = 6 ms of work and t = 2 ms of training: a
    step takes (w + t) / 2 = 4 ms; with two threads it would take (w + t) / 3."""
    m = Measures(recorded(
        num_threads=1, processors=8, thread_seconds=4.0, idle_seconds=0.0, steps=1000,
        batches_made=1000, step_wait_seconds=2.0, step_train_seconds=2.0, help_seconds=2.0,
        process_cpu_seconds=6.0,
    ))  # fmt: skip
    assert m.busy_seconds == 4.0
    assert m.steps_gain(2) == pytest.approx(4 / (8 / 3) - 1)
    assert m.steps_gain(100) == pytest.approx(1.0)  # then training is the limit
    m = Measures(recorded(
        num_threads=1, processors=2, thread_seconds=4.0, idle_seconds=0.0, steps=1000,
        batches_made=1000, step_wait_seconds=2.0, step_train_seconds=2.0, help_seconds=2.0,
        process_cpu_seconds=7.0,
    ))  # fmt: skip
    assert m.steps_gain(100) == pytest.approx(4 / 3.5 - 1)  # both processors are then busy


def test_quantiles_of_waits():
    """300 of 400 steps waited for 2^21 to 2^22 ns, the others did not."""
    m = Measures(recorded(**WAITING))
    assert m.wait_quantile(0.2) == 0
    assert m.wait_quantile(0.5) == m.wait_quantile(0.95) == 2**22 / 1e9
    assert Measures(recorded()).wait_quantile(0.95) == 0


def test_rates_do_not_depend_on_the_length_of_epochs():
    """400 batches of 32 rows, 10 ms of training each: in epochs of 1, 2, 10 and 400 batches."""
    for length in (1, 2, 10, 400):
        starts = 400 // length
        steps = 400 - starts
        m = Measures(recorded(
            steps=steps, starts=starts, start_seconds=0.0, step_train_seconds=steps * 0.01,
        ))  # fmt: skip
        assert m.loop_seconds == pytest.approx(4.0)


def test_text_without_waits_and_steps():
    lines = str(flow.Report(recorded(**{**WAITING, "waited_steps": 8}))).split("\n")
    assert any("of all, median 0, 95th percentile 0" in line for line in lines)
    lines = str(flow.Report(recorded(steps=0, step_train_seconds=0.0, starts=0))).split("\n")
    assert {"steps       none", "starts      none"} <= set(lines)


def test_text_and_tables():
    counters, *_ = CASES["an op"]
    report = flow.Report(counters)
    lines = str(report).split("\n")
    assert lines[0] == report.verdict.sentence
    assert report.table[0] == {
        "work": "Decode", "rows": "12,800", "CPU": "13.5 s", "rows/s a core": "951",
        "of CPU": "83 %", "waits": "3.2 %", "threads in it": "3.49",
    }  # fmt: skip
    assert any(line.startswith("Decode ") and "13.5 s" in line for line in lines)
    subjects = [line.split()[0] for line in lines[lines.index("", lines.index("") + 1) + 1 :]]
    assert subjects == ["steps", "next()", "starts", "threads", "processors", "memory", "records"]
    assert report._repr_html_().startswith("<b>loader-bound")
    assert repr(report).startswith('Report("loader-bound')


def test_numbers_go_round():
    """Through JSON, files and pickles."""
    for counters, limit, cause, _ in CASES.values():
        report = flow.Report(counters)
        again = flow.Report.from_dict(json.loads(report.to_json()))
        assert again == report == pickle.loads(pickle.dumps(report))
        assert (again.limit, again.cause) == (limit, cause) and str(again) == str(report)
    for wrong in ({}, {"version": 99}, {"version": 1}, {"version": 1, "counters": {}}, [1]):
        with pytest.raises(flow.InvalidArgumentError, match="report"):
            flow.Report.from_dict(wrong)


def test_wrong_numbers_are_refused_at_once():
    good = {**flow.Report(CASES["an op"][0]).to_dict(), "version": 1}
    del good["sum"]  # which version 1 did not have
    assert flow.Report.from_dict(good) == flow.Report(CASES["an op"][0])
    for wrong in (
        {**good, "counters": {**good["counters"], "stats": {}}},
        {**good, "counters": {**good["counters"], "stats": 5}},
        {**good, "counters": {**good["counters"], "history": {"waits": 3}}},
        {**good, "data": {"readers": 5, "order": {}}},
        {**good, "data": {"readers": [5], "order": {}}},
        {**good, "data": 5},
        {**good, "counters": {**good["counters"], "blobs": [5]}},
        {**good, "counters": {**good["counters"], "host": 5}},
        {**good, "counters": {**good["counters"], "memory_budget": []}},
        {**good, "counters": {**good["counters"], "stats": {**good["counters"]["stats"],
                                                            "batches": []}}},
    ):
        with pytest.raises(flow.InvalidArgumentError, match="not the numbers of a report"):
            flow.Report.from_dict(wrong)
    for wrong in (None, "x", [5], 5):
        with pytest.raises(flow.InvalidArgumentError, match="must be a list of Reports"):
            flow.RankReport(wrong)


def test_save_and_load(tmp_path):
    report = flow.Report(CASES["an op"][0])
    for wrong in (None, 5):
        with pytest.raises(flow.InvalidArgumentError, match="must be a path"):
            report.save(wrong)
        with pytest.raises(flow.InvalidArgumentError, match="must be a path"):
            flow.Report.load(wrong)
    with pytest.raises(flow.InvalidArgumentError, match="give the .json file"):
        flow.Report.load("slow.html")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(flow.InvalidArgumentError, match="is not what Report.save"):
        flow.Report.load(tmp_path / "deep.json")
    report.save(tmp_path / "r.json")
    assert flow.Report.load(tmp_path / "r.json") == report
    report.save(tmp_path / "r.txt")
    assert (tmp_path / "r.txt").read_text() == f"{report}\n"
    with pytest.raises(flow.InvalidArgumentError, match=r"saved as \.html, \.json or \.txt"):
        report.save(tmp_path / "r.pdf")
    (tmp_path / "no.json").write_text("no")
    with pytest.raises(flow.InvalidArgumentError, match="is not what Report.save"):
        flow.Report.load(tmp_path / "no.json")


def test_a_flipped_bit_changes_no_number(tmp_path):
    report, file = flow.Report(CASES["an op"][0]), tmp_path / "r.json"
    report.save(file)
    whole, chance, refused = file.read_bytes(), random.Random(3), 0
    for _ in range(200):
        at = chance.randrange(len(whole))
        damaged = whole[at] ^ 1 << chance.randrange(8)
        file.write_bytes(whole[:at] + bytes([damaged]) + whole[at + 1 :])
        try:
            assert flow.Report.load(file) == report
        except flow.InvalidArgumentError as failure:
            assert "is not what Report.save() writes" in str(failure)
            refused += 1
    assert refused > 180  # the others are of a blank or such


def test_since():
    """Counters are differences, levels are those of the end; the base is what was counted last."""
    first = flow.Report(recorded())
    more = {
        name: value * 3 if name in ("steps", "step_train_seconds", "batches", "records") else value
        for name, value in STATS.items()
    }
    last = flow.Report(recorded(work("Decode", 9.2, 9.1), work("Reader", 2.8, 1.8, kind="records"),
                                **{**more, "now_seconds": 112.0, "slots_held": 3}))  # fmt: skip
    later = last.since(first)
    stats = later.counters.stats
    assert stats["steps"] == 800 and stats["step_train_seconds"] == 8
    assert stats["slots_held"] == 3 and stats["processors"] == 8
    assert stats["opened_seconds"] == 104 and stats["now_seconds"] == 112
    assert [one.wall_seconds for one in later.counters.work] == pytest.approx([6.0, 2.0])
    assert flow.Report(last.counters).since(later).counters.stats["steps"] == 0
    with pytest.raises(flow.InvalidArgumentError, match="earlier Report of the same loader"):
        first.since(last)
    with pytest.raises(flow.InvalidArgumentError, match="must be an earlier Report"):
        first.since(None)


def test_outliers_are_told_beside_others_alone():
    """Nothing is many times an average of nothing: before the first batch, in an idle window."""
    slow = SlowRange(0.5, 4, "/data/a.tfrecord", 7, 10**6)
    report = flow.Report(recorded(
        work("Decode", 3.2, 3.1, slowest=(slow,)),
        work("Reader", 0.8, 0.8, kind="records", largest=slow),
    ))  # fmt: skip
    assert str(report).count("record 7 of a.tfrecord") == 2
    assert "record 7" not in str(report.since(report))
    found = work("Reader", 0.8, 0.8, kind="records", largest=slow)
    no_batch = recorded(found, batches=0, records=0, bytes=0)
    assert "record 7" not in str(flow.Report(no_batch))


def test_ranks():
    slow = recorded(work("Decode", 14.0, 13.5), rank=3, world_size=4, processors=4, **WAITING)
    fast = [flow.Report(recorded(rank=i, world_size=4)) for i in range(3)]
    both = flow.RankReport([flow.Report(slow), *fast])
    assert [one.counters.rank for one in both.reports] == [0, 1, 2, 3]
    assert (both.limit, both.cause) == ("rank", "op")
    assert both.verdict.sentence.startswith(
        "rank 3 is slow: its loader waits in 75 % of 400 steps, the others in 0 %; Decode takes"
    )
    assert both.verdict.evidence["slowest_rank"] == 3
    lines = str(both).split("\n")
    assert [line.split()[0] for line in lines[-4:]] == ["0", "1", "2", "3"]
    assert lines[-1].endswith("op") and lines[-2].endswith("training")
    alike = flow.RankReport(fast)
    assert alike.limit == "training"
    assert alike.verdict.sentence.startswith("3 ranks, all alike; rank 0 is not loader-bound")
    assert len(both.to_dict()["ranks"]) == 4 and pickle.loads(pickle.dumps(both)).cause == "op"
    for wrong in ([], [fast[0], fast[0]], [fast[0], flow.Report(recorded(rank=1, world_size=2))]):
        with pytest.raises(flow.InvalidArgumentError, match="one for each rank"):
            flow.RankReport(wrong)
