"""What the tests of the Python face share: loaders over data/, and a fixture of one."""

import signal

import pytest
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata.loader import epochs

DATA = str(ROOT / "data")


def rows(**attrs):
    return flow.MiniReader(DATA, **{"batch_size": 4, **attrs})


def make_loader(reader_attrs=None, **options):
    x, y = flow.MiniDecoder(rows(**(reader_attrs or {})))
    return flow.DataLoader(x, y, **options)


def epoch_of(batches):
    return [batch[0].ravel().tolist() for batch in batches]


class Secret:
    def __repr__(self):
        raise ValueError("not told")


@pytest.fixture
def loader():
    with make_loader({"random_shuffle": True, "shuffle_after_epoch": True, "seed": 5}) as opened:
        yield opened


def epoch_of_number(number):
    with make_loader({"random_shuffle": True, "shuffle_after_epoch": True, "seed": 5}) as opened:
        for _ in range(number):
            iter(opened)
        return epoch_of(opened)


def slots_held(opened):
    return opened.stats()["slots_held"]


def interrupt(monkeypatch, iterator):
    """What a signal does that comes while next() waits."""

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(epochs, "_next", interrupted)
        with pytest.raises(KeyboardInterrupt):
            next(iterator)
