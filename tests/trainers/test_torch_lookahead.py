"""A batch taken ahead: interrupts and failures cost no batch, wherever they come."""

import contextlib

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")

import pyflowdata as flow
from pyflowdata.integrations.torch import TorchLoader
from pyflowdata.integrations.torch.data_loader.loader import DataLoader
from pyflowdata.integrations.torch.lookahead import Lookahead

from support.late_copies import FakeStream, LateCopies, fake_cuda
from support.trainer_truth import numbered_blob, steps_of


class Numbers:
    """Gives 0 to 5, with failures and interrupts at some calls of take()."""

    def __init__(self, raises):
        self.at, self.calls, self.raises = 0, 0, raises

    def take(self):
        failure = self.raises.get(self.calls)
        self.calls += 1
        if self.at == 6:
            raise StopIteration
        self.at += 1
        if failure is not None:
            raise failure
        return self.at - 1

    def go_back(self, place):
        self.at = place


def collect(lookahead):
    found = []
    while True:
        try:
            found.append((next(lookahead), lookahead.place, lookahead.at_end))
        except StopIteration:
            return found
        except ValueError:
            found.append("failed")
        except KeyboardInterrupt:
            pass


@pytest.mark.parametrize("call", range(7))
def test_an_interrupt_is_taken_again(call):
    numbers = Numbers({call: KeyboardInterrupt()})
    lookahead = Lookahead(numbers.take, lambda: numbers.at, numbers.go_back, (ValueError,))
    assert collect(lookahead) == [(one, one + 1, one == 5) for one in range(6)]
    assert collect(lookahead) == [], "it stays at its end"


@pytest.mark.parametrize("call", range(6))
def test_a_failure_comes_in_its_place(call):
    numbers = Numbers({call: ValueError()})
    lookahead = Lookahead(numbers.take, lambda: numbers.at, numbers.go_back, (ValueError,))
    expected = [(one, one + 1, one == 5) for one in range(6)]
    expected[call] = "failed"
    assert collect(lookahead) == expected


class Interrupted(torch.utils.data.IterableDataset):
    def __init__(self, at=None):
        self.at = at

    def __iter__(self):
        for number in range(11):
            if number == self.at:
                self.at = None
                raise KeyboardInterrupt
            yield number


@pytest.mark.parametrize("at", range(11))
def test_an_interrupted_stream_under_accelerate_loses_no_batch(at):
    pytest.importorskip("accelerate").Accelerator(cpu=True)
    batches = iter(DataLoader(Interrupted(at), 2))
    found = []
    for _ in range(2):
        with contextlib.suppress(KeyboardInterrupt):
            for batch in batches:
                found.append(batch.tolist())
    assert found == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10]]


@pytest.mark.parametrize("stop", range(7))
def test_an_interrupt_of_repeat_loses_no_batch(monkeypatch, stop):
    def open_loader():
        return TorchLoader(flow.DataLoader(numbered_blob(11, 4)))

    whole = steps_of(open_loader(), 3)
    fake_cuda(monkeypatch, FakeStream(), [])
    with open_loader() as loader:
        loader._hand_over.copies = LateCopies(loader.device)
        batches = loader.repeat()
        found = [next(batches).tolist() for _ in range(stop)]

        def interrupted(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(loader._hand_over.copies, "_start_copy", interrupted)
            with pytest.raises(KeyboardInterrupt):
                next(batches)
        found += [next(batches).tolist() for _ in range(9 - stop)]
    assert found == whole


def test_a_share_is_not_over_with_its_last_batch(monkeypatch):
    """Other loaders have steps of the epoch left, so that a resumed one has none, not epoch 1."""

    def open_loader():
        return TorchLoader(flow.DataLoader(numbered_blob(5, 1, shuffle=False), share=(0, 2)))

    fake_cuda(monkeypatch, FakeStream(), [])
    with open_loader() as loader, open_loader() as resumed:
        loader._hand_over.copies = LateCopies(loader.device)
        batches = iter(loader)
        assert [next(batches).item() for _ in range(3)] == [0, 2, 4]
        state = loader.state_dict()
        assert (state["epoch"], state["position"]) == (0, 5)
        resumed.load_state_dict(state)
        assert [[batch.item() for batch in resumed] for _ in range(2)] == [[], [0, 2, 4]]
        assert next(batches, None) is None
        assert loader.place() == (1, 0)
