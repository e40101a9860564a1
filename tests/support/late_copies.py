"""Streams that copy as late as a device may, between two places in the memory of this host.

Whoever reads a tensor before it waits for its event, or writes pinned memory before the copy out of
it is done, sees wrong numbers.  Import it only where torch is there.
"""

import contextlib
import threading

import torch

from pyflowdata.integrations.torch import epoch_iterators, loader
from pyflowdata.integrations.torch.devices import DeviceCopies


class FakeStream:
    """Runs a copy as late as a device may: when something waits for a later event."""

    def __init__(self):
        self.queue = []
        self.waited = []
        self.lock = threading.Lock()  # threads may wait for events of one stream

    def run_up_to(self, event):
        with self.lock:
            while event in self.queue:
                started = self.queue.pop(0)
                if isinstance(started, tuple):
                    target, source = started
                    target.copy_(source)

    def wait_event(self, event):
        self.waited.append(event)
        event.synchronize()


class FakeEvent:
    def __init__(self, blocking=False):
        self.stream = None

    def record(self, stream):
        self.stream = stream
        stream.queue.append(self)

    def synchronize(self):
        self.stream.run_up_to(self)


class LateCopies(DeviceCopies):
    """DeviceCopies to "a device" that is other memory of this host."""

    def __init__(self, device):
        super().__init__(torch.device("cuda", 0))

    def _start_copy(self, pinned):
        target = torch.full_like(pinned, -1)
        self._stream.queue.append((target, pinned))
        return target


def use_late_copies(monkeypatch):
    """Has loaders and sinks copy every batch to "a device"."""
    for module in (epoch_iterators, loader):
        monkeypatch.setattr(module, "copies_to", LateCopies)
    monkeypatch.setattr(loader, "find_device", lambda device: torch.device("cuda", 0))


def fake_cuda(monkeypatch, user_stream, recorded):
    """Puts these in the place of torch's; tensors that a stream is told of go into `recorded`."""
    cuda = torch.cuda
    monkeypatch.setattr(cuda, "Stream", lambda device: FakeStream())
    monkeypatch.setattr(cuda, "Event", FakeEvent)
    monkeypatch.setattr(cuda, "stream", lambda stream: contextlib.nullcontext())
    monkeypatch.setattr(cuda, "device", lambda device: contextlib.nullcontext())
    monkeypatch.setattr(cuda, "current_stream", lambda device: user_stream)
    monkeypatch.setattr(
        torch.Tensor, "record_stream", lambda tensor, stream: recorded.append(tensor)
    )
