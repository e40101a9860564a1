"""GeneratorReader: what a source raises, and how it comes out."""

from __future__ import annotations

import threading
import traceback
from dataclasses import dataclass

import pytest

import pyflowdata as flow
from formats.objects.generator_sources import numbers


class Items:
    """An indexed source of 40 numbers, one of which is a call."""

    def __init__(self, call, at=21):
        self.call, self.at = call, at

    def __len__(self):
        return 40

    def __getitem__(self, index):
        return self.call() if index == self.at else index


def sources(call, at=21):
    def stream():
        for index in range(40):
            yield call() if index == at else index

    return Items(call, at), stream


def raising(failure):
    def call():
        raise failure

    return call


# ---- Exceptions that end a program --------------------------------------------------------------


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("num_threads", [1, 3])
@pytest.mark.parametrize("batch_size", [1, 8, 64])
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_what_ends_a_program_comes_out_as_it_is(kind, num_threads, batch_size, on_error):
    for source in sources(raising(kind(3))):
        blob = flow.GeneratorReader(source, fields="x:int64", batch_size=batch_size,
                                    on_error=on_error)  # fmt: skip
        with flow.DataLoader(blob, num_threads=num_threads) as loader:
            for _ in range(2):
                with pytest.raises(kind) as caught:
                    list(loader)
                assert caught.value.args == (3,)


def test_it_can_go_on_after_an_interrupt():
    """In the epoch whose batch makes the first call: a thread may make the next one's before."""
    first = threading.Lock()  # taken by one call, of several at the same time

    def call():
        if first.acquire(blocking=False):
            raise KeyboardInterrupt
        return 21

    for source in sources(call):
        if first.locked():
            first.release()
        blob = flow.GeneratorReader(source, fields="x:int64", batch_size=8)
        with flow.DataLoader(blob, prefetch=12) as loader:
            found, batches = [], loader.repeat()
            with pytest.raises(KeyboardInterrupt):
                for _ in range(20):
                    found += next(batches).tolist()
            while len(found) < 4 * 40:
                found += next(batches).tolist()
        assert found == [*range(40)] * 4


# ---- Exceptions of any make ---------------------------------------------------------------------


@dataclass(frozen=True)
class Frozen(Exception):
    why: str = "frozen"


class NoAttributes(Exception):
    def __setattr__(self, name, value):
        raise RuntimeError("no attributes")


class NoText(Exception):
    def __str__(self):
        raise RuntimeError("no text")


class NoTruth(Exception):
    def __bool__(self):
        raise RuntimeError("no truth")


class HalfMade(flow.FileError):
    def __init__(self):
        pass


class FrozenInterrupt(KeyboardInterrupt):
    def __setattr__(self, name, value):
        raise RuntimeError("no attributes")


ODD = [Frozen(), NoAttributes("hm"), NoText(), NoTruth("hm")]


@pytest.mark.parametrize("failure", ODD, ids=lambda failure: type(failure).__name__)
@pytest.mark.parametrize("batch_size", [1, 8, 64])
def test_exceptions_that_refuse(failure, batch_size):
    for source, says in zip(sources(raising(failure)), (r"Items\[21\]", "at sample 21,"),
                            strict=True):  # fmt: skip
        blob = flow.GeneratorReader(source, fields="x:int64", batch_size=batch_size)
        with flow.DataLoader(blob) as loader:
            says = f"{says} raised {type(failure).__name__}"
            with pytest.raises(flow.UserFunctionError, match=says) as caught:
                list(loader)
        assert caught.value.__cause__ is failure


def test_errors_of_this_package_that_were_not_made():
    failure = HalfMade()
    for source in sources(raising(failure)):
        with flow.DataLoader(flow.GeneratorReader(source, fields="x:int64")) as loader:
            with pytest.raises(flow.FileError, match="<HalfMade without a str") as caught:
                list(loader)
        assert caught.value.__cause__ is failure


def test_damaged_because_of_something_odd():
    def call():
        try:
            raise NoTruth("behind")
        except NoTruth as behind:
            raise flow.CorruptDataError("broken") from behind

    blob = flow.GeneratorReader(Items(call), fields="x:int64", on_error="skip")
    with flow.DataLoader(blob) as loader:
        assert len([x for batch in loader for x in batch]) == 39


