"""What torch has for a type of device: its module, and streams and events where it has them."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import torch

_OF_STREAMS = ("Stream", "Event", "stream", "current_stream")


def module_of(kind: str) -> Any:
    """torch.cuda for "cuda", and so on; None where there is none that says what is available."""
    module = getattr(torch, kind, None)
    return module if module is not None and _availability(kind, module) is not None else None


def is_available(kind: str) -> bool:
    """Whether torch finds devices of a type that it has a module for."""
    asked = _availability(kind, getattr(torch, kind))
    return bool(asked is not None and asked())


def _availability(kind: str, module: Any) -> Any:
    """What tells whether there are such devices; torch.backends has that of some types alone."""
    backend = getattr(torch.backends, kind, None)
    return getattr(module, "is_available", None) or getattr(backend, "is_available", None)


def has_streams(device: torch.device) -> bool:
    """Whether copies can run beside computations, and be waited for: CUDA, XPU, not MPS."""
    module = module_of(device.type)
    return module is not None and all(hasattr(module, name) for name in _OF_STREAMS)


def make_event(device: torch.device) -> Any:
    """An event; where torch knows how, one that waits without taking a processor."""
    event = module_of(device.type).Event
    return event(blocking=True) if device.type == "cuda" else event()


def current_device(device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """Makes it the current one of this thread: each thread has one of its own."""
    chosen = getattr(module_of(device.type), "device", None)
    found: contextlib.AbstractContextManager[Any]
    found = contextlib.nullcontext() if chosen is None else chosen(device)
    return found


@functools.cache
def can_pin() -> bool:
    """Whether torch gives pinned memory here."""
    try:
        return bool(torch.empty(1, pin_memory=True).is_pinned())
    except RuntimeError:
        return False
