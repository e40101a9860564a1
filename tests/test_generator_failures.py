"""GeneratorReader: what a source raises, and how it comes out."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import pytest

import pyflowdata as flow


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
    calls = []

    def call():
        calls.append(threading.get_ident())
        if len(calls) == 1:
            raise KeyboardInterrupt
        return 21

    for source in sources(call):
        calls.clear()
        blob = flow.GeneratorReader(source, fields="x:int64", batch_size=8)
        with flow.DataLoader(blob) as loader:
            found, batches = [], iter(loader)
            with pytest.raises(KeyboardInterrupt):
                for batch in batches:
                    found += batch.tolist()
            for batch in batches:
                found += batch.tolist()
        assert found == list(range(40))


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
            with pytest.raises(flow.InternalError, match=f"{says} raised {type(failure).__name__}") \
                    as caught:  # fmt: skip
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
