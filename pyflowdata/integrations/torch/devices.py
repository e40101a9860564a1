"""Devices that torch has here: the module of a type, and its streams and events."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import torch

from ... import InvalidArgumentError, UnsupportedError

_OF_STREAMS = ("Stream", "Event", "stream", "current_stream")


def find_device(device: Any) -> torch.device:
    """The device of None or "cpu", or one with its number of a type that torch has here.

    Raises:
        InvalidArgumentError: It does not exist.
        UnsupportedError: torch has no such devices here, or none that hold tensors' numbers.
    """
    try:
        chosen = torch.device("cpu" if device is None else device)
    except (RuntimeError, TypeError):
        raise InvalidArgumentError(
            f"device = {device!r} is not a device that torch knows; use 'cpu', 'cuda' or 'cuda:0'"
        ) from None
    if chosen.type == "cpu":
        if chosen.index:
            raise InvalidArgumentError(f"device = {device!r}; there is one device 'cpu'")
        return chosen
    module = module_of(chosen.type)
    if module is None:
        raise UnsupportedError(
            f"device = {device!r}; TorchLoader brings batches to 'cpu' or 'cuda', or to what torch "
            "has a module for, as torch.xpu: leave device out and copy the tensors with .to()"
        )
    if not is_available(chosen.type):
        is_cuda = chosen.type == "cuda"
        raise UnsupportedError(
            f"device = {device!r}, but torch.{chosen.type}.is_available() is false: this torch "
            f"({torch.__version__}) is built without {'CUDA' if is_cuda else chosen.type}, or it "
            f"finds no {'GPU' if is_cuda else 'device'}; leave device out for tensors on the host"
        )
    current = getattr(module, "current_device", None)
    index = chosen.index if chosen.index is not None else current() if current else 0
    count = module.device_count() if hasattr(module, "device_count") else 1
    if index >= count:
        raise InvalidArgumentError(
            f"device = {device!r}, but torch finds {count} {chosen.type.upper()} devices"
        )
    return torch.device(chosen.type, index)


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