def test_an_interrupt_that_refuses_attributes():
    for source in sources(raising(FrozenInterrupt())):
        with flow.DataLoader(flow.GeneratorReader(source, fields="x:int64")) as loader:
            with pytest.raises(FrozenInterrupt):
                list(loader)


# ---- What a source raises -----------------------------------------------------------------------


def failing():
    yield from range(11)
    deep(11)


def deep(number):
    raise KeyError(f"missing {number}")


class FailingItems:
    def __len__(self):
        return 100

    def __getitem__(self, index):
        return deep(index) if index == 11 else index


@pytest.mark.parametrize("source, says", [
    (failing, r"failing\(\), at sample 11, raised KeyError: 'missing 11'"),
    (FailingItems(), r"FailingItems\[11\] raised KeyError: 'missing 11'"),
], ids=["stream", "indexed"])  # fmt: skip
@pytest.mark.parametrize("on_error", ["raise", "skip", "pad"])
def test_what_a_source_raises_comes_with_its_traceback(source, says, on_error):
    blob = flow.GeneratorReader(source, fields="x:int64", batch_size=4, on_error=on_error)
    with flow.DataLoader(blob) as loader:
        batches = iter(loader)
        assert [next(batches).tolist() for _ in range(2)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
        with pytest.raises(flow.UserFunctionError, match=says) as caught:
            next(batches)
    cause = caught.value.__cause__
    assert type(cause) is KeyError
    frames = [frame.name for frame in traceback.extract_tb(cause.__traceback__)]
    assert frames[-1] == "deep" and frames[0] in ("failing", "__getitem__"), frames


def test_a_failure_is_met_again_and_can_be_passed_over():
    blob = flow.GeneratorReader(FailingItems(), fields="x:int64", batch_size=10)
    with flow.DataLoader(blob) as loader:
        batches = iter(loader)
        next(batches)
        for _ in range(2):
            with pytest.raises(flow.UserFunctionError, match="missing 11"):
                next(batches)
        loader.seek(2)
        assert [batch[0] for batch in loader] == [20, 30, 40, 50, 60, 70, 80, 90]


def test_a_failure_that_passes_is_read_again():
    calls = []

    def once():
        calls.append(len(calls))
        for i in range(10):
            if i == 5 and len(calls) == 1:
                raise OSError("try again")
            yield i

    with flow.DataLoader(flow.GeneratorReader(once, fields="x:int64", batch_size=4)) as loader:
        batches = iter(loader)
        assert next(batches).tolist() == [0, 1, 2, 3]
        with pytest.raises(flow.UserFunctionError, match="OSError: try again"):
            next(batches)
        assert [x for batch in batches for x in batch] == [4, 5, 6, 7, 8, 9]
        assert [x for batch in loader for x in batch] == list(range(10))


def test_errors_of_this_package_keep_their_kind_and_traceback():
    class Missing:
        def __len__(self):
            return 3

        def __getitem__(self, index):
            raise flow.FileError("the shard is away")

    for on_error in ("raise", "skip"):
        with pytest.raises(flow.FileError, match="the shard is away") as caught:
            numbers(Missing(), on_error=on_error)
        assert "__getitem__" in str(traceback.extract_tb(caught.value.__cause__.__traceback__))


def test_a_factory_that_raises():
    def factory():
        raise OSError("no such place")

    with pytest.raises(flow.UserFunctionError, match="raised OSError: no such place") as caught:
        numbers(factory)
    assert type(caught.value.__cause__) is OSError
    with pytest.raises(flow.UserFunctionError, match="TypeError: 'int' object is not iterable"):
        numbers(lambda: 3)


def test_a_generator_that_calls_itself_damaged_is_over():
    def broken():
        yield 1
        raise flow.CorruptDataError("hm")

    with pytest.raises(flow.UserFunctionError, match="ends a generator"):
        numbers(broken, on_error="skip")


def test_an_iterable_that_can_be_gone_through_once():
    for once in ((i for i in range(3)), iter([1]), map(abs, [1])):
        with pytest.raises(flow.InvalidArgumentError, match="only once; give the function"):
            flow.GeneratorReader(once, fields="x:int64")
    shared = iter(range(5))
    with pytest.raises(flow.UserFunctionError, match="yields nothing, and did in a former epoch"):
        numbers(lambda: shared, 2)
