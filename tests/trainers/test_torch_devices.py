"""Devices besides CUDA: found by torch's module for them; streams are used where it has them."""

import contextlib
import types

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")

import pyflowdata as flow  # noqa: E402
from pyflowdata.integrations.torch import TorchLoader, devices, sink  # noqa: E402
from pyflowdata.integrations.torch.devices import (  # noqa: E402
    DeviceCopies,
    PlainCopies,
    copies_to,
    find_device,
)
from support.late_copies import FakeEvent, FakeStream  # noqa: E402

X = np.arange(22, dtype=np.float32).reshape(11, 2)


def make_loader():
    return flow.DataLoader(flow.from_arrays({"x": X}).batch(4)["x"])


class Event(FakeEvent):
    """XPU's, which has no `blocking`."""

    def __init__(self):
        super().__init__()


def put_xpu(monkeypatch, user_stream, *, count=2):
    """A torch.xpu that finds devices, and copies as late as it may, to memory of the host."""
    module = types.SimpleNamespace(
        is_available=lambda: True, device_count=lambda: count, current_device=lambda: 1,
        Stream=lambda device: FakeStream(), Event=Event,
        stream=lambda stream: contextlib.nullcontext(),
        device=lambda device: contextlib.nullcontext(),
        current_stream=lambda device: user_stream,
    )  # fmt: skip
    monkeypatch.setattr(torch, "xpu", module)

    def late(self, pinned):
        target = torch.full_like(pinned, -1)
        self._stream.queue.append((target, pinned))
        return target

    monkeypatch.setattr(DeviceCopies, "_start_copy", late)
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda tensor, stream: None)


def test_xpu_copies_on_a_stream_of_its_own(monkeypatch):
    user_stream = FakeStream()
    put_xpu(monkeypatch, user_stream)
    with TorchLoader(make_loader(), device="xpu") as loader:
        assert loader.device == torch.device("xpu", 1)
        for step, batch in enumerate(loader):
            assert len(user_stream.waited) == step + 1
            assert np.array_equal(batch.numpy(), X[4 * step : 4 * step + 4])
        assert loader.report().counters.hand_over.device == "xpu:1"
    found = []
    run = sink(make_loader(), lambda batch: found.append(batch.clone()), device="xpu:0")
    run()
    assert "on xpu:0: copied ahead through pinned memory" in repr(run)
    run.close()
    assert np.array_equal(torch.cat(found).numpy(), X)
    with pytest.raises(flow.InvalidArgumentError, match="torch finds 2 XPU devices"):
        find_device("xpu:2")


def test_mps_has_no_streams_and_a_copy_is_done_when_it_is_handed_out(monkeypatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.mps, "is_available", lambda: True, raising=False)
    monkeypatch.setattr(torch.mps, "device_count", lambda: 1)
    assert find_device("mps") == torch.device("mps", 0)
    assert isinstance(copies_to(torch.device("mps", 0)), PlainCopies)
    sent, to = [], torch.Tensor.to

    def copied(tensor, device, **options):
        assert options == {}, "a copy that the loader's memory need not outlive"
        sent.append(str(device))
        return to(tensor, "cpu", copy=True)

    monkeypatch.setattr(torch.Tensor, "to", copied)
    plain = make_loader()
    with TorchLoader(plain, device="mps") as loader:
        batches = list(loader)
        assert plain.stats()["slots_held"] == 0
    assert sent == ["mps:0"] * 3
    assert np.array_equal(torch.cat(batches).numpy(), X)


def test_what_is_not_there_is_said(monkeypatch):
    if not torch.xpu.is_available():
        with pytest.raises(flow.UnsupportedError, match=r"torch\.xpu\.is_available\(\) is false"):
            find_device("xpu")
    if not torch.backends.mps.is_available():
        with pytest.raises(flow.UnsupportedError, match="it finds no device; leave device out"):
            find_device("mps")
    with pytest.raises(flow.UnsupportedError, match=r"leave device out and copy .* \.to\(\)"):
        find_device("meta")


def test_pinned_memory_is_that_of_the_accelerator(monkeypatch):
    put_xpu(monkeypatch, FakeStream())
    asked = []
    empty = torch.empty
    monkeypatch.setattr(devices, "can_pin", lambda: True)

    def made(*size, pin_memory=False, **options):
        asked.append(pin_memory)
        return empty(*size, **options)

    monkeypatch.setattr(torch, "empty", made)
    with TorchLoader(make_loader(), device="xpu") as loader:
        assert len(list(loader)) == 3
    assert asked == [True, True], "two buffers, which all batches go through"
