"""Functions that worker processes call: they import them from here."""

import os
import signal
import time

import numpy as np

import pyflowdata as flow


def everything(x, text, *, rng, ids, scale: float = 1.0):
    """Takes all that a function can have, and gives rows of each kind."""
    n = int(x[0])
    tokens = np.arange(n % 4) * scale
    grid = np.full((n % 3, 2, n % 2 + 1), n, np.int32)
    return x * scale, rng.random(3), ids, len(text), tokens, grid


def everything_of_a_batch(x, text, *, rng, ids):
    lengths = [len(row) for row in text]
    return x + rng.random(), ids, np.array(lengths), [np.arange(n) for n in lengths]


class Awkward(Exception):
    """An exception that cannot be pickled."""

    def __reduce__(self):
        raise TypeError("no")


class Fatal(BaseException):
    pass


@flow.register_decoder(
    outputs={"out": "float64"}, per="row", processes=2, name="FaultyInProcesses"
)
def faulty(x, *, fault: str = "", at: int = -1):
    """Fails in some way at a record."""
    if int(x[0]) == at:
        return fail(fault)
    return x[0]


def fail(fault):
    match fault:
        case "ValueError":
            raise ValueError("of a record")
        case "CorruptDataError":
            raise flow.CorruptDataError("is no good")
        case "Awkward":
            raise Awkward("of a record")
        case "Fatal":
            raise Fatal("of a record")
        case "wait":
            time.sleep(60)
        case "wrong dtype":
            return "text"
        case "exit":
            os._exit(3)
        case _:
            os.kill(os.getpid(), getattr(signal, fault))
            time.sleep(60)  # the signal may take a moment
    return 0.0


def computes(x):
    end = time.perf_counter() + 0.002
    while time.perf_counter() < end:
        pass
    return x


def sleeps(x):
    time.sleep(0.004)
    return x


def pid_of(x):
    time.sleep(0.001)
    return os.getpid()


# ---- For data sets -------------------------------------------------------------------------------


def double(x):
    return x * 2


def noise(x, *, rng, scale=1.0):
    return rng.random() * scale


def lengths(text, x, factor=1):
    return {"length": len(text) * factor, "sum": float(x.sum())}


def lengths_and_pid(text, x):
    return len(text), os.getpid()


def thirds(tokens):
    """Three parts of equal length."""
    size = len(tokens) // 3
    return [tokens[i * size : (i + 1) * size] for i in range(3)]


def corners(image):
    return np.stack([image[:1, :1], image[-1:, -1:]]), [0, 1]


def deadly(x):
    """Ends its process at two records."""
    if x == 5:
        os.kill(os.getpid(), signal.SIGSEGV)
    if x == 17:
        os._exit(3)
    return x


def killed(x):
    if x == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def of_columns(r):
    """A function of several records: columns of each kind."""
    return {
        **r,
        "n": [len(one) for one in r["text"]],
        "back": [one[::-1] for one in r["text"]],
        "rest": r["tokens"],
        "sum": r["x"].sum(axis=1),
    }


def words_of_record(r):
    for place, word in enumerate(r["text"].split()):
        yield {"word": word, "place": place}


def noted_parts(r, *, log):
    """Two parts; the process is noted in a file."""
    with open(log, "a") as file:
        file.write(f"{os.getpid()}\n")
    return [{"y": int(r["n"])}] * 2


def noted(r, *, log):
    return noted_parts(r, log=log)[0]


def fails_late(r):
    if r["y"] > 5:
        raise ValueError("boom")
    return {"z": float(r["y"])}


def fails_late_in_columns(r):
    if max(r["y"]) > 5:
        raise ValueError("boom")
    return {"z": r["y"] * 0.5}


def other_late(r):
    return {"z": float(r["y"])} if r["y"] < 6 else {"a": 1.0}


def none_late(r):
    return {"z": float(r["y"]) if r["y"] < 6 else None}


def indexes_late(r):
    return {
        **r,
        "z": [0.5][int(r["y"]) // 6],
    }


def misnamed(r):
    return {"z": r["tekst"]}


def shorter(r):
    return {"z": r["y"][1:] * 1.0}


def with_noise(r, *, rng):
    return {**r, "noise": rng.random(), "words": r["text"] + b"!"}


def fails_at_six(y):
    if y > 5:
        raise ValueError("boom")
    return float(y)
